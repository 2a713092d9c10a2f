//! What others may know of one client.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use remora_protocol::{Command, Password};
use rustix::net::{Shutdown, shutdown};

use super::lease::{Connection, Shield};

use crate::locked::locked;

/// Moments are kept as numbers, which the watcher reads without a lock.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How much of a statement's text is kept for others to see: as much as MySQL's own
/// `performance_schema_max_sql_text_length`.
const TEXT: usize = 1024;
/// What is shown in place of a text that others must not see.
const VEILED: &[u8] = b"(a statement on encrypted columns)";

/// As whom a client is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    /// Its user.
    pub(crate) user: Vec<u8>,
    /// The user's password, with which statements are interrupted in its name.
    pub(crate) password: Password,
    /// Its host and port, as MySQL names them.
    pub(crate) host: String,
}

/// One client that is logged in.
///
/// What a command costs here: a lock that nobody waits for, three times, two looks at the clock,
/// and a copy of at most [`TEXT`] bytes into room that is kept; some 150 ns of the 25 µs that a
/// point select takes.
#[derive(Debug)]
pub(crate) struct Entry {
    id: u32,
    now: Mutex<Now>,
    /// Since when a command runs; 0 while none does.
    busy_since: AtomicU64,
    /// How many commands were begun.
    commands: AtomicU64,
    /// What runs goes on when the client is gone.
    steadfast: AtomicBool,
    /// The client is gone or was sent away.
    left: AtomicBool,
    /// The client's socket, to look at and to shut; the session's own handle does the rest.
    socket: OwnedFd,
    /// That of the gateway which serves the client.
    gateway: Mutex<Option<OwnedFd>>,
    connections: Mutex<Vec<Arc<Connection>>>,
}

#[derive(Debug)]
struct Now {
    who: Who,
    database: Option<String>,
    command: &'static str,
    since: Instant,
    /// The statement; room that is used again.
    text: Vec<u8>,
}

/// An entry as SHOW PROCESSLIST shows it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The session's id.
    pub(crate) id: u32,
    /// Its user.
    pub(crate) user: Vec<u8>,
    /// Its host.
    pub(crate) host: String,
    /// Its database.
    pub(crate) database: Option<String>,
    /// What it does.
    pub(crate) command: &'static str,
    /// Since when.
    pub(crate) since: Instant,
    /// The statement, if it runs one.
    pub(crate) text: Option<Vec<u8>>,
}

/// What an idle session's command is called.
pub(crate) const SLEEP: &str = "Sleep";

