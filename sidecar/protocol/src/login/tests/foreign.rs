//! Each machine against peers made by hand: other plugins, old clients, bad keys.

use bytes::BytesMut;
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;

use super::{client_options, known, login, server_options};
use crate::auth::{AuthSwitch, PLUGIN, encode_more_data};
use crate::command::ChangeUser;
use crate::greeting::{Attributes, Greeting, HandshakeResponse};
use crate::login::*;
use crate::{CapabilityFlags, Command, ErrPacket, PacketCodec, StatusFlags, server_offer};

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
        zstd_level: 0,
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
    let proof = scramble_sha256(&nonce, b"secret");
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
        capabilities: foreign_response().capabilities
            | CapabilityFlags::CLIENT_SSL_VERIFY_SERVER_CERT,
        plugin: Some(PLUGIN),
        ..foreign_response()
    };
    let (server, ..) = respond(&response);
    let got = server.into_client().capabilities;
    assert!(!got.contains(CapabilityFlags::CLIENT_SSL_VERIFY_SERVER_CERT));
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
    let proof = scramble_sha256(&nonce, b"new");
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
