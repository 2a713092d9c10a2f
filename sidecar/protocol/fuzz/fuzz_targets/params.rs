//! Values that are read and written have the same types and bytes.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{CapabilityFlags, Command, Execute, decode_execute, encode_execute};

fuzz_target!(|input: (u8, u8, u8, Vec<&[u8]>)| {
    let (count, long, flags, bodies) = input;
    let count = usize::from(count);
    let is_long = |at: usize| at % 8 == usize::from(long);
    let mut types = Vec::new();
    for (at, body) in bodies.into_iter().enumerate() {
        let capabilities = match at % 2 {
            0 => CapabilityFlags::CLIENT_QUERY_ATTRIBUTES,
            _ => CapabilityFlags::empty(),
        };
        let execute = Execute { statement: 1, flags, body };
        let read = decode_execute(&execute, capabilities, count, &mut types, is_long);
        let Ok((params, attributes)) = read else { continue };
        assert_eq!(params.len(), count);
        for param in params.iter().chain(attributes.iter().map(|it| &it.param)) {
            let _ = param.value();
        }
        let mut wire = BytesMut::new();
        encode_execute(1, 0, &params, &attributes, capabilities, &mut wire);
        let Ok(Command::StmtExecute(execute)) = Command::decode(&wire, capabilities) else {
            panic!("not an EXECUTE")
        };
        let again = decode_execute(&execute, capabilities, count, &mut Vec::new(), is_long);
        assert_eq!(again, Ok((params, attributes)));
    }
});
