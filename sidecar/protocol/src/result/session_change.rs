//! Session tracking: what a command changed in its session, told in its OK packet.

use bytes::{BufMut, BytesMut};

use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_lenenc, put_lenenc_bytes};

/// One change of the session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A system variable has a new value.
    SystemVariable {
        /// The variable.
        name: &'a [u8],
        /// Its value, as text.
        value: &'a [u8],
    },
    /// The default database changed.
    Schema(&'a [u8]),
    /// Something changed, or nothing did (`session_track_state_change`).
    StateChanged(bool),
    /// GTIDs of what was committed.
    Gtids(&'a [u8]),
    /// Statements that start the same transaction again elsewhere.
    TransactionCharacteristics(&'a [u8]),
    /// The transaction's state, eight letters.
    TransactionState(&'a [u8]),
    /// A kind that is newer than this code.
    Unknown {
        /// Its number.
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
}

/// The only encoding of GTIDs that there is: text.
const GTIDS_AS_TEXT: u8 = 0;

impl<'a> SessionChange<'a> {
    fn decode(kind: u8, data: &'a [u8]) -> Result<Self> {
        let mut input = Input(data);
        Ok(match kind {
            0 => {
                let name = input.lenenc_bytes()?;
                Self::SystemVariable {
                    name,
                    value: input.lenenc_bytes()?,
                }
            }
            1 => Self::Schema(input.lenenc_bytes()?),
            2 => Self::StateChanged(input.lenenc_bytes()? == b"1"),
            3 => {
                if input.u8()? != GTIDS_AS_TEXT {
                    return Err(ProtocolError::Malformed("GTIDs in an unknown encoding"));
                }
                Self::Gtids(input.lenenc_bytes()?)
            }
            4 => Self::TransactionCharacteristics(input.lenenc_bytes()?),
            5 => Self::TransactionState(input.lenenc_bytes()?),
            _ => Self::Unknown { kind, data },
        })
    }

    /// Appends the change, as a part of [`OkPacket::session_state`](crate::OkPacket::session_state).
    pub fn encode(&self, out: &mut BytesMut) {
        let mut data = BytesMut::new();
        let kind = match *self {
            Self::SystemVariable { name, value } => {
                put_lenenc_bytes(name, &mut data);
                put_lenenc_bytes(value, &mut data);
                0
            }
            Self::Schema(name) => {
                put_lenenc_bytes(name, &mut data);
                1
            }
            Self::StateChanged(changed) => {
                put_lenenc_bytes(if changed { b"1" } else { b"0" }, &mut data);
                2
            }
            Self::Gtids(gtids) => {
                data.put_u8(GTIDS_AS_TEXT);
                put_lenenc_bytes(gtids, &mut data);
                3
            }
            Self::TransactionCharacteristics(statements) => {
                put_lenenc_bytes(statements, &mut data);
                4
            }
            Self::TransactionState(state) => {
                put_lenenc_bytes(state, &mut data);
                5
            }
            Self::Unknown { kind, data: raw } => {
                data.put_slice(raw);
                kind
            }
        };
        out.put_u8(kind);
        put_lenenc(data.len() as u64, out);
        out.put_slice(&data);
    }
}

/// Iterates over the changes in an OK packet; ends after the first malformed one.
#[derive(Debug, Clone)]
pub struct SessionChanges<'a>(pub(super) Input<'a>);

impl<'a> Iterator for SessionChanges<'a> {
    type Item = Result<SessionChange<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let next = self
            .0
            .u8()
            .and_then(|kind| Ok((kind, self.0.lenenc_bytes()?)))
            .and_then(|(kind, data)| SessionChange::decode(kind, data));
        if next.is_err() {
            self.0 = Input(&[]);
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back() {
        let sent = [
            SessionChange::SystemVariable {
                name: b"autocommit",
                value: b"OFF",
            },
            SessionChange::Schema(b"shop"),
            SessionChange::StateChanged(true),
            SessionChange::StateChanged(false),
            SessionChange::Gtids(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:23"),
            SessionChange::TransactionCharacteristics(b"START TRANSACTION;"),
            SessionChange::TransactionState(b"T_______"),
            SessionChange::Unknown {
                kind: 77,
                data: b"?",
            },
        ];
        let mut out = BytesMut::new();
        for change in &sent {
            change.encode(&mut out);
        }
        let got: Vec<_> = SessionChanges(Input(&out)).map(Result::unwrap).collect();
        assert_eq!(got, sent);
    }

    #[test]
    fn a_malformed_change_is_the_last() {
        let mut changes = SessionChanges(Input(b"\x01\x05\x04shop\x01\x09\x04"));
        assert_eq!(changes.next(), Some(Ok(SessionChange::Schema(b"shop"))));
        assert!(changes.next().unwrap().is_err());
        assert!(changes.next().is_none());
    }
}
