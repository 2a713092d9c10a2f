//! INSERT and REPLACE into sharded and broadcast tables.
//!
//! Read by tokens, never by sqlparser: a thousand rows are a thousand tuples, and only the
//! sharding key and the generated column of each matter.

use std::sync::Arc;

use remora_crds::layout::Slot;

use crate::Refusal;
use crate::bound::{Action, ByPosition, Target};
use crate::catalog::{Catalog, Table};
use crate::context::Context;
use crate::names::TableName;
use crate::route::Operand;
use crate::text::{Edit, Position, Source, Span};

use super::insert_reader::{Reader, quoted};

/// An INSERT or REPLACE with its rows.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) table: Arc<Table>,
    /// Where the rows begin: the text before is the same for every part.
    pub(super) rows_start: Position,
    /// Where the rows end: the text behind is the same for every part.
    pub(super) rows_end: Position,
    pub(super) rows: Vec<Row>,
    /// The generated column's part, if the table has one.
    pub(super) generated: Option<GeneratedColumn>,
    /// The schema in front of the table, and the columns behind it.
    pub(super) edits: Vec<Edit>,
    /// The client names no columns: its values are for the columns in their order.
    pub(super) by_position: bool,
    /// Whether 0 in the generated column is a value of its own.
    pub(super) zero_is_a_value: bool,
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    /// Its text, with its parentheses; for SET, all assignments.
    pub(super) span: Span,
    /// The sharding key's value; `None` for a broadcast table, and where it is the generated
    /// column, which is left out.
    pub(super) key: Option<Operand>,
    /// What the row gives for the generated column.
    pub(super) generated: Given,
    /// Whether it has a value for each column, rather than `()` for the defaults of all.
    pub(super) named: bool,
}

/// What a row gives for the generated column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// The table has none.
    Nothing,
    /// This value, which NULL, DEFAULT and 0 make a wish for a new one.
    Value {
        /// The value; `None` for DEFAULT.
        operand: Option<Operand>,
        /// Its text.
        span: Span,
    },
    /// The column is left out; a new value goes here, with a comma in front or not.
    Missing {
        /// Where.
        at: Position,
        /// Whether a comma must stand before it.
        comma: bool,
    },
}

/// The generated column in the statement.
#[derive(Debug)]
pub(super) struct GeneratedColumn {
    /// Whether it is the sharding key itself.
    pub(super) is_key: bool,
    /// Where its name must be added to the column list, and the text to add.
    pub(super) name_at: Option<(Position, Box<[u8]>)>,
    /// ON DUPLICATE KEY UPDATE sets it by LAST_INSERT_ID(column): MySQL's own answer holds.
    pub(super) keeps_answer: bool,
}

/// Reads an INSERT or REPLACE into a table of the manifest.
///
/// # Errors
/// If it is not supported, or its rows cannot be told apart.
pub(crate) fn plan(
    context: &Context,
    source: &Source<'_>,
    name: &TableName,
    table: &Arc<Table>,
) -> Result<InsertPlan, Refusal> {
    if source.version_comment {
        return Err(refused(
            table,
            "a version comment (/*! … */) with code in it",
        ));
    }
    if table.sharded().is_none()
        && let Some(function) = source.calls(&VARYING)
    {
        return Err(refused(
            table,
            &format!("{function}(), which differs from shard to shard,"),
        ));
    }
    if source.assigns_variable() {
        return Err(refused(table, "an assignment to a user variable"));
    }
    let reader = Reader {
        source,
        table,
        context,
    };
    let sharded = table.sharded().is_some_and(|sharded| sharded.slots > 1);
    let mut edits = Vec::new();
    if sharded {
        edits.push(name.edit(source, 0));
    }
    let mut plan = reader.read(name.next)?;
    edits.append(&mut plan.edits);
    plan.edits = edits;
    Ok(plan)
}

/// MySQL's 1136: a row has not as many values as there are columns. It may be that another
/// sidecar changed the table.
pub(crate) const COUNT_DIFFERS: u16 = 1136;

/// Functions that would give each shard another value.
pub(crate) const VARYING: [&str; 8] = [
    "RAND",
    "UUID",
    "UUID_SHORT",
    "RANDOM_BYTES",
    "SYSDATE",
    "CONNECTION_ID",
    "LAST_INSERT_ID",
    "ROW_COUNT",
];

/// The refusal of a form of INSERT.
pub(super) fn refused(table: &Table, what: &str) -> Refusal {
    Refusal::unsupported(format!(
        "{what} is not supported in an INSERT or REPLACE into {}, which is {}; give the rows as \
         VALUES with constants",
        table.name,
        if table.sharded().is_some() {
            "sharded"
        } else {
            "on every shard"
        }
    ))
}

impl InsertPlan {
    /// What must hold of the table for the values to be for the columns that they are taken for.
    /// `by_position`: whether the client named no columns, though this statement does.
    pub(crate) fn assumed(
        &self,
        catalog: &Catalog,
        action: &Action<'_>,
        by_position: bool,
    ) -> Option<ByPosition> {
        if !self.by_position && !by_position {
            return None;
        }
        let shard = match action {
            Action::Single {
                target: Target::Shard(shard),
                ..
            } => *shard,
            Action::Writes(writes) => writes.shards.first()?.0,
            _ => return None,
        };
        let schema = match self.table.sharded() {
            Some(sharded) => sharded.schema(Slot(0)).to_vec(),
            None => quoted(catalog.database()).into_bytes(),
        };
        let mut probe = b"SELECT * FROM ".to_vec();
        probe.extend_from_slice(&schema);
        probe.extend_from_slice(format!(".{}", quoted(&self.table.name)).as_bytes());
        Some(ByPosition {
            shard,
            probe,
            columns: self.table.visible().map(str::to_owned).collect(),
        })
    }

    /// Moves the edits out, to where all edits of the statement are.
    pub(crate) fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits)
    }
}
