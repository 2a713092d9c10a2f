//! What a client must show besides its password, by the manifest. Pure.

use remora_crds::{ClientTls, Require, User};
use remora_protocol::ErrPacket;

/// How a client came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Its address is loopback: nobody can listen.
    pub(super) loopback: bool,
    /// So is the one that is listened on: nobody else can come.
    pub(super) private: bool,
    /// By TLS.
    pub(super) tls: bool,
    /// It showed a certificate, which was verified.
    pub(super) certificate: bool,
}

/// Refuses a client that does not use TLS where it must, as MySQL does: before it looks at who it
/// is.
pub(super) fn insecure(client_tls: ClientTls, way: Way) -> Option<ErrPacket<'static>> {
    let refused = client_tls == ClientTls::Required && !way.tls && !way.loopback;
    refused.then(|| {
        ErrPacket::new(
            3159,
            *b"HY000",
            "Connections using insecure transport are prohibited: spec.sidecar.clientTls is \
             Required; connect with TLS",
        )
    })
}

/// Whether the user's clients may come that way.
pub(super) fn may_come(user: Option<&User>, way: Way) -> bool {
    match user.and_then(|user| user.require) {
        None => true,
        Some(Require::Ssl) => way.tls,
        Some(Require::X509) => way.certificate,
    }
}

/// Whether the user's clients may leave the password out.
pub(super) fn needs_no_password(user: Option<&User>, way: Way) -> bool {
    way.loopback && way.private && user.is_some_and(|user| user.passwordless)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Way = Way {
        loopback: false,
        private: false,
        tls: false,
        certificate: false,
    };

    fn user(require: Option<Require>, passwordless: bool) -> User {
        User {
            name: "app".to_owned(),
            password_secret_ref: None,
            max_connections: None,
            require,
            passwordless,
        }
    }

    #[test]
    fn tls_is_required_of_those_whom_others_can_listen_to() {
        let refused = |tls, loopback| {
            let way = Way {
                tls,
                loopback,
                ..PLAIN
            };
            insecure(ClientTls::Required, way).map(|error| error.code)
        };
        assert_eq!(refused(false, false), Some(3159));
        assert_eq!(refused(true, false), None);
        assert_eq!(refused(false, true), None);
        assert_eq!(insecure(ClientTls::Preferred, PLAIN), None);
    }

    #[test]
    fn a_user_is_asked_for_what_the_manifest_says_on_loopback_too() {
        let (ssl, x509) = (
            user(Some(Require::Ssl), false),
            user(Some(Require::X509), false),
        );
        let local = Way {
            loopback: true,
            ..PLAIN
        };
        let tls = Way { tls: true, ..PLAIN };
        let shown = Way {
            certificate: true,
            ..tls
        };
        assert!(may_come(None, PLAIN) && may_come(Some(&user(None, false)), PLAIN));
        assert!(!may_come(Some(&ssl), local) && may_come(Some(&ssl), tls));
        assert!(!may_come(Some(&x509), tls) && may_come(Some(&x509), shown));
    }

    #[test]
    fn a_password_may_be_left_out_only_where_nobody_else_can_come() {
        let open = user(None, true);
        let here = Way {
            loopback: true,
            private: true,
            ..PLAIN
        };
        let gateway = Way {
            loopback: true,
            private: false,
            ..PLAIN
        };
        assert!(needs_no_password(Some(&open), here));
        assert!(!needs_no_password(Some(&open), gateway));
        assert!(!needs_no_password(Some(&user(None, false)), here));
        assert!(!needs_no_password(None, here));
    }
}
