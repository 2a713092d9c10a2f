//! Reads the rows of an INSERT or REPLACE.

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{Table, same_name};
use crate::context::Context;
use crate::keys::Charset;
use crate::lexer::TokenKind;
use crate::route::Operand;
use crate::text::{Edit, Piece, Position, Source, Span};

use super::assignments::check_on_duplicate;
use super::insert::{COUNT_DIFFERS, GeneratedColumn, Given, InsertPlan, Row, refused};

/// Reads one statement.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) table: &'a Arc<Table>,
    pub(super) context: &'a Context,
}

/// The column list: names in order, and where it is written.
struct Columns {
    names: Vec<String>,
    /// The token that closes the written list.
    closing: Option<usize>,
}

impl Reader<'_> {
    fn refused(&self, what: &str) -> Refusal {
        refused(self.table, what)
    }

    /// Reads what follows the table's name, from `token` on.
    pub(super) fn read(&self, mut token: usize) -> Result<InsertPlan, Refusal> {
        let source = self.source;
        if source.is(token, "PARTITION") {
            return Err(self.refused("PARTITION"));
        }
        if source.is(token, "SET") {
            return self.set(token);
        }
        let mut columns = Columns {
            names: Vec::new(),
            closing: None,
        };
        if source.kind(token) == Some(TokenKind::LeftParen)
            && !source.is_any(token + 1, &["SELECT", "WITH", "TABLE", "VALUES"])
        {
            let closing = source
                .closing(token)
                .ok_or_else(|| self.refused("this form"))?;
            columns.closing = Some(closing);
            if closing > token + 1 {
                columns.names = self.column_names(token + 1, closing)?;
            }
            token = closing + 1;
        }
        if columns.names.is_empty() {
            // INSERT t () VALUES (): no column is given, so all have their defaults.
            let given = columns.closing.is_none();
            let all = self.table.visible().filter(|_| given);
            columns.names = all.map(str::to_owned).collect();
        }
        if source.is_any(token, &["VALUES", "VALUE"]) {
            let mut plan = self.values(token, &columns)?;
            // `VALUES ()` gives every column its default only where no column is named.
            let named = plan.rows.iter().all(|row| row.named);
            plan.by_position = columns.closing.is_none() && named;
            // Other names would have to be written in the session's character set.
            let writable = self.context.charset == Charset::Utf8mb4
                || columns.names.iter().all(|name| name.is_ascii());
            if plan.by_position && writable {
                plan.edits.push(self.column_list(token, &columns.names));
            }
            Ok(plan)
        } else {
            Err(self.refused("rows from a SELECT or TABLE"))
        }
    }

    /// Writes the columns out that the client leaves to their order, in front of VALUES: whatever
    /// order they are in when the statement runs, the key's value goes into the key's column.
    fn column_list(&self, values: usize, names: &[String]) -> Edit {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let at = self.source.end(values - 1);
        Edit {
            span: Span { start: at, end: at },
            piece: Piece::Text(format!(" ({})", names.join(", ")).into_bytes().into()),
        }
    }

    fn column_names(&self, from: usize, to: usize) -> Result<Vec<String>, Refusal> {
        let items = self.source.list(from, to);
        let names: Option<Vec<String>> = items
            .iter()
            .map(|(_, end)| self.source.name(end.checked_sub(1)?))
            .collect();
        let qualified = items.iter().any(|(start, end)| end - start > 3);
        names
            .filter(|_| !qualified)
            .ok_or_else(|| self.refused("a column list of this form"))
    }

    fn values(&self, values: usize, columns: &Columns) -> Result<InsertPlan, Refusal> {
        let source = self.source;
        let row_words = source.is(values + 1, "ROW");
        let first = values + 1;
        let mut tuples = Vec::new();
        let mut token = first;
        loop {
            let start = token;
            if row_words && source.is(token, "ROW") {
                token += 1;
            }
            if source.kind(token) != Some(TokenKind::LeftParen) {
                return Err(self.refused("VALUES of this form"));
            }
            let closing = source
                .closing(token)
                .ok_or_else(|| self.refused("this form"))?;
            tuples.push((start, token, closing));
            token = closing + 1;
            if source.kind(token) != Some(TokenKind::Comma) {
                break;
            }
            token += 1;
        }
        let duplicate = self.tail(token)?;
        let generated_at = self
            .generated_name()
            .and_then(|name| position(&columns.names, name));
        let key_at = self
            .key_name()
            .and_then(|name| position(&columns.names, name));
        let empty_list = columns.names.is_empty();
        let mut rows = Vec::with_capacity(tuples.len());
        for (start, open, closing) in tuples {
            let items = if closing > open + 1 {
                source.list(open + 1, closing)
            } else {
                Vec::new()
            };
            // INSERT t VALUES () gives every column its default.
            let all_default = items.is_empty() && columns.closing.is_none();
            if items.len() != columns.names.len() && !all_default {
                return Err(Refusal {
                    code: COUNT_DIFFERS,
                    state: *b"21S01",
                    message: format!(
                        "Column count doesn't match value count at row {}",
                        rows.len() + 1
                    ),
                });
            }
            if all_default && self.generated_name().is_some() {
                return Err(self.refused("VALUES () without a column list"));
            }
            let at = |position: Option<usize>| position.and_then(|it| items.get(it)).copied();
            let generated = match (self.generated_name(), at(generated_at)) {
                (None, _) => Given::Nothing,
                (Some(_), Some((from, to))) => self.given(from, to)?,
                (Some(_), None) => Given::Missing {
                    at: source.start(closing),
                    comma: !items.is_empty(),
                },
            };
            let key = self.key(at(key_at), &generated)?;
            rows.push(Row {
                span: source.span(start, closing + 1),
                key,
                generated,
                named: !all_default,
            });
        }
        let name_at = match (self.generated_name(), generated_at) {
            (Some(name), None) => {
                let closing = columns.closing.ok_or_else(|| self.refused("this form"))?;
                let comma = if empty_list { "" } else { ", " };
                let text = format!("{comma}{}", quoted(name))
                    .into_bytes()
                    .into_boxed_slice();
                Some((source.start(closing), text))
            }
            _ => None,
        };
        Ok(self.finish(
            rows,
            source.start(first),
            source.end(token - 1),
            name_at,
            duplicate,
        ))
    }

    /// INSERT … SET a = 1, b = 2: one row.
    fn set(&self, set: usize) -> Result<InsertPlan, Refusal> {
        let source = self.source;
        let end = source
            .find(set, source.len(), &["ON"])
            .unwrap_or(source.len());
        let end = source.find(set, end, &["AS"]).unwrap_or(end);
        let duplicate = self.tail(end)?;
        let (mut key_at, mut generated_at) = (None, None);
        for (from, to) in source.list(set + 1, end) {
            let equal = (from..to)
                .find(|token| source.kind(*token) == Some(TokenKind::Equal))
                .ok_or_else(|| self.refused("SET of this form"))?;
            let name = equal
                .checked_sub(1)
                .and_then(|it| source.name(it))
                .unwrap_or_default();
            if self.key_name().is_some_and(|key| same_name(key, &name)) {
                key_at = Some((equal + 1, to));
            }
            if self
                .generated_name()
                .is_some_and(|column| same_name(column, &name))
            {
                generated_at = Some((equal + 1, to));
            }
        }
        let generated = match (self.generated_name(), generated_at) {
            (None, _) => Given::Nothing,
            (Some(_), Some((from, to))) => self.given(from, to)?,
            (Some(_), None) => Given::Missing {
                at: source.end(end - 1),
                comma: false,
            },
        };
        let key = self.key(key_at, &generated)?;
        let span = source.span(set + 1, end);
        // In SET the name goes where the value goes.
        let name = match (&generated, self.generated_name()) {
            (Given::Missing { at, .. }, Some(name)) => Some((
                *at,
                format!(", {} = ", quoted(name))
                    .into_bytes()
                    .into_boxed_slice(),
            )),
            _ => None,
        };
        let row = Row {
            span,
            key,
            generated,
            named: true,
        };
        Ok(self.finish(vec![row], span.start, span.end, name, duplicate))
    }

    fn finish(
        &self,
        rows: Vec<Row>,
        rows_start: Position,
        rows_end: Position,
        name_at: Option<(Position, Box<[u8]>)>,
        keeps_answer: bool,
    ) -> InsertPlan {
        let generated = self.generated_name().map(|name| GeneratedColumn {
            is_key: self.table.is_key(name),
            name_at,
            keeps_answer,
        });
        InsertPlan {
            table: Arc::clone(self.table),
            rows_start,
            rows_end,
            rows,
            generated,
            edits: Vec::new(),
            by_position: false,
            zero_is_a_value: self.context.zero_is_a_value,
        }
    }

    fn key_name(&self) -> Option<&str> {
        self.table.sharded().map(|sharded| sharded.key.as_str())
    }

    /// The column whose values are made for the client: by Remora, or in a broadcast table by
    /// each shard's MySQL, which would not make the same.
    fn generated_name(&self) -> Option<&str> {
        if let Some(generated) = &self.table.generated {
            return Some(&generated.column);
        }
        let mut columns = self
            .table
            .columns
            .iter()
            .filter(|_| self.table.sharded().is_none());
        columns
            .find(|column| column.auto_increment)
            .map(|column| column.name.as_str())
    }

    /// The sharding key's value in a row.
    fn key(
        &self,
        tokens: Option<(usize, usize)>,
        generated: &Given,
    ) -> Result<Option<Operand>, Refusal> {
        let Some(key) = self.key_name() else {
            return Ok(None);
        };
        let generates_key = self
            .generated_name()
            .is_some_and(|name| self.table.is_key(name));
        let Some((from, to)) = tokens else {
            return match generated {
                Given::Missing { .. } if generates_key => Ok(None),
                _ => {
                    Err(self.refused(&format!("a row without a value for the sharding key {key}")))
                }
            };
        };
        if to == from + 1 && self.source.is(from, "DEFAULT") {
            return if generates_key {
                Ok(None)
            } else {
                Err(self.refused(&format!("DEFAULT for the sharding key {key}")))
            };
        }
        self.operand(from, to).map(Some).ok_or_else(|| {
            self.refused(&format!(
                "an expression that is no constant, for the sharding key {key},"
            ))
        })
    }

    fn given(&self, from: usize, to: usize) -> Result<Given, Refusal> {
        let span = self.source.span(from, to);
        if to == from + 1 && self.source.is(from, "DEFAULT") {
            return Ok(Given::Value {
                operand: None,
                span,
            });
        }
        match self.operand(from, to) {
            Some(operand) => Ok(Given::Value {
                operand: Some(operand),
                span,
            }),
            None => Err(self.refused("an expression for the generated column")),
        }
    }

    /// The constant that tokens `from..to` are.
    fn operand(&self, from: usize, to: usize) -> Option<Operand> {
        Operand::at(self.source, from, to)
    }

    /// What follows the rows: `AS alias` and ON DUPLICATE KEY UPDATE. Whether the latter keeps
    /// MySQL's own insert id.
    fn tail(&self, mut token: usize) -> Result<bool, Refusal> {
        let source = self.source;
        if source.is(token, "AS") {
            token += 2;
            if source.kind(token) == Some(TokenKind::LeftParen) {
                token = source
                    .closing(token)
                    .ok_or_else(|| self.refused("this form"))?
                    + 1;
            }
        }
        if (0..source.len()).any(|it| source.is_any(it, &["SELECT", "TABLE"])) {
            return Err(self.refused("a subquery"));
        }
        if token >= source.len() {
            return Ok(false);
        }
        if !source.are(token, &["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            return Err(self.refused("what follows the rows"));
        }
        check_on_duplicate(source, self.table, token + 4)
    }
}

/// The place of a column in the list.
fn position(columns: &[String], name: &str) -> Option<usize> {
    columns.iter().position(|column| same_name(column, name))
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
