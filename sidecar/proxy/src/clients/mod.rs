//! The clients that are logged in: who they are, what they run and on which connections to MySQL,
//! so that others can see it and end it.
//!
//! A session shares an [`Entry`] with the registry. What changes with each command is behind a
//! lock of that entry alone, which nobody else holds but for a moment.

mod entry;
mod kill;
mod lease;
mod registry;
mod rights;
mod watch;

pub(crate) use entry::{Entry, Shown, Who};
pub(crate) use kill::{interrupted, unknown_thread};
pub(crate) use lease::Lease;
pub(crate) use registry::{Registered, Registry};
pub(crate) use rights::Rights;
