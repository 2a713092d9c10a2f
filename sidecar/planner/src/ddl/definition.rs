//! Column definitions and keys, read by tokens.

use crate::catalog::same_name;
use crate::lexer::TokenKind;
use crate::text::Source;

/// What an item of a table's definition is.
pub(super) enum Item {
    /// A column, its name and the tokens behind it.
    Column {
        name: String,
        from: usize,
        to: usize,
    },
    /// A PRIMARY KEY or UNIQUE, and its columns.
    Unique { columns: Vec<String> },
    /// Another index, a constraint.
    Other,
}

/// Words that begin an item that is no column.
pub(crate) const NO_COLUMN: [&str; 9] = [
    "PRIMARY",
    "UNIQUE",
    "KEY",
    "INDEX",
    "FULLTEXT",
    "SPATIAL",
    "CONSTRAINT",
    "FOREIGN",
    "CHECK",
];

/// Reads an item of a definition.
pub(super) fn item(source: &Source<'_>, from: usize, to: usize) -> Option<Item> {
    if !source.is_any(from, &NO_COLUMN) {
        return Some(Item::Column {
            name: source.name(from)?,
            from: from + 1,
            to,
        });
    }
    let mut at = from;
    if source.is(at, "CONSTRAINT") {
        at += 1;
        if !source.is_any(at, &["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
            at += 1;
        }
    }
    if !source.is_any(at, &["PRIMARY", "UNIQUE"]) {
        return Some(Item::Other);
    }
    let open = (at..to).find(|token| source.kind(*token) == Some(TokenKind::LeftParen))?;
    Some(Item::Unique {
        columns: key_columns(source, open)?,
    })
}

/// The columns of a key whose parenthesis opens at `open`: whole columns only, since a prefix
/// or an expression is not the column.
pub(super) fn key_columns(source: &Source<'_>, open: usize) -> Option<Vec<String>> {
    let closing = source.closing(open)?;
    let parts = source.list(open + 1, closing);
    let whole = parts.iter().filter(|(from, to)| {
        to - from == 1 || to - from == 2 && source.is_any(from + 1, &["ASC", "DESC"])
    });
    Some(whole.filter_map(|(from, _)| source.name(*from)).collect())
}

/// Whether a key holds a column.
pub(super) fn holds(columns: &[String], column: &str) -> bool {
    columns.iter().any(|name| same_name(name, column))
}

/// A column's type as `information_schema.COLUMNS.COLUMN_TYPE` would have it, as far as keys
/// need it: the word, its length, UNSIGNED.
pub(crate) fn column_type(source: &Source<'_>, from: usize, to: usize) -> Option<String> {
    let word = source.name(from)?.to_ascii_lowercase();
    let mut name = match word.as_str() {
        "integer" | "int4" => "int".to_owned(),
        "int1" | "bool" | "boolean" => "tinyint".to_owned(),
        "int2" => "smallint".to_owned(),
        "int3" | "middleint" => "mediumint".to_owned(),
        "int8" => "bigint".to_owned(),
        "dec" | "fixed" | "numeric" => "decimal".to_owned(),
        "character" => "char".to_owned(),
        "serial" => return Some("bigint unsigned".to_owned()),
        _ => word,
    };
    let mut at = from + 1;
    if name == "char" && source.is(at, "VARYING") {
        name = "varchar".to_owned();
        at += 1;
    }
    if source.kind(at) == Some(TokenKind::LeftParen) {
        let closing = source.closing(at)?;
        let length = source.slice(at + 1, closing);
        let length: String = String::from_utf8_lossy(length)
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        name = format!("{name}({length})");
        at = closing + 1;
    } else if name == "decimal" {
        name.push_str("(10,0)");
    } else if matches!(name.as_str(), "char" | "binary") {
        name.push_str("(1)");
    }
    let unsigned = (at..to).any(|token| source.is_any(token, &["UNSIGNED", "ZEROFILL"]));
    Some(if unsigned {
        format!("{name} unsigned")
    } else {
        name
    })
}

/// The word behind `COLLATE` or a character set's default collation, in a column's attributes
/// or a table's options.
pub(crate) fn collation(source: &Source<'_>, from: usize, to: usize) -> Option<String> {
    let value = |token: usize| {
        let token = if source.kind(token) == Some(TokenKind::Equal) {
            token + 1
        } else {
            token
        };
        source
            .name(token)
            .or_else(|| String::from_utf8(source.text(token).to_vec()).ok())
            .map(|name| name.trim_matches(['\'', '"']).to_ascii_lowercase())
    };
    let find = |words: &[&str]| source.find(from, to, words);
    if let Some(collate) = find(&["COLLATE"]) {
        return value(collate + 1);
    }
    let charset = find(&["CHARSET"])
        .map(|token| token + 1)
        .or_else(|| find(&["CHARACTER"]).map(|token| token + 2))
        .and_then(value);
    if let Some(charset) = charset {
        return Some(default_collation(&charset));
    }
    find(&["ASCII"]).map(|_| "latin1_swedish_ci".to_owned())
}

/// The collation that MySQL 9.7 gives a character set.
fn default_collation(charset: &str) -> String {
    match charset {
        "utf8mb4" => "utf8mb4_0900_ai_ci".to_owned(),
        "utf8" => "utf8mb3_general_ci".to_owned(),
        "latin1" => "latin1_swedish_ci".to_owned(),
        "binary" => "binary".to_owned(),
        other => format!("{other}_general_ci"),
    }
}
