//! A statement with places whose literals differ from one run to the next.

use anyhow::{Result, bail};
use mysql_async::Value;

/// A statement's text in pieces.
///
/// `${1|'x'}` is a literal: the first run has `1`, the second `'x'`, and a prepared statement
/// has a `?` with that value. `$[a|b]` is replaced as text in every mode, for what a `?` cannot
/// stand for. One alternative alone serves both runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Text(String),
    Parameter([String; 2]),
    Choice([String; 2]),
}

impl Template {
    /// Reads `${…}` and `$[…]` in `text`.
    ///
    /// # Errors
    /// If one of them is not closed, or has more than two alternatives.
    pub fn parse(text: &str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("${").into_iter().chain(rest.find("$[")).min() {
            pieces.push(Piece::Text(rest[..at].to_owned()));
            let parameter = rest[at + 1..].starts_with('{');
            let inside = &rest[at + 2..];
            let Some(end) = inside.find(if parameter { '}' } else { ']' }) else {
                bail!("not closed: {}", &rest[at..]);
            };
            let alternatives: Vec<&str> = inside[..end].split('|').collect();
            let both = match alternatives[..] {
                [one] => [one.to_owned(), one.to_owned()],
                [first, second] => [first.to_owned(), second.to_owned()],
                _ => bail!("more than two alternatives: {}", &inside[..end]),
            };
            pieces.push(if parameter {
                Piece::Parameter(both)
            } else {
                Piece::Choice(both)
            });
            rest = &inside[end + 1..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self { pieces })
    }

    /// A statement without places.
    #[must_use]
    pub fn fixed(text: &str) -> Self {
        Self {
            pieces: vec![Piece::Text(text.to_owned())],
        }
    }

    /// The statement as text, for the first (0) or the second (1) run.
    #[must_use]
    pub fn text(&self, run: usize) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Parameter(both) | Piece::Choice(both) => both[run].as_str(),
            })
            .collect()
    }

    /// The statement with a `?` for each literal, and the run's values.
    #[must_use]
    pub fn prepared(&self, run: usize) -> (String, Vec<Value>) {
        let mut sql = String::new();
        let mut values = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => sql.push_str(text),
                Piece::Choice(both) => sql.push_str(&both[run]),
                Piece::Parameter(both) => {
                    sql.push('?');
                    values.push(value(&both[run]));
                }
            }
        }
        (sql, values)
    }
}

/// The value that a client would bind for a literal. What is neither a number nor NULL nor in
/// quotes goes as the string that it is.
fn value(literal: &str) -> Value {
    if literal.eq_ignore_ascii_case("null") {
        return Value::NULL;
    }
    if let Ok(number) = literal.parse::<i64>() {
        return Value::Int(number);
    }
    if let Ok(number) = literal.parse::<u64>() {
        return Value::UInt(number);
    }
    if let Some(string) = literal
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
    {
        return Value::Bytes(string.replace("''", "'").into_bytes());
    }
    if let Some(digits) = literal
        .strip_prefix("x'")
        .and_then(|rest| rest.strip_suffix('\''))
        && let Ok(bytes) = hex::decode(digits)
    {
        return Value::Bytes(bytes);
    }
    match literal.parse::<f64>() {
        Ok(number) => Value::Double(number),
        Err(_) => Value::Bytes(literal.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_its_own_literals() {
        let template = Template::parse("SELECT ${1|NULL} + ${'it''s'} $[ASC|DESC]").unwrap();
        assert_eq!(template.text(0), "SELECT 1 + 'it''s' ASC");
        assert_eq!(template.text(1), "SELECT NULL + 'it''s' DESC");
        let (sql, values) = template.prepared(1);
        assert_eq!(sql, "SELECT ? + ? DESC");
        assert_eq!(values, [Value::NULL, Value::Bytes(b"it's".to_vec())]);
    }

    #[test]
    fn literals_become_the_values_that_clients_bind() {
        assert_eq!(value("-5"), Value::Int(-5));
        assert_eq!(value("18446744073709551615"), Value::UInt(u64::MAX));
        assert_eq!(value("1.5"), Value::Double(1.5));
        assert_eq!(value("x'00ff'"), Value::Bytes(vec![0, 255]));
    }

    #[test]
    fn an_open_place_is_an_error() {
        assert!(Template::parse("SELECT ${1").is_err());
        assert!(Template::parse("SELECT ${1|2|3}").is_err());
    }
}
