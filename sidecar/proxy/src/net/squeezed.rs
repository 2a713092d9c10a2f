//! Compression between a channel and its stream, for clients that asked for it.

use std::io;

use bytes::BytesMut;
use remora_protocol::{CompressedCodec, Compression};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::Stream;

/// What a read asks for.
const READ: usize = 16 * 1024;
/// A buffer larger than this is given back once it is written.
const LARGE: usize = 64 * 1024;

/// The compressed side of a channel.
#[derive(Debug)]
pub(super) struct Squeezed {
    codec: CompressedCodec,
    /// Bytes as they came.
    raw: BytesMut,
    out: BytesMut,
}

impl Squeezed {
    pub(super) fn new(compression: Compression) -> Self {
        Self {
            codec: CompressedCodec::new(compression),
            raw: BytesMut::new(),
            out: BytesMut::new(),
        }
    }

    /// Begins a command, of which some bytes may be there already.
    pub(super) fn restart(&mut self, ahead: bool) {
        self.codec.restart(ahead);
    }

    /// Appends at least one plain byte to `plain`, and at most `most`. Safe to cancel.
    pub(super) async fn fill(
        &mut self,
        stream: &mut Stream,
        plain: &mut BytesMut,
        most: usize,
    ) -> io::Result<()> {
        loop {
            if self
                .codec
                .decode(&mut self.raw, plain, most)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?
            {
                if self.raw.is_empty() {
                    self.raw = BytesMut::new();
                }
                return Ok(());
            }
            if self.raw.is_empty() {
                // A client may think for hours: memory is taken once there is something to read.
                stream.readable().await?;
            }
            self.raw.reserve(READ);
            if stream.read_buf(&mut self.raw).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Whether compressed bytes wait to be taken.
    pub(super) fn has_ahead(&self) -> bool {
        !self.raw.is_empty()
    }

    /// Writes all of `plain`, piece by piece: a large answer is not there compressed as a whole.
    pub(super) async fn write(&mut self, stream: &mut Stream, plain: &[u8]) -> io::Result<()> {
        for piece in plain.chunks(PIECE) {
            self.codec.encode(piece, &mut self.out);
            let written = stream.write_all(&self.out).await;
            self.out.clear();
            written?;
        }
        if self.out.capacity() > LARGE {
            self.out = BytesMut::new();
        }
        Ok(())
    }
}

/// What is compressed and written at once.
const PIECE: usize = 256 * 1024;
