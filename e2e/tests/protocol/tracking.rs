//! What answers tell of the session's changes.

use super::*;

#[tokio::test]
async fn changes_are_told_as_by_one_server() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let statements = [
        "USE shop",
        "BEGIN",
        "COMMIT",
        "BEGIN",
        "SELECT v FROM ticket WHERE id = 1",
        "INSERT INTO ticket VALUES (60, 1, NULL)",
        "SAVEPOINT a",
        "ROLLBACK TO a",
        "ROLLBACK",
        "COMMIT",
        "START TRANSACTION READ ONLY",
        "ROLLBACK",
        "SET autocommit = 0",
        "SELECT v FROM ticket WHERE id = 1",
        "COMMIT",
        "SET autocommit = 1",
        "SET NAMES latin1",
        "SET time_zone = '+01:00'",
        "SET @a = 1",
        "SET SESSION session_track_schema = OFF",
        "SET SESSION session_track_system_variables = 'sql_mode'",
        "SET sql_mode = 'ANSI'",
        "SET SESSION session_track_state_change = ON",
        "SET @a = 2",
    ];
    let commands: Vec<Vec<u8>> = statements.iter().map(|sql| query(sql)).collect();
    let commands: Vec<(&[u8], Reply)> = commands
        .iter()
        .map(|it| (&it[..], Reply::Command))
        .collect();
    sides.same(modern(), &commands)?;
    // In a text of several, and by the command.
    sides.same(
        modern(),
        &[
            (b"\x02shop", Reply::Command),
            (
                &query("BEGIN; SELECT 1; SELECT id FROM whole ORDER BY id; COMMIT"),
                Reply::Command,
            ),
        ],
    )
}
