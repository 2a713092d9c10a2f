//! A client that shows each packet as it comes, and sends whatever the test says.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::{Buf as _, BytesMut};
use remora_e2e::mysql::MysqlServer;
use remora_protocol::{
    CapabilityFlags, ClientLogin, ClientOptions, ClientStep, CompressedCodec, Compression,
    ErrPacket, Event, PacketCodec, Password, Reply, ReplyScanner, backend_wish, server_offer,
};

/// No answer of these tests takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long an answer may pause: it comes in one piece from a server beside the test.
const QUIET: Duration = Duration::from_millis(40);

/// A connection of the application's account.
pub(super) struct Raw {
    stream: TcpStream,
    buffer: BytesMut,
    codec: PacketCodec,
    compressed: Option<(CompressedCodec, BytesMut)>,
    pub(super) capabilities: CapabilityFlags,
}

/// What a modern client asks for, without session tracking: what it tells names connections.
pub(super) fn modern() -> CapabilityFlags {
    let left_out = CapabilityFlags::CLIENT_SESSION_TRACK
        | CapabilityFlags::CLIENT_QUERY_ATTRIBUTES
        | CapabilityFlags::CLIENT_COMPRESS
        | CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM
        | CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_NO_SCHEMA
        | CapabilityFlags::CLIENT_IGNORE_SPACE
        | CapabilityFlags::CLIENT_FOUND_ROWS;
    backend_wish(server_offer()) - left_out
}

