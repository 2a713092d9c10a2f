//! Row numbers in MySQL's texts (`… at row 3`), for an INSERT that was split.

const AT_ROW: &[u8] = b" at row ";

/// `message` of a part that held these rows of the client's statement, with the number that
/// the row has there.
pub(super) fn in_client_rows(message: &[u8], rows: &[u32]) -> Option<(Vec<u8>, u32)> {
    let number = row_number(message)?;
    let row = *rows.get(number.checked_sub(1)?)?;
    let at = memchr::memmem::rfind(message, AT_ROW)? + AT_ROW.len();
    let mut text = message.get(..at)?.to_vec();
    text.extend_from_slice(row.to_string().as_bytes());
    Some((text, row))
}

/// The row that a text names.
pub(super) fn row_number(message: &[u8]) -> Option<usize> {
    let at = memchr::memmem::rfind(message, AT_ROW)? + AT_ROW.len();
    str::from_utf8(message.get(at..)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_clients_number() {
        let text = b"Out of range value for column 'small' at row 2";
        let expected = b"Out of range value for column 'small' at row 7".to_vec();
        assert_eq!(in_client_rows(text, &[3, 7]), Some((expected, 7)));
    }

    #[test]
    fn texts_without_a_row_of_the_part_stay() {
        for text in [
            "Duplicate entry 'x at row ' for key",
            "at row 9",
            "y at row 0",
            "z at row 5",
        ] {
            assert_eq!(in_client_rows(text.as_bytes(), &[3, 7]), None, "{text}");
        }
    }
}
