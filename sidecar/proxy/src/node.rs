//! The number of this process among those that make keys by themselves.
//!
//! No two processes may have the same number at the same time, and there are few. So whoever
//! takes one holds a lock by its name on the first shard, for as long as its connection lives.

use std::time::Duration;

use remora_protocol::ErrPacket;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::backend::{Backend, BackendError};
use crate::sequence::Sequences;
use crate::session::HOME;
use crate::snowflake::{NODES, Snowflake};
use crate::system::System;
use crate::world::World;

/// The sequence that numbers nodes. No table has such a name.
const SEQUENCE: &str = " nodes";
/// A shard 0 that is away must not stop the writes of others: a node whose lock was lost with
/// it keeps its number, tries this often to lock it again, and lets a statement wait no longer
/// than that.
const RETRY: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_millis(200);

/// This process as a node, once it had to be one.
#[derive(Debug, Default)]
pub(crate) struct Node {
    held: Mutex<Option<Held>>,
}

/// A number, and the connection that holds its lock.
#[derive(Debug)]
struct Held {
    number: u64,
    snowflake: Snowflake,
    lock: Backend,
    tried: Instant,
}

impl Node {
    /// Gives the number up.
    pub(crate) async fn rest(&self) {
        self.held.lock().await.take();
    }

    /// Gives `count` keys.
    ///
    /// # Errors
    /// If the process has no number yet and shard 0 cannot be reached.
    pub(crate) async fn take(
        &self,
        sequences: &Sequences,
        system: &System,
        world: &World,
        count: usize,
    ) -> Result<Vec<u64>, BackendError> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_mut() {
            if held.lock.is_gone() && held.tried.elapsed() > RETRY {
                held.tried = Instant::now();
                let again = claim(sequences, system, world, Some(held.number));
                match tokio::time::timeout(PATIENCE, again).await {
                    // Time and counter must not go back under the same number.
                    Ok(Ok(again)) if again.number == held.number => held.lock = again.lock,
                    Ok(Ok(again)) => *held = again,
                    Ok(Err(error)) => tracing::warn!(%error, "The node's number is not locked"),
                    Err(_) => tracing::warn!("The node's number is not locked: timed out"),
                }
            }
            return Ok(held.snowflake.take(count));
        }
        let claimed = claim(sequences, system, world, None).await?;
        Ok(held.insert(claimed).snowflake.take(count))
    }
}

/// Takes the number `before` if nobody has it, else the next ones in turn.
async fn claim(
    sequences: &Sequences,
    system: &System,
    world: &World,
    mut before: Option<u64>,
) -> Result<Held, BackendError> {
    let mut lock = system.connect(world, HOME).await?;
    let refused = |error| BackendError::Server { shard: HOME, error };
    let stay = lock.query(STAY).await?.finish().await?;
    stay.map_err(refused)?;
    for _ in 0..=NODES {
        let number = match before.take() {
            Some(number) => number,
            None => sequences.number(system, world, SEQUENCE).await? % NODES,
        };
        let ask = format!("SELECT GET_LOCK('remora_node_{number}', 0) LIMIT 1");
        let answer = lock.table(ask.as_bytes()).await?.map_err(refused)?;
        if answer.text(0) == "1" {
            return Ok(Held {
                number,
                snowflake: Snowflake::new(number),
                lock,
                tried: Instant::now(),
            });
        }
    }
    let message = format!("All {NODES} numbers of sidecars that generate keys are in use");
    Err(refused(ErrPacket::new(1467, *b"HY000", message)))
}

/// MySQL closes what rests for eight hours by default; this is the longest time that it takes.
const STAY: &[u8] = b"SET SESSION wait_timeout = 31536000";
