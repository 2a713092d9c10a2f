//! Writes an EXECUTE for a backend: parameters of the client's, in whatever
//! selection the rewritten statement needs, and generated ones.

use bytes::{BufMut, BytesMut};

use super::{Param, RawParam};
use crate::capability::{CapabilityFlags, ColumnType};
use crate::command::{Command, put_execute_head};
use crate::error::Result;
use crate::wire::put_lenenc_bytes;

const TYPES_FOLLOW: u8 = 1;
const UNSIGNED: u8 = 0x80;

/// Appends an EXECUTE of `statement`.
///
/// The types are always sent: they belong to the statement on one backend
/// connection, which may not have seen this client's earlier ones.
pub fn encode_execute(statement: u32, flags: u8, params: &[Param<'_>], out: &mut BytesMut) {
    put_execute_head(statement, flags, out);
    if params.is_empty() {
        return;
    }
    let bitmap = out.len();
    out.put_bytes(0, params.len().div_ceil(8));
    out.put_u8(TYPES_FOLLOW);
    for (at, param) in params.iter().enumerate() {
        // NULL of the type NULL is told by the type alone, but the bit does no harm.
        if param.raw == RawParam::Null {
            out[bitmap + at / 8] |= 1 << (at % 8);
        }
        out.put_u8(param.ty.kind as u8);
        out.put_u8(if param.ty.unsigned { UNSIGNED } else { 0 });
    }
    for param in params {
        match param.raw {
            RawParam::Null | RawParam::Long => {}
            RawParam::Encoded(bytes) => out.put_slice(bytes),
            RawParam::Integer(bytes) => {
                debug_assert_eq!(param.ty.kind, ColumnType::MYSQL_TYPE_LONGLONG);
                out.put_slice(&bytes);
            }
            RawParam::Bytes(bytes) => put_lenenc_bytes(bytes, out),
        }
    }
}

/// Appends a SEND_LONG_DATA.
pub fn encode_long_data(statement: u32, param: u16, data: &[u8], out: &mut BytesMut) -> Result<()> {
    let command = Command::StmtSendLongData {
        statement,
        param,
        data,
    };
    command.encode(CapabilityFlags::empty(), out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Execute, ParamValue, decode_params};

    fn decoded<'a>(wire: &'a [u8], count: usize) -> (Execute<'a>, Vec<Param<'a>>) {
        let command = Command::decode(wire, CapabilityFlags::empty()).unwrap();
        let Command::StmtExecute(execute) = command else {
            panic!("{command:?}")
        };
        let params = decode_params(execute.body, count, &mut Vec::new(), |_| false).unwrap();
        (execute, params)
    }

    #[test]
    fn an_execute_has_mysqls_bytes() {
        let mut out = BytesMut::new();
        encode_execute(
            3,
            0,
            &[Param::uint(9), Param::null(), Param::bytes(b"ab")],
            &mut out,
        );
        let expected: &[u8] = b"\x17\x03\0\0\0\0\x01\0\0\0\
            \x02\x01\x08\x80\x06\0\xfd\0\x09\0\0\0\0\0\0\0\x02ab";
        assert_eq!(&out[..], expected);
    }

    #[test]
    fn a_client_value_is_taken_over_byte_by_byte() {
        let body = b"\0\x01\x0c\0\x04\0\x04\xea\x07\x0b\x1e\0\0\x80\x3f";
        let mut types = Vec::new();
        let sent = decode_params(body, 2, &mut types, |_| false).unwrap();
        let mut out = BytesMut::new();
        encode_execute(1, 1, &[sent[1], sent[0], sent[1]], &mut out);
        let (execute, got) = decoded(&out, 3);
        assert_eq!((execute.statement, execute.flags), (1, 1));
        assert_eq!(got, [sent[1], sent[0], sent[1]]);
    }

    proptest! {
        #[test]
        fn generated_values_come_back(number: u64, text: Vec<u8>, negative: i64) {
            let params = [Param::uint(number), Param::bytes(&text), Param::int(negative), Param::null()];
            let mut out = BytesMut::new();
            encode_execute(1, 0, &params, &mut out);
            let (_, got) = decoded(&out, 4);
            let values: Vec<_> = got.iter().map(|param| param.value().unwrap()).collect();
            prop_assert_eq!(values, [
                ParamValue::UInt(number),
                ParamValue::Bytes(&text),
                ParamValue::Int(negative),
                ParamValue::Null,
            ]);
        }
    }
}
