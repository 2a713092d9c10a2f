//! PREPARE, EXECUTE and DEALLOCATE PREPARE: statements that are prepared by a name in SQL.
//!
//! They live in the session, as those of the protocol do. EXECUTE plans its statement by the values
//! of the user variables, and each server concerned executes it by the same variables: so its types
//! are MySQL's.

use remora_planner::Param as KeyParam;
use remora_planner::keys::Charset;
use remora_planner::lexer::string_literal;
use remora_planner::utility::{self, Prepared as Statement, PreparedText, Span, StatementKind};
use remora_protocol::{ColumnType, ErrPacket, OkPacket};

use super::remember::is_number;
use super::utility::not_supported;
use super::{HOME, Session};
use crate::backend::Table;
use crate::execute::Request;
use crate::failure::Failure;
use crate::session::prepared::ClientStatement;
use crate::world::World;

/// MySQL's number for a text that it does not understand.
const PARSE_ERROR: u16 = 1064;
/// The columns that tell of one user variable.
const TOLD: usize = 4;

impl Session {
    /// Runs a statement of [`StatementKind::Prepared`].
    pub(super) async fn prepared_by_name(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let (sql, mode) = (request.sql, self.state.context.sql_mode);
        let Ok(statement) = utility::prepared(sql, mode) else {
            return Err(self.why_unread(world, sql).await);
        };
        match statement {
            Statement::Prepare { name, text } => {
                let name = name_of(sql, name);
                // MySQL forgets the one before also where the new one is wrong.
                self.prepared.forget_named(&name);
                let text = match text {
                    PreparedText::Literal(span) => {
                        string_literal(span.text(sql), mode).into_owned()
                    }
                    PreparedText::Variable(span) => self.text_of(world, span.text(sql)).await?,
                };
                let (statement, _) = self.make_statement(&text).await?;
                let room = self.room();
                self.prepared.name(&name, statement, room)?;
                self.state.succeeded();
                let status = self.status(request.more_results);
                self.client.put_ok(&OkPacket {
                    status,
                    info: b"Statement prepared",
                    ..OkPacket::default()
                });
            }
            Statement::Execute { name, using } => {
                let name = name_of(sql, name);
                let Some(mut statement) = self.prepared.take_named(&name) else {
                    return Err(unknown(&name, "EXECUTE").into());
                };
                let using: Vec<&[u8]> = using.iter().map(|span| span.text(sql)).collect();
                let outcome = self
                    .execute_named(world, &mut statement, &using, request)
                    .await;
                self.prepared.put_back_named(&name, statement);
                outcome?;
            }
            Statement::Deallocate(name) => {
                let name = name_of(sql, name);
                if !self.prepared.forget_named(&name) {
                    return Err(unknown(&name, "DEALLOCATE PREPARE").into());
                }
                self.state.succeeded();
                self.put_ok(request.more_results);
            }
        }
        Ok(())
    }

    async fn execute_named(
        &mut self,
        world: &World,
        statement: &mut ClientStatement,
        using: &[&[u8]],
        outer: &Request<'_>,
    ) -> Result<(), Failure> {
        if using.len() != statement.params {
            let message = "Incorrect arguments to EXECUTE";
            return Err(ErrPacket::new(1210, *b"HY000", message).into());
        }
        if statement.veil.is_some() {
            return Err(not_supported(
                "EXECUTE of a statement on encrypted columns; prepare it by the client library",
            ));
        }
        let traits = statement.planned.plan().traits();
        if !using.is_empty() && traits.uses_found_rows && self.state.found_rows.is_none() {
            return Err(not_supported(
                "FOUND_ROWS() in a statement that is executed with variables",
            ));
        }
        let told = self.tell(world, using).await?;
        let values: Vec<Value> = (0..using.len())
            .map(|index| Value::of(&told, index))
            .collect();
        let keys: Vec<KeyParam<'_>> = values.iter().map(Value::key).collect();
        let catalog = world.catalogs.load();
        // SET and USE are about the session as it is now, not as it was when they were prepared.
        let kind = statement.planned.plan().kind();
        let context = match kind {
            StatementKind::Set | StatementKind::Use => self.state.context.clone(),
            _ => statement.context.clone(),
        };
        self.admit_context(&context, &statement.sql)?;
        let request = Request {
            sql: &statement.sql,
            params: None,
            keys: (!using.is_empty()).then_some(&keys),
            charset: (!using.is_empty()).then_some(Charset::Utf8mb4),
            using,
            more_results: outer.more_results,
            cover: None,
            attributes: outer.attributes,
            cursor: false,
        };
        let planned = &mut statement.planned;
        self.with_context(&context, async |session| {
            if planned.plan().catalog_version() != catalog.version() {
                *planned = session.plan_with(&catalog, request.sql)?;
            }
            // A statement runs a statement: the future would hold itself.
            Box::pin(session.run(world, &catalog, planned, &request)).await
        })
        .await?;
        if kind == StatementKind::Call && !using.is_empty() {
            // Its OUT parameters.
            self.assigned_variables(HOME, outer.sql);
        }
        Ok(())
    }

    /// The text of a statement in a user variable, in the character set of the client's texts.
    async fn text_of(&mut self, world: &World, variable: &[u8]) -> Result<Vec<u8>, Failure> {
        let told = self.tell(world, &[variable]).await?;
        match (Value::of(&told, 0), self.state.context.charset) {
            // MySQL reads it as the word.
            (Value::Null, _) => Ok(b"NULL".to_vec()),
            (Value::Text(text), Charset::Utf8mb4) => Ok(text),
            (Value::Text(text), _) if text.is_ascii() => Ok(text),
            (Value::Bytes(bytes), _) => Ok(bytes),
            (Value::Large, _) => Err(not_supported("PREPARE from a variable of this size")),
            (Value::Text(_), _) => Err(not_supported(
                "PREPARE from a variable with text that is not ASCII, unless the client's character \
                 set is utf8mb4",
            )),
            _ => Ok(told.text(0).into_bytes()),
        }
    }

