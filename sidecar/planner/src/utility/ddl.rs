//! CREATE, ALTER, DROP, TRUNCATE and RENAME: the verb, the object, and every name of a table.

use super::cursor::Cursor;
use super::span::{Span, TableName, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// What is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DdlVerb {
    /// CREATE.
    Create,
    /// ALTER.
    Alter,
    /// DROP.
    Drop,
    /// TRUNCATE.
    Truncate,
    /// RENAME.
    Rename,
}

/// To what it is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DdlObject {
    /// A table.
    Table,
    /// A view.
    View,
    /// An index.
    Index,
    /// A database.
    Database,
    /// A stored procedure.
    Procedure,
    /// A stored or loadable function.
    Function,
    /// A trigger.
    Trigger,
    /// An event.
    Event,
    /// A spatial reference system, a library and others.
    Other,
}

/// A statement of data definition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ddl {
    /// What is done.
    pub verb: DdlVerb,
    /// To what.
    pub object: DdlObject,
    /// TEMPORARY.
    pub temporary: bool,
    /// IF EXISTS or IF NOT EXISTS.
    pub conditional: bool,
    /// The objects' names; for a database without a schema. For RENAME the old names.
    pub names: Vec<TableName>,
    /// The new names of RENAME TABLE, or of ALTER TABLE … RENAME.
    pub new_names: Vec<TableName>,
    /// The table of an index or a trigger.
    pub on: Option<TableName>,
    /// The pattern of CREATE TABLE … LIKE.
    pub like: Option<TableName>,
    /// The tables that foreign keys point to.
    pub references: Vec<TableName>,
    /// Other tables in the statement (UNION of MERGE, EXCHANGE PARTITION).
    pub others: Vec<TableName>,
    /// Where the query begins of CREATE TABLE … SELECT or of a view.
    pub query: Option<u32>,
}

/// Reads a statement of [`super::StatementKind::Ddl`].
///
/// # Errors
/// [`Unparsed`] where it is not of a form known here.
pub fn ddl(sql: &[u8], mode: SqlMode) -> Result<Ddl, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    let mut ddl = Ddl {
        verb: DdlVerb::Create,
        object: DdlObject::Table,
        temporary: false,
        conditional: false,
        names: Vec::new(),
        new_names: Vec::new(),
        on: None,
        like: None,
        references: Vec::new(),
        others: Vec::new(),
        query: None,
    };
    if cursor.word("TRUNCATE") {
        ddl.verb = DdlVerb::Truncate;
        cursor.word("TABLE");
        ddl.names.push(cursor.table_name()?);
    } else if cursor.word("RENAME") {
        ddl.verb = DdlVerb::Rename;
        rename(&mut cursor, &mut ddl)?;
    } else if cursor.word("DROP") {
        ddl.verb = DdlVerb::Drop;
        drop_object(&mut cursor, &mut ddl)?;
    } else if cursor.word("ALTER") {
        ddl.verb = DdlVerb::Alter;
        alter(&mut cursor, &mut ddl)?;
    } else if cursor.word("CREATE") {
        create(&mut cursor, &mut ddl)?;
    } else {
        return Err(Unparsed);
    }
    // A stored program holds `;` of its own.
    let program = matches!(
        ddl.object,
        DdlObject::Procedure
            | DdlObject::Function
            | DdlObject::Trigger
            | DdlObject::Event
            | DdlObject::Other
    );
    if !program {
        cursor.expect_end()?;
    }
    Ok(ddl)
}

fn rename(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    if !cursor.any(&["TABLE", "TABLES"]) {
        return Err(Unparsed);
    }
    loop {
        ddl.names.push(cursor.table_name()?);
        cursor.expect_word("TO")?;
        ddl.new_names.push(cursor.table_name()?);
        if !cursor.kind(TokenKind::Comma) {
            return Ok(());
        }
    }
}

/// The object's word, behind any words of CREATE that stand in front of it.
fn object(cursor: &mut Cursor<'_>) -> Result<DdlObject, Unparsed> {
    let objects: [(&[&str], DdlObject); 13] = [
        (&["TABLE"], DdlObject::Table),
        (&["TABLES"], DdlObject::Table),
        (&["VIEW"], DdlObject::View),
        (&["INDEX"], DdlObject::Index),
        (&["DATABASE"], DdlObject::Database),
        (&["SCHEMA"], DdlObject::Database),
        (&["PROCEDURE"], DdlObject::Procedure),
        (&["FUNCTION"], DdlObject::Function),
        (&["TRIGGER"], DdlObject::Trigger),
        (&["EVENT"], DdlObject::Event),
        (&["SPATIAL", "REFERENCE", "SYSTEM"], DdlObject::Other),
        (&["LIBRARY"], DdlObject::Other),
        (&["JSON"], DdlObject::Other),
    ];
    let found = objects.into_iter().find(|(words, _)| cursor.words(words));
    found.map(|(_, object)| object).ok_or(Unparsed)
}

