//! Gets into MySQL.

use aws_lc_rs::rsa::PublicEncryptingKey;
use bytes::BytesMut;
use mysql_common::auth::plugins::caching_sha2_password::CachingSha2Password;
use mysql_common::auth::plugins::{ChallengeResponsePlugin, Context, Response};
use zeroize::Zeroizing;

use super::client_options::{ClientOptions, LoginError, TlsMode};
use crate::auth::{AuthSwitch, PLUGIN, decode_more_data, public_key_der};
use crate::capability::{CapabilityFlags, StatusFlags, login_needs};
use crate::error::ProtocolError;
use crate::frame::PacketCodec;
use crate::greeting::{Attributes, Greeting, HandshakeResponse, NONCE, SslRequest, encode_pairs};
use crate::{ErrPacket, OkPacket};

/// What a caller does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientStep {
    /// Write the output, read the next packet.
    Continue,
    /// Write the output, begin TLS, then call [`ClientLogin::secured`].
    StartTls,
    /// Logged in.
    Done(ServerIdentity),
}

/// What is known about the server, and what was agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The server's version.
    pub version: Vec<u8>,
    /// The connection's id there.
    pub connection_id: u32,
    /// What both sides can do; it decides how answers are read.
    pub capabilities: CapabilityFlags,
    /// The session's status.
    pub status: StatusFlags,
    /// The server's default collation, its lower byte.
    pub collation: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Tls,
    Proof,
    Over,
}

/// A login into MySQL.
#[derive(Debug)]
pub struct ClientLogin {
    options: ClientOptions,
    state: State,
    nonce: [u8; NONCE],
    encrypted: bool,
    plugin: CachingSha2Password,
    /// The plugin was told to send its key and waits for it.
    awaits_key: bool,
    server: ServerIdentity,
}

/// zstd's own, where a caller asks for compression.
const ZSTD_LEVEL: u8 = 3;

/// The plugin's request for the server's public key.
const KEY_PLEASE: &[u8] = &[2];

