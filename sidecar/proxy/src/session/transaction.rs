//! The session's transaction: which shards it is on, and what a further one must go through.

use remora_protocol::StatusFlags;

use super::memory::EACH;
use crate::atomic::TransactionId;

/// A transaction as the session sees it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Transaction {
    /// None is open.
    #[default]
    None,
    /// The client began one; no server knows yet.
    Begun(Begun),
    /// It runs.
    Open(Open),
    /// One of its shards ended it (a deadlock): it must be rolled back on the others.
    Torn(Open),
}

/// A transaction that no server knows yet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Begun {
    /// SET TRANSACTION statements before it.
    pub(crate) characteristics: Vec<Vec<u8>>,
    /// BEGIN as the client wrote it, and each SAVEPOINT since; sent before the first
    /// statement. Empty where MySQL begins a transaction by itself.
    pub(crate) opening: Vec<Vec<u8>>,
    /// Its savepoints, in order.
    pub(crate) savepoints: Savepoints,
    /// START TRANSACTION READ ONLY.
    pub(crate) read_only: bool,
    /// START TRANSACTION READ WRITE, whatever the session's default is.
    pub(crate) read_write: bool,
    /// It is that of one statement of the client's, who began none.
    pub(crate) implicit: bool,
}

/// A transaction that servers know.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Open {
    /// The shard of its first statement, on which it is a plain one.
    pub(crate) first: usize,
    /// Whether MySQL says that it is READ ONLY.
    pub(crate) read_only: bool,
    /// Whether the client said that it is READ WRITE.
    pub(crate) read_write: bool,
    /// SET TRANSACTION statements that further shards must hear first.
    pub(crate) characteristics: Vec<Vec<u8>>,
    /// Its savepoints, in order: a shard that joins has them all, with nothing behind.
    pub(crate) savepoints: Savepoints,
    /// It is that of one statement of the client's, who began none.
    pub(crate) implicit: bool,
    /// The shards that joined, each with a branch.
    pub(crate) joined: Option<Joined>,
}

/// The shards that joined a transaction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Joined {
    /// The name of the whole.
    pub(crate) id: TransactionId,
    /// The shards, in the order in which they came.
    pub(crate) shards: Vec<usize>,
    /// Those on which something ran that is not known to have read only.
    pub(crate) written: Vec<usize>,
}

/// Names of savepoints, in the order in which they were set. MySQL compares them without
/// regard to case.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Savepoints {
    names: Vec<Vec<u8>>,
}

impl Savepoints {
    /// SAVEPOINT: one of the same name is forgotten.
    pub(super) fn set(&mut self, name: &[u8]) {
        self.names.retain(|other| !other.eq_ignore_ascii_case(name));
        self.names.push(name.to_vec());
    }

    /// ROLLBACK TO: later ones are gone. Answers whether there is one of this name.
    pub(super) fn return_to(&mut self, name: &[u8]) -> bool {
        let found = self.position(name);
        self.names
            .truncate(found.map_or(self.names.len(), |at| at + 1));
        found.is_some()
    }

    /// RELEASE: it and later ones are gone. Answers whether there was one of this name.
    pub(super) fn release(&mut self, name: &[u8]) -> bool {
        let found = self.position(name);
        self.names.truncate(found.unwrap_or(self.names.len()));
        found.is_some()
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let is = |other: &Vec<u8>| other.eq_ignore_ascii_case(name);
        self.names.iter().position(is)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The statements that set them all.
    pub(super) fn statements(&self) -> impl Iterator<Item = Vec<u8>> {
        self.names.iter().map(|name| {
            let mut sql = b"SAVEPOINT `".to_vec();
            for byte in name {
                sql.push(*byte);
                if *byte == b'`' {
                    sql.push(b'`');
                }
            }
            sql.push(b'`');
            sql
        })
    }
}

impl Open {
    /// Whether it is on `shard`.
    pub(crate) fn includes(&self, shard: usize) -> bool {
        self.first == shard || self.others().contains(&shard)
    }

    /// The shards that joined.
    pub(crate) fn others(&self) -> &[usize] {
        self.joined.as_ref().map_or(&[], |joined| &joined.shards)
    }

    /// Notes that something runs on `shard` that may write.
    pub(super) fn writes(&mut self, shard: usize) {
        if let Some(joined) = &mut self.joined
            && joined.shards.contains(&shard)
            && !joined.written.contains(&shard)
        {
            joined.written.push(shard);
        }
    }

    /// All its shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(self.first).chain(self.others().iter().copied())
    }
}

impl Transaction {
    /// Whether one is open, known to a server or not.
    pub(crate) fn is_open(&self) -> bool {
        *self != Self::None
    }

    /// The shard that it began on.
    pub(crate) fn first(&self) -> Option<usize> {
        match self {
            Self::Open(open) | Self::Torn(open) => Some(open.first),
            Self::None | Self::Begun(_) => None,
        }
    }

