//! The differences between two outcomes, field by field, as short as they can be told.

use mysql_async::Value;

use super::outcome::{ColumnFacts, Counts, Outcome, Reply};

/// How many rows a difference shows.
const SHOWN_ROWS: usize = 4;

/// What differs between what plain MySQL answered and what the subject did; nothing if they
/// are equal. With `ordered` the rows must come in the same order.
#[must_use]
pub fn differences(expected: &Outcome, got: &Outcome, ordered: bool) -> Vec<String> {
    let mut found = Vec::new();
    match (&expected.reply, &got.reply) {
        (
            Reply::Rows {
                columns,
                rows,
                counts,
            },
            Reply::Rows {
                columns: got_columns,
                rows: got_rows,
                counts: got_counts,
            },
        ) => {
            compare_columns("column", columns, got_columns, &mut found);
            compare_rows(rows, got_rows, ordered, &mut found);
            compare_counts(counts, got_counts, &mut found);
        }
        (Reply::Done(counts), Reply::Done(got_counts)) => {
            compare_counts(counts, got_counts, &mut found);
        }
        (
            Reply::Prepared {
                parameters,
                columns,
            },
            Reply::Prepared {
                parameters: got_parameters,
                columns: got_columns,
            },
        ) => {
            compare_columns("parameter", parameters, got_parameters, &mut found);
            compare_columns("prepared column", columns, got_columns, &mut found);
        }
        (
            Reply::Error {
                code,
                state,
                message,
            },
            Reply::Error {
                code: got_code,
                state: got_state,
                message: got_message,
            },
        ) => {
            field("error number", code, got_code, &mut found);
            field("SQLSTATE", state, got_state, &mut found);
            field("error text", message, got_message, &mut found);
        }
        (expected, got) => found.push(format!("expected {expected}, got {got}")),
    }
    let (mut warnings, mut got_warnings) = (expected.warnings.clone(), got.warnings.clone());
    // One server warns in the order in which it meets the rows, shards meet them together.
    warnings.sort();
    got_warnings.sort();
    field("SHOW WARNINGS", &warnings, &got_warnings, &mut found);
    found
}

fn field<T: PartialEq + std::fmt::Debug>(
    name: &str,
    expected: &T,
    got: &T,
    found: &mut Vec<String>,
) {
    if expected != got {
        found.push(format!("{name}: expected {expected:?}, got {got:?}"));
    }
}

fn compare_columns(
    what: &str,
    expected: &[ColumnFacts],
    got: &[ColumnFacts],
    found: &mut Vec<String>,
) {
    field(
        &format!("number of {what}s"),
        &expected.len(),
        &got.len(),
        found,
    );
    for ((expected, got), number) in expected.iter().zip(got).zip(1..) {
        for ((name, expected), (_, got)) in expected.0.iter().zip(&got.0) {
            field(&format!("{what} {number} {name}"), expected, got, found);
        }
    }
}

fn compare_counts(expected: &Counts, got: &Counts, found: &mut Vec<String>) {
    field("affected rows", &expected.affected, &got.affected, found);
    field(
        "last insert id",
        &expected.last_insert_id,
        &got.last_insert_id,
        found,
    );
    field("warnings", &expected.warnings, &got.warnings, found);
    field("info", &expected.info, &got.info, found);
    field("status", &expected.status, &got.status, found);
}

fn compare_rows(
    expected: &[Vec<Value>],
    got: &[Vec<Value>],
    ordered: bool,
    found: &mut Vec<String>,
) {
    let mut expected: Vec<String> = expected.iter().map(|row| show(row)).collect();
    let mut got: Vec<String> = got.iter().map(|row| show(row)).collect();
    if !ordered {
        expected.sort();
        got.sort();
    }
    if expected == got {
        return;
    }
    field("number of rows", &expected.len(), &got.len(), found);
    if ordered && expected.len() == got.len() {
        let at = expected
            .iter()
            .zip(&got)
            .position(|(expected, got)| expected != got)
            .unwrap_or(0);
        found.push(format!(
            "row {}: expected {}, got {}",
            at + 1,
            expected[at],
            got[at]
        ));
        return;
    }
    let missing = without(&expected, &got);
    let surplus = without(&got, &expected);
    for (what, rows) in [("missing row", missing), ("row too many", surplus)] {
        for row in rows.iter().take(SHOWN_ROWS) {
            found.push(format!("{what}: {row}"));
        }
        if rows.len() > SHOWN_ROWS {
            found.push(format!("… and {} more: {what}", rows.len() - SHOWN_ROWS));
        }
    }
}

/// The rows of `rows` that `others` does not have, each as often as it has them too few.
fn without(rows: &[String], others: &[String]) -> Vec<String> {
    let mut others: Vec<&String> = others.iter().collect();
    rows.iter()
        .filter(|row| match others.iter().position(|other| other == row) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        })
        .cloned()
        .collect()
}

fn show(row: &[Value]) -> String {
    let values: Vec<String> = row.iter().map(|value| value.as_sql(false)).collect();
    format!("({})", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[i64]) -> Outcome {
        let column = ColumnFacts(vec![
            ("schema", "shop".to_owned()),
            ("name", "id".to_owned()),
        ]);
        Outcome {
            reply: Reply::Rows {
                columns: vec![column],
                rows: values
                    .iter()
                    .map(|value| vec![Value::Int(*value)])
                    .collect(),
                counts: Counts::default(),
            },
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_broken_merge_order_is_a_difference_only_where_the_order_is_fixed() {
        let (expected, got) = (rows(&[1, 2, 3]), rows(&[1, 3, 2]));
        assert_eq!(
            differences(&expected, &got, true),
            ["row 2: expected (2), got (3)"]
        );
        assert!(differences(&expected, &got, false).is_empty());
    }

    #[test]
    fn a_row_lost_by_a_wrong_shard_is_a_difference() {
        let found = differences(&rows(&[1, 2, 2]), &rows(&[1, 2]), false);
        assert_eq!(
            found,
            ["number of rows: expected 3, got 2", "missing row: (2)"]
        );
    }

    #[test]
    fn a_physical_name_in_a_definition_is_a_difference() {
        let mut got = rows(&[1]);
        if let Reply::Rows { columns, .. } = &mut got.reply {
            columns[0].0[0].1 = "shop__0003".to_owned();
        }
        let found = differences(&rows(&[1]), &got, false);
        assert_eq!(
            found,
            ["column 1 schema: expected \"shop\", got \"shop__0003\""]
        );
    }

    #[test]
    fn the_answer_of_another_statement_is_a_difference() {
        let error = Outcome {
            reply: Reply::Error {
                code: 1146,
                state: "42S02".to_owned(),
                message: "Table 'shop.t' doesn't exist".to_owned(),
            },
            warnings: Vec::new(),
        };
        assert_eq!(differences(&rows(&[]), &error, false).len(), 1);
        assert!(differences(&error, &error, false).is_empty());
    }
}
