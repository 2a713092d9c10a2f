//! Warnings of a read in parts, as one server would have counted them.
//!
//! What MySQL says of the statement itself (a deprecated form, a constant that it truncates)
//! every physical table's part says again. What it says of rows adds up. A text that quotes a
//! value is of the statement if the statement holds that value.

use memchr::memmem;
use remora_planner::lexer::{Lexer, SqlMode};

use super::row_numbers::row_number;
use crate::session::Note;

/// What one shard's answer came with.
#[derive(Debug)]
pub(super) struct PartNotes {
    /// How many physical tables its statement read, each in a part of a UNION of its own.
    pub(super) branches: usize,
    /// Its warnings.
    pub(super) notes: Vec<Note>,
}

/// Division by zero comes once for each row.
const OF_ROWS: [u16; 1] = [1365];

/// Deprecated syntax, functions and character sets.
const OF_FORMS: [u16; 4] = [1287, 1681, 3719, 3720];

/// The warnings of the whole. `sql` is the statement if all its values stand in it; a prepared
/// one may have had the quoted value as a parameter.
pub(super) fn of_statement(mut parts: Vec<PartNotes>, sql: Option<&[u8]>) -> Vec<Note> {
    let mut whole: Vec<Note> = Vec::new();
    while let Some(note) = parts.iter().find_map(|part| part.notes.first()).cloned() {
        let counts: Vec<usize> = parts
            .iter_mut()
            .map(|part| take(&mut part.notes, &note))
            .collect();
        let branches = parts.iter().map(|part| part.branches.max(1));
        let of_a_row =
            sql.is_some_and(|sql| quoted(&note.message).is_some_and(|value| !holds(sql, value)));
        let once = match of_a_row {
            true => None,
            false => once_each(&note, counts.iter().copied().zip(branches)),
        };
        let count = once.unwrap_or_else(|| counts.iter().sum());
        whole.extend(std::iter::repeat_n(note, count));
    }
    whole
}

/// Whether a literal of the statement holds the value.
fn holds(sql: &[u8], value: &[u8]) -> bool {
    Lexer::new(sql, SqlMode::default())
        .any(|token| token.kind.is_literal() && memmem::find(token.text(sql), value).is_some())
}

/// What MySQL says when it reads a statement: of deprecated forms. A part may hold a form more
/// often than the client's text, so that `prepared` counts: what MySQL said of that.
pub(super) fn of_text(notes: Vec<Note>, prepared: u16) -> Vec<Note> {
    let of_form = |note: &Note| OF_FORMS.contains(&note.code);
    let Some(first) = notes.iter().find(|note| of_form(note)).cloned() else {
        return notes;
    };
    if prepared == 0 || notes.iter().any(|note| of_form(note) && *note != first) {
        return notes;
    }
    let all = notes.len();
    let others: Vec<Note> = notes.into_iter().filter(|note| *note != first).collect();
    // What it said of constants is among the others.
    let said = usize::from(prepared).saturating_sub(others.len()).max(1);
    let count = said.min(all - others.len());
    std::iter::repeat_n(first, count).chain(others).collect()
}

/// The warnings of a write that ran as so many statements, each of which said again what MySQL says
/// of the client's text. Gives how many were said again.
pub(super) fn of_parts(notes: &[Note], statements: usize) -> (Vec<Note>, u16) {
    let mut whole: Vec<Note> = Vec::with_capacity(notes.len());
    let mut again = 0_u16;
    for note in notes {
        let times = |of: &[Note]| of.iter().filter(|other| *other == note).count();
        let once = times(notes).div_ceil(statements.max(1));
        if OF_FORMS.contains(&note.code) && times(&whole) >= once {
            again = again.saturating_add(1);
        } else {
            whole.push(note.clone());
        }
    }
    (whole, again)
}

/// The value that could not be converted, as the text quotes it.
fn quoted(message: &[u8]) -> Option<&[u8]> {
    const BEFORE: &[u8] = b" value: '";
    let start = memmem::find(message, BEFORE)? + BEFORE.len();
    let length = memchr::memchr(b'\'', &message[start..])?;
    Some(&message[start..start + length])
}

fn take(notes: &mut Vec<Note>, note: &Note) -> usize {
    let before = notes.len();
    notes.retain(|other| other != note);
    before - notes.len()
}

/// How often one branch says it at most, if every shard says it and it is not of rows: an
/// empty table spares a server some of it.
fn once_each(note: &Note, counts: impl Iterator<Item = (usize, usize)>) -> Option<usize> {
    if OF_ROWS.contains(&note.code) {
        return None;
    }
    let names_row = row_number(&note.message).is_some();
    let mut most = None;
    for (count, branches) in counts {
        let each = Some(count.div_ceil(branches));
        // What names a row is of the statement only if all branches say it equally often.
        if count == 0 || names_row && most.is_some_and(|_| most != each) {
            return None;
        }
        most = most.max(each);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(code: u16, count: usize) -> Vec<Note> {
        let note = Note {
            level: b"Warning".to_vec(),
            code,
            state: None,
            message: b"text".to_vec(),
        };
        vec![note; count]
    }

    fn whole(parts: &[(usize, u16, usize)]) -> usize {
        let part = |(branches, code, count): &(usize, u16, usize)| PartNotes {
            branches: *branches,
            notes: notes(*code, *count),
        };
        of_statement(parts.iter().map(part).collect(), None).len()
    }

    #[test]
    fn a_value_that_the_statement_does_not_hold_is_of_a_row() {
        let note = Note {
            level: b"Warning".to_vec(),
            code: 1292,
            state: None,
            message: b"Truncated incorrect DOUBLE value: 'abc'".to_vec(),
        };
        let part = || PartNotes {
            branches: 1,
            notes: vec![note.clone()],
        };
        let count = |sql: &[u8]| of_statement(vec![part(), part()], Some(sql)).len();
        assert_eq!(count(b"SELECT id FROM t WHERE id = 'abc'"), 1);
        assert_eq!(count(b"SELECT id FROM t WHERE name = 5"), 2);
    }

    #[test]
    fn what_every_branch_says_is_said_once() {
        assert_eq!(whole(&[(16, 1287, 16), (16, 1287, 16)]), 1);
        assert_eq!(whole(&[(2, 1287, 4), (1, 1287, 2)]), 2);
        assert_eq!(whole(&[(1, 1292, 2), (1, 1292, 1)]), 2);
    }

    #[test]
    fn a_form_is_said_as_often_as_of_the_clients_text() {
        let (form, constant) = (notes(1287, 3), notes(1292, 1));
        assert_eq!(of_text(form.clone(), 1).len(), 1);
        assert_eq!(of_text([form.clone(), constant].concat(), 2).len(), 2);
        assert_eq!(of_text(form, 0).len(), 3);
    }

    #[test]
    fn the_parts_of_a_write_say_once_what_is_of_the_text() {
        let (form, row) = (notes(1287, 3), notes(1265, 3));
        let (whole, again) = of_parts(&[form, row].concat(), 3);
        assert_eq!((whole.len(), again), (4, 2));
        assert_eq!(of_parts(&notes(1287, 4), 2).1, 2);
    }

    #[test]
    fn what_is_said_of_rows_adds_up() {
        assert_eq!(whole(&[(1, 1365, 3), (1, 1365, 3)]), 6);
        assert_eq!(whole(&[(1, 1292, 3), (1, 1292, 0)]), 3);
    }
}
