//! What a differential run found, told so that somebody can act on it.

use std::collections::BTreeMap;
use std::fmt;

/// How many differences are told in full; the first ones usually cause the rest.
const SHOWN: usize = 60;

/// The findings of one or more scripts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Which subject was compared.
    pub subject: String,
    /// How many outcomes were compared.
    pub compared: usize,
    /// Statements counted for each section, refused ones included.
    pub sections: BTreeMap<String, usize>,
    /// Statements that the subject refused.
    pub refused: BTreeMap<String, Finding>,
    /// Outcomes that differ.
    pub differences: Vec<Finding>,
    /// Statements where plain MySQL gave an error that the script does not expect.
    pub mistakes: Vec<Finding>,
    /// How many statements were counted.
    pub statements: usize,
}

/// One statement that something is to be said about.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The statement's name, the way it was sent, the run.
    pub name: String,
    /// What was sent.
    pub sql: String,
    /// What there is to say.
    pub lines: Vec<String>,
}

impl Report {
    /// Adds what another run found.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.statements += other.statements;
        for (section, count) in other.sections {
            *self.sections.entry(section).or_default() += count;
        }
        self.refused.extend(other.refused);
        self.differences.extend(other.differences);
        self.mistakes.extend(other.mistakes);
    }

    /// The part of the statements that the subject refused, in percent.
    #[must_use]
    pub fn refused_percent(&self) -> usize {
        (self.refused.len() * 100)
            .checked_div(self.statements)
            .unwrap_or(0)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n    {}", self.name, self.sql.replace('\n', "\n    "))?;
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
            self.statements,
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
