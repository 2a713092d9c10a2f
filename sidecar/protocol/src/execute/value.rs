//! What a parameter's bytes mean.

use super::{Param, RawParam};
use crate::capability::ColumnType;
use crate::error::{ProtocolError, Result};
use crate::row::{Width, extent, width};
use crate::wire::Input;

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamValue<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// Strings, blobs, decimals, JSON: the bytes as text or as they are.
    Bytes(&'a [u8]),
    /// A date, with or without a time of day.
    DateTime(DateTime),
    /// A span of time.
    Time(Time),
    /// Sent before, by SEND_LONG_DATA.
    Long,
}

/// A DATE, DATETIME or TIMESTAMP. Fields that were not sent are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    /// The year.
    pub year: u16,
    /// The month, 0 to 12.
    pub month: u8,
    /// The day, 0 to 31.
    pub day: u8,
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
    /// Microseconds.
    pub micros: u32,
    /// Minutes east of UTC, where the client gave them.
    pub offset: Option<i16>,
}

/// A TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Time {
    /// Whether it is less than zero.
    pub negative: bool,
    /// Days.
    pub days: u32,
    /// Hours.
    pub hours: u8,
    /// Minutes.
    pub minutes: u8,
    /// Seconds.
    pub seconds: u8,
    /// Microseconds.
    pub micros: u32,
}

impl<'a> Param<'a> {
    /// Reads the value.
    pub fn value(&self) -> Result<ParamValue<'a>> {
        let encoded = match self.raw {
            RawParam::Null => return Ok(ParamValue::Null),
            RawParam::Long => return Ok(ParamValue::Long),
            RawParam::Bytes(bytes) => return Ok(ParamValue::Bytes(bytes)),
            RawParam::Integer(bytes) if self.ty.unsigned => {
                return Ok(ParamValue::UInt(u64::from_le_bytes(bytes)));
            }
            RawParam::Integer(bytes) => return Ok(ParamValue::Int(i64::from_le_bytes(bytes))),
            RawParam::Encoded(encoded) => encoded,
        };
        let width = width(self.ty.kind)?;
        let (prefix, end) = extent(width, encoded)?;
        let bytes = &encoded[prefix..end];
        match (self.ty.kind, width) {
            (ColumnType::MYSQL_TYPE_FLOAT, _) => {
                Ok(ParamValue::Float(f32::from_bits(Input(bytes).u32()?)))
            }
            (ColumnType::MYSQL_TYPE_DOUBLE, _) => {
                Ok(ParamValue::Double(f64::from_bits(unsigned(bytes))))
            }
            (ColumnType::MYSQL_TYPE_TIME, _) => Time::read(bytes).map(ParamValue::Time),
            (_, Width::Counted) => DateTime::read(bytes).map(ParamValue::DateTime),
            (_, Width::Text) => Ok(ParamValue::Bytes(bytes)),
            (_, Width::Fixed(0)) => Ok(ParamValue::Null),
            (_, Width::Fixed(_)) if self.ty.unsigned => Ok(ParamValue::UInt(unsigned(bytes))),
            (_, Width::Fixed(length)) => {
                let unused = 64 - 8 * length as u32;
                Ok(ParamValue::Int(
                    (unsigned(bytes) << unused).cast_signed() >> unused,
                ))
            }
        }
    }
}

/// Little-endian `bytes`, at most eight of them.
fn unsigned(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

impl DateTime {
    /// Reads a date: zero, or its fields down to the last that is not zero.
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut input = Input(bytes);
        let mut date = Self::default();
        if !matches!(bytes.len(), 0 | 4 | 7 | 11 | 13) {
            return Err(ProtocolError::Malformed("a date of an impossible length"));
        }
        if bytes.len() >= 4 {
            (date.year, date.month, date.day) = (input.u16()?, input.u8()?, input.u8()?);
        }
        if bytes.len() >= 7 {
            (date.hour, date.minute, date.second) = (input.u8()?, input.u8()?, input.u8()?);
        }
        if bytes.len() >= 11 {
            date.micros = input.u32()?;
        }
        if bytes.len() == 13 {
            date.offset = Some(input.u16()?.cast_signed());
        }
        Ok(date)
    }
}

