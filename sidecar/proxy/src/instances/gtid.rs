//! Sets of GTIDs, as MySQL writes them: `UUID:1-5:9,UUID:TAG:3`.

use std::collections::BTreeMap;

/// Which transactions were committed, or executed on a server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct GtidSet {
    /// By source and tag (in lower case, `UUID` or `UUID:TAG`): ranges with both ends, which
    /// ascend and do not touch.
    sources: BTreeMap<Box<str>, Vec<(u64, u64)>>,
}

/// A text that is no set of GTIDs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a set of GTIDs")]
pub(crate) struct NotGtids;

impl GtidSet {
    /// Reads a set. MySQL breaks long ones into lines.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, NotGtids> {
        let mut set = Self::default();
        for source in text.split(',') {
            let source = source.trim();
            if source.is_empty() {
                continue;
            }
            let mut parts = source.split(':').map(str::trim);
            let uuid = parts.next().ok_or(NotGtids)?;
            if uuid.len() != UUID_LENGTH
                || !uuid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
            {
                return Err(NotGtids);
            }
            let uuid = uuid.to_ascii_lowercase();
            let mut key = uuid.clone();
            let mut any = false;
            for part in parts {
                if part.starts_with(|c: char| c.is_ascii_digit()) {
                    let (first, last) = part.split_once('-').unwrap_or((part, part));
                    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| NotGtids);
                    let (first, last) = (number(first)?, number(last)?);
                    if first == 0 || last < first {
                        return Err(NotGtids);
                    }
                    set.add(&key, first, last);
                    any = true;
                } else if part.is_empty() {
                    return Err(NotGtids);
                } else {
                    key = format!("{uuid}:{}", part.to_ascii_lowercase());
                }
            }
            if !any {
                return Err(NotGtids);
            }
        }
        Ok(set)
    }

    /// Adds all of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (source, ranges) in &other.sources {
            for (first, last) in ranges {
                self.add(source, *first, *last);
            }
        }
    }

    fn add(&mut self, source: &str, mut first: u64, mut last: u64) {
        let ranges = match self.sources.get_mut(source) {
            Some(ranges) => ranges,
            None => self.sources.entry(source.into()).or_default(),
        };
        // Those that end before it, with a gap between, stay before it.
        let from = ranges.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = ranges.partition_point(|(start, _)| *start <= last.saturating_add(1));
        if let Some((start, _)) = ranges.get(from).filter(|_| from < to) {
            first = first.min(*start);
        }
        if let Some((_, end)) = to
            .checked_sub(1)
            .and_then(|at| ranges.get(at))
            .filter(|_| from < to)
        {
            last = last.max(*end);
        }
        ranges.splice(from..to, [(first, last)]);
    }

    /// Whether it has all of `other`.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        other.sources.iter().all(|(source, wanted)| {
            let Some(ranges) = self.sources.get(source) else {
                return false;
            };
            wanted.iter().all(|(first, last)| {
                let at = ranges.partition_point(|(_, end)| end < first);
                ranges
                    .get(at)
                    .is_some_and(|(start, end)| start <= first && last <= end)
            })
        })
    }

    /// How many ranges it has: what it takes of memory and of time to compare.
    pub(crate) fn ranges(&self) -> usize {
        self.sources.values().map(Vec::len).sum()
    }
}

const UUID_LENGTH: usize = 36;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const A: &str = "291212a5-ed01-11f1-bcd7-02fc00000001";
    const B: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(&text.replace('A', A).replace('B', B)).unwrap()
    }

    #[test]
    fn a_set_has_what_its_ranges_say() {
        let executed = set("A:1-5:9,\nB:3");
        for has in ["", "A:1", "A:2-5", "A:9,B:3", "A:1-3:5:9"] {
            assert!(executed.contains(&set(has)), "{has}");
        }
        for lacks in ["A:6", "A:5-6", "A:5-9", "B:2-3", "A:10"] {
            assert!(!executed.contains(&set(lacks)), "{lacks}");
        }
    }

    #[test]
    fn tags_are_sources_of_their_own() {
        let executed = set("A:1-5:release:1-3");
        assert!(executed.contains(&set("A:release:2")));
        assert!(!executed.contains(&set("A:release:4")));
        assert!(!executed.contains(&set("A:other:1")));
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut executed = set("A:1-3:7");
        executed.merge(&set("A:4-6"));
        assert_eq!(executed, set("A:1-7"));
        assert_eq!(executed.ranges(), 1);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in [
            "x",
            "1-5",
            &format!("{A}"),
            &format!("{A}:0"),
            &format!("{A}:5-3"),
        ] {
            assert_eq!(GtidSet::parse(text), Err(NotGtids), "{text}");
        }
    }

    fn of(numbers: &BTreeSet<u64>) -> GtidSet {
        let mut set = GtidSet::default();
        for number in numbers {
            set.add(A, *number, *number);
        }
        set
    }

    proptest! {
        #[test]
        fn sets_of_ranges_are_sets_of_numbers(
            one in prop::collection::btree_set(1_u64..40, 0..30),
            other in prop::collection::btree_set(1_u64..40, 0..30),
        ) {
            let (first, second) = (of(&one), of(&other));
            prop_assert_eq!(first.contains(&second), one.is_superset(&other));
            let mut merged = first.clone();
            merged.merge(&second);
            let union: BTreeSet<u64> = one.union(&other).copied().collect();
            prop_assert_eq!(merged.clone(), of(&union));
            let gaps = union.iter().filter(|n| !union.contains(&(**n + 1))).count();
            prop_assert_eq!(merged.ranges(), gaps);
        }
    }
}
