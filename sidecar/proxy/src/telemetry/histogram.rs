//! A histogram without a lock: all sessions count in it after every statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Upper bounds in microseconds. A point select through the sidecar takes some 100 µs, a
/// statement over many shards milliseconds, a lock time-out 50 s.
const BOUNDS: [u64; 14] = [
    50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 50_000, 200_000, 1_000_000, 5_000_000,
    60_000_000,
];

/// How long statements took.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// One for each bound, and one for what is above all of them.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Latencies {
    /// Counts one statement.
    pub fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.0.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        // Wraps after 584 years of statements.
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.nanoseconds.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl TypedMetric for Latencies {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Latencies {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let seconds = |bound: &u64| Duration::from_micros(*bound).as_secs_f64();
        let bounds = BOUNDS.iter().map(seconds).chain([f64::INFINITY]);
        let counts = self
            .0
            .buckets
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        // Of the buckets as they were read, so that count and buckets agree.
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = Duration::from_nanos(self.0.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_holds_it() {
        let latencies = Latencies::default();
        for micros in [1, 50, 51, 900, 90_000_000] {
            latencies.observe(Duration::from_micros(micros));
        }
        let mut registry = Registry::default();
        registry.register("took_seconds", "how long", latencies);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "took_seconds_bucket{le=\"0.00005\"} 2",
            "took_seconds_bucket{le=\"0.0001\"} 3",
            "took_seconds_bucket{le=\"0.0016\"} 4",
            "took_seconds_bucket{le=\"60.0\"} 4",
            "took_seconds_bucket{le=\"+Inf\"} 5",
            "took_seconds_count 5",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }
}