impl Time {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut input = Input(bytes);
        let mut time = Self::default();
        if !matches!(bytes.len(), 0 | 8 | 12) {
            return Err(ProtocolError::Malformed("a time of an impossible length"));
        }
        if bytes.len() >= 8 {
            (time.negative, time.days) = (input.u8()? != 0, input.u32()?);
            (time.hours, time.minutes, time.seconds) = (input.u8()?, input.u8()?, input.u8()?);
        }
        if bytes.len() == 12 {
            time.micros = input.u32()?;
        }
        Ok(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamType;

    fn value(kind: ColumnType, unsigned: bool, encoded: &[u8]) -> Result<ParamValue<'_>> {
        Param {
            ty: ParamType { kind, unsigned },
            raw: RawParam::Encoded(encoded),
        }
        .value()
    }

    #[test]
    fn integers_keep_sign_and_width() {
        use ColumnType as T;
        assert_eq!(
            value(T::MYSQL_TYPE_TINY, false, b"\xff"),
            Ok(ParamValue::Int(-1))
        );
        assert_eq!(
            value(T::MYSQL_TYPE_TINY, true, b"\xff"),
            Ok(ParamValue::UInt(255))
        );
        assert_eq!(
            value(T::MYSQL_TYPE_SHORT, false, b"\0\x80"),
            Ok(ParamValue::Int(-32768))
        );
        assert_eq!(
            value(T::MYSQL_TYPE_LONG, false, &[255; 4]),
            Ok(ParamValue::Int(-1))
        );
        assert_eq!(
            value(T::MYSQL_TYPE_LONGLONG, false, &[255; 8]),
            Ok(ParamValue::Int(-1))
        );
        let maximum = value(T::MYSQL_TYPE_LONGLONG, true, &[255; 8]);
        assert_eq!(maximum, Ok(ParamValue::UInt(u64::MAX)));
    }

    #[test]
    fn floats_are_ieee() {
        let one_and_a_half = value(ColumnType::MYSQL_TYPE_FLOAT, false, b"\0\0\xc0\x3f");
        assert_eq!(one_and_a_half, Ok(ParamValue::Float(1.5)));
        let minus_two = value(ColumnType::MYSQL_TYPE_DOUBLE, false, b"\0\0\0\0\0\0\0\xc0");
        assert_eq!(minus_two, Ok(ParamValue::Double(-2.0)));
    }

    #[test]
    fn dates_come_in_every_length() {
        let read = |encoded| value(ColumnType::MYSQL_TYPE_DATETIME, false, encoded);
        let day = DateTime {
            year: 2026,
            month: 11,
            day: 30,
            ..DateTime::default()
        };
        let second = DateTime {
            hour: 23,
            minute: 59,
            second: 58,
            ..day
        };
        let micros = DateTime {
            micros: 1,
            ..second
        };
        assert_eq!(read(b"\0"), Ok(ParamValue::DateTime(DateTime::default())));
        assert_eq!(read(b"\x04\xea\x07\x0b\x1e"), Ok(ParamValue::DateTime(day)));
        assert_eq!(
            read(b"\x07\xea\x07\x0b\x1e\x17\x3b\x3a"),
            Ok(ParamValue::DateTime(second))
        );
        assert_eq!(
            read(b"\x0b\xea\x07\x0b\x1e\x17\x3b\x3a\x01\0\0\0"),
            Ok(ParamValue::DateTime(micros))
        );
        assert_eq!(
            read(b"\x0d\xea\x07\x0b\x1e\x17\x3b\x3a\x01\0\0\0\xc4\xff"),
            Ok(ParamValue::DateTime(DateTime {
                offset: Some(-60),
                ..micros
            }))
        );
        assert!(read(b"\x05\xea\x07\x0b\x1e\0").is_err());
    }

    #[test]
    fn times_may_be_negative() {
        let read = |encoded| value(ColumnType::MYSQL_TYPE_TIME, false, encoded);
        let time = Time {
            negative: true,
            days: 1,
            hours: 2,
            minutes: 3,
            seconds: 4,
            micros: 5,
        };
        assert_eq!(
            read(b"\x0c\x01\x01\0\0\0\x02\x03\x04\x05\0\0\0"),
            Ok(ParamValue::Time(time))
        );
        assert_eq!(read(b"\0"), Ok(ParamValue::Time(Time::default())));
    }
}
