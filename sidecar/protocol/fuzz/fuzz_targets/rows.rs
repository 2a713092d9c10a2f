//! Rows of both protocols: fields lie within the row, one behind the other, and
//! written again they make the same row.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use remora_protocol::{
    BinaryRowWriter, ColumnType, TextRowWriter, binary_fields, text_fields,
};

fuzz_target!(|input: (&[u8], &[u8])| {
    let (kinds, row) = input;
    let mut out = BytesMut::new();
    let mut writer = TextRowWriter::new(&mut out);
    let mut end = 0;
    for field in text_fields(row).map_while(Result::ok) {
        assert_eq!(field.offset, end);
        end += field.encoded.len();
        writer.encoded(field.encoded);
    }
    assert_eq!(&out[..], &row[..end]);

    let kinds: Vec<_> = kinds.iter().filter_map(|&kind| ColumnType::try_from(kind).ok()).collect();
    let Ok(fields) = binary_fields(row, &kinds) else { return };
    let Ok(fields) = fields.collect::<Result<Vec<_>, _>>() else { return };
    assert_eq!(fields.len(), kinds.len());
    out.clear();
    let mut writer = BinaryRowWriter::new(&mut out, kinds.len());
    for field in &fields {
        match field.value {
            Some(_) => writer.encoded(field.encoded),
            None => writer.null(),
        }
    }
    let again = binary_fields(&out, &kinds).and_then(|fields| fields.collect::<Result<Vec<_>, _>>());
    assert_eq!(again.as_ref(), Ok(&fields));
});
