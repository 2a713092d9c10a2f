//! Both machines against each other.

mod foreign;

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;

use super::*;
use crate::{CapabilityFlags, OkPacket, PacketCodec, Password, RsaKey, StatusFlags, server_offer};

static KEY: LazyLock<Arc<RsaKey>> = LazyLock::new(|| Arc::new(RsaKey::generate().unwrap()));

fn server_options() -> ServerOptions {
    ServerOptions {
        version: "9.7.4".into(),
        connection_id: 8,
        capabilities: server_offer(),
        collation: 255,
        status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        tls: false,
        secure_transport: false,
        rsa: None,
        host: "10.0.0.1".into(),
    }
}

fn client_options(password: &str) -> ClientOptions {
    ClientOptions {
        database: Some(b"shop".to_vec()),
        attributes: vec![(b"program_name".to_vec(), b"test".to_vec())],
        ..ClientOptions::new("app", Password::new(password))
    }
}

/// How a login ended, seen from both sides.
#[derive(Debug)]
struct Outcome {
    server: Option<ClientIdentity>,
    client: Result<ServerIdentity, LoginError>,
    verified: Option<Password>,
    tls: bool,
    packets: u8,
}

/// One direction of a connection in memory.
fn take(codec: &mut PacketCodec, wire: &mut BytesMut) -> Option<BytesMut> {
    codec.decode(wire).unwrap()
}

fn login(server: ServerOptions, client: ClientOptions, credential: &Credential) -> Outcome {
    let mut server = ServerLogin::new(server);
    let mut client = ClientLogin::new(client);
    let (mut server_codec, mut client_codec) = (
        PacketCodec::new(MAX_LOGIN_PACKET),
        PacketCodec::new(MAX_LOGIN_PACKET),
    );
    let (mut up, mut down) = (BytesMut::new(), BytesMut::new());
    let (mut verified, mut tls, mut admitted) = (None, false, false);
    server.greet(&mut server_codec, &mut down);
    let client_end = loop {
        let payload = take(&mut client_codec, &mut down).expect("the server answers");
        match client.feed(&payload, &mut client_codec, &mut up) {
            Ok(ClientStep::Continue) => {}
            Ok(ClientStep::StartTls) => {
                let request = take(&mut server_codec, &mut up).unwrap();
                let step = server.feed(&request, &mut server_codec, &mut down).unwrap();
                assert!(matches!(step, ServerStep::StartTls));
                tls = true;
                client.secured(&mut client_codec, &mut up).unwrap();
            }
            Ok(ClientStep::Done(identity)) => break Ok(identity),
            Err(error) => break Err(error),
        }
        // A fast proof is confirmed before the OK, which needs no answer.
        let Some(payload) = take(&mut server_codec, &mut up) else {
            continue;
        };
        let mut step = server.feed(&payload, &mut server_codec, &mut down).unwrap();
        loop {
            step = match step {
                ServerStep::Account => {
                    assert_eq!(server.user(), b"app");
                    server
                        .account(credential.clone(), &mut server_codec, &mut down)
                        .unwrap()
                }
                ServerStep::Verify(password) => {
                    let right = password.matches(&Password::new("secret"));
                    verified = Some(password);
                    server.verdict(right, &mut server_codec, &mut down)
                }
                ServerStep::Authenticated => {
                    admitted = true;
                    let ok = OkPacket::default();
                    server_codec.encode_with(&mut down, |out| ok.encode(server_offer(), out));
                    break;
                }
                ServerStep::Continue | ServerStep::Denied => break,
                ServerStep::StartTls => panic!("TLS twice"),
            };
        }
    };
    let packets = client_codec.sequence();
    let server = admitted.then(|| server.into_client());
    Outcome {
        server,
        client: client_end,
        verified,
        tls,
        packets,
    }
}

fn known(password: &str) -> Credential {
    Credential::Password(Password::new(password))
}

