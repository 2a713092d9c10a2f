//! Clients that are logging in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::locked::locked;

/// How many clients may be logging in at once. A login takes some milliseconds, so that thousands
/// a second find room; and one in progress costs some 10 KB here.
const ROOM: usize = 512;

/// Clients that are logging in: so many, and where another one comes, whoever has been at it for
/// longest goes. Clients that connect and say nothing thus stay in nobody's way, however many they
/// are and however long the time-out.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    last: u64,
    /// In the order in which they came.
    clients: BTreeMap<u64, Arc<Notify>>,
}

/// A place in the room.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<WaitingRoom>,
    number: u64,
    shown_out: Arc<Notify>,
}

impl WaitingRoom {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        locked(&self.inside)
    }

    /// Lets a client in.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let mut inside = self.inside();
        if inside.clients.len() >= ROOM
            && let Some((_, oldest)) = inside.clients.pop_first()
        {
            oldest.notify_one();
        }
        inside.last += 1;
        let number = inside.last;
        let shown_out = Arc::new(Notify::new());
        inside.clients.insert(number, Arc::clone(&shown_out));
        drop(inside);
        Place {
            room: Arc::clone(self),
            number,
            shown_out,
        }
    }

    /// How many are inside.
    pub(crate) fn len(&self) -> usize {
        self.inside().clients.len()
    }
}

impl Place {
    /// Ready once the client has to make room.
    pub(crate) async fn shown_out(&self) {
        self.shown_out.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.inside().clients.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_has_been_at_it_for_longest_makes_room() {
        let room = Arc::new(WaitingRoom::default());
        let mut places: Vec<Place> = (0..ROOM).map(|_| room.enter()).collect();
        let soon = Duration::from_millis(50);
        assert!(
            tokio::time::timeout(soon, places[0].shown_out())
                .await
                .is_err()
        );
        let another = room.enter();
        places[0].shown_out().await;
        assert_eq!(room.len(), ROOM);
        // One that is done makes room as well.
        drop(places.remove(5));
        let last = room.enter();
        assert!(
            tokio::time::timeout(soon, places[1].shown_out())
                .await
                .is_err()
        );
        drop((places, another, last));
        assert_eq!(room.len(), 0);
    }
}
