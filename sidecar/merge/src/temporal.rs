//! Dates and times as integers that order as they do.

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;
/// MySQL's longest TIME, 838:59:59, has this many whole days. More would not fit 64 bits.
const MOST_DAYS: i64 = 34;

/// A DATE, DATETIME or TIMESTAMP as text.
pub(crate) fn date_of_text(text: &[u8]) -> Option<i64> {
    let mut digits = Reader(text);
    let year = digits.number()?;
    digits.expect(b'-')?;
    let month = digits.number()?;
    digits.expect(b'-')?;
    let day = digits.number()?;
    if digits.0.is_empty() {
        return date(year, month, day, 0);
    }
    digits.expect(b' ')?;
    date(year, month, day, digits.clock()?)
}

/// A DATE, DATETIME or TIMESTAMP of the binary protocol, which leaves out trailing zeros.
pub(crate) fn date_of_binary(value: &[u8]) -> Option<i64> {
    let number = |at: usize| value.get(at).copied().map_or(0, i64::from);
    if !matches!(value.len(), 0 | 4 | 7 | 11) {
        return None;
    }
    let clock = (number(4) * 60 + number(5)) * 60 + number(6);
    date(
        number(0) + number(1) * 256,
        number(2),
        number(3),
        clock * MICROS + micros(value, 7),
    )
}

/// A TIME as text.
pub(crate) fn time_of_text(text: &[u8]) -> Option<i64> {
    let (sign, clock) = match text.strip_prefix(b"-") {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    Reader(clock).clock().map(|clock| sign * clock)
}

/// A TIME of the binary protocol, which leaves out trailing zeros.
pub(crate) fn time_of_binary(value: &[u8]) -> Option<i64> {
    let number = |at: usize| value.get(at).copied().map_or(0, i64::from);
    if !matches!(value.len(), 0 | 8 | 12) {
        return None;
    }
    let days = (1..5).rev().fold(0, |days, at| days * 256 + number(at));
    if days > MOST_DAYS {
        return None;
    }
    let clock = ((days * 24 + number(5)) * 60 + number(6)) * 60 + number(7);
    let sign = if number(0) == 0 { 1 } else { -1 };
    Some(sign * (clock * MICROS + micros(value, 8)))
}

fn micros(value: &[u8], at: usize) -> i64 {
    match value.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        Some(bytes) => i64::from(u32::from_le_bytes(*bytes)),
        None => 0,
    }
}

/// Months and days may be zero, and days beyond the month's end, as MySQL stores them.
fn date(year: i64, month: i64, day: i64, clock: i64) -> Option<i64> {
    let fits = year <= 9999 && month <= 12 && day <= 31;
    fits.then_some(((year * 13 + month) * 32 + day) * 86_400 * MICROS + clock)
}

/// Takes numbers off the front of a text.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Up to nine digits.
    fn number(&mut self) -> Option<i64> {
        let length = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(1..10).contains(&length) {
            return None;
        }
        let (digits, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(
            digits
                .iter()
                .fold(0, |number, digit| number * 10 + i64::from(digit - b'0')),
        )
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Hours, minutes, seconds and their fraction, up to the end: microseconds.
    fn clock(&mut self) -> Option<i64> {
        let hours = self.number()?;
        self.expect(b':')?;
        let minutes = self.number()?;
        self.expect(b':')?;
        let seconds = self.number()?;
        let mut fraction = 0;
        if !self.0.is_empty() {
            self.expect(b'.')?;
            let length = u32::try_from(self.0.len())
                .ok()
                .filter(|length| *length <= 6)?;
            fraction = self.number()? * 10_i64.pow(6 - length);
        }
        self.0
            .is_empty()
            .then_some(((hours * 60 + minutes) * 60 + seconds) * MICROS + fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_order_alike_in_text_and_binary() {
        let ascending: [(&str, &[u8]); 6] = [
            ("0000-00-00 00:00:00", &[]),
            ("0000-00-01 00:00:00", &[0, 0, 0, 1]),
            ("2024-02-29 00:00:00", &[0xE8, 7, 2, 29]),
            (
                "2024-02-29 00:00:00.000001",
                &[0xE8, 7, 2, 29, 0, 0, 0, 1, 0, 0, 0],
            ),
            ("2024-02-29 23:59:59", &[0xE8, 7, 2, 29, 23, 59, 59]),
            (
                "9999-12-31 23:59:59.999999",
                &[0x0F, 0x27, 12, 31, 23, 59, 59, 0x3F, 0x42, 0x0F, 0],
            ),
        ];
        let mut last = i64::MIN;
        for (text, binary) in ascending {
            let value = date_of_text(text.as_bytes()).unwrap();
            assert_eq!(date_of_binary(binary), Some(value), "{text}");
            assert!(value > last, "{text}");
            last = value;
        }
        assert_eq!(
            date_of_text(b"2024-02-29"),
            date_of_text(b"2024-02-29 00:00:00")
        );
    }

    #[test]
    fn times_order_alike_in_text_and_binary() {
        let ascending: [(&str, &[u8]); 7] = [
            ("-838:59:59", &[1, 34, 0, 0, 0, 22, 59, 59]),
            (
                "-01:02:03.40",
                &[1, 0, 0, 0, 0, 1, 2, 3, 0x80, 0x1A, 0x06, 0],
            ),
            ("-00:00:00.000001", &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
            ("00:00:00", &[]),
            ("00:00:01", &[0, 0, 0, 0, 0, 0, 0, 1]),
            ("100:00:00", &[0, 4, 0, 0, 0, 4, 0, 0]),
            ("838:59:59.000000", &[0, 34, 0, 0, 0, 22, 59, 59]),
        ];
        let mut last = i64::MIN;
        for (text, binary) in ascending {
            let value = time_of_text(text.as_bytes()).unwrap();
            assert_eq!(time_of_binary(binary), Some(value), "{text}");
            assert!(value > last, "{text}");
            last = value;
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2024",
            "2024-01",
            "2024-13-01",
            "2024-01-32",
            "2024-01-01 ",
            "2024-01-01 1:2",
            "2024-01-01 01:02:03.",
            "2024-01-01 01:02:03.1234567",
            "x024-01-01",
        ] {
            assert_eq!(date_of_text(text.as_bytes()), None, "{text}");
        }
        for text in ["", "-", "1", "01:02", "01:02:03x", "0123456789:00:00"] {
            assert_eq!(time_of_text(text.as_bytes()), None, "{text}");
        }
        assert_eq!(date_of_binary(&[1, 2, 3]), None);
        assert_eq!(time_of_binary(&[1, 2, 3]), None);
        assert_eq!(time_of_binary(&[0, 35, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(time_of_binary(&[0, 255, 255, 255, 255, 0, 0, 0]), None);
    }
}
