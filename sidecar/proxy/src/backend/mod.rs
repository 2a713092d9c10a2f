//! Connections to MySQL, each with one owner.

mod call;
mod connect;
mod connection;
mod error;
mod exchange;
mod socket;
mod statements;
mod table;

pub use call::{Call, Described};
pub use connect::{BackendConnector, Login};
pub use connection::Backend;
pub use error::BackendError;
pub use exchange::{Ended, Exchange};
pub use socket::connect_socket;
pub use table::{Row, Table};
