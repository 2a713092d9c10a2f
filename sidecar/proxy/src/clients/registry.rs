//! All clients that are logged in.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

use remora_protocol::ErrPacket;

use super::{Entry, Who};

use crate::locked::locked;

/// All clients that are logged in. Its lock is taken when one comes, becomes somebody else or
/// leaves, and by those who look; never for a statement.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    entries: HashMap<u32, Arc<Entry>>,
    /// How many connections each user has.
    of_user: HashMap<Vec<u8>, u32>,
}

impl All {
    fn count(&mut self, user: &[u8], limit: Option<u32>) -> Result<(), ErrPacket<'static>> {
        let count = self.of_user.entry(user.to_vec()).or_default();
        if let Some(limit) = limit
            && *count >= limit
        {
            return Err(too_many(user, *count));
        }
        *count += 1;
        Ok(())
    }

    fn uncount(&mut self, user: &[u8]) {
        if let Some(count) = self.of_user.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                self.of_user.remove(user);
            }
        }
    }
}

/// A client's entry; when it is dropped the client is no more.
#[derive(Debug)]
pub(crate) struct Registered {
    registry: Arc<Registry>,
    entry: Arc<Entry>,
}

impl Registry {
    fn all(&self) -> MutexGuard<'_, All> {
        locked(&self.all)
    }

    /// Adds a client, of whose user there may be so many.
    ///
    /// # Errors
    /// MySQL's 1226, if there are so many already.
    pub(crate) fn add(
        self: &Arc<Self>,
        id: u32,
        who: Who,
        socket: OwnedFd,
        limit: Option<u32>,
    ) -> Result<Registered, ErrPacket<'static>> {
        let mut all = self.all();
        all.count(&who.user, limit)?;
        let entry = Arc::new(Entry::new(id, who, socket));
        all.entries.insert(id, Arc::clone(&entry));
        Ok(Registered {
            registry: Arc::clone(self),
            entry,
        })
    }

    /// The client with this id.
    pub(crate) fn get(&self, id: u32) -> Option<Arc<Entry>> {
        self.all().entries.get(&id).cloned()
    }

    /// Those clients for which `wanted` says so, by their ids.
    pub(crate) fn those(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let all = self.all();
        let entries = all.entries.values().filter(|entry| wanted(entry));
        let mut those: Vec<_> = entries.cloned().collect();
        drop(all);
        those.sort_unstable_by_key(|entry| entry.id());
        those
    }
}

impl Registered {
    /// The entry, to share.
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// The client becomes somebody else, of whom there may be so many.
    ///
    /// # Errors
    /// As [`Registry::add`]; it is then still who it was.
    pub(crate) fn become_user(
        &self,
        who: Who,
        limit: Option<u32>,
    ) -> Result<(), ErrPacket<'static>> {
        let before = self.entry.who().user;
        let mut all = self.registry.all();
        all.uncount(&before);
        if let Err(error) = all.count(&who.user, limit) {
            all.count(&before, None)?;
            return Err(error);
        }
        self.entry.become_user(who);
        Ok(())
    }
}

impl std::ops::Deref for Registered {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let user = self.entry.who().user;
        let mut all = self.registry.all();
        all.entries.remove(&self.entry.id());
        all.uncount(&user);
    }
}

/// MySQL's 1226.
fn too_many(user: &[u8], count: u32) -> ErrPacket<'static> {
    let user = String::from_utf8_lossy(user);
    ErrPacket::new(
        1226,
        *b"42000",
        format!(
            "User '{user}' has exceeded the 'max_user_connections' resource (current value: \
             {count})"
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use remora_protocol::Password;

    use super::*;

    fn who(user: &str) -> Who {
        Who {
            user: user.into(),
            password: Password::default(),
            host: String::new(),
        }
    }

    fn socket() -> OwnedFd {
        UnixStream::pair().unwrap().0.into()
    }

    #[test]
    fn a_user_has_no_more_connections_than_it_may() {
        let registry = Arc::new(Registry::default());
        let first = registry.add(1, who("app"), socket(), Some(2)).unwrap();
        let second = registry.add(2, who("app"), socket(), Some(2)).unwrap();
        let refused = registry.add(3, who("app"), socket(), Some(2)).unwrap_err();
        assert_eq!(refused.code, 1226);
        assert!(refused.to_string().contains("(current value: 2)"));
        let other = registry.add(4, who("report"), socket(), Some(2)).unwrap();

        assert!(other.become_user(who("app"), Some(2)).is_err());
        assert!(other.is_of(b"report"));
        drop(first);
        other.become_user(who("app"), Some(2)).unwrap();
        second.become_user(who("app"), Some(2)).unwrap();
        assert!(registry.add(5, who("app"), socket(), Some(2)).is_err());
        let ids = |all: Vec<Arc<Entry>>| all.iter().map(|entry| entry.id()).collect::<Vec<_>>();
        assert_eq!(ids(registry.those(|_| true)), [2, 4]);
        drop((second, other));
        assert!(registry.get(2).is_none());
        assert!(registry.all().of_user.is_empty());
    }
}
