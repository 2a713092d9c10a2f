//! How much of a client's own state a session may hold here.

use remora_protocol::ErrPacket;

use super::Session;
use crate::failure::Failure;

/// What texts of prepared statements, parameters sent in pieces, SETs to be replayed and what
/// opens a transaction may take together, in bytes: one packet of MySQL's largest default size
/// (`max_allowed_packet`). A client that means no harm holds some kilobytes.
pub(super) const MOST: usize = 64 << 20;

/// What each of them takes besides its bytes, roughly: many small ones count too.
pub(super) const EACH: usize = 256;

impl Session {
    /// What the session holds, in bytes.
    pub(super) fn held(&self) -> usize {
        self.prepared.held() + self.state.held()
    }

    /// What it may still take.
    pub(super) fn room(&self) -> usize {
        MOST.saturating_sub(self.held())
    }

    /// Refuses to remember a statement of so many bytes for connections that come later.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn admit_bytes(&self, bytes: usize) -> Result<(), Failure> {
        if bytes + EACH <= self.room() {
            return Ok(());
        }
        let message = format!(
            "Out of memory: a session's variables, savepoints and prepared statements may take \
             {MOST} bytes together; close statements or set variables to NULL"
        );
        Err(ErrPacket::new(1041, *b"HY000", message).into())
    }
}
