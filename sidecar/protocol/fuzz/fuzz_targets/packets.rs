//! OK, EOF, ERR, PREPARE's answer and column definitions: what is read and
//! written reads the same.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{
    CapabilityFlags, ColumnDef, EofPacket, ErrPacket, OkPacket, PrepareOk, decode_end,
    rename_schema, server_offer,
};

fuzz_target!(|packet: &[u8]| {
    let mut again = BytesMut::new();
    if let Ok(ok) = OkPacket::decode(packet, server_offer()) {
        let mut changes = BytesMut::new();
        for change in ok.session_changes().map_while(Result::ok) {
            change.encode(&mut changes);
        }
        ok.encode(server_offer(), &mut again);
        let read = OkPacket::decode(&again, server_offer()).map(|read| (read.info, read.session_state));
        assert_eq!(read, Ok((ok.info, ok.session_state)));
    }
    let _ = decode_end(packet, CapabilityFlags::empty());
    let _ = EofPacket::decode(packet);
    let _ = PrepareOk::decode(packet);
    if let Ok(error) = ErrPacket::decode(packet) {
        again.clear();
        error.encode(&mut again);
        assert_eq!(ErrPacket::decode(&again), Ok(error));
    }
    if let Ok(column) = ColumnDef::decode(packet) {
        again.clear();
        column.encode(&mut again);
        assert_eq!(ColumnDef::decode(&again), Ok(column));
        let mut renamed = BytesMut::new();
        rename_schema(packet, |_| Some(b"shop"), &mut renamed).expect("it was read");
        let expected = ColumnDef { schema: b"shop", ..column };
        assert_eq!(ColumnDef::decode(&renamed), Ok(expected));
    }
});
