//! Making bytes as large again as a packet says that they are, and no larger.

use bytes::BytesMut;
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, Operation as _};

use super::Compression;
use crate::error::{ProtocolError, Result};

/// A packet holds less than 16 MiB, so nothing further back is of use. Zstandard's own limit
/// would let a client make the sidecar take 128 MiB.
const WINDOW_LOG: u32 = 24;

/// One packet on its way.
pub(super) struct Inflate {
    state: State,
    /// So many bytes are still to come out.
    left: usize,
    /// The compressed stream is at its end.
    ended: bool,
}

enum State {
    Zlib(Decompress),
    Zstd(Decoder<'static>),
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflate")
            .field("left", &self.left)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Inflate {
    /// A packet that holds `plain` bytes.
    pub(super) fn new(compression: Compression, plain: usize) -> Result<Self> {
        let state = match compression {
            Compression::Zlib => State::Zlib(Decompress::new(true)),
            Compression::Zstd { .. } => {
                let failed = |_| ProtocolError::Uncompressible;
                let mut decoder = Decoder::new().map_err(failed)?;
                decoder
                    .set_parameter(DParameter::WindowLogMax(WINDOW_LOG))
                    .map_err(failed)?;
                State::Zstd(decoder)
            }
        };
        Ok(Self {
            state,
            left: plain,
            ended: false,
        })
    }

    /// Whether all came out that was announced, and the stream agrees.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.left == 0
    }

    /// Appends what comes out of `input`, at most so many bytes. Gives how many it used.
    pub(super) fn run(&mut self, input: &[u8], out: &mut BytesMut, most: usize) -> Result<usize> {
        let before = out.len();
        // A byte beyond what was announced shows a stream that holds more.
        let room = most.min(self.left.max(1));
        out.resize(before + room, 0);
        let step = self.step(input, &mut out[before..]);
        let (used, written) = step.inspect_err(|_| out.truncate(before))?;
        out.truncate(before + written);
        if written > self.left || (self.ended && written < self.left) {
            return Err(ProtocolError::Uncompressible);
        }
        self.left -= written;
        Ok(used)
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize)> {
        if self.ended {
            return Ok((0, 0));
        }
        let failed = ProtocolError::Uncompressible;
        match &mut self.state {
            State::Zlib(state) => {
                let (read, wrote) = (state.total_in(), state.total_out());
                let status = state
                    .decompress(input, out, FlushDecompress::None)
                    .map_err(|_| failed)?;
                self.ended = status == Status::StreamEnd;
                let (read, wrote) = (state.total_in() - read, state.total_out() - wrote);
                Ok((read as usize, wrote as usize))
            }
            State::Zstd(state) => {
                let status = state.run_on_buffers(input, out).map_err(|_| failed)?;
                self.ended = status.remaining == 0 && status.bytes_read > 0;
                Ok((status.bytes_read, status.bytes_written))
            }
        }
    }
}
