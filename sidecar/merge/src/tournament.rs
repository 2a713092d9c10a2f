//! A tree of losers: the lowest of k with one comparison for each level of the tree.

/// Contestants are numbered from 0. Node `n` has the children `2n` and `2n + 1`, leaves follow
/// the inner nodes, and each inner node keeps whom the winner beat there.
#[derive(Debug)]
pub(crate) struct Tournament {
    losers: Vec<usize>,
    winner: usize,
}

impl Tournament {
    /// Lets all contestants meet. `before(a, b)` is whether `a` comes before `b`; it must order
    /// them strictly.
    pub(crate) fn new(contestants: usize, before: impl Fn(usize, usize) -> bool) -> Self {
        let mut winners = vec![0; contestants];
        winners.extend(0..contestants);
        let mut losers = vec![0; contestants];
        for node in (1..contestants).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if before(left, right) {
                (left, right)
            } else {
                (right, left)
            };
            winners[node] = winner;
            losers[node] = loser;
        }
        let winner = winners.get(1).copied().unwrap_or(0);
        Self { losers, winner }
    }

    pub(crate) fn winner(&self) -> usize {
        self.winner
    }

    /// Lets the winner, who has changed, meet again those whom it had beaten.
    pub(crate) fn replay(&mut self, before: impl Fn(usize, usize) -> bool) {
        let mut winner = self.winner;
        let mut node = (winner + self.losers.len()) / 2;
        while node > 0 {
            if before(self.losers[node], winner) {
                std::mem::swap(&mut self.losers[node], &mut winner);
            }
            node /= 2;
        }
        self.winner = winner;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_is_always_the_lowest(lists in proptest::collection::vec(
            proptest::collection::vec(0_u32..50, 0..20), 1..12,
        )) {
            let mut lists = lists;
            for list in &mut lists {
                list.sort_unstable_by(|a, b| b.cmp(a));
            }
            let mut expected: Vec<_> = lists.concat();
            expected.sort_unstable();
            let head = |lists: &[Vec<u32>], list: usize| {
                (lists[list].last().copied().unwrap_or(u32::MAX), list)
            };
            let mut tree = Tournament::new(lists.len(), |a, b| head(&lists, a) < head(&lists, b));
            let mut merged = Vec::new();
            while let Some(value) = lists[tree.winner()].pop() {
                merged.push(value);
                tree.replay(|a, b| head(&lists, a) < head(&lists, b));
            }
            prop_assert_eq!(merged, expected);
        }
    }
}
