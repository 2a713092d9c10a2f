//! Logging in to the pod's own mysqld, by its Unix socket.

use std::path::Path;

use remora_protocol::{CapabilityFlags, Password, backend_wish};

use super::AgentError;
use crate::backend::{Backend, BackendError, Login, connect_socket};

/// Logs in as an account of localhost.
pub(super) async fn log_in(
    socket: &Path,
    user: &str,
    password: &str,
) -> Result<Backend, BackendError> {
    connect_socket(OWN, socket, login(user, password)).await
}

/// As whom the agent comes, to its own mysqld or to the primary's.
pub(super) fn login(user: &str, password: &str) -> Login {
    Login {
        packet_limit: usize::MAX,
        user: user.as_bytes().to_vec(),
        password: Password::new(password.as_bytes()),
        database: None,
        capabilities: backend_wish(CapabilityFlags::CLIENT_DEPRECATE_EOF),
        collation: UTF8MB4,
        attributes: vec![(b"program_name".to_vec(), b"remora-agent".to_vec())],
    }
}

/// What a failed connection means: silence, or a refusal to let someone in. The agent has one
/// server, so no shard is named.
pub(super) fn failure(error: BackendError) -> AgentError {
    match error {
        BackendError::Server { error, .. } | BackendError::Queued { error, .. } => {
            AgentError::Refused {
                what: "the agent's login",
                error,
            }
        }
        BackendError::Connect { reason, .. } => AgentError::Silent(reason),
        BackendError::Lost { source, .. } => AgentError::Silent(source.to_string()),
        BackendError::Protocol { source, .. } => AgentError::Silent(source.to_string()),
    }
}

/// The shard's number in errors, which [`failure`] drops.
pub(super) const OWN: usize = 0;
/// utf8mb4_0900_ai_ci.
const UTF8MB4: u8 = 255;
