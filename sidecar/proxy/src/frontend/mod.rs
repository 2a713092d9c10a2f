//! The client's side: accepting, logging in, packets.

mod client;
mod listener;
mod login;

pub use client::{Client, ClientError};
pub use listener::serve;
pub use login::{change_user, log_in};
