//! Nothing is written unless the outcome is exact, and what is stored is found again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use remora_planner::keys::{Charset, Constant, Conversion, KeyType, Moment, Origin, Purpose};

const TYPES: [(&str, Option<&str>); 16] = [
    ("tinyint", None),
    ("bigint unsigned", None),
    ("bigint", None),
    ("decimal(10,2)", None),
    ("decimal(65,30) unsigned", None),
    ("year", None),
    ("date", None),
    ("datetime(3)", None),
    ("varbinary(9)", None),
    ("varchar(9)", Some("ascii_general_ci")),
    ("varchar(9)", Some("latin1_swedish_ci")),
    ("varchar(9)", Some("utf8mb4_general_ci")),
    ("varchar(9)", Some("utf8mb4_bin")),
    ("varchar(9)", Some("utf8mb4_0900_ai_ci")),
    ("varchar(9)", Some("utf8mb4_0900_as_cs")),
    ("varchar(9)", Some("utf8mb4_0900_bin")),
];

fuzz_target!(|input: (u8, u64, f64, bool, &[u8])| {
    let (kind, magnitude, float, negative, bytes) = input;
    let text = |charset| Constant::Text { bytes: bytes.into(), charset };
    let constant = match kind {
        0 => Constant::Integer { negative, magnitude },
        1 => Constant::Float(float),
        2 => Constant::Decimal(String::from_utf8_lossy(bytes)),
        3 => Constant::Bytes(bytes.to_vec()),
        4 => text(Charset::Latin1),
        5 => text(Charset::Ascii),
        6 => Constant::Moment(Moment {
            year: magnitude as u16,
            month: (magnitude >> 16) as u8,
            day: (magnitude >> 24) as u8,
            hour: (magnitude >> 32) as u8,
            minute: (magnitude >> 40) as u8,
            second: (magnitude >> 48) as u8,
            micros: float as u32,
        }),
        _ => text(Charset::Utf8mb4),
    };
    for (declared, collation) in TYPES {
        let column = KeyType::declared(declared, collation).expect("a type of a key");
        let convert = |purpose| {
            let mut out = Vec::new();
            let found = column.convert(&constant, purpose, &mut out);
            assert!(found == Conversion::Exact || out.is_empty());
            (found, out)
        };
        let literal = convert(Purpose::Compare(Origin::Literal));
        let parameter = convert(Purpose::Compare(Origin::Parameter));
        let stored = convert(Purpose::Store);
        assert_ne!(parameter.0, Conversion::NoRow);
        if literal.0 == Conversion::Exact {
            assert_eq!(literal, parameter);
        }
        if stored.0 == Conversion::Exact && literal.0 == Conversion::Exact {
            assert_eq!(stored, literal);
        }
        assert!(literal.0 != Conversion::NoRow || stored.0 != Conversion::Exact);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = KeyType::declared(text, Some(text)).map(|column| column.to_string());
    }
});
