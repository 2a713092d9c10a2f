//! The client's side: accepting, logging in, packets.

mod backoff;
mod client;
mod entitled;
mod listener;
mod login;
mod waiting_room;

pub(crate) use backoff::Backoff;
pub(crate) use client::{Client, ClientError};
pub use listener::serve;
pub(crate) use login::{Peer, change_user, log_in};
pub(crate) use waiting_room::WaitingRoom;
