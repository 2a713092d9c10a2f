//! Server-side cursors.

use super::*;

fn execute(id: u32, cursor: u8) -> Vec<u8> {
    [&[0x17][..], &id.to_le_bytes(), &[cursor, 1, 0, 0, 0]].concat()
}

fn fetch(id: u32, rows: u32) -> Vec<u8> {
    [&[0x1C][..], &id.to_le_bytes(), &rows.to_le_bytes()].concat()
}

fn of_statement(code: u8, id: u32) -> Vec<u8> {
    [&[code][..], &id.to_le_bytes()].concat()
}

#[tokio::test]
async fn rows_are_fetched_as_from_one_server() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let one = prepare("SELECT id, v, t FROM ticket WHERE id = 2");
    let merged = prepare("SELECT id, v, t FROM ticket ORDER BY id DESC");
    let empty = prepare("SELECT id FROM ticket WHERE id > 100");
    let old = modern() - CapabilityFlags::CLIENT_DEPRECATE_EOF;
    for capabilities in [modern(), old] {
        for (prepared, fetches) in [
            (&one, &[1, 1, 1][..]),
            (&one, &[10, 1]),
            (&merged, &[1, 2, 1, 1, 1]),
            (&merged, &[3, 9, 9]),
            (&merged, &[4, 4, 4]),
            (&empty, &[1, 1]),
        ] {
            let run = execute(1, 1);
            let fetches: Vec<Vec<u8>> = fetches.iter().map(|rows| fetch(1, *rows)).collect();
            let mut commands: Vec<(&[u8], Reply)> =
                vec![(prepared, Reply::Prepare), (&run, Reply::Command)];
            commands.extend(fetches.iter().map(|command| (&command[..], Reply::Fetch)));
            // Once more. (Without a cursor after one with it, MySQL 9.7.4 sends no rows.)
            commands.push((&run, Reply::Command));
            commands.push((&fetches[0], Reply::Fetch));
            sides.same(capabilities, &commands)?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn cursors_stay_open_beside_each_other_and_beside_other_statements() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let text = prepare("SELECT id, v FROM ticket ORDER BY id");
    let single = prepare("SELECT id, v FROM ticket WHERE id = 3");
    let insert = query("INSERT INTO ticket VALUES (50, 1, NULL)");
    let delete = query("DELETE FROM ticket WHERE id = 50");
    let count = query("SELECT COUNT(*) FROM whole");
    let (open_1, open_2, open_3) = (execute(1, 1), execute(2, 1), execute(3, 1));
    let (one_1, one_2, one_3) = (fetch(1, 1), fetch(2, 2), fetch(3, 1));
    let (reset, closed) = (of_statement(0x1A, 1), fetch(9, 1));
    let commands: Vec<(&[u8], Reply)> = vec![
        (&text, Reply::Prepare),
        // The same text, with a cursor of its own.
        (&text, Reply::Prepare),
        (&single, Reply::Prepare),
        (b"\x03BEGIN", Reply::Command),
        (&open_1, Reply::Command),
        (&one_1, Reply::Fetch),
        (&open_2, Reply::Command),
        (&open_3, Reply::Command),
        (&insert, Reply::Command),
        (&one_2, Reply::Fetch),
        (&count, Reply::Command),
        (&one_1, Reply::Fetch),
        (&one_3, Reply::Fetch),
        (&delete, Reply::Command),
        (b"\x03COMMIT", Reply::Command),
        (&one_3, Reply::Fetch),
        (&one_1, Reply::Fetch),
        (&reset, Reply::Command),
        (&one_1, Reply::Fetch),
        (&one_2, Reply::Fetch),
        (&closed, Reply::Fetch),
        (b"\x1f", Reply::Command),
        (&one_2, Reply::Fetch),
    ];
    // What begins a transaction is told to those who track it.
    sides.same_but(modern(), &commands, |packet| {
        packet.get(4) == Some(&0) && packet.len() > 11
    })
}

#[tokio::test]
async fn a_large_cursor_takes_no_memory_of_the_sidecar() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let port = sides.shards.sidecar.port();
    let mut client = Raw::connect(port, modern())?;
    for from in [1000, 2000, 3000, 4000] {
        let rows: Vec<String> = (from..from + 1000)
            .map(|id| format!("({id}, 1, REPEAT('r', 16000))"))
            .collect();
        client.run(&format!("INSERT INTO ticket VALUES {}", rows.join(", ")))?;
    }
    client.answer(
        &prepare("SELECT id, t FROM ticket WHERE id >= 1000 ORDER BY id"),
        Reply::Prepare,
    )?;
    let before = sides.sidecar_memory()?;
    client.answer(&execute(1, 1), Reply::Command)?;
    let mut rows = 0;
    loop {
        let packets = client.answer(&fetch(1, 100), Reply::Fetch)?;
        rows += packets.len() - 1;
        let last = packets.last().map(|end| end[7]).unwrap_or_default();
        if last & 0x80 != 0 {
            break;
        }
    }
    ensure!(rows == 4000, "{rows}");
    let grown = sides.sidecar_memory()?.saturating_sub(before);
    ensure!(grown < 24 << 20, "{grown} bytes for 64 MB of rows");
    Ok(())
}

#[tokio::test]
async fn a_server_that_goes_away_takes_its_cursors_with_it() -> Result<()> {
    let mut sides = Sides::start(&[]).await?;
    let port = sides.shards.sidecar.port();
    let mut client = Raw::connect(port, modern())?;
    client.answer(
        &prepare("SELECT id FROM ticket ORDER BY id"),
        Reply::Prepare,
    )?;
    client.answer(&execute(1, 1), Reply::Command)?;
    sides.shards.servers.pop();
    let (code, text) = error_in(&client.answer(&fetch(1, 9), Reply::Fetch)?)?;
    ensure!(code == 2013, "{code} {text}");
    Ok(())
}
