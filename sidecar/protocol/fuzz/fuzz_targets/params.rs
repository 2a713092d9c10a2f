//! Parameters that are read and written have the same types and bytes.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{CapabilityFlags, Command, decode_params, encode_execute};

fuzz_target!(|input: (u8, u8, Vec<&[u8]>)| {
    let (count, long, bodies) = input;
    let count = usize::from(count);
    let is_long = |at: usize| at % 8 == usize::from(long);
    let mut types = Vec::new();
    for body in bodies {
        let Ok(params) = decode_params(body, count, &mut types, is_long) else { continue };
        assert_eq!(params.len(), count);
        for param in &params {
            let _ = param.value();
        }
        let mut wire = BytesMut::new();
        encode_execute(1, 0, &params, &mut wire);
        let Ok(Command::StmtExecute(execute)) = Command::decode(&wire, CapabilityFlags::empty())
        else {
            panic!("not an EXECUTE")
        };
        assert_eq!(decode_params(execute.body, count, &mut Vec::new(), is_long), Ok(params));
    }
});
