//! Whether memory stays as it is.

use std::time::Duration;

use anyhow::{Result, ensure};

/// Resident memory, once a second.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    samples: Vec<u64>,
}

impl Memory {
    /// Between two samples.
    pub(super) const EVERY: Duration = Duration::from_secs(1);

    pub(super) fn note(&mut self, bytes: u64) {
        self.samples.push(bytes);
    }

    /// The largest sample.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.samples.iter().copied().max().unwrap_or_default()
    }

    /// How many bytes the second half of the run grew by: the slope of the line through its
    /// samples, times its length. Single samples jump; the line does not.
    #[must_use]
    pub fn growth(&self) -> f64 {
        let half = &self.samples[self.samples.len() / 2..];
        let count = half.len() as f64;
        let mean_at = (count - 1.0) / 2.0;
        let mean = half.iter().map(|bytes| *bytes as f64).sum::<f64>() / count.max(1.0);
        let (mut product, mut square) = (0.0, 0.0);
        for (at, bytes) in half.iter().enumerate() {
            let from_mean = at as f64 - mean_at;
            product += from_mean * (*bytes as f64 - mean);
            square += from_mean * from_mean;
        }
        match square > 0.0 {
            true => product / square * count,
            false => 0.0,
        }
    }

    /// # Errors
    /// If the second half of the run grew by more than `bytes`.
    pub(super) fn is_flat(&self, bytes: f64) -> Result<()> {
        let growth = self.growth();
        ensure!(
            growth <= bytes,
            "the sidecar's memory grew by {:.1} MB over the second half; samples in MB: {:.1?}",
            growth / 1e6,
            self.samples
                .iter()
                .map(|bytes| *bytes as f64 / 1e6)
                .collect::<Vec<_>>()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_that_of_the_second_half_and_not_of_single_samples() {
        let memory = |samples: &[u64]| Memory {
            samples: samples.to_vec(),
        };
        let begun = memory(&[0, 50, 100, 100, 100, 100, 100, 100]);
        assert!(begun.growth().abs() < 0.1, "{}", begun.growth());
        let jumps = memory(&[100, 100, 100, 100, 100, 130, 130, 100]);
        assert!(jumps.growth().abs() < 0.1, "{}", jumps.growth());
        let grows = memory(&[0, 0, 0, 0, 100, 110, 120, 130]);
        assert!((grows.growth() - 40.0).abs() < 0.1, "{}", grows.growth());
    }
}