impl Entry {
    pub(super) fn new(id: u32, who: Who, socket: OwnedFd) -> Self {
        LazyLock::force(&EPOCH);
        Self {
            id,
            now: Mutex::new(Now {
                who,
                database: None,
                command: "Connect",
                since: Instant::now(),
                text: Vec::new(),
            }),
            busy_since: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            steadfast: AtomicBool::new(false),
            left: AtomicBool::new(false),
            socket,
            gateway: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    /// The session's id, which its client was greeted with.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// As whom the client is logged in.
    pub(crate) fn who(&self) -> Who {
        locked(&self.now).who.clone()
    }

    /// Whether the client is logged in as `user`.
    pub(crate) fn is_of(&self, user: &[u8]) -> bool {
        locked(&self.now).who.user == user
    }

    pub(super) fn become_user(&self, who: Who) {
        locked(&self.now).who = who;
    }

    /// Notes the client's current database.
    pub(crate) fn enters(&self, database: Option<&str>) {
        locked(&self.now).database = database.map(str::to_owned);
    }

    /// Notes that a command begins.
    pub(crate) fn begins(&self, command: &Command<'_>) {
        let since = Instant::now();
        {
            let mut now = locked(&self.now);
            now.command = named(command);
            now.since = since;
            now.text.clear();
        }
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.busy_since.store(millis(since), Ordering::Release);
    }

    /// Notes which statement the command runs.
    pub(crate) fn runs(&self, sql: &[u8]) {
        let text = &mut locked(&self.now).text;
        text.clear();
        text.extend_from_slice(sql.get(..TEXT).unwrap_or(sql));
    }

    /// Notes that the command runs a statement whose text others must not see: values of encrypted
    /// columns are in it.
    pub(crate) fn runs_veiled(&self) {
        self.runs(VEILED);
    }

    /// Notes that the command is answered.
    pub(crate) fn rests(&self) {
        self.busy_since.store(0, Ordering::Release);
        self.steadfast.store(false, Ordering::Relaxed);
        let mut now = locked(&self.now);
        now.command = SLEEP;
        now.since = Instant::now();
    }

    /// Lets what runs go on when the client is gone, until the command ends: what is half done
    /// would have to be mended by hand.
    pub(crate) fn goes_on(&self) {
        self.steadfast.store(true, Ordering::Relaxed);
    }

    /// The number of the command that runs; `None` while none does.
    pub(super) fn command(&self) -> Option<u64> {
        let busy = self.busy_since.load(Ordering::Acquire) != 0;
        busy.then(|| self.commands.load(Ordering::Relaxed))
    }

    /// Whether a command has run for longer than `least`, and ends with its client.
    pub(super) fn may_be_orphaned(&self, now: Instant, least: Duration) -> bool {
        let since = self.busy_since.load(Ordering::Acquire);
        since != 0
            && millis(now).saturating_sub(since) > least.as_millis() as u64
            && !self.steadfast.load(Ordering::Relaxed)
            && !self.has_left()
    }

    /// Whether the client is gone or was sent away.
    pub(super) fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// The client's socket.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Sends the client away: its session meets a closed socket and ends as if the client had
    /// left. Answers whether it was there until now.
    pub(super) fn send_away(&self) -> bool {
        // It may be closed already.
        let _ = shutdown(&self.socket, Shutdown::Both);
        !self.left.swap(true, Ordering::Relaxed)
    }

    /// Notes the socket of the gateway that serves the client; `None`: there is none any more.
    pub(crate) fn goes_through(&self, gateway: Option<OwnedFd>) {
        *locked(&self.gateway) = gateway;
    }

    /// Lets a gateway that serves the client know that it is gone.
    pub(super) fn leave_gateway(&self) {
        if let Some(gateway) = &*locked(&self.gateway) {
            // It may be closed already.
            let _ = shutdown(gateway, Shutdown::Both);
        }
    }

    pub(super) fn works_with(&self, connection: Arc<Connection>) {
        locked(&self.connections).push(connection);
    }

    pub(super) fn rests_with(&self, connection: &Arc<Connection>) {
        locked(&self.connections).retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// The connections that work for the client.
    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        locked(&self.connections).clone()
    }

    /// Lets nobody interrupt the session's connections while this is held, once nobody does.
    pub(crate) async fn shield(&self) -> Vec<Shield> {
        let mut shields = Vec::new();
        for connection in self.connections() {
            shields.push(connection.shield().await);
        }
        shields
    }

    /// The entry as others may see it.
    pub(crate) fn shown(&self) -> Shown {
        let now = locked(&self.now);
        let text = (now.command != SLEEP && !now.text.is_empty()).then(|| now.text.clone());
        Shown {
            id: self.id,
            user: now.who.user.clone(),
            host: now.who.host.clone(),
            database: now.database.clone(),
            command: now.command,
            since: now.since,
            text,
        }
    }
}

fn millis(moment: Instant) -> u64 {
    let since = moment.saturating_duration_since(*EPOCH).as_millis();
    // Never 0, which says that nothing runs.
    u64::try_from(since).unwrap_or(u64::MAX).max(1)
}

/// A command's name in MySQL's list.
fn named(command: &Command<'_>) -> &'static str {
    match command {
        Command::Quit => "Quit",
        Command::InitDb(_) => "Init DB",
        Command::Query(_) | Command::QueryWith(_) => "Query",
        Command::FieldList { .. } => "Field List",
        Command::Statistics => "Statistics",
        Command::ProcessInfo => "Processlist",
        Command::ProcessKill(_) => "Kill",
        Command::Debug => "Debug",
        Command::Ping => "Ping",
        Command::ChangeUser(_) => "Change user",
        Command::ResetConnection => "Reset Connection",
        Command::SetOption(_) => "Set option",
        Command::StmtPrepare(_) => "Prepare",
        Command::StmtExecute(_) => "Execute",
        Command::StmtSendLongData { .. } => "Long Data",
        Command::StmtClose(_) => "Close stmt",
        Command::StmtReset(_) => "Reset stmt",
        Command::StmtFetch { .. } => "Fetch",
        Command::Unknown(_) => "Error",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn entry() -> (Entry, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let who = Who {
            user: b"app".to_vec(),
            password: Password::new("secret"),
            host: "10.0.0.1:5".to_owned(),
        };
        (Entry::new(7, who, ours.into()), theirs)
    }

    #[test]
    fn a_statement_is_shown_while_it_runs_and_cut_where_mysql_cuts_it() {
        let (entry, _client) = entry();
        assert_eq!(entry.shown().command, "Connect");
        let long = [b'x'; 5000];
        entry.begins(&Command::Query(&long));
        entry.runs(&long);
        let shown = entry.shown();
        assert_eq!((shown.command, shown.text.unwrap().len()), ("Query", TEXT));
        entry.rests();
        let shown = entry.shown();
        assert_eq!((shown.command, shown.text), (SLEEP, None));
        entry.begins(&Command::Ping);
        assert_eq!(entry.shown().text, None);
        assert!(!format!("{entry:?}").contains("secret"));
    }

    #[test]
    fn only_what_runs_for_long_may_be_orphaned() {
        let (entry, _client) = entry();
        let (short, long) = (Duration::ZERO, Duration::from_secs(60));
        let later = Instant::now() + Duration::from_secs(30);
        assert!(!entry.may_be_orphaned(later, short));
        entry.begins(&Command::Query(b"SELECT 1"));
        assert!(entry.may_be_orphaned(later, short));
        assert!(!entry.may_be_orphaned(later, long));
        entry.goes_on();
        assert!(!entry.may_be_orphaned(later, short));
        entry.rests();
        entry.begins(&Command::Query(b"SELECT 1"));
        assert!(entry.may_be_orphaned(later, short));
        assert!(entry.send_away() && !entry.send_away());
        assert!(!entry.may_be_orphaned(later, short));
    }
}
