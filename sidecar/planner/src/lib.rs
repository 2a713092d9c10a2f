//! SQL text to plan: which shards, which bytes, how the parts are merged. Pure.

mod binding;
mod bound;
pub mod catalog;
mod context;
mod ddl;
mod dispatch;
mod explain;
pub mod fingerprint;
mod functions;
pub mod keys;
pub mod lexer;
mod names;
mod parse;
mod physical;
mod plan;
mod planner;
mod prepare;
mod refusal;
mod route;
mod rows;
mod select;
mod session_functions;
mod show;
mod text;
mod traits;
pub mod utility;
mod values;
mod write;

pub use bound::*;
pub use catalog::{Catalog, CatalogBuilder, CatalogError, LoadedColumn};
pub use context::Context;
pub use plan::{Needed, Plan};
pub use planner::{Planned, Planner};
pub use prepare::Prepare;
pub use refusal::Refusal;
pub use traits::Traits;
