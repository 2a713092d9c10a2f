//! Query attributes: names and values that a client sends beside a statement, for the server's
//! functions and plugins to read.

use bytes::{BufMut, BytesMut};

use crate::capability::CapabilityFlags;
use crate::error::{ProtocolError, Result};
use crate::execute::{Param, put_values, take_named};
use crate::wire::{Input, put_lenenc};

/// One attribute of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value, as a parameter travels.
    pub param: Param<'a>,
}

/// The attributes of a COM_QUERY, as they travel: they are only taken apart if there are some.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueryAttributes<'a> {
    count: usize,
    /// What follows the counts, up to the statement's text.
    block: &'a [u8],
}

/// How often a statement is to run with other values; no other number was ever defined.
const SETS: u64 = 1;
/// More would not fit in the head of a prepared statement's answer either.
pub(crate) const MOST: u64 = 0xFFFF;

impl<'a> QueryAttributes<'a> {
    /// Takes the attributes from the front of a COM_QUERY, of a client with `capabilities`.
    pub(super) fn take(input: &mut Input<'a>, capabilities: CapabilityFlags) -> Result<Self> {
        if !capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES) {
            return Ok(Self::default());
        }
        let count = input.lenenc()?;
        let sets = input.lenenc()?;
        if count == 0 {
            return Ok(Self::default());
        }
        if sets != SETS || count > MOST {
            return Err(ProtocolError::Malformed("attributes that cannot be"));
        }
        let count = count as usize;
        let before = input.0;
        read(input, count)?;
        let block = &before[..before.len() - input.0.len()];
        Ok(Self { count, block })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes them apart.
    pub fn decode(&self) -> Result<Vec<Attribute<'a>>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        read(&mut Input(self.block), self.count)
    }

    /// Appends them, where the peer takes any.
    pub(super) fn encode(&self, capabilities: CapabilityFlags, out: &mut BytesMut) {
        if capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES) {
            put_lenenc(self.count as u64, out);
            put_lenenc(SETS, out);
            out.put_slice(self.block);
        }
    }
}

fn read<'a>(input: &mut Input<'a>, count: usize) -> Result<Vec<Attribute<'a>>> {
    let nulls = input.bytes(count.div_ceil(8))?;
    if input.u8()? != 1 {
        return Err(ProtocolError::Malformed("attributes without types"));
    }
    take_named(input, nulls, count)
}

/// Appends what stands before the text of a COM_QUERY with these attributes, for a peer with
/// `capabilities`.
pub fn put_attributes(
    attributes: &[Attribute<'_>],
    capabilities: CapabilityFlags,
    out: &mut BytesMut,
) {
    if !capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES) {
        return;
    }
    put_lenenc(attributes.len() as u64, out);
    put_lenenc(SETS, out);
    if !attributes.is_empty() {
        put_values(&[], attributes, true, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Command, ParamValue};

    const WITH: CapabilityFlags = CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;

    fn query(packet: &[u8]) -> Result<(Vec<Attribute<'_>>, &[u8])> {
        match Command::decode(packet, WITH)? {
            Command::Query(text) => Ok((Vec::new(), text)),
            Command::QueryWith(query) => Ok((query.attributes.decode()?, query.text)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_statement_without_attributes_has_two_bytes_before_it() {
        let mut out = BytesMut::from(&b"\x03"[..]);
        put_attributes(&[], WITH, &mut out);
        out.put_slice(b"SELECT 1");
        assert_eq!(&out[..], b"\x03\0\x01SELECT 1");
        assert_eq!(query(&out), Ok((Vec::new(), &b"SELECT 1"[..])));
        let mut plain = BytesMut::new();
        put_attributes(&[], CapabilityFlags::empty(), &mut plain);
        assert!(plain.is_empty());
    }

    #[test]
    fn names_and_values_come_back() {
        let sent = [
            Attribute {
                name: b"trace",
                param: Param::bytes(b"00-af"),
            },
            Attribute {
                name: b"none",
                param: Param::null(),
            },
            Attribute {
                name: b"",
                param: Param::uint(7),
            },
        ];
        let mut out = BytesMut::from(&b"\x03"[..]);
        put_attributes(&sent, WITH, &mut out);
        out.put_slice(b"DO 1");
        let (got, text) = query(&out).unwrap();
        assert_eq!(text, b"DO 1");
        let names: Vec<_> = got.iter().map(|attribute| attribute.name).collect();
        assert_eq!(names, [&b"trace"[..], b"none", b""]);
        let values: Vec<_> = got.iter().map(|a| a.param.value().unwrap()).collect();
        let text = ParamValue::Bytes(b"00-af");
        assert_eq!(values, [text, ParamValue::Null, ParamValue::UInt(7)]);
    }

    #[test]
    fn counts_that_were_never_defined_are_refused() {
        assert!(query(b"\x03\x01\x02\0\x01\x08\0\0").is_err());
        assert!(query(b"\x03\xfd\xff\xff\xff\x01\0").is_err());
        assert!(query(b"\x03\x01\x01\0\0\x08\0\0").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let packet = [&b"\x03"[..], &bytes].concat();
            let _ = query(&packet);
        }
    }
}
