//! Both machines against each other, and the server's against hand-made clients.

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;

use super::*;
use crate::auth::{AuthSwitch, PLUGIN, encode_more_data};
use crate::command::ChangeUser;
use crate::greeting::{Attributes, Greeting, HandshakeResponse};
use crate::{
    CapabilityFlags, Command, ErrPacket, OkPacket, PacketCodec, Password, RsaKey, StatusFlags,
    server_offer,
};

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

/// A server that was greeted by `response`, its step and its output.
fn respond(response: &HandshakeResponse<'_>) -> (ServerLogin, PacketCodec, ServerStep, BytesMut) {
    let mut server = ServerLogin::new(server_options());
    let (mut codec, mut out) = (PacketCodec::new(MAX_LOGIN_PACKET), BytesMut::new());
    server.greet(&mut codec, &mut out);
    out.clear();
    let mut payload = BytesMut::new();
    response.encode(&mut payload).unwrap();
    codec.set_sequence(2);
    let step = server.feed(&payload, &mut codec, &mut out).unwrap();
    (server, codec, step, out)
}

fn foreign_response() -> HandshakeResponse<'static> {
    HandshakeResponse {
        capabilities: CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH,
        max_packet: 1 << 24,
        collation: 45,
        user: b"app",
        auth: b"01234567890123456789",
        database: None,
        plugin: Some(b"mysql_native_password"),
        attributes: Attributes::default(),
    }
}

#[test]
fn a_client_that_starts_with_another_plugin_is_asked_to_switch() {
    let (mut server, mut codec, step, mut out) = respond(&foreign_response());
    assert!(matches!(step, ServerStep::Continue));
    let switch = AuthSwitch::decode(&out[4..]).unwrap();
    assert_eq!(switch.plugin, PLUGIN);
    let nonce = switch.nonce().unwrap();
    let proof =
        mysql_common::auth::plugins::caching_sha2_password::scramble_sha256(&nonce, b"secret");
    out.clear();
    let step = server.feed(&proof.unwrap(), &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Account));
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Authenticated));
    assert_eq!(&out[4..], b"\x01\x03");
}

#[test]
fn a_client_that_cannot_switch_is_error_1251() {
    let response = HandshakeResponse {
        capabilities: foreign_response().capabilities - CapabilityFlags::CLIENT_PLUGIN_AUTH,
        plugin: None,
        ..foreign_response()
    };
    let (_, _, step, out) = respond(&response);
    assert!(matches!(step, ServerStep::Denied));
    assert_eq!(ErrPacket::decode(&out[4..]).unwrap().code, 1251);
}

#[test]
fn a_client_gets_no_capability_that_was_not_offered() {
    let response = HandshakeResponse {
        capabilities: foreign_response().capabilities | CapabilityFlags::CLIENT_QUERY_ATTRIBUTES,
        plugin: Some(PLUGIN),
        ..foreign_response()
    };
    let (server, ..) = respond(&response);
    let got = server.into_client().capabilities;
    assert!(!got.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES));
}

#[test]
fn a_packet_out_of_turn_ends_the_login() {
    let response = HandshakeResponse {
        plugin: Some(PLUGIN),
        ..foreign_response()
    };
    let (mut server, mut codec, step, mut out) = respond(&response);
    assert!(matches!(step, ServerStep::Account));
    assert!(server.feed(b"\x02", &mut codec, &mut out).is_err());
}

#[test]
fn change_user_is_a_login_with_a_nonce_of_its_own() {
    let before = login(server_options(), client_options("secret"), &known("secret"))
        .server
        .unwrap();
    let change = ChangeUser {
        user: b"other",
        auth: b"",
        database: None,
        collation: None,
        plugin: Some(PLUGIN),
        attributes: Attributes::default(),
    };
    let mut wire = BytesMut::new();
    Command::ChangeUser(change)
        .encode(before.capabilities, &mut wire)
        .unwrap();
    let decoded = Command::decode(&wire, before.capabilities).unwrap();
    let Command::ChangeUser(change) = decoded else {
        panic!("{decoded:?}")
    };

    let (mut codec, mut out) = (PacketCodec::new(1 << 20), BytesMut::new());
    codec.set_sequence(1);
    let (mut server, step) =
        ServerLogin::change_user(server_options(), &before, &change, &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Continue));
    let nonce = AuthSwitch::decode(&out[4..]).unwrap().nonce().unwrap();
    let proof = mysql_common::auth::plugins::caching_sha2_password::scramble_sha256(&nonce, b"new");
    let step = server.feed(&proof.unwrap(), &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Account));
    assert_eq!(server.user(), b"other");
    let step = server.account(known("new"), &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Authenticated));
    let after = server.into_client();
    assert_eq!(
        (after.collation, after.capabilities),
        (before.collation, before.capabilities)
    );
    assert_eq!(after.database, None);
}

/// A client that was greeted and has sent its response.
fn greeted(options: ClientOptions) -> (ClientLogin, PacketCodec, BytesMut) {
    let greeting = Greeting {
        version: b"9.7.4",
        connection_id: 1,
        nonce: *b"abcdefghijklmnopqrst",
        capabilities: server_offer(),
        collation: 255,
        status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        plugin: PLUGIN,
    };
    let mut payload = BytesMut::new();
    greeting.encode(&mut payload);
    let (mut codec, mut out) = (PacketCodec::new(MAX_LOGIN_PACKET), BytesMut::new());
    let mut client = ClientLogin::new(options);
    assert_eq!(
        client.feed(&payload, &mut codec, &mut out),
        Ok(ClientStep::Continue)
    );
    out.clear();
    (client, codec, out)
}

#[test]
fn the_password_is_not_given_to_a_plugin_that_would_show_it() {
    let (mut client, mut codec, mut out) = greeted(client_options("secret"));
    let mut payload = BytesMut::new();
    AuthSwitch {
        plugin: b"mysql_clear_password",
        data: b"",
    }
    .encode(&mut payload);
    let refused = client.feed(&payload, &mut codec, &mut out);
    assert_eq!(
        refused,
        Err(LoginError::Plugin("mysql_clear_password".into()))
    );
    assert!(out.is_empty());
}

#[test]
fn a_public_key_that_is_none_is_refused() {
    let (mut client, mut codec, mut out) = greeted(client_options("secret"));
    let mut more = |data: &[u8]| {
        let mut payload = BytesMut::new();
        encode_more_data(data, &mut payload);
        client.feed(&payload, &mut codec, &mut out)
    };
    assert_eq!(more(b"\x04"), Ok(ClientStep::Continue));
    let key = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    assert!(matches!(more(key), Err(LoginError::Exchange(_))));
}

#[test]
fn no_secret_shows_in_debug() {
    let options = client_options("secret");
    let shown = format!("{options:?} {:?}", known("secret"));
    assert!(!shown.contains("secret"), "{shown}");
}
