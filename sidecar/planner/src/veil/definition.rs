//! CREATE TABLE, ALTER TABLE and CREATE INDEX of tables with protected columns.
//!
//! An encrypted column is stored as a binary string, whose comment says how the client declared
//! it. Beside it stands an invisible companion with the tags, and keys on the column are keys on
//! that.

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{How, LogicalType, Protected, Sealed, Shape, Table};
use crate::ddl::DEFAULT_COLLATION;
use crate::ddl::definition::{NO_COLUMN, collation, column_type};
use crate::keys::KeyType;
use crate::lexer::TokenKind;
use crate::text::Span;
use crate::utility::{DdlObject, DdlVerb, ddl};

use super::plan::Atom;
use super::refused;
use super::source::{Reader, quoted, text};

/// What a column's definition says besides its type.
#[derive(Default)]
struct Attributes {
    not_null: bool,
    unique: bool,
    /// The token of the client's comment.
    comment: Option<usize>,
}

impl Reader<'_> {
    pub(super) fn definition(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let source = self.source;
        let Ok(parsed) = ddl(body, source.mode) else {
            return Ok(());
        };
        let name = match parsed.object {
            DdlObject::Table => parsed.names.first().copied(),
            DdlObject::Index => parsed.on,
            _ => None,
        };
        let start = source.tokens.first().map_or(0, |token| token.start);
        let token = name
            .map(|name| name.schema.unwrap_or(name.name))
            .and_then(|first| source.token_at(start + first.start));
        let Some((name, table)) = token.and_then(|token| self.named(token)) else {
            return Ok(());
        };
        let changes = parsed.verb == DdlVerb::Alter || parsed.object == DdlObject::Index;
        if changes && table.is_missing() {
            let refusal = Refusal::no_such_table(self.catalog.database(), &table.name);
            self.is_unknown(refusal);
            return Ok(());
        }
        match (parsed.object, parsed.verb) {
            (DdlObject::Table, DdlVerb::Create) => self.create(table, name.next),
            (DdlObject::Table, DdlVerb::Alter) => self.alter(table, name.next),
            (DdlObject::Index, DdlVerb::Create) => {
                self.key_parts(table, name.next)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn create(&mut self, table: &Arc<Table>, open: usize) -> Result<(), Refusal> {
        let source = self.source;
        let unread = || self.refused_first("a definition of this form");
        if source.kind(open) != Some(TokenKind::LeftParen) {
            return Err(unread());
        }
        let closing = source.closing(open).ok_or_else(unread)?;
        let options = collation(source, closing + 1, source.len());
        let options = options.unwrap_or_else(|| DEFAULT_COLLATION.to_owned());
        let mut keys = Vec::new();
        let mut indexed = Vec::new();
        let mut found = Vec::new();
        for (from, to) in source.list(open + 1, closing) {
            if source.is_any(from, &NO_COLUMN) {
                indexed.extend(self.key(table, from, to)?);
                continue;
            }
            let Some(column) = source.name(from).and_then(|name| table.protected(&name)) else {
                continue;
            };
            found.push(column.column.clone());
            let unique = self.column(table, column, from, to, &options)?;
            if let (Some(sealed), true) = (column.sealed(), unique) {
                keys.push(format!(
                    "UNIQUE KEY {} ({})",
                    quoted(&column.column),
                    quoted(&sealed.companion)
                ));
                indexed.push(sealed.companion.clone());
            }
            if let Some(sealed) = column.sealed().filter(|it| it.lookup) {
                let at = source.start(from);
                let companion = format!("{}, ", companion(sealed));
                self.replace(Span { start: at, end: at }, vec![text(companion)]);
            }
        }
        for column in &table.protected {
            if !found.iter().any(|name| column.is(name)) {
                return Err(refused(
                    table,
                    column,
                    "a definition without the column, which the manifest names,",
                ));
            }
            if let Some(sealed) = column.sealed().filter(|it| it.lookup)
                && !indexed.contains(&sealed.companion)
            {
                keys.push(own_key(sealed));
            }
        }
        for key in keys {
            self.behind(closing - 1, vec![text(format!(", {key}"))]);
        }
        Ok(())
    }

    fn alter(&mut self, table: &Arc<Table>, from: usize) -> Result<(), Refusal> {
        for (from, to) in self.source.list(from, self.source.len()) {
            self.change(table, from, to)?;
        }
        Ok(())
    }

    fn change(&mut self, table: &Arc<Table>, from: usize, to: usize) -> Result<(), Refusal> {
        let source = self.source;
        let word = if source.is(from + 1, "COLUMN") { 2 } else { 1 };
        let at = from + word;
        // The column that another one is put behind.
        if let Some(after) = source.find(at, to, &["AFTER"])
            && after + 2 == to
        {
            self.claimed.insert(after + 1);
        }
        if source.is(from, "ADD") && source.is_any(at, &NO_COLUMN) {
            self.key(table, at, to)?;
            return Ok(());
        }
        if source.is(from, "ADD") && source.kind(at) == Some(TokenKind::LeftParen) {
            return Ok(());
        }
        let name = source.name(at);
        let Some(column) = name.and_then(|name| table.protected(&name)) else {
            return Ok(());
        };
        let end = source.find(at + 1, to, &["FIRST", "AFTER"]).unwrap_or(to);
        if source.is(from, "ADD") {
            let said = collation(source, at + 1, end).is_some();
            let kind = column_type(source, at + 1, end).unwrap_or_default();
            let binary = kind.contains("binary") || kind.contains("blob");
            if column.sealed().is_some() && !said && !binary {
                return Err(refused(
                    table,
                    column,
                    "ADD COLUMN without a COLLATE of its own, since the table's is not known,",
                ));
            }
            let unique = self.column(table, column, at, end, DEFAULT_COLLATION)?;
            if let Some(sealed) = column.sealed().filter(|it| it.lookup) {
                let mut more = format!(", ADD COLUMN {}", companion(sealed));
                more += &match unique {
                    true => format!(
                        ", ADD UNIQUE KEY {} ({})",
                        quoted(&column.column),
                        quoted(&sealed.companion)
                    ),
                    false => format!(", ADD {}", own_key(sealed)),
                };
                self.behind(to - 1, vec![text(more)]);
            }
            return Ok(());
        }
        if source.is(from, "DROP") && to == at + 1 {
            self.claimed.insert(at);
            if let Some(sealed) = column.sealed().filter(|it| it.lookup) {
                let more = format!(", DROP COLUMN {}", quoted(&sealed.companion));
                self.behind(at, vec![text(more)]);
            }
            return Ok(());
        }
        if source.is(from, "MODIFY") {
            self.refuse_narrower(table, column, at, end)?;
            let unique = self.column(table, column, at, end, DEFAULT_COLLATION)?;
            if unique {
                return Err(refused(table, column, "UNIQUE in MODIFY"));
            }
        }
        Ok(())
    }

    /// MySQL looks at all values when a column becomes narrower; here only their owner could.
    fn refuse_narrower(
        &self,
        table: &Table,
        column: &Protected,
        at: usize,
        end: usize,
    ) -> Result<(), Refusal> {
        let Some(sealed) = column.sealed() else {
            return Ok(());
        };
        let now = sealed.declared.as_ref();
        let wanted = self.logical(table, column, at, end, DEFAULT_COLLATION)?;
        let fits = now.is_some_and(|now| {
            let wider = match (now.shape, wanted.shape) {
                (Shape::Fixed(a), Shape::Fixed(b)) => a <= b && now.collation.is_some() || a == b,
                (Shape::Variable(a), Shape::Variable(b)) | (Shape::Blob(a), Shape::Blob(b)) => {
                    a <= b
                }
                _ => false,
            };
            wider && now.collation == wanted.collation
        });
        match fits {
            true => Ok(()),
            false => Err(refused(
                table,
                column,
                "MODIFY to another type or collation, or to a shorter one,",
            )),
        }
    }

    /// The type that a definition of a column, whose name is token `at`, declares.
    fn logical(
        &self,
        table: &Table,
        column: &Protected,
        at: usize,
        end: usize,
        default: &str,
    ) -> Result<LogicalType, Refusal> {
        let source = self.source;
        let kind = column_type(source, at + 1, end)
            .ok_or_else(|| self.refused_first("a definition of this form"))?;
        let word = kind.split(['(', ' ']).next().unwrap_or_default();
        let is_text = word.ends_with("text") || word.ends_with("char");
        let collation = collation(source, at + 1, end).unwrap_or_else(|| default.to_owned());
        LogicalType::declared(&kind, Some(collation.as_str()).filter(|_| is_text))
            .map_err(|what| refused(table, column, &what))
    }

    /// A protected column's definition. Whether it is UNIQUE.
    fn column(
        &mut self,
        table: &Arc<Table>,
        column: &Arc<Protected>,
        at: usize,
        end: usize,
        default: &str,
    ) -> Result<bool, Refusal> {
        let source = self.source;
        self.claimed.insert(at);
        let behind_type = self.behind_type(at + 1);
        let attributes = self.attributes(table, column, behind_type, end)?;
        match &column.how {
            How::Digest { kind, .. } => {
                let declared = column_type(source, at + 1, end).unwrap_or_default();
                let fits = matches!(
                    KeyType::declared(&declared, Some(DEFAULT_COLLATION)),
                    Ok(KeyType::Text { length, .. }) if length >= kind.characters()
                );
                if !fits {
                    return Err(refused(
                        table,
                        column,
                        &format!(
                            "a type other than CHAR or VARCHAR of {} characters",
                            kind.characters()
                        ),
                    ));
                }
                Ok(false)
            }
            How::Sealed(sealed) => {
                let logical = self.logical(table, column, at, end, default)?;
                if attributes.unique && !sealed.lookup {
                    return Err(refused(table, column, "a key without lookup: Equality"));
                }
                let null = if attributes.not_null { " NOT NULL" } else { "" };
                let head = format!("{}{null} COMMENT ", logical.physical());
                let mark = logical.mark();
                let mut atoms = vec![text(head)];
                match attributes.comment {
                    None => atoms.push(text(format!("'{mark}'"))),
                    Some(token) => {
                        // Behind the opening quote, so that the client's escapes stay as they are.
                        let literal = source.text(token);
                        let (quote, rest) = literal.split_at(literal.len().min(1));
                        let comment = [quote, mark.as_bytes(), rest].concat();
                        let comment = String::from_utf8(comment)
                            .map_err(|_| refused(table, column, "a comment that is not UTF-8"))?;
                        atoms.push(Atom::Text(comment));
                    }
                }
                self.replace(source.span(at + 1, end), atoms);
                Ok(attributes.unique)
            }
        }
    }

    /// The token behind a type.
    fn behind_type(&self, mut at: usize) -> usize {
        let source = self.source;
        at += 1;
        if source.is(at, "VARYING") {
            at += 1;
        }
        match source.kind(at) {
            Some(TokenKind::LeftParen) => source.closing(at).map_or(at, |close| close + 1),
            _ => at,
        }
    }

    /// What stands behind a protected column's type; what is not known there is refused.
    fn attributes(
        &self,
        table: &Table,
        column: &Protected,
        mut at: usize,
        end: usize,
    ) -> Result<Attributes, Refusal> {
        let source = self.source;
        let mut found = Attributes::default();
        let equal = |at: usize| usize::from(source.kind(at) == Some(TokenKind::Equal));
        while at < end {
            if source.are(at, &["NOT", "NULL"]) {
                found.not_null = true;
                at += 2;
            } else if source.is(at, "NULL") {
                at += 1;
            } else if source.are(at, &["DEFAULT", "NULL"]) {
                at += 2;
            } else if source.are(at, &["CHARACTER", "SET"]) {
                at += 3 + equal(at + 2);
            } else if source.is_any(at, &["CHARSET", "COLLATE"]) {
                at += 2 + equal(at + 1);
            } else if source.is(at, "COMMENT") && source.kind(at + 1) == Some(TokenKind::String) {
                found.comment = Some(at + 1);
                at += 2;
            } else if source.is(at, "UNIQUE") {
                found.unique = true;
                at += 1 + usize::from(source.is(at + 1, "KEY"));
            } else {
                let word = String::from_utf8_lossy(source.text(at)).into_owned();
                // A literal there may be a value.
                let known = source.kind(at) == Some(TokenKind::Word);
                let what = if known { word } else { "a value".to_owned() };
                return Err(refused(table, column, &format!("{what} in its definition")));
            }
        }
        Ok(found)
    }

    /// A key: its protected columns become their companions. Gives the companion that it begins
    /// with.
    fn key(
        &mut self,
        table: &Arc<Table>,
        from: usize,
        to: usize,
    ) -> Result<Option<String>, Refusal> {
        let source = self.source;
        let Some(open) = (from..to).find(|it| source.kind(*it) == Some(TokenKind::LeftParen))
        else {
            return Ok(None);
        };
        let mut at = from;
        let mut named = false;
        if source.is(at, "CONSTRAINT") {
            at += 1;
            if !source.is_any(at, &["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
                named = true;
                at += 1;
            }
        }
        if !source.is_any(at, &["UNIQUE", "KEY", "INDEX"]) {
            return Ok(None);
        }
        at += 1;
        if source.is_any(at, &["KEY", "INDEX"]) {
            at += 1;
        }
        named |= at < open;
        let first = self.key_parts(table, open)?;
        if let (Some(sealed), false) = (&first, named) {
            // MySQL names a key after its first column.
            let column = table
                .protected
                .iter()
                .find(|it| it.sealed().is_some_and(|it| it.companion == *sealed));
            if let Some(column) = column {
                let name = format!(" {} ", quoted(&column.column));
                self.behind(open - 1, vec![text(name)]);
            }
        }
        Ok(first)
    }

    /// The parts of a key, whose parenthesis is token `open`.
    fn key_parts(&mut self, table: &Arc<Table>, open: usize) -> Result<Option<String>, Refusal> {
        let source = self.source;
        let Some(closing) = source.closing(open) else {
            return Ok(None);
        };
        let mut first = None;
        for (number, (from, to)) in source.list(open + 1, closing).into_iter().enumerate() {
            let Some(column) = source.name(from).and_then(|name| table.protected(&name)) else {
                continue;
            };
            let whole =
                to == from + 1 || to == from + 2 && source.is_any(from + 1, &["ASC", "DESC"]);
            if !whole {
                return Err(refused(table, column, "a key on a part of it"));
            }
            self.claimed.insert(from);
            let Some(sealed) = column.sealed() else {
                continue;
            };
            if !sealed.lookup {
                return Err(refused(table, column, "a key without lookup: Equality"));
            }
            let span = source.span(from, from + 1);
            self.replace(span, vec![text(quoted(&sealed.companion))]);
            if number == 0 {
                first = Some(sealed.companion.clone());
            }
        }
        Ok(first)
    }
}

/// A companion's definition.
fn companion(sealed: &Sealed) -> String {
    format!(
        "{} BINARY({}) INVISIBLE",
        quoted(&sealed.companion),
        remora_cipher::TAG_BYTES
    )
}

/// The key that lookups use where the client declares none; it bears the companion's name, so
/// that nobody sees it.
fn own_key(sealed: &Sealed) -> String {
    let name = quoted(&sealed.companion);
    format!("KEY {name} ({name})")
}
