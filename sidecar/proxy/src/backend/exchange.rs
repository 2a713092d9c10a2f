//! One command under way on a backend, until its answer was read to the end.

use remora_protocol::{
    ErrPacket, Event, Found, OkPacket, ProtocolError, Reply, ReplyScanner, decode_end, payload,
};

use super::written::tells_changes;
use super::{Backend, BackendError};

/// One command whose answer is being read. While it lives, nobody else can use the backend;
/// if it is dropped early, the backend is broken.
#[derive(Debug)]
pub struct Exchange<'a> {
    backend: &'a mut Backend,
    scanner: ReplyScanner,
    first_sequence: u8,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(backend: &'a mut Backend, reply: Reply, first_sequence: u8) -> Self {
        let scanner = ReplyScanner::new(reply, backend.identity.capabilities, first_sequence);
        Self {
            backend,
            scanner,
            first_sequence,
        }
    }

    /// The shard.
    #[must_use]
    pub fn shard(&self) -> usize {
        self.backend.shard
    }

    /// Whether the connection has state that cannot be replayed on another.
    #[must_use]
    pub fn holds_state(&self) -> bool {
        !self.backend.residue.is_nothing()
    }

    /// The capabilities that shape the answer.
    #[must_use]
    pub fn capabilities(&self) -> remora_protocol::CapabilityFlags {
        self.backend.identity.capabilities
    }

    /// The sequence number of the answer's first packet.
    #[must_use]
    pub fn first_sequence(&self) -> u8 {
        self.first_sequence
    }

    /// Shows column definitions as events of their own.
    pub fn surface_columns(&mut self, yes: bool) {
        self.reshape(|scanner| scanner.surface_columns(yes));
    }

    /// Shows rows as events of their own.
    pub fn surface_rows(&mut self, yes: bool) {
        self.reshape(|scanner| scanner.surface_rows(yes));
    }

    fn reshape(&mut self, change: impl FnOnce(ReplyScanner) -> ReplyScanner) {
        let placeholder = ReplyScanner::new(Reply::Command, self.capabilities(), 0);
        self.scanner = change(std::mem::replace(&mut self.scanner, placeholder));
    }

    /// Whether the answer was read to its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.scanner.is_done()
    }

    /// How many rows went by.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.scanner.counted()
    }

    /// What the buffered bytes from `at` on hold. The caller takes `skip + len` bytes in before
    /// it asks again.
    ///
    /// # Errors
    /// If the server broke the protocol.
    pub fn scan(&mut self, at: usize) -> Result<Found, BackendError> {
        let bytes = self
            .backend
            .channel
            .buffered()
            .get(at..)
            .unwrap_or_default();
        let found = self.scanner.scan(bytes);
        let shard = self.backend.shard;
        let found = found.map_err(|source| BackendError::Protocol { shard, source })?;
        if let Event::Ok { status } | Event::End { status } = found.event {
            self.backend.status = status;
        }
        if self.backend.written.is_some() {
            self.note_written(at, &found);
        }
        Ok(found)
    }

    /// Notes what an answer says was committed.
    fn note_written(&mut self, at: usize, found: &Found) {
        let capabilities = self.capabilities();
        let Backend {
            channel, written, ..
        } = &mut *self.backend;
        let Some(written) = written else {
            return;
        };
        match found.event {
            Event::Ok { status } | Event::End { status } if tells_changes(status) => {
                let end = matches!(found.event, Event::End { .. });
                let start = at + found.skip;
                let packet = channel.buffered().get(start..start + found.len);
                written.read(&payload(packet.unwrap_or_default()), end, capabilities);
            }
            Event::Err => written.unknown = true,
            _ => {}
        }
    }

    /// The bytes that were read and not consumed.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        self.backend.channel.buffered()
    }

    /// Forgets the first `n` buffered bytes.
    pub fn consume(&mut self, n: usize) {
        self.backend.channel.consume(n);
    }

    /// Reads more bytes. Safe to cancel.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn fill(&mut self) -> Result<(), BackendError> {
        let shard = self.backend.shard;
        self.backend
            .channel
            .fill()
            .await
            .map_err(|source| BackendError::Lost { shard, source })
    }

    /// Sends a packet of the file that the server asked for ([`Event::Infile`]). An empty one ends
    /// it; without that the server takes nothing of it.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn send_file(&mut self, packet: &[u8]) -> Result<(), BackendError> {
        let sequence = self.backend.write_file(packet, self.scanner.sequence());
        self.scanner.set_sequence(sequence.await?);
        Ok(())
    }

    /// Reads up to the next packet that is an event, and gives its payload to `look`.
    ///
    /// # Errors
    /// If the connection breaks, or as `look` says.
    pub async fn next<T>(
        &mut self,
        look: impl FnOnce(Event, &[u8]) -> T,
    ) -> Result<T, BackendError> {
        loop {
            let Found { skip, len, event } = self.scan(0)?;
            if matches!(event, Event::NeedMore) {
                self.consume(skip);
                self.fill().await?;
                continue;
            }
            let packet = &self.buffered()[skip..skip + len];
            let seen = look(event, &payload(packet));
            self.consume(skip + len);
            return Ok(seen);
        }
    }

    /// Reads the whole answer and keeps its last OK, or the error.
    ///
    /// # Errors
    /// If the connection breaks. An error of MySQL's is inside the result.
    pub async fn finish(mut self) -> Result<Result<Ended, ErrPacket<'static>>, BackendError> {
        let capabilities = self.capabilities();
        let shard = self.shard();
        let mut ended = Ok(Ended::default());
        while !self.is_done() {
            let step = self.next(|event, payload| match event {
                Event::Ok { .. } => {
                    OkPacket::decode(payload, capabilities).map(|ok| Some(Ok(Ended::from(&ok))))
                }
                Event::End { .. } => {
                    decode_end(payload, capabilities).map(|ok| Some(Ok(Ended::from(&ok))))
                }
                Event::Err => ErrPacket::decode(payload).map(|e| Some(Err(e.into_owned()))),
                // Nobody here has one, and the server would wait for ever.
                Event::Infile => Err(ProtocolError::Malformed("a request for a file")),
                _ => Ok(None),
            });
            if let Some(last) = step
                .await?
                .map_err(|source| BackendError::Protocol { shard, source })?
            {
                ended = last;
            }
        }
        Ok(ended)
    }
}

/// What an OK packet says, without its texts.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Rows that changed (or were found, by the client's choice).
    pub affected_rows: u64,
    /// The first id that AUTO_INCREMENT made.
    pub last_insert_id: u64,
    /// Warnings.
    pub warnings: u16,
    /// The state of session and transaction.
    pub status: remora_protocol::StatusFlags,
    /// `Records: 3  Duplicates: 0  Warnings: 0` and the like.
    pub info: Vec<u8>,
}

impl From<&OkPacket<'_>> for Ended {
    fn from(ok: &OkPacket<'_>) -> Self {
        Self {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warnings: ok.warnings,
            status: ok.status,
            info: ok.info.to_vec(),
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        // Read to the end: the connection is in a known state again.
        self.backend.broken = !self.scanner.is_done();
        self.backend.channel.rest();
        self.backend.last_used = std::time::Instant::now();
    }
}
