//! The sentence in OK packets (`Records: 3  Duplicates: 0  Warnings: 0`), for several parts.

use crate::backend::Ended;

/// Adds up the sentences of several OK packets. Labels are those of the first that has one.
///
/// A server says nothing for an INSERT of a single row; in a part of a larger INSERT it counts
/// as one record, which is a duplicate if it changed another row (MySQL then counts two), or
/// with IGNORE if it was left out. So many warnings were said `again` by further parts.
pub(super) fn sum(parts: &[Ended], is_insert: bool, ignores: bool, again: u16) -> Vec<u8> {
    let mut labels: Vec<&str> = Vec::new();
    let mut totals: Vec<u64> = Vec::new();
    for part in parts {
        let text = str::from_utf8(&part.info).unwrap_or_default();
        for (index, (label, number)) in fields(text).enumerate() {
            if index == totals.len() {
                labels.push(label);
                totals.push(0);
            }
            totals[index] += number;
        }
    }
    if is_insert {
        if totals.is_empty() {
            if parts.len() < 2 {
                return Vec::new();
            }
            labels = vec!["Records", "Duplicates", "Warnings"];
            totals = vec![0; 3];
        }
        for part in parts.iter().filter(|p| p.info.is_empty()) {
            totals[0] += 1;
            let duplicate = match part.affected_rows {
                0 => ignores,
                1 => false,
                _ => true,
            };
            totals[1] += u64::from(duplicate);
            totals[2] += u64::from(part.warnings);
        }
    }
    let warnings = labels.iter().position(|label| *label == "Warnings");
    if let Some(total) = warnings.and_then(|at| totals.get_mut(at)) {
        *total = total.saturating_sub(again.into());
    }
    let written: Vec<String> = labels
        .iter()
        .zip(&totals)
        .map(|(label, total)| format!("{label}: {total}"))
        .collect();
    written.join("  ").into_bytes()
}

/// The labels and numbers of a sentence.
fn fields(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.split("  ").filter_map(|field| {
        let (label, number) = field.split_once(": ")?;
        Some((label, number.parse().ok()?))
    })
}

/// How many rows an UPDATE found, by its text.
pub(super) fn matched(info: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(info).ok()?;
    let number = text.strip_prefix("Rows matched: ")?;
    number.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(affected_rows: u64, info: &str) -> Ended {
        Ended {
            affected_rows,
            info: info.into(),
            ..Ended::default()
        }
    }

    fn text(parts: &[Ended], is_insert: bool) -> String {
        String::from_utf8(sum(parts, is_insert, false, 0)).unwrap()
    }

    #[test]
    fn numbers_add_up_by_label() {
        let parts = [
            part(1, "Rows matched: 2  Changed: 1  Warnings: 0"),
            part(3, "Rows matched: 3  Changed: 3  Warnings: 1"),
        ];
        assert_eq!(
            text(&parts, false),
            "Rows matched: 5  Changed: 4  Warnings: 1"
        );
    }

    #[test]
    fn a_single_row_counts_as_a_record() {
        let parts = [
            part(2, "Records: 2  Duplicates: 0  Warnings: 0"),
            part(2, ""),
        ];
        assert_eq!(text(&parts, true), "Records: 3  Duplicates: 1  Warnings: 0");
        let parts = [part(1, ""), part(0, "")];
        assert_eq!(text(&parts, true), "Records: 2  Duplicates: 0  Warnings: 0");
        let ignored = sum(&parts, true, true, 0);
        assert_eq!(ignored, b"Records: 2  Duplicates: 1  Warnings: 0");
    }

    #[test]
    fn one_row_alone_says_nothing_and_so_does_a_delete() {
        assert_eq!(text(&[part(1, "")], true), "");
        assert_eq!(text(&[part(1, ""), part(2, "")], false), "");
    }
}
