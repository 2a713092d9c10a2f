//! Statements in the order in which they run, and the file format that they are written in.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::template::Template;

/// Statements that run one after the other, on sessions of their own.
#[derive(Clone, Debug)]
pub struct Script {
    /// What it is called in reports.
    pub name: String,
    /// The statements.
    pub statements: Vec<Statement>,
}

/// One statement of a [`Script`].
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is called in reports: the script and its line or number.
    pub name: String,
    /// The clause that it tests.
    pub section: String,
    /// Its text.
    pub template: Template,
    /// The session that sends it.
    pub session: String,
    /// Whether the statement fixes the order of its rows.
    pub ordered: bool,
    /// Whether it runs once, not twice.
    pub once: bool,
    /// Whether it only makes what others need: run as text, compared, but not counted.
    pub setup: bool,
    /// Whether it is sent as text in every mode.
    pub text_only: bool,
    /// The errors that MySQL may give; any, where nobody wrote the statement for this test.
    pub errors: Option<Vec<u16>>,
}

impl Statement {
    /// A statement that runs on the session `a`, both runs, with no error expected.
    #[must_use]
    pub fn new(name: String, section: &str, template: Template) -> Self {
        let text = template.text(0).to_ascii_uppercase();
        let word = text.split_whitespace().next().unwrap_or_default();
        Self {
            name,
            section: section.to_owned(),
            ordered: text.contains("ORDER BY") || matches!(word, "SHOW" | "DESCRIBE" | "DESC"),
            template,
            session: "a".to_owned(),
            once: false,
            setup: false,
            text_only: false,
            errors: Some(Vec::new()),
        }
    }

    /// Whether plain MySQL may answer with the error `code`.
    #[must_use]
    pub fn expects(&self, code: u16) -> bool {
        self.errors
            .as_ref()
            .is_none_or(|codes| codes.contains(&code))
    }
}

impl Script {
    /// Reads all `.sql` files of a folder, sorted by name.
    ///
    /// # Errors
    /// If one cannot be read; the text names the line.
    pub fn read_folder(folder: &Path) -> Result<Vec<Self>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "sql") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Reads one file.
    ///
    /// # Errors
    /// If it cannot be read; the text names the line.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text)
    }

    /// Reads a file's text: statements that end with `;` at the end of a line.
    ///
    /// `-- ## NAME` begins a section (`set-up` is not counted, and runs once as text).
    /// `-- @session b`, `-- @once`, `-- @any-order`, `-- @fixed-order`, `-- @text` and
    /// `-- @error 1062 1146` speak of the next statement. Any other `--` line is a comment.
    ///
    /// # Errors
    /// If a directive is unknown or a statement has no end.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut statements = Vec::new();
        let mut section = "set-up".to_owned();
        let mut directives: Vec<String> = Vec::new();
        let mut sql = String::new();
        let mut first_line = 0;
        for (line, number) in text.lines().zip(1..) {
            if let Some(heading) = line.strip_prefix("-- ## ") {
                heading.trim().clone_into(&mut section);
            } else if let Some(directive) = line.strip_prefix("-- @") {
                directives.push(directive.trim().to_owned());
            } else if !line.starts_with("--") && !line.trim().is_empty() {
                if sql.is_empty() {
                    first_line = number;
                } else {
                    sql.push('\n');
                }
                sql.push_str(line);
                let Some(statement) = sql.trim_end().strip_suffix(';') else {
                    continue;
                };
                let template =
                    Template::parse(statement).with_context(|| format!("{name}:{first_line}"))?;
                let mut statement =
                    Statement::new(format!("{name}:{first_line}"), &section, template);
                statement.setup = section == "set-up";
                statement.once = statement.setup;
                statement.text_only = statement.setup;
                for directive in directives.drain(..) {
                    obey(&directive, &mut statement)
                        .with_context(|| format!("{name}:{first_line}"))?;
                }
                statements.push(statement);
                sql.clear();
            }
        }
        if !sql.is_empty() {
            bail!("{name}:{first_line}: the statement does not end with a semicolon");
        }
        Ok(Self {
            name: name.to_owned(),
            statements,
        })
    }
}

fn obey(directive: &str, statement: &mut Statement) -> Result<()> {
    let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    match word {
        "session" => rest.trim().clone_into(&mut statement.session),
        "once" => statement.once = true,
        "text" => statement.text_only = true,
        "any-order" => statement.ordered = false,
        "fixed-order" => statement.ordered = true,
        "error" => {
            for number in rest.split_whitespace() {
                statement
                    .errors
                    .get_or_insert_default()
                    .push(number.parse()?);
            }
        }
        _ => bail!("unknown directive @{word}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_sections_directives_and_statements() {
        let text = "CREATE TABLE t (\n  a INT\n);\n-- ## Reads\n-- a comment\n-- @session b\n\
                    -- @error 1146\nSELECT * FROM nothing ORDER BY ${1|2};\nSELECT 1;\n";
        let script = Script::parse("x.sql", text).unwrap();
        let [setup, ordered, plain] = &script.statements[..] else {
            panic!("three statements")
        };
        assert!(setup.setup && setup.once);
        assert_eq!(setup.template.text(0), "CREATE TABLE t (\n  a INT\n)");
        assert_eq!(
            (ordered.name.as_str(), ordered.section.as_str()),
            ("x.sql:8", "Reads")
        );
        assert_eq!(ordered.session, "b");
        assert!(ordered.expects(1146) && !ordered.expects(1062));
        assert!(ordered.ordered && !plain.ordered);
    }

    #[test]
    fn a_misspelt_directive_is_an_error() {
        assert!(Script::parse("x.sql", "-- @onse\nSELECT 1;\n").is_err());
    }
}
