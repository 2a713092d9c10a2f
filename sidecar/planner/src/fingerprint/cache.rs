//! Plans by fingerprint, bounded in bytes.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::normalize::Fingerprint;
use crate::lexer::Token;

/// What an entry costs besides its bytes: allocations, hash table, queues.
const ENTRY_BYTES: usize = 192;

/// The size of a plan, for the bound on the cache's memory.
pub trait Weight {
    /// The bytes that the plan holds, roughly.
    fn bytes(&self) -> usize;
}

/// Plans of statements that were seen before.
///
/// A planner that looked at the value of a literal says so when it inserts its plan (the
/// literal is *pinned*): then the plan is found only for statements with the same value
/// there. The pins of a shape grow with every plan, and since a planner decides by what it
/// looked at, equal values at all pins give the same plan.
///
/// The hash is keyed at random for each process, so that no client can aim at collisions.
#[derive(Debug)]
pub struct PlanCache<P: Weight> {
    entries: Cache<u128, Entry<P>, ByBytes, BuildHasherDefault<HashIsKey>>,
    seed: u64,
    generations: AtomicU64,
}

/// A shape says whether and where to look further; a bound plan belongs to one shape.
#[derive(Debug)]
enum Entry<P> {
    Shape(Arc<Shape<P>>),
    Bound(Arc<Bound<P>>),
}

impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        match self {
            Self::Shape(shape) => Self::Shape(Arc::clone(shape)),
            Self::Bound(bound) => Self::Bound(Arc::clone(bound)),
        }
    }
}

#[derive(Debug)]
struct Shape<P> {
    normalized: Box<[u8]>,
    way: Way<P>,
}

#[derive(Debug)]
enum Way<P> {
    Plan(Arc<P>),
    Pinned {
        literals: Box<[usize]>,
        generation: u64,
    },
}

#[derive(Debug)]
struct Bound<P> {
    generation: u64,
    values: Box<[u8]>,
    plan: Arc<P>,
}

impl<P: Weight> PlanCache<P> {
    /// An empty cache that holds about `bytes` at most.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let estimated_entries = (bytes / 1024).clamp(16, 1 << 20) as usize;
        let entries = Cache::with(
            estimated_entries,
            bytes,
            ByBytes,
            BuildHasherDefault::default(),
            Default::default(),
        );
        Self {
            entries,
            seed: rand::random(),
            generations: AtomicU64::new(0),
        }
    }

    /// The plan of a statement that differs from a cached one at most in literals not pinned.
    /// `sql` is the text that the fingerprint was taken of.
    #[must_use]
    pub fn get(&self, fingerprint: &Fingerprint<'_>, sql: &[u8]) -> Option<Arc<P>> {
        let key = self.key(fingerprint);
        let shape = self.shape(key, fingerprint)?;
        let (literals, generation) = match &shape.way {
            Way::Plan(plan) => return Some(Arc::clone(plan)),
            Way::Pinned {
                literals,
                generation,
            } => (literals, *generation),
        };
        let key = self.bound_key(key, fingerprint.literals, literals, sql)?;
        match self.entries.get(&key)? {
            Entry::Bound(bound) => (bound.generation == generation
                && same_values(&bound.values, fingerprint.literals, literals, sql))
            .then(|| Arc::clone(&bound.plan)),
            Entry::Shape(_) => None,
        }
    }

    /// Keeps a plan. `pinned` are the indices of the literals whose values were looked at.
    pub fn insert(
        &self,
        fingerprint: &Fingerprint<'_>,
        sql: &[u8],
        pinned: &[usize],
        plan: Arc<P>,
    ) {
        let key = self.key(fingerprint);
        let known = self.shape(key, fingerprint);
        let (mut literals, known_generation) = match known.as_deref() {
            Some(Shape {
                way:
                    Way::Pinned {
                        literals,
                        generation,
                    },
                ..
            }) => (literals.to_vec(), Some(*generation)),
            _ => (Vec::new(), None),
        };
        let before = literals.len();
        literals.extend(pinned.iter().filter(|i| **i < fingerprint.literals.len()));
        literals.sort_unstable();
        literals.dedup();
        let shape = |way| {
            Entry::Shape(Arc::new(Shape {
                normalized: fingerprint.normalized.into(),
                way,
            }))
        };
        if literals.is_empty() {
            self.entries.insert(key, shape(Way::Plan(plan)));
            return;
        }
        let generation = match known_generation {
            Some(generation) if literals.len() == before => generation,
            _ => {
                let generation = self.generations.fetch_add(1, Ordering::Relaxed);
                let literals = literals.clone().into_boxed_slice();
                self.entries.insert(
                    key,
                    shape(Way::Pinned {
                        literals,
                        generation,
                    }),
                );
                generation
            }
        };
        if let Some(key) = self.bound_key(key, fingerprint.literals, &literals, sql) {
            let values = values(fingerprint.literals, &literals, sql);
            self.entries.insert(
                key,
                Entry::Bound(Arc::new(Bound {
                    generation,
                    values,
                    plan,
                })),
            );
        }
    }

    fn key(&self, fingerprint: &Fingerprint<'_>) -> u128 {
        xxh3_128_with_seed(fingerprint.normalized, self.seed)
    }

    fn shape(&self, key: u128, fingerprint: &Fingerprint<'_>) -> Option<Arc<Shape<P>>> {
        match self.entries.get(&key)? {
            Entry::Shape(shape) => (*shape.normalized == *fingerprint.normalized).then_some(shape),
            Entry::Bound(_) => None,
        }
    }

    fn bound_key(
        &self,
        shape: u128,
        literals: &[Token],
        pinned: &[usize],
        sql: &[u8],
    ) -> Option<u128> {
        pinned.iter().try_fold(shape.rotate_left(64), |key, index| {
            let text = literals.get(*index)?.text(sql);
            Some(key.rotate_left(17) ^ xxh3_128_with_seed(text, self.seed ^ key as u64))
        })
    }
}

/// Pinned values as they are compared: each behind its length.
fn values(literals: &[Token], pinned: &[usize], sql: &[u8]) -> Box<[u8]> {
    let mut values = Vec::new();
    for text in pinned
        .iter()
        .filter_map(|index| literals.get(*index))
        .map(|token| token.text(sql))
    {
        values.extend_from_slice(&(text.len() as u32).to_le_bytes());
        values.extend_from_slice(text);
    }
    values.into()
}

fn same_values(mut values: &[u8], literals: &[Token], pinned: &[usize], sql: &[u8]) -> bool {
    for index in pinned {
        let Some(token) = literals.get(*index) else {
            return false;
        };
        let text = token.text(sql);
        let rest = values
            .strip_prefix(&(text.len() as u32).to_le_bytes())
            .and_then(|rest| rest.strip_prefix(text));
        match rest {
            Some(rest) => values = rest,
            None => return false,
        }
    }
    values.is_empty()
}

#[derive(Clone, Debug)]
struct ByBytes;

impl<P: Weight> Weighter<u128, Entry<P>> for ByBytes {
    fn weight(&self, _: &u128, entry: &Entry<P>) -> u64 {
        let bytes = match entry {
            Entry::Shape(shape) => {
                shape.normalized.len()
                    + match &shape.way {
                        Way::Plan(plan) => plan.bytes(),
                        Way::Pinned { literals, .. } => size_of_val(&**literals),
                    }
            }
            Entry::Bound(bound) => bound.values.len() + bound.plan.bytes(),
        };
        (bytes + ENTRY_BYTES) as u64
    }
}

/// The keys are hashes already.
#[derive(Default)]
struct HashIsKey(u64);

impl Hasher for HashIsKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
