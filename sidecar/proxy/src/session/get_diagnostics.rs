//! GET DIAGNOSTICS.

use remora_planner::utility::{
    ConditionItem, GetDiagnostics, Span, StatementItem, get_diagnostics,
};
use remora_protocol::OkPacket;

use super::utility::not_supported;
use super::{Diagnostics, Note, Session};
use crate::execute::Request;
use crate::failure::Failure;
use crate::world::World;

/// MySQL's condition of a number that no condition has.
const NO_SUCH_CONDITION: (u16, &[u8; 5], &[u8]) = (1758, b"35000", b"Invalid condition number");

/// A variable's name, and the SET that gives it its value.
type Assigned = (Vec<u8>, String);

impl Session {
    /// Gives user variables what is known of the last statement. The server that ran it tells,
    /// where it is one and names nothing physical; else what was gathered here.
    pub(super) async fn get_diagnostics(
        &mut self,
        world: &World,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let (sql, mode) = (request.sql, self.state.context.sql_mode);
        let Ok(asked) = get_diagnostics(sql, mode) else {
            return self.pass_on(sql).await;
        };
        if let Diagnostics::On(shard) = self.state.diagnostics {
            // Over several shards another connection may be the one that reads the variables.
            let only_one = world.snapshot.shards.len() == 1 && !world.names.are_physical();
            if only_one && self.backends.get(shard).is_some() {
                self.assigned_variables(shard, sql);
                return self.pass_to(shard, sql, request.more_results).await;
            }
            let number = match &asked {
                GetDiagnostics::Condition { number, .. } => {
                    self.number(world, number.text(sql)).await?
                }
                GetDiagnostics::Statement(_) => 0,
            };
            self.gather_with_state(world, shard, number).await?;
        }
        let (sets, warnings) = match asked {
            GetDiagnostics::Statement(items) => (self.of_statement(sql, &items), 0),
            GetDiagnostics::Condition { number, items } => {
                let number = self.number(world, number.text(sql)).await?;
                match self.of_condition(sql, number, &items)? {
                    Some(sets) => (sets, 0),
                    None => (Vec::new(), 1),
                }
            }
        };
        for (name, set) in sets {
            self.state.settings.put(&name, set.into_bytes());
        }
        let status = self.status(request.more_results);
        self.client.put_ok(&OkPacket {
            status,
            warnings,
            ..OkPacket::default()
        });
        Ok(())
    }

    /// Gathers the conditions that the server of `shard` has, and the SQLSTATE of one of them, which
    /// SHOW WARNINGS does not tell.
    async fn gather_with_state(
        &mut self,
        world: &World,
        shard: usize,
        number: usize,
    ) -> Result<(), Failure> {
        if number > 0
            && let Some(backend) = self.backends.get(shard)
        {
            let ask =
                format!("GET DIAGNOSTICS CONDITION {number} @`remora state` = RETURNED_SQLSTATE");
            // It adds a condition where there is none of this number, as the client's would.
            backend.query(ask.as_bytes()).await?.finish().await??;
        }
        self.gather_diagnostics(world).await?;
        if number > 0 {
            let table = self.ask(shard, b"SELECT @`remora state` LIMIT 1").await?;
            let state = table.text(0).as_bytes().try_into().ok();
            if let Diagnostics::Local(notes) = &mut self.state.diagnostics {
                // That added one is told of below.
                notes.retain(|note| note.code != NO_SUCH_CONDITION.0);
                if let Some(note) = notes.get_mut(number - 1) {
                    note.state = state;
                }
            }
        }
        Ok(())
    }

    fn of_statement(&self, sql: &[u8], items: &[(Span, StatementItem)]) -> Vec<(Vec<u8>, String)> {
        let value = |item: &StatementItem| match item {
            StatementItem::Number => unsigned(self.notes().len()),
            StatementItem::RowCount => self.state.row_count.to_string(),
        };
        items
            .iter()
            .map(|(name, item)| setting(sql, *name, &value(item)))
            .collect()
    }

    /// What is known of the condition of this number, from 1 on; `None` where there is none, which
    /// is a condition then.
    fn of_condition(
        &mut self,
        sql: &[u8],
        number: usize,
        items: &[(Span, ConditionItem)],
    ) -> Result<Option<Vec<Assigned>>, Failure> {
        let note = number.checked_sub(1).and_then(|at| self.notes().get(at));
        let Some(note) = note else {
            let (code, state, message) = NO_SUCH_CONDITION;
            let mut notes = self.notes().to_vec();
            notes.push(Note {
                level: b"Error".to_vec(),
                code,
                state: Some(*state),
                message: message.to_vec(),
            });
            self.state.diagnostics = Diagnostics::of_notes(notes);
            return Ok(None);
        };
        let text = |bytes: &[u8]| format!("_utf8mb3 X'{}'", hex::encode(bytes));
        let value = |item: &ConditionItem| {
            let state = || {
                note.state.ok_or_else(|| {
                    not_supported(
                        "the SQLSTATE of a condition of several shards; ask for MYSQL_ERRNO",
                    )
                })
            };
            Ok::<_, Failure>(match item {
                ConditionItem::Number => unsigned(note.code.into()),
                ConditionItem::Message => text(&note.message),
                ConditionItem::Name => text(b""),
                ConditionItem::State => text(&state()?),
                ConditionItem::Origin if is_standard(state()?) => text(b"ISO 9075"),
                ConditionItem::Origin => text(b"MySQL"),
            })
        };
        items
            .iter()
            .map(|(name, item)| Ok(setting(sql, *name, &value(item)?)))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn notes(&self) -> &[Note] {
        match &self.state.diagnostics {
            Diagnostics::Local(notes) => notes,
            _ => &[],
        }
    }

    /// A condition's number, which may be in a variable.
    async fn number(&mut self, world: &World, text: &[u8]) -> Result<usize, Failure> {
        let text = match text.first() {
            Some(b'@') => self.tell(world, &[text]).await?.text(0),
            _ => String::from_utf8_lossy(text).into_owned(),
        };
        Ok(text.parse().unwrap_or(0))
    }
}

fn unsigned(number: usize) -> String {
    format!("CAST({number} AS UNSIGNED)")
}

fn setting(sql: &[u8], name: Span, value: &str) -> Assigned {
    let name = name.text(sql).to_ascii_lowercase();
    let set = format!("SET {} = {value}", String::from_utf8_lossy(&name));
    (name, set)
}

/// Whether the class of an SQLSTATE is one of the standard's: it begins with 0 to 4 or A to H.
fn is_standard(state: [u8; 5]) -> bool {
    let standard = |byte: &u8| matches!(byte, b'0'..=b'4' | b'A'..=b'H');
    state.iter().take(1).all(standard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_has_its_own_classes() {
        assert!(
            [*b"42S22", *b"01000", *b"HY000"]
                .into_iter()
                .all(is_standard)
        );
        assert!(!is_standard(*b"XA100") && !is_standard(*b"70100"));
    }
}
