//! The client's side: accepting, logging in, packets.

mod client;
mod listener;
mod login;

pub(crate) use client::{Client, ClientError};
pub use listener::serve;
pub(crate) use login::{change_user, log_in};
