//! Writes an EXECUTE for a backend: parameters of the client's, in whatever
//! selection the rewritten statement needs, and generated ones.

use bytes::{BufMut, BytesMut};

use super::{Param, RawParam};
use crate::capability::{CapabilityFlags, ColumnType};
use crate::command::{Attribute, Command, Execute, put_execute_head};
use crate::error::Result;
use crate::wire::{put_lenenc, put_lenenc_bytes};

const TYPES_FOLLOW: u8 = 1;
const UNSIGNED: u8 = 0x80;

/// Appends an EXECUTE of `statement` for a peer with `capabilities`, which gets no attributes
/// where it takes none.
///
/// The types are always sent: they belong to the statement on one backend
/// connection, which may not have seen this client's earlier ones.
pub fn encode_execute(
    statement: u32,
    flags: u8,
    params: &[Param<'_>],
    attributes: &[Attribute<'_>],
    capabilities: CapabilityFlags,
    out: &mut BytesMut,
) {
    let named = capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES);
    let attributes = if named { attributes } else { &[] };
    let counted = if attributes.is_empty() {
        0
    } else {
        Execute::COUNTED
    };
    put_execute_head(statement, flags | counted, out);
    if params.is_empty() && attributes.is_empty() {
        return;
    }
    if named {
        put_lenenc((params.len() + attributes.len()) as u64, out);
    }
    put_values(params, attributes, named, out);
}

/// Appends which values are NULL, then types, with names where they are `named`, then the values.
pub(crate) fn put_values(
    params: &[Param<'_>],
    attributes: &[Attribute<'_>],
    named: bool,
    out: &mut BytesMut,
) {
    let all = || {
        let own = params.iter().map(|param| (&b""[..], param));
        own.chain(attributes.iter().map(|it| (it.name, &it.param)))
    };
    let bitmap = out.len();
    out.put_bytes(0, (params.len() + attributes.len()).div_ceil(8));
    out.put_u8(TYPES_FOLLOW);
    for (at, (name, param)) in all().enumerate() {
        // NULL of the type NULL is told by the type alone, but the bit does no harm.
        if param.raw == RawParam::Null {
            out[bitmap + at / 8] |= 1 << (at % 8);
        }
        out.put_u8(param.ty.kind as u8);
        out.put_u8(if param.ty.unsigned { UNSIGNED } else { 0 });
        if named {
            put_lenenc_bytes(name, out);
        }
    }
    for (_, param) in all() {
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
    use crate::{ParamValue, decode_execute};

    const PLAIN: CapabilityFlags = CapabilityFlags::empty();

    fn decoded<'a>(wire: &'a [u8], count: usize) -> (Execute<'a>, Vec<Param<'a>>) {
        let command = Command::decode(wire, PLAIN).unwrap();
        let Command::StmtExecute(execute) = command else {
            panic!("{command:?}")
        };
        let (params, _) =
            decode_execute(&execute, PLAIN, count, &mut Vec::new(), |_| false).unwrap();
        (execute, params)
    }

    #[test]
    fn an_execute_has_mysqls_bytes() {
        let mut out = BytesMut::new();
        encode_execute(
            3,
            0,
            &[Param::uint(9), Param::null(), Param::bytes(b"ab")],
            &[],
            PLAIN,
            &mut out,
        );
        let expected: &[u8] = b"\x17\x03\0\0\0\0\x01\0\0\0\
            \x02\x01\x08\x80\x06\0\xfd\0\x09\0\0\0\0\0\0\0\x02ab";
        assert_eq!(&out[..], expected);
    }

    #[test]
    fn a_client_value_is_taken_over_byte_by_byte() {
        let body = b"\0\x01\x0c\0\x04\0\x04\xea\x07\x0b\x1e\0\0\x80\x3f";
        let sent = Execute {
            statement: 1,
            flags: 0,
            body,
        };
        let (sent, _) = decode_execute(&sent, PLAIN, 2, &mut Vec::new(), |_| false).unwrap();
        let mut out = BytesMut::new();
        encode_execute(1, 1, &[sent[1], sent[0], sent[1]], &[], PLAIN, &mut out);
        let (execute, got) = decoded(&out, 3);
        assert_eq!((execute.statement, execute.flags), (1, 1));
        assert_eq!(got, [sent[1], sent[0], sent[1]]);
    }

    #[test]
    fn attributes_go_where_they_are_taken() {
        let with = CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;
        let sent = [Attribute {
            name: b"trace",
            param: Param::bytes(b"af"),
        }];
        let decode = |capabilities, params: &[Param<'_>]| {
            let mut out = BytesMut::new();
            encode_execute(1, 0, params, &sent, capabilities, &mut out);
            let Ok(Command::StmtExecute(execute)) = Command::decode(&out, capabilities) else {
                panic!("no EXECUTE")
            };
            let (got, attributes) = decode_execute(
                &execute,
                capabilities,
                params.len(),
                &mut Vec::new(),
                |_| false,
            )
            .unwrap();
            assert_eq!(got.len(), params.len());
            let named = |it: &Attribute<'_>| (it.name.to_vec(), it.param.value().is_ok());
            attributes.iter().map(named).collect::<Vec<_>>()
        };
        for params in [&[][..], &[Param::uint(1)]] {
            assert_eq!(decode(with, params), [(b"trace".to_vec(), true)]);
            assert_eq!(decode(PLAIN, params), []);
        }
    }

    proptest! {
        #[test]
        fn generated_values_come_back(number: u64, text: Vec<u8>, negative: i64) {
            let params = [Param::uint(number), Param::bytes(&text), Param::int(negative), Param::null()];
            let mut out = BytesMut::new();
            encode_execute(1, 0, &params, &[], PLAIN, &mut out);
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
