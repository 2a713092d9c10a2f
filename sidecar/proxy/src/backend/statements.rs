//! Which statements are prepared on one connection.

use std::collections::HashMap;

/// How many statements a connection keeps prepared. MySQL allows 16,382 for a whole server by
/// default; 16 clients on each of a few sidecars stay below that.
const CAPACITY: usize = 128;
/// How many bytes their texts may take: more than as many ordinary ones have. A longer one is
/// kept alone.
const MOST_BYTES: usize = 4 << 20;

/// Prepared statements of one connection, by text; the one used longest ago goes first.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    by_text: HashMap<Box<[u8]>, Prepared, ahash::RandomState>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Prepared {
    id: u32,
    used: u64,
}

impl Statements {
    /// The id of the statement with this text.
    pub(crate) fn get(&mut self, text: &[u8]) -> Option<u32> {
        self.clock += 1;
        let prepared = self.by_text.get_mut(text)?;
        prepared.used = self.clock;
        Some(prepared.id)
    }

    /// Remembers a statement; gives the ids of those that must be closed for it: another of the
    /// same text, or the ones used longest ago.
    pub(crate) fn insert(&mut self, text: &[u8], id: u32) -> Vec<u32> {
        self.clock += 1;
        let prepared = Prepared {
            id,
            used: self.clock,
        };
        if let Some(known) = self.by_text.get_mut(text) {
            return vec![std::mem::replace(known, prepared).id];
        }
        let mut evicted = Vec::new();
        while self.by_text.len() >= CAPACITY || self.bytes + text.len() > MOST_BYTES {
            let Some(id) = self.evict() else {
                break;
            };
            evicted.push(id);
        }
        self.bytes += text.len();
        self.by_text.insert(text.into(), prepared);
        evicted
    }

    /// Forgets the statement used longest ago and gives its id.
    pub(crate) fn evict(&mut self) -> Option<u32> {
        let oldest = self.by_text.iter().min_by_key(|(_, p)| p.used)?.0.clone();
        self.bytes -= oldest.len();
        self.by_text.remove(&oldest).map(|p| p.id)
    }

    /// Forgets all: the server closed them.
    pub(crate) fn clear(&mut self) {
        self.by_text.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [u32; 0] = [];

    #[test]
    fn the_statement_used_longest_ago_is_closed_for_a_new_one() {
        let mut statements = Statements::default();
        for id in 0..CAPACITY as u32 {
            assert_eq!(
                statements.insert(format!("SELECT {id}").as_bytes(), id),
                NONE
            );
        }
        assert_eq!(statements.get(b"SELECT 0"), Some(0));
        assert_eq!(statements.insert(b"SELECT 'new'", 999), [1]);
        assert_eq!(statements.get(b"SELECT 1"), None);
        assert_eq!(statements.get(b"SELECT 0"), Some(0));
    }

    #[test]
    fn a_text_that_is_prepared_again_leaves_one_statement() {
        let mut statements = Statements::default();
        assert_eq!(statements.insert(b"SELECT 1", 1), NONE);
        assert_eq!(statements.insert(b"SELECT 1", 2), [1]);
        assert_eq!(statements.get(b"SELECT 1"), Some(2));
    }

    #[test]
    fn long_texts_make_room_for_each_other() {
        let mut statements = Statements::default();
        statements.insert(b"SELECT 1", 1);
        let long = |c: u8| vec![c; MOST_BYTES / 2 + 1];
        assert_eq!(statements.insert(&long(b'a'), 2), NONE);
        assert_eq!(statements.insert(&long(b'b'), 3), [1, 2]);
        assert_eq!(statements.insert(&vec![b'c'; 2 * MOST_BYTES], 4), [3]);
        assert_eq!(statements.insert(b"SELECT 1", 5), [4]);
        assert_eq!(statements.get(b"SELECT 1"), Some(5));
    }

    #[test]
    fn a_reset_forgets_all() {
        let mut statements = Statements::default();
        statements.insert(b"SELECT 1", 1);
        statements.clear();
        assert_eq!(statements.get(b"SELECT 1"), None);
    }
}
