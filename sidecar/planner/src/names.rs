//! Table names in statements that sqlparser does not read.

use std::sync::Arc;

use crate::catalog::{Catalog, Table};
use crate::context::Context;
use crate::lexer::TokenKind;
use crate::text::{Edit, Piece, Position, Source, Span};

/// A table's name in the text.
#[derive(Clone, Debug)]
pub(crate) struct TableName {
    /// The schema, if one is given.
    pub(crate) schema: Option<String>,
    /// The table.
    pub(crate) table: String,
    /// The first token of the name.
    pub(crate) token: usize,
    /// The token behind the name.
    pub(crate) next: usize,
}

impl TableName {
    /// Reads `[schema .] table`.
    pub(crate) fn at(source: &Source<'_>, token: usize) -> Option<Self> {
        let first = source.name(token)?;
        if source.kind(token + 1) == Some(TokenKind::Dot)
            && let Some(table) = source.name(token + 2)
        {
            return Some(Self {
                schema: Some(first),
                table,
                token,
                next: token + 3,
            });
        }
        Some(Self {
            schema: None,
            table: first,
            token,
            next: token + 1,
        })
    }

    /// The manifest's table of this name.
    pub(crate) fn find<'c>(
        &self,
        catalog: &'c Catalog,
        context: &Context,
    ) -> Option<&'c Arc<Table>> {
        let schema = self.schema.as_deref().or(context.database.as_deref())?;
        catalog
            .table(&self.table)
            .filter(|_| schema == catalog.database())
    }

    /// The edit that puts the physical schema of a class in front of the name.
    pub(crate) fn edit(&self, source: &Source<'_>, class: usize) -> Edit {
        schema_edit(source, self.token, self.schema.is_some(), class)
    }
}

/// The edit that replaces the schema at `token`, or puts one in front of the table there.
pub(crate) fn schema_edit(
    source: &Source<'_>,
    token: usize,
    qualified: bool,
    class: usize,
) -> Edit {
    let start = source.start(token);
    let end: Position = if qualified { source.end(token) } else { start };
    Edit {
        span: Span { start, end },
        piece: Piece::Schema {
            class,
            dot: !qualified,
        },
    }
}

/// A manifest table that any word of the statement names, for statements that nobody reads
/// closely. A column or alias of that name counts too: it fails closed.
pub(crate) fn mentioned<'c>(
    catalog: &'c Catalog,
    context: &Context,
    source: &Source<'_>,
    from: usize,
) -> Option<&'c Arc<Table>> {
    find(catalog, context, source, from, |name| catalog.table(name))
}

/// The first table of the manifest's database that some word may name and of which `look` knows
/// something.
pub(crate) fn find<T>(
    catalog: &Catalog,
    context: &Context,
    source: &Source<'_>,
    from: usize,
    look: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let default = context.database.as_deref() == Some(catalog.database());
    (from..source.len()).find_map(|token| {
        let table = look(&source.name(token)?)?;
        let schema = token
            .checked_sub(2)
            .filter(|_| source.kind(token - 1) == Some(TokenKind::Dot))
            .and_then(|schema| source.name(schema));
        match schema {
            Some(schema) if schema != catalog.database() => None,
            None if !default => None,
            _ => Some(table),
        }
    })
}
