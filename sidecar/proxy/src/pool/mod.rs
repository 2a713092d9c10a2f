//! The connections to each MySQL server, shared by all sessions.
//!
//! A session keeps the connections that it used, and with them all that MySQL remembers of it, for
//! as long as nobody else wants them: on the hot path nothing is locked and nothing is handed over.
//! When a server has as many connections as it may, whoever needs another one waits, and those who
//! hold one that they do not need give it back: at the end of their statement, or at once when
//! they are idle. What has state of its session on it is not given back (see
//! `session::giving`).
//!
//! Where a server has fewer connections than sidecars want, they take turns (`shortage.rs`).
//!
//! Three types keep connections from being mixed up. A [`Seat`] is the right to have one
//! connection, and is part of the connection. [`Rested`] is a connection that is in a known state
//! and holds nothing of a session's; nothing else can be given back. A [`Want`] says what the taker
//! needs, and a connection that does not have exactly that is reset before anyone sees it.

mod full;
mod holder;
mod identity;
mod queue;
mod rested;
mod seats;
mod shortage;
mod tend;

pub(crate) use full::is_full;
pub(crate) use holder::{Doing, Holder};
pub(crate) use identity::{Fit, Identity, Place, Want};
pub(crate) use queue::{Holding, Pool, Pressure};
pub(crate) use rested::Rested;
pub(crate) use seats::{Bounds, Granted, Seat};
