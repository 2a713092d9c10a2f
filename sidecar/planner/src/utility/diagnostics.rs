//! GET DIAGNOSTICS.

use super::cursor::Cursor;
use super::span::{Span, Unparsed};
use crate::lexer::{SqlMode, TokenKind};

/// What is asked of the last statement's diagnostics.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GetDiagnostics {
    /// Of the statement.
    Statement(Vec<(Span, StatementItem)>),
    /// Of one of its conditions.
    Condition {
        /// The condition's number: an integer or a user variable.
        number: Span,
        /// The user variables and what they get.
        items: Vec<(Span, ConditionItem)>,
    },
}

/// What is known of a statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StatementItem {
    /// NUMBER of its conditions.
    Number,
    /// ROW_COUNT.
    RowCount,
}

/// What is known of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionItem {
    /// MYSQL_ERRNO.
    Number,
    /// RETURNED_SQLSTATE.
    State,
    /// MESSAGE_TEXT.
    Message,
    /// CLASS_ORIGIN or SUBCLASS_ORIGIN.
    Origin,
    /// The names of what it is about, which MySQL leaves empty in its own conditions.
    Name,
}

/// The names of a condition's items.
const CONDITION_ITEMS: [(&str, ConditionItem); 13] = [
    ("MYSQL_ERRNO", ConditionItem::Number),
    ("RETURNED_SQLSTATE", ConditionItem::State),
    ("MESSAGE_TEXT", ConditionItem::Message),
    ("CLASS_ORIGIN", ConditionItem::Origin),
    ("SUBCLASS_ORIGIN", ConditionItem::Origin),
    ("CONSTRAINT_CATALOG", ConditionItem::Name),
    ("CONSTRAINT_SCHEMA", ConditionItem::Name),
    ("CONSTRAINT_NAME", ConditionItem::Name),
    ("CATALOG_NAME", ConditionItem::Name),
    ("SCHEMA_NAME", ConditionItem::Name),
    ("TABLE_NAME", ConditionItem::Name),
    ("COLUMN_NAME", ConditionItem::Name),
    ("CURSOR_NAME", ConditionItem::Name),
];

const STATEMENT_ITEMS: [(&str, StatementItem); 2] = [
    ("NUMBER", StatementItem::Number),
    ("ROW_COUNT", StatementItem::RowCount),
];

/// Reads a GET DIAGNOSTICS into user variables.
///
/// # Errors
/// [`Unparsed`] where it is not of MySQL's grammar, or what only a stored program may say.
pub fn get_diagnostics(sql: &[u8], mode: SqlMode) -> Result<GetDiagnostics, Unparsed> {
    let mut cursor = Cursor::new(sql, mode);
    cursor.expect_word("GET")?;
    cursor.word("CURRENT");
    cursor.expect_word("DIAGNOSTICS")?;
    let found = if cursor.word("CONDITION") {
        let number = match cursor.peek_kind() {
            Some(TokenKind::Integer | TokenKind::UserVariable) => cursor.take()?.into(),
            _ => return Err(Unparsed),
        };
        let items = items(&mut cursor, &CONDITION_ITEMS)?;
        GetDiagnostics::Condition { number, items }
    } else {
        GetDiagnostics::Statement(items(&mut cursor, &STATEMENT_ITEMS)?)
    };
    cursor.expect_end()?;
    Ok(found)
}

fn items<T: Copy>(
    cursor: &mut Cursor<'_>,
    known: &[(&str, T)],
) -> Result<Vec<(Span, T)>, Unparsed> {
    let mut items = Vec::new();
    loop {
        let variable = cursor.expect(TokenKind::UserVariable)?.into();
        cursor.expect(TokenKind::Equal)?;
        let item = known.iter().find(|(name, _)| cursor.word(name));
        items.push((variable, item.ok_or(Unparsed)?.1));
        if !cursor.kind(TokenKind::Comma) {
            return Ok(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let read = |sql: &'static str| get_diagnostics(sql.as_bytes(), SqlMode::default());
        let Ok(GetDiagnostics::Statement(items)) =
            read("GET CURRENT DIAGNOSTICS @n = NUMBER, @r = row_count")
        else {
            panic!("a statement's")
        };
        assert_eq!(items[1].1, StatementItem::RowCount);
        let Ok(GetDiagnostics::Condition { items, .. }) =
            read("get diagnostics condition @n @a = MESSAGE_TEXT, @b = TABLE_NAME")
        else {
            panic!("a condition's")
        };
        assert_eq!(items[0].1, ConditionItem::Message);
        for other in [
            "GET STACKED DIAGNOSTICS @n = NUMBER",
            "GET DIAGNOSTICS n = NUMBER",
            "GET DIAGNOSTICS CONDITION 1 @n = NUMBER",
            "GET DIAGNOSTICS",
        ] {
            assert!(read(other).is_err(), "{other}");
        }
    }
}
