//! Who is let in, and that nobody who knocks keeps the others out.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

/// `manifest()` with what it says of the user and of the sidecar.
fn with(user: Value, sidecar: Value) -> Value {
    let mut manifest = manifest();
    let mut named = json!({"name": "app"});
    if let (Some(named), Value::Object(user)) = (named.as_object_mut(), user) {
        named.extend(user);
    }
    manifest["spec"]["users"] = json!([named]);
    manifest["spec"]["sidecar"] = sidecar;
    manifest
}

/// A client that is made by hand, and does what no library would.
struct Raw {
    stream: TcpStream,
    nonce: Vec<u8>,
}

impl Raw {
    /// Connects and reads the greeting.
    async fn connect(port: u16) -> Result<Self> {
        let mut raw = Self {
            stream: TcpStream::connect(("127.0.0.1", port)).await?,
            nonce: Vec::new(),
        };
        let greeting = raw.read().await?;
        // Protocol, version, id; then a part of the nonce, and the other behind 19 bytes.
        let version = greeting
            .iter()
            .position(|b| *b == 0)
            .context("no version")?;
        let first = version + 1 + 4;
        raw.nonce = greeting[first..first + 8].to_vec();
        raw.nonce.extend(&greeting[first + 27..first + 39]);
        Ok(raw)
    }

    /// The payload of the next packet.
    async fn read(&mut self) -> Result<Vec<u8>> {
        let read = async {
            let mut head = [0; 4];
            self.stream.read_exact(&mut head).await?;
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let mut payload = vec![0; length as usize];
            self.stream.read_exact(&mut payload).await?;
            Ok(payload)
        };
        timeout(Duration::from_secs(20), read).await?
    }

    async fn send(&mut self, sequence: u8, payload: &[u8]) -> Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
        packet[3] = sequence;
        packet.extend(payload);
        Ok(self.stream.write_all(&packet).await?)
    }

    /// Answers the greeting by a plugin; `None`: as clients from before plugins.
    async fn respond(&mut self, auth: &[u8], plugin: Option<&str>) -> Result<Vec<u8>> {
        const PROTOCOL_41: u32 = 0x200;
        const SECURE_CONNECTION: u32 = 0x8000;
        const PLUGIN_AUTH: u32 = 0x8_0000;
        let plugins = if plugin.is_some() { PLUGIN_AUTH } else { 0 };
        let capabilities = PROTOCOL_41 | SECURE_CONNECTION | plugins;
        let mut response = capabilities.to_le_bytes().to_vec();
        response.extend((1_u32 << 24).to_le_bytes());
        response.push(45);
        response.extend([0; 23]);
        response.extend(b"app\0");
        response.push(u8::try_from(auth.len())?);
        response.extend(auth);
        if let Some(plugin) = plugin {
            response.extend(plugin.as_bytes());
            response.push(0);
        }
        self.send(1, &response).await?;
        self.read().await
    }

    /// `mysql_native_password`'s answer.
    fn native(&self, password: &str) -> Vec<u8> {
        let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
        let once = sha1(password.as_bytes());
        let mask = sha1(&[&self.nonce, sha1(once.as_ref()).as_ref()].concat());
        let pairs = once.as_ref().iter().zip(mask.as_ref());
        pairs.map(|(a, b)| a ^ b).collect()
    }
}

