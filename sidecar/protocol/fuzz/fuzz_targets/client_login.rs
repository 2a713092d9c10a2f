//! A hostile server is logged into: the password is never sent as it is without TLS.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{
    ClientLogin, ClientOptions, ClientStep, Greeting, MAX_LOGIN_PACKET, PacketCodec, Password,
    TlsMode,
};

const SECRET: &[u8] = b"a secret of some length";

fuzz_target!(|input: (u8, Vec<&[u8]>)| {
    let (choices, packets) = input;
    let bit = |at: u8| choices & (1 << at) != 0;
    let options = ClientOptions {
        tls: if bit(0) { TlsMode::Preferred } else { TlsMode::Off },
        allow_public_key: bit(1),
        database: bit(2).then(|| b"shop".to_vec()),
        ..ClientOptions::new("app", Password::new(SECRET))
    };
    let mut login = ClientLogin::new(options);
    let (mut codec, mut out) = (PacketCodec::new(MAX_LOGIN_PACKET), BytesMut::new());
    for packet in packets {
        if let Ok(greeting) = Greeting::decode(packet) {
            let mut again = BytesMut::new();
            greeting.encode(&mut again);
            assert_eq!(Greeting::decode(&again).map(|again| again.nonce), Ok(greeting.nonce));
        }
        let mut encrypted = false;
        match login.feed(packet, &mut codec, &mut out) {
            Ok(ClientStep::StartTls) => {
                encrypted = true;
                if login.secured(&mut codec, &mut out).is_err() {
                    return;
                }
            }
            Ok(ClientStep::Continue) => {}
            Ok(ClientStep::Done(_)) | Err(_) => return,
        }
        if encrypted {
            return;
        }
        assert!(!out.windows(SECRET.len()).any(|window| window == SECRET));
    }
});
