//! The client's answer to the greeting, `HandshakeResponse41`.

use bytes::{BufMut, BytesMut};

use super::{Attributes, SslRequest};
use crate::capability::CapabilityFlags;
use crate::error::{ProtocolError, Result};
use crate::wire::{Input, put_lenenc_bytes, put_nul_bytes};

/// Who a client is and what it wants.
#[derive(Clone, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client can do and wants.
    pub capabilities: CapabilityFlags,
    /// The largest packet that the client sends.
    pub max_packet: u32,
    /// The client's collation, its lower byte.
    pub collation: u8,
    /// The user's name.
    pub user: &'a [u8],
    /// The plugin's first answer, the scrambled password.
    pub auth: &'a [u8],
    /// The database to start in.
    pub database: Option<&'a [u8]>,
    /// The plugin that `auth` is of.
    pub plugin: Option<&'a [u8]>,
    /// What the client says about itself.
    pub attributes: Attributes<'a>,
    /// The level at which the client wants Zstandard; 0 where it does not ask for that.
    pub zstd_level: u8,
}

/// zstd's own, for a client that says none.
const DEFAULT_ZSTD_LEVEL: u8 = 3;

/// Leaves `auth` out: with an unsuitable plugin it is the password itself.
impl std::fmt::Debug for HandshakeResponse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandshakeResponse")
            .field("capabilities", &self.capabilities)
            .field("user", &String::from_utf8_lossy(self.user))
            .finish_non_exhaustive()
    }
}

impl<'a> HandshakeResponse<'a> {
    /// Reads a response.
    pub fn decode(payload: &'a [u8]) -> Result<Self> {
        let mut input = Input(payload);
        let head = SslRequest::take(&mut input)?;
        let has = |capability| head.capabilities.contains(capability);
        let user = input.nul_bytes()?;
        let auth = if has(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            input.lenenc_bytes()?
        } else {
            take_short_auth(&mut input, head.capabilities)?
        };
        // An empty database is none: clients that fill the field always send it so.
        let database = Some(if has(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
            input.nul_or_rest()
        } else {
            b""
        })
        .filter(|name| !name.is_empty());
        let plugin = has(CapabilityFlags::CLIENT_PLUGIN_AUTH).then(|| input.nul_or_rest());
        let attributes = if has(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
            Attributes::take(&mut input)?
        } else {
            Attributes::default()
        };
        let zstd_level = if has(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM) {
            input.u8().unwrap_or(DEFAULT_ZSTD_LEVEL)
        } else {
            0
        };
        Ok(Self {
            capabilities: head.capabilities,
            max_packet: head.max_packet,
            collation: head.collation,
            user,
            auth,
            database,
            plugin,
            attributes,
            zstd_level,
        })
    }

    /// Appends the response, in the form that its own capabilities name. An
    /// `auth` that this form cannot hold is an error.
    pub fn encode(&self, out: &mut BytesMut) -> Result<()> {
        let has = |capability| self.capabilities.contains(capability);
        let head = SslRequest {
            capabilities: self.capabilities,
            max_packet: self.max_packet,
            collation: self.collation,
        };
        head.encode(out);
        put_nul_bytes(self.user, out);
        if has(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(self.auth, out);
        } else {
            put_short_auth(self.auth, self.capabilities, out)?;
        }
        if has(CapabilityFlags::CLIENT_CONNECT_WITH_DB) {
            put_nul_bytes(self.database.unwrap_or_default(), out);
        }
        if has(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            put_nul_bytes(self.plugin.unwrap_or_default(), out);
        }
        if has(CapabilityFlags::CLIENT_CONNECT_ATTRS) {
            self.attributes.encode(out);
        }
        if has(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM) {
            out.put_u8(self.zstd_level);
        }
        Ok(())
    }
}

/// Takes a first answer in the forms from before length-encoded ones, which
/// CHANGE_USER still has: behind a byte of length, or ended by a NUL.
pub(crate) fn take_short_auth<'a>(
    input: &mut Input<'a>,
    capabilities: CapabilityFlags,
) -> Result<&'a [u8]> {
    if !capabilities.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
        return input.nul_bytes();
    }
    let length = usize::from(input.u8()?);
    input.bytes(length)
}

