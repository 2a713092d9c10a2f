//! What a differential run found, told so that somebody can act on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many differences are told in full; the first ones usually cause the rest.
const SHOWN: usize = 200;

/// The findings of one or more scripts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Which subject was compared.
    pub subject: String,
    /// How many outcomes were compared.
    pub compared: usize,
    /// The statements of each section, refused ones included.
    pub sections: BTreeMap<String, BTreeSet<String>>,
    /// Statements that the subject refused, in whatever way they were sent.
    pub refused: BTreeMap<String, Finding>,
    /// Outcomes that differ.
    pub differences: Vec<Finding>,
    /// Statements where plain MySQL gave an error that the script does not expect.
    pub mistakes: Vec<Finding>,
}

/// One statement that something is to be said about.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The statement's name.
    pub name: String,
    /// How it was sent, and in which run: several ways may show the same.
    pub ways: Vec<String>,
    /// What was sent.
    pub sql: String,
    /// What there is to say.
    pub lines: Vec<String>,
}

impl Report {
    /// Adds what another run found.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        for (section, statements) in other.sections {
            self.sections.entry(section).or_default().extend(statements);
        }
        self.refused.extend(other.refused);
        for finding in other.differences {
            Finding::join(&mut self.differences, finding);
        }
        for finding in other.mistakes {
            Finding::join(&mut self.mistakes, finding);
        }
    }

    /// How many statements were sent.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.sections.values().map(BTreeSet::len).sum()
    }

    /// The part of the statements that the subject refused, in percent.
    #[must_use]
    pub fn refused_percent(&self) -> usize {
        (self.refused.len() * 100)
            .checked_div(self.statements())
            .unwrap_or(0)
    }
}

impl Finding {
    /// Adds `finding` to `all`, or its ways to the one that says the same of its statement.
    pub(super) fn join(all: &mut Vec<Self>, finding: Self) {
        let same = |other: &&mut Self| other.name == finding.name && other.lines == finding.lines;
        match all.iter_mut().find(same) {
            Some(other) => other.ways.extend(finding.ways),
            None => all.push(finding),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = self.ways.join(", ");
        writeln!(
            f,
            "{} ({ways})\n    {}",
            self.name,
            self.sql.replace('\n', "\n    ")
        )?;
        for line in &self.lines {
            writeln!(f, "  - {line}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} statements, {} outcomes compared, {} different, {} refused ({} %)",
            self.subject,
            self.statements(),
            self.compared,
            self.differences.len(),
            self.refused.len(),
            self.refused_percent(),
        )?;
        for (name, finding) in &self.refused {
            let sql: Vec<&str> = finding.sql.split_whitespace().collect();
            writeln!(
                f,
                "refused {name}: {}\n    {}",
                sql.join(" "),
                finding.lines.join(" ")
            )?;
        }
        for mistake in &self.mistakes {
            write!(
                f,
                "\nplain MySQL gave an error that is not expected: {mistake}"
            )?;
        }
        for difference in self.differences.iter().take(SHOWN) {
            write!(f, "\nDIFFERENT {difference}")?;
        }
        if self.differences.len() > SHOWN {
            writeln!(
                f,
                "\n… and {} more differences",
                self.differences.len() - SHOWN
            )?;
        }
        Ok(())
    }
}
