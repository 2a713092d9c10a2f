//! The tables that a SELECT, UPDATE or DELETE sees, and what its column names mean.

use std::sync::Arc;

use sqlparser::ast::{Expr, Ident, ObjectName};

use crate::catalog::{Catalog, Table};

use super::conditions::unnested;
use super::joins::Merge;

/// One use of a manifest table in a statement.
#[derive(Debug)]
pub(crate) struct TableUse {
    /// The table.
    pub(crate) table: Arc<Table>,
    /// The block that uses it.
    pub(crate) block: usize,
    /// The class of uses that share one place; meaningless for a broadcast table.
    pub(crate) class: usize,
}

/// A query block: one SELECT, or the one of an UPDATE or DELETE.
#[derive(Debug)]
pub(crate) struct Block {
    /// The block whose expression this one stands in.
    pub(crate) parent: Option<usize>,
    /// What FROM names, from left to right.
    pub(crate) tables: Vec<BlockTable>,
    /// What USING and NATURAL make of columns that bear the same name.
    pub(super) merges: Vec<Merge>,
    /// Whether an outer join makes NULLs of some tables' columns.
    pub(crate) outer: bool,
}

/// One entry of FROM.
#[derive(Debug)]
pub(crate) struct BlockTable {
    /// The alias, else the table's name.
    pub(crate) name: String,
    /// Whether `name` is an alias.
    pub(crate) aliased: bool,
    /// The use of a manifest table; `None` for any other table, whose columns are unknown.
    pub(crate) table_use: Option<usize>,
}

impl Block {
    /// Whether `*` shows fewer columns than the tables have.
    pub(crate) fn merges_columns(&self) -> bool {
        self.merges
            .iter()
            .any(|merge| merge.natural || !merge.using.is_empty())
    }

    /// The manifest table uses of this block.
    pub(crate) fn uses(&self) -> impl Iterator<Item = usize> {
        self.tables.iter().filter_map(|table| table.table_use)
    }
}

/// The use and the column that an expression names; `None` if it is no column of a manifest
/// table, or not for certain.
pub(crate) fn column_in<'e>(
    expr: &'e Expr,
    block: usize,
    blocks: &[Block],
    uses: &[TableUse],
    catalog: &Catalog,
) -> Option<(usize, &'e str)> {
    let lookup = Lookup {
        blocks,
        uses,
        catalog,
    };
    match unnested(expr) {
        Expr::Identifier(column) => {
            Some((lookup.unqualified(block, &column.value)?, &column.value))
        }
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, column] => Some((lookup.qualified(block, None, &table.value)?, &column.value)),
            [schema, table, column] => Some((
                lookup.qualified(block, Some(&schema.value), &table.value)?,
                &column.value,
            )),
            _ => None,
        },
        _ => None,
    }
}

struct Lookup<'a> {
    blocks: &'a [Block],
    uses: &'a [TableUse],
    catalog: &'a Catalog,
}

impl Lookup<'_> {
    fn unqualified(&self, block: usize, column: &str) -> Option<usize> {
        let scope = self.blocks.get(block)?;
        let has = |table: &usize| {
            self.uses
                .get(*table)
                .is_some_and(|found| found.table.column(column).is_some())
        };
        let found: Vec<usize> = scope.uses().filter(has).collect();
        match found.as_slice() {
            [only] => return Some(*only),
            [first, ..] => {
                let joined = scope.merges.iter().any(|merge| merge.covers(column));
                return joined.then_some(*first);
            }
            [] => {}
        }
        let unknown = scope.tables.iter().any(|table| {
            table
                .table_use
                .and_then(|it| self.uses.get(it))
                .is_none_or(|it| it.table.is_missing())
        });
        if unknown {
            return None;
        }
        self.unqualified(scope.parent?, column)
    }

    fn qualified(&self, block: usize, schema: Option<&str>, table: &str) -> Option<usize> {
        let scope = self.blocks.get(block)?;
        let found = scope.tables.iter().find(|candidate| {
            candidate.name == table
                && (schema.is_none()
                    || (!candidate.aliased && schema == Some(self.catalog.database())))
        });
        match found {
            Some(found) => found.table_use,
            None => self.qualified(scope.parent?, schema, table),
        }
    }
}

/// The identifiers of a possibly qualified name.
pub(super) fn identifiers(name: &ObjectName) -> Option<Vec<&Ident>> {
    name.0.iter().map(|part| part.as_ident()).collect()
}
