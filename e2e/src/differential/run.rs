//! Sends a script to both sides, statement by statement.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Opts};

use super::compare::differences;
use super::outcome::{Outcome, Reply};
use super::report::{Finding, Report};
use super::script::{Script, Statement};

/// The error by which the subject says that it does not do something yet.
const REFUSED: u16 = 1235;
/// The error by which MySQL says that a statement cannot be prepared.
const NOT_PREPARABLE: u16 = 1295;
/// How long an answer may take; the longest wait in a script is for a lock, one second.
const PATIENCE: Duration = Duration::from_secs(30);

/// How statements are sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// As COM_QUERY.
    Text,
    /// As COM_STMT_PREPARE and COM_STMT_EXECUTE, with the literals as parameters.
    Prepared,
}

/// The two servers that are compared.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The one under test.
    pub subject: Opts,
    /// Plain MySQL, which is right.
    pub reference: Opts,
}

/// Runs `script` on both sides and reports what differed.
///
/// # Errors
/// If plain MySQL cannot be reached.
pub async fn run(script: &Script, mode: Mode, sides: &Sides) -> Result<Report> {
    let mut pair = Pair::new(sides);
    let mut report = Report::default();
    for statement in &script.statements {
        if !statement.setup {
            let section = report.sections.entry(statement.section.clone());
            section.or_default().insert(statement.name.clone());
        }
        let text = mode == Mode::Text || statement.text_only;
        if text {
            for run in 0..if statement.once { 1 } else { 2 } {
                pair.text(statement, run, &mut report).await?;
            }
        } else {
            pair.prepared(statement, &mut report).await?;
        }
    }
    Ok(report)
}

/// The sessions of one script on both sides.
struct Pair<'a> {
    sides: &'a Sides,
    subject: HashMap<String, Conn>,
    reference: HashMap<String, Conn>,
}

impl<'a> Pair<'a> {
    fn new(sides: &'a Sides) -> Self {
        Self {
            sides,
            subject: HashMap::new(),
            reference: HashMap::new(),
        }
    }

    async fn text(&mut self, statement: &Statement, run: usize, report: &mut Report) -> Result<()> {
        let sql = statement.template.text(run);
        let way = format!("text {}", run + 1);
        let (subject, reference) = self.sessions(&statement.session).await?;
        let got = match subject {
            Ok(connection) => patiently(Outcome::of_text(connection, &sql)).await,
            Err(why) => Outcome {
                reply: Reply::Lost(why),
                warnings: Vec::new(),
            },
        };
        if got.error_code() == Some(REFUSED) && !expects_refusal(statement) {
            report.note_refusal(statement, &sql, &got);
            return Ok(());
        }
        let expected = patiently(Outcome::of_text(reference, &sql)).await;
        self.judge(statement, &way, &sql, &expected, &got, report);
        Ok(())
    }

    async fn prepared(&mut self, statement: &Statement, report: &mut Report) -> Result<()> {
        let (sql, _) = statement.template.prepared(0);
        let (subject, reference) = self.sessions(&statement.session).await?;
        let (expected, reference_statement) = Outcome::of_prepare(reference, &sql).await;
        if expected.error_code() == Some(NOT_PREPARABLE) {
            for run in 0..if statement.once { 1 } else { 2 } {
                self.text(statement, run, report).await?;
            }
            return Ok(());
        }
        let (got, subject_statement) = match subject {
            Ok(connection) => {
                match tokio::time::timeout(PATIENCE, Outcome::of_prepare(connection, &sql)).await {
                    Ok(prepared) => prepared,
                    Err(_) => (silence(), None),
                }
            }
            Err(why) => (
                Outcome {
                    reply: Reply::Lost(why),
                    warnings: Vec::new(),
                },
                None,
            ),
        };
        if got.error_code() == Some(REFUSED) && !expects_refusal(statement) {
            report.note_refusal(statement, &sql, &got);
        } else {
            let way = "prepare".to_owned();
            self.judge(statement, &way, &sql, &expected, &got, report);
        }
        let mut both = true;
        for run in 0..if statement.once { 1 } else { 2 } {
            let (run_sql, values) = statement.template.prepared(run);
            if run_sql != sql {
                // A choice that is text: the second run is a statement of its own.
                self.text(statement, run, report).await?;
                continue;
            }
            let (Some(on_subject), Some(on_reference)) = (&subject_statement, &reference_statement)
            else {
                both = false;
                break;
            };
            let way = format!("execute {}", run + 1);
            let shown = format!("{sql}\nwith {values:?}");
            let (subject, reference) = self.sessions(&statement.session).await?;
            let got = match subject {
                Ok(connection) if connection.id() == on_subject.connection_id() => {
                    patiently(Outcome::of_execute(connection, on_subject, values.clone())).await
                }
                // The session was lost, and with it the statement.
                _ => break,
            };
            if got.error_code() == Some(REFUSED) && !expects_refusal(statement) {
                report.note_refusal(statement, &shown, &got);
                continue;
            }
            let expected = patiently(Outcome::of_execute(reference, on_reference, values)).await;
            self.judge(statement, &way, &shown, &expected, &got, report);
        }
        let (subject, reference) = self.sessions(&statement.session).await?;
        if let Some(prepared) = reference_statement {
            reference.close(prepared).await?;
        }
        if both
            && let (Ok(connection), Some(prepared)) = (subject, subject_statement)
            && connection.id() == prepared.connection_id()
        {
            // A failure shows at the next statement.
            let _closed = connection.close(prepared).await;
        }
        Ok(())
    }

