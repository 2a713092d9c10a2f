//! Everything that a client can see of one statement.

use std::fmt;

use mysql_async::consts::{ColumnFlags, StatusFlags};
use mysql_async::prelude::Protocol;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Column, Conn, Error, Params, QueryResult, Row, Statement, Value};

/// What one statement brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Rows, counts or an error.
    pub reply: Reply,
    /// What `SHOW WARNINGS` says after it, asked only when there is something to say.
    pub warnings: Vec<String>,
}

/// The server's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A result set.
    Rows {
        /// Its columns' definitions.
        columns: Vec<ColumnFacts>,
        /// Its rows.
        rows: Vec<Vec<Value>>,
        /// What the packet at its end says.
        counts: Counts,
    },
    /// An OK packet.
    Done(Counts),
    /// The definitions that a PREPARE answered with.
    Prepared {
        /// Of the parameters.
        parameters: Vec<ColumnFacts>,
        /// Of the result's columns.
        columns: Vec<ColumnFacts>,
    },
    /// An error packet.
    Error {
        /// MySQL's number.
        code: u16,
        /// The SQLSTATE.
        state: String,
        /// The text.
        message: String,
    },
    /// No answer that the protocol knows: a closed connection, a broken packet, silence.
    Lost(String),
}

/// The numbers of an OK packet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Affected rows.
    pub affected: u64,
    /// The last insert id.
    pub last_insert_id: u64,
    /// How many warnings.
    pub warnings: u16,
    /// The info string.
    pub info: String,
    /// The status flags that speak of the session, not of how the rows were found.
    pub status: String,
}

/// Every field of a column definition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ColumnFacts(pub Vec<(&'static str, String)>);

impl ColumnFacts {
    fn all(columns: &[Column]) -> Vec<Self> {
        columns.iter().map(Self::from).collect()
    }
}

impl From<&Column> for ColumnFacts {
    fn from(column: &Column) -> Self {
        Self(vec![
            ("schema", column.schema_str().into_owned()),
            ("table", column.table_str().into_owned()),
            ("org_table", column.org_table_str().into_owned()),
            ("name", column.name_str().into_owned()),
            ("org_name", column.org_name_str().into_owned()),
            ("charset", column.character_set().to_string()),
            ("length", column.column_length().to_string()),
            ("type", format!("{:?}", column.column_type())),
            ("flags", flags(column)),
            ("decimals", column.decimals().to_string()),
        ])
    }
}

/// The flags that a statement decides. BINARY of an aggregate is not one: MySQL sets it where its
/// optimizer goes through a temporary table, which hangs on the rows and values that it meets,
/// and so may differ between two executions of one prepared statement on one server.
fn flags(column: &Column) -> String {
    let mut flags = column.flags();
    let of_a_table = !column.org_name_ref().is_empty();
    if !of_a_table && column.column_type().is_numeric_type() {
        flags.remove(ColumnFlags::BINARY_FLAG);
    }
    format!("{flags:?}")
}

impl Outcome {
    /// Sends `sql` as text.
    pub async fn of_text(connection: &mut Conn, sql: &str) -> Self {
        let reply = match connection.query_iter(sql).await {
            Ok(result) => reply_of(result).await,
            Err(error) => Reply::from(error),
        };
        Self::with_warnings(connection, reply).await
    }

    /// Prepares `sql`; the statement is there unless the reply is an error.
    pub async fn of_prepare(connection: &mut Conn, sql: &str) -> (Self, Option<Statement>) {
        match connection.prep(sql).await {
            Ok(statement) => {
                let reply = Reply::Prepared {
                    parameters: ColumnFacts::all(statement.params()),
                    columns: ColumnFacts::all(&statement.columns()),
                };
                (
                    Self {
                        reply,
                        warnings: Vec::new(),
                    },
                    Some(statement),
                )
            }
            Err(error) => {
                let reply = Reply::from(error);
                (Self::with_warnings(connection, reply).await, None)
            }
        }
    }

    /// Executes a prepared statement.
    pub async fn of_execute(
        connection: &mut Conn,
        statement: &Statement,
        values: Vec<Value>,
    ) -> Self {
        let parameters = if values.is_empty() {
            Params::Empty
        } else {
            Params::Positional(values)
        };
        let reply = match connection.exec_iter(statement, parameters).await {
            Ok(result) => reply_of(result).await,
            Err(error) => Reply::from(error),
        };
        Self::with_warnings(connection, reply).await
    }

    async fn with_warnings(connection: &mut Conn, mut reply: Reply) -> Self {
        if let Reply::Rows { counts, .. } | Reply::Done(counts) = &mut reply {
            counts.status = status(connection);
        }
        let ask = match &reply {
            Reply::Rows { counts, .. } | Reply::Done(counts) => counts.warnings > 0,
            Reply::Error { .. } => true,
            Reply::Prepared { .. } | Reply::Lost(_) => false,
        };
        let mut warnings = Vec::new();
        if ask {
            match connection
                .query::<(String, u16, String), _>("SHOW WARNINGS")
                .await
            {
                Ok(rows) => warnings.extend(
                    rows.into_iter()
                        .map(|(level, code, text)| format!("{level} {code}: {text}")),
                ),
                Err(error) => warnings.push(format!("SHOW WARNINGS failed: {error}")),
            }
        }
        Self { reply, warnings }
    }

    /// The error's number, if it is one.
    #[must_use]
    pub fn error_code(&self) -> Option<u16> {
        match &self.reply {
            Reply::Error { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the connection can no longer be used.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.reply, Reply::Lost(_))
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        match error {
            Error::Server(error) => Self::Error {
                code: error.code,
                state: error.state,
                message: error.message,
            },
            other => Self::Lost(other.to_string()),
        }
    }
}

async fn reply_of<P: Protocol>(mut result: QueryResult<'_, 'static, P>) -> Reply {
    let columns = ColumnFacts::all(result.columns_ref());
    let rows = match result.collect::<Row>().await {
        Ok(rows) => rows,
        Err(error) => return error.into(),
    };
    let counts = Counts {
        affected: result.affected_rows(),
        last_insert_id: result.last_insert_id().unwrap_or(0),
        warnings: result.warnings(),
        info: result.info().into_owned(),
        status: String::new(),
    };
    if let Err(error) = result.drop_result().await {
        return error.into();
    }
    if columns.is_empty() {
        return Reply::Done(counts);
    }
    Reply::Rows {
        columns,
        rows: rows.into_iter().map(Row::unwrap).collect(),
        counts,
    }
}

/// The session's status in words: what a driver decides by.
fn status(connection: &Conn) -> String {
    let told = StatusFlags::SERVER_STATUS_IN_TRANS
        | StatusFlags::SERVER_STATUS_AUTOCOMMIT
        | StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES
        | StatusFlags::SERVER_STATUS_IN_TRANS_READONLY;
    connection
        .last_ok_packet()
        .map(|packet| format!("{:?}", packet.status_flags() & told))
        .unwrap_or_default()
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { columns, rows, .. } => {
                write!(f, "{} rows of {} columns", rows.len(), columns.len())
            }
            Self::Done(counts) => write!(f, "OK, {} rows affected", counts.affected),
            Self::Prepared {
                parameters,
                columns,
            } => {
                write!(
                    f,
                    "prepared, {} parameters, {} columns",
                    parameters.len(),
                    columns.len()
                )
            }
            Self::Error {
                code,
                state,
                message,
            } => write!(f, "ERROR {code} ({state}): {message}"),
            Self::Lost(why) => write!(f, "no answer: {why}"),
        }
    }
}
