//! Takes the parameters of an EXECUTE apart, without copying a value.

use super::{Param, ParamType, RawParam};
use crate::capability::{CapabilityFlags, ColumnType};
use crate::command::{Attribute, Execute, MOST};
use crate::error::{ProtocolError, Result};
use crate::row::{extent, width};
use crate::wire::Input;

const UNSIGNED: u8 = 0x80;

/// Reads the parameters of an EXECUTE of a statement that has `count` of them, and the attributes
/// that a client with `capabilities` may send behind them.
///
/// A client sends the types with the first EXECUTE and whenever they change;
/// `types` remembers them for the others, so it belongs to the statement.
/// `is_long` tells which parameters came by SEND_LONG_DATA: they have no bytes
/// here, and the NULL bit does not count for them.
pub fn decode_execute<'a>(
    execute: &Execute<'a>,
    capabilities: CapabilityFlags,
    count: usize,
    types: &mut Vec<ParamType>,
    is_long: impl Fn(usize) -> bool,
) -> Result<(Vec<Param<'a>>, Vec<Attribute<'a>>)> {
    let mut input = Input(execute.body);
    let named = capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES);
    let counted = named && (count > 0 || execute.flags & Execute::COUNTED != 0);
    let all = if counted {
        input.lenenc()?
    } else {
        count as u64
    };
    if all > MOST || (all as usize) < count {
        return Err(ProtocolError::Malformed("fewer values than parameters"));
    }
    let all = all as usize;
    if all == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let nulls = input.bytes(all.div_ceil(8))?;
    let mut names = Vec::new();
    match input.u8()? {
        0 => {}
        1 => *types = read_types(&mut input, all, named.then_some(&mut names))?,
        _ => {
            return Err(ProtocolError::Malformed(
                "neither new types nor the old ones",
            ));
        }
    }
    if types.len() < count || (all > count && names.len() != all) {
        return Err(ProtocolError::Malformed(
            "EXECUTE without the types of its values",
        ));
    }
    let own = types.iter().take(count).copied().enumerate();
    let params = own
        .map(|(at, ty)| match is_long(at) {
            true => Ok(Param {
                ty,
                raw: RawParam::Long,
            }),
            false => take_value(&mut input, nulls, at, ty),
        })
        .collect::<Result<_>>()?;
    let mut attributes = Vec::with_capacity(all - count);
    for (at, &name) in names.iter().enumerate().skip(count) {
        let ty = types.get(at).copied().ok_or(SHORT_OF_TYPES)?;
        let param = take_value(&mut input, nulls, at, ty)?;
        attributes.push(Attribute { name, param });
    }
    types.truncate(count);
    Ok((params, attributes))
}

const SHORT_OF_TYPES: ProtocolError = ProtocolError::Malformed("a value without a type");

/// Takes `count` types with their names, and then the values.
pub(crate) fn take_named<'a>(
    input: &mut Input<'a>,
    nulls: &[u8],
    count: usize,
) -> Result<Vec<Attribute<'a>>> {
    let mut names = Vec::new();
    let types = read_types(input, count, Some(&mut names))?;
    let named = types.iter().zip(names).enumerate();
    named
        .map(|(at, (&ty, name))| {
            let param = take_value(input, nulls, at, ty)?;
            Ok(Attribute { name, param })
        })
        .collect()
}

fn take_value<'a>(
    input: &mut Input<'a>,
    nulls: &[u8],
    at: usize,
    ty: ParamType,
) -> Result<Param<'a>> {
    let null = nulls
        .get(at / 8)
        .is_some_and(|byte| byte & (1 << (at % 8)) != 0);
    let raw = if null || ty.kind == ColumnType::MYSQL_TYPE_NULL {
        RawParam::Null
    } else {
        let (_, end) = extent(width(ty.kind)?, input.0)?;
        RawParam::Encoded(input.bytes(end)?)
    };
    Ok(Param { ty, raw })
}

/// Reads types, and the name behind each where there are names.
fn read_types<'a>(
    input: &mut Input<'a>,
    count: usize,
    mut names: Option<&mut Vec<&'a [u8]>>,
) -> Result<Vec<ParamType>> {
    // Each takes two bytes at least: nothing is reserved for a number that was only claimed.
    if input.0.len() < 2 * count {
        return Err(ProtocolError::Malformed("the packet ends too early"));
    }
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        let (kind, flags) = (input.u8()?, input.u8()?);
        let kind = ColumnType::try_from(kind)
            .map_err(|_| ProtocolError::Malformed("a parameter of an unknown type"))?;
        width(kind)?;
        types.push(ParamType {
            kind,
            unsigned: flags & UNSIGNED != 0,
        });
        if let Some(names) = &mut names {
            names.push(input.lenenc_bytes()?);
        }
    }
    Ok(types)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ParamValue;

    const NEVER: fn(usize) -> bool = |_| false;

    /// The parameters of a client without attributes.
    fn decode_params<'a>(
        body: &'a [u8],
        count: usize,
        types: &mut Vec<ParamType>,
        is_long: impl Fn(usize) -> bool,
    ) -> Result<Vec<Param<'a>>> {
        let execute = Execute {
            statement: 1,
            flags: 0,
            body,
        };
        let none = CapabilityFlags::empty();
        decode_execute(&execute, none, count, types, is_long).map(|(params, _)| params)
    }

    fn with_attributes<'a>(
        body: &'a [u8],
        flags: u8,
        count: usize,
        types: &mut Vec<ParamType>,
    ) -> Result<(Vec<Param<'a>>, Vec<Attribute<'a>>)> {
        let execute = Execute {
            statement: 1,
            flags,
            body,
        };
        let capabilities = CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;
        decode_execute(&execute, capabilities, count, types, NEVER)
    }

    #[test]
    fn attributes_follow_the_parameters() {
        let mut types = Vec::new();
        let body = b"\x02\0\x01\x01\0\0\xfd\0\x01a\x07\x02ab";
        let (params, attributes) = with_attributes(body, 0, 1, &mut types).unwrap();
        assert_eq!(params[0].value(), Ok(ParamValue::Int(7)));
        assert_eq!(attributes[0].name, b"a");
        assert_eq!(attributes[0].param.value(), Ok(ParamValue::Bytes(b"ab")));
        assert_eq!(types.len(), 1, "an attribute's type is not remembered");

        let (params, none) = with_attributes(b"\x01\0\0\x09", 0, 1, &mut types).unwrap();
        assert_eq!(params[0].value(), Ok(ParamValue::Int(9)));
        assert!(none.is_empty());
    }

    #[test]
    fn a_statement_without_parameters_has_attributes_where_it_counts_them() {
        let body = b"\x01\0\x01\x08\x80\x01n\x05\0\0\0\0\0\0\0";
        let (params, attributes) =
            with_attributes(body, Execute::COUNTED, 0, &mut Vec::new()).unwrap();
        assert!(params.is_empty());
        assert_eq!(attributes[0].param.value(), Ok(ParamValue::UInt(5)));
        let (_, none) = with_attributes(body, 0, 0, &mut Vec::new()).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn fewer_values_than_parameters_are_refused() {
        assert!(with_attributes(b"\x01\0\x01\x01\0\0\x07", 0, 2, &mut Vec::new()).is_err());
    }

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
                let _ = with_attributes(&body, Execute::COUNTED, count, &mut types);
            }
        }
    }
}
