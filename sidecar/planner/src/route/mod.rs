//! Which rows a condition can be true for, in terms of the sharding key.
//!
//! Everything here errs on the side of more places: a place that holds no row costs time, a
//! place that is left out costs rows.

mod analysis;
mod conditions;
mod eval;
mod from;
mod joins;
mod membership;
mod scope;
mod walk;

use crate::lexer::TokenKind;
use crate::text::Source;

pub(crate) use analysis::{Analysis, analyze};
pub(crate) use conditions::{constant, unnested};
pub(crate) use eval::Places;
pub(crate) use scope::{Block, BlockTable, column_in};

/// A constant of the statement whose value is known when it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operand {
    /// The literal of this number, with a minus in front or not.
    Literal {
        /// Its number among the statement's literals.
        index: u32,
        /// Whether a minus sign stands before it.
        negative: bool,
    },
    /// The client's parameter of this number.
    Param(u32),
    /// TRUE or FALSE.
    Bool(bool),
    /// NULL.
    Null,
}

impl Operand {
    /// The constant that tokens `from..to` are.
    pub(crate) fn at(source: &Source<'_>, from: usize, to: usize) -> Option<Self> {
        match (to.checked_sub(from)?, source.kind(from)?) {
            (1, TokenKind::Parameter) => source.param(from).map(Self::Param),
            (1, TokenKind::Word) if source.is(from, "NULL") => Some(Self::Null),
            (1, TokenKind::Word) if source.is(from, "TRUE") => Some(Self::Bool(true)),
            (1, TokenKind::Word) if source.is(from, "FALSE") => Some(Self::Bool(false)),
            (1, _) => source.literal(from).map(|index| Self::Literal {
                index,
                negative: false,
            }),
            (2, TokenKind::Minus) => {
                let numeric = matches!(
                    source.kind(from + 1)?,
                    TokenKind::Integer | TokenKind::Decimal | TokenKind::Float
                );
                let index = source.literal(from + 1).filter(|_| numeric)?;
                Some(Self::Literal {
                    index,
                    negative: true,
                })
            }
            _ => None,
        }
    }
}

/// The places whose rows a condition can be true for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route {
    /// All of them.
    All,
    /// None: the condition is never true.
    None,
    /// Those of rows whose key equals one of these.
    Key {
        /// The values.
        values: Vec<Operand>,
        /// Whether NULL finds rows too (`<=>`), which an outer join makes.
        null_safe: bool,
    },
    /// Those in all of these.
    And(Vec<Route>),
    /// Those in any of these.
    Or(Vec<Route>),
}

/// The literals whose value a plan depends on, other than as keys to be hashed.
#[derive(Debug, Default)]
pub(crate) struct Pins(Vec<u32>);

impl Pins {
    /// The plan holds only for this value of the literal.
    pub(crate) fn pin(&mut self, literal: u32) {
        self.0.push(literal);
    }

    /// Adds the pins of another.
    pub(crate) fn extend(&mut self, other: Pins) {
        self.0.extend(other.0);
    }

    /// The pinned literals, each once, in order.
    pub(crate) fn into_sorted(mut self) -> Vec<u32> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0
    }
}
