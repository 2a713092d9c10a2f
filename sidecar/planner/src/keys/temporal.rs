//! Constants for DATE and DATETIME columns: only the complete form, `YYYY-MM-DD` and
//! `YYYY-MM-DD HH:MM:SS[.fraction]`. What else MySQL reads as a date depends on its mode.

use super::constant::Constant;
use super::convert::Found;

/// A date and time without a time zone, as a client or a text gives it: nothing says that there
/// is such a day. A date is its midnight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Year.
    pub year: u16,
    /// Month, from 1.
    pub month: u8,
    /// Day, from 1.
    pub day: u8,
    /// Hour.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microseconds.
    pub micros: u32,
}

pub(super) fn date(constant: &Constant<'_>, out: &mut Vec<u8>) -> Found {
    let moment = match constant {
        Constant::Text { .. } => constant
            .text()
            .filter(|text| text.len() == 10)
            .as_deref()
            .and_then(read),
        _ => moment(constant),
    };
    match moment {
        Some(moment) if moment.is_midnight() => {
            moment.write_date(out);
            Found::Exact
        }
        _ => Found::Unsure,
    }
}

pub(super) fn datetime(fsp: u8, constant: &Constant<'_>, out: &mut Vec<u8>) -> Found {
    let moment = match constant {
        Constant::Text { .. } => constant.text().as_deref().and_then(read),
        _ => moment(constant),
    };
    let unit = 10_u32.pow(6 - u32::from(fsp.min(6)));
    match moment {
        Some(moment) if moment.micros.is_multiple_of(unit) => {
            moment.write(out);
            Found::Exact
        }
        _ => Found::Unsure,
    }
}

fn moment(constant: &Constant<'_>) -> Option<Moment> {
    match constant {
        Constant::Moment(moment) => moment.checked(),
        _ => None,
    }
}

fn read(text: &str) -> Option<Moment> {
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let number = |text: &str, length: usize| -> Option<u16> {
        let plain = text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let two = |text: Option<&str>| number(text?, 2).map(|value| value as u8);
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let (month, day) = (two(parts.next())?, two(parts.next())?);
    if parts.next().is_some() {
        return None;
    }
    let mut moment = Moment::midnight(year, month, day);
    if let Some(time) = time {
        let (clock, fraction) = time
            .split_once('.')
            .map_or((time, None), |(c, f)| (c, Some(f)));
        let mut parts = clock.split(':');
        moment.hour = two(parts.next())?;
        moment.minute = two(parts.next())?;
        moment.second = two(parts.next())?;
        if parts.next().is_some() {
            return None;
        }
        if let Some(fraction) = fraction {
            let plain =
                (1..=6).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
            let value: u32 = if plain {
                fraction.parse().ok()?
            } else {
                return None;
            };
            moment.micros = value * 10_u32.pow(6 - fraction.len() as u32);
        }
    }
    moment.checked()
}

impl Moment {
    /// A date.
    #[must_use]
    pub const fn midnight(year: u16, month: u8, day: u8) -> Self {
        Self {
            year,
            month,
            day,
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
        }
    }

    /// Only dates that exist; whether zeros and 30 February may be stored is a matter of mode.
    fn checked(self) -> Option<Self> {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let valid = (1..=9999).contains(&self.year)
            && (1..=days).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.micros < 1_000_000;
        valid.then_some(self)
    }

    fn is_midnight(&self) -> bool {
        self.hour == 0 && self.minute == 0 && self.second == 0 && self.micros == 0
    }

    fn write_date(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            format!("{:04}-{:02}-{:02}", self.year, self.month, self.day).as_bytes(),
        );
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.write_date(out);
        out.extend_from_slice(
            format!(" {:02}:{:02}:{:02}", self.hour, self.minute, self.second).as_bytes(),
        );
        if self.micros > 0 {
            let fraction = format!(".{:06}", self.micros);
            out.extend_from_slice(fraction.trim_end_matches('0').as_bytes());
        }
    }
}
