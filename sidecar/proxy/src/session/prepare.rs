//! COM_STMT_PREPARE and COM_STMT_EXECUTE.

use std::sync::Arc;

use bytes::BufMut as _;
use remora_planner::keys::Moment;
use remora_planner::lexer::Statements;
use remora_planner::utility::StatementKind;
use remora_planner::{BindInput, Context, Param as KeyParam, Prepare, Target};
use remora_protocol::{
    CapabilityFlags, ColumnType, CursorType, DateTime, EofPacket, ErrPacket, Execute, Param,
    ParamValue, PrepareOk, RawParam, decode_execute, rename_schema,
};

use super::prepared::ClientStatement;
use super::utility::not_supported;
use super::veiled::of_client;
use super::{HOME, Session};
use crate::backend::Described;
use crate::execute::Request;
use crate::failure::Failure;
use crate::names::logical;
use crate::world::World;

/// The flag of an EXECUTE that asks for a cursor. MySQL has no other kind.
const READ_ONLY: u8 = CursorType::CURSOR_TYPE_READ_ONLY.bits();

impl Session {
    /// Prepares a statement. MySQL describes it on one physical table; where it will run
    /// depends on its parameters.
    pub(super) async fn prepare(&mut self, sql: &[u8]) -> Result<(), Failure> {
        self.admit_metadata(sql)?;
        let world = self.proxy.world();
        let (statement, described) = self.make_statement(sql).await?;
        let room = self.room();
        let id = self.prepared.insert(statement, room)?;
        self.put_described(&world, id, &described)
    }

    /// What a text is prepared as, and what MySQL says of it.
    pub(super) async fn make_statement(
        &mut self,
        sql: &[u8],
    ) -> Result<(ClientStatement, Described), Failure> {
        let world = self.proxy.world();
        self.admit_text(sql)?;
        if Statements::new(sql, self.state.context.sql_mode)
            .nth(1)
            .is_some()
        {
            self.refuse_to_pass(sql)?;
            return Err(self.why_unread(&world, sql).await);
        }
        let proxy = self.proxy.clone();
        let context = self.state.context.clone();
        let client_sql = sql;
        let (catalog, planned, veiled) = match self.veil(&world.catalogs.load(), sql)? {
            None => {
                self.entry.runs(sql);
                let (catalog, planned) = self.plan(&world, sql).await?;
                (catalog, planned, None)
            }
            Some(veil) => {
                self.entry.runs_veiled();
                let (catalog, planned, veil, text) = self.prepare_veiled(&world, sql, veil).await?;
                (catalog, planned, Some((veil, text)))
            }
        };
        let sql = veiled.as_ref().map_or(sql, |(_, text)| &text.sql);
        let input = BindInput {
            params: Some(&[]),
            ..BindInput::default()
        };
        let prepare = proxy
            .planner
            .prepare(&catalog, &context, &planned, sql, &input);
        let described = match prepare {
            Prepare::On { target, statement } => {
                let shard = match target {
                    Target::Shard(shard) => usize::from(shard.0),
                    Target::Home => HOME,
                    Target::Any => self.any_shard(),
                };
                let sql = &statement.sql;
                match self.describe_on_replica(&world, &planned, shard, sql).await {
                    Some(described) => described,
                    None => {
                        self.prepare_backend(&world, shard).await?;
                        let Some(backend) = self.backends.get(shard) else {
                            return Err(Failure::CutOff);
                        };
                        let described = backend.describe(sql).await?;
                        described.map_err(|error| logical(&world, error))?
                    }
                }
            }
            Prepare::Here => {
                self.describe_here(&world, planned.plan().kind(), sql)
                    .await?
            }
        };
        let (described, veil) = match veiled {
            None => (described, None),
            Some((veil, text)) => {
                let cover = self
                    .cover(&world, &catalog, &veil, &planned, Vec::new(), (true, true))
                    .await?;
                let described = of_client(&world, described, &text, &cover)?;
                (described, Some(veil))
            }
        };
        let statement = ClientStatement {
            sql: client_sql.to_vec(),
            planned,
            veil,
            context: context.clone(),
            params: described.params.len(),
            has_rows: !described.columns.is_empty(),
            types: Vec::new(),
            long_data: std::collections::HashMap::new(),
            spoiled: None,
            cursor: None,
        };
        Ok((statement, described))
    }

