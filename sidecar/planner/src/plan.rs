//! A plan: what a statement's text alone decides. One plan serves all statements that differ
//! in literals only.

use remora_crds::GeneratedKeyKind;

use crate::Refusal;
use crate::binding::{Binding, Splices};
use crate::bound::{Action, BindInput, Bound, Ddl, InsertReport, Place, Statement, Target};
use crate::fingerprint::Weight;
use crate::reads::ReadHint;
use crate::route::{Places, Route};
use crate::select::ScatterPlan;
use crate::traits::Traits;
use crate::utility::StatementKind;
use crate::values::Values;
use crate::write::{InsertPlan, everywhere, row_writes};

/// What a statement's text alone decides.
#[derive(Debug)]
pub struct Plan {
    pub(crate) kind: StatementKind,
    pub(crate) work: Work,
    pub(crate) splices: Splices,
    pub(crate) traits: Traits,
    /// What the comments among its tokens say.
    pub(crate) hint: ReadHint,
    pub(crate) catalog_version: u64,
    pub(crate) missing: bool,
    pub(crate) bytes: usize,
}

/// The work that a plan leaves to bind.
#[derive(Debug)]
pub(crate) enum Work {
    /// The whole text to one server.
    Pass(Target),
    /// One server and always the same place: reads of definitions.
    Fixed(Place),
    /// None: what the statement says and what the catalog knows of the table do not agree, so
    /// its rows' places are unknown.
    Missing(Refusal),
    /// A SELECT, UPDATE or DELETE that reads sharded tables.
    Rows(RowsPlan),
    /// A write to broadcast tables: every shard.
    Everywhere,
    /// An INSERT or REPLACE.
    Insert(InsertPlan),
    /// DDL of manifest tables.
    Ddl(DdlPlan),
    /// The text is replaced.
    Replace(Target, Box<[u8]>),
    /// The session's.
    Utility,
    /// EXPLAIN REMORA of the statement that begins at this byte of the body.
    Explain(usize),
}

/// A SELECT, UPDATE or DELETE of sharded tables.
#[derive(Debug)]
pub(crate) struct RowsPlan {
    /// For each class of table uses where its rows are.
    pub(crate) routes: Vec<Route>,
    /// Why it is right only in one place, if so.
    pub(crate) single_only: Option<Refusal>,
    /// What to do if there are several places.
    pub(crate) several: Several,
}

/// How a statement is done in several places.
#[derive(Debug)]
pub(crate) enum Several {
    /// Read and merged.
    Read(Box<ScatterPlan>),
    /// Done in each.
    Write,
    /// Not at all.
    Refused(Refusal),
}

/// DDL of manifest tables that have the same slots.
#[derive(Debug)]
pub(crate) struct DdlPlan {
    pub(crate) slots: u16,
    /// Whether it makes tables, so that schemas must exist.
    pub(crate) creates: bool,
    /// Whether it empties or drops them, so that generated keys begin anew.
    pub(crate) restarts: bool,
}

/// How many values of a generated column a statement needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Needed {
    /// The table, without the database.
    pub table: String,
    /// Where the values come from.
    pub kind: GeneratedKeyKind,
    /// How many.
    pub count: usize,
}

impl Plan {
    /// What the session must know of the statement.
    #[must_use]
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// The kind of the statement.
    #[must_use]
    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// The version of the catalog that the plan belongs to.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version
    }

    /// Whether the statement names a manifest table that the catalog does not have, or not so:
    /// it may be that another sidecar made or changed it. Load the catalog again, and plan
    /// again; if that helps nothing, bind gives MySQL's error.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.missing
    }

    /// How many `?` the statement has.
    #[must_use]
    pub fn param_count(&self) -> usize {
        self.splices.params.len()
    }

    pub(crate) fn needed(&self, values: &Values<'_>) -> Option<Needed> {
        match &self.work {
            Work::Insert(plan) => plan.needed(values),
            _ => None,
        }
    }

    pub(crate) fn bind<'a>(
        &self,
        binding: &Binding<'a>,
        input: &BindInput<'_>,
    ) -> Result<Bound<'a>, Refusal> {
        let mut report: Option<InsertReport> = None;
        let mut by_position = None;
        let action = match &self.work {
            Work::Pass(target) => Action::Single {
                target: *target,
                statement: binding.statement(&[]),
            },
            Work::Fixed(place) => {
                let places = vec![*place; self.splices.tables.len()];
                let target = Target::Shard(place.shard);
                Action::Single {
                    target,
                    statement: binding.statement(&places),
                }
            }
            Work::Missing(refusal) => return Err(refusal.clone()),
            Work::Replace(target, text) => {
                let sql = text.to_vec().into();
                let statement = Statement {
                    sql,
                    params: Vec::new(),
                    rows: Vec::new(),
                };
                Action::Single {
                    target: *target,
                    statement,
                }
            }
            Work::Rows(plan) => plan.bind(binding)?,
            Work::Everywhere => Action::Writes(everywhere(binding)),
            Work::Insert(plan) => {
                let (action, insert) = plan.bind(binding, input.generated)?;
                report = insert;
                by_position = plan.assumed(binding.catalog, &action, input.by_position);
                action
            }
            Work::Ddl(plan) => plan.bind(binding)?,
            Work::Utility => Action::Utility(self.kind),
            // The planner unwraps it: the inner statement has a plan of its own.
            Work::Explain(_) => Action::Explain(Vec::new()),
        };
        Ok(Bound {
            action,
            insert: report,
            by_position,
        })
    }
}

