//! INSERT and REPLACE into tables with protected columns.

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{Protected, Table, same_name};
use crate::lexer::TokenKind;

use super::plan::Part;
use super::source::{Reader, quoted, text};

/// A column of the list that is protected: its place there.
type At<'t> = (usize, &'t Arc<Protected>);

impl Reader<'_> {
    /// Reads one. Whether it names no columns, which are written out then.
    pub(super) fn insert(&mut self) -> Result<bool, Refusal> {
        let source = self.source;
        let mut token = self.first + 1;
        let modifiers = ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"];
        while source.is_any(token, &modifiers) || source.kind(token) == Some(TokenKind::Hint) {
            token += 1;
        }
        // Into another table: what of a subquery is protected stays unclaimed, or is a `*`.
        let Some((name, table)) = self.named(token) else {
            let reads = (token..source.len()).any(|it| source.is_any(it, &["SELECT", "TABLE"]));
            return match reads {
                true => Err(self.refused_first("INSERT or REPLACE … SELECT")),
                false => Ok(false),
            };
        };
        if (token..source.len()).any(|it| source.is_any(it, &["SELECT", "TABLE"])) {
            return Err(self.refused_first("INSERT or REPLACE … SELECT"));
        }
        let token = name.next;
        if source.is(token, "SET") {
            self.set(table, token)?;
            return Ok(false);
        }
        let mut token = token;
        let mut names: Option<Vec<(String, usize)>> = None;
        let mut closing = None;
        if source.kind(token) == Some(TokenKind::LeftParen) {
            let close = self.closing(token)?;
            if close > token + 1 {
                let items = source.list(token + 1, close);
                let read: Option<Vec<_>> = items
                    .iter()
                    .map(|(_, to)| Some((source.name(to.checked_sub(1)?)?, to - 1)))
                    .collect();
                names = Some(read.ok_or_else(|| self.refused_first("a column list of this form"))?);
            } else {
                names = Some(Vec::new());
            }
            closing = Some(close);
            token = close + 1;
        }
        if !source.is_any(token, &["VALUES", "VALUE"]) {
            return Err(self.refused_first("this form of INSERT"));
        }
        let columns: Vec<String> = match &names {
            Some(names) => names.iter().map(|(name, _)| name.clone()).collect(),
            None => table.visible().map(str::to_owned).collect(),
        };
        if let Some(unknown) = unknown_column(table, &columns) {
            self.is_unknown(unknown);
            return Ok(false);
        }
        let found: Vec<At<'_>> = columns
            .iter()
            .enumerate()
            .filter_map(|(at, name)| Some((at, table.protected(name)?)))
            .collect();
        for (at, _) in &found {
            let token = names.as_ref().and_then(|names| names.get(*at));
            self.claimed.extend(token.map(|(_, token)| *token));
        }
        let companions: Vec<String> = found
            .iter()
            .filter_map(|(_, column)| column.sealed().filter(|it| it.lookup))
            .map(|sealed| quoted(&sealed.companion))
            .collect();
        let first_row = token + 1;
        let rows = self.tuples(first_row)?;
        let all_default = rows.iter().any(|(open, close)| close == &(open + 1));
        if all_default && names.as_ref().is_none_or(|names| !names.is_empty()) {
            return Err(self.refused_first("VALUES ()"));
        }
        self.refuse_left_out(table, &columns);
        match closing {
            Some(close) => {
                for companion in &companions {
                    self.behind(close - 1, vec![text(format!(", {companion}"))]);
                }
            }
            None => {
                let list: Vec<String> = columns
                    .iter()
                    .map(|name| quoted(name))
                    .chain(companions.iter().cloned())
                    .collect();
                let writable = self.context.charset == crate::keys::Charset::Utf8mb4
                    || list.iter().all(|name| name.is_ascii());
                if !writable {
                    return Err(self.refused_first("an INSERT without a list of columns"));
                }
                self.behind(token - 1, vec![text(format!(" ({})", list.join(", ")))]);
            }
        }
        for (number, (open, close)) in rows.iter().enumerate() {
            let items = match close > &(open + 1) {
                true => source.list(open + 1, *close),
                false => Vec::new(),
            };
            if items.len() != columns.len() {
                return Err(Refusal {
                    code: 1136,
                    state: *b"21S01",
                    message: format!(
                        "Column count doesn't match value count at row {}",
                        number + 1
                    ),
                });
            }
            for (at, column) in &found {
                if let Some(item) = items.get(*at) {
                    self.given(table, column, *item, number + 1, *close)?;
                }
            }
        }
        let behind = rows.last().map_or(first_row, |(_, close)| close + 1);
        self.tail(table, behind)?;
        Ok(names.is_none())
    }

    fn closing(&self, open: usize) -> Result<usize, Refusal> {
        let closing = self.source.closing(open);
        closing.ok_or_else(|| self.refused_first("this form of INSERT"))
    }

    /// The parentheses of the rows that begin at a token.
    fn tuples(&self, mut token: usize) -> Result<Vec<(usize, usize)>, Refusal> {
        let source = self.source;
        let mut rows = Vec::new();
        loop {
            if source.is(token, "ROW") {
                token += 1;
            }
            if source.kind(token) != Some(TokenKind::LeftParen) {
                return Err(self.refused_first("VALUES of this form"));
            }
            let close = self.closing(token)?;
            rows.push((token, close));
            token = close + 1;
            if source.kind(token) != Some(TokenKind::Comma) {
                return Ok(rows);
            }
            token += 1;
        }
    }

    /// A value for a protected column in a row that token `close` closes.
    fn given(
        &mut self,
        table: &Arc<Table>,
        column: &Arc<Protected>,
        (from, to): (usize, usize),
        row: usize,
        close: usize,
    ) -> Result<(), Refusal> {
        let source = self.source;
        let lookup = column.sealed().is_some_and(|it| it.lookup);
        if to == from + 1 && source.is(from, "DEFAULT") {
            self.refuse_default(table, column);
            if lookup {
                self.behind(close - 1, vec![text(", DEFAULT")]);
            }
            return Ok(());
        }
        let operand = self.stored(table, column, (from, to))?;
        let stored = Self::value(Part::Stored, table, column, operand, row);
        let tag = || Self::value(Part::Tag, table, column, operand, row);
        self.replace(source.span(from, to), vec![stored]);
        if lookup {
            self.behind(close - 1, vec![text(", "), tag()]);
        }
        Ok(())
    }

    /// INSERT … SET c = 1.
    fn set(&mut self, table: &Arc<Table>, set: usize) -> Result<(), Refusal> {
        let source = self.source;
        let end = source
            .find(set, source.len(), &["AS", "ON"])
            .unwrap_or(source.len());
        let mut columns = Vec::new();
        for (from, to) in source.list(set + 1, end) {
            let equal = (from..to).find(|it| source.kind(*it) == Some(TokenKind::Equal));
            let Some(equal) = equal else {
                return Err(self.refused_first("SET of this form"));
            };
            columns.extend(source.name(equal - 1));
            self.assigned(table, equal, to, false)?;
        }
        if let Some(unknown) = unknown_column(table, &columns) {
            self.edits.clear();
            self.is_unknown(unknown);
            return Ok(());
        }
        self.refuse_left_out(table, &columns);
        self.tail(table, end)
    }

    /// `column = value`, where the column's name ends before token `equal`.
    fn assigned(
        &mut self,
        table: &Arc<Table>,
        equal: usize,
        to: usize,
        on_duplicate: bool,
    ) -> Result<(), Refusal> {
        let source = self.source;
        let name = source.name(equal - 1).unwrap_or_default();
        let Some(column) = table.protected(&name) else {
            return Ok(());
        };
        self.claimed.insert(equal - 1);
        let companion = column.sealed().filter(|it| it.lookup);
        let named = companion.map(|it| quoted(&it.companion));
        let (from, behind) = (equal + 1, to - 1);
        if to == from + 1 && source.is(from, "DEFAULT") {
            self.refuse_default(table, column);
            if let Some(named) = named {
                self.behind(behind, vec![text(format!(", {named} = DEFAULT"))]);
            }
            return Ok(());
        }
        if on_duplicate && let Some(given) = self.given_value(column, from, to) {
            self.claimed.insert(given.token);
            if let Some(named) = named {
                let value = given.of(&named);
                self.behind(behind, vec![text(format!(", {named} = {value}"))]);
            }
            return Ok(());
        }
        let operand = self.stored(table, column, (from, to))?;
        let mut atoms = vec![Self::value(Part::Stored, table, column, operand, 1)];
        if let Some(named) = named {
            atoms.push(text(format!(", {named} = ")));
            atoms.push(Self::value(Part::Tag, table, column, operand, 1));
        }
        self.replace(source.span(from, to), atoms);
        Ok(())
    }

    /// What follows the rows.
    fn tail(&mut self, table: &Arc<Table>, mut token: usize) -> Result<(), Refusal> {
        let source = self.source;
        if source.is(token, "AS") {
            token += 2;
            if source.kind(token) == Some(TokenKind::LeftParen) {
                return Err(self.refused_first("a row alias with aliases of columns"));
            }
        }
        if !source.are(token, &["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            return Ok(());
        }
        for (from, to) in source.list(token + 4, source.len()) {
            let equal = (from..to).find(|it| source.kind(*it) == Some(TokenKind::Equal));
            if let Some(equal) = equal {
                self.assigned(table, equal, to, true)?;
            }
        }
        Ok(())
    }

    /// `VALUES(column)` or `alias.column` of the column itself.
    fn given_value(&self, column: &Protected, from: usize, to: usize) -> Option<GivenValue> {
        let source = self.source;
        let is = |token: usize| source.name(token).is_some_and(|name| column.is(&name));
        match to.checked_sub(from)? {
            4 if source.is(from, "VALUES")
                && source.kind(from + 1) == Some(TokenKind::LeftParen)
                && is(from + 2) =>
            {
                Some(GivenValue {
                    token: from + 2,
                    alias: None,
                })
            }
            3 if source.kind(from + 1) == Some(TokenKind::Dot) && is(from + 2) => {
                let alias = source.name(from)?;
                let known = (0..from).any(|it| {
                    source.is(it, "AS") && source.name(it + 1).is_some_and(|name| name == alias)
                });
                known.then(|| GivenValue {
                    token: from + 2,
                    alias: Some(quoted(&alias)),
                })
            }
            _ => None,
        }
    }

    /// A column that is left out gets NULL, which must be allowed: an empty string, which some
    /// modes of MySQL would store, is no envelope.
    fn refuse_left_out(&mut self, table: &Table, columns: &[String]) {
        for column in &table.protected {
            let given = columns.iter().any(|name| same_name(name, &column.column));
            if !given {
                self.refuse_default(table, column);
            }
        }
    }

    pub(super) fn refuse_default(&mut self, table: &Table, column: &Protected) {
        let nullable = table
            .column(&column.column)
            .is_none_or(|column| column.nullable);
        if column.sealed().is_some() && !nullable && self.late.is_none() {
            self.late = Some(Refusal {
                code: 1364,
                state: *b"HY000",
                message: format!("Field '{}' doesn't have a default value", column.column),
            });
        }
    }
}

/// MySQL's error for a column that is not there: what is given for it may be meant for a
/// protected one.
fn unknown_column(table: &Table, columns: &[String]) -> Option<Refusal> {
    let unknown = columns.iter().find(|name| table.column(name).is_none())?;
    Some(Refusal {
        code: 1054,
        state: *b"42S22",
        message: format!("Unknown column '{unknown}' in 'field list'"),
    })
}

/// A value that ON DUPLICATE KEY UPDATE takes from the row.
struct GivenValue {
    token: usize,
    alias: Option<String>,
}

impl GivenValue {
    fn of(&self, column: &str) -> String {
        match &self.alias {
            Some(alias) => format!("{alias}.{column}"),
            None => format!("VALUES({column})"),
        }
    }
}
