//! Logging a client in, and in again (COM_CHANGE_USER).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use remora_protocol::{
    ChangeUser, ClientIdentity, Credential, ErrPacket, MAX_LOGIN_PACKET, PacketCodec, Password,
    ServerLogin, ServerOptions, ServerStep, StatusFlags, server_offer,
};
use secrecy::ExposeSecret;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroize;

use super::backoff::{Applicant, Attempt};
use super::client::{Client, ClientError};
use super::entitled::{Way, insecure, may_come, needs_no_password};
use crate::net::{Channel, Stream};
use crate::proxy::Proxy;

/// MySQL's `connect_timeout`: a client that did not log in by then is cut off.
const TIMEOUT: Duration = Duration::from_secs(10);
/// utf8mb4_0900_ai_ci, the server's own default.
const DEFAULT_COLLATION: u8 = 255;

/// A client that proved who it is and waits for OK or an error.
pub(crate) struct LoggedIn {
    /// Its connection.
    pub client: Client,
    /// Who it is and what it wants.
    pub identity: ClientIdentity,
}

/// Where a client comes from.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// The address that is listened on is loopback.
    pub(crate) on_loopback: bool,
}

impl Peer {
    /// Its host, as MySQL names it.
    pub(crate) fn host(&self) -> String {
        match self.address.ip() {
            ip if ip.is_loopback() => "localhost".to_owned(),
            ip => ip.to_string(),
        }
    }

    fn way(&self, stream: &Stream) -> Way {
        Way {
            loopback: self.address.ip().is_loopback(),
            private: self.on_loopback,
            tls: stream.is_private(),
            certificate: stream.has_certificate(),
        }
    }
}

/// Greets a client and lets it prove who it is. `None`: it was denied and told so.
///
/// # Errors
/// If the client is gone, too slow, or breaks the protocol.
pub(crate) async fn log_in(
    proxy: &Proxy,
    stream: Stream,
    connection_id: u32,
    peer: &Peer,
) -> Result<Option<LoggedIn>, ClientError> {
    let place = proxy.waiting_room.enter();
    let attempt = attempt(proxy, stream, connection_id, peer);
    let timed = tokio::time::timeout(TIMEOUT, attempt);
    let too_slow = || ClientError::Io(io::ErrorKind::TimedOut.into());
    tokio::select! {
        biased;
        done = timed => done.map_err(|_| too_slow())?,
        () = place.shown_out() => Err(too_slow()),
    }
}

async fn attempt(
    proxy: &Proxy,
    stream: Stream,
    connection_id: u32,
    peer: &Peer,
) -> Result<Option<LoggedIn>, ClientError> {
    let mut machine = ServerLogin::new(options(proxy, &stream, connection_id, peer));
    let mut codec = PacketCodec::new(MAX_LOGIN_PACKET);
    let mut channel = Channel::new(stream);
    let mut out = BytesMut::new();
    let mut judge = Judge::new(proxy, peer);
    machine.greet(&mut codec, &mut out);
    channel.write(&out).await?;
    out.clear();
    loop {
        let mut payload = receive(&mut channel, &mut codec).await?;
        let step = machine.feed(&payload, &mut codec, &mut out);
        // The password may be in it.
        payload.zeroize();
        let mut step = match step {
            Ok(step) => step,
            Err(e) => return Err(refuse(&mut channel, &mut codec, e).await),
        };
        let way = peer.way(channel.stream());
        let tls = proxy.world().snapshot.spec.sidecar.client_tls;
        if !matches!(step, ServerStep::StartTls)
            && let Some(error) = insecure(tls, way)
        {
            codec.encode_with(&mut out, |payload| error.encode(payload));
            step = ServerStep::Denied;
        }
        step = judge
            .decide(&mut machine, &mut codec, &mut out, step, way)
            .await?;
        channel.write(&out).await?;
        out.clear();
        match step {
            ServerStep::StartTls => channel = secure(channel, &proxy.world().client_tls).await?,
            ServerStep::Authenticated => {
                let identity = machine.into_client();
                let capabilities = identity.capabilities;
                let client = Client {
                    channel,
                    codec,
                    out,
                    capabilities,
                    finished: 0,
                    sent: 0,
                    own_gtids: true,
                    bare_results: false,
                    awaits_command: false,
                };
                return Ok(Some(LoggedIn { client, identity }));
            }
            ServerStep::Denied => {
                channel.close().await;
                return Ok(None);
            }
            _ => {}
        }
    }
}

/// Lets a client that is logged in prove that it is someone else. `None`: it was denied and
/// told so; MySQL then ends the connection, and so does the caller.
///
/// # Errors
/// If the client is gone, too slow, or breaks the protocol.
pub(crate) async fn change_user(
    proxy: &Proxy,
    client: &mut Client,
    before: &ClientIdentity,
    request: &ChangeUser<'_>,
    connection_id: u32,
    peer: &Peer,
) -> Result<Option<ClientIdentity>, ClientError> {
    let mut options = options(proxy, client.channel.stream(), connection_id, peer);
    options.tls = false;
    let Client {
        channel,
        codec,
        out,
        ..
    } = client;
    let way = peer.way(channel.stream());
    let mut judge = Judge::new(proxy, peer);
    let (mut machine, mut step) = ServerLogin::change_user(options, before, request)?;
    let attempt = async {
        loop {
            step = judge.decide(&mut machine, codec, out, step, way).await?;
            channel.write(out).await?;
            out.clear();
            match step {
                ServerStep::Authenticated => return Ok(Some(machine.into_client())),
                ServerStep::Denied => return Ok(None),
                _ => {}
            }
            let mut payload = receive(channel, codec).await?;
            let fed = machine.feed(&payload, codec, out);
            // The password may be in it.
            payload.zeroize();
            step = fed?;
        }
    };
    tokio::time::timeout(TIMEOUT, attempt)
        .await
        .map_err(|_| ClientError::Io(io::ErrorKind::TimedOut.into()))?
}

