//! Conditions: what is true of a cluster, since when, and of which manifest.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use remora_crds::ConditionType;

/// The apiserver takes no longer message, and nobody reads one.
const LONGEST_MESSAGE: usize = 1024;

/// What a condition is to say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Which condition.
    pub type_: ConditionType,
    /// Whether it holds; `None`: nobody knows yet.
    pub holds: Option<bool>,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// Brings `findings` into `conditions`. The time stands for the last change of `holds`, so an
/// unchanged cluster has an unchanged status. Gives those findings whose `holds` or reason changed.
pub fn update(
    conditions: &mut Vec<Condition>,
    findings: Vec<Finding>,
    generation: i64,
    now: Timestamp,
) -> Vec<Finding> {
    let mut changed = Vec::new();
    for mut finding in findings {
        shorten(&mut finding.message, LONGEST_MESSAGE);
        let status = match finding.holds {
            Some(true) => "True",
            Some(false) => "False",
            None => "Unknown",
        };
        let fresh = Condition {
            type_: finding.type_.name().to_owned(),
            status: status.to_owned(),
            reason: finding.reason.to_owned(),
            message: finding.message.clone(),
            observed_generation: Some(generation),
            last_transition_time: Time(now),
        };
        match conditions.iter_mut().find(|old| old.type_ == fresh.type_) {
            Some(old) if old.status == fresh.status => {
                if old.reason != fresh.reason {
                    changed.push(finding);
                }
                *old = Condition {
                    last_transition_time: old.last_transition_time.clone(),
                    ..fresh
                };
            }
            Some(old) => {
                *old = fresh;
                changed.push(finding);
            }
            None => {
                conditions.push(fresh);
                changed.push(finding);
            }
        }
    }
    changed
}

/// Whether the condition is there and holds.
#[must_use]
pub fn holds(conditions: &[Condition], type_: ConditionType) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == type_.name() && condition.status == "True")
}

/// Cuts `text` to `longest` bytes, between characters, and shows that it was cut.
pub(crate) fn shorten(text: &mut String, longest: usize) {
    const MARK: &str = "...";
    if text.len() > longest {
        let end = (0..=longest - MARK.len())
            .rev()
            .find(|i| text.is_char_boundary(*i));
        text.truncate(end.unwrap_or(0));
        text.push_str(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available(holds: bool, message: &str) -> Vec<Finding> {
        vec![Finding {
            type_: ConditionType::Available,
            holds: Some(holds),
            reason: "Test",
            message: message.to_owned(),
        }]
    }

    #[test]
    fn the_time_is_that_of_the_last_change() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let mut conditions = Vec::new();
        assert_eq!(
            update(&mut conditions, available(false, "a"), 1, at(1)).len(),
            1
        );
        assert_eq!(
            update(&mut conditions, available(false, "b"), 2, at(2)).len(),
            0
        );
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert_eq!(conditions[0].message, "b");
        assert_eq!(conditions[0].observed_generation, Some(2));
        assert!(!holds(&conditions, ConditionType::Available));
        assert_eq!(
            update(&mut conditions, available(true, "c"), 2, at(3)).len(),
            1
        );
        assert_eq!(conditions[0].last_transition_time, Time(at(3)));
        assert!(holds(&conditions, ConditionType::Available));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let mut conditions = Vec::new();
        let changed = update(
            &mut conditions,
            available(true, &"ü".repeat(2000)),
            1,
            Timestamp::UNIX_EPOCH,
        );
        assert!(changed[0].message.len() <= LONGEST_MESSAGE);
        assert!(changed[0].message.ends_with("ü..."));
    }
}
