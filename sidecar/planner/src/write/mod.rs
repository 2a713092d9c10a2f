//! INSERT, REPLACE, UPDATE and DELETE.

mod assignments;
mod insert;
mod insert_bind;
mod insert_reader;
mod rows;

pub(crate) use assignments::{check_delete, check_update};
pub(crate) use insert::{COUNT_DIFFERS, InsertPlan, VARYING, plan as plan_insert};
pub(crate) use rows::{everywhere, row_writes};