    /// Asks for the values of user variables, and sees to it that every server will have them.
    pub(super) async fn tell(
        &mut self,
        world: &World,
        variables: &[&[u8]],
    ) -> Result<Table, Failure> {
        if variables.is_empty() {
            return Ok(Table::default());
        }
        let shard = self.any_shard();
        self.prepare_backend(world, shard).await?;
        self.fetch_variables().await?;
        // As a literal each byte takes two.
        let most = self.room() / 2 / variables.len();
        let told = |name: &&[u8]| {
            let name = String::from_utf8_lossy(name);
            let fits = format!("COALESCE(LENGTH({name}), 0) <= {most}");
            format!(
                "{name}, IF({fits}, HEX({name}), NULL), CHARSET({name}), \
                 IF({fits}, HEX(CONVERT({name} USING utf8mb4)), NULL)"
            )
        };
        let told: Vec<String> = variables.iter().map(told).collect();
        let ask = format!("SELECT {} LIMIT 1", told.join(", "));
        self.ask(shard, ask.as_bytes()).await
    }

    /// The error of a text that cannot be prepared: MySQL's own, where it has one.
    pub(super) async fn why_unread(&mut self, world: &World, sql: &[u8]) -> Failure {
        let shard = self.any_shard();
        if let Err(failure) = self.prepare_backend(world, shard).await {
            return failure;
        }
        let Some(backend) = self.backends.get(shard) else {
            return Failure::CutOff;
        };
        match backend.look_at(sql).await {
            Ok(Err(error)) if error.code == PARSE_ERROR => error.into(),
            Ok(_) => not_supported("preparing, or executing by name, a text of this form"),
            Err(error) => error.into(),
        }
    }
}

/// What a user variable holds.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Integer(i128),
    Decimal(String),
    Double(f64),
    /// In utf8mb4.
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    /// More than the session may hold.
    Large,
}

impl Value {
    /// The variable of this index, of those that were asked for.
    fn of(told: &Table, index: usize) -> Self {
        use ColumnType as T;
        let at = index * TOLD;
        match told.kinds.get(at) {
            _ if told.is_null(at) => Self::Null,
            Some(T::MYSQL_TYPE_DOUBLE | T::MYSQL_TYPE_FLOAT) => {
                told.text(at).parse().map_or(Self::Large, Self::Double)
            }
            Some(kind) if is_number(*kind) => match told.text(at).parse() {
                Ok(number) => Self::Integer(number),
                Err(_) => Self::Decimal(told.text(at)),
            },
            _ if told.is_null(at + 1) => Self::Large,
            _ if told.text(at + 2) == "binary" => {
                hex::decode(told.text(at + 1)).map_or(Self::Large, Self::Bytes)
            }
            _ => hex::decode(told.text(at + 3)).map_or(Self::Large, Self::Text),
        }
    }

    /// The same as the planner sees it.
    fn key(&self) -> KeyParam<'_> {
        match self {
            Self::Null => KeyParam::Null,
            Self::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => KeyParam::Int(number),
                (_, Ok(number)) => KeyParam::UInt(number),
                _ => KeyParam::Other,
            },
            Self::Decimal(text) => KeyParam::Decimal(text),
            Self::Double(number) => KeyParam::Double(*number),
            Self::Text(text) => KeyParam::Bytes(text),
            Self::Bytes(bytes) => KeyParam::Binary(bytes),
            Self::Large => KeyParam::Other,
        }
    }
}

/// Names are equal in any case.
fn name_of(sql: &[u8], name: Span) -> String {
    String::from_utf8_lossy(&name.name(sql)).into_owned()
}

fn unknown(name: &str, given_to: &str) -> ErrPacket<'static> {
    let message = format!("Unknown prepared statement handler ({name}) given to {given_to}");
    ErrPacket::new(1243, *b"HY000", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_value_of_its_type() {
        use ColumnType as T;
        let of = |kind, told: [Option<&str>; TOLD]| {
            let row = told.map(|value| value.map(|text| text.as_bytes().to_vec()));
            Value::of(
                &Table {
                    kinds: vec![kind; TOLD],
                    names: Vec::new(),
                    rows: vec![row.to_vec()],
                },
                0,
            )
        };
        let text = |charset| [Some("a"), Some("61"), Some(charset), Some("61")];
        for (kind, told, value) in [
            (
                T::MYSQL_TYPE_LONGLONG,
                text("binary").map(|_| Some("-3")),
                Value::Integer(-3),
            ),
            (
                T::MYSQL_TYPE_NEWDECIMAL,
                text("binary").map(|_| Some("1.50")),
                Value::Decimal("1.50".to_owned()),
            ),
            (
                T::MYSQL_TYPE_DOUBLE,
                text("binary").map(|_| Some("1e3")),
                Value::Double(1000.0),
            ),
            (
                T::MYSQL_TYPE_VAR_STRING,
                text("latin1"),
                Value::Text(b"a".to_vec()),
            ),
            (
                T::MYSQL_TYPE_VAR_STRING,
                text("binary"),
                Value::Bytes(b"a".to_vec()),
            ),
            (
                T::MYSQL_TYPE_VAR_STRING,
                [Some("a"), None, Some("latin1"), None],
                Value::Large,
            ),
            (T::MYSQL_TYPE_VAR_STRING, [None; TOLD], Value::Null),
        ] {
            assert_eq!(of(kind, told), value);
        }
    }
}
