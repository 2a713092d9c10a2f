//! Packets around and beyond 16 MiB, and `max_allowed_packet`.

use super::*;

/// The payload of a full frame.
const FRAME: usize = 0xFF_FFFF;

/// A statement of exactly so many bytes of payload, whose answer tells how much arrived.
fn exactly(payload: usize) -> Vec<u8> {
    let (front, back) = ("\x03SELECT LENGTH('", "') AS n");
    let middle = "x".repeat(payload - front.len() - back.len());
    [front, &middle, back].concat().into_bytes()
}

#[tokio::test]
async fn what_a_server_does_not_take_ends_the_connection_as_mysql_does() -> Result<()> {
    let sides = Sides::start(&["--max-allowed-packet=20M"]).await?;
    let limit = 20 << 20;
    for payload in [FRAME - 1, FRAME, FRAME + 1, limit - 4] {
        sides.same(modern(), &[(&exactly(payload), Reply::Command)])?;
    }
    for payload in [limit, limit + 1, 2 * FRAME] {
        let answers = sides.both(modern(), |client| {
            // What the server does not read may not be there to be sent.
            drop(client.send(&exactly(payload)));
            let error = client.packet().ok().flatten();
            drop(client.send(b"\x0e"));
            Ok((error, client.packet().ok().flatten()))
        })?;
        for (error, after) in answers {
            // A reset may overtake the error on its way, on either side.
            if let Some(error) = error {
                let (code, text) = error_in(&[[&[0; 4][..], &error].concat()])?;
                ensure!(code == 1153, "{payload}: {code} {text}");
            }
            ensure!(after.is_none(), "{payload}: it goes on");
        }
    }
    let grown = sides.shards.sidecar.process().resident_memory()?;
    for _ in 0..20 {
        let mut client = Raw::connect(sides.shards.sidecar.port(), modern())?;
        drop(client.send(&exactly(limit)));
    }
    let grown = sides.shards.sidecar.process().resident_memory()? - grown;
    ensure!(grown < 64 << 20, "{grown} bytes");
    Ok(())
}

#[tokio::test]
async fn large_values_go_both_ways() -> Result<()> {
    let sides = Sides::start(&["--max-allowed-packet=80M"]).await?;
    // A value's row has its length in front of it: these are around full frames too.
    for length in [FRAME - 4, FRAME, 2 * FRAME - 9, 40 << 20] {
        for table in ["plain", "whole", "ticket"] {
            let select = format!("SELECT t FROM {table} WHERE id = 77");
            let text = "y".repeat(length);
            let insert = format!("INSERT INTO {table} VALUES (77, 1, '{text}')");
            let delete = format!("DELETE FROM {table} WHERE id = 77");
            sides.same(
                modern(),
                &[
                    (&query(&insert), Reply::Command),
                    (&query(&select), Reply::Command),
                    (&prepare(&select), Reply::Prepare),
                    (b"\x17\x01\0\0\0\0\x01\0\0\0", Reply::Command),
                    (&query(&delete), Reply::Command),
                ],
            )?;
        }
    }
    // Over several tables rows are merged.
    let insert = |id: u32| {
        query(&format!(
            "INSERT INTO ticket VALUES ({id}, 1, REPEAT('z', {FRAME}))"
        ))
    };
    let (one, two) = (insert(101), insert(102));
    let all = query("SELECT id, t FROM ticket WHERE id > 100 ORDER BY id");
    sides.same(
        modern(),
        &[
            (&one, Reply::Command),
            (&two, Reply::Command),
            (&all, Reply::Command),
        ],
    )
}

#[tokio::test]
async fn long_parameters_arrive_whole() -> Result<()> {
    let sides = Sides::start(&["--max-allowed-packet=20M"]).await?;
    let insert = prepare("INSERT INTO whole VALUES (?, ?, ?)");
    // INT, INT and a BLOB that comes in pieces.
    let execute = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x03\0\x03\0\xfc\0\x07\0\0\0\x09\0\0\0";
    let piece = |bytes: usize| [&b"\x18\x01\0\0\0\x02\0"[..], &vec![b'q'; bytes]].concat();
    let found = query("SELECT id, v, LENGTH(t), MD5(t) FROM whole");
    let clear = query("DELETE FROM whole");
    for pieces in [&[9][..], &[1 << 20], &[8 << 20, 8 << 20], &[FRAME, 100]] {
        let [plain, sidecar] = sides.both(modern(), |client| {
            let prepared = client.answer(&insert, Reply::Prepare)?;
            for bytes in pieces {
                client.send(&piece(*bytes))?;
            }
            Ok([
                prepared,
                client.answer(execute, Reply::Command)?,
                client.answer(&found, Reply::Command)?,
                client.answer(&clear, Reply::Command)?,
            ])
        })?;
        for (plain, sidecar) in plain.iter().zip(&sidecar) {
            ensure!(
                plain == sidecar,
                "{pieces:?}\nMySQL: {}\nsidecar: {}",
                shown(plain),
                shown(sidecar)
            );
        }
    }
    // More than a packet may have, whose error comes with EXECUTE.
    let [plain, sidecar] = sides.both(modern(), |client| {
        client.answer(&insert, Reply::Prepare)?;
        client.send(&piece(12 << 20))?;
        client.send(&piece(12 << 20))?;
        error_in(&client.answer(execute, Reply::Command)?)
    })?;
    ensure!(plain == sidecar, "{plain:?} {sidecar:?}");
    Ok(())
}

#[tokio::test]
async fn several_long_parameters_are_together_more_than_a_packet() -> Result<()> {
    let sides = Sides::start(&["--max-allowed-packet=4M"]).await?;
    let select = prepare("SELECT LENGTH(?) + LENGTH(?) + LENGTH(?)");
    let piece = |param: u8| {
        let value = vec![b'q'; 3 << 20];
        [&[0x18, 1, 0, 0, 0, param, 0][..], &value].concat()
    };
    let execute = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0\xfc\0\xfc\0";
    let [plain, sidecar] = sides.both(modern(), |client| {
        client.answer(&select, Reply::Prepare)?;
        for param in 0..3 {
            client.send(&piece(param))?;
        }
        client.answer(execute, Reply::Command)
    })?;
    ensure!(plain == sidecar, "{} {}", shown(&plain), shown(&sidecar));
    Ok(())
}

#[tokio::test]
async fn the_limit_is_the_servers_to_set() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    sides.same(
        modern(),
        &[
            (
                &query("SET SESSION max_allowed_packet = 1024"),
                Reply::Command,
            ),
            (&query("SET max_allowed_packet = DEFAULT"), Reply::Command),
            (&query("SELECT @@max_allowed_packet"), Reply::Command),
        ],
    )
}
