//! SET TRANSACTION without SESSION: what the next transaction begins with.

use super::memory::EACH;

/// What a SET TRANSACTION is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Characteristics {
    /// The isolation level.
    pub(crate) isolation: bool,
    /// READ ONLY or READ WRITE.
    pub(crate) access: bool,
}

impl Characteristics {
    /// Whether `self` leaves nothing of what `other` set.
    fn covers(self, other: Self) -> bool {
        (self.isolation || !other.isolation) && (self.access || !other.access)
    }
}

/// The statements to run before whatever opens the next transaction, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct NextTransaction {
    sets: Vec<(Characteristics, Vec<u8>)>,
}

impl NextTransaction {
    /// Adds a statement; earlier ones that it overrides are forgotten.
    pub(crate) fn put(&mut self, what: Characteristics, sql: &[u8]) {
        self.sets.retain(|(earlier, _)| !what.covers(*earlier));
        self.sets.push((what, sql.to_vec()));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Takes the statements: a transaction begins.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sets)
            .into_iter()
            .map(|(_, sql)| sql)
            .collect()
    }

    /// What it takes, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.sets.iter().map(|(_, sql)| sql.len() + EACH).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Characteristics = Characteristics {
        isolation: true,
        access: false,
    };
    const ACCESS: Characteristics = Characteristics {
        isolation: false,
        access: true,
    };
    const BOTH: Characteristics = Characteristics {
        isolation: true,
        access: true,
    };

    #[test]
    fn a_repeated_set_transaction_takes_the_place_of_the_one_before() {
        let mut next = NextTransaction::default();
        for _ in 0..1000 {
            next.put(LEVEL, b"level");
            next.put(ACCESS, b"access");
        }
        assert_eq!(next.take(), [b"level".to_vec(), b"access".to_vec()]);
        assert_eq!(next.held(), 0);
    }

    #[test]
    fn what_another_leaves_standing_is_kept_before_it() {
        let mut next = NextTransaction::default();
        next.put(BOTH, b"both");
        next.put(LEVEL, b"level");
        assert_eq!(next.take(), [b"both".to_vec(), b"level".to_vec()]);
        next.put(LEVEL, b"level");
        next.put(BOTH, b"both");
        assert_eq!(next.take(), [b"both".to_vec()]);
    }
}