impl RowsPlan {
    fn bind<'a>(&self, binding: &Binding<'a>) -> Result<Action<'a>, Refusal> {
        if let (None, [route]) = (&self.single_only, self.routes.as_slice()) {
            let sharded = binding
                .splices
                .tables
                .first()
                .and_then(|table| table.sharded());
            let places = match sharded {
                Some(sharded) => route
                    .places(binding.catalog, sharded, &binding.values)
                    .list(binding.catalog, sharded),
                None => Vec::new(),
            };
            return match places.as_slice() {
                [] => Ok(nothing(binding, &[Place::FIRST])),
                [place] => Ok(single(binding, &[*place])),
                places if binding.is_too_large(places.len()) => Err(too_large(places.len())),
                places => match &self.several {
                    Several::Read(plan) => plan.bind(binding, places).map(Action::Scatter),
                    Several::Write => Ok(Action::Writes(row_writes(binding, places))),
                    Several::Refused(refusal) => Err(refusal.clone()),
                },
            };
        }
        self.bind_single(binding)
    }

    /// The statement is right only if every class is in one place, on one shard.
    fn bind_single<'a>(&self, binding: &Binding<'a>) -> Result<Action<'a>, Refusal> {
        let refused = || {
            self.single_only.clone().unwrap_or_else(|| {
                Refusal::unsupported("the statement concerns more than one shard")
            })
        };
        let mut found: Vec<Option<Place>> = Vec::with_capacity(self.routes.len());
        for (route, table) in self.routes.iter().zip(&binding.splices.tables) {
            let Some(sharded) = table.sharded() else {
                continue;
            };
            let places = match route.places(binding.catalog, sharded, &binding.values) {
                Places::Some(places) => places,
                all => all.list(binding.catalog, sharded),
            };
            match places.as_slice() {
                [] => found.push(None),
                [place] => found.push(Some(*place)),
                _ => return Err(refused()),
            }
        }
        if found.iter().all(Option::is_none) {
            return Ok(nothing(binding, &vec![Place::FIRST; found.len()]));
        }
        let known = found
            .iter()
            .flatten()
            .next()
            .copied()
            .unwrap_or(Place::FIRST);
        let shard = known.shard;
        if found.iter().flatten().any(|place| place.shard != shard) {
            return Err(refused());
        }
        // A class without a place has no row that matches: any place on the shard will do.
        let empty = Place {
            shard,
            ..Place::FIRST
        };
        let places: Vec<Place> = found
            .into_iter()
            .map(|place| place.unwrap_or(empty))
            .collect();
        Ok(single(binding, &places))
    }
}

/// The refusal of a statement whose copies for all places would not fit the memory.
fn too_large(places: usize) -> Refusal {
    Refusal::unsupported(format!(
        "the statement is too long to be sent to {places} physical tables; make it shorter, or \
         split it"
    ))
}

impl DdlPlan {
    fn bind<'a>(&self, binding: &Binding<'a>) -> Result<Action<'a>, Refusal> {
        let catalog = binding.catalog;
        let places = usize::from(self.slots) * usize::from(catalog.shards());
        if binding.is_too_large(places) {
            return Err(too_large(places));
        }
        let tables = binding.splices.tables.len().max(1);
        let sequences = binding
            .splices
            .tables
            .iter()
            .filter(|table| self.restarts && table.generated.is_some())
            .map(|table| table.name.clone());
        let mut ddl = Ddl {
            schemas: Vec::new(),
            shards: Vec::new(),
            restarts: sequences.collect(),
        };
        for place in catalog.places(self.slots) {
            let statement = binding.statement(&vec![place; tables]);
            match ddl.shards.last_mut() {
                Some((shard, statements)) if *shard == place.shard => statements.push(statement),
                _ => ddl.shards.push((place.shard, vec![statement])),
            }
            if self.creates && self.slots > 1 {
                let schema =
                    remora_crds::layout::schema(catalog.database(), self.slots, place.slot);
                ddl.schemas.push((place.shard, schema.to_string()));
            }
        }
        Ok(Action::Ddl(ddl))
    }
}

/// No row can match: any shard tells the columns, or that nothing was changed, and its first
/// slot is as good as another.
fn nothing<'a>(binding: &Binding<'a>, places: &[Place]) -> Action<'a> {
    Action::Single {
        target: Target::Any,
        statement: binding.statement(places),
    }
}

fn single<'a>(binding: &Binding<'a>, places: &[Place]) -> Action<'a> {
    let shard = places
        .first()
        .map_or(Place::FIRST.shard, |place| place.shard);
    Action::Single {
        target: Target::Shard(shard),
        statement: binding.statement(places),
    }
}

impl Weight for Plan {
    fn bytes(&self) -> usize {
        self.bytes
    }
}
