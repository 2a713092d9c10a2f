//! Results without definitions of columns, and the ends of the old protocol.

use super::*;

#[tokio::test]
async fn definitions_are_left_out_where_the_client_wants_none() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let mark = CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA;
    for capabilities in [modern(), modern() - CapabilityFlags::CLIENT_DEPRECATE_EOF] {
        let [plain, sidecar] = sides.both(capabilities | mark, |client| {
            let mut all = Vec::new();
            for set in ["FULL", "NONE", "DEFAULT", "0", "'none'", "1", "NOBODY", "2"] {
                let set = query(&format!("SET SESSION resultset_metadata = {set}"));
                for command in [
                    &set,
                    &query("SELECT 1 AS a, 2 AS b"),
                    &query("SELECT * FROM ticket WHERE id = 1"),
                    &query("SELECT * FROM whole ORDER BY id"),
                    &query("SELECT id FROM ticket WHERE id = 1; SELECT v FROM whole ORDER BY id"),
                    &query("SHOW WARNINGS"),
                    &prepare("SELECT * FROM ticket WHERE id = ?"),
                    &prepare("SELECT 1"),
                    &prepare("DO 1"),
                    &b"\x17\x02\0\0\0\0\x01\0\0\0".to_vec(),
                    &b"\x1a\x02\0\0\0".to_vec(),
                ] {
                    all.push((command.clone(), client.until_quiet(command)?));
                }
                // Ids begin anew, so that they are the same on both sides.
                for id in 1..4 {
                    client.send(&[&b"\x19"[..], &u32::to_le_bytes(id)].concat())?;
                }
                if !set.windows(4).any(|w| w == b"NONE") {
                    continue;
                }
                client.until_quiet(b"\x1f")?;
            }
            Ok(all)
        })?;
        for ((command, plain), (_, sidecar)) in plain.iter().zip(&sidecar) {
            if command.first() == Some(&0x17) || command.first() == Some(&0x1a) {
                continue;
            }
            ensure!(
                plain == sidecar,
                "{}\nMySQL: {}\nsidecar: {}",
                command.escape_ascii(),
                plain.escape_ascii(),
                sidecar.escape_ascii()
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_client_without_the_capability_may_not_ask_for_less() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let set = query("SET SESSION resultset_metadata = NONE");
    sides.same(modern(), &[(&set, Reply::Command)])
}

#[tokio::test]
async fn ends_are_the_clients_in_all_ways_of_answering() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let old = modern() - CapabilityFlags::CLIENT_DEPRECATE_EOF;
    for capabilities in [modern(), old] {
        sides.same(
            capabilities,
            &[
                (&query("SELECT * FROM ticket WHERE id = 1"), Reply::Command),
                (&query("SELECT * FROM whole ORDER BY id"), Reply::Command),
                (&query("SELECT COUNT(*), SUM(v) FROM whole"), Reply::Command),
                (
                    &query("SELECT v, COUNT(*) FROM whole GROUP BY v ORDER BY v"),
                    Reply::Command,
                ),
                (&query("SELECT 1 / 0"), Reply::Command),
                (&query("SHOW WARNINGS"), Reply::Command),
                (
                    &query("SELECT CAST(t AS SIGNED), id FROM whole ORDER BY id"),
                    Reply::Command,
                ),
                (
                    &query("SELECT 2; SELECT 1; SELECT id FROM whole ORDER BY id"),
                    Reply::Command,
                ),
                (
                    &query("SELECT id FROM whole WHERE v = 10 ORDER BY id; DO 1"),
                    Reply::Command,
                ),
                (
                    &prepare("SELECT id, t FROM whole WHERE v > ? ORDER BY id"),
                    Reply::Prepare,
                ),
                (
                    b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x03\0\x0f\0\0\0",
                    Reply::Command,
                ),
                (
                    &prepare("SELECT id, t FROM ticket WHERE id = ?"),
                    Reply::Prepare,
                ),
                (
                    b"\x17\x02\0\0\0\0\x01\0\0\0\0\x01\x03\0\x01\0\0\0",
                    Reply::Command,
                ),
                (&query("USE shop"), Reply::Command),
                (b"\x1b\x01\0", Reply::Command),
                (b"\x04plain\0", Reply::FieldList),
            ],
        )?;
    }
    Ok(())
}
