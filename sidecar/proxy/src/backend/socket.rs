//! Connecting to a MySQL server on the same machine by its Unix socket.

use std::path::Path;

use tokio::net::UnixStream;

use super::login::{Road, TIMEOUT, log_in, refused, timed_out};
use super::{Backend, BackendError, Login};
use crate::net::{Channel, Stream};

/// Opens a connection to the server behind `path` and logs in, without TLS.
///
/// # Errors
/// If the server does not answer in time or refuses the login.
pub(crate) async fn connect_socket(
    shard: usize,
    path: &Path,
    login: Login,
) -> Result<Backend, BackendError> {
    let attempt = async {
        let stream = UnixStream::connect(path).await.map_err(refused(shard))?;
        log_in(
            shard,
            Channel::new(Stream::Unix(stream)),
            Road::Socket,
            login,
        )
        .await
    };
    tokio::time::timeout(TIMEOUT, attempt)
        .await
        .map_err(|_| timed_out(shard))?
}
