//! A small generator: tables, rows and statements drawn by a seed.
//!
//! It draws only what has one right answer: every ORDER BY that a LIMIT cuts ends with the
//! primary key, a text column that ignores case is grouped by but not shown, and no float is
//! summed. MIN and MAX of dates are left to the files: with GROUP BY, MySQL warns of a date that
//! its own temporary table made up.

mod queries;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::differential::script::{Script, Statement};
use crate::differential::template::Template;

/// The tables that every seed has; their columns and the types of their keys differ.
const TABLES: [&str; 4] = ["g_number", "g_text", "g_plain", "g_all"];

/// Types of columns, with whether equal values always look the same.
const TYPES: [(&str, Kind, bool); 11] = [
    ("INT", Kind::Number, true),
    ("BIGINT UNSIGNED", Kind::Unsigned, true),
    ("TINYINT", Kind::Small, true),
    ("DECIMAL(12,3)", Kind::Decimal, true),
    ("VARCHAR(20)", Kind::Text, false),
    ("VARCHAR(20) COLLATE utf8mb4_bin", Kind::Text, true),
    ("VARCHAR(20) CHARACTER SET latin1", Kind::Text, false),
    ("VARCHAR(20) COLLATE utf8mb4_0900_as_cs", Kind::Text, true),
    ("DATE", Kind::Date, true),
    ("DATETIME(3)", Kind::Date, true),
    ("VARBINARY(20)", Kind::Text, true),
];

/// What literals fit a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Number,
    Unsigned,
    Small,
    Decimal,
    Text,
    Date,
}

struct Column {
    name: String,
    definition: &'static str,
    kind: Kind,
    exact: bool,
}

struct Table {
    name: &'static str,
    key: Column,
    columns: Vec<Column>,
    next_id: u64,
}

/// The manifest for [`generated_script`].
#[must_use]
pub fn generated_manifest() -> Value {
    let sharded =
        |name: &str| json!({"name": name, "sharding": {"key": ["k"], "algorithm": {"hash": {}}}});
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "generated"},
        "spec": {
            "shards": 2,
            "database": "shop",
            "tables": [
                sharded("g_number"), sharded("g_text"), {"name": "g_all", "broadcast": true},
            ],
        },
    })
}

/// Tables, rows and `count` statements drawn by `seed`.
#[must_use]
pub fn generated_script(seed: u64, count: usize) -> Script {
    let mut generator = Generator {
        random: StdRng::seed_from_u64(seed),
    };
    let mut tables: Vec<Table> = TABLES.iter().map(|name| generator.table(name)).collect();
    let mut statements = Vec::new();
    let mut setup = |sql: String| {
        let name = format!("seed {seed} set-up {}", statements.len() + 1);
        let mut statement = Statement::new(name, "set-up", Template::fixed(&sql));
        (statement.setup, statement.once, statement.text_only) = (true, true, true);
        statements.push(statement);
    };
    for table in &mut tables {
        setup(format!("DROP TABLE IF EXISTS {}", table.name));
        setup(table.create());
        for _ in 0..3 {
            setup(generator.insert(table, 15));
        }
    }
    let mut open = false;
    for number in 1..=count {
        let (sql, ordered, once) = if generator.random.random_ratio(1, 10) {
            (generator.transaction(&mut open), true, true)
        } else {
            let at = generator.random.random_range(0..tables.len());
            let (sql, ordered) = generator.statement(&mut tables[at]);
            let once = sql.starts_with("INSERT");
            (sql, ordered, once)
        };
        // A generated statement without a literal of its own has a fixed template.
        let template = Template::parse(&sql).unwrap_or_else(|_| Template::fixed(&sql));
        let name = format!("seed {seed} statement {number}");
        let mut statement = Statement::new(name, "random generator", template);
        statement.ordered = ordered;
        statement.once = once;
        statement.errors = None;
        statements.push(statement);
    }
    Script {
        name: format!("seed {seed}"),
        statements,
    }
}

