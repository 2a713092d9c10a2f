//! The tests that pass on MySQL and are meant not to pass here.

use anyhow::{Context as _, Result, ensure};

/// So many may differ by design.
const MOST: usize = 5;

/// Tests that are refused by design, with the reason.
#[derive(Clone, Debug)]
pub struct Refusals(Vec<Refusal>);

#[derive(Clone, Debug)]
struct Refusal {
    suite: String,
    test: String,
    reason: String,
}

impl Refusals {
    /// Reads lines of `SUITE TEST: REASON`; those that begin with `#` are comments.
    ///
    /// # Errors
    /// If a line is not such a one, or there are too many.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let refusals = lines.map(Refusal::parse).collect::<Result<Vec<_>>>()?;
        ensure!(
            refusals.len() <= MOST,
            "{} refusals, and at most {MOST} may be by design",
            refusals.len()
        );
        Ok(Self(refusals))
    }

    /// Why a test of a suite is meant not to pass.
    #[must_use]
    pub fn reason(&self, suite: &str, test: &str) -> Option<&str> {
        let found = self.0.iter().find(|r| r.suite == suite && r.test == test)?;
        Some(&found.reason)
    }
}

impl Refusal {
    fn parse(line: &str) -> Result<Self> {
        let parts = line.split_once(' ').and_then(|(suite, rest)| {
            let (test, reason) = rest.split_once(": ")?;
            Some((suite, test, reason))
        });
        let (suite, test, reason) =
            parts.with_context(|| format!("not `SUITE TEST: REASON`: {line}"))?;
        Ok(Self {
            suite: suite.to_owned(),
            test: test.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_of_one_test() {
        let refusals = Refusals::parse("# why\npymysql tests/a.py::b: by design\n").unwrap();
        assert_eq!(
            refusals.reason("pymysql", "tests/a.py::b"),
            Some("by design")
        );
        assert_eq!(refusals.reason("mysqlclient", "tests/a.py::b"), None);
    }

    #[test]
    fn there_are_not_many() {
        assert!(Refusals::parse(&"suite test: reason\n".repeat(6)).is_err());
        assert!(Refusals::parse("suite test\n").is_err());
    }
}
