//! What a connection committed, by the GTIDs that its server tracks for it.

use remora_protocol::{CapabilityFlags, OkPacket, SessionChange, StatusFlags, decode_end};

use crate::instances::GtidSet;

/// What was committed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Written {
    /// The GTIDs that the server told.
    pub(crate) gtids: Option<GtidSet>,
    /// Something may have been committed that it did not tell: an error has no GTIDs with it.
    pub(crate) unknown: bool,
}

impl Written {
    /// Whether nothing was committed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.gtids.is_none() && !self.unknown
    }

    /// Adds what `other` committed.
    pub(crate) fn merge(&mut self, other: Self) {
        self.unknown |= other.unknown;
        match (&mut self.gtids, other.gtids) {
            (Some(own), Some(more)) => own.merge(&more),
            (own @ None, more) => *own = more,
            (Some(_), None) => {}
        }
    }

    /// Reads an OK packet, or the end of rows, whose status tells of changes.
    pub(super) fn read(&mut self, payload: &[u8], end: bool, capabilities: CapabilityFlags) {
        let decoded = match end {
            true => decode_end(payload, capabilities),
            false => OkPacket::decode(payload, capabilities),
        };
        let Ok(ok) = decoded else {
            // Whoever asked for the answer meets the same bytes, and gives the connection up.
            self.unknown = true;
            return;
        };
        for change in ok.session_changes() {
            let text = match change {
                Ok(SessionChange::Gtids(text)) => text,
                Ok(_) => continue,
                Err(_) => {
                    self.unknown = true;
                    return;
                }
            };
            let set = std::str::from_utf8(text).ok().map(GtidSet::parse);
            match set {
                Some(Ok(set)) => self.merge(Self {
                    gtids: Some(set),
                    unknown: false,
                }),
                _ => self.unknown = true,
            }
        }
    }
}

/// Whether a status tells of changes of the session.
pub(super) fn tells_changes(status: StatusFlags) -> bool {
    status.contains(StatusFlags::SERVER_SESSION_STATE_CHANGED)
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use remora_protocol::backend_wish;

    use super::*;

    const GTIDS: &[u8] = b"291212a5-ed01-11f1-bcd7-02fc00000001:7";

    fn read(changes: &[SessionChange<'_>]) -> Written {
        let capabilities = backend_wish(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        let mut state = BytesMut::new();
        for change in changes {
            change.encode(&mut state);
        }
        let ok = OkPacket {
            session_state: &state,
            ..OkPacket::default()
        };
        let mut written = Written::default();
        for end in [false, true] {
            let mut payload = BytesMut::new();
            match end {
                true => ok.encode_end(capabilities, &mut payload),
                false => ok.encode(capabilities, &mut payload),
            }
            written.read(&payload, end, capabilities);
        }
        written
    }

    #[test]
    fn the_gtids_of_an_answer_are_kept() {
        let written = read(&[SessionChange::Schema(b"shop"), SessionChange::Gtids(GTIDS)]);
        let text = std::str::from_utf8(GTIDS).unwrap();
        assert_eq!(written.gtids, Some(GtidSet::parse(text).unwrap()));
        assert!(!written.unknown);
        assert!(read(&[SessionChange::Schema(b"shop")]).is_nothing());
    }

    #[test]
    fn gtids_that_cannot_be_read_are_not_known() {
        assert!(read(&[SessionChange::Gtids(b"what?")]).unknown);
    }
}
