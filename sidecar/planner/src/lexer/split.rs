//! Views of a whole text: its statements, its depth.

use std::ops::Range;

use super::mode::SqlMode;
use super::program::Program;
use super::scan::Lexer;
use super::token::TokenKind;

/// The statements of a text, split at `;` outside quotes and comments.
///
/// A stored program (CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT) holds `;` itself, up to the end of
/// its body. What stands behind the last `;` counts only if it has a token.
#[derive(Clone, Debug)]
pub struct Statements<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    at: usize,
}

impl<'a> Statements<'a> {
    /// Begins at the first statement of `sql`.
    #[must_use]
    pub fn new(sql: &'a [u8], mode: SqlMode) -> Self {
        Self { sql, mode, at: 0 }
    }
}

impl Iterator for Statements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let rest = self.sql.get(start..)?;
        let mut program = Program::default();
        let mut any = false;
        for token in Lexer::new(rest, self.mode) {
            if token.kind == TokenKind::Semicolon && !program.is_open() {
                self.at = start + token.end as usize;
                return Some(start..start + token.start as usize);
            }
            any = true;
            program.read(token, rest);
        }
        self.at = usize::MAX;
        (any || start == 0).then_some(start..self.sql.len())
    }
}

/// How deep a parser that recurses would get.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Complexity {
    /// The deepest nesting of parentheses.
    pub depth: usize,
    /// The most tokens between two commas of one pair of parentheses: more than the length of
    /// any chain of operators, whose tree is as deep as the chain is long.
    pub longest_run: usize,
}

/// Measures a statement, so that one that would overflow the stack is never parsed.
#[must_use]
pub fn complexity(sql: &[u8], mode: SqlMode) -> Complexity {
    /// Deeper nesting is told by `depth` alone.
    const LEVELS: usize = 64;
    let mut runs = [0_usize; LEVELS];
    let mut depth = 0_usize;
    let mut found = Complexity::default();
    for token in Lexer::new(sql, mode) {
        let level = depth.min(LEVELS - 1);
        match token.kind {
            TokenKind::LeftParen => {
                runs[level] += 1;
                depth += 1;
                found.depth = found.depth.max(depth);
                runs[depth.min(LEVELS - 1)] = 0;
            }
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Comma | TokenKind::Semicolon => runs[level] = 0,
            _ => runs[level] += 1,
        }
        found.longest_run = found.longest_run.max(runs[level]);
    }
    found
}