impl Table {
    fn create(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|c| format!("{} {} NULL", c.name, c.definition))
            .collect();
        format!(
            "CREATE TABLE {} (id BIGINT NOT NULL, k {} NOT NULL, {}, PRIMARY KEY (k, id))",
            self.name,
            self.key.definition,
            columns.join(", "),
        )
    }
}

struct Generator {
    random: StdRng,
}

impl Generator {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.random_range(0..of.len())]
    }

    fn table(&mut self, name: &'static str) -> Table {
        let (definition, kind) = match name {
            "g_text" => self.pick(&[
                ("VARCHAR(20)", Kind::Text),
                ("VARCHAR(20) COLLATE utf8mb4_bin", Kind::Text),
                ("VARCHAR(20) COLLATE utf8mb4_0900_as_cs", Kind::Text),
            ]),
            _ => self.pick(&[
                ("BIGINT", Kind::Number),
                ("INT", Kind::Number),
                ("BIGINT UNSIGNED", Kind::Unsigned),
            ]),
        };
        let key = Column {
            name: "k".to_owned(),
            definition,
            kind,
            exact: name != "g_text",
        };
        let columns = (0..self.random.random_range(3..7))
            .map(|at| {
                let (definition, kind, exact) = self.pick(&TYPES);
                Column {
                    name: format!("c{at}"),
                    definition,
                    kind,
                    exact,
                }
            })
            .collect();
        Table {
            name,
            key,
            columns,
            next_id: 1,
        }
    }

    fn literal(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Number => self
                .pick(&["0", "1", "2", "7", "-3", "41", "2147483647", "-2147483648"])
                .to_owned(),
            Kind::Unsigned => self
                .pick(&["0", "1", "5", "18446744073709551615", "9223372036854775808"])
                .to_owned(),
            Kind::Small => self.random.random_range(-4..5).to_string(),
            Kind::Decimal => {
                let (sign, cents) = (self.pick(&["", "-"]), self.random.random_range(0..9000));
                format!("{sign}{}.{:03}", cents / 1000 * 37, cents % 1000)
            }
            Kind::Text => self
                .pick(&[
                    "''", "'a'", "'A'", "'b'", "'ab'", "'Ab '", "'z'", "'7'", "'é'", "'E'",
                ])
                .to_owned(),
            Kind::Date => self
                .pick(&[
                    "'2026-01-01'",
                    "'2025-12-31'",
                    "'2024-02-29'",
                    "'1999-07-04'",
                    "'2026-01-02'",
                ])
                .to_owned(),
        }
    }

    /// A statement that begins, marks or ends a transaction, over whatever the statements until
    /// the next one meet.
    fn transaction(&mut self, open: &mut bool) -> String {
        let drawn = if *open {
            self.pick(&[
                "COMMIT",
                "COMMIT AND CHAIN",
                "ROLLBACK",
                "SAVEPOINT a",
                "SAVEPOINT b",
                "ROLLBACK TO a",
                "RELEASE SAVEPOINT b",
            ])
        } else {
            self.pick(&["BEGIN", "START TRANSACTION", "START TRANSACTION READ WRITE"])
        };
        *open = !matches!(drawn, "COMMIT" | "ROLLBACK");
        drawn.to_owned()
    }

    /// A literal that differs between the runs.
    fn place(&mut self, kind: Kind) -> String {
        format!("${{{}|{}}}", self.literal(kind), self.literal(kind))
    }

    fn insert(&mut self, table: &mut Table, rows: usize) -> String {
        let rows: Vec<String> = (0..rows)
            .map(|_| {
                let mut values = vec![table.next_id.to_string(), self.literal(table.key.kind)];
                table.next_id += 1;
                for column in &table.columns {
                    let null = self.random.random_ratio(1, 6);
                    values.push(if null {
                        "NULL".to_owned()
                    } else {
                        self.literal(column.kind)
                    });
                }
                format!("({})", values.join(", "))
            })
            .collect();
        format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_draws_the_same_statements() {
        let texts = |seed| -> Vec<String> {
            generated_script(seed, 50)
                .statements
                .iter()
                .map(|s| s.template.text(0))
                .collect()
        };
        assert_eq!(texts(3), texts(3));
        assert_ne!(texts(3), texts(4));
    }
}
