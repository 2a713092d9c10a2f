//! SET: run on one server, remembered for the others.

use remora_planner::lexer::{Lexer, SqlMode};
use remora_planner::utility::{self, Assignment, Scope, SetValue, Span, TransactionScope};
use remora_protocol::ErrPacket;

use super::metadata;
use super::settings::{CHARACTER_SET, NAMES};
use super::utility::not_supported;
use super::{Characteristics, Diagnostics, HOME, Note, Session, Transaction};
use crate::backend::{Call, Operand};
use crate::execute::{Patch, Request, relay};
use crate::failure::Failure;
use crate::world::World;

/// Variables that SET assigns for the next transaction only, when written `@@name`.
const NEXT_TRANSACTION: [&str; 2] = ["transaction_isolation", "transaction_read_only"];
/// Variables of one statement or one server, which cannot be spread over several.
const REFUSED: [&str; 5] = [
    "gtid_next",
    "insert_id",
    "pseudo_thread_id",
    "sql_log_bin",
    "xa_detach_on_prepare",
];

/// Variables of a server that no sidecar serves with another value (`server_defaults.rs`).
const READS_TEXTS: [&str; 6] = [
    "autocommit",
    "completion_type",
    "init_connect",
    "sql_mode",
    "sql_select_limit",
    "xa_detach_on_prepare",
];
/// Variables that begin something on one connection, which to SET them elsewhere does not bring
/// there.
const OF_ONE_CONNECTION: [&[u8]; 4] = [b"profiling", b"rand_seed1", b"rand_seed2", b"debug"];

/// How a connection that did not run the SET gets the same value.
pub(super) enum Replay {
    /// By the client's own words.
    Text(Vec<u8>),
    /// By the value that MySQL computed.
    Value,
    /// By the value too: words of a string would mean something else in another character set
    /// or sql_mode.
    String,
    /// By nothing: it is not of a session.
    Never,
}

/// One variable that a SET gives a value.
pub(super) struct Assigned {
    pub(super) name: Vec<u8>,
    pub(super) replay: Replay,
}

impl Session {
    /// Runs a SET and remembers what it set.
    pub(super) async fn set(
        &mut self,
        world: &World,
        leaves_state: bool,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let sql = request.sql;
        let Ok(assignments) = utility::set(sql, self.state.context.sql_mode) else {
            return Err(not_supported("this form of SET"));
        };
        if self.client.marks_metadata()
            && let Some(value) = metadata::assigned(sql, &assignments)
        {
            return self.set_metadata(value, &assignments, request);
        }
        let mut assigned = Vec::with_capacity(assignments.len());
        for assignment in &assignments {
            match self.read(sql, assignment)? {
                Some(variable) => assigned.push(variable),
                None if assignments.len() > 1 => {
                    return Err(not_supported(
                        "characteristics of the next transaction beside other variables in one \
                         SET; use SET TRANSACTION",
                    ));
                }
                None => {
                    let what = characteristics(sql, assignment);
                    return self.set_next_transaction(what, request);
                }
            }
        }
        self.admit_bytes(sql.len())?;
        self.commit_for_autocommit(&assignments, sql).await?;
        let computes = assigned.iter().any(|a| matches!(a.replay, Replay::Value));
        // Locks by name, and functions of the manifest's database, are where SELECT finds them.
        let shard = if leaves_state {
            HOME
        } else if computes {
            self.shard_of_expressions(sql)
        } else {
            self.any_shard()
        };
        self.lease_for_set(world, shard, computes).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        let of_one = |a: &Assigned| OF_ONE_CONNECTION.iter().any(|name| *name == a.name);
        if leaves_state || assigned.iter().any(of_one) {
            backend.residue.may_leave_anything();
        }
        let params = request.params.map(<[_]>::to_vec);
        let using = request.using.iter().map(|name| Operand::Variable(name));
        let using = using.collect();
        let call = Call {
            sql,
            params,
            using,
            attributes: request.attributes,
        };
        let exchange = backend.run(&call).await?;
        let patch = Patch {
            more_results: request.more_results,
            ..Patch::default()
        };
        let relayed = relay(&mut self.client, exchange, &patch).await?;
        let Some(ended) = &relayed.ended else {
            if let Some(backend) = self.backends.get(shard) {
                // Of several assignments the first may have been made.
                backend.is_unclear();
            }
            self.state.failed_on(shard);
            return Ok(());
        };
        let was_autocommit = std::mem::replace(
            &mut self.state.autocommit,
            ended
                .status
                .contains(remora_protocol::StatusFlags::SERVER_STATUS_AUTOCOMMIT),
        );
        if self.state.autocommit && !was_autocommit {
            // Switching it on commits.
            self.state.transaction = Transaction::None;
        }
        self.heed(shard, ended.status).await;
        self.state.succeeded();
        if ended.warnings > 0
            && let Some(backend) = self.backends.get(shard)
        {
            // What follows asks the same server, and would wipe them out.
            self.state.diagnostics = Diagnostics::of_notes(Note::fetch(backend).await?);
        }
        let of_server = |it: &Assigned| matches!(it.replay, Replay::Never);
        if assigned.iter().any(of_server)
            && let Some(pool) = self.backends.get(shard).and_then(|b| b.pool().cloned())
        {
            // Sessions that begin now begin with it.
            pool.clear();
            if let Some(backend) = self.backends.get(shard) {
                // Whoever gets it next begins with it, too.
                backend.is_unclear();
            }
        }
        self.remember(shard, assigned).await
    }

