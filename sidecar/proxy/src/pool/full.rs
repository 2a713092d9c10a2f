//! When a server has no room for another connection.

use crate::backend::BackendError;

/// Too many connections, of all or of this account.
const FULL: [u16; 2] = [1040, 1203];
/// An account's limit of any kind; only that of connections passes.
const LIMIT: u16 = 1226;

/// Whether a server refused a login because it has too many connections: it takes it once one of
/// them is closed.
pub(crate) fn is_full(error: &BackendError) -> bool {
    let BackendError::Server { error, .. } = error else {
        return false;
    };
    let of_connections = || memchr::memmem::find(&error.message, b"max_user_connections").is_some();
    FULL.contains(&error.code) || error.code == LIMIT && of_connections()
}

#[cfg(test)]
mod tests {
    use remora_protocol::ErrPacket;

    use super::*;

    #[test]
    fn only_limits_of_connections_are_waited_for() {
        let of = |code, message: &'static str| {
            let error = ErrPacket::new(code, *b"HY000", message);
            is_full(&BackendError::Server { shard: 0, error })
        };
        assert!(of(1040, "Too many connections"));
        assert!(of(
            1203,
            "User app already has more than 'max_user_connections'"
        ));
        assert!(of(
            1226,
            "User 'app' has exceeded the 'max_user_connections' resource"
        ));
        assert!(!of(
            1226,
            "User 'app' has exceeded the 'max_questions' resource"
        ));
        assert!(!of(1045, "Access denied"));
    }
}
