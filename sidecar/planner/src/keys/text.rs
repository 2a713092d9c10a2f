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
