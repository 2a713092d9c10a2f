//! A gate: a TCP relay in front of a server that stops at words which pass it, so that a test can
//! kill or freeze a process at a known step.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// How long words may take to come by.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a connection stops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// The server does not hear the words.
    Before,
    /// The server hears them, and its answer does not come back.
    After,
}

/// A relay on a port of its own; it ends when this value is dropped.
#[derive(Debug)]
pub struct Gate {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    trap: Mutex<Option<(Vec<u8>, Stop)>>,
    sprung: Notify,
    /// Whether connections that stopped go on.
    open: watch::Sender<bool>,
}

impl Gate {
    /// Opens a gate to `port` of this machine.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn to(port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let own = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            trap: Mutex::new(None),
            sprung: Notify::new(),
            open: watch::Sender::new(true),
        });
        let accepting = tokio::spawn(accept(listener, port, shared.clone()));
        Ok(Self {
            port: own,
            shared,
            accepting,
        })
    }

    /// The gate's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the next connection on which a client says `words`.
    pub fn set(&self, words: &str, stop: Stop) {
        self.shared.open.send_replace(false);
        *lock(&self.shared.trap) = Some((words.as_bytes().to_vec(), stop));
    }

    /// Waits until a connection has stopped.
    ///
    /// # Errors
    /// If the words do not come by.
    pub async fn sprung(&self) -> Result<()> {
        tokio::time::timeout(PATIENCE, self.shared.sprung.notified())
            .await
            .context("the words did not come by the gate")
    }

    /// Lets what stopped go on.
    pub fn release(&self) {
        *lock(&self.shared.trap) = None;
        self.shared.open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
        self.release();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, port: u16, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
            continue;
        };
        // What one side writes at once reaches the other at once.
        let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else {
            continue;
        };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let held = Arc::new(watch::Sender::new(false));
        tokio::spawn(forth(from_client, to_server, shared.clone(), held.clone()));
        tokio::spawn(back(from_server, to_client, shared.clone(), held));
    }
}

/// From the client to the server.
async fn forth(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: Arc<Shared>,
    held: Arc<watch::Sender<bool>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let said = &buffer[..read];
        match shared.springs(said) {
            Some(Stop::Before) => {
                shared.sprung.notify_one();
                if !go_on(&mut from, &shared).await {
                    return;
                }
            }
            Some(Stop::After) => {
                held.send_replace(true);
            }
            None => {}
        }
        if to.write_all(said).await.is_err() {
            return;
        }
    }
}

/// Waits until the gate is opened; false if the client is gone before.
async fn go_on(from: &mut OwnedReadHalf, shared: &Shared) -> bool {
    let mut open = shared.open.subscribe();
    tokio::select! {
        opened = open.wait_for(|open| *open) => opened.is_ok(),
        // A client that waits says nothing more: it is readable when it is gone.
        _ = from.readable() => false,
    }
}

/// From the server to the client.
async fn back(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: Arc<Shared>,
    held: Arc<watch::Sender<bool>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if *held.borrow() {
            held.send_replace(false);
            shared.sprung.notify_one();
            let mut open = shared.open.subscribe();
            if open.wait_for(|open| *open).await.is_err() {
                return;
            }
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

impl Shared {
    /// Whether the trap is for these words; it springs once.
    fn springs(&self, said: &[u8]) -> Option<Stop> {
        let mut trap = lock(&self.trap);
        let (words, stop) = trap.as_ref()?;
        let stop = *stop;
        let found = said.windows(words.len()).any(|part| part == words);
        found.then(|| {
            *trap = None;
            stop
        })
    }
}
