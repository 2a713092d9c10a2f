//! Takes the parameters of an EXECUTE apart, without copying a value.

use super::{Param, ParamType, RawParam};
use crate::capability::ColumnType;
use crate::error::{ProtocolError, Result};
use crate::row::{extent, width};
use crate::wire::Input;

const UNSIGNED: u8 = 0x80;

/// Reads the `count` parameters in `body`, the part of an EXECUTE behind its head.
///
/// A client sends the types with the first EXECUTE and whenever they change;
/// `types` remembers them for the others, so it belongs to the statement.
/// `is_long` tells which parameters came by SEND_LONG_DATA: they have no bytes
/// here, and the NULL bit does not count for them.
pub fn decode_params<'a>(
    body: &'a [u8],
    count: usize,
    types: &mut Vec<ParamType>,
    is_long: impl Fn(usize) -> bool,
) -> Result<Vec<Param<'a>>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut input = Input(body);
    let nulls = input.bytes(count.div_ceil(8))?;
    match input.u8()? {
        0 => {}
        1 => *types = read_types(&mut input, count)?,
        _ => {
            return Err(ProtocolError::Malformed(
                "neither new types nor the old ones",
            ));
        }
    }
    if types.len() != count {
        return Err(ProtocolError::Malformed(
            "EXECUTE without the types of its parameters",
        ));
    }
    let mut params = Vec::with_capacity(count);
    for (at, &ty) in types.iter().enumerate() {
        let null = nulls[at / 8] & (1 << (at % 8)) != 0;
        let raw = if is_long(at) {
            RawParam::Long
        } else if null || ty.kind == ColumnType::MYSQL_TYPE_NULL {
            RawParam::Null
        } else {
            let (_, end) = extent(width(ty.kind)?, input.0)?;
            RawParam::Encoded(input.bytes(end)?)
        };
        params.push(Param { ty, raw });
    }
    Ok(params)
}

fn read_types(input: &mut Input<'_>, count: usize) -> Result<Vec<ParamType>> {
    let (pairs, _) = input.bytes(2 * count)?.as_chunks::<2>();
    pairs
        .iter()
        .map(|&[kind, flags]| {
            let kind = ColumnType::try_from(kind)
                .map_err(|_| ProtocolError::Malformed("a parameter of an unknown type"))?;
            width(kind)?;
            Ok(ParamType {
                kind,
                unsigned: flags & UNSIGNED != 0,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ParamValue;

    const NEVER: fn(usize) -> bool = |_| false;

    #[test]
    fn types_are_remembered_for_the_next_execution() {
        let mut types = Vec::new();
        let first = decode_params(b"\0\x01\x01\x80\xfd\0\xff\x02ab", 2, &mut types, NEVER).unwrap();
        let values: Vec<_> = first.iter().map(|param| param.value().unwrap()).collect();
        assert_eq!(values, [ParamValue::UInt(255), ParamValue::Bytes(b"ab")]);

        let second = decode_params(b"\x02\0\x07", 2, &mut types, NEVER).unwrap();
        let values: Vec<_> = second.iter().map(|param| param.value().unwrap()).collect();
        assert_eq!(values, [ParamValue::UInt(7), ParamValue::Null]);
    }

    #[test]
    fn the_first_execution_must_bring_types() {
        assert!(decode_params(b"\0\0\x07", 1, &mut Vec::new(), NEVER).is_err());
    }

    #[test]
    fn long_data_has_no_bytes_and_no_null() {
        let mut types = Vec::new();
        let params = decode_params(b"\x01\x01\xfc\0\x01\0\x05", 2, &mut types, |at| at == 0);
        let params = params.unwrap();
        assert_eq!(params[0].raw, RawParam::Long);
        assert_eq!(params[1].value(), Ok(ParamValue::Int(5)));
    }

    #[test]
    fn a_type_that_never_travels_is_refused_and_forgotten() {
        let mut types = Vec::new();
        assert!(decode_params(b"\0\x01\x14\0", 1, &mut types, NEVER).is_err());
        assert!(types.is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body: Vec<u8>, count in 0usize..40) {
            let mut types = Vec::new();
            for _ in 0..2 {
                if let Ok(params) = decode_params(&body, count, &mut types, |at| at % 7 == 3) {
                    for param in params {
                        let _ = param.value();
                    }
                }
            }
        }
    }
}
