//! Names of transactions over several shards, and of their branches.

use std::fmt;

use rand::Rng as _;

/// The format of our branches' names: `REMO`. Clients cannot make any, since the planner refuses
/// their XA statements.
const FORMAT: u32 = 0x5245_4d4f;
/// Random bytes, which nobody guesses: whoever knows a branch's name may end it.
const RANDOM: usize = 16;
/// First shard, connection, own shard.
const QUALIFIER: usize = 2 + 8 + 2;

/// A transaction over several shards.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct TransactionId {
    random: [u8; RANDOM],
    first: u16,
    connection: u64,
}

impl TransactionId {
    /// A new one, whose first shard is reached by the connection that has this number there.
    pub(crate) fn new(first: usize, connection: u32) -> Self {
        let mut random = [0; RANDOM];
        rand::rng().fill(&mut random);
        Self {
            random,
            first: number(first),
            connection: connection.into(),
        }
    }

    /// The transaction of a row in the ledger of shard `first`.
    pub(super) fn of_row(first: usize, id: &[u8], connection: u64) -> Option<Self> {
        let mut random = [0; RANDOM];
        hex::decode_to_slice(id, &mut random).ok()?;
        Some(Self {
            random,
            first: number(first),
            connection,
        })
    }

    /// The shard that keeps the decision.
    pub(crate) fn first(self) -> usize {
        self.first.into()
    }

    /// The number of the coordinator's connection to the first shard.
    pub(super) fn connection(self) -> u64 {
        self.connection
    }

    /// The key of the decision, as a literal.
    pub(super) fn key(self) -> String {
        format!("X'{}'", hex::encode(self.random))
    }

    /// Its branch on `shard`.
    pub(crate) fn branch(self, shard: usize) -> Branch {
        Branch {
            of: self,
            shard: number(shard),
        }
    }
}

/// A manifest has at most 256 shards.
fn number(shard: usize) -> u16 {
    u16::try_from(shard).unwrap_or(u16::MAX)
}

/// The part of a transaction that is on a shard other than its first.
///
/// Displayed as XA statements have it: `X'…',X'…',1380273487`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Branch {
    of: TransactionId,
    shard: u16,
}

impl Branch {
    /// The transaction.
    pub(super) fn transaction(self) -> TransactionId {
        self.of
    }

    /// The shard.
    pub(super) fn shard(self) -> usize {
        self.shard.into()
    }

    /// Reads a row of `XA RECOVER CONVERT XID`: format, lengths of the two parts, and `0x` with
    /// both in hexadecimal. `None` for a name of somebody else's.
    pub(super) fn recovered(format: &[u8], lengths: [&[u8]; 2], data: &[u8]) -> Option<Self> {
        let is = |text: &[u8], expected: usize| text == expected.to_string().as_bytes();
        if format != FORMAT.to_string().as_bytes()
            || !is(lengths[0], RANDOM)
            || !is(lengths[1], QUALIFIER)
        {
            return None;
        }
        let mut bytes = [0; RANDOM + QUALIFIER];
        hex::decode_to_slice(data.strip_prefix(b"0x")?, &mut bytes).ok()?;
        let (random, rest) = bytes.split_first_chunk::<RANDOM>()?;
        let (first, rest) = rest.split_first_chunk::<2>()?;
        let (connection, rest) = rest.split_first_chunk::<8>()?;
        let (shard, _) = rest.split_first_chunk::<2>()?;
        let of = TransactionId {
            random: *random,
            first: u16::from_be_bytes(*first),
            connection: u64::from_be_bytes(*connection),
        };
        let shard = u16::from_be_bytes(*shard);
        Some(Self { of, shard })
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, shard } = self;
        write!(
            f,
            "X'{}',X'{:04x}{:016x}{shard:04x}',{FORMAT}",
            hex::encode(of.random),
            of.first,
            of.connection
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What XA RECOVER CONVERT XID shows of a name.
    fn shown(branch: Branch) -> String {
        let text = branch.to_string();
        let parts: Vec<_> = text.split('\'').collect();
        format!("0x{}{}", parts[1], parts[3])
    }

    proptest! {
        #[test]
        fn a_branch_is_known_again_by_the_name_that_mysql_shows(
            first in 0_usize..256, shard in 0_usize..256, connection: u32,
        ) {
            let branch = TransactionId::new(first, connection).branch(shard);
            let found = Branch::recovered(b"1380273487", [b"16", b"12"], shown(branch).as_bytes());
            prop_assert_eq!(found, Some(branch));
            prop_assert_eq!(found.map(|b| b.transaction().first()), Some(first));
        }

        #[test]
        fn any_name_is_read_without_a_panic(data: Vec<u8>) {
            let _ = Branch::recovered(b"1380273487", [b"16", b"12"], &data);
        }
    }

    #[test]
    fn names_of_others_are_left_alone() {
        let own = shown(TransactionId::new(1, 7).branch(2));
        assert_eq!(
            Branch::recovered(b"1", [b"16", b"12"], own.as_bytes()),
            None
        );
        assert_eq!(
            Branch::recovered(b"1380273487", [b"14", b"14"], own.as_bytes()),
            None
        );
    }

    #[test]
    fn two_transactions_never_have_one_name() {
        assert_ne!(TransactionId::new(0, 1), TransactionId::new(0, 1));
    }
}
