//! Our tokens as sqlparser's.
//!
//! sqlparser never sees the text. It gets our own lexer's tokens, which know the `sql_mode`,
//! version comments and bytes that are not UTF-8; and each carries its number in ours as
//! its line, so that every span in the tree leads back to the bytes of the statement. What
//! sqlparser cannot parse although it decides nothing here is replaced on the way.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token as Theirs, TokenWithSpan, Word};

use crate::lexer::{SqlMode, Token, TokenKind, identifier, string_literal};

/// Intervals and EXTRACT over two units; sqlparser only knows single ones.
const COMPOSITE_UNITS: [&str; 11] = [
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

/// Words that may stand in front of a table in UPDATE and DELETE without changing which rows
/// are meant.
const DML_MODIFIERS: [&str; 3] = ["LOW_PRIORITY", "QUICK", "IGNORE"];

/// The number of our token that a span of sqlparser's began at.
pub(crate) fn token_number(span: Span) -> Option<usize> {
    usize::try_from(span.start.line).ok()?.checked_sub(1)
}

/// Translates a statement's tokens, the first of which has number `first`; `None` if one of
/// them is no valid MySQL.
pub(super) fn translate(
    sql: &[u8],
    mode: SqlMode,
    tokens: &[Token],
    first: usize,
) -> Option<Vec<TokenWithSpan>> {
    let out = Vec::with_capacity(tokens.len());
    let mut reader = Reader {
        sql,
        mode,
        tokens,
        first,
        at: 0,
        out,
    };
    while reader.at < tokens.len() {
        reader.step()?;
    }
    Some(reader.out)
}

struct Reader<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    tokens: &'a [Token],
    /// The number of the first token in the whole statement.
    first: usize,
    at: usize,
    out: Vec<TokenWithSpan>,
}

impl Reader<'_> {
    fn word(&self, ahead: usize, word: &str) -> bool {
        self.tokens
            .get(self.at + ahead)
            .is_some_and(|token| token.is_word(self.sql, word))
    }

    fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.tokens.get(self.at + ahead).map(|token| token.kind)
    }

    fn previous(&self) -> Option<Token> {
        self.at
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .copied()
    }

    fn push(&mut self, token: Theirs, taken: usize) {
        let line = (self.first + self.at) as u64 + 1;
        let span = Span::new(Location { line, column: 1 }, Location { line, column: 2 });
        self.out.push(TokenWithSpan::new(token, span));
        self.at += taken;
    }

    fn text(&self, ahead: usize) -> String {
        let text = self
            .tokens
            .get(self.at + ahead)
            .map(|token| token.text(self.sql));
        String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
    }

    fn step(&mut self) -> Option<()> {
        let token = *self.tokens.get(self.at)?;
        let bytes = token.text(self.sql);
        let theirs = match token.kind {
            TokenKind::Word => {
                self.word_token();
                return Some(());
            }
            TokenKind::Invalid | TokenKind::LeftBrace | TokenKind::RightBrace => return None,
            TokenKind::Hint => {
                self.at += 1;
                return Some(());
            }
            TokenKind::SystemVariable => {
                let name = format!("@@{}", self.text(1));
                self.push(plain(name), 2);
                return Some(());
            }
            TokenKind::QuotedIdentifier => Theirs::Word(Word {
                value: String::from_utf8_lossy(&identifier(bytes)).into_owned(),
                quote_style: Some('`'),
                keyword: Keyword::NoKeyword,
            }),
            TokenKind::Introducer | TokenKind::UserVariable => plain(self.text(0)),
            TokenKind::String => {
                let value = string_literal(bytes, self.mode);
                Theirs::SingleQuotedString(String::from_utf8_lossy(&value).into_owned())
            }
            TokenKind::NationalString => Theirs::NationalStringLiteral(String::new()),
            TokenKind::Hex => Theirs::HexStringLiteral(String::new()),
            TokenKind::Bit => Theirs::SingleQuotedByteStringLiteral(String::new()),
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
                Theirs::Number(self.text(0), false)
            }
            TokenKind::Parameter => Theirs::Placeholder("?".to_owned()),
            TokenKind::Comma if self.is_update_comma() => {
                self.push(Theirs::make_keyword("CROSS"), 0);
                Theirs::make_keyword("JOIN")
            }
            TokenKind::DoublePipe if self.mode.pipes_as_concat => Theirs::StringConcat,
            TokenKind::DoublePipe => Theirs::make_keyword("OR"),
            TokenKind::DoubleAmpersand => Theirs::make_keyword("AND"),
            kind => symbol(kind)?,
        };
        self.push(theirs, 1);
        Some(())
    }

    fn word_token(&mut self) {
        if self.word(0, "MOD") && self.follows_operand() && self.kind(1).is_some() {
            self.push(Theirs::Mod, 1);
        } else if self.word(0, "SOUNDS") && self.word(1, "LIKE") {
            self.at += 1;
        } else if self.word(0, "LOCK") && self.word(1, "IN") && self.word(2, "SHARE") {
            self.push(Theirs::make_keyword("FOR"), 2);
            self.push(Theirs::make_keyword("SHARE"), 2);
        } else if self.is_binary_operator() || self.is_tight_not() {
            self.push(Theirs::ExclamationMark, 1);
        } else if self.is_cast_charset() {
            self.at += if self.word(0, "CHARSET") { 2 } else { 3 };
        } else if self.is_dml_modifier() {
            self.at += 1;
        } else if COMPOSITE_UNITS.iter().any(|unit| self.word(0, unit)) {
            self.push(Theirs::make_keyword("MINUTE"), 1);
        } else {
            let word = self.text(0);
            self.push(Theirs::make_word(&word, None), 1);
        }
    }

    /// Whether the token before this one ends an operand, so that an operator follows.
    fn follows_operand(&self) -> bool {
        self.previous().is_some_and(|token| match token.kind {
            TokenKind::Word => {
                let text = String::from_utf8_lossy(token.text(self.sql)).into_owned();
                matches!(
                    Theirs::make_word(&text, None),
                    Theirs::Word(Word {
                        keyword: Keyword::NoKeyword | Keyword::ID,
                        ..
                    })
                )
            }
            kind => {
                kind.is_literal()
                    || matches!(
                        kind,
                        TokenKind::RightParen
                            | TokenKind::Parameter
                            | TokenKind::QuotedIdentifier
                            | TokenKind::UserVariable
                    )
            }
        })
    }

    /// BINARY as an operator binds its operand alone, where sqlparser swallows all that
    /// follows. Here it becomes `!`: both hide the operand from routing.
    fn is_binary_operator(&self) -> bool {
        if !self.word(0, "BINARY") {
            return false;
        }
        let after_as = self
            .previous()
            .is_some_and(|token| token.is_word(self.sql, "AS"));
        let is_type = matches!(
            self.kind(1),
            Some(TokenKind::RightParen | TokenKind::Comma) | None
        );
        !after_as && !is_type
    }

    /// NOT as an operator of its own (not part of IS NOT, NOT IN and the like), where the mode
    /// makes it bind like `!`.
    fn is_tight_not(&self) -> bool {
        if !self.word(0, "NOT") || !self.mode.high_not_precedence {
            return false;
        }
        let after_is = self
            .previous()
            .is_some_and(|token| token.is_word(self.sql, "IS"));
        let infix = [
            "IN", "LIKE", "BETWEEN", "REGEXP", "RLIKE", "NULL", "EXISTS", "MEMBER",
        ];
        !after_is && !infix.iter().any(|word| self.word(1, word))
    }

    /// `CAST(x AS CHAR CHARACTER SET y)`: behind the type, where a parenthesis closes after it.
    fn is_cast_charset(&self) -> bool {
        let long = self.word(0, "CHARACTER") && self.word(1, "SET");
        let short = self.word(0, "CHARSET");
        let name = if long { 2 } else { 1 };
        (long || short)
            && self.kind(name).is_some_and(TokenKind::is_name)
            && self.kind(name + 1) == Some(TokenKind::RightParen)
    }

    /// `UPDATE t, u SET`: a list of tables, which is their cross join.
    fn is_update_comma(&self) -> bool {
        if !self
            .tokens
            .first()
            .is_some_and(|first| first.is_word(self.sql, "UPDATE"))
        {
            return false;
        }
        let mut depth = 0_usize;
        for token in self.tokens.get(..self.at).unwrap_or_default() {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                _ if token.is_word(self.sql, "SET") => return false,
                _ => {}
            }
        }
        depth == 0
    }

    fn is_dml_modifier(&self) -> bool {
        DML_MODIFIERS.iter().any(|word| self.word(0, word))
            && self.tokens.first().is_some_and(|first| {
                first.is_word(self.sql, "UPDATE") || first.is_word(self.sql, "DELETE")
            })
            && self
                .tokens
                .get(1..self.at)
                .unwrap_or_default()
                .iter()
                .all(|token| {
                    token.kind == TokenKind::Hint
                        || DML_MODIFIERS
                            .iter()
                            .any(|word| token.is_word(self.sql, word))
                })
    }
}

