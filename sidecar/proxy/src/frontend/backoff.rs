//! Logins that fail again and again.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::locked::locked;

/// So many failures cost nothing: people mistype, and passwords change.
const FREE: u32 = 3;
/// The wait before the next attempt after them; it doubles with each failure.
const FIRST: Duration = Duration::from_millis(100);
/// The longest wait. Clients' own time-outs are longer.
const LONGEST: Duration = Duration::from_secs(3);
/// How many attempts of one source as one user wait at the same time; others wait behind them.
const AT_ONCE: usize = 4;
/// How many sources and users are remembered in each of the two halves of the memory: some 200
/// bytes each.
const REMEMBERED: usize = 4096;
/// More of a user's name is not remembered; MySQL's have at most 32 characters.
const NAME: usize = 32 * 4;

/// Who tries to log in: from where, as whom. Nobody else is held up for its failures.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Applicant {
    address: IpAddr,
    user: Vec<u8>,
}

impl Applicant {
    pub(crate) fn new(address: IpAddr, user: &[u8]) -> Self {
        let address = match address {
            // Whoever has one IPv6 address has all of its network.
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => IpAddr::V4(v4),
                None => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
            },
            v4 @ IpAddr::V4(_) => v4,
        };
        let user = user.get(..NAME).unwrap_or(user).to_vec();
        Self { address, user }
    }
}

/// What is remembered of those who failed.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    memory: Mutex<Memory>,
}

/// Two halves, of which the older is forgotten when the younger is full: so that it stays bounded
/// without a search for the oldest.
#[derive(Debug, Default)]
struct Memory {
    young: HashMap<Applicant, Record>,
    old: HashMap<Applicant, Record>,
}

#[derive(Clone, Debug)]
struct Record {
    failures: u32,
    gate: Arc<Semaphore>,
}

/// An attempt that may go on. Others of the same applicant wait until it is judged.
#[derive(Debug)]
pub(crate) struct Attempt {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Memory {
    fn get(&self, applicant: &Applicant) -> Option<&Record> {
        self.young
            .get(applicant)
            .or_else(|| self.old.get(applicant))
    }
}

impl Backoff {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        locked(&self.memory)
    }

    /// Holds an attempt up for as long as the failures before it demand.
    pub(crate) async fn admit(&self, applicant: &Applicant) -> Attempt {
        let record = self.memory().get(applicant).cloned();
        let Some(record) = record.filter(|record| record.failures >= FREE) else {
            return Attempt { _permit: None };
        };
        // It is never closed.
        let permit = record.gate.acquire_owned().await.ok();
        // Those before it may have got in, or have failed.
        let failures = self.memory().get(applicant).map_or(0, |r| r.failures);
        tokio::time::sleep(wait(failures)).await;
        Attempt { _permit: permit }
    }

    /// Notes that an attempt failed.
    pub(crate) fn failed(&self, applicant: &Applicant) {
        let mut memory = self.memory();
        let before = memory.get(applicant).cloned();
        let mut record = before.unwrap_or_else(|| Record {
            failures: 0,
            gate: Arc::new(Semaphore::new(AT_ONCE)),
        });
        record.failures = record.failures.saturating_add(1);
        if memory.young.len() >= REMEMBERED && !memory.young.contains_key(applicant) {
            memory.old = std::mem::take(&mut memory.young);
        }
        memory.young.insert(applicant.clone(), record);
    }

    /// Notes that an attempt succeeded: what was before is forgotten.
    pub(crate) fn succeeded(&self, applicant: &Applicant) {
        let mut memory = self.memory();
        memory.young.remove(applicant);
        memory.old.remove(applicant);
    }
}

/// How long the attempt after so many failures waits.
fn wait(failures: u32) -> Duration {
    match failures.checked_sub(FREE) {
        None => Duration::ZERO,
        Some(more) => FIRST.saturating_mul(1 << more.min(16)).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn applicant(address: &str, user: &str) -> Applicant {
        Applicant::new(address.parse().unwrap(), user.as_bytes())
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        let millis = [0, 2, 3, 4, 5, 40].map(|failures| wait(failures).as_millis());
        assert_eq!(millis, [0, 0, 100, 200, 400, 3000]);
    }

    #[test]
    fn a_network_of_addresses_is_one_source() {
        let of = |address| applicant(address, "app");
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_failed_is_held_up_and_only_until_it_succeeds() {
        let backoff = Backoff::default();
        let guilty = applicant("10.0.0.1", "app");
        for _ in 0..6 {
            backoff.failed(&guilty);
        }
        let waited = async |applicant: &Applicant| {
            let began = tokio::time::Instant::now();
            drop(backoff.admit(applicant).await);
            began.elapsed()
        };
        assert!(waited(&guilty).await >= Duration::from_millis(800));
        for other in [
            applicant("10.0.0.1", "report"),
            applicant("10.0.0.2", "app"),
        ] {
            assert_eq!(waited(&other).await, Duration::ZERO);
        }
        backoff.succeeded(&guilty);
        assert_eq!(waited(&guilty).await, Duration::ZERO);
    }

    #[test]
    fn the_memory_is_bounded_and_costs_no_search() {
        let backoff = Backoff::default();
        let began = Instant::now();
        for number in 0..100_000 {
            backoff.failed(&applicant("10.0.0.1", &format!("user{number}")));
        }
        let memory = backoff.memory();
        assert!(memory.young.len() + memory.old.len() <= 2 * REMEMBERED);
        // Each is some microseconds; a search for the oldest would take minutes.
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
