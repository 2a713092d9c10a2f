//! Each machine against peers made by hand: other plugins, old clients, bad keys.

use bytes::BytesMut;
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;

use super::{client_options, known, login, server_options};
use crate::auth::{AuthSwitch, PLUGIN, encode_more_data};
use crate::command::ChangeUser;
use crate::greeting::{Attributes, Greeting, HandshakeResponse};
use crate::login::*;
use crate::{
    CapabilityFlags, Command, ErrPacket, PacketCodec, Password, StatusFlags, server_offer,
};

/// A server that was greeted by `response`, its step and its output.
fn respond(response: &HandshakeResponse<'_>) -> (ServerLogin, PacketCodec, ServerStep, BytesMut) {
    respond_to(server_options(), response)
}

fn respond_to(
    options: ServerOptions,
    response: &HandshakeResponse<'_>,
) -> (ServerLogin, PacketCodec, ServerStep, BytesMut) {
    let mut server = ServerLogin::new(options);
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

/// The plugin and the nonce that a client is asked for.
fn asked(out: &mut BytesMut) -> (String, Vec<u8>) {
    let switch = AuthSwitch::decode(&out[4..]).unwrap();
    let plugin = String::from_utf8(switch.plugin.to_vec()).unwrap();
    let asked = (plugin, switch.data.to_vec());
    out.clear();
    asked
}

#[test]
fn a_client_that_starts_with_another_plugin_is_asked_to_switch() {
    let (mut server, mut codec, step, mut out) = respond(&HandshakeResponse {
        plugin: Some(b"dialog"),
        ..foreign_response()
    });
    assert!(matches!(step, ServerStep::Account));
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Continue));
    let nonce = AuthSwitch::decode(&out[4..]).unwrap().nonce().unwrap();
    assert_eq!(asked(&mut out).0.as_bytes(), PLUGIN);
    let proof = scramble_sha256(&nonce, b"secret");
    let step = server.feed(&proof.unwrap(), &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Account));
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Authenticated));
    assert_eq!(&out[4..], b"\x01\x03");
}

#[test]
fn a_client_from_before_is_judged_by_its_own_plugin() {
    for (given, plugin, expected) in [
        ("secret", Some(&b"mysql_native_password"[..]), true),
        ("Secret", Some(b"mysql_native_password"), false),
        // So old that it names no plugin.
        ("secret", None, true),
        ("Secret", None, false),
    ] {
        let mut server = ServerLogin::new(server_options());
        let (mut codec, mut out) = (PacketCodec::new(MAX_LOGIN_PACKET), BytesMut::new());
        server.greet(&mut codec, &mut out);
        let nonce = Greeting::decode(&out[4..]).unwrap().nonce;
        let scramble = scramble_native(&nonce, given.as_bytes()).unwrap();
        out.clear();
        let mut response = foreign_response();
        response
            .capabilities
            .set(CapabilityFlags::CLIENT_PLUGIN_AUTH, plugin.is_some());
        let mut payload = BytesMut::new();
        HandshakeResponse {
            auth: &scramble,
            plugin,
            ..response
        }
        .encode(&mut payload)
        .unwrap();
        codec.set_sequence(2);
        let step = server.feed(&payload, &mut codec, &mut out).unwrap();
        assert!(matches!(step, ServerStep::Account));
        let step = server
            .account(known("secret"), &mut codec, &mut out)
            .unwrap();
        let admitted = matches!(step, ServerStep::Authenticated);
        assert_eq!(admitted, expected, "{given} {plugin:?}");
        if expected {
            // No packet of another plugin comes in between.
            assert!(out.is_empty());
            assert_eq!(server.into_client().password.expose(), b"secret");
        } else {
            assert_eq!(ErrPacket::decode(&out[4..]).unwrap().code, 1045);
        }
    }
}

#[test]
fn a_client_that_answers_the_greeting_with_nothing_is_asked_for_its_own_plugin() {
    let (mut server, mut codec, _, mut out) = respond(&HandshakeResponse {
        auth: b"",
        ..foreign_response()
    });
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Continue));
    let (plugin, nonce) = asked(&mut out);
    assert_eq!(plugin, "mysql_native_password");
    let proof = scramble_native(&nonce, b"secret").unwrap();
    let step = server.feed(&proof, &mut codec, &mut out).unwrap();
    assert!(matches!(step, ServerStep::Account));
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Authenticated));

    // It has no password, and says so again.
    let (mut server, mut codec, _, mut out) = respond(&HandshakeResponse {
        auth: b"",
        ..foreign_response()
    });
    server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    server.feed(b"", &mut codec, &mut out).unwrap();
    let step = server
        .account(known("secret"), &mut codec, &mut out)
        .unwrap();
    assert!(matches!(step, ServerStep::Denied));
}

