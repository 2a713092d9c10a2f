//! Noticing clients that went away while their statements run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Entry;
use crate::proxy::Proxy;

/// How often sockets are looked at.
const ROUND: Duration = Duration::from_millis(100);
/// A command that has run for so long has its client's socket looked at. Shorter ones are over
/// before anything could be interrupted, and cost nothing here.
const LONG: Duration = Duration::from_millis(150);

impl Proxy {
    /// Interrupts what runs for clients that are gone, for as long as the process lives.
    ///
    /// A session that waits for a server does not look at its client: waiting for two things at
    /// once would cost each statement more than this costs all of them together.
    pub async fn watch_clients(self: Arc<Self>) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            let now = Instant::now();
            let long = self
                .clients()
                .those(|entry| entry.may_be_orphaned(now, LONG));
            for entry in gone(&long) {
                if entry.send_away() {
                    tokio::spawn(Arc::clone(&self).cancel(Arc::clone(entry)));
                }
            }
        }
    }
}

/// Those whose clients closed their sockets, whatever they sent before.
fn gone(entries: &[Arc<Entry>]) -> impl Iterator<Item = &Arc<Entry>> {
    let mut sockets: Vec<_> = entries
        .iter()
        .map(|entry| PollFd::new(entry.socket(), PollFlags::RDHUP))
        .collect();
    let closed = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    // Where it fails nothing is known of anybody, and the next round asks again.
    let asked = sockets.is_empty() || poll(&mut sockets, Some(&Timespec::default())).is_ok();
    let ends: Vec<bool> = sockets
        .iter()
        .map(|socket| asked && socket.revents().intersects(closed))
        .collect();
    entries
        .iter()
        .zip(ends)
        .filter_map(|(entry, ended)| ended.then_some(entry))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use remora_protocol::Password;

    use super::super::Who;
    use super::*;

    #[test]
    fn a_client_that_closed_is_gone_also_behind_what_it_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut entries = Vec::new();
        let mut clients = Vec::new();
        for id in 0..3 {
            clients.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let socket = listener.accept().unwrap().0.into();
            let who = Who {
                user: Vec::new(),
                password: Password::default(),
                host: String::new(),
            };
            entries.push(Arc::new(Entry::new(id, who, socket)));
        }
        assert_eq!(gone(&entries).count(), 0);
        clients[1].write_all(b"left behind").unwrap();
        clients[2].write_all(b"still there").unwrap();
        drop(clients.remove(1));
        let ids: Vec<u32> = gone(&entries).map(|entry| entry.id()).collect();
        assert_eq!(ids, [1]);
    }
}