    /// Describes a statement that the session runs itself: MySQL knows whether it can be
    /// prepared, and what its answer looks like.
    async fn describe_here(
        &mut self,
        world: &World,
        kind: StatementKind,
        sql: &[u8],
    ) -> Result<Described, Failure> {
        if matches!(
            kind,
            StatementKind::ShowRemora | StatementKind::ExplainRemora
        ) {
            return Err(not_preparable().into());
        }
        let shard = self.any_shard();
        self.prepare_backend(world, shard).await?;
        let Some(backend) = self.backends.get(shard) else {
            return Err(Failure::CutOff);
        };
        Ok(backend.describe(sql).await??)
    }

    fn put_described(
        &mut self,
        world: &World,
        id: u32,
        described: &Described,
    ) -> Result<(), Failure> {
        let count = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let head = PrepareOk {
            statement: id,
            columns: count(described.columns.len()),
            params: count(described.params.len()),
            warnings: described.warnings,
        };
        let (marks, bare) = (self.client.marks_metadata(), self.client.has_bare_results());
        self.client.put_with(|out| {
            head.encode(out);
            if marks {
                out.put_u8(u8::from(!bare));
            }
        });
        let status = self.state.status();
        let old_ends = !self
            .client
            .capabilities()
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        for definitions in [&described.params, &described.columns] {
            for definition in definitions.iter().filter(|_| !bare) {
                let mut renamed = Ok(());
                let logical = |schema: &[u8]| world.names.logical(schema);
                self.client
                    .put_with(|out| renamed = rename_schema(definition, logical, out));
                renamed?;
            }
            if old_ends && !definitions.is_empty() {
                self.client.put_with(|out| {
                    EofPacket {
                        warnings: 0,
                        status,
                    }
                    .encode(out);
                });
            }
        }
        Ok(())
    }

    /// Executes a prepared statement.
    pub(super) async fn execute(&mut self, execute: &Execute<'_>) -> Result<(), Failure> {
        let mut statement = self.prepared.take(execute.statement)?;
        let outcome = match statement.cursor.take() {
            Some(cursor) => self.close_cursor(cursor),
            None => Ok(()),
        };
        let outcome = match outcome {
            Ok(()) => self.execute_statement(&mut statement, execute).await,
            Err(failure) => Err(failure),
        };
        statement.cursor = self.opened_cursor.take();
        self.prepared.put_back(execute.statement, statement);
        outcome
    }

