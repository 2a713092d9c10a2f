//! Statements from the planner tests of Vitess, read from the Go module's cache at test time.
//!
//! Vitess says which tables are sharded by which column; the tables' columns come with it.
//! Nothing of it is kept in this project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};

use super::script::{Script, Statement};
use super::template::Template;

/// The module and version whose statements are drawn.
const MODULE: &str = "vitess.io/vitess@v0.24.4";
/// Where its planner's tests lie.
const TESTS: &str = "go/vt/vtgate/planbuilder/testdata";
/// The database that its sharded tables are in.
const DATABASE: &str = "user";
/// The rows that each table gets.
const ROWS: i64 = 12;
/// What has no single right answer, or speaks of the server and not of the rows.
const UNFIT: [&str; 26] = [
    // Known differences in the number of warnings, which docs/sql.md tells: AVG of texts, and a
    // literal that each row converts anew.
    "avg(foo)",
    "case user.col when 'foo'",
    "limit",
    "now(",
    "rand(",
    "uuid",
    "sleep",
    "connection_id",
    "version",
    "@",
    "vt+",
    "skip locked",
    "nowait",
    "last_insert_id",
    "information_schema",
    "outfile",
    "sysdate",
    "any_value",
    "curdate",
    "current_time",
    "current_date",
    "utc_",
    "mysql.",
    "performance_schema",
    "get_lock",
    "next value",
];

/// The directory of a Go module, downloaded once by the `go` command.
///
/// # Errors
/// If Go is not there or the module cannot be fetched.
pub fn go_module(module: &str) -> Result<PathBuf> {
    let folder = tempfile::tempdir()?;
    fs::write(
        folder.path().join("go.mod"),
        "module remora.test\n\ngo 1.24\n",
    )?;
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(folder.path())
        .output()
        .context("cannot run go")?;
    if !output.status.success() {
        bail!(
            "go mod download {module}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    Ok(answer["Dir"]
        .as_str()
        .context("no directory in go's answer")?
        .into())
}

/// The tables and statements of Vitess' planner tests.
#[derive(Debug)]
pub struct VitessCorpus {
    /// A manifest that shards the tables as Vitess' own schema does.
    pub manifest: Value,
    /// The statements that make the tables and fill them.
    pub setup: Script,
    candidates: Vec<String>,
}

/// A table of the schema files.
struct Table {
    name: String,
    create: String,
    columns: Vec<(String, bool)>,
    key: Option<String>,
}

impl VitessCorpus {
    /// Reads the module.
    ///
    /// # Errors
    /// If it cannot be fetched or is not what it was.
    pub fn read() -> Result<Self> {
        let tests = go_module(MODULE)?.join(TESTS);
        let tables = tables(&tests)?;
        let manifest = manifest(&tables);
        let statements = tables
            .iter()
            .flat_map(|table| {
                let drop = format!("DROP TABLE IF EXISTS `{}`", table.name);
                [drop, table.create.clone(), rows(table)]
            })
            .zip(1..)
            .map(|(sql, number)| Statement {
                setup: true,
                once: true,
                text_only: true,
                ..Statement::new(
                    format!("vitess set-up {number}"),
                    "set-up",
                    Template::fixed(&sql),
                )
            })
            .collect();
        let setup = Script {
            name: "vitess".to_owned(),
            statements,
        };
        Ok(Self {
            manifest,
            setup,
            candidates: candidates(&tests)?,
        })
    }

    /// `count` statements that plain MySQL, where the tables are, accepts.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn draw(&self, seed: u64, count: usize, reference: &mut Conn) -> Result<Script> {
        let mut candidates = self.candidates.clone();
        candidates.shuffle(&mut StdRng::seed_from_u64(seed));
        let mut statements = Vec::new();
        for sql in candidates {
            if statements.len() == count {
                break;
            }
            let Ok(prepared) = reference.prep(sql.as_str()).await else {
                continue;
            };
            let parameters = prepared.num_params();
            reference.close(prepared).await?;
            if parameters > 0 {
                continue;
            }
            let name = format!("vitess {}", statements.len() + 1);
            let mut statement =
                Statement::new(name, "Vitess' planner tests", Template::fixed(&sql));
            // Their ORDER BY leaves ties.
            statement.ordered = false;
            statement.errors = None;
            statements.push(statement);
        }
        Ok(Script {
            name: "vitess".to_owned(),
            statements,
        })
    }
}

