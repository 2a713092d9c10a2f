//! Reading the rest of an answer that nobody wants any more.

use remora_protocol::Event;

use crate::backend::{BackendError, Exchange};

/// Up to this many bytes reading the rest costs less than a new connection.
const WORTHWHILE: usize = 256 * 1024;

/// Reads an answer to its end if the end is near, so that the connection can go on. Else the
/// exchange's drop closes the connection, and MySQL stops sending.
pub(super) async fn drain(mut exchange: Exchange<'_>) -> Result<(), BackendError> {
    let mut read = 0;
    while !exchange.is_done() && read < WORTHWHILE {
        exchange.surface_rows(false);
        exchange.surface_columns(false);
        let found = exchange.scan(0)?;
        read += found.skip + found.len;
        exchange.consume(found.skip + found.len);
        if matches!(found.event, Event::NeedMore) {
            exchange.fill().await?;
        }
    }
    Ok(())
}