    async fn execute_statement(
        &mut self,
        statement: &mut ClientStatement,
        execute: &Execute<'_>,
    ) -> Result<(), Failure> {
        match statement.veil {
            None => self.entry.runs(&statement.sql),
            Some(_) => self.entry.runs_veiled(),
        }
        if let Some(error) = statement.spoiled.take() {
            return Err(error.into());
        }
        let ClientStatement {
            sql,
            planned,
            veil,
            context,
            params: count,
            types,
            long_data,
            has_rows,
            ..
        } = statement;
        let capabilities = self.client.capabilities();
        let is_long = |number: usize| long_data.contains_key(&number);
        let (mut params, attributes) =
            decode_execute(execute, capabilities, *count, types, is_long)
                .map_err(|_| wrong_arguments())?;
        for (index, param) in params.iter_mut().enumerate() {
            if let (RawParam::Long, Some(data)) = (param.raw, long_data.get(&index)) {
                param.raw = RawParam::Bytes(data);
            }
        }
        let keys: Vec<KeyParam<'_>> = params
            .iter()
            .map(key_param)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong_arguments())?;
        let world = self.proxy.world();
        let catalog = world.catalogs.load();
        let request = Request {
            sql,
            params: Some(&params),
            keys: Some(&keys),
            charset: Some(self.state.context.charset),
            using: &[],
            more_results: false,
            cover: None,
            attributes: &attributes,
            cursor: execute.flags & READ_ONLY != 0 && *has_rows,
        };
        // SET and USE are about the session as it is now, not as it was when they were prepared.
        let kind = planned.plan().kind();
        let now = matches!(kind, StatementKind::Set | StatementKind::Use);
        let context = if now {
            self.state.context.clone()
        } else {
            context.clone()
        };
        self.admit_context(&context, sql)?;
        self.with_context(&context, async |session| {
            if let Some(veil) = veil {
                if request.cursor {
                    return Err(not_supported(
                        "a cursor over a table with encrypted columns; execute without one",
                    ));
                }
                let params = (&params[..], &keys[..], &attributes[..]);
                return session
                    .execute_veiled(&world, &catalog, sql, veil, planned, params)
                    .await;
            }
            if planned.plan().catalog_version() != catalog.version() {
                *planned = session.plan_with(&catalog, sql)?;
            }
            session.run(&world, &catalog, planned, &request).await
        })
        .await
    }

    /// Servers prepare a statement when it first runs there, and read it as the session is set
    /// then. Where MySQL would go on reading it as when it was prepared, it is refused.
    pub(super) fn admit_context(&self, context: &Context, sql: &[u8]) -> Result<(), Failure> {
        let now = &self.state.context;
        let other_text = context.charset != now.charset && !sql.is_ascii();
        if context.sql_mode == now.sql_mode && !other_text {
            return Ok(());
        }
        Err(not_supported(
            "executing a statement that was prepared under another sql_mode or character set; \
             prepare it anew",
        ))
    }

    /// Runs something with the context in which a statement was prepared: its database, and
    /// how its text is read.
    pub(super) async fn with_context<T>(
        &mut self,
        context: &Arc<Context>,
        run: impl AsyncFnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if *context == self.state.context {
            return run(self).await;
        }
        let own = std::mem::replace(&mut self.state.context, context.clone());
        let outcome = run(self).await;
        self.state.context = own;
        outcome
    }
}

/// A parameter as the planner sees it. The type that the client binds it with matters: MySQL
/// compares a text with a DECIMAL as numbers, and stores a BLOB without converting it.
fn key_param<'a>(param: &Param<'a>) -> remora_protocol::Result<KeyParam<'a>> {
    use ColumnType as T;
    Ok(match param.value()? {
        ParamValue::Null => KeyParam::Null,
        ParamValue::Int(value) => KeyParam::Int(value),
        ParamValue::UInt(value) => KeyParam::UInt(value),
        ParamValue::Float(value) => KeyParam::Double(f64::from(value)),
        ParamValue::Double(value) => KeyParam::Double(value),
        ParamValue::Bytes(bytes) => match param.ty.kind {
            T::MYSQL_TYPE_STRING | T::MYSQL_TYPE_VAR_STRING | T::MYSQL_TYPE_VARCHAR => {
                KeyParam::Bytes(bytes)
            }
            T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB => KeyParam::Binary(bytes),
            T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => {
                std::str::from_utf8(bytes).map_or(KeyParam::Other, KeyParam::Decimal)
            }
            _ => KeyParam::Other,
        },
        ParamValue::DateTime(date) => key_date(param.ty.kind, date),
        ParamValue::Time(_) | ParamValue::Long => KeyParam::Other,
    })
}

/// A date as the planner sees it. One with an offset depends on the session's time zone.
fn key_date(kind: ColumnType, date: DateTime) -> KeyParam<'static> {
    if date.offset.is_some() {
        return KeyParam::Other;
    }
    let midnight = Moment::midnight(date.year, date.month, date.day);
    if kind == ColumnType::MYSQL_TYPE_DATE {
        return KeyParam::Moment(midnight);
    }
    KeyParam::Moment(Moment {
        hour: date.hour,
        minute: date.minute,
        second: date.second,
        micros: date.micros,
        ..midnight
    })
}

/// MySQL's error for statements that only run as text.
fn not_preparable() -> ErrPacket<'static> {
    ErrPacket::new(
        1295,
        *b"HY000",
        "This command is not supported in the prepared statement protocol yet",
    )
}

/// MySQL's error for parameters that do not fit the statement.
fn wrong_arguments() -> ErrPacket<'static> {
    ErrPacket::new(
        1210,
        *b"HY000",
        "Incorrect arguments to mysqld_stmt_execute",
    )
}