    /// Switching autocommit on commits, which one server could not do for the others.
    async fn commit_for_autocommit(
        &mut self,
        assignments: &[Assignment],
        sql: &[u8],
    ) -> Result<(), Failure> {
        let mode = self.state.context.sql_mode;
        let switches_on = |assignment: &Assignment| match assignment {
            Assignment::Variable { name, value, .. } => {
                name.name(sql).eq_ignore_ascii_case(b"autocommit") && !is_off(sql, *value, mode)
            }
            _ => false,
        };
        if self.state.transaction.is_spread()
            && !self.state.autocommit
            && assignments.iter().any(switches_on)
        {
            self.commit_implicitly().await?;
        }
        Ok(())
    }

    /// What is assigned; `None` for the next transaction's characteristics.
    fn read(&self, sql: &[u8], assignment: &Assignment) -> Result<Option<Assigned>, Failure> {
        let mode = self.state.context.sql_mode;
        let text = |span: Span| String::from_utf8_lossy(span.text(sql)).into_owned();
        let replay = |set: String, value: Span| match utility::set_value(sql, value, mode) {
            SetValue::Expression => Replay::Value,
            _ => Replay::Text(format!("{set} = {}", text(value)).into_bytes()),
        };
        Ok(Some(match assignment {
            Assignment::Variable {
                scope: Scope::Session,
                bare_at,
                name,
                value,
            } => {
                let name = String::from_utf8_lossy(&name.name(sql)).to_ascii_lowercase();
                if *bare_at && NEXT_TRANSACTION.contains(&name.as_str()) {
                    return Ok(None);
                }
                let refused = REFUSED.contains(&name.as_str());
                if refused && !(name == "sql_log_bin" && self.proxy.world().is_one_server()) {
                    return Err(not_supported(&format!("SET {name}")));
                }
                let replay = replay(format!("SET SESSION {name}"), *value);
                Assigned {
                    name: name.into_bytes(),
                    replay,
                }
            }
            Assignment::Variable { name, .. } => {
                let name = String::from_utf8_lossy(&name.name(sql)).to_ascii_lowercase();
                self.of_server(&name)?
            }
            Assignment::Transaction {
                scope: TransactionScope::Global,
                ..
            } => self.of_server("transaction")?,
            Assignment::User { name, value } => {
                let replay = match utility::set_value(sql, *value, mode) {
                    SetValue::Text(_) => Replay::String,
                    _ => replay(format!("SET {}", text(*name)), *value),
                };
                Assigned {
                    name: name.text(sql).to_ascii_lowercase(),
                    replay,
                }
            }
            Assignment::Names { charset, collation } => {
                let charset = charset.map_or_else(|| "DEFAULT".to_owned(), text);
                let collation = collation.map(|c| format!(" COLLATE {}", text(c)));
                let set = format!("SET NAMES {charset}{}", collation.unwrap_or_default());
                Assigned {
                    name: NAMES.to_vec(),
                    replay: Replay::Text(set.into_bytes()),
                }
            }
            Assignment::CharacterSet(charset) => {
                let charset = charset.map_or_else(|| "DEFAULT".to_owned(), text);
                let set = format!("SET CHARACTER SET {charset}");
                Assigned {
                    name: CHARACTER_SET.to_vec(),
                    replay: Replay::Text(set.into_bytes()),
                }
            }
            Assignment::Transaction {
                scope: TransactionScope::Next,
                ..
            } => return Ok(None),
            Assignment::Transaction {
                scope: TransactionScope::Session,
                isolation,
                access,
            } => {
                let name: &[u8] = match (isolation, access) {
                    (Some(_), None) => b"transaction_isolation",
                    (None, _) => b"transaction_read_only",
                    (Some(_), Some(_)) => b"transaction",
                };
                Assigned {
                    name: name.to_vec(),
                    replay: Replay::Text(sql.to_vec()),
                }
            }
        }))
    }

