//! From a route and the statement's values to places.

use crate::bound::Place;
use crate::catalog::{Catalog, Sharded};
use crate::values::{Hashed, Values};

use super::Route;

/// Places of one table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Places {
    /// All of them.
    All,
    /// These, in order, each once.
    Some(Vec<Place>),
}

impl Places {
    fn intersect(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, places) | (places, Self::All) => places,
            (Self::Some(mut left), Self::Some(right)) => {
                left.retain(|place| right.binary_search(place).is_ok());
                Self::Some(left)
            }
        }
    }

    fn unite(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Some(mut left), Self::Some(right)) => {
                left.extend(right);
                left.sort_unstable();
                left.dedup();
                Self::Some(left)
            }
        }
    }

    /// The places as a list.
    pub(crate) fn list(self, catalog: &Catalog, sharded: &Sharded) -> Vec<Place> {
        match self {
            Self::All => catalog.places(sharded.slots).collect(),
            Self::Some(places) => places,
        }
    }
}

impl Route {
    /// The places of a table whose rows this route allows.
    pub(crate) fn places(
        &self,
        catalog: &Catalog,
        sharded: &Sharded,
        values: &Values<'_>,
    ) -> Places {
        match self {
            Self::All => Places::All,
            Self::None => Places::Some(Vec::new()),
            Self::And(parts) => parts.iter().fold(Places::All, |places, part| match places {
                Places::Some(none) if none.is_empty() => Places::Some(none),
                places => places.intersect(part.places(catalog, sharded, values)),
            }),
            Self::Or(parts) => {
                parts
                    .iter()
                    .fold(Places::Some(Vec::new()), |places, part| match places {
                        Places::All => Places::All,
                        places => places.unite(part.places(catalog, sharded, values)),
                    })
            }
            Self::Key {
                values: operands,
                null_safe,
            } => {
                let Some(key_type) = &sharded.key_type else {
                    return Places::All;
                };
                let mut places = Vec::with_capacity(operands.len());
                for operand in operands {
                    match values.hash(*operand, key_type) {
                        Hashed::At(hash) => places.push(catalog.place(hash, sharded.slots)),
                        Hashed::Null if *null_safe => return Places::All,
                        Hashed::Null | Hashed::Never => {}
                        Hashed::Unknown => return Places::All,
                    }
                }
                places.sort_unstable();
                places.dedup();
                Places::Some(places)
            }
        }
    }
}
