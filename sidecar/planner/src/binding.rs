//! What bind has at hand to write statements: the client's text, the plan's edits, places.

use std::borrow::Cow;
use std::sync::Arc;

use crate::bound::{Place, SessionValues, Statement};
use crate::catalog::{Catalog, Table};
use crate::text::{Edit, Frame, Piece, Position, Renderer, Span};
use crate::values::Values;

/// Characters that MySQL keeps of a column's name.
const LONGEST_ALIAS: usize = 256;

/// The parts of a plan that every rewritten statement needs.
#[derive(Debug, Default)]
pub(crate) struct Splices {
    /// Where the text changes, in order.
    pub(crate) edits: Vec<Edit>,
    /// Where each `?` begins.
    pub(crate) params: Vec<Position>,
    /// Where the statement ends.
    pub(crate) end: Position,
    /// The table of each class.
    pub(crate) tables: Vec<Arc<Table>>,
}

/// One statement being bound.
pub(crate) struct Binding<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) frame: Frame<'a>,
    pub(crate) splices: &'a Splices,
    pub(crate) session: &'a SessionValues,
    pub(crate) values: Values<'a>,
}

/// Bytes that the statements of one bind may take together: each place gets a copy of the
/// client's text, and memory must be bounded whatever a client sends.
const MOST_BYTES: usize = 64 << 20;

/// Bytes that a copy is longer than the client's text, roughly.
const MORE_BYTES: usize = 256;

impl<'a> Binding<'a> {
    /// Whether a copy of the statement for each of so many places would take too much memory.
    pub(crate) fn is_too_large(&self, places: usize) -> bool {
        (self.frame.sql.len() + MORE_BYTES).saturating_mul(places) > MOST_BYTES
    }

    /// Begins a statement some bytes longer than the client's.
    pub(crate) fn renderer(&self, more: usize) -> Renderer<'a> {
        let params: &[Position] = if self.values.prepared() {
            &self.splices.params
        } else {
            &[]
        };
        Renderer::new(self.frame, params, self.frame.sql.len() + more)
    }

    /// Copies a range of the client's text with the edits for these places, one for each
    /// class.
    pub(crate) fn copy(
        &self,
        renderer: &mut Renderer<'a>,
        from: Position,
        to: Position,
        places: &[Place],
    ) {
        renderer.copy_edited(from, to, &self.splices.edits, |out, piece| {
            self.write(out, piece, places)
        });
    }

    fn write(&self, out: &mut Vec<u8>, piece: &Piece, places: &[Place]) -> bool {
        match piece {
            Piece::Schema { class, dot } => {
                let sharded = self
                    .splices
                    .tables
                    .get(*class)
                    .and_then(|table| table.sharded());
                let (Some(sharded), Some(place)) = (sharded, places.get(*class)) else {
                    return false;
                };
                out.extend_from_slice(sharded.schema(place.slot));
                if *dot {
                    out.push(b'.');
                }
                true
            }
            Piece::Text(text) => {
                out.extend_from_slice(text);
                true
            }
            Piece::Session(function) => match function.value(self.session) {
                Some(value) => {
                    out.extend_from_slice(value.as_bytes());
                    true
                }
                None => false,
            },
            Piece::Alias { text, only } => {
                if only.is_none_or(|function| function.value(self.session).is_some()) {
                    self.alias(out, *text);
                }
                true
            }
        }
    }

    /// Names a column by its own text, cut as MySQL cuts it.
    fn alias(&self, out: &mut Vec<u8>, text: Span) {
        let (from, to) = (
            text.start.resolve(&self.frame),
            text.end.resolve(&self.frame),
        );
        let text = String::from_utf8_lossy(self.frame.sql.get(from..to).unwrap_or_default());
        let name: String = text.chars().take(LONGEST_ALIAS).collect();
        out.extend_from_slice(format!(" AS `{}`", name.trim_end().replace('`', "``")).as_bytes());
    }

    /// The whole statement for these places: the client's own bytes if nothing changes.
    pub(crate) fn statement(&self, places: &[Place]) -> Statement<'a> {
        if self.splices.edits.is_empty() {
            let params = if self.values.prepared() {
                self.splices.params.len()
            } else {
                0
            };
            return Statement {
                sql: Cow::Borrowed(self.frame.sql),
                params: (0..params)
                    .map(|it| crate::ParamSource::Client(it as u32))
                    .collect(),
                rows: Vec::new(),
            };
        }
        let mut renderer = self.renderer(16 * self.splices.edits.len());
        self.copy(&mut renderer, Position::START, self.splices.end, places);
        renderer.finish()
    }
}
