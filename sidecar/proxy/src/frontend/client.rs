//! A client's connection: commands in, answers out.

use std::io;
use std::os::fd::OwnedFd;

use bytes::{BufMut, BytesMut};
use remora_protocol::{
    CapabilityFlags, Compression, EofPacket, ErrPacket, OkPacket, PacketCodec, ProtocolError,
    put_lenenc,
};

use crate::net::Channel;

/// An output buffer larger than this is given back after its answer: an idle client keeps no more.
const LARGE_OUT: usize = 1024;

/// Why a client's connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The socket failed, or the client closed it.
    #[error("the client's socket: {0}")]
    Io(io::Error),
    /// The client sent what the protocol does not allow.
    #[error("the client broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
}

impl From<io::Error> for ClientError {
    /// What is wrong under compression comes by way of the socket.
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(protocol) => Self::Protocol(ProtocolError::clone(protocol)),
            None => Self::Io(error),
        }
    }
}

/// A client that logged in.
#[derive(Debug)]
pub(crate) struct Client {
    pub(super) channel: Channel,
    pub(super) codec: PacketCodec,
    /// Framed packets that wait to be written.
    pub(super) out: BytesMut,
    /// How many of those bytes are whole answers.
    pub(super) finished: usize,
    pub(super) capabilities: CapabilityFlags,
    /// Bytes that were written and not counted.
    pub(super) sent: usize,
    /// GTIDs in answers are for the client; else the sidecar alone asked for them.
    pub(super) own_gtids: bool,
    /// The client wants no definitions of columns (`resultset_metadata = NONE`).
    pub(super) bare_results: bool,
    /// A command is being read: frames of it may have been counted.
    pub(super) awaits_command: bool,
}

impl Client {
    /// The protocol's version and the cipher, if the connection is encrypted.
    pub(crate) fn encryption(&self) -> Option<(&'static str, String)> {
        self.channel.encryption()
    }

    /// What was agreed on with the client.
    #[must_use]
    pub(crate) fn capabilities(&self) -> CapabilityFlags {
        self.capabilities
    }

    /// The client's socket, as another handle of it.
    ///
    /// # Errors
    /// If the process has no more handles.
    pub(crate) fn socket(&self) -> io::Result<OwnedFd> {
        self.channel.stream().socket()
    }

    /// Whether GTIDs in answers are for the client.
    #[must_use]
    pub(crate) fn has_own_gtids(&self) -> bool {
        self.own_gtids
    }

    /// Decides whether GTIDs in answers are for the client.
    pub(crate) fn set_own_gtids(&mut self, yes: bool) {
        self.own_gtids = yes;
    }

    /// Whether results are sent without definitions of columns.
    #[must_use]
    pub(crate) fn has_bare_results(&self) -> bool {
        self.bare_results
    }

    /// Sends results without definitions of columns, or with them.
    pub(crate) fn set_bare_results(&mut self, yes: bool) {
        self.bare_results = yes;
    }

    /// Whether the client is told with each result if definitions follow.
    #[must_use]
    pub(crate) fn marks_metadata(&self) -> bool {
        self.capabilities
            .contains(CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA)
    }

    /// Adds the head of a result set.
    pub(crate) fn put_head(&mut self, columns: u64) {
        let mark = self.marks_metadata();
        let full = u8::from(!self.bare_results);
        self.put_with(|out| {
            put_lenenc(columns, out);
            if mark {
                out.put_u8(full);
            }
        });
    }

    /// Lets the client send several statements in one text, or not.
    pub(crate) fn set_multi_statements(&mut self, yes: bool) {
        self.capabilities
            .set(CapabilityFlags::CLIENT_MULTI_STATEMENTS, yes);
    }

    /// Refuses packets of so many bytes and more, as MySQL does with `max_allowed_packet`.
    pub(crate) fn limit_packets(&mut self, bytes: usize) {
        self.codec.set_max_packet(bytes.saturating_sub(1));
    }

    /// Compresses all that follows. What is inside of compressed packets has numbers that nobody
    /// looks at, MySQL among them.
    pub(crate) fn compress(&mut self, compression: Compression) {
        self.channel.compress(compression);
        self.codec.take_any_sequence();
    }

    /// The next command's payload. Safe to cancel: what was read stays buffered.
    ///
    /// # Errors
    /// If the client is gone or breaks the protocol.
    pub(crate) async fn command(&mut self) -> Result<BytesMut, ClientError> {
        if !std::mem::replace(&mut self.awaits_command, true) {
            self.codec.restart();
            self.channel.restart();
        }
        let command = self.packet().await?;
        self.awaits_command = false;
        Ok(command)
    }

