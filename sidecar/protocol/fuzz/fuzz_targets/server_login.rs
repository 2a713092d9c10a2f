//! A hostile client logs in: whatever it sends, the login errs, denies or goes
//! on, and never admits it.
#![no_main]

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{
    Credential, HandshakeResponse, MAX_LOGIN_PACKET, PacketCodec, Password, RsaKey, ServerLogin,
    ServerOptions, ServerStep, StatusFlags, server_offer,
};

static KEY: LazyLock<Option<Arc<RsaKey>>> = LazyLock::new(|| RsaKey::generate().ok().map(Arc::new));

fuzz_target!(|input: (u8, Vec<&[u8]>)| {
    let (choices, packets) = input;
    let bit = |at: u8| choices & (1 << at) != 0;
    let mut login = ServerLogin::new(ServerOptions {
        version: "9.7.4".into(),
        connection_id: 1,
        capabilities: server_offer(),
        collation: 255,
        status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        tls: bit(0),
        secure_transport: bit(1),
        rsa: bit(2).then(|| KEY.clone()).flatten(),
        host: "host".into(),
    });
    let (mut codec, mut out) = (PacketCodec::new(MAX_LOGIN_PACKET), BytesMut::new());
    login.greet(&mut codec, &mut out);
    for packet in packets {
        if let Ok(response) = HandshakeResponse::decode(packet) {
            response.attributes.iter().for_each(drop);
            let mut again = BytesMut::new();
            if response.encode(&mut again).is_ok() {
                assert_eq!(HandshakeResponse::decode(&again), Ok(response));
            }
        }
        let Ok(mut step) = login.feed(packet, &mut codec, &mut out) else { return };
        loop {
            step = match step {
                ServerStep::Account => {
                    let credential = match (bit(3), bit(4)) {
                        (true, _) => Credential::Elsewhere,
                        (_, true) => Credential::Unknown,
                        _ => Credential::Password(Password::new("a secret")),
                    };
                    match login.account(credential, &mut codec, &mut out) {
                        Ok(step) => step,
                        Err(_) => return,
                    }
                }
                ServerStep::Verify(_) => login.verdict(false, &mut codec, &mut out),
                ServerStep::Authenticated => panic!("admitted"),
                ServerStep::Continue | ServerStep::StartTls => break,
                ServerStep::Denied => return,
            };
        }
    }
});
