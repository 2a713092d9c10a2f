//! From an INSERT's rows and values to statements for their places.

use std::collections::BTreeMap;

use crate::Refusal;
use crate::binding::Binding;
use crate::bound::{Action, Count, InsertReport, Place, Statement, Target, Writes};
use crate::plan::Needed;
use crate::text::{Position, Renderer};
use crate::values::{Stored, Values, store_number};

use super::insert::{Given, InsertPlan, Row, refused};
use super::rows::everywhere;

/// A row, and the value that was made for it.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    row: usize,
    value: Option<u64>,
}

impl InsertPlan {
    /// How many values of the generated column must be made for these parameters.
    pub(crate) fn needed(&self, values: &Values<'_>) -> Option<Needed> {
        let generated = self.table.generated.as_ref()?;
        let count = self
            .rows
            .iter()
            .filter(|row| self.wants_value(row, values))
            .count();
        (count > 0).then(|| Needed {
            table: self.table.name.clone(),
            kind: generated.kind,
            count,
        })
    }

    /// Whether a row asks for a new value: it gives none, or NULL, or 0.
    fn wants_value(&self, row: &Row, values: &Values<'_>) -> bool {
        match row.generated {
            Given::Nothing => false,
            Given::Missing { .. } | Given::Value { operand: None, .. } => true,
            Given::Value {
                operand: Some(operand),
                ..
            } => {
                values.is_null(operand)
                    || (!self.zero_is_a_value && values.integer(operand) == Some(0))
            }
        }
    }