    /// A variable of the server, by SET GLOBAL or PERSIST.
    fn of_server(&self, name: &str) -> Result<Assigned, Failure> {
        if !self.proxy.world().is_one_server() {
            return Err(not_supported(
                "SET GLOBAL and PERSIST over several shards; put the variable into the manifest's \
                 spec.mysql.config",
            ));
        }
        if READS_TEXTS.contains(&name) {
            return Err(not_supported(&format!(
                "SET GLOBAL {name}, by which sessions would read texts otherwise than the sidecar \
                 does; SET it in each session",
            )));
        }
        Ok(Assigned {
            name: format!("@@global.{name}").into_bytes(),
            replay: Replay::Never,
        })
    }

    /// SET TRANSACTION, without SESSION: it goes before whatever opens the next transaction.
    fn set_next_transaction(
        &mut self,
        what: Characteristics,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        if self.state.transaction.is_open() {
            return Err(ErrPacket::new(
                1568,
                *b"25001",
                "Transaction characteristics can't be changed while a transaction is in progress",
            )
            .into());
        }
        self.admit_bytes(request.sql.len())?;
        self.state.next_transaction.put(what, request.sql);
        self.state.succeeded();
        self.put_ok(request.more_results);
        Ok(())
    }

    /// An expression may read tables, which then are on the first shard, or variables that only
    /// one server knows.
    fn shard_of_expressions(&self, sql: &[u8]) -> usize {
        let mode = self.state.context.sql_mode;
        let reads = Lexer::new(sql, mode).any(|t| t.is_word(sql, "SELECT"));
        if reads { HOME } else { self.any_shard() }
    }

    async fn lease_for_set(
        &mut self,
        world: &World,
        shard: usize,
        computes: bool,
    ) -> Result<(), Failure> {
        if !computes {
            return self.prepare_backend(world, shard).await;
        }
        self.lease(world, shard, true).await?;
        self.lend_insert_id(shard).await
    }
}

/// Whether a value of a switch is 0, OFF or FALSE.
fn is_off(sql: &[u8], value: Span, mode: SqlMode) -> bool {
    match utility::set_value(sql, value, mode) {
        SetValue::Integer(number) => number == 0,
        SetValue::Word(word) | SetValue::Text(word) => {
            [&b"off"[..], b"false"].contains(&word.to_ascii_lowercase().as_slice())
        }
        SetValue::Default | SetValue::Expression => false,
    }
}

/// What a SET of the next transaction's characteristics is about.
fn characteristics(sql: &[u8], assignment: &Assignment) -> Characteristics {
    let (isolation, access) = match assignment {
        Assignment::Transaction {
            isolation, access, ..
        } => (isolation.is_some(), access.is_some()),
        Assignment::Variable { name, .. } => {
            let isolation = name
                .name(sql)
                .eq_ignore_ascii_case(NEXT_TRANSACTION[0].as_bytes());
            (isolation, !isolation)
        }
        _ => (false, false),
    };
    Characteristics { isolation, access }
}
