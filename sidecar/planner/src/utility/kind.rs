//! What a statement is, by its first words.

use super::cursor::Cursor;
use crate::lexer::{SqlMode, TokenKind};

/// The kind of a statement: who reads it on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StatementKind {
    /// No token at all; MySQL answers 1065.
    Empty,
    /// A query: SELECT, TABLE, VALUES, or one in parentheses.
    Query,
    /// WITH in front of a query, an UPDATE or a DELETE.
    With,
    /// INSERT.
    Insert,
    /// REPLACE.
    Replace,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// LOAD DATA or LOAD XML.
    Load,
    /// CALL.
    Call,
    /// DO.
    Do,
    /// HANDLER.
    Handler,
    /// SET of variables, NAMES, CHARACTER SET or TRANSACTION.
    Set,
    /// USE.
    Use,
    /// SHOW of something MySQL has.
    Show,
    /// SHOW REMORA …, answered by the proxy.
    ShowRemora,
    /// DESCRIBE, DESC or EXPLAIN of a table, a statement or a connection.
    Describe,
    /// EXPLAIN REMORA …, answered by the proxy.
    ExplainRemora,
    /// BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, RELEASE SAVEPOINT.
    Transaction,
    /// XA.
    Xa,
    /// KILL.
    Kill,
    /// LOCK TABLES.
    LockTables,
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE or UNLOCK INSTANCE.
    LockInstance,
    /// PREPARE, EXECUTE, DEALLOCATE PREPARE or DROP PREPARE.
    Prepared,
    /// CREATE, ALTER, DROP, TRUNCATE or RENAME of an object.
    Ddl,
    /// Of accounts: GRANT, REVOKE, CREATE USER, SET PASSWORD, SET ROLE …
    Account,
    /// ANALYZE, OPTIMIZE, CHECK, REPAIR or CHECKSUM TABLE.
    Maintenance,
    /// FLUSH.
    Flush,
    /// GET DIAGNOSTICS, SIGNAL or RESIGNAL.
    Diagnostics,
    /// Of a server: replication, plugins, components, shutdown …
    Administration,
    /// HELP.
    Help,
    /// Not a statement that is known here.
    Unknown,
}

/// Words of accounts behind CREATE, ALTER and DROP.
const ACCOUNT_OBJECTS: [&str; 2] = ["USER", "ROLE"];
/// Words of servers behind CREATE, ALTER and DROP.
const SERVER_OBJECTS: [&str; 6] = [
    "SERVER",
    "TABLESPACE",
    "UNDO",
    "LOGFILE",
    "RESOURCE",
    "INSTANCE",
];

/// The kind of the statement in `sql`.
#[must_use]
pub fn classify(sql: &[u8], mode: SqlMode) -> StatementKind {
    use StatementKind as K;
    let mut cursor = Cursor::new(sql, mode);
    let Some(first) = cursor.peek() else {
        return K::Empty;
    };
    match first.kind {
        TokenKind::LeftParen => return K::Query,
        TokenKind::Semicolon if cursor.at_end() => return K::Empty,
        TokenKind::Word => {}
        _ => return K::Unknown,
    }
    if cursor.take().is_err() {
        return K::Unknown;
    }
    let word = first.text(sql);
    let mut upper = [0_u8; 16];
    let Some(upper) = upper.get_mut(..word.len()) else {
        return K::Unknown;
    };
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    match &*upper {
        b"SELECT" | b"TABLE" | b"VALUES" => K::Query,
        b"WITH" => K::With,
        b"INSERT" => K::Insert,
        b"REPLACE" => K::Replace,
        b"UPDATE" => K::Update,
        b"DELETE" => K::Delete,
        b"LOAD" if cursor.is_any(&["DATA", "XML"]) => K::Load,
        b"CALL" => K::Call,
        b"DO" => K::Do,
        b"HANDLER" => K::Handler,
        b"SET" => set(&cursor),
        b"USE" => K::Use,
        b"SHOW" if cursor.is_word("REMORA") => K::ShowRemora,
        b"SHOW" => K::Show,
        b"DESCRIBE" | b"DESC" | b"EXPLAIN" => explain(&cursor),
        b"BEGIN" | b"COMMIT" | b"ROLLBACK" | b"SAVEPOINT" | b"RELEASE" => K::Transaction,
        b"START" if cursor.is_word("TRANSACTION") => K::Transaction,
        b"XA" => K::Xa,
        b"KILL" => K::Kill,
        b"LOCK" | b"UNLOCK" if cursor.is_word("INSTANCE") => K::LockInstance,
        b"LOCK" => K::LockTables,
        b"UNLOCK" => K::UnlockTables,
        b"PREPARE" | b"EXECUTE" | b"DEALLOCATE" => K::Prepared,
        b"DROP" if cursor.is_word("PREPARE") => K::Prepared,
        b"CREATE" | b"ALTER" | b"DROP" => definition(&mut cursor),
        b"RENAME" if cursor.is_word("USER") => K::Account,
        b"RENAME" | b"TRUNCATE" => K::Ddl,
        b"GRANT" | b"REVOKE" => K::Account,
        b"ANALYZE" | b"OPTIMIZE" | b"CHECK" | b"REPAIR" | b"CHECKSUM" => K::Maintenance,
        b"FLUSH" => K::Flush,
        b"GET" | b"SIGNAL" | b"RESIGNAL" => K::Diagnostics,
        b"LOAD" | b"START" | b"STOP" | b"RESET" | b"PURGE" | b"CHANGE" | b"INSTALL"
        | b"UNINSTALL" | b"CLONE" | b"SHUTDOWN" | b"RESTART" | b"CACHE" | b"BINLOG" | b"IMPORT" => {
            K::Administration
        }
        b"HELP" => K::Help,
        _ => K::Unknown,
    }
}

/// SET PASSWORD, SET ROLE and SET DEFAULT ROLE are of accounts, unless they are variables.
fn set(cursor: &Cursor<'_>) -> StatementKind {
    let mut ahead = cursor.clone();
    if ahead.any(&["PASSWORD", "ROLE"]) {
        let assigns = matches!(
            ahead.peek_kind(),
            Some(TokenKind::Equal | TokenKind::Assign)
        );
        // `SET PASSWORD = …` is of the account; there is no variable of that name.
        if !assigns || cursor.is_word("PASSWORD") {
            return StatementKind::Account;
        }
    }
    if ahead.words(&["DEFAULT", "ROLE"]) {
        return StatementKind::Account;
    }
    if ahead.words(&["RESOURCE", "GROUP"]) {
        return StatementKind::Administration;
    }
    StatementKind::Set
}

/// `EXPLAIN REMORA` alone, or with a point behind it, is of a table named remora.
fn explain(cursor: &Cursor<'_>) -> StatementKind {
    let mut ahead = cursor.clone();
    let statement = ahead.word("REMORA")
        && matches!(
            ahead.peek_kind(),
            Some(TokenKind::Word | TokenKind::LeftParen)
        );
    if statement {
        StatementKind::ExplainRemora
    } else {
        StatementKind::Describe
    }
}

fn definition(cursor: &mut Cursor<'_>) -> StatementKind {
    cursor.words(&["OR", "REPLACE"]);
    if cursor.is_any(&ACCOUNT_OBJECTS) {
        return StatementKind::Account;
    }
    if cursor.is_any(&SERVER_OBJECTS) {
        return StatementKind::Administration;
    }
    StatementKind::Ddl
}
