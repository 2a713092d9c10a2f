//! A command that is read and written is the same command.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{CapabilityFlags, Command, server_offer};

fuzz_target!(|packet: &[u8]| {
    let _ = Command::decode(packet, CapabilityFlags::empty());
    if let Ok(command) = Command::decode(packet, server_offer()) {
        let mut again = BytesMut::new();
        if command.encode(server_offer(), &mut again).is_ok() {
            assert_eq!(Command::decode(&again, server_offer()), Ok(command));
        }
    }
});
