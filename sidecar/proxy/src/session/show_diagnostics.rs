//! SHOW WARNINGS, SHOW ERRORS and their counts.

use remora_planner::lexer::{Lexer, SqlMode, integer_literal};
use remora_planner::utility::ShowKind;
use remora_protocol::{ColumnFlags, ColumnType};

use super::{Diagnostics, Note, Session};
use crate::execute::{Cell, Request, number_column, put_table, text_column};
use crate::failure::Failure;
use crate::world::World;

impl Session {
    /// Shows the warnings of the last statement, wherever they are. Servers' warnings are
    /// fetched, since they may hold physical names.
    pub(super) async fn show_diagnostics(
        &mut self,
        world: &World,
        kind: ShowKind,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let counts = matches!(kind, ShowKind::CountWarnings | ShowKind::CountErrors);
        let errors_only = matches!(kind, ShowKind::Errors | ShowKind::CountErrors);
        let counted = match self.state.diagnostics {
            Diagnostics::On(shard) if counts => self.count_on(shard, errors_only).await?,
            _ => None,
        };
        // The server goes on knowing them: GET DIAGNOSTICS may ask it for more.
        let fetched = match self.state.diagnostics {
            Diagnostics::On(shard) if !counts => Some(self.fetch_notes(world, shard).await?),
            _ => None,
        };
        let notes = match (&fetched, &self.state.diagnostics) {
            (Some(fetched), _) => &fetched[..],
            (None, Diagnostics::Local(notes)) => &notes[..],
            _ => &[],
        };
        let shown = notes
            .iter()
            .filter(|note| !errors_only || note.level == b"Error");
        let status = self.status(request.more_results);
        let (binary, collation) = (request.params.is_some(), self.account.collation());
        match kind {
            ShowKind::CountWarnings | ShowKind::CountErrors => {
                let name = match errors_only {
                    true => "@@session.error_count",
                    false => "@@session.warning_count",
                };
                let kind = ColumnType::MYSQL_TYPE_LONGLONG;
                let column = number_column(name, kind, 21, ColumnFlags::empty());
                let count = Cell::LongLong(counted.unwrap_or(shown.count() as u64));
                put_table(&mut self.client, &[column], &[vec![count]], binary, status);
            }
            _ => {
                let (offset, count) = limit(request.sql, self.state.context.sql_mode);
                let rows: Vec<_> = shown.skip(offset).take(count).map(row).collect();
                let not_null = ColumnFlags::NOT_NULL_FLAG;
                let columns = [
                    text_column("Level", 7, collation),
                    number_column("Code", ColumnType::MYSQL_TYPE_LONG, 5, not_null),
                    text_column("Message", 512, collation),
                ];
                put_table(&mut self.client, &columns, &rows, binary, status);
            }
        }
        Ok(())
    }

    /// Fetches the warnings of the last statement from the server that has them.
    pub(super) async fn gather_diagnostics(&mut self, world: &World) -> Result<(), Failure> {
        if let Diagnostics::On(shard) = self.state.diagnostics {
            let notes = self.fetch_notes(world, shard).await?;
            self.state.diagnostics = Diagnostics::of_notes(notes);
        }
        Ok(())
    }

    async fn fetch_notes(&mut self, world: &World, shard: usize) -> Result<Vec<Note>, Failure> {
        let fetched = match self.backends.get(shard) {
            Some(backend) => Note::fetch(backend).await?,
            None => Vec::new(),
        };
        let logical = fetched.into_iter().map(|note| note.logical(&world.names));
        Ok(logical.collect())
    }

    /// How many the last statement on a server had, which may be more than it keeps.
    async fn count_on(&mut self, shard: usize, errors_only: bool) -> Result<Option<u64>, Failure> {
        let Some(backend) = self.backends.get(shard) else {
            return Ok(None);
        };
        let ask: &[u8] = match errors_only {
            true => b"SHOW COUNT(*) ERRORS",
            false => b"SHOW COUNT(*) WARNINGS",
        };
        let counted = backend.table(ask).await?;
        Ok(counted.ok().and_then(|table| table.text(0).parse().ok()))
    }
}

fn row(note: &Note) -> Vec<Cell> {
    vec![
        Cell::Text(note.level.clone()),
        Cell::Long(u32::from(note.code)),
        Cell::Text(note.message.clone()),
    ]
}

/// The LIMIT of a SHOW WARNINGS: what to skip, and how many to give.
fn limit(sql: &[u8], mode: SqlMode) -> (usize, usize) {
    let behind = Lexer::new(sql, mode).skip_while(|t| !t.is_word(sql, "LIMIT"));
    let numbers: Vec<usize> = behind
        .filter_map(|t| integer_literal(t.text(sql)))
        .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        .collect();
    match numbers[..] {
        [] => (0, usize::MAX),
        [count] => (0, count),
        [offset, count, ..] => (offset, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_and_skips() {
        let of = |sql: &str| limit(sql.as_bytes(), SqlMode::default());
        assert_eq!(of("SHOW WARNINGS"), (0, usize::MAX));
        assert_eq!(of("show warnings limit 3"), (0, 3));
        assert_eq!(of("SHOW ERRORS LIMIT 2, 5"), (2, 5));
    }
}
