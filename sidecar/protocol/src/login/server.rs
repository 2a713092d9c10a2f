//! Lets a client in.

use bytes::BytesMut;
use zeroize::Zeroizing;

use super::server_error::{access_denied, no_such_level, old_client};
use super::server_options::{ClientIdentity, Credential, ServerOptions, ServerStep};
use crate::ErrPacket;
use crate::auth::{
    AuthSwitch, Exchange, PLUGIN, Password, Plugin, Progress, is_right_native, new_nonce,
};
use crate::capability::CapabilityFlags;
use crate::command::ChangeUser;
use crate::compress::Compression;
use crate::error::{ProtocolError, Result};
use crate::frame::PacketCodec;
use crate::greeting::{Greeting, HandshakeResponse, NONCE, SslRequest};

#[derive(Debug)]
enum State {
    /// The greeting is out, or TLS just began.
    Response,
    /// The client was asked to start anew with this plugin.
    Switched(Plugin),
    /// The first answer is here, the account is not.
    Account(Answer),
    /// The client is asked for its password.
    Full,
    /// The caller is asked about a password.
    Verdict,
    /// Over, one way or the other.
    Over,
}

/// A plugin's first answer.
#[derive(Debug)]
struct Answer {
    /// The plugin that it is of; `None`: one that is not known here.
    plugin: Option<Plugin>,
    bytes: Zeroizing<Vec<u8>>,
    asked: Asked,
}

/// What an answer is one to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A greeting that named another plugin, maybe: some clients then send nothing.
    Greeting,
    /// The same, by a client that cannot be asked for another plugin.
    OldGreeting,
    /// Nothing that still counts: the client must be asked.
    Nothing,
    /// The client was asked for this plugin.
    Switch,
}

/// A client's login, or its CHANGE_USER.
#[derive(Debug)]
pub struct ServerLogin {
    options: ServerOptions,
    nonce: [u8; NONCE],
    secure: bool,
    state: State,
    exchange: Exchange,
    client: ClientIdentity,
}

impl ServerLogin {
    /// A login that begins with [`ServerLogin::greet`].
    #[must_use]
    pub fn new(mut options: ServerOptions) -> Self {
        options
            .capabilities
            .set(CapabilityFlags::CLIENT_SSL, options.tls);
        let (nonce, secure) = (new_nonce(), options.secure_transport);
        let client = ClientIdentity {
            nonce,
            user: Vec::new(),
            password: Password::default(),
            database: None,
            capabilities: CapabilityFlags::empty(),
            collation: 0,
            max_packet: 0,
            attributes: Vec::new(),
            compression: None,
        };
        let exchange = Exchange::new(nonce, secure, options.rsa.clone());
        Self {
            options,
            nonce,
            secure,
            state: State::Response,
            exchange,
            client,
        }
    }

    /// Appends the greeting.
    pub fn greet(&self, codec: &mut PacketCodec, out: &mut BytesMut) {
        let greeting = Greeting {
            version: self.options.version.as_bytes(),
            connection_id: self.options.connection_id,
            nonce: self.nonce,
            capabilities: self.options.capabilities,
            collation: self.options.collation,
            status: self.options.status,
            plugin: PLUGIN,
        };
        codec.encode_with(out, |payload| greeting.encode(payload));
    }

    /// A second login on a connection whose client was `before`. Whether the
    /// transport is secure is `options.secure_transport`, which TLS makes true.
    ///
    /// The client scrambled with the nonce of its greeting; it is always asked
    /// anew, with a nonce of its own, as MySQL does, unless it is too old for that.
    pub fn change_user(
        options: ServerOptions,
        before: &ClientIdentity,
        change: &ChangeUser<'_>,
    ) -> Result<(Self, ServerStep)> {
        let mut login = Self::new(options);
        login.client = ClientIdentity {
            user: change.user.to_vec(),
            password: Password::default(),
            database: change.database.map(<[u8]>::to_vec),
            capabilities: before.capabilities,
            collation: change.collation.unwrap_or(before.collation),
            max_packet: before.max_packet,
            attributes: change.attributes.owned()?,
            nonce: before.nonce,
            // It stays as it is.
            compression: None,
        };
        let can_switch = before
            .capabilities
            .contains(CapabilityFlags::CLIENT_PLUGIN_AUTH);
        if !can_switch {
            login.nonce = before.nonce;
            let native = Some(Plugin::Native.name());
            let step = login.answered(native, change.auth, Asked::OldGreeting);
            return Ok((login, step));
        }
        let step = login.answered(change.plugin, b"", Asked::Nothing);
        Ok((login, step))
    }

