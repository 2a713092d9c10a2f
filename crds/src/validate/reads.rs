//! Rules of `spec.reads` and `spec.resilience`.

use super::Errors;
use super::span::duration;
use crate::{CircuitBreaker, Reads, Resilience, ShardingClusterSpec};

/// The most that a weight or a number of retries may be.
const MOST: u32 = 1000;

/// Checks both.
pub(super) fn reads(spec: &ShardingClusterSpec, errors: &mut Errors) {
    if let Some(reads) = &spec.reads {
        of_reads(reads, errors);
    }
    if let Some(resilience) = &spec.resilience {
        of_resilience(resilience, errors);
    }
}

fn of_reads(reads: &Reads, errors: &mut Errors) {
    duration(
        &reads.max_replica_lag,
        &Reads::LAGS,
        "spec.reads.maxReplicaLag",
        errors,
    );
    let weights = reads.weights.iter().chain([&reads.primary_weight]);
    errors.unless(
        weights.into_iter().all(|weight| *weight <= MOST),
        "spec.reads.weights",
        "a weight is above 1000; make them smaller, only their ratio counts",
    );
    errors.unless(
        reads.weights.len() <= 9,
        "spec.reads.weights",
        "has more than 9 weights, and a shard has at most 9 instances; remove some",
    );
    for (index, name) in reads.read_only_functions.iter().enumerate() {
        errors.unless(
            (1..=64).contains(&name.chars().count()),
            format!("spec.reads.readOnlyFunctions[{index}]"),
            "is no function's name, which has 1 to 64 characters; correct it",
        );
    }
}

fn of_resilience(resilience: &Resilience, errors: &mut Errors) {
    let (budget, breaker) = (&resilience.retry_budget, &resilience.circuit_breaker);
    errors.unless(
        budget.percent <= 100,
        "spec.resilience.retryBudget.percent",
        "must be from 0 to 100",
    );
    errors.unless(
        budget.min_per_second <= MOST,
        "spec.resilience.retryBudget.minPerSecond",
        "must be from 0 to 1000",
    );
    errors.unless(
        (1..=100).contains(&breaker.consecutive_errors),
        "spec.resilience.circuitBreaker.consecutiveErrors",
        "must be from 1 to 100",
    );
    duration(
        &breaker.open_for,
        &CircuitBreaker::OPEN_FOR,
        "spec.resilience.circuitBreaker.openFor",
        errors,
    );
    duration(
        &resilience.connect_timeout,
        &Resilience::CONNECT_TIMEOUTS,
        "spec.resilience.connectTimeout",
        errors,
    );
}
