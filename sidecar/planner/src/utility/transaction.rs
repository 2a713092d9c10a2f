//! BEGIN, COMMIT, ROLLBACK, savepoints, and SET TRANSACTION.

use super::cursor::Cursor;
use super::span::{Span, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// A statement that begins, ends or marks a transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transaction {
    /// BEGIN or START TRANSACTION.
    Begin {
        /// READ ONLY or READ WRITE, where said.
        access: Option<AccessMode>,
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
    },
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK of the whole transaction.
    Rollback(Completion),
    /// SAVEPOINT of this name.
    Savepoint(Span),
    /// ROLLBACK TO the savepoint of this name.
    RollbackTo(Span),
    /// RELEASE SAVEPOINT of this name.
    Release(Span),
}

/// What follows the end of a transaction; none where the `completion_type` variable says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Completion {
    /// AND [NO] CHAIN: another begins at once.
    pub chain: Option<bool>,
    /// [NO] RELEASE: the session ends.
    pub release: Option<bool>,
}

/// What a transaction may do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AccessMode {
    /// READ ONLY.
    ReadOnly,
    /// READ WRITE.
    ReadWrite,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Isolation {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// Which transactions SET TRANSACTION is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TransactionScope {
    /// The next one of this session only.
    Next,
    /// All of this session from the next on.
    Session,
    /// Those of sessions to come.
    Global,
}

/// Reads a statement of [`super::StatementKind::Transaction`].
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar.
pub fn transaction(sql: &[u8], mode: SqlMode) -> Result<Transaction, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    let found = if cursor.word("BEGIN") {
        cursor.word("WORK");
        Transaction::Begin {
            access: None,
            snapshot: false,
        }
    } else if cursor.words(&["START", "TRANSACTION"]) {
        begin(&mut cursor)?
    } else if cursor.word("COMMIT") {
        cursor.word("WORK");
        Transaction::Commit(completion(&mut cursor)?)
    } else if cursor.word("ROLLBACK") {
        cursor.word("WORK");
        if cursor.word("TO") {
            cursor.word("SAVEPOINT");
            Transaction::RollbackTo(savepoint(&mut cursor)?)
        } else {
            Transaction::Rollback(completion(&mut cursor)?)
        }
    } else if cursor.word("SAVEPOINT") {
        Transaction::Savepoint(savepoint(&mut cursor)?)
    } else if cursor.words(&["RELEASE", "SAVEPOINT"]) {
        Transaction::Release(savepoint(&mut cursor)?)
    } else {
        return Err(Unparsed);
    };
    cursor.expect_end()?;
    Ok(found)
}

fn savepoint(cursor: &mut Cursor<'_>) -> Result<Span, Unparsed> {
    cursor.name()
}

fn begin(cursor: &mut Cursor<'_>) -> Result<Transaction, Unparsed> {
    let mut access = None;
    let mut snapshot = false;
    if cursor.at_end() {
        return Ok(Transaction::Begin { access, snapshot });
    }
    loop {
        if cursor.words(&["WITH", "CONSISTENT", "SNAPSHOT"]) && !snapshot {
            snapshot = true;
        } else if access.is_none() {
            access = Some(access_mode(cursor)?);
        } else {
            return Err(Unparsed);
        }
        if !cursor.kind(TokenKind::Comma) {
            return Ok(Transaction::Begin { access, snapshot });
        }
    }
}

fn access_mode(cursor: &mut Cursor<'_>) -> Result<AccessMode, Unparsed> {
    if cursor.words(&["READ", "ONLY"]) {
        Ok(AccessMode::ReadOnly)
    } else if cursor.words(&["READ", "WRITE"]) {
        Ok(AccessMode::ReadWrite)
    } else {
        Err(Unparsed)
    }
}

fn completion(cursor: &mut Cursor<'_>) -> Result<Completion, Unparsed> {
    let mut completion = Completion::default();
    if cursor.word("AND") {
        completion.chain = Some(!cursor.word("NO"));
        cursor.expect_word("CHAIN")?;
    }
    if cursor.word("RELEASE") {
        completion.release = Some(true);
    } else if cursor.words(&["NO", "RELEASE"]) {
        completion.release = Some(false);
    }
    // MySQL has no word for both: a chained transaction needs its session.
    if completion.chain == Some(true) && completion.release == Some(true) {
        return Err(Unparsed);
    }
    Ok(completion)
}

/// Reads the characteristics behind SET [scope] TRANSACTION.
pub(super) fn characteristics(
    cursor: &mut Cursor<'_>,
) -> Result<(Option<Isolation>, Option<AccessMode>), Unparsed> {
    let mut isolation = None;
    let mut access = None;
    loop {
        if isolation.is_none() && cursor.words(&["ISOLATION", "LEVEL"]) {
            isolation = Some(isolation_level(cursor)?);
        } else if access.is_none() {
            access = Some(access_mode(cursor)?);
        } else {
            return Err(Unparsed);
        }
        if !cursor.kind(TokenKind::Comma) {
            return Ok((isolation, access));
        }
    }
}

fn isolation_level(cursor: &mut Cursor<'_>) -> Result<Isolation, Unparsed> {
    let levels: [(&[&str], Isolation); 4] = [
        (&["READ", "UNCOMMITTED"], Isolation::ReadUncommitted),
        (&["READ", "COMMITTED"], Isolation::ReadCommitted),
        (&["REPEATABLE", "READ"], Isolation::RepeatableRead),
        (&["SERIALIZABLE"], Isolation::Serializable),
    ];
    let found = levels.into_iter().find(|(words, _)| cursor.words(words));
    found.map(|(_, level)| level).ok_or(Unparsed)
}