fn drop_object(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    ddl.temporary = cursor.word("TEMPORARY");
    ddl.object = object(cursor)?;
    ddl.conditional = cursor.words(&["IF", "EXISTS"]);
    match ddl.object {
        DdlObject::Table | DdlObject::View => {
            ddl.names = cursor.table_names()?;
            cursor.any(&["RESTRICT", "CASCADE"]);
        }
        DdlObject::Index => {
            let name = cursor.name()?;
            ddl.names.push(TableName { schema: None, name });
            cursor.expect_word("ON")?;
            ddl.on = Some(cursor.table_name()?);
            cursor.rest()?;
        }
        DdlObject::Other => {
            cursor.rest()?;
        }
        _ => ddl.names.push(cursor.table_name()?),
    }
    Ok(())
}

fn alter(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    view_options(cursor)?;
    ddl.object = object(cursor)?;
    match ddl.object {
        DdlObject::Table => {
            ddl.names.push(cursor.table_name()?);
            alter_table(cursor, ddl)
        }
        DdlObject::Database => {
            // The name may be left out: then it is the current database.
            let options = [
                "DEFAULT",
                "CHARACTER",
                "CHARSET",
                "COLLATE",
                "ENCRYPTION",
                "READ",
            ];
            if !cursor.is_any(&options) {
                let name = cursor.name()?;
                ddl.names.push(TableName { schema: None, name });
            }
            cursor.rest().map(|_| ())
        }
        DdlObject::View => {
            ddl.names.push(cursor.table_name()?);
            view_query(cursor, ddl)
        }
        DdlObject::Procedure | DdlObject::Function | DdlObject::Event => {
            ddl.names.push(cursor.table_name()?);
            Ok(())
        }
        _ => Err(Unparsed),
    }
}

/// Finds the names of tables among ALTER TABLE's actions.
fn alter_table(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    let mut depth = 0_usize;
    let mut action_begins = true;
    while !cursor.at_end() {
        if action_begins && depth == 0 && cursor.word("RENAME") {
            if !cursor.is_any(&["COLUMN", "INDEX", "KEY"]) {
                if !cursor.any(&["TO", "AS"]) {
                    cursor.kind(TokenKind::Equal);
                }
                ddl.new_names.push(cursor.table_name()?);
            }
            action_begins = false;
            continue;
        }
        if depth == 0 && cursor.words(&["EXCHANGE", "PARTITION"]) {
            cursor.name()?;
            if !cursor.words(&["WITH", "TABLE"]) {
                return Err(Unparsed);
            }
            ddl.others.push(cursor.table_name()?);
            continue;
        }
        action_begins = table_part(cursor, ddl, &mut depth)?;
    }
    if depth == 0 { Ok(()) } else { Err(Unparsed) }
}

/// Takes one token of a table's definition, or REFERENCES with its table, or UNION with its
/// tables; says whether an action may begin behind it.
fn table_part(cursor: &mut Cursor<'_>, ddl: &mut Ddl, depth: &mut usize) -> Result<bool, Unparsed> {
    if cursor.word("REFERENCES") {
        ddl.references.push(cursor.table_name()?);
        return Ok(false);
    }
    if *depth == 0 && cursor.word("UNION") {
        cursor.kind(TokenKind::Equal);
        cursor.expect(TokenKind::LeftParen)?;
        if !cursor.kind(TokenKind::RightParen) {
            ddl.others.extend(cursor.table_names()?);
            cursor.expect(TokenKind::RightParen)?;
        }
        return Ok(false);
    }
    let token = cursor.take()?;
    match token.kind {
        TokenKind::LeftParen => *depth += 1,
        TokenKind::RightParen => *depth = depth.checked_sub(1).ok_or(Unparsed)?,
        TokenKind::Semicolon => return Err(Unparsed),
        _ => {}
    }
    Ok(token.kind == TokenKind::Comma && *depth == 0)
}