/// Writes a first answer as [`take_short_auth`] reads it.
pub(crate) fn put_short_auth(
    auth: &[u8],
    capabilities: CapabilityFlags,
    out: &mut BytesMut,
) -> Result<()> {
    if !capabilities.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
        if auth.contains(&0) {
            return Err(ProtocolError::Malformed("the first answer has a NUL in it"));
        }
        put_nul_bytes(auth, out);
        return Ok(());
    }
    let length = u8::try_from(auth.len())
        .map_err(|_| ProtocolError::Malformed("the first answer is too long"))?;
    out.put_u8(length);
    out.put_slice(auth);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn response() -> HandshakeResponse<'static> {
        HandshakeResponse {
            capabilities: CapabilityFlags::CLIENT_PROTOCOL_41
                | CapabilityFlags::CLIENT_SECURE_CONNECTION
                | CapabilityFlags::CLIENT_CONNECT_WITH_DB
                | CapabilityFlags::CLIENT_PLUGIN_AUTH
                | CapabilityFlags::CLIENT_CONNECT_ATTRS,
            max_packet: 1 << 24,
            collation: 45,
            user: b"app",
            auth: b"0123456789abcdef",
            database: Some(b"shop"),
            plugin: Some(b"caching_sha2_password"),
            attributes: Attributes(b"\x03_os\x05Linux"),
            zstd_level: 0,
        }
    }

    #[test]
    fn a_response_comes_back_in_every_form_of_its_first_answer() {
        let counted = response().capabilities;
        let ended = counted - CapabilityFlags::CLIENT_SECURE_CONNECTION;
        let encoded = counted | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
        for capabilities in [counted, ended, encoded] {
            let sent = HandshakeResponse {
                capabilities,
                ..response()
            };
            let mut out = BytesMut::new();
            sent.encode(&mut out).unwrap();
            assert_eq!(HandshakeResponse::decode(&out), Ok(sent));
            assert_eq!(SslRequest::decode(&out), Ok(None));
        }
    }

    #[test]
    fn a_request_for_tls_is_told_from_a_response() {
        let sent = SslRequest {
            capabilities: CapabilityFlags::CLIENT_SSL | CapabilityFlags::CLIENT_PROTOCOL_41,
            max_packet: 7,
            collation: 255,
        };
        let mut out = BytesMut::new();
        sent.encode(&mut out);
        assert_eq!(SslRequest::decode(&out), Ok(Some(sent)));
    }

    #[test]
    fn the_last_fields_may_be_left_out_as_old_clients_do() {
        let mut out = BytesMut::new();
        response().encode(&mut out).unwrap();
        let end = out.len() - b"\x0b\x03_os\x05Linux".len();
        let got = HandshakeResponse::decode(&out[..end]).unwrap();
        assert_eq!(got.attributes, Attributes::default());
        let got = HandshakeResponse::decode(&out[..end - 1]).unwrap();
        assert_eq!(got.plugin, Some(&b"caching_sha2_password"[..]));
    }

    #[test]
    fn the_level_of_zstandard_is_the_last_byte() {
        let sent = HandshakeResponse {
            capabilities: response().capabilities
                | CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
            zstd_level: 7,
            ..response()
        };
        let mut out = BytesMut::new();
        sent.encode(&mut out).unwrap();
        assert_eq!(HandshakeResponse::decode(&out), Ok(sent));
        let level = HandshakeResponse::decode(&out[..out.len() - 1]).unwrap();
        assert_eq!(level.zstd_level, DEFAULT_ZSTD_LEVEL);
    }

    #[test]
    fn clients_from_before_4_1_are_refused() {
        assert!(HandshakeResponse::decode(b"\x85\xa6\x03\0\0\x00root\0").is_err());
    }

    #[test]
    fn debug_shows_no_answer_to_the_scramble() {
        assert!(!format!("{:?}", response()).contains("auth"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut packet = response().capabilities.bits().to_le_bytes().to_vec();
            packet.extend_from_slice(&bytes);
            let _ = HandshakeResponse::decode(&packet);
            let _ = HandshakeResponse::decode(&bytes);
        }
    }
}
