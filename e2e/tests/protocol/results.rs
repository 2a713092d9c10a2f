//! Several results of one statement, OUT parameters, and texts that no server reads as UTF-8.

use super::*;

const PROCEDURES: [&str; 6] = [
    "CREATE PROCEDURE two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 'x' AS c UNION SELECT 3, 'y'; END",
    "CREATE PROCEDURE outs(IN a INT, OUT b INT, INOUT c VARCHAR(20)) \
     BEGIN SET b = a + 1; SET c = CONCAT(c, '!'); SELECT a; END",
    "CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT no_such FROM plain; SELECT 2; END",
    "CREATE PROCEDURE warns() BEGIN SELECT 1 / 0; SELECT CAST('x' AS SIGNED); END",
    "CREATE PROCEDURE writes(k INT) BEGIN INSERT INTO plain VALUES (k, 1, NULL); SELECT id FROM plain; END",
    "CREATE PROCEDURE nothing() BEGIN END",
];

#[tokio::test]
async fn procedures_answer_as_from_one_server() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    sides.both(modern(), |client| {
        PROCEDURES.iter().try_for_each(|sql| client.run(sql))
    })?;
    let execute = b"\x17\x01\0\0\0\0\x01\0\0\0\x02\x01\x03\0\x06\0\xfd\0\x29\0\0\0\x02ab";
    let plain_execute = b"\x17\x01\0\0\0\0\x01\0\0\0";
    let old = modern() - CapabilityFlags::CLIENT_DEPRECATE_EOF;
    for capabilities in [modern(), old] {
        sides.same(
            capabilities,
            &[
                (&query("CALL two()"), Reply::Command),
                (&query("CALL nothing()"), Reply::Command),
                (&query("SELECT 7; CALL two(); SELECT 8"), Reply::Command),
                (&query("CALL fails()"), Reply::Command),
                (&query("CALL two(); CALL fails(); SELECT 9"), Reply::Command),
                (&query("CALL warns()"), Reply::Command),
                (&query("SHOW WARNINGS"), Reply::Command),
                (&query("SET @c = 'o'"), Reply::Command),
                (&query("CALL outs(4, @b, @c)"), Reply::Command),
                (&query("SELECT @b, @c"), Reply::Command),
                (&query("CALL no_such_procedure()"), Reply::Command),
                (&query("BEGIN"), Reply::Command),
                (&query("CALL writes(71)"), Reply::Command),
                (&query("ROLLBACK"), Reply::Command),
            ],
        )?;
        sides.same(
            capabilities,
            &[
                (&prepare("CALL outs(?, ?, ?)"), Reply::Prepare),
                (execute, Reply::Command),
                (execute, Reply::Command),
            ],
        )?;
        sides.same(
            capabilities,
            &[
                (&prepare("CALL two()"), Reply::Prepare),
                (plain_execute, Reply::Command),
                // A cursor is not opened over it.
                (b"\x17\x01\0\0\0\x01\x01\0\0\0", Reply::Command),
            ],
        )?;
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_takes_one_result_gets_mysqls_error_for_several() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    sides.both(modern(), |client| {
        PROCEDURES.iter().try_for_each(|sql| client.run(sql))
    })?;
    let one = modern()
        - CapabilityFlags::CLIENT_MULTI_RESULTS
        - CapabilityFlags::CLIENT_MULTI_STATEMENTS
        - CapabilityFlags::CLIENT_PS_MULTI_RESULTS;
    sides.same(
        one,
        &[
            (&query("CALL two()"), Reply::Command),
            (&query("CALL nothing()"), Reply::Command),
            (&query("SELECT 1; SELECT 2"), Reply::Command),
            (&query("SELECT 3"), Reply::Command),
        ],
    )
}

#[tokio::test]
async fn texts_that_are_no_utf_8_come_and_go_as_they_are() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let bytes = |parts: &[&[u8]]| [&b"\x03"[..], &parts.concat()].concat();
    let all: Vec<u8> = (1..=255_u8).filter(|byte| !b"'\\".contains(byte)).collect();
    for charset in ["latin1", "cp1251", "koi8r", "binary", "utf8mb4"] {
        let set = query(&format!("SET NAMES {charset}"));
        let insert = bytes(&[b"INSERT INTO whole VALUES (90, 1, _binary'", &all, b"')"]);
        let named = bytes(&[b"SELECT 1 AS `n\xe4m\xe9`, '\xfc\xdf' AS t"]);
        let scattered = bytes(&[b"SELECT id AS `\xef\xf0`, '\xe4' AS t FROM whole ORDER BY id"]);
        let compared = bytes(&[b"SELECT id FROM ticket WHERE t <> '\xe4' ORDER BY id"]);
        let wrong = bytes(&[b"SELECT `\xe4` FROM ticket"]);
        // MySQL sends columns before it finds that these bytes are no text.
        let compared = match charset {
            "binary" | "utf8mb4" => &named,
            _ => &compared,
        };
        sides.same(
            modern(),
            &[
                (&set, Reply::Command),
                (&insert, Reply::Command),
                (
                    &query("SELECT HEX(t) FROM whole WHERE id = 90"),
                    Reply::Command,
                ),
                (&query("SELECT t FROM whole WHERE id = 90"), Reply::Command),
                (&query("DELETE FROM whole WHERE id = 90"), Reply::Command),
                (&named, Reply::Command),
                (&scattered, Reply::Command),
                (compared, Reply::Command),
                (&wrong, Reply::Command),
            ],
        )?;
    }
    Ok(())
}
