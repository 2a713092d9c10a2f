//! Statements that share a plan differ in their literals only.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use remora_planner::fingerprint::{Fingerprint, Normalizer, PlanCache, Weight};
use remora_planner::lexer::SqlMode;

struct Plan;

impl Weight for Plan {
    fn bytes(&self) -> usize {
        0
    }
}

fn besides<'a>(sql: &'a [u8], fingerprint: &Fingerprint<'_>) -> Vec<&'a [u8]> {
    let mut at = fingerprint.body.start;
    let mut parts = Vec::new();
    for token in fingerprint.literals {
        parts.push(&sql[at..token.start as usize]);
        at = token.end as usize;
    }
    parts.push(&sql[at..fingerprint.body.end]);
    parts
}

fuzz_target!(|input: (&[u8], &[u8], u8)| {
    let (first, second, pin) = input;
    let (mut a, mut b) = (Normalizer::default(), Normalizer::default());
    let a = a.normalize(first, SqlMode::default(), b"shop");
    let b = b.normalize(second, SqlMode::default(), b"shop");
    let cache = PlanCache::new(1 << 20);
    let pin = usize::from(pin);
    cache.insert(&a, first, &[pin], Arc::new(Plan));
    assert!(cache.get(&a, first).is_some());
    if cache.get(&b, second).is_some() && !a.invalid && !b.invalid {
        assert_eq!(besides(first, &a), besides(second, &b));
        if let (Some(one), Some(two)) = (a.literals.get(pin), b.literals.get(pin)) {
            assert_eq!(one.text(first), two.text(second));
        }
    }
});
