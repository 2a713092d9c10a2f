//! Statements on protected columns, as MySQL gets to see them.
//!
//! A stage in front of the planner: it reads a statement that names a table with protected
//! columns and makes another one of it, in which values are envelopes, tags or digests. That one
//! is then planned like any other. What is not proven to be handled is refused: every token that
//! could name a protected column must be *claimed* by a reader of its use.

mod bind;
mod columns;
mod definition;
mod insert;
mod plan;
mod rows;
mod show;
mod source;
mod value;

pub use bind::{Fed, Veiled};
pub use plan::{Veil, VeilPlan};
pub use show::{Shown, ShownRow};

use std::sync::Arc;

use crate::Refusal;
use crate::catalog::{Catalog, Protected, Table};
use crate::context::{CacheKey, Context};
use crate::fingerprint::{Normalizer, PlanCache};
use crate::reads;

/// Makes veils, and remembers them. One for all sessions.
#[derive(Debug)]
pub struct Veiler {
    cache: PlanCache<VeilPlan>,
}

impl Veiler {
    /// A veiler whose cache holds about so many bytes.
    #[must_use]
    pub fn new(cache_bytes: u64) -> Self {
        Self {
            cache: PlanCache::new(cache_bytes),
        }
    }

    /// Reads a statement. `None`: it names no table with protected columns.
    ///
    /// # Errors
    /// If it uses a protected column in a way that is not supported.
    pub fn veil(
        &self,
        catalog: &Catalog,
        context: &Context,
        normalizer: &mut Normalizer,
        sql: &[u8],
    ) -> Result<Option<Veil>, Refusal> {
        if !catalog.may_concern_protected(sql) {
            return Ok(None);
        }
        let mut key = CacheKey::EMPTY;
        let key = context.cache_key(catalog, &mut key, false);
        let fingerprint = normalizer.normalize(sql, context.sql_mode, key);
        if fingerprint.invalid || fingerprint.unread || fingerprint.several {
            // Nothing of it is sent as it is: a text that MySQL refuses may quote a value.
            return match source::concerned(catalog, context, sql, &fingerprint.body) {
                true => Err(Refusal {
                    code: 1064,
                    state: *b"42000",
                    message: "You have an error in your SQL syntax; the statement names a table \
                              with encrypted columns, so that no part of it is shown"
                        .to_owned(),
                }),
                false => Ok(None),
            };
        }
        let plan = match self.cache.get(&fingerprint, sql) {
            Some(plan) => plan,
            None => {
                let made = source::read(catalog, context, sql, fingerprint.body.clone())?;
                let plan = Arc::new(made);
                self.cache.insert(&fingerprint, sql, &[], Arc::clone(&plan));
                plan
            }
        };
        let hint = reads::around(sql, &fingerprint.body, plan.hint);
        Ok(plan.concerned.then(|| Veil {
            plan,
            hint,
            literals: fingerprint.literals.into(),
            start: fingerprint.body.start,
        }))
    }
}

/// The refusal of a use of a protected column.
fn refused(table: &Table, column: &Protected, what: &str) -> Refusal {
    let kind = match column.sealed() {
        Some(_) => "encrypted",
        None => "kept as a digest",
    };
    Refusal::unsupported(format!(
        "{what} is not supported for column {} of {}, which is {kind}",
        column.column, table.name
    ))
}
