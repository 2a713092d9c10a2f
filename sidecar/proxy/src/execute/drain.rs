//! Reading the rest of an answer that nobody wants any more.

use remora_protocol::{ErrPacket, Event, decode_end, payload};

use crate::backend::{BackendError, Ended, Exchange};

/// Up to this many bytes reading the rest costs less than a new connection.
const WORTHWHILE: usize = 256 * 1024;

/// Reads an answer to its end if the end is near, so that the connection can go on. Else the
/// exchange's drop closes the connection, and MySQL stops sending. A connection that must be
/// kept, because a transaction or other state is on it, is read to the end however far that is.
///
/// Gives what the answer's end says, where it was reached and is no error.
pub(super) async fn drain(
    mut exchange: Exchange<'_>,
    kept: bool,
) -> Result<Option<Ended>, BackendError> {
    let kept = kept || exchange.holds_state();
    let shard = exchange.shard();
    let protocol = |source| BackendError::Protocol { shard, source };
    let capabilities = exchange.capabilities();
    exchange.surface_rows(false);
    exchange.surface_columns(false);
    let mut read = 0;
    let mut ended = None;
    while !exchange.is_done() && (kept || read < WORTHWHILE) {
        let found = exchange.scan(0)?;
        let end = found.skip + found.len;
        let body = payload(&exchange.buffered()[found.skip..end]);
        match found.event {
            Event::End { .. } => {
                ended = Some(Ended::from(
                    &decode_end(&body, capabilities).map_err(protocol)?,
                ));
            }
            Event::Err => {
                let error = ErrPacket::decode(&body).map_err(protocol)?;
                tracing::debug!(
                    shard,
                    code = error.code,
                    "An answer ended in an error unread"
                );
            }
            _ => {}
        }
        exchange.consume(end);
        read += end;
        if matches!(found.event, Event::NeedMore) {
            exchange.fill().await?;
        }
    }
    Ok(ended)
}
