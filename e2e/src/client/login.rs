//! Logging in, and logging in again as somebody else.

use anyhow::{Context as _, Result, bail};
use bytes::{Buf as _, BytesMut};
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use remora_protocol::{
    Attributes, CapabilityFlags, ChangeUser, ClientLogin, ClientOptions, ClientStep, Command,
    ErrPacket, PacketCodec, Password, backend_wish,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Client, MAX_PACKET, ServerError};
use crate::mysql::Account;

const PLUGIN: &[u8] = b"caching_sha2_password";

/// Whom to log in as, and where.
#[derive(Clone, Debug)]
pub struct Login {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The user.
    pub account: Account,
    /// The database to begin in.
    pub database: Option<String>,
    /// What the client can do.
    pub capabilities: CapabilityFlags,
}

impl Login {
    /// A login in the database `shop`.
    #[must_use]
    pub fn new(port: u16, account: Account) -> Self {
        Self {
            port,
            account,
            database: Some("shop".to_owned()),
            capabilities: capabilities(),
        }
    }

    /// Logs in, without TLS.
    ///
    /// # Errors
    /// If the server cannot be reached, or lets nobody in.
    pub async fn connect(&self) -> Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let options = ClientOptions {
            database: self.database.clone().map(String::into_bytes),
            capabilities: self.capabilities,
            attributes: attributes(),
            ..ClientOptions::new(
                self.account.name,
                Password::new(self.account.password.as_bytes()),
            )
        };
        let mut client = Client {
            stream,
            buffer: BytesMut::new(),
            codec: PacketCodec::new(MAX_PACKET),
            capabilities: CapabilityFlags::empty(),
            connection_id: 0,
        };
        let mut machine = ClientLogin::new(options);
        let mut out = BytesMut::new();
        loop {
            let payload = client.packet().await.context("in the login")?;
            let step = machine.feed(&payload, &mut client.codec, &mut out)?;
            client.stream.write_all(&out).await?;
            out.clear();
            match step {
                ClientStep::Continue => {}
                ClientStep::StartTls => bail!("TLS was not asked for"),
                ClientStep::Done(server) => {
                    client.capabilities = server.capabilities;
                    client.connection_id = server.connection_id;
                    return Ok(client);
                }
            }
        }
    }
}

/// What the client can do: all that changes no packet in a way that it does not know.
fn capabilities() -> CapabilityFlags {
    backend_wish(CapabilityFlags::empty())
        | CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
}

/// What drivers say about themselves: as many attributes as they send.
fn attributes() -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = [
        ("_client_name", "remora-e2e"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", "Linux"),
        ("_platform", "x86_64"),
        ("_pid", "4711"),
        ("program_name", "soak"),
    ];
    pairs
        .map(|(name, value)| (name.into(), value.into()))
        .into()
}

impl Client {
    /// The next packet of an exchange.
    async fn packet(&mut self) -> Result<BytesMut> {
        loop {
            if let Some(payload) = self.codec.decode(&mut self.buffer)? {
                return Ok(payload);
            }
            let read = self.stream.read_buf(&mut self.buffer).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
        }
    }

    /// Becomes `account`, in `database`.
    ///
    /// # Errors
    /// If the connection is lost. The server's refusal is inside the result.
    pub async fn change_user(
        &mut self,
        account: &Account,
        database: &str,
    ) -> Result<Result<(), ServerError>> {
        let change = ChangeUser {
            user: account.name.as_bytes(),
            auth: b"",
            database: Some(database.as_bytes()),
            collation: Some(255),
            plugin: Some(PLUGIN),
            attributes: Attributes::default(),
        };
        self.send(&Command::ChangeUser(change)).await?;
        loop {
            let payload = self.packet().await.context("in CHANGE_USER")?;
            match payload.first() {
                Some(0x00) => return Ok(Ok(())),
                Some(0xFF) => return Ok(Err(ErrPacket::decode(&payload)?.into())),
                Some(0xFE) => {
                    let mut rest = &payload[1..];
                    let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
                    if name != PLUGIN {
                        bail!("another plugin: {}", String::from_utf8_lossy(name));
                    }
                    rest.advance(name.len() + 1);
                    let nonce = rest.strip_suffix(b"\0").unwrap_or(rest);
                    let nonce = nonce.try_into().context("a nonce of a wrong length")?;
                    let proof = scramble_sha256(nonce, account.password.as_bytes())
                        .context("an empty password")?;
                    let mut out = BytesMut::new();
                    self.codec.encode(&proof, &mut out);
                    self.stream.write_all(&out).await?;
                }
                // The scramble was right; OK follows.
                Some(0x01) if payload.get(1) == Some(&3) => {}
                other => bail!("{other:?} in CHANGE_USER"),
            }
        }
    }
}
