//! Compression towards clients.

use std::process::Command;

use super::*;

#[tokio::test]
async fn compressed_answers_are_the_same() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    for compression in [
        CapabilityFlags::CLIENT_COMPRESS,
        CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
    ] {
        let capabilities = modern() | compression;
        let large = format!(
            "SELECT '{}' AS a, REPEAT('xyz', 9000000) AS b",
            "q".repeat(100_000)
        );
        let commands: [(&[u8], Reply); 8] = [
            (b"\x0e", Reply::Command),
            (&query("SELECT * FROM ticket ORDER BY id"), Reply::Command),
            (&query("SELECT * FROM ticket WHERE id = 3"), Reply::Command),
            (&query("SELECT 1; SELECT 2; SELECT no_such"), Reply::Command),
            (&query(&large), Reply::Command),
            (
                &prepare("SELECT * FROM ticket WHERE id = 2"),
                Reply::Prepare,
            ),
            (b"\x17\x01\0\0\0\0\x01\0\0\0", Reply::Command),
            (b"\x1f", Reply::Command),
        ];
        // What is inside has numbers of its own: contents are compared.
        let [plain, sidecar] = sides.both(capabilities, |client| {
            let mut contents = Vec::new();
            for (command, reply) in commands {
                for packet in client.answer_unnumbered(command, reply)? {
                    contents.push(packet);
                }
            }
            Ok(contents)
        })?;
        ensure!(plain == sidecar, "{compression:?}");
    }
    Ok(())
}

#[tokio::test]
async fn mysqls_own_client_compresses() -> Result<()> {
    let sides = Sides::start(&[]).await?;
    let root = MysqlRoot::get()?;
    let answers = |port: u16, how: &[&str], text: &str| -> Result<String> {
        let mut command: Command = root.command("usr/bin/mysql");
        let account = MysqlServer::APPLICATION;
        command
            .args(["--no-defaults", "-h127.0.0.1", "--batch", "shop"])
            .arg(format!("-P{port}"))
            .arg(format!("-u{}", account.name))
            .arg(format!("-p{}", account.password))
            .args(how)
            .args(["-e", text]);
        let done = command.output()?;
        ensure!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        Ok(String::from_utf8(done.stdout)?)
    };
    let text = "SELECT REPEAT('remora', 500000); SELECT * FROM ticket ORDER BY id";
    let [plain, sidecar] = sides.ports();
    let expected = answers(plain, &["--compression-algorithms=uncompressed"], text)?;
    for how in [
        &["--compression-algorithms=zlib"][..],
        &["--compression-algorithms=zstd"],
        &[
            "--compression-algorithms=zstd",
            "--zstd-compression-level=19",
        ],
        &[
            "--compression-algorithms=zlib",
            "--ssl-mode=DISABLED",
            "--get-server-public-key",
        ],
        &["--compression-algorithms=zstd,zlib,uncompressed"],
    ] {
        let got = answers(sidecar, how, text)?;
        ensure!(got == expected, "{how:?}: {} bytes", got.len());
        // A text that is long enough to be compressed on its way there.
        let long = format!("SELECT LENGTH('{}')", "r".repeat(90_000));
        let length = answers(sidecar, how, &long)?;
        ensure!(
            length.trim_end().ends_with("90000"),
            "{how:?}: {length:.60}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_packet_that_swells_takes_no_memory() -> Result<()> {
    let sides = Sides::start(&["--max-allowed-packet=1M"]).await?;
    let port = sides.shards.sidecar.port();
    let before = sides.sidecar_memory()?;
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = Raw::connect(port, modern() | CapabilityFlags::CLIENT_COMPRESS)?;
        // 16 KB of compressed zeros are a command of 15 MiB.
        drop(client.send(&[&b"\x03"[..], &vec![0; 15 << 20]].concat()));
        clients.push(client);
    }
    for client in &mut clients {
        // The error counts as the answer to the first of the packets, which is not the last.
        drop(client.packet());
    }
    let grown = sides.sidecar_memory()?.saturating_sub(before);
    ensure!(grown < 32 << 20, "{grown} bytes");
    Ok(())
}
