//! INSERT, REPLACE, UPDATE and DELETE.

mod assignments;
mod insert;
mod insert_bind;
mod rows;

pub(crate) use assignments::{check_delete, check_update};
pub(crate) use insert::{InsertPlan, VARYING, plan as plan_insert};
pub(crate) use rows::row_writes;
