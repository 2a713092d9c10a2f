//! Small parsers for the statements that are forwarded as they are or answered by the proxy.
//!
//! Each reads one statement (without another behind its `;`) and gives places in the text.
//! What is not understood as a whole is [`Unparsed`]: the caller refuses it or lets it
//! through where that is harmless, but never acts on half of it.

mod cursor;
mod ddl;
mod describe;
mod diagnostics;
mod kill;
mod kind;
mod session;
mod set;
mod show;
mod span;
mod transaction;

pub use ddl::{Ddl, DdlObject, DdlVerb, ddl};
pub use describe::{Described, describe};
pub use diagnostics::{ConditionItem, GetDiagnostics, StatementItem, get_diagnostics};
pub use kill::{Kill, KillId, kill};
pub use kind::{StatementKind, classify};
pub use session::{Prepared, PreparedText, prepared, use_database};
pub use set::{Assignment, Scope, SetValue, set, set_value};
pub use show::{Filter, Show, ShowKind, show};
pub use span::{Span, TableName, Unparsed};
pub use transaction::{
    AccessMode, Completion, Isolation, Transaction, TransactionScope, transaction,
};

#[cfg(test)]
mod tests;
