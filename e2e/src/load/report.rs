//! What a load found, as the table that a person reads.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::Kind;

/// Throughput and latency, by kind of transaction.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How long the clients worked.
    pub took: Duration,
    /// What each kind did.
    pub kinds: BTreeMap<Kind, KindReport>,
}

/// One kind of transaction.
#[derive(Clone, Debug, Default)]
pub struct KindReport {
    /// How long each transaction that was committed took.
    pub latencies: Vec<Duration>,
    /// How many failed.
    pub failures: usize,
    /// Why the first of them failed.
    pub first_failure: Option<String>,
}

impl Report {
    /// Adds what another client saw.
    pub(super) fn add(&mut self, other: BTreeMap<Kind, KindReport>) {
        for (kind, seen) in other {
            let sum = self.kinds.entry(kind).or_default();
            sum.latencies.extend(seen.latencies);
            sum.failures += seen.failures;
            sum.first_failure = sum.first_failure.take().or(seen.first_failure);
        }
    }

    /// How many transactions failed.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.kinds.values().map(|kind| kind.failures).sum()
    }
}

impl KindReport {
    /// The latency that this share of the transactions did not exceed, in milliseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted
            .get(index)
            .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    }

    fn mean(&self) -> f64 {
        let sum: Duration = self.latencies.iter().sum();
        sum.as_secs_f64() * 1e3 / self.latencies.len().max(1) as f64
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "transaction             TPS   mean ms    p95 ms    p99 ms   failed"
        )?;
        let seconds = self.took.as_secs_f64().max(f64::MIN_POSITIVE);
        for (kind, seen) in &self.kinds {
            writeln!(
                f,
                "{:<18} {:>8.0} {:>9.2} {:>9.2} {:>9.2} {:>8}",
                kind.to_string(),
                seen.latencies.len() as f64 / seconds,
                seen.mean(),
                seen.percentile(95),
                seen.percentile(99),
                seen.failures,
            )?;
        }
        for (kind, seen) in &self.kinds {
            if let Some(why) = &seen.first_failure {
                writeln!(f, "{kind} failed first with: {why}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_sums_the_clients() {
        let client = |milliseconds: &[u64], failures| {
            let latencies = milliseconds
                .iter()
                .copied()
                .map(Duration::from_millis)
                .collect();
            let first_failure = (failures > 0).then(|| "no route".to_owned());
            BTreeMap::from([(
                Kind::SingleRoute,
                KindReport {
                    latencies,
                    failures,
                    first_failure,
                },
            )])
        };
        let mut report = Report {
            took: Duration::from_secs(2),
            ..Report::default()
        };
        report.add(client(&[1, 2, 3], 0));
        report.add(client(&[4], 1));
        assert_eq!(report.failures(), 1);
        let text = report.to_string();
        assert!(
            text.contains("single route              2      2.50      4.00"),
            "{text}"
        );
        assert!(
            text.ends_with("single route failed first with: no route\n"),
            "{text}"
        );
    }
}
