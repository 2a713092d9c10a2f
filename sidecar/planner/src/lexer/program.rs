//! Stored programs, whose bodies hold `;` themselves.

use super::token::{Token, TokenKind};

/// Follows the tokens of one statement, and knows whether a `;` is inside a stored program's body.
///
/// MySQL's grammar has one statement end where the body's outermost block does. Its words are no
/// reserved ones, so a word opens or closes a block only where a statement of a body begins; there
/// the few exceptions are known: `CASE … END` inside an expression, `UNTIL … END REPEAT`, the
/// statement of a handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    place: Place,
    /// Open blocks: BEGIN, IF, CASE, LOOP, WHILE, REPEAT.
    depth: u32,
    /// Open `CASE … END` in an expression.
    expressions: u32,
    /// What the statement of a body that is being read is.
    within: Within,
}

/// Which part of the statement comes next.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    /// The first word.
    #[default]
    First,
    /// CREATE or ALTER was read: its object.
    Object,
    /// The name of a procedure or function: IF NOT EXISTS may stand before it.
    Name,
    /// What stands between the name and the body of a procedure or function, so deep in
    /// parentheses, and behind CHARACTER or not.
    Header { parentheses: u32, charset: bool },
    /// What stands before the body's word ROW of a trigger, or DO of an event.
    Until(&'static str),
    /// The name of another trigger, in front of the body.
    Order,
    /// A statement of a body.
    Start,
    /// Inside a statement of a body. Behind its first token a colon makes that a label.
    Inside { second: bool },
    /// There is no body, or nothing more of it.
    Done,
}

/// What a word means depends on the statement that it is in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Within {
    /// Any other.
    #[default]
    Plain,
    /// WHILE: the block begins behind DO.
    While,
    /// UNTIL: END closes the block.
    Until,
    /// DECLARE.
    Declare,
    /// DECLARE … HANDLER FOR: a condition is expected, or may have ended.
    Handler { condition: bool },
    /// END, with IF, CASE or a label behind it.
    End,
}

/// Words that begin a body of one statement, behind the header of a procedure or function.
const STATEMENTS: [&str; 20] = [
    "RETURN", "SELECT", "SET", "INSERT", "UPDATE", "DELETE", "REPLACE", "CALL", "DO", "WITH",
    "CREATE", "ALTER", "DROP", "TRUNCATE", "PREPARE", "EXECUTE", "SIGNAL", "START", "COMMIT",
    "ROLLBACK",
];

impl Program {
    /// Whether a statement that begins with this token may hold a program. Others need not be
    /// followed.
    pub(crate) fn may_begin(token: Token, sql: &[u8]) -> bool {
        token.is_word(sql, "CREATE") || token.is_word(sql, "ALTER")
    }

    /// Whether a `;` that comes now is inside.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Takes the next token.
    pub(crate) fn read(&mut self, token: Token, sql: &[u8]) {
        match self.place {
            Place::First => {
                self.place = if Self::may_begin(token, sql) {
                    Place::Object
                } else {
                    Place::Done
                };
            }
            Place::Object => self.object(token, sql),
            Place::Name if token.is_word(sql, "IF") => {}
            Place::Name if token.is_word(sql, "NOT") || token.is_word(sql, "EXISTS") => {}
            Place::Name => {
                self.place = Place::Header {
                    parentheses: 0,
                    charset: false,
                }
            }
            Place::Header {
                parentheses,
                charset,
            } => self.header(token, sql, parentheses, charset),
            Place::Until(word) if token.is_word(sql, word) => self.place = Place::Start,
            Place::Until(_) | Place::Done => {}
            Place::Order => self.place = Place::Start,
            Place::Start
                if self.depth == 0
                    && ["FOLLOWS", "PRECEDES"]
                        .iter()
                        .any(|w| token.is_word(sql, w)) =>
            {
                self.place = Place::Order;
            }
            Place::Start => self.start(token, sql),
            Place::Inside { second } => self.inside(token, sql, second),
        }
        if self.place == Place::Start && self.depth == 0 && token.kind == TokenKind::Semicolon {
            self.place = Place::Done;
        }
    }

    fn object(&mut self, token: Token, sql: &[u8]) {
        let any = |words: &[&str]| words.iter().any(|word| token.is_word(sql, word));
        if any(&["PROCEDURE", "FUNCTION"]) {
            self.place = Place::Name;
        } else if any(&["TRIGGER"]) {
            self.place = Place::Until("ROW");
        } else if any(&["EVENT"]) {
            self.place = Place::Until("DO");
        } else if any(&["TABLE", "VIEW", "DATABASE", "SCHEMA", "USER", "INDEX"]) {
            self.place = Place::Done;
        }
    }

    fn header(&mut self, token: Token, sql: &[u8], parentheses: u32, charset: bool) {
        let any = |words: &[&str]| words.iter().any(|word| token.is_word(sql, word));
        let mut next = parentheses;
        match token.kind {
            TokenKind::LeftParen => next += 1,
            TokenKind::RightParen => next = next.saturating_sub(1),
            TokenKind::Word if parentheses == 0 && !charset => {
                if any(&["BEGIN", "IF", "CASE", "LOOP", "WHILE", "REPEAT"]) {
                    return self.start(token, sql);
                }
                if any(&STATEMENTS) {
                    self.place = Place::Done;
                    return;
                }
            }
            _ => {}
        }
        self.place = Place::Header {
            parentheses: next,
            charset: any(&["CHARACTER", "CHAR"]),
        };
    }

    /// The first token of a statement in a body.
    fn start(&mut self, token: Token, sql: &[u8]) {
        let is = |word: &str| token.is_word(sql, word);
        self.within = Within::Plain;
        self.expressions = 0;
        self.place = Place::Inside { second: true };
        if is("BEGIN") || is("LOOP") || is("REPEAT") {
            self.depth += 1;
            self.place = Place::Start;
        } else if is("IF") || is("CASE") {
            self.depth += 1;
        } else if is("WHILE") {
            self.depth += 1;
            self.within = Within::While;
        } else if is("END") {
            self.close();
        } else if is("UNTIL") {
            self.within = Within::Until;
        } else if is("DECLARE") {
            self.within = Within::Declare;
        } else if is("ELSE") || token.kind == TokenKind::Semicolon {
            self.place = Place::Start;
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.within = Within::End;
        self.place = if self.depth == 0 {
            Place::Done
        } else {
            Place::Inside { second: false }
        };
    }

    /// A further token of a statement in a body.
    fn inside(&mut self, token: Token, sql: &[u8], second: bool) {
        let is = |word: &str| token.is_word(sql, word);
        self.place = Place::Inside { second: false };
        if token.kind == TokenKind::Semicolon || second && token.kind == TokenKind::Colon {
            self.place = Place::Start;
            return;
        }
        match self.within {
            Within::Declare if is("HANDLER") => self.within = Within::Handler { condition: false },
            Within::Handler { condition: true } if is("NOT") || is("SQLSTATE") || is("VALUE") => {}
            Within::Handler { condition: true } => {
                self.within = Within::Handler { condition: false }
            }
            Within::Handler { condition: false } if is("FOR") || token.kind == TokenKind::Comma => {
                self.within = Within::Handler { condition: true };
            }
            Within::Handler { condition: false } => self.start(token, sql),
            Within::End => {}
            _ if is("CASE") => self.expressions += 1,
            _ if is("END") && self.expressions > 0 => self.expressions -= 1,
            Within::Until if is("END") => self.close(),
            Within::While if is("DO") => self.place = Place::Start,
            _ if is("THEN") && self.expressions == 0 => self.place = Place::Start,
            _ => {}
        }
    }
}
