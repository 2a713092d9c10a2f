//! One type for every kind of socket, so that sessions are not generic.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsStream;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over TCP, either side. Boxed: its state is a kilobyte that plain streams lack.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Wraps a TCP stream. Nagle's algorithm is switched off: every write here is a whole
    /// message, and holding it back for the peer's ACK would cost a round trip.
    ///
    /// # Errors
    /// If the option cannot be set, which means that the socket is already gone.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// The socket, as another handle of it.
    ///
    /// # Errors
    /// If the process has no more handles.
    pub(crate) fn socket(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(s) => s.as_fd().try_clone_to_owned(),
            Self::Unix(s) => s.as_fd().try_clone_to_owned(),
            Self::Tls(s) => s.get_ref().0.as_fd().try_clone_to_owned(),
        }
    }

    /// Waits until there is something to read. TLS does not wait: it may hold what it decrypted.
    ///
    /// # Errors
    /// If the runtime ends.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(s) => poll_fn(|cx| s.poll_read_ready(cx)).await,
            Self::Unix(s) => poll_fn(|cx| s.poll_read_ready(cx)).await,
            Self::Tls(_) => Ok(()),
        }
    }

    /// The protocol's version and the cipher, if it is encrypted.
    #[must_use]
    pub(crate) fn encryption(&self) -> Option<(&'static str, String)> {
        let Self::Tls(stream) = self else {
            return None;
        };
        let (_, agreed) = stream.get_ref();
        let version = match agreed.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let cipher = agreed.negotiated_cipher_suite()?.suite();
        Some((version, format!("{cipher:?}")))
    }

    /// Whether the peer showed a certificate, which was verified.
    #[must_use]
    pub(crate) fn has_certificate(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => false,
            Self::Tls(s) => s.get_ref().1.peer_certificates().is_some(),
        }
    }

    /// Whether bytes on this stream cannot be read by others on the way.
    #[must_use]
    pub(crate) fn is_private(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(s) => Pin::new(s).poll_read(cx, buf),
            Self::Unix(s) => Pin::new(s).poll_read(cx, buf),
            Self::Tls(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(s) => Pin::new(s).poll_write(cx, buf),
            Self::Unix(s) => Pin::new(s).poll_write(cx, buf),
            Self::Tls(s) => Pin::new(s).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(s) => Pin::new(s).poll_flush(cx),
            Self::Unix(s) => Pin::new(s).poll_flush(cx),
            Self::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Self::Unix(s) => Pin::new(s).poll_shutdown(cx),
            Self::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
