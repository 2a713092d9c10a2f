//! A column, as far as its type decides how values compare.

/// A column of a table that the manifest names.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How its values compare.
    pub kind: ColumnKind,
    /// The collation of text.
    pub collation: Option<String>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether MySQL itself would make its values.
    pub auto_increment: bool,
    /// Whether the number is shown with leading zeros, which a UNION drops.
    pub zerofill: bool,
    /// Whether `SELECT *` passes it over.
    pub invisible: bool,
    /// The highest whole number that it takes.
    pub highest: u64,
}

/// The highest whole number of a COLUMN_TYPE such as `int unsigned`. Types other than integers
/// are taken not to have one.
pub(super) fn highest(column_type: &str) -> u64 {
    let column_type = column_type.to_ascii_lowercase();
    let unsigned = column_type.contains("unsigned") || column_type.contains("zerofill");
    let name = column_type
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    let bits = match name {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" => 32,
        "bigint" => 64,
        _ => return u64::MAX,
    };
    u64::MAX >> (u64::BITS - bits + u32::from(!unsigned))
}

/// How the values of a column compare.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnKind {
    /// By value: integers, DECIMAL, DOUBLE, BIT, dates and times, binary strings.
    Value,
    /// By value, but its text has fewer digits than the value: FLOAT.
    Float,
    /// By collation.
    Text,
    /// By index when ordered, by text otherwise: ENUM and SET.
    Index,
    /// JSON, geometries, vectors: not by anything that two shards could agree on.
    Opaque,
}

impl ColumnKind {
    /// The kind of `information_schema.COLUMNS.DATA_TYPE`.
    #[must_use]
    pub fn of(data_type: &str) -> Self {
        match data_type.to_ascii_lowercase().as_str() {
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Self::Text,
            "enum" | "set" => Self::Index,
            "float" => Self::Float,
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double"
            | "bit" | "year" | "date" | "time" | "datetime" | "timestamp" | "binary"
            | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Self::Value,
            _ => Self::Opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_column_ends_where_its_type_does() {
        for (column_type, expected) in [
            ("tinyint", 127),
            ("tinyint(3) unsigned", 255),
            ("smallint", 32_767),
            ("mediumint unsigned", 16_777_215),
            ("int", 2_147_483_647),
            ("int(10) unsigned zerofill", 4_294_967_295),
            ("bigint", u64::MAX >> 1),
            ("bigint unsigned", u64::MAX),
            ("decimal(20,0)", u64::MAX),
        ] {
            assert_eq!(highest(column_type), expected, "{column_type}");
        }
    }
}
