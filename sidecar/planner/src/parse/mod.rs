//! From tokens to sqlparser's tree, on a miss of the plan cache only.

mod dialect;
mod tokens;

use sqlparser::ast::Statement;
use sqlparser::parser::{Parser, ParserOptions};
use sqlparser::tokenizer::Token as Theirs;

use crate::lexer::{Complexity, SqlMode, Token, complexity};

pub(crate) use tokens::token_number;

/// The longest run of tokens without a comma that is parsed. A tree of flat chains is as deep
/// as the chain is long, and dropping one of some ten thousand links overflows a thread's stack
/// and with it ends the process; this bound is far below that.
const MAX_RUN: usize = 4000;

/// Nesting of parentheses and subqueries that is parsed; sqlparser recurses for each.
const MAX_DEPTH: usize = 50;

/// The tree of one statement. `None`: not understood, and whoever asks fails closed.
pub(crate) fn parse(sql: &[u8], mode: SqlMode, tokens: &[Token]) -> Option<Statement> {
    parse_from(sql, mode, tokens, 0)
}

/// The tree of a statement within another, whose first token is number `first` there.
pub(crate) fn parse_from(
    sql: &[u8],
    mode: SqlMode,
    tokens: &[Token],
    first: usize,
) -> Option<Statement> {
    let Complexity { depth, longest_run } = complexity(sql, mode);
    if depth > MAX_DEPTH || longest_run > MAX_RUN {
        return None;
    }
    let theirs = tokens::translate(sql, mode, tokens, first)?;
    let options = ParserOptions::new().with_unescape(false);
    let mut parser = Parser::new(&dialect::Mysql)
        .with_options(options)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(theirs);
    let statement = parser.parse_statement().ok()?;
    while parser.consume_token(&Theirs::SemiColon) {}
    (parser.peek_token_ref().token == Theirs::EOF).then_some(statement)
}

#[cfg(test)]
mod tests;
