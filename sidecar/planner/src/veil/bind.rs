//! From a veil and the client's values to the statement that is planned.

use remora_cipher::KeyRing;

use crate::Refusal;
use crate::bound::BindInput;
use crate::context::Context;
use crate::lexer::Lexer;
use crate::reads::ReadHint;
use crate::text::{Frame, Position};
use crate::values::Values;

use super::plan::{Atom, Value, Veil};
use super::value::Made;

/// A statement without a plain value in it.
#[derive(Debug, Default)]
pub struct Veiled {
    /// Its text.
    pub sql: Vec<u8>,
    /// What feeds each `?` of it, where the client's statement is a prepared one.
    pub params: Vec<Fed>,
    /// Tags in it, with the text that each stands for: MySQL's errors show tags.
    pub shown: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What feeds one `?` of a veiled statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fed {
    /// The client's parameter of this number.
    Client(u32),
    /// A value that is made of the client's parameter of this number, or of a literal; it was
    /// not asked for yet.
    Later(Option<u32>),
    /// NULL.
    Null,
    /// Bytes.
    Binary(Vec<u8>),
    /// ASCII text.
    Text(Vec<u8>),
}

impl Veil {
    /// The statement for these values.
    ///
    /// # Errors
    /// If a value cannot be stored or compared, or a key is not there. No message holds a value.
    pub fn bind(
        &self,
        context: &Context,
        sql: &[u8],
        input: &BindInput<'_>,
        ring: &KeyRing,
    ) -> Result<Veiled, Refusal> {
        let values = Values {
            frame: self.frame(sql),
            mode: context.sql_mode,
            charset: context.charset,
            param_charset: input.charset.unwrap_or(context.charset),
            params: input.params,
        };
        if let Some(refusal) = &self.plan.late {
            return Err(refusal.clone());
        }
        let mut writer = Writer::new(self, &values, context);
        let prepared = values.prepared();
        self.write(&mut writer, |writer, value| {
            let made = value.make(&values, ring, &mut writer.out.shown)?;
            if prepared {
                writer.out.sql.push(b'?');
                writer.out.params.push(match made {
                    Made::Null => Fed::Null,
                    Made::Bytes(bytes) => Fed::Binary(bytes),
                    Made::Text(text) => Fed::Text(text.into_bytes()),
                });
                return Ok(());
            }
            match made {
                Made::Null => writer.text("NULL"),
                Made::Bytes(bytes) => writer.hex(&bytes),
                Made::Text(text) => writer.text(&format!("'{text}'")),
            }
            Ok(())
        })?;
        Ok(writer.out)
    }

    /// The statement that is prepared, before it has values.
    ///
    /// # Errors
    /// If it names what is not there.
    pub fn prepare(&self, context: &Context, sql: &[u8]) -> Result<Veiled, Refusal> {
        if let (true, Some(refusal)) = (self.plan.unknown, &self.plan.late) {
            return Err(refusal.clone());
        }
        let values = Values {
            frame: self.frame(sql),
            mode: context.sql_mode,
            charset: context.charset,
            param_charset: context.charset,
            params: Some(&[]),
        };
        let mut writer = Writer::new(self, &values, context);
        self.write(&mut writer, |writer, value| {
            writer.out.sql.push(b'?');
            writer.out.params.push(Fed::Later(match value.operand {
                crate::route::Operand::Param(number) => Some(number),
                _ => None,
            }));
            Ok(())
        })?;
        Ok(writer.out)
    }

    fn frame<'a>(&'a self, sql: &'a [u8]) -> Frame<'a> {
        Frame {
            sql,
            literals: &self.literals,
            start: self.start,
        }
    }

    fn write<'w>(
        &self,
        writer: &mut Writer<'w>,
        mut put: impl FnMut(&mut Writer<'w>, &Value) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut at = Position::START.resolve(&writer.frame);
        for edit in &self.plan.edits {
            let start = edit.span.start.resolve(&writer.frame);
            writer.copy(at, start);
            for atom in &edit.atoms {
                match atom {
                    Atom::Text(text) => writer.text(text),
                    Atom::Own(span) => {
                        let (from, to) = (
                            span.start.resolve(&writer.frame),
                            span.end.resolve(&writer.frame),
                        );
                        writer.copy(from, to);
                    }
                    Atom::Value(value) => put(writer, value)?,
                }
            }
            at = edit.span.end.resolve(&writer.frame);
        }
        let end = self.plan.end.resolve(&writer.frame);
        writer.copy(at, end);
        Ok(())
    }
}

/// Collects the text and its parameters.
struct Writer<'a> {
    frame: Frame<'a>,
    mode: crate::lexer::SqlMode,
    /// Where each `?` of the client's text begins; empty in the text protocol.
    params: Vec<usize>,
    out: Veiled,
}

impl<'a> Writer<'a> {
    fn new(veil: &Veil, values: &Values<'a>, context: &Context) -> Self {
        let params = veil.plan.params.iter().filter(|_| values.prepared());
        let hint: &[u8] = match veil.hint {
            ReadHint::None => b"",
            ReadHint::Primary => b"/* remora: primary */ ",
            ReadHint::Replica => b"/* remora: replica */ ",
        };
        let mut sql =
            Vec::with_capacity(values.frame.sql.len() + 128 * veil.plan.edits.len() + hint.len());
        sql.extend_from_slice(hint);
        Self {
            frame: values.frame,
            mode: context.sql_mode,
            params: params.map(|at| at.resolve(&values.frame)).collect(),
            out: Veiled {
                sql,
                ..Veiled::default()
            },
        }
    }

    fn text(&mut self, text: &str) {
        self.out.sql.extend_from_slice(text.as_bytes());
    }

    fn hex(&mut self, bytes: &[u8]) {
        self.text("0x");
        let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default() as u8;
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        self.out.sql.extend(digits.map(digit));
    }

    /// Copies the client's tokens; comments, in which a value may stand too, are left out.
    fn copy(&mut self, from: usize, to: usize) {
        let bytes = self.frame.sql.get(from..to).unwrap_or_default();
        let commented = memchr::memchr3(b'#', b'*', b'-', bytes).is_some();
        if commented {
            self.copy_tokens(bytes);
        } else {
            self.out.sql.extend_from_slice(bytes);
        }
        let first = self.params.partition_point(|at| *at < from);
        let last = self.params.partition_point(|at| *at < to);
        let own = (first..last).map(|param| Fed::Client(param as u32));
        self.out.params.extend(own);
    }

    fn copy_tokens(&mut self, bytes: &[u8]) {
        let mut at = 0;
        for token in Lexer::new(bytes, self.mode) {
            let range = token.range();
            self.gap(bytes.get(at..range.start).unwrap_or_default());
            at = range.end;
            self.out
                .sql
                .extend_from_slice(bytes.get(range).unwrap_or_default());
        }
        self.gap(bytes.get(at..).unwrap_or_default());
    }

    /// What stands between two tokens: as it is if it is blank, else a blank for a comment.
    fn gap(&mut self, bytes: &[u8]) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            self.out.sql.extend_from_slice(bytes);
        } else {
            self.out.sql.push(b' ');
        }
    }
}