    /// Whether it is open on `shard`.
    pub(crate) fn includes(&self, shard: usize) -> bool {
        matches!(self, Self::Open(open) | Self::Torn(open) if open.includes(shard))
    }

    /// Whether it is on several shards.
    pub(crate) fn is_spread(&self) -> bool {
        matches!(
            self,
            Self::Open(Open {
                joined: Some(_),
                ..
            }) | Self::Torn(_)
        )
    }

    /// Whether it is that of one statement, whose client began none.
    pub(crate) fn is_implicit(&self) -> bool {
        matches!(self, Self::Open(open) if open.implicit)
    }

    /// What is kept for servers that will run it, in bytes.
    pub(super) fn held(&self) -> usize {
        let texts: [&[Vec<u8>]; 3] = match self {
            Self::None => return 0,
            Self::Begun(begun) => [
                &begun.characteristics,
                &begun.opening,
                &begun.savepoints.names,
            ],
            Self::Open(open) | Self::Torn(open) => {
                [&open.characteristics, &[], &open.savepoints.names]
            }
        };
        let texts = texts.into_iter().flatten();
        texts.map(|text| text.len() + EACH).sum()
    }

    /// Its part of the status flags.
    pub(crate) fn status(&self) -> StatusFlags {
        let (open, read_only) = match self {
            Self::None => (false, false),
            Self::Begun(begun) => (true, begun.read_only),
            Self::Open(open) | Self::Torn(open) => (true, open.read_only),
        };
        let mut status = StatusFlags::empty();
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS, open);
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY, read_only);
        status
    }

    /// What a server's status flags say after a statement on `shard`. Flags of shards that it is
    /// not on say nothing about it.
    pub(crate) fn observe(&mut self, shard: usize, status: StatusFlags) {
        let goes_on = status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
        let read_only = status.contains(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY);
        match self {
            Self::Open(open) if open.includes(shard) => {
                if goes_on {
                    open.read_only |= read_only;
                } else if open.joined.is_some() {
                    *self = Self::Torn(std::mem::take(open));
                } else {
                    *self = Self::None;
                }
            }
            Self::None if goes_on => {
                *self = Self::Open(Open {
                    first: shard,
                    read_only,
                    ..Open::default()
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_TRANS: StatusFlags = StatusFlags::SERVER_STATUS_IN_TRANS;

    fn spread() -> Transaction {
        Transaction::Open(Open {
            first: 1,
            joined: Some(Joined {
                id: TransactionId::new(1, 7),
                shards: vec![0],
                written: vec![0],
            }),
            ..Open::default()
        })
    }

    #[test]
    fn a_transaction_begins_on_the_shard_whose_status_shows_it() {
        let mut transaction = Transaction::None;
        transaction.observe(2, IN_TRANS);
        assert_eq!(transaction.first(), Some(2));
        transaction.observe(2, StatusFlags::empty());
        assert_eq!(transaction, Transaction::None);
    }

    #[test]
    fn another_shard_does_not_end_a_transaction() {
        let mut transaction = Transaction::None;
        transaction.observe(1, IN_TRANS);
        transaction.observe(0, StatusFlags::empty());
        assert_eq!(transaction.first(), Some(1));
    }

    #[test]
    fn one_that_no_server_knows_yet_survives_answers_of_servers() {
        let mut transaction = Transaction::Begun(Begun::default());
        transaction.observe(0, StatusFlags::empty());
        assert_eq!(transaction, Transaction::Begun(Begun::default()));
        assert!(transaction.status().contains(IN_TRANS));
    }

    #[test]
    fn one_over_several_shards_is_torn_by_any_of_them_and_by_no_other() {
        for shard in [0, 1] {
            let before = spread();
            let mut transaction = before.clone();
            transaction.observe(shard, IN_TRANS);
            assert_eq!(transaction, before);
            transaction.observe(shard, StatusFlags::empty());
            assert!(matches!(transaction, Transaction::Torn(_)));
        }
        let mut transaction = spread();
        transaction.observe(2, StatusFlags::empty());
        assert!(transaction.is_spread() && !transaction.includes(2));
    }

    #[test]
    fn savepoints_follow_the_rules_of_mysql() {
        let mut savepoints = Savepoints::default();
        for name in ["a", "b", "A", "c`d"] {
            savepoints.set(name.as_bytes());
        }
        let all: Vec<_> = savepoints.statements().collect();
        assert_eq!(
            all,
            [&b"SAVEPOINT `b`"[..], b"SAVEPOINT `A`", b"SAVEPOINT `c``d`"]
        );
        assert!(savepoints.return_to(b"a") && savepoints.len() == 2);
        assert!(!savepoints.return_to(b"c`d"));
        assert!(savepoints.release(b"B") && savepoints.len() == 0);
    }
}
