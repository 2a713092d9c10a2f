//! From a condition to the places it can be true for.

use sqlparser::ast::{BinaryOperator, Expr, InTarget, UnaryOperator, Value};

use crate::lexer::{TokenKind, integer_literal};
use crate::parse::token_number;
use crate::text::Source;

use super::{Operand, Pins, Route};

/// Reads conditions of one statement.
pub(super) struct Conditions<'a, 'p> {
    pub(super) source: &'a Source<'a>,
    pub(super) pins: &'p mut Pins,
}

impl Conditions<'_, '_> {
    /// The places that `condition` can be true for, where `is_key` tells the key's column.
    pub(super) fn route(&mut self, condition: &Expr, is_key: &dyn Fn(&Expr) -> bool) -> Route {
        match condition {
            Expr::Nested(inner) | Expr::IsTrue(inner) => self.route(inner, is_key),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And => {
                    Route::And(vec![self.route(left, is_key), self.route(right, is_key)])
                }
                BinaryOperator::Or => {
                    Route::Or(vec![self.route(left, is_key), self.route(right, is_key)])
                }
                BinaryOperator::Eq => self.equal(left, right, false, is_key),
                BinaryOperator::Spaceship => self.equal(left, right, true, is_key),
                _ => Route::All,
            },
            Expr::In {
                expr,
                target: InTarget::List(list),
                negated: false,
                ..
            } => self.in_list(expr, list, is_key),
            Expr::Value(value) => match &value.value {
                Value::Boolean(false) | Value::Null => Route::None,
                Value::Number(..) => self.number(condition),
                _ => Route::All,
            },
            _ => Route::All,
        }
    }

    /// `a = b`, `a <=> b`, and both over rows of the same width.
    fn equal(
        &mut self,
        left: &Expr,
        right: &Expr,
        null_safe: bool,
        is_key: &dyn Fn(&Expr) -> bool,
    ) -> Route {
        let (left, right) = (unnested(left), unnested(right));
        if let (Some(left), Some(right)) = (row(left), row(right)) {
            if left.len() != right.len() || null_safe {
                return Route::All;
            }
            let pairs = left.iter().zip(right);
            return Route::And(
                pairs
                    .map(|(left, right)| self.equal(left, right, false, is_key))
                    .collect(),
            );
        }
        let value = if is_key(left) {
            constant(self.source, right)
        } else if is_key(right) {
            constant(self.source, left)
        } else {
            None
        };
        value.map_or(Route::All, |value| Route::Key {
            values: vec![value],
            null_safe,
        })
    }

    fn in_list(&self, left: &Expr, list: &[Expr], is_key: &dyn Fn(&Expr) -> bool) -> Route {
        let left = unnested(left);
        let values: Option<Vec<Operand>> = if is_key(left) {
            list.iter()
                .map(|item| constant(self.source, item))
                .collect()
        } else {
            let Some(column) =
                row(left).and_then(|items| items.iter().position(|item| is_key(unnested(item))))
            else {
                return Route::All;
            };
            list.iter()
                .map(|item| constant(self.source, row(unnested(item))?.get(column)?))
                .collect()
        };
        values.map_or(Route::All, |values| Route::Key {
            values,
            null_safe: false,
        })
    }

    /// A number as a condition: its value decides, so the plan holds for it alone.
    fn number(&mut self, condition: &Expr) -> Route {
        let Some(Operand::Literal { index, .. }) = constant(self.source, condition) else {
            return Route::All;
        };
        let Expr::Value(value) = condition else {
            return Route::All;
        };
        let text = token_number(value.span).map(|token| self.source.text(token));
        self.pins.pin(index);
        match text.and_then(integer_literal) {
            Some(0) => Route::None,
            _ => Route::All,
        }
    }
}

/// An expression without the parentheses around it.
pub(crate) fn unnested(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// The items of a row constructor.
fn row(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(items) => Some(items),
        _ => None,
    }
}

/// The parts of a condition that must all be true.
pub(super) fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    let mut found = Vec::new();
    let mut open = vec![condition];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                open.push(left);
                open.push(right);
            }
            other => found.push(other),
        }
    }
    found
}

/// The constant that an expression is.
pub(crate) fn constant(source: &Source<'_>, expr: &Expr) -> Option<Operand> {
    match unnested(expr) {
        Expr::Value(value) => {
            let token = token_number(value.span)?;
            match &value.value {
                Value::Null => Some(Operand::Null),
                Value::Boolean(truth) => Some(Operand::Bool(*truth)),
                Value::Placeholder(_) => source.param(token).map(Operand::Param),
                _ => {
                    // 'a' 'b' is one string of two tokens.
                    let joined = source.kind(token + 1) == Some(TokenKind::String);
                    let index = source.literal(token).filter(|_| !joined)?;
                    Some(Operand::Literal {
                        index,
                        negative: false,
                    })
                }
            }
        }
        Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => number(source, expr),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match number(source, expr)? {
            Operand::Literal {
                index,
                negative: false,
            } => Some(Operand::Literal {
                index,
                negative: true,
            }),
            _ => None,
        },
        _ => None,
    }
}

/// A number without a sign.
fn number(source: &Source<'_>, expr: &Expr) -> Option<Operand> {
    let Expr::Value(value) = unnested(expr) else {
        return None;
    };
    matches!(value.value, Value::Number(..))
        .then(|| constant(source, expr))
        .flatten()
}
