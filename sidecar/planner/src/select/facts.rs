//! What an expression's tree says about it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, Query, UnaryOperator, Visit, Visitor,
};

use crate::catalog::{ColumnKind, same_name};

/// Aggregates that several parts' values can be made one of.
const MERGEABLE: [&str; 5] = ["COUNT", "SUM", "MIN", "MAX", "AVG"];

/// The other aggregates of MySQL.
const OTHERS: [&str; 16] = [
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "VAR_POP",
    "VAR_SAMP",
    "VARIANCE",
    "ST_COLLECT",
    "GROUPING",
    "HISTOGRAM",
];

/// Functions that give another value each time: a hidden copy would not equal the original.
const VOLATILE: [&str; 6] = [
    "RAND",
    "UUID",
    "UUID_SHORT",
    "RANDOM_BYTES",
    "SYSDATE",
    "SLEEP",
];

/// Functions that give a number, a date or a time, whatever they are given.
const VALUES: [&str; 32] = [
    "COUNT",
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "WEEKDAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MICROSECOND",
    "DATE",
    "TO_DAYS",
    "DATEDIFF",
    "TIMESTAMPDIFF",
    "UNIX_TIMESTAMP",
    "LAST_DAY",
    "FROM_DAYS",
    "LENGTH",
    "CHAR_LENGTH",
    "OCTET_LENGTH",
    "BIT_LENGTH",
    "ASCII",
    "CRC32",
    "SIGN",
    "LOCATE",
    "INSTR",
    "FIELD",
    "MOD",
];

/// What stands in an expression, subqueries left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// An aggregate function.
    pub(crate) aggregate: bool,
    /// A window function.
    pub(crate) window: bool,
    /// A subquery.
    pub(crate) subquery: bool,
    /// A function that gives another value each time.
    pub(crate) volatile: bool,
}

impl Facts {
    /// Reads an expression.
    pub(crate) fn of(expr: &Expr) -> Self {
        let mut finder = Finder {
            facts: Self::default(),
            depth: 0,
        };
        let _ = expr.visit(&mut finder);
        finder.facts
    }
}

struct Finder {
    facts: Facts,
    depth: usize,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.facts.subquery = true;
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.depth == 0
        {
            let name = function_name(function);
            let is = |names: &[&str]| names.iter().any(|known| same_name(known, &name));
            self.facts.window |= function.over.is_some();
            self.facts.aggregate |= function.over.is_none() && (is(&MERGEABLE) || is(&OTHERS));
            self.facts.volatile |= is(&VOLATILE);
        }
        ControlFlow::Continue(())
    }
}

/// A function's name without a schema.
pub(crate) fn function_name(function: &Function) -> String {
    function
        .name
        .0
        .last()
        .and_then(|part| part.as_ident())
        .map(|ident| ident.value.to_ascii_uppercase())
        .unwrap_or_default()
}

/// Whether several parts' values of this function can be made one.
pub(crate) fn is_mergeable(name: &str) -> bool {
    MERGEABLE.contains(&name)
}

/// Whether an identifier in the expression, not a qualified one, is one of these names.
pub(crate) fn names_one_of(expr: &Expr, names: &[&str]) -> bool {
    struct Names<'a>(&'a [&'a str]);
    impl Visitor for Names<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident)
                    if self.0.iter().any(|name| same_name(name, &ident.value)) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Names(names)).is_break()
}

/// How an expression that is no plain column compares, if its form tells.
pub(crate) fn kind_of(expr: &Expr) -> Option<ColumnKind> {
    match expr {
        Expr::Nested(inner) => kind_of(inner),
        Expr::BinaryOp { op, .. } => match op {
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::MyIntegerDivide => plain_number(expr),
            BinaryOperator::Arrow => Some(ColumnKind::Opaque),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            ..
        } => Some(ColumnKind::Value),
        Expr::Cast {
            kind: CastKind::Cast,
            data_type: DataType::JSON,
            ..
        } => Some(ColumnKind::Opaque),
        Expr::Function(function) => {
            let name = function_name(function);
            let text = [
                "JSON_UNQUOTE",
                "JSON_TYPE",
                "JSON_PRETTY",
                "JSON_QUOTE",
                "JSON_VALUE",
            ];
            if VALUES.contains(&name.as_str()) {
                Some(ColumnKind::Value)
            } else if name.starts_with("JSON_") && !text.contains(&name.as_str()) {
                Some(ColumnKind::Opaque)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Arithmetic gives a number, unless an interval makes it a date, or text.
fn plain_number(expr: &Expr) -> Option<ColumnKind> {
    struct Intervals;
    impl Visitor for Intervals {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Interval(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Intervals)
        .is_continue()
        .then_some(ColumnKind::Value)
}
