//! How a SELECT over several places is cut into parts and put together again.

use remora_merge::{Group, MergeSpec, OrderKey};
use sqlparser::ast::{Query, Select, SetExpr};

use crate::Refusal;
use crate::catalog::Catalog;
use crate::route::{Analysis, Pins};
use crate::text::{Position, Source};

use super::clauses::Clauses;
use super::columns::{Columns, Hidden};
use super::facts::Facts;
use super::grouping;
use super::limit::LimitPlan;
use super::order;
use super::visible;

/// How a SELECT is read from several places.
#[derive(Debug)]
pub(crate) struct ScatterPlan {
    /// Where the hidden columns go: behind the select list.
    pub(super) insert_at: Position,
    pub(super) hidden: Vec<Hidden>,
    /// Where ORDER BY and LIMIT begin, which each part gets anew.
    pub(super) tail: Position,
    /// The order of each part: positions in the select list from 1, and whether descending.
    pub(super) order: Vec<(usize, bool)>,
    pub(super) limit: Option<LimitPlan>,
    pub(super) push: Push,
    /// A column that a UNION would show otherwise: only one place for each shard will do.
    pub(super) no_union: Option<Refusal>,
    /// The merge, without its limit.
    pub(super) merge: MergeSpec,
}

/// How far the LIMIT may be pushed towards the rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Push {
    /// Rows of parts may become one: only the merge knows which count.
    No,
    /// Each place gives each row of the result once; a UNION of places may repeat them.
    Place,
    /// Every row counts.
    Shard,
}

/// What a SELECT's parts have in common while the plan is made.
pub(super) struct Planning<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) source: &'a Source<'a>,
    pub(super) analysis: &'a Analysis,
    pub(super) select: &'a Select,
    pub(super) query: &'a Query,
    pub(super) clauses: &'a Clauses,
    pub(super) pins: &'a mut Pins,
}

/// What rows of the parts become one, and in which order.
pub(super) struct Shape {
    pub(super) group: Option<Group>,
    pub(super) order: Vec<OrderKey>,
    pub(super) resort: Vec<OrderKey>,
    pub(super) push: Push,
}

/// Plans a SELECT over several places.
///
/// # Errors
/// If the streaming merge cannot give MySQL's answer.
pub(crate) fn plan(
    catalog: &Catalog,
    source: &Source<'_>,
    analysis: &Analysis,
    query: &Query,
    pins: &mut Pins,
) -> Result<ScatterPlan, Refusal> {
    let (SetExpr::Select(select), None) = (&*query.body, &query.with) else {
        return Err(spanning(
            "UNION, INTERSECT, EXCEPT, WITH or a SELECT in parentheses",
        ));
    };
    let clauses = Clauses::find(source)
        .filter(|clauses| clauses.items.len() == select.projection.len())
        .ok_or_else(|| spanning("a SELECT of this form"))?;
    if source.version_comment {
        return Err(spanning("a version comment (/*! … */) with code in it"));
    }
    unsupported_clauses(source, query, select)?;
    for (from, to) in &clauses.items {
        // The names and types of the client's columns come from these, and they are cached.
        (*from..*to)
            .filter_map(|token| source.literal(token))
            .for_each(|it| pins.pin(it));
    }
    let limit = LimitPlan::of(source, query, pins)?;
    let mut planning = Planning {
        catalog,
        source,
        analysis,
        select,
        query,
        clauses: &clauses,
        pins,
    };
    let mut columns = Columns {
        visible: visible::columns(&planning)?,
        hidden: Vec::new(),
        grouped: !clauses.group.is_empty(),
    };
    let shape = shape(&mut planning, &mut columns)?;
    let no_union = columns
        .visible
        .iter()
        .any(|column| column.facts.zerofill)
        .then(|| spanning("a ZEROFILL column read from several physical tables of a shard"));
    let order = shape
        .order
        .iter()
        .map(|key| (key.key.value + 1, key.descending))
        .collect();
    let last = clauses.from.saturating_sub(1);
    let tail = clauses.tail.saturating_sub(1);
    Ok(ScatterPlan {
        insert_at: source.end(last),
        hidden: columns.hidden,
        tail: source.end(tail),
        order,
        limit,
        push: shape.push,
        no_union,
        merge: MergeSpec {
            visible: columns.visible.len(),
            group: shape.group,
            order: shape.order,
            resort: shape.resort,
            limit: None,
        },
    })
}

fn shape(planning: &mut Planning<'_>, columns: &mut Columns) -> Result<Shape, Refusal> {
    let mut aggregates = false;
    for item in &planning.select.projection {
        let facts = visible::expression(item).map(Facts::of).unwrap_or_default();
        aggregates |= facts.aggregate;
        if facts.window {
            return Err(spanning("a window function"));
        }
    }
    let distinct = planning.select.distinct.is_some();
    let grouped = columns.grouped;
    if grouped && grouping::is_local(planning, columns)? {
        // Each group is in one place: its aggregates are final, and so is HAVING.
        if distinct {
            return Err(spanning("DISTINCT beside GROUP BY"));
        }
        return order::rows(planning, columns);
    }
    if planning.select.having.is_some() {
        return Err(spanning("HAVING"));
    }
    match (distinct, grouped || aggregates) {
        (true, true) => Err(spanning("DISTINCT beside aggregates")),
        (true, false) => grouping::distinct(planning, columns),
        (false, true) => grouping::aggregated(planning, columns),
        (false, false) => order::rows(planning, columns),
    }
}

/// Refuses what would be wrong, or done several times, in parts.
fn unsupported_clauses(source: &Source<'_>, query: &Query, select: &Select) -> Result<(), Refusal> {
    if !query.locks.is_empty() {
        return Err(spanning("FOR UPDATE or FOR SHARE"));
    }
    if select.into.is_some() || source.find(1, source.len(), &["INTO"]).is_some() {
        return Err(spanning("SELECT … INTO"));
    }
    if !select.named_window.is_empty() {
        return Err(spanning("WINDOW"));
    }
    let modifiers = ["SQL_CALC_FOUND_ROWS", "HIGH_PRIORITY", "SQL_BUFFER_RESULT"];
    if let Some(modifier) = modifiers
        .iter()
        .find(|word| source.find(1, source.len(), &[word]).is_some())
    {
        return Err(spanning(modifier));
    }
    if source.assigns_variable() {
        return Err(spanning("an assignment to a user variable"));
    }
    if source.calls(&["MATCH"]).is_some() {
        return Err(spanning(
            "MATCH … AGAINST, whose relevance depends on all rows,",
        ));
    }
    if let Some(function) = source.calls(&STATEFUL) {
        return Err(spanning(&format!("{function}()")));
    }
    Ok(())
}

/// Functions that act on a server, or wait on it.
pub(crate) const STATEFUL: [&str; 9] = [
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "SLEEP",
    "BENCHMARK",
    "LOAD_FILE",
    "WAIT_FOR_EXECUTED_GTID_SET",
];

/// The refusal of what several places cannot do yet.
pub(crate) fn spanning(what: &str) -> Refusal {
    Refusal::unsupported(format!(
        "{what} over more than one shard or physical table is not supported yet; give the \
         sharding key as a constant, or read the rows and do it in the application"
    ))
}
