//! A MySQL client that does what drivers do not let their users do: it leaves results half read,
//! goes away in the middle of a statement, sends parameters in pieces, and becomes another user.
//!
//! It stands on the protocol crate, whose decoders the drivers of other tests check.

mod answer;
mod login;
mod read;

use anyhow::{Context as _, Result, bail};
use bytes::BytesMut;
use remora_protocol::{CapabilityFlags, Command, PacketCodec, Param, Reply, encode_execute};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub use answer::{Answer, Outcome, Rows, ServerError};
pub use login::Login;

/// The largest packet that is taken from a server.
const MAX_PACKET: usize = 1 << 30;

/// A connection that is logged in. Dropping it closes the socket without a word.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: BytesMut,
    codec: PacketCodec,
    capabilities: CapabilityFlags,
    connection_id: u32,
}

/// A statement that the server prepared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Prepared {
    /// Its id on the connection.
    pub id: u32,
    /// How many parameters it has.
    pub params: u16,
}

impl Client {
    /// The id that the server knows the connection by.
    #[must_use]
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Sends a command and does not wait for its answer.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn send(&mut self, command: &Command<'_>) -> Result<()> {
        let mut payload = BytesMut::new();
        command.encode(self.capabilities, &mut payload)?;
        self.send_payload(&payload).await
    }

    async fn send_payload(&mut self, payload: &[u8]) -> Result<()> {
        let mut out = BytesMut::new();
        self.codec.restart();
        self.codec.encode(payload, &mut out);
        Ok(self.stream.write_all(&out).await?)
    }

    /// Runs statements as text: an answer for each, the last of them an error if one failed.
    ///
    /// # Errors
    /// If the connection is lost, or the server breaks the protocol.
    pub async fn query(&mut self, sql: &str) -> Result<Outcome> {
        self.send(&Command::Query(sql.as_bytes())).await?;
        self.answers(Reply::Command, false)
            .await
            .with_context(|| format!("after {sql}"))
    }

    /// Reads the answers to what was sent as text.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn read_answers(&mut self) -> Result<Outcome> {
        self.answers(Reply::Command, false).await
    }

    /// Runs a command that answers OK or an error.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn command(&mut self, command: &Command<'_>) -> Result<Outcome> {
        self.send(command).await?;
        self.answers(Reply::Command, false)
            .await
            .with_context(|| format!("after {command:?}"))
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Client::query`]; the server's refusal is inside the result.
    pub async fn prepare(&mut self, sql: &str) -> Result<Result<Prepared, ServerError>> {
        self.send(&Command::StmtPrepare(sql.as_bytes())).await?;
        self.prepared()
            .await
            .with_context(|| format!("after PREPARE {sql}"))
    }

    /// Executes a statement.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn execute(&mut self, statement: Prepared, params: &[Param<'_>]) -> Result<Outcome> {
        self.send_execute(statement, params).await?;
        self.answers(Reply::Command, true)
            .await
            .context("after EXECUTE")
    }

    /// Sends an EXECUTE and does not wait for its answer.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send_execute(&mut self, statement: Prepared, params: &[Param<'_>]) -> Result<()> {
        if usize::from(statement.params) != params.len() {
            bail!("{} parameters for {}", params.len(), statement.params);
        }
        let mut payload = BytesMut::new();
        encode_execute(
            statement.id,
            0,
            params,
            &[],
            self.capabilities,
            &mut payload,
        );
        self.send_payload(&payload).await
    }

    /// Reads some bytes of an answer and forgets them.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn read_some(&mut self, most: usize) -> Result<usize> {
        let mut bytes = vec![0; most];
        Ok(self.stream.read(&mut bytes).await?)
    }

    /// Says goodbye, and waits until the server has closed the connection.
    ///
    /// # Errors
    /// If it answers instead.
    pub async fn quit(mut self) -> Result<()> {
        self.send(&Command::Quit).await?;
        // A reset is an end too.
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Ok(()),
            Ok(n) => bail!("{n} bytes after QUIT"),
        }
    }
}
