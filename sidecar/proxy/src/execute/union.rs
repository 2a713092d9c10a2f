//! What the UNION of a shard's physical tables cannot give, though each of them alone can.

use remora_planner::Scatter;
use remora_planner::lexer::{Lexer, SqlMode, TokenKind};
use remora_protocol::ErrPacket;

/// MySQL's number for an illegal mix of collations.
const MIXED_COLLATIONS: u16 = 1271;

/// Refuses a user variable as a column of a UNION of physical tables, which would give its
/// DECIMALs thirty digits that MySQL does not show.
///
/// # Errors
/// If there is one.
pub(super) fn admit_columns(
    scatter: &Scatter<'_>,
    mode: SqlMode,
) -> Result<(), ErrPacket<'static>> {
    let sql = &scatter.probe.statement.sql;
    let own = unions(sql);
    let joined = scatter
        .parts
        .iter()
        .any(|part| unions(&part.statement.sql) > own);
    let mut columns = Lexer::new(sql, mode).take_while(|token| !token.is_word(sql, "FROM"));
    if joined && columns.any(|token| token.kind == TokenKind::UserVariable) {
        return Err(ErrPacket::new(
            1235,
            *b"42000",
            "This version of Remora doesn't yet support a user variable among the columns \
             of a read of several physical tables; select it by itself",
        ));
    }
    Ok(())
}

/// MySQL's refusal of a part, as the client is to hear it. An expression of texts of several
/// collations has none of its own: one table can give it, a UNION of tables cannot, and the
/// client wrote no UNION.
pub(super) fn of_parts(error: ErrPacket<'static>) -> ErrPacket<'static> {
    let of_union = memchr::memmem::find(&error.message, b"'UNION'").is_some();
    if error.code != MIXED_COLLATIONS || !of_union {
        return error;
    }
    ErrPacket::new(
        1235,
        *b"42000",
        "This version of Remora doesn't yet support an expression of texts of several collations \
         over more than one physical table, neither as a column nor in ORDER BY; give it one \
         with COLLATE",
    )
}

/// How many UNION ALL a text has.
pub(super) fn unions(sql: &[u8]) -> usize {
    memchr::memmem::find_iter(sql, b"UNION ALL").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_union_adds_is_refused_in_its_stead() {
        let text = "Illegal mix of collations for operation 'UNION'";
        let error = of_parts(ErrPacket::new(1271, *b"HY000", text));
        assert_eq!(error.code, 1235);
        let own = "Illegal mix of collations for operation 'concat'";
        assert_eq!(of_parts(ErrPacket::new(1271, *b"HY000", own)).code, 1271);
    }
}
