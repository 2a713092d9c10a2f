//! LOAD DATA LOCAL INFILE.

use super::*;

fn loading() -> CapabilityFlags {
    modern() | CapabilityFlags::CLIENT_LOCAL_FILES
}

/// Lets the client be asked for a file and sends these packets of it. Gives all answers.
fn load(client: &mut Raw, sql: &str, packets: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
    let mut all = client.answer(&query(sql), Reply::Command)?;
    if all.last().and_then(|last| last.get(4)) != Some(&0xFB) {
        return Ok(all);
    }
    for packet in packets {
        client.send_on(packet)?;
    }
    client.send_on(b"")?;
    all.extend(client.rest(Reply::Command)?);
    Ok(all)
}

#[tokio::test]
async fn a_file_of_the_clients_is_loaded_into_a_table_that_is_not_sharded() -> Result<()> {
    let sides = Sides::start(&["--local-infile=ON"]).await?;
    let rows: Vec<String> = (10..2000)
        .map(|id| format!("{id}\t{id}\ttext {id}\n"))
        .collect();
    let whole = rows.concat();
    let large = format!("5000\t1\t{}\n", "w".repeat(17 << 20));
    let (front, back) = whole.as_bytes().split_at(1000);
    let sql = "LOAD DATA LOCAL INFILE 'rows.tsv' INTO TABLE plain";
    let cases: [(&str, Vec<&[u8]>); 8] = [
        (sql, vec![front, back]),
        // All of them are there; they are skipped, with warnings.
        (sql, vec![whole.as_bytes()]),
        ("SHOW COUNT(*) WARNINGS", Vec::new()),
        (sql, vec![]),
        (sql, vec![large.as_bytes()]),
        (
            "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE plain (id, v)",
            vec![b"10\tno number\n"],
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE no_such",
            vec![b"1\n"],
        ),
        ("SELECT COUNT(*), SUM(v), SUM(LENGTH(t)) FROM plain", vec![]),
    ];
    let [plain, sidecar] = sides.both(loading(), |client| {
        client.run("DELETE FROM plain")?;
        let load = |(sql, packets): &(&str, Vec<&[u8]>)| load(client, sql, packets);
        cases.iter().map(load).collect::<Result<Vec<_>>>()
    })?;
    for (at, (sql, _)) in cases.iter().enumerate() {
        ensure!(
            plain[at] == sidecar[at],
            "{sql}\nMySQL: {}\nsidecar: {}",
            shown(&plain[at]),
            shown(&sidecar[at])
        );
    }
    // The same compressed, where packets have no numbers to compare.
    let [plain, sidecar] = sides.both(loading() | CapabilityFlags::CLIENT_COMPRESS, |client| {
        client.answer_unnumbered(&query("DELETE FROM plain"), Reply::Command)?;
        client.send(&query(sql))?;
        let asked = client.packet()?;
        client.send_on(whole.as_bytes())?;
        client.send_on(b"")?;
        let counted = query("SELECT COUNT(*), SUM(LENGTH(t)) FROM plain");
        let loaded = client.packet()?;
        Ok((
            asked,
            loaded,
            client.answer_unnumbered(&counted, Reply::Command)?,
        ))
    })?;
    ensure!(plain == sidecar, "{plain:?} {sidecar:?}");
    Ok(())
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_leaves_nothing_of_its_file() -> Result<()> {
    let sides = Sides::start(&["--local-infile=ON"]).await?;
    let port = sides.shards.sidecar.port();
    let mut client = Raw::connect(port, loading())?;
    let asked = client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE plain (id)")?;
    ensure!(asked[0][4] == 0xFB, "{}", shown(&asked));
    client.send_on(b"1\n2\n3\n")?;
    drop(client);
    let mut other = Raw::connect(port, modern())?;
    remora_e2e::patience::until("the server has ended it", async || {
        let list = other.query("SELECT COUNT(*) FROM plain FOR UPDATE")?;
        ensure!(list[2][5..] == b"0"[..], "{}", shown(&list));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn files_are_refused_as_mysql_refuses_them() -> Result<()> {
    let sides = Sides::start(&["--local-infile=OFF"]).await?;
    let sql = query("LOAD DATA LOCAL INFILE 'x' INTO TABLE plain");
    sides.same(loading(), &[(&sql, Reply::Command)])?;
    sides.same(modern(), &[(&sql, Reply::Command)])
}
