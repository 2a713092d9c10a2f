//! A MySQL 9.7 of our own: the root file system that it runs from, and servers started from it.

mod root;
mod server;

pub use root::{MysqlRoot, cache_directory};
pub use server::{Account, MysqlServer, ServerOptions, login};
