//! MySQL's lexical rules over bytes: tokens with their places in the statement.
//!
//! The rules are those of MySQL 9.7, tried on a server: where it answers a syntax error
//! because of a token, [`TokenKind::Invalid`] is that token; where it reads something by
//! accident, [`TokenKind::Unread`] is. Nothing here allocates, fails on bytes that are not UTF-8, or panics.
//!
//! Client character sets must be supersets of ASCII whose multi-byte characters never hold
//! an ASCII byte (utf8mb4, utf8mb3, latin1, ascii, binary …). sjis, cp932, big5, gbk and
//! gb18030 are not: a session must refuse their texts that are not ASCII.

mod comment;
mod literal;
mod mode;
mod number;
mod operator;
mod program;
mod quoted;
mod scan;
mod split;
mod start;
mod table;
mod token;

pub use literal::{bit_literal, hex_literal, identifier, integer_literal, string_literal};
pub use mode::SqlMode;
pub(crate) use program::Program;
pub use scan::{Lexer, SERVER_VERSION_ID};
pub use split::{Complexity, Statements, complexity};
pub use token::{Token, TokenKind};

#[cfg(test)]
mod tests;
