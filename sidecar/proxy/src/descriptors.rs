//! How many sockets the process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files as far as the process may by itself. Shells and containers
/// start it with 1,024 by default, for the sake of programs that use `select`; thousands of
/// clients need as many sockets.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => tracing::debug!(?current, ?maximum, "Raised the limit of open files"),
        Err(error) => tracing::warn!(%error, ?current, "The limit of open files stays"),
    }
}
