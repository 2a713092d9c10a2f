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
