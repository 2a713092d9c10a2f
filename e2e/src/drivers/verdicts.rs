//! What a suite says of its tests: a line for each, `passed NAME`, `failed NAME` or `skipped NAME`.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// How a test ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// As it should.
    Passed,
    /// Otherwise.
    Failed,
    /// It did not run.
    Skipped,
}

/// The verdicts of one run of a suite, by the tests' names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdicts(BTreeMap<String, Verdict>);

impl Verdicts {
    /// Reads the lines that a run wrote.
    ///
    /// # Errors
    /// If a line is none of a verdict, or there is none at all: a suite that did not run must not
    /// look like one that has nothing to say.
    pub fn parse(text: &str) -> Result<Self> {
        let mut verdicts = BTreeMap::new();
        for line in text.lines() {
            let verdict = match line.split_once(' ') {
                Some(("passed", _)) => Verdict::Passed,
                Some(("failed", _)) => Verdict::Failed,
                Some(("skipped", _)) => Verdict::Skipped,
                _ => bail!("not a verdict: {line}"),
            };
            let name = line.split_once(' ').map_or("", |(_, name)| name);
            verdicts.insert(name.to_owned(), verdict);
        }
        if verdicts.is_empty() {
            bail!("the suite ran no test");
        }
        Ok(Self(verdicts))
    }

    /// How a test ended, if it ran to its end.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Verdict> {
        self.0.get(name).copied()
    }

    /// The names of those that ended so.
    pub fn ended(&self, verdict: Verdict) -> impl Iterator<Item = &str> {
        let all = self.0.iter();
        all.filter(move |(_, of)| **of == verdict)
            .map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_verdict() {
        let verdicts =
            Verdicts::parse("passed a\nfailed b with blanks\nskipped c\npassed d\n").unwrap();
        let passed: Vec<_> = verdicts.ended(Verdict::Passed).collect();
        assert_eq!(passed, ["a", "d"]);
        assert_eq!(verdicts.of("b with blanks"), Some(Verdict::Failed));
        assert_eq!(verdicts.of("e"), None);
    }

    #[test]
    fn a_suite_that_did_not_run_is_an_error() {
        assert!(Verdicts::parse("").is_err());
        assert!(Verdicts::parse("Traceback (most recent call last)").is_err());
    }
}
