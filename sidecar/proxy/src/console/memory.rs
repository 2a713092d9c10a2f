//! A client and a socket in memory, for an encoder that expects both.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Gives out a script of packets, never bytes of two packets in one read.
///
/// opensrv-mysql 0.7.0 frees the buffer that its current packet borrows when more bytes than
/// that packet were read. So the next packet waits for the next read.
#[derive(Debug)]
pub(super) struct OnePacketPerRead<'a> {
    script: &'a [u8],
    /// What is left of the current packet.
    left: usize,
}

const HEADER: usize = 4;

impl<'a> OnePacketPerRead<'a> {
    pub(super) fn new(script: &'a [u8]) -> Self {
        Self { script, left: 0 }
    }
}

impl AsyncRead for OnePacketPerRead<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0
            && let [a, b, c, ..] = *self.script
        {
            self.left = HEADER + u32::from_le_bytes([a, b, c, 0]) as usize;
        }
        let count = self.left.min(self.script.len()).min(buf.remaining());
        let (now, later) = self.script.split_at(count);
        buf.put_slice(now);
        self.script = later;
        self.left -= count;
        Poll::Ready(Ok(()))
    }
}

/// Collects what is written.
#[derive(Debug)]
pub(super) struct Collect<'a>(pub(super) &'a mut Vec<u8>);

impl AsyncWrite for Collect<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn one_read_holds_one_packet() {
        let script = b"\x03\0\0\0abc\x01\0\0\0d\0\0\0\0";
        let mut client = OnePacketPerRead::new(script);
        let mut buf = [0; 64];
        for length in [7, 5, 4, 0] {
            assert_eq!(client.read(&mut buf).await.unwrap(), length);
        }
    }

    #[tokio::test]
    async fn a_packet_may_need_several_reads() {
        let script = b"\x03\0\0\0abc\x01\0\0\0d";
        let mut client = OnePacketPerRead::new(script);
        let mut buf = [0; 5];
        for length in [5, 2, 5] {
            assert_eq!(client.read(&mut buf).await.unwrap(), length);
        }
    }
}
