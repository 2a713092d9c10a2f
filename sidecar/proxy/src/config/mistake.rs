//! One mistake in the file: where, which field, why.

use std::fmt;

use serde_saphyr::{DefaultMessageFormatter, MessageFormatter};

use super::places::Place;

/// What stands in place of a parser's own words where they could quote a password.
const UNSPOKEN: &str = "cannot be read; it must be `name: …` and `password: …`, and a password \
     with special characters stands in quotes";

/// Fields of the topology with passwords in them.
const SECRET: [&str; 2] = ["users", "system"];

/// One mistake in the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The field's path; empty if the text is not even YAML.
    pub field: String,
    /// What is wrong, and mostly what to do.
    pub reason: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            field,
            reason,
        } = self;
        match field.as_str() {
            "" => write!(f, "{line}:{column}: {reason}"),
            field => write!(f, "{line}:{column}: {field}: {reason}"),
        }
    }
}

impl Mistake {
    /// A field that makes no sense.
    pub(super) fn at(place: Place, reason: impl Into<String>) -> Self {
        let Place { line, column, path } = place;
        Self {
            line,
            column,
            field: path,
            reason: reason.into(),
        }
    }

    /// A text that is not YAML.
    pub(super) fn syntax(error: &serde_saphyr::Error, text: &str) -> Self {
        let (line, column) = position(error).unwrap_or((1, 1));
        let near = text
            .lines()
            .skip(usize::try_from(line.saturating_sub(2)).unwrap_or_default());
        let reason = if near.take(2).any(|line| line.contains("password")) {
            UNSPOKEN.to_owned()
        } else {
            words(error)
        };
        Self {
            line,
            column,
            field: String::new(),
            reason,
        }
    }

    /// A value that is not of the field's type. `place` is the field's.
    pub(super) fn value(error: &serde_saphyr::Error, place: Place) -> Self {
        let (line, column) = position(error).unwrap_or((place.line, place.column));
        let (field, reason) = match place.path.split('.').next() {
            // Someone may have put a password where a field's name belongs.
            Some(first) if SECRET.iter().any(|field| first.starts_with(field)) => {
                (first.to_owned(), UNSPOKEN.to_owned())
            }
            _ => (place.path, words(error)),
        };
        Self {
            line,
            column,
            field,
            reason,
        }
    }
}

fn position(error: &serde_saphyr::Error) -> Option<(u64, u64)> {
    let at = error.location().filter(|at| at.line() > 0)?;
    Some((at.line(), at.column()))
}

/// The parser's message, without the lines of the file that it likes to show, and in the words
/// of YAML where it has those of Rust.
fn words(error: &serde_saphyr::Error) -> String {
    let words = DefaultMessageFormatter.format_message(error.without_snippet());
    let number = |highest: u64| format!("must be a whole number from 0 to {highest}");
    match words.as_ref() {
        "invalid u8" => number(u8::MAX.into()),
        "invalid u16" => number(u16::MAX.into()),
        "invalid u32" => number(u32::MAX.into()),
        "invalid u64" => number(u64::MAX),
        "invalid boolean" => "must be true or false".to_owned(),
        "expected sequence start" => "must be a list".to_owned(),
        "expected mapping start" => "must be a mapping of fields".to_owned(),
        "expected string scalar" => "must be a text".to_owned(),
        words => match words.strip_prefix("duplicate mapping key: ") {
            Some(key) => {
                let key = key.split(',').next().unwrap_or_default();
                format!("the key {key} stands twice; remove one")
            }
            None => words.to_owned(),
        },
    }
}
