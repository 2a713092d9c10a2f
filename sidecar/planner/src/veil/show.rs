//! SHOW, DESCRIBE and EXPLAIN of tables with protected columns: clients see what they declared.

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{COMPANION_PREFIX, LogicalType, MARK, Protected, Sealed, Table};
use crate::keys::{Charset, Collation};
use crate::utility::{self, Described, ShowKind};

use super::plan::VeilPlan;
use super::source::{Reader, quoted};

/// What an answer shows of a table.
#[derive(Clone, Debug)]
pub struct Shown {
    kind: Kind,
    table: Option<Arc<Table>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    CreateTable,
    Columns,
    Indexes,
    /// MySQL's EXPLAIN, which names keys.
    Plan,
}

/// A row: NULLs, texts, and values that are no text as the protocol has them.
pub type ShownRow = Vec<Option<Vec<u8>>>;

impl Reader<'_> {
    pub(super) fn show(&mut self, body: &[u8]) -> Option<Shown> {
        let show = utility::show(body, self.source.mode).ok()?;
        let kind = match show.kind {
            ShowKind::CreateTable => Kind::CreateTable,
            ShowKind::Columns => Kind::Columns,
            ShowKind::Indexes => Kind::Indexes,
            _ => return None,
        };
        self.shown(kind)
    }

    /// Such statements name one table.
    fn shown(&mut self, kind: Kind) -> Option<Shown> {
        self.claimed.extend(0..self.source.len());
        let table = self.tables.first().map(|table| Arc::clone(table));
        Some(Shown { kind, table })
    }

    pub(super) fn describe(&mut self, body: &[u8], plan: &mut VeilPlan) -> Result<(), Refusal> {
        match utility::describe(body, self.source.mode) {
            Ok(Described::Table { .. }) => {
                plan.shown = self.shown(Kind::Columns);
                Ok(())
            }
            Ok(Described::Statement { statement, .. }) => {
                let source = self.source;
                let start = source.tokens.first().map_or(0, |token| token.start);
                let from = start + statement.start;
                self.first = source.token_at(from).unwrap_or(0);
                plan.shown = Some(Shown {
                    kind: Kind::Plan,
                    table: None,
                });
                let inner = source.sql.get(from as usize..).unwrap_or_default();
                use utility::StatementKind as K;
                match utility::classify(inner, self.context.sql_mode) {
                    K::Query | K::With | K::Update | K::Delete => self.rows(),
                    K::Insert | K::Replace => self.insert().map(|_| ()),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Shown {
    /// The rows as the client should see them. `columns` are the names of the answer's columns.
    #[must_use]
    pub fn rows(&self, columns: &[String], rows: Vec<ShownRow>) -> Vec<ShownRow> {
        let at = |name: &str| columns.iter().position(|it| it.eq_ignore_ascii_case(name));
        match (self.kind, &self.table) {
            (Kind::Plan, _) => rows
                .into_iter()
                .map(|row| row.into_iter().map(|it| it.map(plain_names)).collect())
                .collect(),
            (Kind::CreateTable, Some(table)) => {
                let mut rows = rows;
                for row in &mut rows {
                    if let Some(Some(text)) = at("Create Table").and_then(|at| row.get_mut(at)) {
                        *text = create_table(table, &String::from_utf8_lossy(text)).into_bytes();
                    }
                }
                rows
            }
            (Kind::Columns, Some(table)) => show_columns(table, &at, &rows),
            (Kind::Indexes, Some(table)) => show_indexes(table, &at, rows),
            (_, None) => rows,
        }
    }
}

/// A text without the prefix of companions.
fn plain_names(text: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(text) {
        Ok(text) => text.replace(COMPANION_PREFIX, "").into_bytes(),
        Err(other) => other.into_bytes(),
    }
}

fn of_companion<'t>(table: &'t Table, name: &str) -> Option<&'t Protected> {
    let mut columns = table.protected.iter().map(|it| &**it);
    columns.find(|it| it.sealed().is_some_and(|it| it.companion == name))
}

fn declared<'t>(table: &'t Table, name: &str) -> Option<(&'t Sealed, &'t LogicalType)> {
    let sealed = table.protected(name)?.sealed()?;
    Some((sealed, sealed.declared.as_ref()?))
}

fn text_at(row: &ShownRow, at: Option<usize>) -> Option<String> {
    let value = row.get(at?)?.as_ref()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn put(row: &mut ShownRow, at: Option<usize>, value: Option<Vec<u8>>) {
    if let Some(field) = at.and_then(|at| row.get_mut(at)) {
        *field = value;
    }
}

fn show_columns(
    table: &Table,
    at: &dyn Fn(&str) -> Option<usize>,
    rows: &[ShownRow],
) -> Vec<ShownRow> {
    let seen = rows.iter().filter(|row| {
        text_at(row, at("Field")).is_none_or(|name| of_companion(table, &name).is_none())
    });
    seen.map(|row| {
        let mut row = row.clone();
        let name = text_at(&row, at("Field")).unwrap_or_default();
        let Some((sealed, logical)) = declared(table, &name) else {
            return row;
        };
        put(
            &mut row,
            at("Type"),
            Some(logical.column_type.clone().into_bytes()),
        );
        let collation = logical.collation.map(|it| it.name().as_bytes().to_vec());
        put(&mut row, at("Collation"), collation);
        let key = match sealed.keys {
            keys if keys.unique => "UNI",
            keys if keys.first => "MUL",
            _ => "",
        };
        put(&mut row, at("Key"), Some(key.as_bytes().to_vec()));
        let comment = text_at(&row, at("Comment"));
        let own = comment
            .as_deref()
            .and_then(LogicalType::marked)
            .map(|(_, own)| own.as_bytes().to_vec());
        if own.is_some() {
            put(&mut row, at("Comment"), own);
        }
        row
    })
    .collect()
}

fn show_indexes(
    table: &Table,
    at: &dyn Fn(&str) -> Option<usize>,
    rows: Vec<ShownRow>,
) -> Vec<ShownRow> {
    let of_ours = |row: &ShownRow| {
        text_at(row, at("Key_name")).is_some_and(|name| of_companion(table, &name).is_some())
    };
    rows.into_iter()
        .filter(|row| !of_ours(row))
        .map(|mut row| {
            let name = text_at(&row, at("Column_name")).unwrap_or_default();
            if let Some(column) = of_companion(table, &name) {
                put(
                    &mut row,
                    at("Column_name"),
                    Some(column.column.clone().into_bytes()),
                );
                let nullable = table.column(&column.column).is_none_or(|it| it.nullable);
                let null = if nullable { "YES" } else { "" };
                put(&mut row, at("Null"), Some(null.as_bytes().to_vec()));
            }
            row
        })
        .collect()
}

/// A definition as MySQL writes it, one item a line, with the columns as they were declared.
fn create_table(table: &Table, text: &str) -> String {
    let mut lines = text.split('\n');
    let head = lines.next().unwrap_or_default();
    let (mut items, mut tail) = (Vec::new(), Vec::new());
    for line in lines {
        if tail.is_empty() && line.starts_with("  ") {
            items.push(line.strip_suffix(',').unwrap_or(line));
        } else {
            tail.push(line);
        }
    }
    let of_table = tail
        .first()
        .and_then(|line| line.split_once("COLLATE="))
        .map(|(_, rest)| rest.split([' ', '\n']).next().unwrap_or_default());
    let items: Vec<String> = items
        .into_iter()
        .filter_map(|item| create_item(table, item, of_table))
        .collect();
    format!("{head}\n{}\n{}", items.join(",\n"), tail.join("\n"))
}

fn create_item(table: &Table, item: &str, of_table: Option<&str>) -> Option<String> {
    let quoted_name = item.trim_start().strip_prefix('`');
    if let Some((name, rest)) = quoted_name.and_then(|it| it.split_once('`')) {
        if of_companion(table, name).is_some() {
            return None;
        }
        return Some(match declared(table, name) {
            Some((_, logical)) => create_column(name, rest, logical, of_table),
            None => item.to_owned(),
        });
    }
    let mut item = item.to_owned();
    for column in &table.protected {
        let Some(sealed) = column.sealed() else {
            continue;
        };
        let companion = quoted(&sealed.companion);
        if item.contains(&format!("KEY {companion} ")) {
            return None;
        }
        item = item.replace(&companion, &quoted(&column.column));
    }
    Some(item)
}

fn create_column(name: &str, rest: &str, logical: &LogicalType, of_table: Option<&str>) -> String {
    let mut line = format!("  {} {}", quoted(name), logical.column_type);
    if let Some(collation) = logical.collation
        && of_table.is_none_or(|it| it != collation.name())
    {
        line += &format!(
            " CHARACTER SET {} COLLATE {}",
            charset(collation),
            collation.name()
        );
    }
    let blob = matches!(logical.shape, crate::catalog::Shape::Blob(_));
    if rest.contains(" NOT NULL") {
        line += " NOT NULL";
    } else if !blob {
        line += " DEFAULT NULL";
    }
    let comment = rest
        .split_once(" COMMENT '")
        .and_then(|(_, rest)| rest.strip_prefix(MARK))
        .and_then(|rest| rest.splitn(3, ';').nth(2))
        .filter(|own| *own != "'");
    if let Some(own) = comment {
        line += &format!(" COMMENT '{own}");
    }
    line
}

fn charset(collation: Collation) -> &'static str {
    match collation.charset() {
        Charset::Ascii => "ascii",
        Charset::Latin1 => "latin1",
        Charset::Utf8mb3 => "utf8mb3",
        _ => "utf8mb4",
    }
}
