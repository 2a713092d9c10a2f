//! The OK packet: a command's success, or the end of its rows.

use bytes::{BufMut, BytesMut};

use super::eof::EofPacket;
use super::session_change::SessionChanges;
use crate::capability::{CapabilityFlags, StatusFlags};
use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_lenenc, put_lenenc_bytes};

/// What a successful command did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// How many rows were changed.
    pub affected_rows: u64,
    /// The last AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The session's status. `SERVER_SESSION_STATE_CHANGED` is set and cleared
    /// by the encoder, as `session_state` is sent or not.
    pub status: StatusFlags,
    /// How many warnings SHOW WARNINGS would show.
    pub warnings: u16,
    /// A sentence for humans, `Rows matched: 1  Changed: 1  Warnings: 0` for example.
    pub info: &'a [u8],
    /// The session's changes, still encoded; see [`OkPacket::session_changes`].
    pub session_state: &'a [u8],
}

impl Default for OkPacket<'_> {
    /// Nothing done, outside of a transaction.
    fn default() -> Self {
        Self {
            affected_rows: 0,
            last_insert_id: 0,
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            warnings: 0,
            info: b"",
            session_state: b"",
        }
    }
}

/// The tag of an OK packet that ends rows. It is EOF's too: length tells them apart.
pub(super) const END_TAG: u8 = 0xFE;

impl<'a> OkPacket<'a> {
    pub(crate) const TAG: u8 = 0x00;

    /// Reads an OK packet of either tag, sent under `capabilities`.
    pub fn decode(payload: &'a [u8], capabilities: CapabilityFlags) -> Result<Self> {
        let mut input = Input(payload);
        if !matches!(input.u8()?, Self::TAG | END_TAG) {
            return Err(ProtocolError::Malformed("not an OK packet"));
        }
        let affected_rows = input.lenenc()?;
        let last_insert_id = input.lenenc()?;
        let status = StatusFlags::from_bits_retain(input.u16()?);
        let warnings = input.u16()?;
        let info = if input.is_empty() {
            b""
        } else {
            input.lenenc_bytes()?
        };
        let tracked = capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK)
            && status.contains(StatusFlags::SERVER_SESSION_STATE_CHANGED);
        let session_state = if tracked { input.lenenc_bytes()? } else { b"" };
        Ok(Self {
            affected_rows,
            last_insert_id,
            status,
            warnings,
            info,
            session_state,
        })
    }

    /// Appends the packet as a command's answer.
    pub fn encode(&self, capabilities: CapabilityFlags, out: &mut BytesMut) {
        self.encode_tagged(Self::TAG, capabilities, out);
    }

    /// Appends the packet that ends rows: an OK packet, or EOF for a client
    /// without `CLIENT_DEPRECATE_EOF`, which learns status and warnings only.
    pub fn encode_end(&self, capabilities: CapabilityFlags, out: &mut BytesMut) {
        if capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            self.encode_tagged(END_TAG, capabilities, out);
        } else {
            let status = self.status - StatusFlags::SERVER_SESSION_STATE_CHANGED;
            EofPacket {
                warnings: self.warnings,
                status,
            }
            .encode(out);
        }
    }

    fn encode_tagged(&self, tag: u8, capabilities: CapabilityFlags, out: &mut BytesMut) {
        let tracked = capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK)
            && !self.session_state.is_empty();
        let mut status = self.status;
        status.set(StatusFlags::SERVER_SESSION_STATE_CHANGED, tracked);
        out.put_u8(tag);
        put_lenenc(self.affected_rows, out);
        put_lenenc(self.last_insert_id, out);
        out.put_u16_le(status.bits());
        out.put_u16_le(self.warnings);
        if tracked || !self.info.is_empty() {
            put_lenenc_bytes(self.info, out);
        }
        if tracked {
            put_lenenc_bytes(self.session_state, out);
        }
    }

    /// The session's changes that the packet tells of.
    #[must_use]
    pub fn session_changes(&self) -> SessionChanges<'a> {
        SessionChanges(Input(self.session_state))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SessionChange;
    use crate::capability::server_offer;

    fn encoded(ok: &OkPacket<'_>, capabilities: CapabilityFlags) -> BytesMut {
        let mut out = BytesMut::new();
        ok.encode(capabilities, &mut out);
        out
    }

    #[test]
    fn the_plainest_ok_has_mysqls_bytes() {
        assert_eq!(
            &encoded(&OkPacket::default(), server_offer())[..],
            b"\0\0\0\x02\0\0\0"
        );
    }

    #[test]
    fn changes_travel_only_to_a_client_that_asked_for_them() {
        let mut state = BytesMut::new();
        SessionChange::Schema(b"shop").encode(&mut state);
        let ok = OkPacket {
            session_state: &state,
            ..OkPacket::default()
        };

        let wire = encoded(&ok, server_offer());
        let got = OkPacket::decode(&wire, server_offer()).unwrap();
        assert!(
            got.status
                .contains(StatusFlags::SERVER_SESSION_STATE_CHANGED)
        );
        let changes: Vec<_> = got.session_changes().map(Result::unwrap).collect();
        assert_eq!(changes, [SessionChange::Schema(b"shop")]);

        let without = server_offer() - CapabilityFlags::CLIENT_SESSION_TRACK;
        assert_eq!(&encoded(&got, without)[..], b"\0\0\0\x02\0\0\0");
    }

    #[test]
    fn rows_end_by_ok_or_by_eof_as_the_client_wants() {
        let ok = OkPacket {
            warnings: 3,
            ..OkPacket::default()
        };
        let mut out = BytesMut::new();
        ok.encode_end(server_offer(), &mut out);
        assert_eq!(&out[..], b"\xfe\0\0\x02\0\x03\0");
        out.clear();
        ok.encode_end(CapabilityFlags::empty(), &mut out);
        assert_eq!(&out[..], b"\xfe\x03\0\x02\0");
    }

    proptest! {
        #[test]
        fn an_ok_comes_back(affected_rows: u64, last_insert_id: u64, warnings: u16, info: Vec<u8>) {
            let sent = OkPacket { affected_rows, last_insert_id, warnings, info: &info, ..OkPacket::default() };
            for capabilities in [server_offer(), CapabilityFlags::empty()] {
                let wire = encoded(&sent, capabilities);
                prop_assert_eq!(OkPacket::decode(&wire, capabilities), Ok(sent));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Ok(ok) = OkPacket::decode(&bytes, server_offer()) {
                ok.session_changes().for_each(drop);
            }
        }
    }
}