    /// The connections of a session, opened when first used; the subject's may fail to open.
    async fn sessions(
        &mut self,
        session: &str,
    ) -> Result<(std::result::Result<&mut Conn, String>, &mut Conn)> {
        if !self.reference.contains_key(session) {
            let connection = Conn::new(self.sides.reference.clone()).await?;
            self.reference.insert(session.to_owned(), connection);
        }
        let mut failure = String::new();
        if !self.subject.contains_key(session) {
            match tokio::time::timeout(PATIENCE, Conn::new(self.sides.subject.clone())).await {
                Ok(Ok(connection)) => {
                    self.subject.insert(session.to_owned(), connection);
                }
                Ok(Err(error)) => failure = format!("cannot connect: {error}"),
                Err(_) => "cannot connect in time".clone_into(&mut failure),
            }
        }
        let subject = self.subject.get_mut(session).ok_or(failure);
        let reference = self.reference.get_mut(session);
        Ok((
            subject,
            reference.ok_or_else(|| anyhow::anyhow!("no session {session}"))?,
        ))
    }

    fn judge(
        &mut self,
        statement: &Statement,
        way: &str,
        sql: &str,
        expected: &Outcome,
        got: &Outcome,
        report: &mut Report,
    ) {
        report.compared += 1;
        let finding = |lines| Finding {
            name: statement.name.clone(),
            ways: vec![way.to_owned()],
            sql: sql.to_owned(),
            lines,
        };
        if let Some(code) = expected.error_code()
            && !statement.expects(code)
        {
            Finding::join(
                &mut report.mistakes,
                finding(vec![expected.reply.to_string()]),
            );
        }
        let lines = differences(expected, got, statement.ordered);
        if !lines.is_empty() {
            Finding::join(&mut report.differences, finding(lines));
        }
        if got.is_lost() {
            // Both sides start a new session, so that one fault does not hide what follows.
            self.subject.remove(&statement.session);
            self.reference.remove(&statement.session);
        }
    }
}

impl Report {
    fn note_refusal(&mut self, statement: &Statement, sql: &str, got: &Outcome) {
        let lines = vec![got.reply.to_string()];
        let finding = Finding {
            name: statement.name.clone(),
            ways: Vec::new(),
            sql: sql.to_owned(),
            lines,
        };
        self.refused.insert(statement.name.clone(), finding);
    }
}

/// Whether MySQL itself is known to answer with the error of a refusal.
fn expects_refusal(statement: &Statement) -> bool {
    statement
        .errors
        .as_ref()
        .is_some_and(|codes| codes.contains(&REFUSED))
}

async fn patiently(answer: impl Future<Output = Outcome>) -> Outcome {
    tokio::time::timeout(PATIENCE, answer)
        .await
        .unwrap_or_else(|_| silence())
}

fn silence() -> Outcome {
    let reply = Reply::Lost(format!("no answer within {} s", PATIENCE.as_secs()));
    Outcome {
        reply,
        warnings: Vec::new(),
    }
}