fn plain(value: String) -> Theirs {
    Theirs::Word(Word {
        value,
        quote_style: None,
        keyword: Keyword::NoKeyword,
    })
}

fn symbol(kind: TokenKind) -> Option<Theirs> {
    Some(match kind {
        TokenKind::Comma => Theirs::Comma,
        TokenKind::LeftParen => Theirs::LParen,
        TokenKind::RightParen => Theirs::RParen,
        TokenKind::Semicolon => Theirs::SemiColon,
        TokenKind::Dot => Theirs::Period,
        TokenKind::Star => Theirs::Mul,
        TokenKind::Plus => Theirs::Plus,
        TokenKind::Minus => Theirs::Minus,
        TokenKind::Slash => Theirs::Div,
        TokenKind::Percent => Theirs::Mod,
        TokenKind::Caret => Theirs::Caret,
        TokenKind::Tilde => Theirs::Tilde,
        TokenKind::Ampersand => Theirs::Ampersand,
        TokenKind::Pipe => Theirs::Pipe,
        TokenKind::Exclamation => Theirs::ExclamationMark,
        TokenKind::Equal => Theirs::Eq,
        TokenKind::NullSafeEqual => Theirs::Spaceship,
        TokenKind::NotEqual => Theirs::Neq,
        TokenKind::Less => Theirs::Lt,
        TokenKind::LessEqual => Theirs::LtEq,
        TokenKind::Greater => Theirs::Gt,
        TokenKind::GreaterEqual => Theirs::GtEq,
        TokenKind::ShiftLeft => Theirs::ShiftLeft,
        TokenKind::ShiftRight => Theirs::ShiftRight,
        TokenKind::Assign => Theirs::Assignment,
        TokenKind::Colon => Theirs::Colon,
        TokenKind::Arrow => Theirs::Arrow,
        TokenKind::LongArrow => Theirs::LongArrow,
        _ => return None,
    })
}
