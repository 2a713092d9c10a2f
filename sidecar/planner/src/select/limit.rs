//! LIMIT and OFFSET, whose numbers are known when the statement runs.

use remora_merge::Limit;
use sqlparser::ast::{Expr, LimitClause, Query};

use crate::Refusal;
use crate::route::{Operand, Pins, constant};
use crate::text::Source;
use crate::values::Values;

use super::plan::spanning;

/// Where the numbers of LIMIT come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitPlan {
    offset: Option<Operand>,
    count: Operand,
    /// A number is a parameter of the client's, so the text must stay the same for each.
    pub(super) prepared: bool,
}

impl LimitPlan {
    /// Reads a query's LIMIT.
    pub(super) fn of(
        source: &Source<'_>,
        query: &Query,
        _pins: &mut Pins,
    ) -> Result<Option<Self>, Refusal> {
        let (offset, count): (Option<&Expr>, &Expr) = match &query.limit_clause {
            None => return Ok(None),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(offset), limit),
            Some(LimitClause::LimitOffset {
                limit: Some(limit),
                offset,
                limit_by,
            }) if limit_by.is_empty() => (offset.as_ref().map(|offset| &offset.value), limit),
            Some(LimitClause::LimitOffset { .. }) => return Err(spanning("this form of LIMIT")),
        };
        let operand = |expr: &Expr| {
            constant(source, expr)
                .filter(|it| {
                    matches!(
                        it,
                        Operand::Literal {
                            negative: false,
                            ..
                        } | Operand::Param(_)
                    )
                })
                .ok_or_else(|| spanning("this form of LIMIT"))
        };
        let (offset, count) = (offset.map(operand).transpose()?, operand(count)?);
        let is_param = |operand: &Operand| matches!(operand, Operand::Param(_));
        let prepared = is_param(&count) || offset.as_ref().is_some_and(is_param);
        Ok(Some(Self {
            offset,
            count,
            prepared,
        }))
    }

    /// The numbers of one statement.
    pub(super) fn resolve(&self, values: &Values<'_>) -> Result<Limit, Refusal> {
        let number = |operand| {
            values
                .unsigned(operand)
                .ok_or_else(|| spanning("a LIMIT that is no whole number"))
        };
        let offset = self.offset.map_or(Ok(0), number)?;
        Ok(Limit {
            offset,
            count: number(self.count)?,
        })
    }
}