fn options(proxy: &Proxy, stream: &Stream, connection_id: u32, peer: &Peer) -> ServerOptions {
    ServerOptions {
        version: proxy.server_version(),
        connection_id,
        capabilities: server_offer(),
        collation: DEFAULT_COLLATION,
        status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        tls: matches!(stream, Stream::Tcp(_)),
        secure_transport: stream.is_private(),
        rsa: proxy.rsa_key(),
        host: peer.host(),
    }
}

/// Answers what the login machine asks about accounts.
struct Judge<'a> {
    proxy: &'a Proxy,
    peer: &'a Peer,
    /// Who tries, and what keeps others of the same from trying meanwhile.
    attempt: Option<(Applicant, Attempt)>,
}

impl<'a> Judge<'a> {
    fn new(proxy: &'a Proxy, peer: &'a Peer) -> Self {
        Self {
            proxy,
            peer,
            attempt: None,
        }
    }

    /// Accounts of the manifest are verified here. Others may have been made by SQL: only MySQL
    /// knows them, so the client is asked for the password in full and MySQL decides.
    async fn decide(
        &mut self,
        machine: &mut ServerLogin,
        codec: &mut PacketCodec,
        out: &mut BytesMut,
        step: ServerStep,
        way: Way,
    ) -> Result<ServerStep, ClientError> {
        let step = match step {
            ServerStep::Account => {
                self.wait(machine.user()).await;
                let credential = self.credential(machine.user(), way);
                machine.account(credential, codec, out)?
            }
            other => other,
        };
        let step = match step {
            ServerStep::Verify(password) => {
                let accepted = self.proxy.verify_elsewhere(machine.user(), password).await;
                machine.verdict(accepted, codec, out)
            }
            other => other,
        };
        if let Some((applicant, _)) = &self.attempt {
            match &step {
                ServerStep::Authenticated => self.proxy.backoff.succeeded(applicant),
                ServerStep::Denied => self.proxy.backoff.failed(applicant),
                _ => {}
            }
        }
        Ok(step)
    }

    /// Waits, once, for as long as earlier failures demand.
    async fn wait(&mut self, user: &[u8]) {
        if self.attempt.is_none() {
            let applicant = Applicant::new(self.peer.address.ip(), user);
            let attempt = self.proxy.backoff.admit(&applicant).await;
            self.attempt = Some((applicant, attempt));
        }
    }

    fn credential(&self, user: &[u8], way: Way) -> Credential {
        let snapshot = self.proxy.snapshots.load();
        let rules = snapshot.user(user);
        if !may_come(rules, way) {
            tracing::debug!("A client lacks what spec.users[].require asks for");
            return Credential::Unknown;
        }
        let known = str::from_utf8(user)
            .ok()
            .and_then(|user| snapshot.users.get(user));
        let Some(password) = known else {
            return Credential::Elsewhere;
        };
        let password = Password::new(password.expose_secret().as_bytes());
        match needs_no_password(rules, way) {
            true => Credential::Optional(password),
            false => Credential::Password(password),
        }
    }
}

async fn receive(channel: &mut Channel, codec: &mut PacketCodec) -> Result<BytesMut, ClientError> {
    loop {
        if let Some(payload) = codec.decode(channel.buffer())? {
            return Ok(payload);
        }
        channel.fill().await?;
    }
}

/// Tells a client what it did wrong before its connection ends, as MySQL does.
async fn refuse(
    channel: &mut Channel,
    codec: &mut PacketCodec,
    error: remora_protocol::ProtocolError,
) -> ClientError {
    let mut out = BytesMut::new();
    let packet: ErrPacket<'_> = error.as_err_packet();
    codec.encode_with(&mut out, |payload| packet.encode(payload));
    // The client may be gone; the connection ends in any case.
    let _ = channel.write(&out).await;
    error.into()
}

async fn secure(channel: Channel, tls: &Arc<rustls::ServerConfig>) -> Result<Channel, ClientError> {
    let (Stream::Tcp(tcp), ahead) = channel.into_parts() else {
        return Err(io::Error::from(io::ErrorKind::Unsupported).into());
    };
    // A client may send its first TLS record together with the packet that asked for TLS.
    let mut early = Ok(());
    let accepted = TlsAcceptor::from(tls.clone()).accept_with(tcp, |connection| {
        early = feed_early(connection, &ahead);
    });
    let secured = accepted.await;
    early?;
    Ok(Channel::new(Stream::Tls(Box::new(secured?.into()))))
}

fn feed_early(connection: &mut rustls::ServerConnection, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        connection.read_tls(&mut bytes)?;
        connection.process_new_packets().map_err(io::Error::other)?;
    }
    Ok(())
}
