//! SELECT over more than one place.

mod clauses;
mod columns;
mod facts;
mod grouping;
mod items;
mod limit;
mod order;
mod plan;
mod render;
mod visible;

pub(crate) use items::aliases;
pub(crate) use plan::{STATEFUL, ScatterPlan, plan, spanning};
