//! Which of the protocol's options the sidecar uses on either side.

pub use mysql_common::constants::{
    CapabilityFlags, ColumnFlags, ColumnType, CursorType, StatusFlags,
};

/// What a client is offered, but for TLS, which depends on a certificate.
///
/// LOCAL INFILE among it: whether files are taken is for the servers to say (`local_infile`).
/// Left out on purpose is CLIENT_NO_SCHEMA: MySQL then reads `a.b` as `b`, whatever schema a
/// statement names, and the physical ones are told apart by nothing else.
#[must_use]
pub fn server_offer() -> CapabilityFlags {
    CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | CapabilityFlags::CLIENT_ODBC
        | CapabilityFlags::CLIENT_IGNORE_SPACE
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_INTERACTIVE
        | CapabilityFlags::CLIENT_IGNORE_SIGPIPE
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_RESERVED
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS
        | CapabilityFlags::CLIENT_SESSION_TRACK
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_QUERY_ATTRIBUTES
        | CapabilityFlags::CLIENT_COMPRESS
        | CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA
}

/// What a connection to MySQL asks for on behalf of a client with `client`'s
/// capabilities: those that shape answers or the meaning of statements are the
/// client's own, so that answers can be relayed byte by byte. Session tracking
/// is always on, for GTIDs and the transaction's state, and query attributes are:
/// they cost two bytes a statement, and all connections stay alike.
#[must_use]
pub fn backend_wish(client: CapabilityFlags) -> CapabilityFlags {
    let mirrored = CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_IGNORE_SPACE
        | CapabilityFlags::CLIENT_INTERACTIVE
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    let mut wish = (client & mirrored) | login_needs() | CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;
    // A text with several statements never reaches a server as one: a server that takes no such
    // texts cannot be made to run what nobody planned. Who may send several takes several results.
    if client.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS) {
        wish |= CapabilityFlags::CLIENT_MULTI_RESULTS;
    }
    wish
}

/// What every connection to MySQL has, whoever it is for.
pub(crate) fn login_needs() -> CapabilityFlags {
    CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_SESSION_TRACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_compress_nothing_and_always_define_columns() {
        let all = backend_wish(CapabilityFlags::all());
        for kept in [
            CapabilityFlags::CLIENT_COMPRESS,
            CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
            CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA,
        ] {
            assert!(server_offer().contains(kept), "{kept:?}");
            assert!(!all.intersects(kept), "{kept:?}");
        }
        let refused = CapabilityFlags::CLIENT_NO_SCHEMA;
        assert!(!server_offer().intersects(refused) && !all.intersects(refused));
    }

    #[test]
    fn the_shape_of_answers_is_the_clients() {
        let old = backend_wish(CapabilityFlags::empty());
        assert!(!old.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
        assert!(old.contains(CapabilityFlags::CLIENT_SESSION_TRACK));
        let several = backend_wish(CapabilityFlags::CLIENT_MULTI_STATEMENTS);
        assert!(several.contains(CapabilityFlags::CLIENT_MULTI_RESULTS));
        assert!(!several.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS));
        assert!(backend_wish(server_offer()).contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
    }
}