#[test]
fn who_is_known_elsewhere_cannot_come_by_a_plugin_that_hides_the_password() {
    let (mut server, mut codec, _, mut out) = respond(&foreign_response());
    let step = server.account(Credential::Elsewhere, &mut codec, &mut out);
    assert!(matches!(step, Ok(ServerStep::Continue)));
    assert_eq!(asked(&mut out).0.as_bytes(), PLUGIN);

    let (mut server, mut codec, step, mut out) = respond(&HandshakeResponse {
        capabilities: foreign_response().capabilities - CapabilityFlags::CLIENT_PLUGIN_AUTH,
        plugin: None,
        ..foreign_response()
    });
    assert!(matches!(step, ServerStep::Account));
    let step = server.account(Credential::Elsewhere, &mut codec, &mut out);
    assert!(matches!(step, Ok(ServerStep::Denied)));
    assert_eq!(ErrPacket::decode(&out[4..]).unwrap().code, 1251);
}

#[test]
fn a_password_in_clear_is_asked_for_where_nobody_listens_and_nowhere_else() {
    for (secure, credential, verified) in [
        (true, known("secret"), false),
        (true, Credential::Elsewhere, true),
        (false, known("secret"), false),
    ] {
        let options = ServerOptions {
            secure_transport: secure,
            ..server_options()
        };
        let response = HandshakeResponse {
            auth: b"",
            plugin: Some(b"mysql_clear_password"),
            ..foreign_response()
        };
        let (mut server, mut codec, _, mut out) = respond_to(options, &response);
        let step = server.account(credential.clone(), &mut codec, &mut out);
        assert!(matches!(step, Ok(ServerStep::Continue)));
        let plugin = asked(&mut out).0;
        if !secure {
            assert_eq!(plugin.as_bytes(), PLUGIN);
            continue;
        }
        assert_eq!(plugin, "mysql_clear_password");
        server.feed(b"secret\0", &mut codec, &mut out).unwrap();
        match server.account(credential, &mut codec, &mut out).unwrap() {
            ServerStep::Verify(password) if verified => assert_eq!(password.expose(), b"secret"),
            ServerStep::Authenticated if !verified => {}
            step => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_password_that_may_be_left_out_may_not_be_wrong() {
    let optional = || Credential::Optional(Password::new("secret"));
    for given in ["", "secret"] {
        let outcome = login(server_options(), client_options(given), &optional());
        assert_eq!(outcome.server.unwrap().password.expose(), b"secret");
    }
    let outcome = login(server_options(), client_options("guess"), &optional());
    assert!(outcome.server.is_none());

    // One with another plugin is asked for it first: it waits for that.
    let (mut server, mut codec, _, mut out) = respond(&HandshakeResponse {
        auth: b"",
        ..foreign_response()
    });
    let step = server.account(optional(), &mut codec, &mut out);
    assert!(matches!(step, Ok(ServerStep::Continue)));
    assert_eq!(asked(&mut out).0, "mysql_native_password");
    server.feed(b"", &mut codec, &mut out).unwrap();
    let step = server.account(optional(), &mut codec, &mut out);
    assert!(matches!(step, Ok(ServerStep::Authenticated)));
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
    let (mut server, step) = ServerLogin::change_user(server_options(), &before, &change).unwrap();
    assert!(matches!(step, ServerStep::Account));
    let step = server.account(known("new"), &mut codec, &mut out).unwrap();
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

#[test]
fn a_client_from_before_plugins_changes_its_user_by_the_first_nonce() {
    let mut before = login(server_options(), client_options("secret"), &known("secret"))
        .server
        .unwrap();
    before.capabilities -= CapabilityFlags::CLIENT_PLUGIN_AUTH;
    for (given, expected) in [("new", true), ("old", false)] {
        let scramble = scramble_native(&before.nonce, given.as_bytes()).unwrap();
        let change = ChangeUser {
            user: b"other",
            auth: &scramble,
            database: None,
            collation: None,
            plugin: None,
            attributes: Attributes::default(),
        };
        let (mut codec, mut out) = (PacketCodec::new(1 << 20), BytesMut::new());
        let options = server_options();
        let changed = ServerLogin::change_user(options, &before, &change).unwrap();
        let (mut server, step) = changed;
        assert!(matches!(step, ServerStep::Account));
        let step = server.account(known("new"), &mut codec, &mut out).unwrap();
        assert_eq!(matches!(step, ServerStep::Authenticated), expected);
    }
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
