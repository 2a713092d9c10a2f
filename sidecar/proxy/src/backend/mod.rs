//! Connections to MySQL, each with one owner.

mod call;
mod connect;
mod connection;
mod cursor;
mod error;
mod exchange;
mod lending;
mod login;
mod socket;
mod statements;
mod table;
mod written;

pub(crate) use call::{Call, Described, Operand};
pub(crate) use connect::BackendConnector;
pub(crate) use connection::Backend;
pub(crate) use cursor::OpenedCursor;
pub(crate) use error::BackendError;
pub(crate) use exchange::{Ended, Exchange};
pub(crate) use login::Login;
pub(crate) use socket::connect_socket;
pub(crate) use table::{Row, Table};
pub(crate) use written::Written;
