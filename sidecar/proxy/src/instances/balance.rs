//! Choosing one of several servers. Without I/O, clock and chance of its own.

use remora_crds::Balancing;

/// The index of a chosen server among those with these weights; `None` if no weight is above 0.
/// `point` is a random number, or for [`Balancing::RoundRobin`] the number of the turn.
pub(crate) fn choose(
    balancing: Balancing,
    weights: impl Iterator<Item = u32> + Clone,
    point: u64,
) -> Option<usize> {
    let counted = |weight: u32| match balancing {
        Balancing::Weighted => u64::from(weight),
        Balancing::RoundRobin | Balancing::Random => u64::from(weight > 0),
    };
    let sum: u64 = weights.clone().map(counted).sum();
    let mut rest = point.checked_rem(sum)?;
    for (index, weight) in weights.enumerate() {
        let weight = counted(weight);
        if rest < weight {
            return Some(index);
        }
        rest -= weight;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(balancing: Balancing, weights: &[u32], point: u64) -> Option<usize> {
        choose(balancing, weights.iter().copied(), point)
    }

    #[test]
    fn nobody_is_chosen_where_nobody_may() {
        for balancing in [
            Balancing::Weighted,
            Balancing::RoundRobin,
            Balancing::Random,
        ] {
            assert_eq!(of(balancing, &[], 7), None);
            assert_eq!(of(balancing, &[0, 0], 7), None);
        }
    }

    #[test]
    fn in_turn_each_comes_once() {
        let turns: Vec<_> = (0..6)
            .map(|turn| of(Balancing::RoundRobin, &[5, 0, 1, 9], turn))
            .collect();
        assert_eq!(turns, [0, 2, 3, 0, 2, 3].map(Some));
    }

    proptest! {
        #[test]
        fn each_is_chosen_as_often_as_its_weight_says(
            weights in prop::collection::vec(0_u32..20, 1..8),
            seed in any::<u64>(),
        ) {
            const PICKS: u64 = 20_000;
            let sum: u32 = weights.iter().sum();
            let mut picked = vec![0_u64; weights.len()];
            let mut point = seed;
            for _ in 0..PICKS {
                // Splitmix64: any good source will do, and the same seed gives the same picks.
                point = point.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = (point ^ (point >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^= mixed >> 31;
                prop_assert_eq!(
                    of(Balancing::Weighted, &weights, mixed),
                    of(Balancing::Weighted, &weights, mixed)
                );
                match of(Balancing::Weighted, &weights, mixed) {
                    Some(index) => picked[index] += 1,
                    None => prop_assert_eq!(sum, 0),
                }
            }
            for (weight, picked) in weights.iter().zip(picked) {
                let share = f64::from(*weight) / f64::from(sum.max(1));
                let expected = share * PICKS as f64;
                // Six standard deviations.
                let tolerance = 6.0 * (PICKS as f64 * share * (1.0 - share)).sqrt() + 1e-9;
                prop_assert!((picked as f64 - expected).abs() <= tolerance, "{weight}: {picked}");
            }
        }
    }
}