    /// The statements for these values.
    pub(crate) fn bind<'a>(
        &self,
        binding: &Binding<'a>,
        generated: &[u64],
    ) -> Result<(Action<'a>, Option<InsertReport>), Refusal> {
        let mut made = generated.iter().copied();
        let mut rows: Vec<Chosen> = Vec::with_capacity(self.rows.len());
        let mut report = InsertReport {
            table: self.table.name.clone(),
            first_generated: None,
            highest_explicit: None,
        };
        let column = self.table.generated.as_ref();
        let highest = column
            .and_then(|generated| self.table.column(&generated.column))
            .map_or(u64::MAX, |column| column.highest);
        for (index, row) in self.rows.iter().enumerate() {
            if self.wants_value(row, &binding.values) {
                let value = made.next().ok_or_else(|| self.no_value())?;
                report.first_generated = report.first_generated.or(Some(value));
                rows.push(Chosen {
                    row: index,
                    value: Some(value),
                });
                continue;
            }
            if let Given::Value {
                operand: Some(operand),
                ..
            } = row.generated
            {
                // Made values differ from each other; those that clients give would only be kept
                // apart where equal ones meet.
                let is_key = self.generated.as_ref().is_some_and(|it| it.is_key);
                if self.table.generated.is_some() && !is_key {
                    return Err(refused(
                        &self.table,
                        "a value for the generated column, which is not the sharding key and so \
                         cannot be kept unique over the shards,",
                    ));
                }
                // MySQL takes 0.0, 0x00 or '' for a wish too, and would make a value itself.
                let Some(given) = binding.values.integer(operand) else {
                    return Err(refused(
                        &self.table,
                        "a value of the generated column that is no whole number",
                    ));
                };
                // What the column cannot hold is refused, or stored as something else.
                let given = u64::try_from(given).ok().filter(|given| *given <= highest);
                report.highest_explicit = report.highest_explicit.max(given);
            }
            rows.push(Chosen {
                row: index,
                value: None,
            });
        }
        if self
            .generated
            .as_ref()
            .is_some_and(|generated| generated.keeps_answer)
        {
            report.first_generated = None;
        }
        let report = self.table.generated.is_some().then_some(report);
        let Some(sharded) = self.table.sharded() else {
            return Ok((Action::Writes(everywhere(binding)), report));
        };
        let mut parts: BTreeMap<Place, Vec<Chosen>> = BTreeMap::new();
        for chosen in rows {
            let Some(row) = self.rows.get(chosen.row) else {
                continue;
            };
            let hash = self.hash(row, chosen.value, &binding.values)?;
            let place = binding.catalog.place(hash, sharded.slots);
            parts.entry(place).or_default().push(chosen);
        }
        let parts: Vec<_> = parts.into_iter().collect();
        Ok((self.action(binding, &parts), report))
    }

    fn action<'a>(&self, binding: &Binding<'a>, parts: &[(Place, Vec<Chosen>)]) -> Action<'a> {
        if let [(place, rows)] = parts {
            let unchanged = rows.iter().all(|chosen| chosen.value.is_none());
            let statement = if unchanged {
                binding.statement(&[*place])
            } else {
                self.part(binding, *place, rows)
            };
            return Action::Single {
                target: Target::Shard(place.shard),
                statement,
            };
        }
        let mut shards: Vec<(_, Vec<Statement<'a>>)> = Vec::new();
        for (place, rows) in parts {
            let mut statement = self.part(binding, *place, rows);
            statement.rows = rows.iter().map(|chosen| chosen.row as u32 + 1).collect();
            match shards.last_mut() {
                Some((shard, statements)) if *shard == place.shard => statements.push(statement),
                _ => shards.push((place.shard, vec![statement])),
            }
        }
        Action::Writes(Writes {
            shards,
            count: Count::Sum,
        })
    }

    fn no_value(&self) -> Refusal {
        refused(
            &self.table,
            "a row for which MySQL would make the AUTO_INCREMENT value",
        )
    }

    /// The hash of a row's key.
    fn hash(&self, row: &Row, value: Option<u64>, values: &Values<'_>) -> Result<u64, Refusal> {
        let sharded = self.table.sharded();
        let (Some(sharded), Some(key_type)) = (
            sharded,
            sharded.and_then(|sharded| sharded.key_type.as_ref()),
        ) else {
            return Err(self.no_value());
        };
        let generates_key = self
            .generated
            .as_ref()
            .is_some_and(|generated| generated.is_key);
        let stored = match (row.key, value) {
            (_, Some(value)) if generates_key => store_number(value, key_type),
            (Some(operand), _) => values.store(operand, key_type),
            (None, _) => Stored::Null,
        };
        let key = &sharded.key;
        match stored {
            Stored::At(hash) => Ok(hash),
            Stored::Null
                if self
                    .table
                    .column(key)
                    .is_some_and(|column| !column.nullable) =>
            {
                Err(Refusal::null_column(key))
            }
            Stored::Null => Err(Refusal::unsupported(format!(
                "NULL is no value for the sharding key {key} of {}; give every row a key",
                self.table.name
            ))),
            Stored::Refused(reason) => Err(Refusal::unsupported(format!(
                "the value for the sharding key {key} of {} is not supported: {reason}; give it \
                 in the column's own type",
                self.table.name
            ))),
        }
    }

    /// The statement for one place, with some of the rows.
    fn part<'a>(&self, binding: &Binding<'a>, place: Place, rows: &[Chosen]) -> Statement<'a> {
        let places = &[place];
        let mut renderer = binding.renderer(32 * (rows.len() + 1));
        let name = self
            .generated
            .as_ref()
            .and_then(|generated| generated.name_at.as_ref());
        // In INSERT … SET the name stands with the value, behind the rows' beginning.
        let in_list = name.filter(|(at, _)| *at < self.rows_start);
        match in_list {
            Some((at, text)) => {
                binding.copy(&mut renderer, Position::START, *at, places);
                renderer.push(text);
                binding.copy(&mut renderer, *at, self.rows_start, places);
            }
            None => binding.copy(&mut renderer, Position::START, self.rows_start, places),
        }
        let in_row = name
            .filter(|(at, _)| *at >= self.rows_start)
            .map(|(_, text)| &**text);
        for (number, chosen) in rows.iter().enumerate() {
            if number > 0 {
                renderer.push(b", ");
            }
            if let Some(row) = self.rows.get(chosen.row) {
                write_row(binding, &mut renderer, row, chosen.value, in_row);
            }
        }
        binding.copy(&mut renderer, self.rows_end, binding.splices.end, places);
        renderer.finish()
    }
}

/// A row, with a generated value where it asks for one.
fn write_row<'a>(
    binding: &Binding<'a>,
    renderer: &mut Renderer<'a>,
    row: &Row,
    value: Option<u64>,
    name: Option<&[u8]>,
) {
    let Some(value) = value else {
        return renderer.copy(row.span.start, row.span.end);
    };
    let (from, to, comma) = match row.generated {
        Given::Value { span, .. } => (span.start, span.end, false),
        Given::Missing { at, comma } => (at, at, comma),
        Given::Nothing => return renderer.copy(row.span.start, row.span.end),
    };
    renderer.copy(row.span.start, from);
    renderer.push(name.unwrap_or_default());
    if comma {
        renderer.push(b", ");
    }
    renderer.value(value, binding.values.prepared());
    renderer.copy(to, row.span.end);
}
