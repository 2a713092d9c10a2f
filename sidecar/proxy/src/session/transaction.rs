//! The session's transaction. It lives on one shard: that of its first statement.

use remora_protocol::{ErrPacket, StatusFlags};

use super::memory::EACH;

/// A transaction as the session sees it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Transaction {
    /// None is open.
    #[default]
    None,
    /// The client began one; no server knows yet.
    Begun {
        /// BEGIN as the client wrote it, and each SAVEPOINT since; sent before the first
        /// statement.
        opening: Vec<Vec<u8>>,
        /// Its savepoints, in order.
        savepoints: Vec<Vec<u8>>,
        /// START TRANSACTION READ ONLY.
        read_only: bool,
    },
    /// It runs on this shard.
    Open {
        /// The shard.
        shard: usize,
        /// Whether MySQL says that it is READ ONLY.
        read_only: bool,
    },
}

impl Transaction {
    /// Whether one is open, known to a server or not.
    pub(crate) fn is_open(&self) -> bool {
        *self != Self::None
    }

    /// The shard that it is bound to.
    pub(crate) fn shard(&self) -> Option<usize> {
        match self {
            Self::Open { shard, .. } => Some(*shard),
            _ => None,
        }
    }

    /// What is kept for the server that will run it, in bytes.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Begun {
                opening,
                savepoints,
                ..
            } => opening
                .iter()
                .chain(savepoints)
                .map(|text| text.len() + EACH)
                .sum(),
            _ => 0,
        }
    }

    /// Its part of the status flags.
    pub(crate) fn status(&self) -> StatusFlags {
        let (open, read_only) = match self {
            Self::None => (false, false),
            Self::Begun { read_only, .. } | Self::Open { read_only, .. } => (true, *read_only),
        };
        let mut status = StatusFlags::empty();
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS, open);
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY, read_only);
        status
    }

    /// What a server's status flags say after a statement on `shard`.
    /// Other shards' flags say nothing about a transaction that is open on its own.
    pub(crate) fn observe(&mut self, shard: usize, status: StatusFlags) {
        if self.shard().is_some_and(|own| own != shard) {
            return;
        }
        let read_only = status.contains(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY);
        if status.contains(StatusFlags::SERVER_STATUS_IN_TRANS) {
            *self = Self::Open { shard, read_only };
        } else if !matches!(self, Self::Begun { .. }) {
            *self = Self::None;
        }
    }
}

/// The refusal of a statement that would need another shard inside a transaction.
pub(crate) fn second_shard() -> ErrPacket<'static> {
    ErrPacket::new(
        1235,
        *b"42000",
        "This version of Remora doesn't yet support transactions over more than one shard; \
         COMMIT first, or keep to rows of one sharding key",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_TRANS: StatusFlags = StatusFlags::SERVER_STATUS_IN_TRANS;

    #[test]
    fn a_transaction_belongs_to_the_shard_whose_status_shows_it() {
        let mut transaction = Transaction::None;
        transaction.observe(2, IN_TRANS);
        assert_eq!(transaction.shard(), Some(2));
        transaction.observe(2, StatusFlags::empty());
        assert_eq!(transaction, Transaction::None);
    }

    #[test]
    fn another_shard_does_not_end_a_transaction() {
        let mut transaction = Transaction::None;
        transaction.observe(1, IN_TRANS);
        transaction.observe(0, StatusFlags::empty());
        assert_eq!(transaction.shard(), Some(1));
    }

    #[test]
    fn one_that_no_server_knows_yet_survives_answers_of_servers() {
        let begun = Transaction::Begun {
            opening: vec![b"BEGIN".to_vec()],
            savepoints: Vec::new(),
            read_only: false,
        };
        let mut transaction = begun.clone();
        transaction.observe(0, StatusFlags::empty());
        assert_eq!(transaction, begun);
        assert!(transaction.status().contains(IN_TRANS));
    }
}
