//! Samples of all rounds, as medians and ratios.

use std::fmt::{self, Display, Formatter, Write as _};
use std::time::Duration;

use crate::sysbench::Sample;

/// What was measured of one contender in one load.
#[derive(Clone, Debug)]
pub struct Row {
    /// The load: its name and protocol.
    pub load: String,
    /// The contender.
    pub contender: &'static str,
    /// One sample for each round, with the proxy's processor time.
    pub rounds: Vec<(Sample, Duration)>,
}

impl Row {
    fn tps(&self) -> Spread {
        Spread::of(self.rounds.iter().map(|(sample, _)| sample.tps))
    }

    fn p99(&self) -> Spread {
        Spread::of(self.rounds.iter().map(|(sample, _)| sample.p99_ms))
    }

    /// Microseconds of the proxy's processor time for each query.
    fn cpu(&self) -> Spread {
        Spread::of(
            self.rounds
                .iter()
                .map(|(sample, cpu)| cpu.as_secs_f64() * 1e6 / (sample.transactions.max(1)) as f64),
        )
    }
}

/// A median with the least and the largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The one in the middle.
    pub median: f64,
    /// The largest.
    pub largest: f64,
}

impl Spread {
    /// Of at least one value; of none it is zero.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
        Self {
            least: at(0),
            median: at(values.len() / 2),
            largest: at(values.len().saturating_sub(1)),
        }
    }
}

/// Everything that one run of the benchmark found.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Lines on machine, versions and command.
    pub setting: Vec<String>,
    /// The measured loads.
    pub rows: Vec<Row>,
    /// Resident memory of the sidecar before its first client, in bytes.
    pub idle_memory: u64,
    /// From the sidecar's start to its first `/ready`, once for each start.
    pub ready_after: Vec<Duration>,
}

/// The contender that ratios are taken to.
const MEASURE: &str = "HAProxy, TCP mode";

impl Results {
    /// As a page of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = String::from(
            "## Point selects beside the peers\n\nEach number is the median of the rounds, with \
             the least and the largest in brackets. The contenders take turns in every round, so \
             the machine's mood is the same for all. CPU is the proxy's own processor time for \
             each query.\n\n",
        );
        for line in &self.setting {
            page += &format!("- {line}\n");
        }
        let mut load = "";
        for row in &self.rows {
            if row.load != load {
                load = &row.load;
                page += &format!(
                    "\n### {load}\n\n| | TPS | to HAProxy | p99, ms | to HAProxy | CPU, µs | to HAProxy |\n\
                     | --- | --- | --- | --- | --- | --- | --- |\n"
                );
            }
            page += &self.line(row);
        }
        let ready = Spread::of(self.ready_after.iter().map(|time| time.as_secs_f64() * 1e3));
        let _never_fails = write!(
            page,
            "\n### The sidecar by itself\n\n| | |\n| --- | --- |\n| idle RSS | {:.1} MB |\n\
             | start to ready | {:.0} ms [{:.0}–{:.0}] |\n",
            self.idle_memory as f64 / 1e6,
            ready.median,
            ready.least,
            ready.largest
        );
        page
    }

    fn line(&self, row: &Row) -> String {
        let measure = self
            .rows
            .iter()
            .find(|other| other.load == row.load && other.contender == MEASURE);
        let ratio = |own: Spread, of: fn(&Row) -> Spread| {
            let other = measure.map_or(0.0, |measure| of(measure).median);
            if other > 0.0 {
                format!("{:.2} ×", own.median / other)
            } else {
                "–".to_owned()
            }
        };
        let (tps, p99, cpu) = (row.tps(), row.p99(), row.cpu());
        let direct = cpu.largest == 0.0;
        format!(
            "| {} | {:.0} [{:.0}–{:.0}] | {} | {:.2} [{:.2}–{:.2}] | {} | {} | {} |\n",
            row.contender,
            tps.median,
            tps.least,
            tps.largest,
            ratio(tps, Row::tps),
            p99.median,
            p99.least,
            p99.largest,
            ratio(p99, Row::p99),
            if direct {
                "–".to_owned()
            } else {
                format!("{:.1} [{:.1}–{:.1}]", cpu.median, cpu.least, cpu.largest)
            },
            if direct {
                "–".to_owned()
            } else {
                ratio(cpu, Row::cpu)
            },
        )
    }
}

impl Display for Spread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        write!(
            f,
            "{:.digits$} [{:.digits$}–{:.digits$}]",
            self.median, self.least, self.largest
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_to_haproxy_in_the_same_load() {
        let row = |contender, tps, cpu| Row {
            load: "point select, text".to_owned(),
            contender,
            rounds: vec![(
                Sample {
                    transactions: 1000,
                    tps,
                    p99_ms: 2.0,
                },
                Duration::from_micros(cpu),
            )],
        };
        let results = Results {
            rows: vec![row(MEASURE, 100.0, 20_000), row("Remora", 90.0, 30_000)],
            ..Results::default()
        };
        let page = results.markdown();
        assert!(page.contains("| Remora | 90 [90–90] | 0.90 × |"), "{page}");
        assert!(page.contains("| 30.0 [30.0–30.0] | 1.50 × |"), "{page}");
    }

    #[test]
    fn the_median_is_the_middle_one() {
        let spread = Spread::of([5.0, 1.0, 3.0].into_iter());
        assert_eq!(
            spread,
            Spread {
                least: 1.0,
                median: 3.0,
                largest: 5.0
            }
        );
    }
}
