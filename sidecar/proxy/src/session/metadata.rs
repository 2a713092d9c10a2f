//! `resultset_metadata`: whether results tell the client of their columns.
//!
//! It is the client's alone. Servers always tell: names are mended in definitions, and parts are
//! merged by them.

use remora_planner::lexer::{Lexer, TokenKind};
use remora_planner::utility::{self, Assignment, Scope, SetValue, Span};
use remora_protocol::ErrPacket;

use super::Session;
use super::utility::not_supported;
use crate::execute::Request;
use crate::failure::Failure;

const NAME: &[u8] = b"resultset_metadata";

/// The value that a SET gives the session's variable, if it does.
pub(super) fn assigned(sql: &[u8], assignments: &[Assignment]) -> Option<Span> {
    assignments.iter().find_map(|assignment| match assignment {
        Assignment::Variable {
            scope: Scope::Session,
            name,
            value,
            ..
        } if name.name(sql).eq_ignore_ascii_case(NAME) => Some(*value),
        _ => None,
    })
}

impl Session {
    /// SET SESSION resultset_metadata.
    pub(super) fn set_metadata(
        &mut self,
        value: Span,
        assignments: &[Assignment],
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        if assignments.len() > 1 {
            return Err(not_supported(
                "resultset_metadata beside other variables in one SET",
            ));
        }
        let sql = request.sql;
        let bare = match utility::set_value(sql, value, self.state.context.sql_mode) {
            SetValue::Integer(0) => Some(true),
            SetValue::Integer(1) | SetValue::Default => Some(false),
            SetValue::Word(word) | SetValue::Text(word) => match &word.to_ascii_uppercase()[..] {
                b"NONE" => Some(true),
                b"FULL" => Some(false),
                _ => None,
            },
            SetValue::Integer(_) => None,
            SetValue::Expression => {
                return Err(not_supported("an expression as resultset_metadata"));
            }
        };
        let Some(bare) = bare else {
            let text = String::from_utf8_lossy(value.text(sql)).into_owned();
            let text = text.trim_matches(['\'', '"']);
            let message =
                format!("Variable 'resultset_metadata' can't be set to the value of '{text}'");
            return Err(ErrPacket::new(1231, *b"42000", message).into());
        };
        self.client.set_bare_results(bare);
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// Refuses to read the variable where a server would answer otherwise.
    pub(super) fn admit_metadata(&self, sql: &[u8]) -> Result<(), Failure> {
        if !self.client.has_bare_results() {
            return Ok(());
        }
        let mut tokens = Lexer::new(sql, self.state.context.sql_mode);
        let first = tokens.next();
        let sets = first.is_some_and(|token| token.is_word(sql, "SET"));
        let named = |token: &remora_planner::lexer::Token| {
            let text = token.text(sql).to_ascii_lowercase();
            !matches!(token.kind, TokenKind::String) && text.ends_with(NAME)
        };
        if !sets && tokens.any(|token| named(&token)) {
            return Err(not_supported("reading resultset_metadata while it is NONE"));
        }
        Ok(())
    }
}
