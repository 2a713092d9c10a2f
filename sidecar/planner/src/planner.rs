//! From text to a plan: found in the cache, or made.

use std::sync::Arc;

use crate::Refusal;
use crate::binding::Binding;
use crate::bound::{Action, BindInput, BindResult, Bound};
use crate::catalog::Catalog;
use crate::context::{CacheKey, Context};
use crate::dispatch;
use crate::explain::explain;
use crate::fingerprint::{Normalizer, PlanCache};
use crate::lexer::Token;
use crate::plan::{Needed, Plan, Work};
use crate::reads::{self, ReadHint};
use crate::text::Frame;
use crate::values::Values;

/// Plans statements, and remembers the plans. One for all sessions.
#[derive(Debug)]
pub struct Planner {
    cache: PlanCache<Plan>,
}

/// A plan, and the literals of the statement that it was found for. It holds no text: the same
/// text must be given again to bind.
#[derive(Clone, Debug)]
pub struct Planned {
    plan: Arc<Plan>,
    literals: Box<[Token]>,
    start: usize,
    cached: bool,
    veiled: bool,
    hint: ReadHint,
}

impl Planner {
    /// A planner whose cache holds about so many bytes.
    #[must_use]
    pub fn new(cache_bytes: u64) -> Self {
        Self {
            cache: PlanCache::new(cache_bytes),
        }
    }

    /// Plans one statement. `normalizer` holds the session's buffers.
    ///
    /// # Errors
    /// If the statement cannot be served.
    pub fn plan(
        &self,
        catalog: &Catalog,
        context: &Context,
        normalizer: &mut Normalizer,
        sql: &[u8],
    ) -> Result<Planned, Refusal> {
        self.plan_text(catalog, context, normalizer, sql, false)
    }

    /// The same for a statement that a [`Veiler`](crate::veil::Veiler) made: protected columns in
    /// it are stored ones.
    ///
    /// # Errors
    /// If the statement cannot be served.
    pub fn plan_veiled(
        &self,
        catalog: &Catalog,
        context: &Context,
        normalizer: &mut Normalizer,
        sql: &[u8],
    ) -> Result<Planned, Refusal> {
        self.plan_text(catalog, context, normalizer, sql, true)
    }

    fn plan_text(
        &self,
        catalog: &Catalog,
        context: &Context,
        normalizer: &mut Normalizer,
        sql: &[u8],
        veiled: bool,
    ) -> Result<Planned, Refusal> {
        let mut key = CacheKey::EMPTY;
        let key = context.cache_key(catalog, &mut key, veiled);
        let fingerprint = normalizer.normalize(sql, context.sql_mode, key);
        let start = fingerprint.body.start;
        if fingerprint.several {
            return Err(Refusal::unsupported(
                "several statements in one text are not planned together; send them one by one",
            ));
        }
        if fingerprint.unread {
            return Err(Refusal::unsupported(
                "the statement holds a NUL, `--` right before a comment or `;`, or the like, which \
                 is read differently by different readers; put blanks around comments",
            ));
        }
        // A broken token's bytes could pass for a literal's place in the normalised text.
        let cached = if fingerprint.invalid {
            None
        } else {
            self.cache.get(&fingerprint, sql)
        };
        if let Some(plan) = cached {
            return Ok(Planned {
                hint: reads::around(sql, &fingerprint.body, plan.hint),
                plan,
                literals: fingerprint.literals.into(),
                start,
                cached: true,
                veiled,
            });
        }
        let made = dispatch::plan(
            catalog,
            context,
            sql,
            fingerprint.body.clone(),
            fingerprint.invalid,
            veiled,
        )?;
        let plan = Arc::new(made.plan);
        if made.cacheable && !fingerprint.invalid {
            self.cache
                .insert(&fingerprint, sql, &made.pins, Arc::clone(&plan));
        }
        Ok(Planned {
            hint: reads::around(sql, &fingerprint.body, plan.hint),
            plan,
            literals: fingerprint.literals.into(),
            start,
            cached: false,
            veiled,
        })
    }

    /// How many values of a generated column [`bind`](Self::bind) needs, if any.
    #[must_use]
    pub fn generated_values_needed(
        &self,
        context: &Context,
        planned: &Planned,
        sql: &[u8],
        input: &BindInput<'_>,
    ) -> Option<Needed> {
        planned.plan.needed(&planned.values(context, sql, input))
    }

    /// The statements to run for a plan and its values.
    ///
    /// # Errors
    /// If these values cannot be served.
    pub fn bind<'a>(
        &self,
        catalog: &'a Catalog,
        context: &Context,
        planned: &'a Planned,
        sql: &'a [u8],
        input: &'a BindInput<'a>,
    ) -> BindResult<'a> {
        if let Work::Explain(offset) = planned.plan.work {
            return self.explain(
                catalog,
                context,
                sql.get(offset..).unwrap_or_default(),
                input,
                planned.veiled,
            );
        }
        let binding = Binding {
            catalog,
            frame: planned.frame(sql),
            splices: &planned.plan.splices,
            session: &input.session,
            values: planned.values(context, sql, input),
        };
        planned.plan.bind(&binding, input)
    }

    /// Plans and binds the statement behind EXPLAIN REMORA. Where it would need generated
    /// values, 1, 2 and so on stand for them.
    fn explain<'a>(
        &self,
        catalog: &Catalog,
        context: &Context,
        sql: &[u8],
        input: &BindInput<'_>,
        veiled: bool,
    ) -> BindResult<'a> {
        let mut normalizer = Normalizer::default();
        let planned = self.plan_text(catalog, context, &mut normalizer, sql, veiled)?;
        let needed = self.generated_values_needed(context, &planned, sql, input);
        let values: Vec<u64> = (1..=needed.map_or(0, |needed| needed.count as u64)).collect();
        let input = BindInput {
            generated: &values,
            ..*input
        };
        let bound = self.bind(catalog, context, &planned, sql, &input)?;
        Ok(Bound {
            action: Action::Explain(explain(&bound)),
            insert: None,
            by_position: None,
        })
    }
}

impl Planned {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether it is of a statement that a veiler made.
    #[must_use]
    pub fn is_veiled(&self) -> bool {
        self.veiled
    }

    /// Where the client's comments want it to be read.
    #[must_use]
    pub fn hint(&self) -> ReadHint {
        self.hint
    }

    /// Whether the plan was in the cache.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.cached
    }

    pub(crate) fn frame<'a>(&'a self, sql: &'a [u8]) -> Frame<'a> {
        Frame {
            sql,
            literals: &self.literals,
            start: self.start,
        }
    }

    pub(crate) fn values<'a>(
        &'a self,
        context: &Context,
        sql: &'a [u8],
        input: &BindInput<'a>,
    ) -> Values<'a> {
        Values {
            frame: self.frame(sql),
            mode: context.sql_mode,
            charset: context.charset,
            param_charset: input.charset.unwrap_or(context.charset),
            params: input.params,
        }
    }
}