impl Raw {
    pub(super) fn connect(port: u16, wanted: CapabilityFlags) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let account = MysqlServer::APPLICATION;
        let password = Password::new(account.password.as_bytes());
        let mut options = ClientOptions::new(account.name, password);
        options.database = Some(b"shop".to_vec());
        options.capabilities = wanted;
        let mut login = ClientLogin::new(options);
        let mut raw = Self {
            stream,
            buffer: BytesMut::new(),
            codec: PacketCodec::new(1 << 30),
            compressed: None,
            capabilities: CapabilityFlags::empty(),
        };
        loop {
            let payload = raw.packet()?.context("closed during the login")?;
            let mut out = BytesMut::new();
            let step = login.feed(&payload, &mut raw.codec, &mut out)?;
            raw.stream.write_all(&out)?;
            if let ClientStep::Done(server) = step {
                // The library adds what it cannot do without; what it was not asked for, it does
                // not know how to read.
                raw.capabilities = server.capabilities;
                let compression = Compression::agreed(server.capabilities, 0);
                raw.compressed = compression.map(|it| (CompressedCodec::new(it), BytesMut::new()));
                if raw.compressed.is_some() {
                    raw.codec.take_any_sequence();
                }
                return Ok(raw);
            }
        }
    }

    /// Sends a command.
    pub(super) fn send(&mut self, command: &[u8]) -> Result<()> {
        self.codec.restart();
        if let Some((codec, _)) = &mut self.compressed {
            codec.restart(false);
        }
        self.send_on(command)
    }

    /// Sends a packet behind one of the server's.
    pub(super) fn send_on(&mut self, payload: &[u8]) -> Result<()> {
        let mut out = BytesMut::new();
        self.codec.encode(payload, &mut out);
        if let Some((codec, _)) = &mut self.compressed {
            let plain = out.split();
            codec.encode(&plain, &mut out);
        }
        Ok(self.stream.write_all(&out)?)
    }

    /// The next packet's payload; `None` where the server closed.
    pub(super) fn packet(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(payload) = self.codec.decode(&mut self.buffer)? {
                return Ok(Some(payload.to_vec()));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn fill(&mut self) -> Result<bool> {
        let mut piece = vec![0; 64 * 1024];
        if let Some((codec, raw)) = &mut self.compressed {
            while !codec.decode(raw, &mut self.buffer, 1 << 20)? {
                let n = self.stream.read(&mut piece)?;
                if n == 0 {
                    return Ok(false);
                }
                raw.extend_from_slice(&piece[..n]);
            }
            return Ok(true);
        }
        let n = self.stream.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..n]);
        Ok(n > 0)
    }

    /// All packets of an answer, headers included.
    pub(super) fn answer(&mut self, command: &[u8], reply: Reply) -> Result<Vec<Vec<u8>>> {
        self.send(command)?;
        self.rest(reply)
    }

    /// The packets of an answer whose command was sent.
    pub(super) fn rest(&mut self, reply: Reply) -> Result<Vec<Vec<u8>>> {
        let mut scanner = ReplyScanner::new(reply, self.capabilities, self.codec.sequence())
            .surface_columns(true)
            .surface_rows(true);
        let mut packets = Vec::new();
        loop {
            let found = scanner.scan(&self.buffer)?;
            ensure!(found.skip < 32, "{} bytes of no event", found.skip);
            // Only ends of definitions in the old protocol are passed over.
            if found.skip > 0 {
                packets.push(self.buffer[..found.skip].to_vec());
            }
            let end = found.skip + found.len;
            if found.len > 0 {
                packets.push(self.buffer[found.skip..end].to_vec());
            }
            self.buffer.advance(end);
            match found.event {
                _ if scanner.is_done() => {
                    self.codec.set_sequence(scanner.sequence());
                    return Ok(packets);
                }
                Event::Infile => {
                    self.codec.set_sequence(scanner.sequence());
                    return Ok(packets);
                }
                Event::NeedMore => {
                    ensure!(self.fill()?, "closed in an answer, after {packets:02x?}");
                }
                _ => {}
            }
        }
    }

    /// The same without numbers, which under compression are nobody's.
    pub(super) fn answer_unnumbered(
        &mut self,
        command: &[u8],
        reply: Reply,
    ) -> Result<Vec<Vec<u8>>> {
        self.send(command)?;
        let mut scanner = ReplyScanner::new(reply, self.capabilities, 0)
            .surface_columns(true)
            .surface_rows(true);
        let mut packets = Vec::new();
        let mut sequence = 0;
        while !scanner.is_done() {
            let payload = self.packet()?.context("closed in an answer")?;
            let mut framed = BytesMut::new();
            remora_protocol::encode_packet(&mut sequence, &payload, &mut framed);
            let found = scanner.scan(&framed)?;
            ensure!(found.skip + found.len == framed.len(), "{found:?}");
            packets.push(payload);
            // What has no packet of its own follows at once.
            scanner.scan(b"")?;
        }
        Ok(packets)
    }

    /// The bytes of an answer that no scanner knows, until nothing more comes for a while.
    pub(super) fn until_quiet(&mut self, command: &[u8]) -> Result<Vec<u8>> {
        self.send(command)?;
        let mut all = Vec::new();
        loop {
            all.extend_from_slice(&self.buffer.split());
            let patience = if all.is_empty() { PATIENCE } else { QUIET };
            self.stream.set_read_timeout(Some(patience))?;
            match self.fill() {
                Ok(true) => {}
                Ok(false) => bail!("closed in an answer"),
                Err(_) if !all.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        self.stream.set_read_timeout(Some(PATIENCE))?;
        Ok(all)
    }

    /// The answer to a statement as text.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Vec<u8>>> {
        self.answer(&query(sql), Reply::Command)
    }

    /// Runs a statement that must succeed.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        let packets = self.query(sql)?;
        match packets.last() {
            Some(last) if last.get(4) == Some(&0xFF) => {
                bail!("{sql}: {}", ErrPacket::decode(&last[4..])?)
            }
            _ => Ok(()),
        }
    }
}

/// COM_QUERY, of a client without attributes.
pub(super) fn query(sql: &str) -> Vec<u8> {
    [b"\x03", sql.as_bytes()].concat()
}

/// COM_STMT_PREPARE.
pub(super) fn prepare(sql: &str) -> Vec<u8> {
    [b"\x16", sql.as_bytes()].concat()
}

/// The error in the only packet of an answer.
pub(super) fn error_in(packets: &[Vec<u8>]) -> Result<(u16, String)> {
    let last = packets.last().context("no packet")?;
    let error = ErrPacket::decode(last.get(4..).unwrap_or_default())?;
    Ok((
        error.code,
        String::from_utf8_lossy(&error.message).into_owned(),
    ))
}

/// What a person can read of packets.
pub(super) fn shown(packets: &[Vec<u8>]) -> String {
    packets
        .iter()
        .map(|packet| {
            let cut = &packet[..packet.len().min(80)];
            format!("\n  {}", cut.escape_ascii())
        })
        .collect()
}
