//! Durations within a range.

use std::ops::RangeInclusive;
use std::time;

use kube::core::Duration;

use super::Errors;

/// Checks that a duration is in its range.
pub(super) fn duration(
    value: &Duration,
    range: &RangeInclusive<time::Duration>,
    path: &str,
    errors: &mut Errors,
) {
    let (least, most) = (range.start(), range.end());
    errors.unless(
        !value.is_negative() && range.contains(&(*value).into()),
        path,
        format!("must be from {least:?} to {most:?}"),
    );
}