    /// The next packet of a file that the client was asked for; an empty one ends it.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub(crate) async fn file_packet(&mut self) -> Result<BytesMut, ClientError> {
        self.packet().await
    }

    async fn packet(&mut self) -> Result<BytesMut, ClientError> {
        loop {
            if let Some(payload) = self.codec.decode(self.channel.buffer())? {
                return Ok(payload);
            }
            if !self.channel.buffered().is_empty() {
                let missing = self.codec.missing(self.channel.buffered());
                self.channel.buffer().reserve(missing);
            }
            self.channel.fill().await?;
        }
    }

    /// The sequence number of the next packet to the client.
    #[must_use]
    pub(crate) fn sequence(&self) -> u8 {
        self.codec.sequence()
    }

    /// Goes on counting after packets that were relayed as they were.
    pub(crate) fn set_sequence(&mut self, sequence: u8) {
        self.codec.set_sequence(sequence);
    }

    /// Adds a packet to the answer.
    pub(crate) fn put(&mut self, payload: &[u8]) {
        self.codec.encode(payload, &mut self.out);
    }

    /// Adds a packet to the answer, made in place.
    pub(crate) fn put_with(&mut self, make: impl FnOnce(&mut BytesMut)) {
        self.codec.encode_with(&mut self.out, make);
    }

    /// Adds framed packets to the answer as they are.
    pub(crate) fn put_framed(&mut self, packets: &[u8]) {
        self.out.put_slice(packets);
    }

    /// Adds an OK packet.
    pub(crate) fn put_ok(&mut self, ok: &OkPacket<'_>) {
        let capabilities = self.capabilities;
        self.put_with(|payload| ok.encode(capabilities, payload));
    }

    /// Adds the end of a result set's rows.
    pub(crate) fn put_end(&mut self, ok: &OkPacket<'_>) {
        let capabilities = self.capabilities;
        self.put_with(|payload| ok.encode_end(capabilities, payload));
    }

    /// Whether definitions and rows end in EOF packets, as older clients expect.
    #[must_use]
    pub(crate) fn expects_eofs(&self) -> bool {
        !self
            .capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    }

    /// Adds the end of column definitions, which only older clients expect.
    pub(crate) fn put_columns_end(&mut self, end: &EofPacket) {
        if !self
            .capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
        {
            self.put_with(|payload| end.encode(payload));
        }
    }

    /// Adds an error.
    pub(crate) fn put_error(&mut self, error: &ErrPacket<'_>) {
        self.put_with(|payload| error.encode(payload));
    }

    /// How many bytes wait to be written.
    #[must_use]
    pub(crate) fn pending(&self) -> usize {
        self.out.len()
    }

    /// Notes that what was added so far is whole answers, which an error in the next one does
    /// not take back.
    pub(crate) fn finish_answer(&mut self) {
        self.finished = self.out.len();
    }

    /// Takes back what was added of an unfinished answer and not written, with its sequence
    /// numbers.
    pub(crate) fn discard(&mut self) {
        // The first packet that is taken back had the number that the next one gets.
        if let Some(sequence) = self.out.get(self.finished + 3) {
            self.codec.set_sequence(*sequence);
            self.out.truncate(self.finished);
        }
    }

    /// Writes what was added.
    ///
    /// # Errors
    /// If the client is gone.
    pub(crate) async fn flush(&mut self) -> Result<(), ClientError> {
        if !self.out.is_empty() {
            let written = self.channel.write(&self.out).await;
            self.sent += self.out.len();
            self.out.clear();
            self.finished = 0;
            written?;
        }
        Ok(())
    }

    /// Writes bytes that someone else holds, after what was added. With nothing pending they
    /// are not copied.
    ///
    /// # Errors
    /// If the client is gone.
    pub(crate) async fn write_through(&mut self, packets: &[u8]) -> Result<(), ClientError> {
        if self.out.is_empty() {
            self.channel.write(packets).await?;
            self.sent += packets.len();
            Ok(())
        } else {
            self.out.put_slice(packets);
            self.flush().await
        }
    }

    /// How many bytes were written and not counted yet.
    #[must_use]
    pub(crate) fn written(&self) -> usize {
        self.sent
    }

    /// Bytes that were written since the last call.
    pub(crate) fn take_sent(&mut self) -> usize {
        std::mem::take(&mut self.sent)
    }

    /// Gives back what only a command and its answer need.
    pub(crate) fn rest(&mut self) {
        self.channel.rest();
        if self.out.capacity() > LARGE_OUT {
            self.out = BytesMut::new();
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&mut self) {
        self.channel.close().await;
    }
}