/// All queries and DML of the test files that have one right answer, each once.
fn candidates(tests: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(tests)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let Ok(Value::Array(cases)) = serde_json::from_str(&fs::read_to_string(&path)?) else {
            continue;
        };
        for case in cases {
            let Some(sql) = case["query"].as_str() else {
                continue;
            };
            let lower = sql.to_lowercase();
            let first = lower
                .trim_start_matches('(')
                .split_whitespace()
                .next()
                .unwrap_or_default();
            // Whether MySQL groups a join by a temporary table, and so which flags its columns
            // have, hangs on its statistics.
            let several = lower.contains("join") || lower.contains(", user");
            let grouped_join = several && lower.contains("group by");
            let fit = !grouped_join
                && matches!(
                    first,
                    "select" | "insert" | "update" | "delete" | "replace" | "with"
                );
            if fit && !UNFIT.iter().any(|word| lower.contains(word)) {
                found.push(sql.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    if found.len() < 500 {
        bail!("only {} statements in {}", found.len(), tests.display());
    }
    Ok(found)
}

/// The tables of the schema files, with the columns that Vitess shards them by.
fn tables(tests: &Path) -> Result<Vec<Table>> {
    let routing: Value =
        serde_json::from_str(&fs::read_to_string(tests.join("vschemas/schema.json"))?)?;
    let routing = &routing["keyspaces"][DATABASE]["tables"];
    let mut tables = Vec::new();
    for file in ["schemas/user.sql", "schemas/main.sql"] {
        let text = fs::read_to_string(tests.join(file))?;
        for create in text
            .split(';')
            .map(str::trim)
            .filter(|create| !create.is_empty())
        {
            tables.push(table(create, routing).with_context(|| create.to_owned())?);
        }
    }
    Ok(tables)
}

fn table(create: &str, routing: &Value) -> Result<Table> {
    let (head, body) = create.split_once('(').context("no columns")?;
    let name = head
        .split_whitespace()
        .last()
        .context("no name")?
        .trim_matches('`')
        .to_owned();
    let columns: Vec<(String, bool)> = body
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let column = words.next()?.trim_matches('`');
            let kind = words.next()?.to_uppercase();
            let number = kind.starts_with("INT") || kind.starts_with("BIGINT");
            (number || kind.starts_with("VAR")).then(|| (column.to_owned(), number))
        })
        .collect();
    let index = &routing[&name]["column_vindexes"][0];
    let key = index["column"].as_str().map(str::to_lowercase);
    let key = key.filter(|key| columns.iter().any(|(column, _)| column == key));
    let mut create = create.to_owned();
    if let Some(key) = &key
        && let Some(at) = create.find("PRIMARY KEY (")
    {
        // A unique key of a sharded table has to hold the sharding key.
        let end = at + create[at..].find(')').context("an open primary key")?;
        if !create[at + 13..end]
            .split(',')
            .any(|column| column.trim() == key)
        {
            create.insert_str(end, &format!(", {key}"));
        }
    }
    Ok(Table {
        name,
        create,
        columns,
        key,
    })
}

fn rows(table: &Table) -> String {
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let rows: Vec<String> = (1..=ROWS)
        .map(|row| {
            let values: Vec<String> = table
                .columns
                .iter()
                .zip(0..)
                .map(
                    |((_, number), column)| match (number, row % 5 == 4 && column > 2) {
                        (_, true) => "NULL".to_owned(),
                        (true, false) if column < 2 => row.to_string(),
                        (true, false) => ((row * 7 + column) % 6).to_string(),
                        (false, false) if column < 2 => format!("'{}_{row}'", &table.name[..1]),
                        (false, false) => {
                            format!("'{}'", ["foo", "bar", "a", ""][(row % 4) as usize])
                        }
                    },
                )
                .collect();
            format!("({})", values.join(", "))
        })
        .collect();
    format!(
        "INSERT INTO `{}` ({}) VALUES {}",
        table.name,
        names.join(", "),
        rows.join(", ")
    )
}

fn manifest(tables: &[Table]) -> Value {
    let sharded: Vec<Value> = tables
        .iter()
        .filter_map(|table| {
            let key = table.key.as_ref()?;
            let mut sharding = json!({"key": [key], "algorithm": {"hash": {}}});
            if matches!(
                table.name.as_str(),
                "user_metadata" | "user_extra" | "music"
            ) {
                sharding["colocatedWith"] = "user".into();
            }
            Some(json!({"name": table.name, "sharding": sharding}))
        })
        .chain([json!({"name": "ref", "broadcast": true})])
        .collect();
    json!({
        "apiVersion": "remora.dev/v1alpha1",
        "kind": "ShardingCluster",
        "metadata": {"name": "vitess"},
        "spec": {"shards": 2, "database": DATABASE, "tables": sharded},
    })
}
