//! What a connection is, and what whoever takes one needs it to be.

use std::sync::Arc;

use remora_protocol::{CapabilityFlags, Password};

use crate::session::Settings;

/// As whom a connection logged in, and what was agreed on: what no reset changes.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The account.
    pub(crate) user: Vec<u8>,
    /// Its password: whoever took another one must log in anew.
    pub(crate) password: Password,
    /// What shapes answers.
    pub(crate) capabilities: CapabilityFlags,
    /// The collation of the login, which settings begin with.
    pub(crate) collation: u8,
}

impl Identity {
    /// Whether a connection of the one serves the other.
    pub(crate) fn is(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other)
            || self.capabilities == other.capabilities
                && self.collation == other.collation
                && self.user == other.user
                && self.password.matches(&other.password)
    }
}

/// In which database a session is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// In none. A connection that was in one cannot be in none again.
    Nowhere,
    /// In one that this server does not have.
    Anywhere,
    /// In this one.
    In(String),
}

/// What a session wants of a connection.
#[derive(Debug)]
pub(crate) struct Want {
    /// As whom.
    pub(crate) identity: Arc<Identity>,
    /// Where.
    pub(crate) place: Place,
    /// What was SET.
    pub(crate) settings: Settings,
    /// What connections begin with.
    pub(crate) first: &'static [u8],
}

/// How well a connection fits, best first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fit {
    /// It has all that is wanted.
    Same,
    /// It is in another database, which a command changes.
    Elsewhere,
    /// It has settings of somebody else, and must be reset.
    Reset,
    /// It is somebody else's, or in a database that it cannot leave.
    Never,
}
