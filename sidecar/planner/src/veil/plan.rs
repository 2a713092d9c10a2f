//! What a statement's text alone says of how it is veiled.

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{Protected, Table};
use crate::fingerprint::Weight;
use crate::lexer::Token;
use crate::reads::ReadHint;
use crate::route::Operand;
use crate::text::{Position, Span};

use super::show::Shown;

/// How the statements of one fingerprint are veiled.
#[derive(Debug, Default)]
pub struct VeilPlan {
    /// Whether a table with protected columns is named.
    pub(super) concerned: bool,
    /// Where the text changes, in order.
    pub(super) edits: Vec<VeilEdit>,
    /// Where each `?` begins.
    pub(super) params: Vec<Position>,
    /// Where the statement ends.
    pub(super) end: Position,
    /// The columns that an INSERT without a list of them takes for granted, written out here.
    pub(super) by_position: bool,
    /// What of an answer shows definitions.
    pub(super) shown: Option<Shown>,
    /// What MySQL refuses when the statement runs, not when it is prepared.
    pub(super) late: Option<Refusal>,
    /// Where comments among the tokens want it to be read.
    pub(super) hint: ReadHint,
    /// Whether it names what the catalog does not have, or not so.
    pub(super) unknown: bool,
    pub(super) catalog_version: u64,
    pub(super) bytes: usize,
}

/// A place of the text that is replaced.
#[derive(Debug)]
pub(super) struct VeilEdit {
    pub(super) span: Span,
    pub(super) atoms: Vec<Atom>,
}

/// What stands there instead.
#[derive(Debug)]
pub(super) enum Atom {
    /// This text.
    Text(String),
    /// The client's own bytes of this range.
    Own(Span),
    /// A value.
    Value(Value),
}

/// A value that is made of one of the client's.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) part: Part,
    pub(super) table: Arc<Table>,
    pub(super) column: Arc<Protected>,
    pub(super) operand: Operand,
    /// The row of an INSERT, from 1.
    pub(super) row: usize,
}

/// Which value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// What the column itself holds: an envelope or a digest.
    Stored,
    /// The companion's tag of a value that is stored.
    Tag,
    /// What a column, or its companion, is compared with.
    Compared,
}

/// A plan, and the literals of the statement that it was found for.
#[derive(Clone, Debug)]
pub struct Veil {
    pub(super) plan: Arc<VeilPlan>,
    /// Where the client's comments, which are left out, want it to be read.
    pub(super) hint: ReadHint,
    pub(super) literals: Box<[Token]>,
    pub(super) start: usize,
}

impl Veil {
    /// What of the answer shows definitions.
    #[must_use]
    pub fn shown(&self) -> Option<&Shown> {
        self.plan.shown.as_ref()
    }

    /// Whether it writes out the columns of an INSERT that names none.
    #[must_use]
    pub fn by_position(&self) -> bool {
        self.plan.by_position
    }

    /// Whether it names what the catalog does not have: another sidecar may have made it. Load
    /// the catalog again, and veil again; if that helps nothing, bind gives MySQL's error.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.plan.unknown
    }

    /// The version of the catalog that it belongs to.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.plan.catalog_version
    }
}

impl Weight for VeilPlan {
    fn bytes(&self) -> usize {
        self.bytes
    }
}
