//! Writes a statement out of pieces of the client's bytes.

use std::borrow::Cow;

use crate::bound::{ParamSource, SessionValues, Statement};

use super::{Frame, Position, Span};

/// A place of the statement that is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// What is replaced; empty for an insertion.
    pub(crate) span: Span,
    /// What stands there instead.
    pub(crate) piece: Piece,
}

/// What an edit puts in place.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// The physical schema of a class of table uses.
    Schema {
        /// The class.
        class: usize,
        /// Whether a dot must follow, because the name had no schema.
        dot: bool,
    },
    /// A function whose value the session knows, if it does.
    Session(SessionFunction),
    /// The client's own text of a column that has no name, as its name, where the edits in it
    /// would make another of it.
    Alias {
        /// The column.
        text: Span,
        /// Only if the session knows this value; always if there is none.
        only: Option<SessionFunction>,
    },
    /// This text.
    Text(Box<[u8]>),
}

/// Functions whose value a session may know better than a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SessionFunction {
    /// CONNECTION_ID()
    ConnectionId,
    /// ROW_COUNT()
    RowCount,
    /// FOUND_ROWS()
    FoundRows,
    /// `@@socket`
    Socket,
}

impl SessionFunction {
    /// An expression of the function's value and type, if the session knows it.
    pub(crate) fn value(self, session: &SessionValues) -> Option<String> {
        match self {
            Self::ConnectionId => session
                .connection_id
                .map(|it| format!("CAST({it} AS UNSIGNED)")),
            Self::Socket => Some("''".to_owned()),
            Self::RowCount => session.row_count.map(|it| format!("CAST({it} AS SIGNED)")),
            // The call stays, for the warning that it is deprecated.
            Self::FoundRows => session
                .found_rows
                .map(|it| format!("IF(TRUE, CAST({it} AS SIGNED), FOUND_ROWS())")),
        }
    }
}

/// Collects the bytes and the parameters of one statement.
#[derive(Debug)]
pub(crate) struct Renderer<'a> {
    frame: Frame<'a>,
    /// Where each `?` of the client's text begins; empty in the text protocol.
    params: Vec<usize>,
    out: Vec<u8>,
    map: Vec<ParamSource>,
}

impl<'a> Renderer<'a> {
    /// Begins an empty statement of some `capacity` bytes. `params` are the places of `?` if
    /// the client's statement is a prepared one.
    pub(crate) fn new(frame: Frame<'a>, params: &[Position], capacity: usize) -> Self {
        let params = params.iter().map(|at| at.resolve(&frame)).collect();
        Self {
            frame,
            params,
            out: Vec::with_capacity(capacity),
            map: Vec::new(),
        }
    }

    /// Writes bytes of our own.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Writes a number, as text.
    pub(crate) fn number(&mut self, number: u64) {
        self.out.extend_from_slice(number.to_string().as_bytes());
    }

    /// Writes a `?` that a number of ours feeds, or the number itself in the text protocol.
    pub(crate) fn value(&mut self, number: u64, prepared: bool) {
        if prepared {
            self.out.push(b'?');
            self.map.push(ParamSource::Number(number));
        } else {
            self.number(number);
        }
    }

    /// Copies the client's bytes from one place to another.
    pub(crate) fn copy(&mut self, from: Position, to: Position) {
        self.copy_bytes(from.resolve(&self.frame), to.resolve(&self.frame));
    }

    fn copy_bytes(&mut self, from: usize, to: usize) {
        self.out
            .extend_from_slice(self.frame.sql.get(from..to).unwrap_or_default());
        let first = self.params.partition_point(|at| *at < from);
        let last = self.params.partition_point(|at| *at < to);
        self.map
            .extend((first..last).map(|param| ParamSource::Client(param as u32)));
    }

    /// Copies the client's bytes from one place to another with the edits that begin there;
    /// `edits` are in order and do not overlap.
    pub(crate) fn copy_edited(
        &mut self,
        from: Position,
        to: Position,
        edits: &[Edit],
        mut write: impl FnMut(&mut Vec<u8>, &Piece) -> bool,
    ) {
        let (first, end) = (from.resolve(&self.frame), to.resolve(&self.frame));
        let mut at = first;
        for edit in edits {
            let start = edit.span.start.resolve(&self.frame);
            // An alias belongs to what stands before it, everything else to what stands behind.
            let behind = matches!(edit.piece, Piece::Alias { .. });
            let within = if behind {
                first < start && start <= end
            } else {
                start < end
            };
            if start < at || !within {
                continue;
            }
            self.copy_bytes(at, start);
            at = start;
            if write(&mut self.out, &edit.piece) {
                at = edit.span.end.resolve(&self.frame);
            }
        }
        self.copy_bytes(at, end);
    }

    /// The statement.
    pub(crate) fn finish(self) -> Statement<'a> {
        Statement {
            sql: Cow::Owned(self.out),
            params: self.map,
            rows: Vec::new(),
        }
    }
}
