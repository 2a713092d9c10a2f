//! What the executor gets: which servers, which bytes, how the answers become one.

use std::borrow::Cow;

use remora_crds::layout::{ShardIndex, Slot};
use remora_merge::MergeSpec;

use crate::Refusal;
use crate::keys::{Charset, Moment};
use crate::utility::StatementKind;

/// One statement for one server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement<'a> {
    /// The text, borrowed from the client's where nothing had to be spliced.
    pub sql: Cow<'a, [u8]>,
    /// What feeds each `?` of `sql`, in order; empty for a text-protocol statement.
    pub params: Vec<ParamSource>,
    /// Which rows of the client's INSERT it holds, counted from 1, where it holds some of
    /// several: texts of errors and warnings count rows.
    pub rows: Vec<u32>,
}

/// What feeds one `?` of a rewritten statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParamSource {
    /// The client's parameter of this index, with its type and bytes.
    Client(u32),
    /// A number the planner or the session made (a generated key, a pushed-down LIMIT);
    /// sent as unsigned LONGLONG.
    Number(u64),
}

/// Which server serves a statement that needs just one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// This one.
    Shard(ShardIndex),
    /// The first shard: unsharded tables live there, and so does state that only one server
    /// can hold (GET_LOCK, assignments to user variables inside SELECT).
    Home,
    /// Every shard gives the same answer: the transaction's own, else whichever is connected.
    Any,
}

/// A statement ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound<'a> {
    /// What to do.
    pub action: Action<'a>,
    /// Set for INSERT and REPLACE into a table with a generated key.
    pub insert: Option<InsertReport>,
    /// Set for INSERT and REPLACE without a list of columns.
    pub by_position: Option<ByPosition>,
}

/// What an INSERT without a list of columns takes for granted: the catalog's order of columns.
/// If someone else changed it, the values are for other columns than the catalog says, and the
/// row for another place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ByPosition {
    /// A shard that the statement goes to.
    pub shard: ShardIndex,
    /// A query of the table there, which has the columns as they are now; to be prepared only.
    pub probe: Vec<u8>,
    /// The columns that it must have.
    pub columns: Vec<String>,
}

/// What to do with a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'a> {
    /// One server; its answer is relayed.
    Single {
        /// The server.
        target: Target,
        /// The text for it.
        statement: Statement<'a>,
    },
    /// A read of more than one physical table.
    Scatter(Scatter<'a>),
    /// A write to more than one physical table, atomically.
    Writes(Writes<'a>),
    /// DDL, outside any transaction.
    Ddl(Ddl<'a>),
    /// The session answers or keeps state: the readers in [`utility`](crate::utility) say what
    /// the statement is.
    Utility(StatementKind),
    /// `EXPLAIN REMORA …`: rows to show.
    Explain(Vec<ExplainRow>),
}

/// A read of more than one physical table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scatter<'a> {
    /// One statement for each shard concerned; each answers rows in the merge's order.
    pub parts: Vec<Part<'a>>,
    /// How the rows become the client's.
    pub merge: MergeSpec,
    /// How many columns a part has: the client's and hidden ones. A server whose table has others
    /// must not be merged.
    pub columns: usize,
    /// The client's own statement on one physical schema: its column definitions, from
    /// COM_STMT_PREPARE, are what the client sees.
    pub probe: Part<'a>,
}

/// One shard's share of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part<'a> {
    /// The shard.
    pub shard: ShardIndex,
    /// The text for it.
    pub statement: Statement<'a>,
    /// How many places of the shard it reads: the arms of its UNION ALL.
    pub branches: usize,
}

/// A write to more than one physical table. One transaction on each shard; all commit or all
/// roll back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Writes<'a> {
    /// For each shard its statements, in order.
    pub shards: Vec<(ShardIndex, Vec<Statement<'a>>)>,
    /// How the OK packets become one.
    pub count: Count,
}

/// How affected rows (and matched rows, warnings) of several OK packets become one number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Count {
    /// The statements touch different rows: their sum.
    Sum,
    /// A broadcast table: every shard did the same; the first one's.
    First,
}

/// DDL for several shards. Statements run in order, shards in parallel; MySQL commits each
/// of them by itself, so a failure leaves the rest undone and is reported with the shard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ddl<'a> {
    /// Schemas that must exist first (`CREATE DATABASE IF NOT EXISTS`, which the sidecar's own
    /// account runs: an application's account may have no right to), with the shard.
    pub schemas: Vec<(ShardIndex, String)>,
    /// For each shard its statements.
    pub shards: Vec<(ShardIndex, Vec<Statement<'a>>)>,
    /// Tables whose sequence begins anew afterwards: TRUNCATE and DROP.
    pub restarts: Vec<String>,
}

/// What an INSERT did to its table's generated key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InsertReport {
    /// The table, without the database.
    pub table: String,
    /// The first value that was generated: LAST_INSERT_ID and the OK packet's insert id.
    pub first_generated: Option<u64>,
    /// The highest value that the client gave itself: the sequence must pass it.
    pub highest_explicit: Option<u64>,
}

/// One row of `EXPLAIN REMORA`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExplainRow {
    /// The shard's index, or a word (`home`, `any`, `session`).
    pub shard: String,
    /// How many physical tables the statement reads or writes there.
    pub slots: usize,
    /// The text that would be sent.
    pub sql: String,
    /// How the answers become one.
    pub merge: String,
}

/// A physical place: a shard and a slot in it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The shard.
    pub shard: ShardIndex,
    /// The physical table's number there.
    pub slot: Slot,
}

impl Place {
    /// The first slot of the first shard.
    pub(crate) const FIRST: Self = Self {
        shard: ShardIndex(0),
        slot: Slot(0),
    };
}

/// One client parameter of a prepared statement, as the planner needs to see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    UInt(u64),
    /// FLOAT or DOUBLE.
    Double(f64),
    /// A string, in the client's character set.
    Bytes(&'a [u8]),
    /// A BLOB or a binary string.
    Binary(&'a [u8]),
    /// A DECIMAL, as text.
    Decimal(&'a str),
    /// A date, or a date and time.
    Moment(Moment),
    /// Anything else: whether it equals a key is for MySQL to say.
    Other,
}

/// What bind needs besides the plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct BindInput<'a> {
    /// The client's parameters; `None` in the text protocol.
    pub params: Option<&'a [Param<'a>]>,
    /// As many values as [`Plan::generated_values_needed`](crate::Plan::generated_values_needed)
    /// asked for.
    pub generated: &'a [u64],
    /// What the client's strings among the parameters are encoded in now; `None`: as literals
    /// are, by the context. (A statement keeps the context it was prepared in.)
    pub charset: Option<Charset>,
    /// Values that belong to the session rather than to a server.
    pub session: SessionValues,
    /// The client's INSERT names no columns; who veiled it wrote them out.
    pub by_position: bool,
}

/// Values that a statement may ask for and only the session knows. `None`: the server that
/// runs the statement knows better.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SessionValues {
    /// CONNECTION_ID().
    pub connection_id: Option<u32>,
    /// ROW_COUNT(), where the last statement ran on other servers than this one will.
    pub row_count: Option<i64>,
    /// FOUND_ROWS(), likewise.
    pub found_rows: Option<u64>,
}

/// The outcome of bind.
pub type BindResult<'a> = Result<Bound<'a>, Refusal>;