fn create(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    let replaces = cursor.words(&["OR", "REPLACE"]);
    ddl.temporary = cursor.word("TEMPORARY");
    view_options(cursor)?;
    if !cursor.is_word("SPATIAL") || !cursor.clone().words(&["SPATIAL", "REFERENCE"]) {
        cursor.any(&["UNIQUE", "FULLTEXT", "SPATIAL", "AGGREGATE"]);
    }
    ddl.object = object(cursor)?;
    if replaces && !matches!(ddl.object, DdlObject::View | DdlObject::Other) {
        return Err(Unparsed);
    }
    ddl.conditional = cursor.words(&["IF", "NOT", "EXISTS"]);
    match ddl.object {
        DdlObject::Table => {
            ddl.names.push(cursor.table_name()?);
            create_table(cursor, ddl)
        }
        DdlObject::View => {
            ddl.names.push(cursor.table_name()?);
            view_query(cursor, ddl)
        }
        DdlObject::Index => {
            let name = cursor.name()?;
            ddl.names.push(TableName { schema: None, name });
            if cursor.word("USING") {
                cursor.name()?;
            }
            cursor.expect_word("ON")?;
            ddl.on = Some(cursor.table_name()?);
            cursor.rest().map(|_| ())
        }
        DdlObject::Database => {
            let name = cursor.name()?;
            ddl.names.push(TableName { schema: None, name });
            cursor.rest().map(|_| ())
        }
        DdlObject::Trigger => {
            ddl.names.push(cursor.table_name()?);
            if !cursor.any(&["BEFORE", "AFTER"]) || !cursor.any(&["INSERT", "UPDATE", "DELETE"]) {
                return Err(Unparsed);
            }
            cursor.expect_word("ON")?;
            ddl.on = Some(cursor.table_name()?);
            Ok(())
        }
        DdlObject::Procedure | DdlObject::Function | DdlObject::Event => {
            ddl.names.push(cursor.table_name()?);
            Ok(())
        }
        DdlObject::Other => Ok(()),
    }
}

/// ALGORITHM, DEFINER and SQL SECURITY, in front of a view or a program.
fn view_options(cursor: &mut Cursor<'_>) -> Result<(), Unparsed> {
    loop {
        if cursor.word("ALGORITHM") {
            cursor.expect(TokenKind::Equal)?;
            cursor.name()?;
        } else if cursor.word("DEFINER") {
            cursor.expect(TokenKind::Equal)?;
            account(cursor)?;
        } else if cursor.words(&["SQL", "SECURITY"]) {
            cursor.name()?;
        } else {
            return Ok(());
        }
    }
}

/// `user@host`, whose host the lexer reads as a variable, or CURRENT_USER[()].
fn account(cursor: &mut Cursor<'_>) -> Result<(), Unparsed> {
    if !cursor.kind(TokenKind::String) {
        cursor.name()?;
    }
    if cursor.kind(TokenKind::LeftParen) {
        cursor.expect(TokenKind::RightParen)?;
    }
    cursor.kind(TokenKind::UserVariable);
    Ok(())
}

fn view_query(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    if cursor.peek_kind() == Some(TokenKind::LeftParen) {
        cursor.group()?;
    }
    cursor.expect_word("AS")?;
    let query: Span = cursor.rest()?.ok_or(Unparsed)?;
    ddl.query = Some(query.start);
    Ok(())
}

fn create_table(cursor: &mut Cursor<'_>, ddl: &mut Ddl) -> Result<(), Unparsed> {
    if cursor.word("LIKE") {
        ddl.like = Some(cursor.table_name()?);
        return Ok(());
    }
    let mut bracketed = cursor.clone();
    if bracketed.kind(TokenKind::LeftParen) && bracketed.word("LIKE") {
        ddl.like = Some(bracketed.table_name()?);
        bracketed.expect(TokenKind::RightParen)?;
        *cursor = bracketed;
        return Ok(());
    }
    let mut depth = 0_usize;
    while !cursor.at_end() {
        let begins = cursor.is_any(&["SELECT", "WITH", "TABLE", "VALUES"]);
        // VALUES of a partition and WITH PARSER stand in parentheses, but never first.
        if begins && (depth == 0 || cursor.last().text(cursor.sql) == b"(") {
            ddl.query = ddl.query.or(cursor.peek().map(|token| token.start));
            cursor.span_until(|_, token| token.kind == TokenKind::RightParen)?;
            continue;
        }
        table_part(cursor, ddl, &mut depth)?;
    }
    if depth == 0 { Ok(()) } else { Err(Unparsed) }
}
