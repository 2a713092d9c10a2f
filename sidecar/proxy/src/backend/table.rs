//! Internal queries, whose rows are few and are taken into memory.

use remora_protocol::{ColumnDef, ColumnType, ErrPacket, Event, text_fields};

use super::{Backend, BackendError};

/// Rows of an internal query.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The columns' names.
    pub names: Vec<String>,
    /// The columns' types.
    pub kinds: Vec<ColumnType>,
    /// Text values.
    pub rows: Vec<Row>,
}

impl Table {
    /// The value of a column in the first row, empty for NULL.
    #[must_use]
    pub fn text(&self, column: usize) -> String {
        let value = self
            .rows
            .first()
            .and_then(|row| row.get(column))
            .and_then(Option::as_ref);
        value
            .map(|v| String::from_utf8_lossy(v).into_owned())
            .unwrap_or_default()
    }

    /// The value of the column of this name in a row, empty for NULL or if there is none.
    #[must_use]
    pub fn named(&self, row: usize, name: &str) -> String {
        let column = self.names.iter().position(|known| known == name);
        let value = column.and_then(|column| self.rows.get(row)?.get(column)?.as_ref());
        value
            .map(|v| String::from_utf8_lossy(v).into_owned())
            .unwrap_or_default()
    }

    /// Whether a column of the first row is NULL.
    #[must_use]
    pub fn is_null(&self, column: usize) -> bool {
        self.rows
            .first()
            .and_then(|row| row.get(column))
            .is_none_or(Option::is_none)
    }
}

/// One row of text values; `None` is NULL.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

impl Backend {
    /// Runs an internal query and takes its rows, text values, into memory.
    ///
    /// # Errors
    /// If the connection breaks. An error of MySQL's is inside the result.
    pub async fn rows(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Vec<Row>, ErrPacket<'static>>, BackendError> {
        Ok(self.table(sql).await?.map(|table| table.rows))
    }

    /// The same with the columns' types.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub async fn table(
        &mut self,
        sql: &[u8],
    ) -> Result<Result<Table, ErrPacket<'static>>, BackendError> {
        let shard = self.shard;
        let mut exchange = self.query(sql).await?;
        exchange.surface_rows(true);
        exchange.surface_columns(true);
        let mut table = Table::default();
        let mut error = None;
        while !exchange.is_done() {
            let step = exchange.next(|event, payload| match event {
                Event::Row => {
                    let row: Result<Row, _> = text_fields(payload)
                        .map(|field| field.map(|f| f.value.map(<[u8]>::to_vec)))
                        .collect();
                    table.rows.push(row?);
                    Ok(())
                }
                Event::Column => {
                    let column = ColumnDef::decode(payload)?;
                    table.kinds.push(column.kind);
                    table
                        .names
                        .push(String::from_utf8_lossy(column.name).into_owned());
                    Ok(())
                }
                Event::Err => {
                    error = Some(ErrPacket::decode(payload)?.into_owned());
                    Ok(())
                }
                _ => Ok(()),
            });
            step.await?
                .map_err(|source| BackendError::Protocol { shard, source })?;
        }
        Ok(error.map_or(Ok(table), Err))
    }
}