fn refusal(outcome: &Outcome) -> String {
    match &outcome.client {
        Err(LoginError::Server(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_known_password_is_proved_by_its_scramble() {
    let outcome = login(server_options(), client_options("secret"), &known("secret"));
    let client = outcome.server.unwrap();
    assert_eq!(client.user, b"app");
    assert_eq!(client.password.expose(), b"secret");
    assert_eq!(client.database.as_deref(), Some(&b"shop"[..]));
    assert_eq!(
        client.attributes,
        [(b"program_name".to_vec(), b"test".to_vec())]
    );
    assert!(
        client
            .capabilities
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    );
    let server = outcome.client.unwrap();
    assert_eq!(
        (server.version.as_slice(), server.connection_id),
        (&b"9.7.4"[..], 8)
    );
    // Greeting, response, confirmation, OK.
    assert_eq!(outcome.packets, 4);
}

#[test]
fn a_wrong_password_is_error_1045() {
    let outcome = login(server_options(), client_options("guess"), &known("secret"));
    assert!(outcome.server.is_none());
    assert_eq!(
        refusal(&outcome),
        "1045 (28000): Access denied for user 'app'@'10.0.0.1' (using password: YES)"
    );
}

#[test]
fn a_missing_password_is_told_apart_in_the_error_only() {
    let outcome = login(server_options(), client_options(""), &known("secret"));
    assert!(refusal(&outcome).ends_with("(using password: NO)"));
}

#[test]
fn an_empty_password_is_a_password() {
    let outcome = login(server_options(), client_options(""), &known(""));
    assert!(outcome.server.is_some());
    let outcome = login(server_options(), client_options("guess"), &known(""));
    assert!(outcome.server.is_none());
}

#[test]
fn an_unknown_user_sees_what_a_wrong_password_gives() {
    let unknown = login(
        server_options(),
        client_options("guess"),
        &Credential::Unknown,
    );
    let wrong = login(server_options(), client_options("guess"), &known("secret"));
    assert_eq!(refusal(&unknown), refusal(&wrong));
    assert_eq!(unknown.packets, wrong.packets);
}

#[test]
fn over_tls_the_full_exchange_sends_the_password_as_it_is() {
    let server = ServerOptions {
        tls: true,
        ..server_options()
    };
    let client = ClientOptions {
        tls: TlsMode::Required,
        ..client_options("secret")
    };
    let outcome = login(server, client, &Credential::Elsewhere);
    assert!(outcome.tls);
    assert_eq!(outcome.verified.unwrap().expose(), b"secret");
    assert_eq!(outcome.server.unwrap().password.expose(), b"secret");
}

#[test]
fn over_a_unix_socket_the_password_needs_no_more_protection() {
    let server = ServerOptions {
        secure_transport: true,
        ..server_options()
    };
    let client = ClientOptions {
        local_socket: true,
        ..client_options("secret")
    };
    let outcome = login(server, client, &Credential::Elsewhere);
    assert!(outcome.server.is_some());
}

#[test]
fn without_tls_the_full_exchange_encrypts_by_the_servers_key() {
    let server = ServerOptions {
        rsa: Some(Arc::clone(&KEY)),
        ..server_options()
    };
    let long = "secret that is longer than the nonce is";
    let outcome = login(server.clone(), client_options(long), &Credential::Elsewhere);
    assert_eq!(outcome.verified.unwrap().expose(), long.as_bytes());
    assert!(matches!(outcome.client, Err(LoginError::Server(_))));

    let outcome = login(server, client_options("secret"), &Credential::Elsewhere);
    assert!(outcome.server.is_some());
}

#[test]
fn a_server_without_a_key_denies_whom_it_cannot_hear() {
    let outcome = login(
        server_options(),
        client_options("secret"),
        &Credential::Elsewhere,
    );
    assert!(outcome.server.is_none());
    assert!(refusal(&outcome).starts_with("1045"));
}

#[test]
fn a_client_that_distrusts_unproved_keys_sends_nothing() {
    let server = ServerOptions {
        rsa: Some(Arc::clone(&KEY)),
        ..server_options()
    };
    let client = ClientOptions {
        allow_public_key: false,
        ..client_options("secret")
    };
    let outcome = login(server, client, &Credential::Elsewhere);
    assert_eq!(outcome.client.unwrap_err(), LoginError::PublicKeyForbidden);
    assert!(outcome.verified.is_none());
}

#[test]
fn the_full_exchange_takes_an_empty_password_at_its_word() {
    let outcome = login(server_options(), client_options(""), &Credential::Elsewhere);
    assert_eq!(outcome.verified.unwrap().expose(), b"");
}

#[test]
fn required_tls_that_is_not_offered_fails_before_anything_is_sent() {
    let client = ClientOptions {
        tls: TlsMode::Required,
        ..client_options("secret")
    };
    let outcome = login(server_options(), client, &known("secret"));
    assert_eq!(outcome.client.unwrap_err(), LoginError::TlsUnavailable);
    let client = ClientOptions {
        tls: TlsMode::Preferred,
        ..client_options("secret")
    };
    assert!(!login(server_options(), client, &known("secret")).tls);
}

#[test]
fn no_secret_shows_in_debug() {
    let options = client_options("secret");
    let shown = format!("{options:?} {:?}", known("secret"));
    assert!(!shown.contains("secret"), "{shown}");
}
