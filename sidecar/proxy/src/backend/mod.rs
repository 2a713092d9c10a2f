//! Connections to MySQL, each with one owner.

mod connect;
mod connection;
mod error;
mod exchange;
mod socket;
mod statements;

pub use connect::{BackendConnector, Login};
pub use connection::{Backend, Call, Described, Row, Table};
pub use error::BackendError;
pub use exchange::{Ended, Exchange};
pub use socket::connect_socket;
