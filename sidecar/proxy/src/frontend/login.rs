//! Logging a client in, and in again (COM_CHANGE_USER).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use remora_protocol::{
    ChangeUser, ClientIdentity, Credential, ErrPacket, MAX_LOGIN_PACKET, PacketCodec, Password,
    ServerLogin, ServerOptions, ServerStep, StatusFlags, server_offer,
};
use secrecy::ExposeSecret;
use tokio_rustls::TlsAcceptor;

use super::client::{Client, ClientError};
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

/// Greets a client and lets it prove who it is. `None`: it was denied and told so.
///
/// # Errors
/// If the client is gone, too slow, or breaks the protocol.
pub(crate) async fn log_in(
    proxy: &Proxy,
    stream: Stream,
    connection_id: u32,
    host: String,
) -> Result<Option<LoggedIn>, ClientError> {
    let attempt = attempt(proxy, stream, connection_id, host);
    tokio::time::timeout(TIMEOUT, attempt)
        .await
        .map_err(|_| ClientError::Io(io::ErrorKind::TimedOut.into()))?
}

async fn attempt(
    proxy: &Proxy,
    stream: Stream,
    connection_id: u32,
    host: String,
) -> Result<Option<LoggedIn>, ClientError> {
    let mut machine = ServerLogin::new(options(proxy, &stream, connection_id, host));
    let mut codec = PacketCodec::new(MAX_LOGIN_PACKET);
    let mut channel = Channel::new(stream);
    let mut out = BytesMut::new();
    machine.greet(&mut codec, &mut out);
    channel.write(&out).await?;
    out.clear();
    loop {
        let payload = receive(&mut channel, &mut codec).await?;
        let mut step = match machine.feed(&payload, &mut codec, &mut out) {
            Ok(step) => step,
            Err(e) => return Err(refuse(&mut channel, &mut codec, e).await),
        };
        step = decide(proxy, &mut machine, &mut codec, &mut out, step).await?;
        channel.write(&out).await?;
        out.clear();
        match step {
            ServerStep::StartTls => channel = secure(channel, &proxy.client_tls).await?,
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
    host: String,
) -> Result<Option<ClientIdentity>, ClientError> {
    let mut options = options(proxy, client.channel.stream(), connection_id, host);
    options.tls = false;
    let Client {
        channel,
        codec,
        out,
        ..
    } = client;
    let (mut machine, mut step) = ServerLogin::change_user(options, before, request, codec, out)?;
    let attempt = async {
        loop {
            step = decide(proxy, &mut machine, codec, out, step).await?;
            channel.write(out).await?;
            out.clear();
            match step {
                ServerStep::Authenticated => return Ok(Some(machine.into_client())),
                ServerStep::Denied => return Ok(None),
                _ => {}
            }
            let payload = receive(channel, codec).await?;
            step = machine.feed(&payload, codec, out)?;
        }
    };
    tokio::time::timeout(TIMEOUT, attempt)
        .await
        .map_err(|_| ClientError::Io(io::ErrorKind::TimedOut.into()))?
}

fn options(proxy: &Proxy, stream: &Stream, connection_id: u32, host: String) -> ServerOptions {
    ServerOptions {
        version: proxy.server_version(),
        connection_id,
        capabilities: server_offer(),
        collation: DEFAULT_COLLATION,
        status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        tls: matches!(stream, Stream::Tcp(_)),
        secure_transport: stream.is_private(),
        rsa: proxy.rsa_key(),
        host,
    }
}

/// Answers what the login machine asks about accounts.
///
/// Accounts of the manifest are verified here. Others may have been made by SQL: only MySQL
/// knows them, so the client is asked for the password in full and MySQL decides.
async fn decide(
    proxy: &Proxy,
    machine: &mut ServerLogin,
    codec: &mut PacketCodec,
    out: &mut BytesMut,
    step: ServerStep,
) -> Result<ServerStep, ClientError> {
    let step = match step {
        ServerStep::Account => {
            let snapshot = proxy.snapshots.load();
            let known = str::from_utf8(machine.user())
                .ok()
                .and_then(|u| snapshot.users.get(u));
            let credential = match known {
                Some(password) => {
                    Credential::Password(Password::new(password.expose_secret().as_bytes()))
                }
                None => Credential::Elsewhere,
            };
            machine.account(credential, codec, out)?
        }
        other => other,
    };
    match step {
        ServerStep::Verify(password) => {
            let accepted = proxy.verify_elsewhere(machine.user(), password).await;
            Ok(machine.verdict(accepted, codec, out))
        }
        other => Ok(other),
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
