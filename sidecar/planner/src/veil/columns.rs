//! Conditions on protected columns.

use std::sync::Arc;

use sqlparser::ast::{BinaryOperator, Expr, Ident, InTarget};

use crate::Refusal;
use crate::catalog::{Protected, Table};
use crate::lexer::TokenKind;
use crate::parse::token_number;
use crate::route::{Analysis, Operand, column_in, constant};

use super::plan::Part;
use super::refused;
use super::source::{Reader, quoted, text};

/// A protected column in an expression.
pub(super) struct Use<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) column: &'a Arc<Protected>,
    /// The tokens of its name, with its table's in front.
    pub(super) from: usize,
    pub(super) last: usize,
}

/// The block that statements with protected columns have them in.
const OUTERMOST: usize = 0;

impl Reader<'_> {
    /// The protected column that an expression is.
    pub(super) fn used<'s>(&self, analysis: &'s Analysis, expr: &Expr) -> Option<Use<'s>> {
        let parts: &[Ident] = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(parts) => parts,
            _ => return None,
        };
        let (first, last) = (parts.first()?, parts.last()?);
        let (table_use, name) = column_in(
            expr,
            OUTERMOST,
            &analysis.blocks,
            &analysis.uses,
            self.catalog,
        )?;
        let table = &analysis.uses.get(table_use)?.table;
        Some(Use {
            column: table.protected(name)?,
            table,
            from: token_number(first.span)?,
            last: token_number(last.span)?,
        })
    }

    /// Reads a condition of the outermost block.
    pub(super) fn condition(&mut self, analysis: &Analysis, expr: &Expr) -> Result<(), Refusal> {
        use BinaryOperator as B;
        match expr {
            Expr::Nested(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner) => self.condition(analysis, inner),
            Expr::UnaryOp {
                op: sqlparser::ast::UnaryOperator::Not,
                expr,
            } => self.condition(analysis, expr),
            Expr::BinaryOp {
                left,
                op: B::And | B::Or | B::Xor,
                right,
            } => {
                self.condition(analysis, left)?;
                self.condition(analysis, right)
            }
            Expr::BinaryOp {
                left,
                op: B::Eq | B::Spaceship | B::NotEq,
                right,
            } => match (self.used(analysis, left), self.used(analysis, right)) {
                (Some(left), Some(right)) => self.joined(&left, &right),
                (Some(column), None) => self.compared(&column, &[&**right]),
                (None, Some(column)) => self.compared(&column, &[&**left]),
                (None, None) => Ok(()),
            },
            Expr::In {
                expr,
                target: InTarget::List(list),
                ..
            } => match self.used(analysis, expr) {
                Some(column) => self.compared(&column, &list.iter().collect::<Vec<_>>()),
                None => Ok(()),
            },
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                if let Some(column) = self.used(analysis, inner) {
                    self.claimed.insert(column.last);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A column compared with constants.
    fn compared(&mut self, found: &Use<'_>, constants: &[&Expr]) -> Result<(), Refusal> {
        lookup(found)?;
        for expr in constants {
            // A sign, parentheses or a second string behind it are no single token.
            let operand = constant(self.source, expr);
            let token = match expr {
                Expr::Value(value) => token_number(value.span),
                _ => None,
            };
            let (Some(operand), Some(token)) = (operand, token) else {
                return Err(refused(
                    found.table,
                    found.column,
                    "a comparison with anything but constants",
                ));
            };
            self.refuse_introducer(found, token)?;
            let span = self.source.span(token, token + 1);
            let value = Self::value(Part::Compared, found.table, found.column, operand, 1);
            self.replace(span, vec![value]);
        }
        self.companion(found);
        Ok(())
    }

    /// Two protected columns compared with each other.
    fn joined(&mut self, left: &Use<'_>, right: &Use<'_>) -> Result<(), Refusal> {
        let comparable = match (left.column.sealed(), right.column.sealed()) {
            (Some(a), Some(b)) => {
                let collation = |it: &crate::catalog::Sealed| {
                    it.declared.as_ref().map(|declared| declared.collation)
                };
                a.key == b.key && collation(a) == collation(b)
            }
            // Digests of the same kind and key; their text compares as such.
            (None, None) => same_digest(left.column, right.column),
            _ => false,
        };
        if !comparable {
            return Err(refused(
                left.table,
                left.column,
                "a comparison with a column of another key or collation",
            ));
        }
        for side in [left, right] {
            lookup(side)?;
            self.companion(side);
        }
        Ok(())
    }

    /// Puts the companion in the column's place.
    fn companion(&mut self, found: &Use<'_>) {
        self.claimed.insert(found.last);
        if let Some(sealed) = found.column.sealed() {
            let span = self.source.span(found.last, found.last + 1);
            self.replace(span, vec![text(quoted(&sealed.companion))]);
        }
    }

    fn refuse_introducer(&self, found: &Use<'_>, token: usize) -> Result<(), Refusal> {
        let before = token.checked_sub(1).and_then(|it| self.source.kind(it));
        let national = self.source.kind(token) == Some(TokenKind::NationalString);
        if before == Some(TokenKind::Introducer) || national {
            return Err(refused(
                found.table,
                found.column,
                "a string with a character set of its own",
            ));
        }
        Ok(())
    }

    /// The constant that tokens `from..to` are, for a value that is stored.
    pub(super) fn stored(
        &self,
        table: &Table,
        column: &Protected,
        (from, to): (usize, usize),
    ) -> Result<Operand, Refusal> {
        let national = self.source.kind(from) == Some(TokenKind::NationalString);
        Operand::at(self.source, from, to)
            .filter(|_| !national)
            .ok_or_else(|| refused(table, column, "a value that is no constant"))
    }
}

fn lookup(found: &Use<'_>) -> Result<(), Refusal> {
    match found.column.sealed() {
        Some(sealed) if !sealed.lookup => Err(refused(
            found.table,
            found.column,
            "a comparison without lookup: Equality in the manifest",
        )),
        _ => Ok(()),
    }
}

fn same_digest(left: &Protected, right: &Protected) -> bool {
    use crate::catalog::How;
    match (&left.how, &right.how) {
        (How::Digest { kind: a, key: x }, How::Digest { kind: b, key: y }) => a == b && x == y,
        _ => false,
    }
}