impl ClientLogin {
    /// A login; it begins when the server's greeting arrives.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        Self {
            options,
            state: State::Greeting,
            nonce: [0; NONCE],
            encrypted: false,
            plugin: CachingSha2Password::default(),
            awaits_key: false,
            server: ServerIdentity {
                version: Vec::new(),
                connection_id: 0,
                capabilities: CapabilityFlags::empty(),
                status: StatusFlags::empty(),
                collation: 0,
            },
        }
    }

    /// Takes the server's next packet.
    pub fn feed(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        match (self.state, payload.first()) {
            (State::Tls | State::Over, _) => {
                Err(ProtocolError::Malformed("a packet out of turn in a login").into())
            }
            (_, Some(&ErrPacket::TAG)) => {
                self.state = State::Over;
                Err(LoginError::Server(ErrPacket::decode(payload)?.into_owned()))
            }
            (State::Greeting, _) => self.greeted(payload, codec, out),
            (State::Proof, Some(&OkPacket::TAG)) => {
                self.server.status = OkPacket::decode(payload, self.server.capabilities)?.status;
                self.state = State::Over;
                Ok(ClientStep::Done(self.server.clone()))
            }
            (State::Proof, Some(&AuthSwitch::TAG)) => self.switched(payload, codec, out),
            (State::Proof, _) => {
                let data = decode_more_data(payload)?;
                self.challenged(data, codec, out)
            }
        }
    }

    /// Goes on over TLS.
    pub fn secured(
        &mut self,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        if self.state != State::Tls {
            return Err(ProtocolError::Malformed("TLS out of turn in a login").into());
        }
        self.encrypted = true;
        self.respond(codec, out)
    }

    fn greeted(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        let greeting = Greeting::decode(payload)?;
        if !greeting
            .capabilities
            .contains(CapabilityFlags::CLIENT_PROTOCOL_41)
            || !greeting
                .capabilities
                .contains(CapabilityFlags::CLIENT_PLUGIN_AUTH)
        {
            return Err(ProtocolError::Malformed("a server that is too old").into());
        }
        let mut wish = self.options.capabilities | login_needs();
        wish.set(
            CapabilityFlags::CLIENT_CONNECT_WITH_DB,
            self.options.database.is_some(),
        );
        let offers_tls = greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL);
        let tls = match (self.options.tls, offers_tls) {
            (TlsMode::Required, false) => return Err(LoginError::TlsUnavailable),
            (TlsMode::Required | TlsMode::Preferred, true) => true,
            (TlsMode::Off, _) | (TlsMode::Preferred, false) => false,
        };
        wish.set(CapabilityFlags::CLIENT_SSL, tls);
        self.nonce = greeting.nonce;
        self.server = ServerIdentity {
            version: greeting.version.to_vec(),
            connection_id: greeting.connection_id,
            capabilities: wish & greeting.capabilities,
            status: greeting.status,
            collation: greeting.collation,
        };
        if !tls {
            return self.respond(codec, out);
        }
        let request = SslRequest {
            capabilities: self.server.capabilities,
            max_packet: self.options.max_packet,
            collation: self.options.collation,
        };
        codec.encode_with(out, |payload| request.encode(payload));
        self.state = State::Tls;
        Ok(ClientStep::StartTls)
    }

    /// Sends the response. It always starts with our plugin, whatever the
    /// server's default is: the account decides, and asks for a switch.
    fn respond(
        &mut self,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        let nonce = self.nonce;
        let proof = self.run_plugin(&nonce)?.unwrap_or_default();
        let mut pairs = BytesMut::new();
        encode_pairs(&self.options.attributes, &mut pairs);
        let response = HandshakeResponse {
            capabilities: self.server.capabilities,
            max_packet: self.options.max_packet,
            collation: self.options.collation,
            user: &self.options.user,
            auth: &proof,
            database: self.options.database.as_deref(),
            plugin: Some(PLUGIN),
            attributes: Attributes::from(&pairs[..]),
            zstd_level: ZSTD_LEVEL,
        };
        let mut payload = BytesMut::new();
        response.encode(&mut payload)?;
        codec.encode(&payload, out);
        self.state = State::Proof;
        Ok(ClientStep::Continue)
    }

    fn switched(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        let switch = AuthSwitch::decode(payload)?;
        if switch.plugin != PLUGIN {
            return Err(LoginError::Plugin(
                String::from_utf8_lossy(switch.plugin).into_owned(),
            ));
        }
        self.nonce = switch.nonce()?;
        self.plugin = CachingSha2Password::default();
        self.awaits_key = false;
        let nonce = self.nonce;
        self.challenged(&nonce, codec, out)
    }

    fn challenged(
        &mut self,
        challenge: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ClientStep, LoginError> {
        if std::mem::take(&mut self.awaits_key) {
            // Our own library looks at the key first: it checks what it reads.
            public_key_der(challenge)
                .and_then(|der| PublicEncryptingKey::from_der(&der).ok())
                .ok_or_else(|| LoginError::Exchange("the server's public key is invalid".into()))?;
        }
        if let Some(answer) = self.run_plugin(challenge)? {
            if answer[..] == *KEY_PLEASE {
                if !self.options.allow_public_key {
                    return Err(LoginError::PublicKeyForbidden);
                }
                self.awaits_key = true;
            }
            codec.encode(&answer, out);
        }
        Ok(ClientStep::Continue)
    }

    /// Lets the plugin answer a challenge. The answer can be the password itself.
    fn run_plugin(&mut self, challenge: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, LoginError> {
        let context = Transport {
            nonce: &self.nonce,
            options: &self.options,
            encrypted: self.encrypted,
        };
        let response = self
            .plugin
            .run(context, challenge)
            .map_err(|error| LoginError::Exchange(error.to_string()))?;
        let (Response::Next { packet } | Response::Last { packet }) = response;
        Ok(packet.map(Zeroizing::new))
    }
}

/// What the plugin asks about the connection.
struct Transport<'a> {
    nonce: &'a [u8; NONCE],
    options: &'a ClientOptions,
    encrypted: bool,
}

impl Context for Transport<'_> {
    fn pass(&self) -> &[u8] {
        self.options.password.expose()
    }

    fn is_ipc_transport(&self) -> bool {
        self.options.local_socket
    }

    fn is_tls_transport(&self) -> bool {
        self.encrypted
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
