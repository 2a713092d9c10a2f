//! Constants for CHAR, VARCHAR, BINARY and VARBINARY columns.

use std::borrow::Cow;

use super::charset::Charset;
use super::collation::Collation;
use super::constant::Constant;
use super::convert::{Found, Purpose};

/// A CHAR or VARCHAR column.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextColumn {
    pub(super) variable: bool,
    pub(super) length: u32,
    pub(super) collation: Collation,
}

impl TextColumn {
    pub(super) fn convert(
        self,
        constant: &Constant<'_>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Found {
        let text: Cow<'_, str> = match constant {
            Constant::Text { .. } => match constant.text() {
                Some(text) => text,
                None => return Found::Unsure,
            },
            // Compared with a number, the column is converted, not the constant.
            Constant::Boolean(_) | Constant::Integer { .. } if purpose == Purpose::Store => {
                match constant.integer() {
                    Some(value) => Cow::Owned(value.to_string()),
                    None => return Found::Unsure,
                }
            }
            _ => return Found::Unsure,
        };
        if !self.collation.charset().holds(&text) {
            return Found::Unsure;
        }
        let mut text: &str = &text;
        if purpose == Purpose::Store {
            if text.chars().count() > self.length as usize {
                return Found::Outside;
            }
            // CHAR keeps no spaces at the end.
            if !self.variable {
                text = text.trim_end_matches(' ');
            }
        }
        self.collation.weights(text, out);
        Found::Exact
    }
}

pub(super) fn binary(
    variable: bool,
    length: u32,
    constant: &Constant<'_>,
    purpose: Purpose,
    out: &mut Vec<u8>,
) -> Found {
    let bytes: Cow<'_, [u8]> = match constant {
        Constant::Text {
            charset: Charset::Other,
            ..
        } => return Found::Unsure,
        Constant::Text { bytes, .. } => Cow::Borrowed(bytes),
        Constant::Bytes(bytes) => Cow::Borrowed(bytes),
        Constant::Boolean(_) | Constant::Integer { .. } if purpose == Purpose::Store => {
            match constant.integer() {
                Some(value) => Cow::Owned(value.to_string().into_bytes()),
                None => return Found::Unsure,
            }
        }
        _ => return Found::Unsure,
    };
    out.extend_from_slice(&bytes);
    if purpose == Purpose::Store {
        if bytes.len() > length as usize {
            return Found::Outside;
        }
        if !variable {
            out.resize(out.len() + length as usize - bytes.len(), 0);
        }
    }
    Found::Exact
}

/// Why a value cannot be stored in a string column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unstorable {
    /// It has more characters or bytes than the column.
    TooLong,
    /// It has characters that the column does not.
    Characters,
    /// What MySQL would make of a constant of this kind is not known.
    Kind,
}

/// The value that a string column holds when `constant`, which is not NULL, is stored: text in
/// UTF-8, CHAR without spaces at the end, BINARY filled up with zeros. `most` are characters of
/// text, bytes else.
///
/// # Errors
/// [`Unstorable`]: where MySQL in strict mode refuses it, and where it would cut spaces off.
pub fn stored(
    constant: &Constant<'_>,
    collation: Option<Collation>,
    fixed: bool,
    most: u32,
) -> Result<Vec<u8>, Unstorable> {
    let number = || constant.integer().map(|value| value.to_string());
    let Some(collation) = collation else {
        let mut bytes = match constant {
            Constant::Text {
                charset: Charset::Other,
                ..
            } => return Err(Unstorable::Kind),
            Constant::Text { bytes, .. } => bytes.to_vec(),
            Constant::Bytes(bytes) => bytes.clone(),
            _ => number().ok_or(Unstorable::Kind)?.into_bytes(),
        };
        if bytes.len() > most as usize {
            return Err(Unstorable::TooLong);
        }
        if fixed {
            bytes.resize(most as usize, 0);
        }
        return Ok(bytes);
    };
    let own = collation.charset();
    let text = match constant {
        // The bytes are the column's own.
        Constant::Text {
            bytes,
            charset: Charset::Binary,
        } => own.decode(bytes).ok_or(Unstorable::Characters)?,
        Constant::Bytes(bytes) => own.decode(bytes).ok_or(Unstorable::Characters)?,
        Constant::Text {
            charset: Charset::Other,
            ..
        } => return Err(Unstorable::Kind),
        Constant::Text { .. } => constant.text().ok_or(Unstorable::Characters)?,
        _ => Cow::Owned(number().ok_or(Unstorable::Kind)?),
    };
    if !own.holds(&text) {
        return Err(Unstorable::Characters);
    }
    let text = if fixed {
        text.trim_end_matches(' ')
    } else {
        &text
    };
    if text.chars().count() > most as usize {
        return Err(Unstorable::TooLong);
    }
    Ok(text.as_bytes().to_vec())
}