fn error_number(packet: &[u8]) -> Option<u16> {
    match packet {
        [0xff, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

#[tokio::test]
async fn clients_from_before_log_in_by_their_own_plugin() -> Result<()> {
    let (shards, _connection) = started().await?;
    let port = shards.sidecar.port();
    for plugin in [Some("mysql_native_password"), None] {
        for (password, right) in [(MysqlServer::APPLICATION.password, true), ("wrong", false)] {
            let mut raw = Raw::connect(port).await?;
            let answer = raw.respond(&raw.native(password), plugin).await?;
            match right {
                true => ensure!(answer[0] == 0, "{plugin:?}: {answer:?}"),
                false => ensure!(
                    error_number(&answer) == Some(1045),
                    "{plugin:?}: {answer:?}"
                ),
            }
            if right {
                raw.send(0, b"\x03SELECT 1 + 1").await?;
                ensure!(raw.read().await? == [1], "no result");
            }
        }
    }
    // Nobody is asked for a password in clear without TLS.
    let mut raw = Raw::connect(port).await?;
    let answer = raw.respond(b"", Some("mysql_clear_password")).await?;
    ensure!(
        answer.starts_with(b"\xfecaching_sha2_password\0"),
        "{answer:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_user_has_as_many_connections_as_the_manifest_says() -> Result<()> {
    let limited = with(json!({"maxConnections": 2}), json!({}));
    let shards = LocalShards::start(&MysqlRoot::get()?, &limited, &[]).await?;
    let port = shards.sidecar.port();
    // The one by which the start was seen leaves at its own pace.
    let first = until("a first", async || connect(port).await).await?;
    let second = until("a second", async || connect(port).await).await?;
    match connect(port).await {
        Err(error) => {
            let text = format!("{error:#}");
            ensure!(text.contains("max_user_connections"), "{text}");
        }
        Ok(_) => bail!("a third is let in"),
    }
    first.disconnect().await?;
    let third = until("another in its place", async || connect(port).await).await?;
    drop((second, third));
    Ok(())
}

#[tokio::test]
async fn a_password_may_be_left_out_where_the_manifest_says_so() -> Result<()> {
    let open = with(json!({"passwordless": true}), json!({}));
    let shards = LocalShards::start(&MysqlRoot::get()?, &open, &[]).await?;
    let as_app = |password| remora_e2e::mysql::Account {
        name: "app",
        password,
        grants: "",
    };
    for password in ["", MysqlServer::APPLICATION.password] {
        let mut connection = Conn::new(login(shards.sidecar.port(), &as_app(password))).await?;
        let answer: Option<u8> = connection.query_first("SELECT 2").await?;
        ensure!(answer == Some(2), "{answer:?}");
    }
    ensure!(
        Conn::new(login(shards.sidecar.port(), &as_app("wrong")))
            .await
            .is_err(),
        "a wrong password is taken"
    );
    Ok(())
}

#[tokio::test]
async fn a_user_of_whom_tls_is_asked_is_refused_without() -> Result<()> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(), &[]).await?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    for require in ["SSL", "X509"] {
        let asked = with(json!({"require": require}), json!({}));
        configure(shards.folder.path(), &asked, &ports)?;
        until("it is followed", async || {
            let mut raw = Raw::connect(shards.sidecar.port()).await?;
            let native = raw.native(MysqlServer::APPLICATION.password);
            let mut answer = raw.respond(&native, Some("mysql_native_password")).await?;
            if answer.starts_with(b"\xfe") {
                // It is asked for another plugin, as somebody whom nobody knows.
                raw.send(3, &[1; 32]).await?;
                answer = raw.read().await?;
            }
            ensure!(error_number(&answer) == Some(1045), "{require}: {answer:?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn failed_logins_slow_down_nobody_else_and_the_right_password_ends_it() -> Result<()> {
    let (shards, _connection) = started().await?;
    let port = shards.sidecar.port();
    for _ in 0..7 {
        let mut raw = Raw::connect(port).await?;
        let wrong = raw.native("wrong");
        let answer = raw.respond(&wrong, Some("mysql_native_password")).await?;
        ensure!(error_number(&answer) == Some(1045), "{answer:?}");
    }
    let mut late = connect(port).await?;
    late.query_drop("SELECT 1").await?;
    let began = Instant::now();
    for _ in 0..20 {
        connect(port).await?;
    }
    ensure!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_clients_keep_nobody_out() -> Result<()> {
    let (shards, mut good) = started().await?;
    let port = shards.sidecar.port();
    let before = shards.sidecar.process().resident_memory()?;
    // More than fit: they say nothing, or half of something.
    let mut slow = Vec::new();
    for number in 0..700 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        if number % 2 == 0 {
            // A head that announces more than comes.
            stream.write_all(&[200, 0, 0, 1, 0]).await?;
        }
        slow.push(stream);
        if number % 100 == 0 {
            good.query_drop("SELECT 1").await?;
            connect(port).await?.query_drop("SELECT 1").await?;
        }
    }
    // A wrong sequence, and lengths that nobody needs for a login.
    for packet in [&[1_u8, 0, 0, 7, 0][..], &[255, 255, 255, 1], &[0, 0, 0, 1]] {
        let mut raw = Raw::connect(port).await?;
        raw.stream.write_all(packet).await?;
        let answer = raw.read().await;
        ensure!(
            answer.as_ref().map_or(true, |answer| answer[0] == 0xff),
            "{packet:?}: {answer:?}"
        );
    }
    // And of one that is logged in: it is cut off, and its 64 MiB are not waited for.
    let mut raw = Raw::connect(port).await?;
    let native = raw.native(MysqlServer::APPLICATION.password);
    let answer = raw.respond(&native, Some("mysql_native_password")).await?;
    ensure!(answer[0] == 0, "{answer:?}");
    raw.stream.write_all(&[255, 255, 255, 9]).await?;
    let answer = raw.read().await?;
    ensure!(error_number(&answer).is_some(), "{answer:?}");
    // Thousands that come and go at once.
    let flood = tokio::spawn(async move {
        for _ in 0..5000 {
            // It may be that none of its own ports is free.
            drop(TcpStream::connect(("127.0.0.1", port)).await);
        }
    });
    while !flood.is_finished() {
        good.query_drop("SELECT 1").await?;
        let mut another = connect(port).await?;
        another.query_drop("SELECT 1").await?;
        another.disconnect().await?;
    }
    let grown = shards
        .sidecar
        .process()
        .resident_memory()?
        .saturating_sub(before);
    ensure!(grown < 128 << 20, "it took {grown} bytes");
    drop(slow);
    Ok(())
}

#[tokio::test]
async fn no_password_is_logged_whatever_is_logged() -> Result<()> {
    let shards = LocalShards::start(&MysqlRoot::get()?, &manifest(), &[]).await?;
    let ports: Vec<u16> = shards.servers.iter().map(MysqlServer::port).collect();
    let folder = tempfile::tempdir()?;
    let sidecar = Sidecar::start_logging(folder.path(), &manifest(), &ports, "trace").await?;
    let mut connection = connect(sidecar.port()).await?;
    connection.query_drop("SELECT 1").await?;
    // An account of MySQL's own gives its password in full.
    let unknown = remora_e2e::mysql::Account {
        name: "nobody",
        password: "unheard-of-secret",
        grants: "",
    };
    ensure!(
        Conn::new(login(sidecar.port(), &unknown)).await.is_err(),
        "nobody is let in"
    );
    let mut raw = Raw::connect(sidecar.port()).await?;
    let native = raw.native("other-secret");
    raw.respond(&native, Some("mysql_native_password")).await?;
    let log = std::fs::read_to_string(folder.path().join("sidecar.log"))?;
    ensure!(log.contains("TRACE"), "nothing is logged at trace level");
    for secret in [
        MysqlServer::APPLICATION.password,
        MysqlServer::SYSTEM.password,
        unknown.password,
        "other-secret",
    ] {
        ensure!(!log.contains(secret), "{secret} is in the log");
    }
    Ok(())
}
