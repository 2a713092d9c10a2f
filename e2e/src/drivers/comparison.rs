//! A suite's two runs beside each other.

use super::{Refusals, Suite, Verdict, Verdicts};

/// What a suite said on plain MySQL, and through the sidecar.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The suite.
    pub suite: &'static Suite,
    /// The driver's version.
    pub version: String,
    /// On MySQL.
    pub mysql: Verdicts,
    /// Through the sidecar.
    pub remora: Verdicts,
}

/// A test that passes on MySQL and not here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The test.
    pub test: String,
    /// Why that is meant to be so, if it is.
    pub reason: Option<String>,
}

impl Comparison {
    /// The tests that pass on MySQL and not here: failed, skipped, or not even reached.
    #[must_use]
    pub fn differences(&self, refusals: &Refusals) -> Vec<Difference> {
        let passes = |test: &&str| self.remora.of(test) == Some(Verdict::Passed);
        let difference = |test: &str| Difference {
            test: test.to_owned(),
            reason: refusals.reason(self.suite.name, test).map(str::to_owned),
        };
        let on_mysql = self.mysql.ended(Verdict::Passed);
        on_mysql
            .filter(|test| !passes(test))
            .map(difference)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_on_mysql_too_is_no_difference() {
        let comparison = Comparison {
            suite: &Suite::ALL[0],
            version: String::new(),
            mysql: Verdicts::parse("passed a\nfailed b\npassed c\npassed d").unwrap(),
            remora: Verdicts::parse("passed a\nfailed b\nskipped c").unwrap(),
        };
        let name = comparison.suite.name;
        let refusals = Refusals::parse(&format!("{name} d: it is refused")).unwrap();
        let differences = comparison.differences(&refusals);
        let tests: Vec<_> = differences
            .iter()
            .map(|d| (d.test.as_str(), d.reason.as_deref()))
            .collect();
        assert_eq!(tests, [("c", None), ("d", Some("it is refused"))]);
    }
}
