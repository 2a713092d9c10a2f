//! A stream with a read buffer that is not there while idle and grows with large answers.

use std::io;

use bytes::{Buf, BytesMut};
use remora_protocol::Compression;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::squeezed::Squeezed;
use super::{Stream, spare};

/// What a read asks for at first: a command or a small answer fits.
pub(super) const SMALL_READ: usize = 4 * 1024;
/// What a read asks for at most: beyond it fewer system calls no longer pay.
const LARGE_READ: usize = 64 * 1024;

/// A buffered connection.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: Stream,
    buffer: BytesMut,
    next_read: usize,
    /// Boxed: most connections have none.
    squeezed: Option<Box<Squeezed>>,
}

impl Channel {
    /// Wraps a stream. Memory is taken with the first read.
    #[must_use]
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            next_read: SMALL_READ,
            squeezed: None,
        }
    }

    /// Compresses all that follows, in both directions.
    pub(crate) fn compress(&mut self, compression: Compression) {
        self.squeezed = Some(Box::new(Squeezed::new(compression)));
    }

    /// Begins a new command: compressed packets are counted anew.
    pub(crate) fn restart(&mut self) {
        let ahead = !self.buffer.is_empty();
        if let Some(squeezed) = &mut self.squeezed {
            squeezed.restart(ahead);
        }
    }

    /// As [`Stream::encryption`].
    pub(crate) fn encryption(&self) -> Option<(&'static str, String)> {
        self.stream.encryption()
    }

    /// The bytes that were read and not yet taken.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The same, to look at.
    #[must_use]
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer
    }

    /// Forgets the first `n` buffered bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        if n == self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.advance(n);
        }
    }

    /// Reads once, whatever is there. Safe to cancel.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the peer closed, or the socket's error.
    pub(crate) async fn fill(&mut self) -> io::Result<()> {
        if let Some(squeezed) = &mut self.squeezed {
            let (stream, most) = (&mut self.stream, LARGE_READ);
            return squeezed.fill(stream, &mut self.buffer, most).await;
        }
        if self.buffer.capacity() == 0 {
            // A client may think for hours: memory is taken once there is something to read.
            self.stream.readable().await?;
            self.buffer = spare::take();
        }
        self.buffer.reserve(self.next_read);
        let room = self.buffer.capacity() - self.buffer.len();
        let n = self.stream.read_buf(&mut self.buffer).await?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if n == room {
            self.next_read = (self.next_read * 4).min(LARGE_READ);
        }
        Ok(())
    }

    /// Gives back the buffer's memory if nothing is in it. Called between commands.
    pub(crate) fn rest(&mut self) {
        if self.buffer.is_empty() {
            spare::give_back(std::mem::take(&mut self.buffer));
            self.next_read = SMALL_READ;
        }
    }

    /// Writes all of `bytes` and flushes them.
    ///
    /// # Errors
    /// The socket's error; how much was written is then unknown.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.squeezed {
            Some(squeezed) => squeezed.write(&mut self.stream, bytes).await?,
            None => self.stream.write_all(bytes).await?,
        }
        // Plain sockets have nothing to flush; TLS may hold back a record.
        self.stream.flush().await
    }

    /// Whether the peer closed or sent something while nothing was due. Does not wait.
    pub(crate) fn is_disturbed(&mut self) -> bool {
        let ahead = self.squeezed.as_ref().is_some_and(|it| it.has_ahead());
        if ahead || !self.buffer.is_empty() {
            return true;
        }
        let mut byte = [0; 1];
        let read = match &self.stream {
            Stream::Tcp(s) => s.try_read(&mut byte),
            Stream::Unix(s) => s.try_read(&mut byte),
            Stream::Tls(s) => s.get_ref().0.try_read(&mut byte),
        };
        !matches!(read, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Ends the connection politely.
    pub(crate) async fn close(&mut self) {
        // The peer may be gone already; then there is nothing left to close.
        let _ = self.stream.shutdown().await;
    }

    /// The stream, to ask what kind it is.
    #[must_use]
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Takes stream and bytes read ahead out, for an upgrade to TLS.
    #[must_use]
    pub(crate) fn into_parts(self) -> (Stream, BytesMut) {
        (self.stream, self.buffer)
    }
}
