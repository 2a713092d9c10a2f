//! The kubelet's exec probe: does mysqld answer on its socket, in time?
//!
//! It asks in SQL's own protocol. A connection that is merely accepted proves nothing: a
//! mysqld that was stopped by SIGSTOP still has a kernel that accepts for it.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use remora_protocol::{
    ClientLogin, ClientOptions, ClientStep, Command, LoginError, PacketCodec, Password,
    ProtocolError, ServerIdentity,
};

use crate::{Question, files::RunDir};

/// The account that probes log in as, made by the agent: no password, USAGE alone.
const USER: &str = "remora_probe";

/// `ER_ACCESS_DENIED_ERROR`.
const ACCESS_DENIED: u16 = 1045;

/// No packet of a login or of a ping comes near.
const MAX_PACKET: usize = 64 * 1024;

/// Why a probe fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// The agent fenced this instance.
    #[error("fenced")]
    Fenced,
    /// The agent says that it is not fit to serve.
    #[error("{0}")]
    HeldBack(String),
    /// It does not answer.
    #[error("mysqld does not answer")]
    Silent(#[from] io::Error),
    /// It answers with something else.
    #[error("mysqld's answer is not MySQL's protocol")]
    Protocol(#[from] ProtocolError),
    /// It refuses.
    #[error("mysqld refuses the login")]
    Refused(#[source] LoginError),
}

/// Succeeds if mysqld answers a ping within `timeout`.
///
/// # Errors
/// [`ProbeError`]; its text is what `kubectl describe pod` shows.
pub(crate) fn probe(
    run_dir: &RunDir,
    question: Question,
    timeout: Duration,
) -> Result<(), ProbeError> {
    if run_dir.is_fenced() {
        return match question {
            Question::Ready => Err(ProbeError::Fenced),
            // The supervisor does what the fence asks; to restart it would change nothing.
            Question::Started | Question::Live => Ok(()),
        };
    }
    if question == Question::Ready
        && let Some(reason) = run_dir.held_back()
    {
        return Err(ProbeError::HeldBack(reason));
    }
    // Connecting to a Unix socket does not wait unless the backlog is full, which a frozen
    // server reaches after 151 connections; then the kubelet's own time-out ends the probe.
    let stream = match UnixStream::connect(run_dir.socket()) {
        Ok(stream) => stream,
        Err(error) if question == Question::Live && nobody_listens(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut conversation = Conversation {
        stream,
        deadline: Instant::now() + timeout,
        codec: PacketCodec::new(MAX_PACKET),
        incoming: BytesMut::new(),
        outgoing: BytesMut::new(),
    };
    match conversation.log_in() {
        // Before the agent made the account, a refusal is an answer too. For an account that
        // does not exist MySQL asks for a plugin drawn by chance, to give nothing away.
        Err(ProbeError::Refused(LoginError::Plugin(_))) => Ok(()),
        Err(ProbeError::Refused(LoginError::Server(error))) if error.code == ACCESS_DENIED => {
            Ok(())
        }
        Err(error) => Err(error),
        Ok(server) => conversation.ping(&server),
    }
}

/// mysqld is not there: it crashed, or recovers. The supervisor is at it, and kills that come in
/// step with the probes must not add up to a restart of the container with its back-off.
fn nobody_listens(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

struct Conversation {
    stream: UnixStream,
    deadline: Instant,
    codec: PacketCodec,
    incoming: BytesMut,
    outgoing: BytesMut,
}

impl Conversation {
    fn log_in(&mut self) -> Result<ServerIdentity, ProbeError> {
        let mut options = ClientOptions::new(USER, Password::new(Vec::new()));
        options.local_socket = true;
        let mut login = ClientLogin::new(options);
        loop {
            let packet = self.receive()?;
            let step = login
                .feed(&packet, &mut self.codec, &mut self.outgoing)
                .map_err(ProbeError::Refused)?;
            self.send()?;
            if let ClientStep::Done(server) = step {
                return Ok(server);
            }
        }
    }

    fn ping(&mut self, server: &ServerIdentity) -> Result<(), ProbeError> {
        let mut payload = BytesMut::new();
        Command::Ping.encode(server.capabilities, &mut payload)?;
        self.codec.restart();
        self.codec.encode(&payload, &mut self.outgoing);
        self.send()?;
        // OK, or an error such as "server shutdown in progress": either is an answer.
        self.receive().map(drop)
    }

    fn send(&mut self) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.remaining()?))?;
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn receive(&mut self) -> Result<BytesMut, ProbeError> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(packet) = self.codec.decode(&mut self.incoming)? {
                return Ok(packet);
            }
            self.stream.set_read_timeout(Some(self.remaining()?))?;
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                n => self.incoming.extend_from_slice(&chunk[..n]),
            }
        }
    }

    /// What is left of the time-out. A socket's own time-out counts each read anew, so it is
    /// set again before each.
    fn remaining(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(left)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);

    fn ask(run_dir: &RunDir, question: Question) -> Result<(), ProbeError> {
        probe(run_dir, question, PATIENCE)
    }

    #[test]
    fn a_mysqld_that_is_being_started_again_is_live_but_neither_started_nor_ready() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        assert!(ask(&run, Question::Live).is_ok(), "no socket");
        assert!(ask(&run, Question::Started).is_err());
        assert!(ask(&run, Question::Ready).is_err());

        drop(UnixListener::bind(run.socket()).unwrap());
        assert!(ask(&run, Question::Live).is_ok(), "a stale socket");
        assert!(ask(&run, Question::Started).is_err());
        assert!(ask(&run, Question::Ready).is_err());
    }

    #[test]
    fn a_frozen_mysqld_whose_kernel_accepts_is_not_live() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        let _frozen = UnixListener::bind(run.socket()).unwrap();
        for question in [Question::Live, Question::Started, Question::Ready] {
            assert!(matches!(ask(&run, question), Err(ProbeError::Silent(_))));
        }
    }

    #[test]
    fn a_replica_that_its_agent_holds_back_is_not_ready_for_the_reason_it_gives() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        fs::write(run.unready(), "it is being cloned").unwrap();
        assert!(ask(&run, Question::Live).is_ok());
        let error = ask(&run, Question::Ready).unwrap_err();
        assert_eq!(error.to_string(), "it is being cloned");
    }

    #[test]
    fn a_fenced_instance_is_live_and_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().to_owned());
        fs::write(run.fence(), b"epoch 7").unwrap();
        assert!(ask(&run, Question::Live).is_ok());
        assert!(matches!(
            ask(&run, Question::Ready),
            Err(ProbeError::Fenced)
        ));
    }
}
