//! The errors that refuse a login, in MySQL's words.

use crate::ErrPacket;

/// 1045: user, host and password do not fit together.
pub(super) fn access_denied(user: &[u8], host: &str, used_password: bool) -> ErrPacket<'static> {
    let user = String::from_utf8_lossy(user);
    let used = if used_password { "YES" } else { "NO" };
    let text = format!("Access denied for user '{user}'@'{host}' (using password: {used})");
    ErrPacket::new(1045, *b"28000", text)
}

/// 1251: the client cannot be asked to use our plugin.
pub(super) fn old_client() -> ErrPacket<'static> {
    let text = "Client does not support authentication protocol requested by server; \
                consider upgrading MySQL client";
    ErrPacket::new(1251, *b"08004", text)
}

/// MySQL's answer to a level that Zstandard does not have.
pub(super) fn no_such_level() -> ErrPacket<'static> {
    ErrPacket::new(
        3923,
        *b"HY000",
        "Invalid zstd compression level for algorithm 'zstd'.",
    )
}
