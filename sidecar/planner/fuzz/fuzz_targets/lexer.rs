//! Tokens stand in order within the text, and comments change none of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use remora_planner::lexer::{Lexer, SqlMode, Statements, TokenKind, complexity};

fuzz_target!(|input: (bool, bool, &[u8])| {
    let (ansi_quotes, no_backslash_escapes, sql) = input;
    let mode = SqlMode { ansi_quotes, no_backslash_escapes, ..SqlMode::default() };
    let mut end = 0;
    let mut tokens = Vec::new();
    for token in Lexer::new(sql, mode) {
        assert!(token.start as usize >= end && token.end >= token.start);
        assert!(!tokens.last().copied().is_some_and(TokenKind::is_broken));
        end = token.end as usize;
        assert!(end <= sql.len());
        tokens.push(token.kind);
    }
    let mut at = 0;
    for range in Statements::new(sql, mode) {
        assert!(range.start >= at && range.end >= range.start && range.end <= sql.len());
        at = range.end;
    }
    assert!(complexity(sql, mode).longest_run <= tokens.len());
    if !tokens.last().copied().is_some_and(TokenKind::is_broken) {
        let mut copy = vec![b' '; sql.len()];
        for token in Lexer::new(sql, mode).filter(|token| token.kind != TokenKind::Hint) {
            copy[token.range()].copy_from_slice(token.text(sql));
        }
        tokens.retain(|kind| *kind != TokenKind::Hint);
        assert!(Lexer::new(&copy, mode).map(|token| token.kind).eq(tokens));
    }
});