    /// The user who wants in, once the step [`ServerStep::Account`] was reached.
    #[must_use]
    pub fn user(&self) -> &[u8] {
        &self.client.user
    }

    /// The client, once the step [`ServerStep::Authenticated`] was reached.
    #[must_use]
    pub fn into_client(self) -> ClientIdentity {
        self.client
    }

    /// Takes the client's next packet.
    pub fn feed(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ServerStep> {
        match self.state {
            State::Response => self.response(payload, codec, out),
            State::Switched(plugin) => {
                Ok(self.answered(Some(plugin.name()), payload, Asked::Switch))
            }
            State::Full => {
                let progress = self.exchange.feed(payload, codec, out)?;
                Ok(self.progressed(progress, codec, out))
            }
            State::Account(_) | State::Verdict | State::Over => {
                Err(ProtocolError::Malformed("a packet out of turn in a login"))
            }
        }
    }

    fn response(
        &mut self,
        payload: &[u8],
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ServerStep> {
        if self.options.tls && SslRequest::decode(payload)?.is_some() {
            // A second request, inside of TLS, is no response and fails below.
            self.options.tls = false;
            self.secure = true;
            return Ok(ServerStep::StartTls);
        }
        let response = HandshakeResponse::decode(payload)?;
        let capabilities = response.capabilities & self.options.capabilities;
        self.client = ClientIdentity {
            user: response.user.to_vec(),
            password: Password::default(),
            database: response.database.map(<[u8]>::to_vec),
            capabilities,
            collation: u16::from(response.collation),
            max_packet: response.max_packet,
            attributes: response.attributes.owned()?,
            nonce: self.client.nonce,
            compression: Compression::agreed(capabilities, response.zstd_level),
        };
        if let Some(Compression::Zstd { level }) = self.client.compression
            && !(1..=22).contains(&level)
        {
            return Ok(self.deny(&no_such_level(), codec, out));
        }
        self.exchange = Exchange::new(self.nonce, self.secure, self.options.rsa.clone());
        match response.plugin {
            Some(plugin) => Ok(self.answered(Some(plugin), response.auth, Asked::Greeting)),
            // Clients from before plugins have the native scramble, if any.
            None if self
                .client
                .capabilities
                .contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) =>
            {
                let native = Some(Plugin::Native.name());
                Ok(self.answered(native, response.auth, Asked::OldGreeting))
            }
            None => Ok(self.deny(&old_client(), codec, out)),
        }
    }

    /// Asks the client to start anew with this plugin.
    fn switch(
        &mut self,
        plugin: Plugin,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> ServerStep {
        self.nonce = new_nonce();
        self.exchange = Exchange::new(self.nonce, self.secure, self.options.rsa.clone());
        let switch = AuthSwitch {
            plugin: plugin.name(),
            data: &self.nonce,
        };
        codec.encode_with(out, |payload| switch.encode(payload));
        self.state = State::Switched(plugin);
        ServerStep::Continue
    }

    fn answered(&mut self, plugin: Option<&[u8]>, answer: &[u8], asked: Asked) -> ServerStep {
        self.state = State::Account(Answer {
            plugin: plugin.and_then(Plugin::named),
            bytes: Zeroizing::new(answer.to_vec()),
            asked,
        });
        ServerStep::Account
    }

    /// The plugin to ask the client for: the one that it named, where that can tell anything.
    fn wanted(&self, named: Option<Plugin>, credential: &Credential) -> Plugin {
        match (named, credential) {
            (Some(Plugin::Native), Credential::Password(_) | Credential::Optional(_)) => {
                Plugin::Native
            }
            (Some(Plugin::Clear), _) if self.secure => Plugin::Clear,
            _ => Plugin::Sha2,
        }
    }

    /// Goes on with what is known about the user; the answer to [`ServerStep::Account`].
    pub fn account(
        &mut self,
        credential: Credential,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Result<ServerStep> {
        let State::Account(answer) = std::mem::replace(&mut self.state, State::Over) else {
            return Err(ProtocolError::Malformed(
                "an account out of turn in a login",
            ));
        };
        let is_empty = Exchange::is_empty(&answer.bytes);
        // Nothing from one who was greeted by another plugin than its own says nothing yet.
        let is_answer = match answer.asked {
            Asked::Greeting => answer.plugin == Some(Plugin::Sha2),
            Asked::OldGreeting | Asked::Switch => true,
            Asked::Nothing => false,
        };
        if let (Credential::Optional(password), true, true) = (&credential, is_empty, is_answer) {
            self.client.password = password.clone();
            return Ok(self.progressed(Progress::Right, codec, out));
        }
        let wanted = self.wanted(answer.plugin, &credential);
        let is_none = is_empty && !has_no_password(&credential);
        let must_ask = match answer.asked {
            Asked::Nothing => true,
            Asked::Greeting | Asked::OldGreeting if answer.plugin != Some(wanted) => true,
            // Nothing in place of an answer to a plugin that the greeting did not name.
            Asked::Greeting => is_none && wanted != Plugin::Sha2,
            Asked::Switch | Asked::OldGreeting => false,
        };
        if must_ask && answer.asked == Asked::OldGreeting {
            return Ok(self.deny(&old_client(), codec, out));
        }
        if must_ask {
            return Ok(self.switch(wanted, codec, out));
        }
        let progress = self.judged(wanted, &answer.bytes, credential, codec, out);
        Ok(self.progressed(progress, codec, out))
    }

    fn judged(
        &mut self,
        plugin: Plugin,
        answer: &[u8],
        credential: Credential,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> Progress {
        let used_password = !Exchange::is_empty(answer);
        let progress = |is_right| match is_right {
            true => Progress::Right,
            false => Progress::Wrong { used_password },
        };
        match (plugin, credential) {
            // By Native nobody is asked whom only others know: see `wanted`.
            (_, Credential::Unknown) | (Plugin::Native, Credential::Elsewhere) => {
                Progress::Wrong { used_password }
            }
            (Plugin::Sha2, Credential::Elsewhere) => Exchange::ask(answer, codec, out),
            (Plugin::Clear, Credential::Elsewhere) => Exchange::given(answer),
            (plugin, Credential::Password(password) | Credential::Optional(password)) => {
                let judged = match plugin {
                    Plugin::Sha2 => self.exchange.judge(answer, &password, codec, out),
                    Plugin::Native if !used_password => progress(password.is_empty()),
                    Plugin::Native => progress(is_right_native(answer, &self.nonce, &password)),
                    Plugin::Clear => {
                        let given = answer.strip_suffix(b"\0").unwrap_or(answer);
                        progress(Password::new(given).matches(&password))
                    }
                };
                self.client.password = password;
                judged
            }
        }
    }

    /// Goes on with the answer to [`ServerStep::Verify`].
    pub fn verdict(
        &mut self,
        right: bool,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> ServerStep {
        let progress = match (&self.state, right) {
            (State::Verdict, true) => Progress::Right,
            _ => Progress::Wrong {
                used_password: !self.client.password.is_empty(),
            },
        };
        self.progressed(progress, codec, out)
    }

    fn progressed(
        &mut self,
        progress: Progress,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> ServerStep {
        match progress {
            Progress::Continue => {
                self.state = State::Full;
                ServerStep::Continue
            }
            Progress::Right => {
                self.state = State::Over;
                ServerStep::Authenticated
            }
            Progress::Given(password) => {
                self.state = State::Verdict;
                self.client.password = password.clone();
                ServerStep::Verify(password)
            }
            Progress::Wrong { used_password } => {
                let error = access_denied(&self.client.user, &self.options.host, used_password);
                self.deny(&error, codec, out)
            }
        }
    }

    fn deny(
        &mut self,
        error: &ErrPacket<'_>,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
    ) -> ServerStep {
        self.state = State::Over;
        self.client.password = Password::default();
        codec.encode_with(out, |payload| error.encode(payload));
        ServerStep::Denied
    }
}

/// Whether it is known that the user has no password.
fn has_no_password(credential: &Credential) -> bool {
    matches!(credential, Credential::Password(password) if password.is_empty())
}
