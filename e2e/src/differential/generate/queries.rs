//! The statements that the generator draws for one table.

use rand::Rng as _;
use rand::seq::IndexedRandom as _;

use super::{Column, Generator, Kind, Table};

impl Generator {
    /// A statement, and whether it fixes the order of its rows.
    pub(super) fn statement(&mut self, table: &mut Table) -> (String, bool) {
        match self.random.random_range(0..20) {
            0 => {
                let rows = self.random.random_range(1..4);
                (self.insert(table, rows), false)
            }
            1 | 2 => (self.update(table), false),
            3 => (
                format!("DELETE FROM {}{}", table.name, self.narrow(table)),
                false,
            ),
            4..=8 => self.aggregate(table),
            9 => (self.distinct(table), false),
            _ => self.rows(table),
        }
    }

    fn update(&mut self, table: &Table) -> String {
        let at = self.random.random_range(0..table.columns.len());
        let column = &table.columns[at];
        let value = self.place(column.kind);
        format!(
            "UPDATE {} SET {} = {value}{}",
            table.name,
            column.name,
            self.narrow(table)
        )
    }

    fn rows(&mut self, table: &Table) -> (String, bool) {
        let list = if self.random.random_bool(0.3) {
            "*".to_owned()
        } else {
            let mut list = vec!["id".to_owned(), "k".to_owned()];
            for column in &table.columns {
                if self.random.random_bool(0.5) {
                    list.push(self.expression(column));
                }
            }
            list.join(", ")
        };
        let mut sql = format!("SELECT {list} FROM {}{}", table.name, self.filter(table));
        if self.random.random_bool(0.4) {
            return (sql, false);
        }
        let direction = self.pick(&["", " DESC"]);
        let column = table
            .columns
            .choose(&mut self.random)
            .map_or("k", |c| c.name.as_str());
        sql.push_str(&format!(
            " ORDER BY {column}{direction}, id{}",
            self.pick(&["", " DESC"])
        ));
        match self.random.random_range(0..4) {
            0 => sql.push_str(" LIMIT 7"),
            1 => sql.push_str(&format!(" LIMIT {}", self.pick(&["${5|9}", "${3|0}"]))),
            2 => sql.push_str(" LIMIT ${4|6} OFFSET ${3|11}"),
            _ => {}
        }
        (sql, true)
    }

    fn expression(&mut self, column: &Column) -> String {
        let name = &column.name;
        match (column.kind, self.random.random_range(0..6)) {
            (Kind::Number | Kind::Small | Kind::Decimal, 0) => format!("{name} + 1 AS {name}"),
            (Kind::Number | Kind::Small, 1) => format!("COALESCE({name}, 0) AS v{name}"),
            (Kind::Text, 0) => format!("CONCAT({name}, '!') AS {name}x"),
            (_, 2) => format!("{name} IS NULL AS n{name}"),
            (_, 3) => format!("{name} AS other_{name}"),
            _ => name.clone(),
        }
    }

    fn aggregate(&mut self, table: &Table) -> (String, bool) {
        let mut list = vec!["COUNT(*)".to_owned()];
        for column in &table.columns {
            let name = &column.name;
            match (column.kind, self.random.random_range(0..5)) {
                (_, 0) => list.push(format!("COUNT({name})")),
                (Kind::Number | Kind::Small | Kind::Decimal, 1) => {
                    list.push(format!("SUM({name}) AS s{name}"));
                }
                (Kind::Number | Kind::Small | Kind::Decimal, 2) => {
                    list.push(format!("AVG({name})"));
                }
                (kind, 3) if column.exact && kind != Kind::Date => {
                    list.push(format!("MIN({name}), MAX({name})"));
                }
                _ => {}
            }
        }
        let filter = self.filter(table);
        let grouped: Vec<&Column> = match self.random.random_range(0..3) {
            0 => Vec::new(),
            count => table.columns.iter().take(count).collect(),
        };
        if grouped.is_empty() {
            return (
                format!("SELECT {} FROM {}{filter}", list.join(", "), table.name),
                true,
            );
        }
        let names: Vec<&str> = grouped.iter().map(|column| column.name.as_str()).collect();
        let names = names.join(", ");
        if grouped.iter().all(|column| column.exact) {
            let sql = format!(
                "SELECT {names}, {} FROM {}{filter} GROUP BY {names} ORDER BY {names}{}",
                list.join(", "),
                table.name,
                self.pick(&["", " LIMIT ${3|5}", " LIMIT 2 OFFSET 1"]),
            );
            return (sql, true);
        }
        (
            format!(
                "SELECT {} FROM {}{filter} GROUP BY {names}",
                list.join(", "),
                table.name
            ),
            false,
        )
    }

    fn distinct(&mut self, table: &Table) -> String {
        let names: Vec<&str> = table
            .columns
            .iter()
            .filter(|column| column.exact)
            .take(2)
            .map(|column| column.name.as_str())
            .collect();
        let list = if names.is_empty() {
            "id".to_owned()
        } else {
            names.join(", ")
        };
        format!(
            "SELECT DISTINCT {list} FROM {}{}",
            table.name,
            self.filter(table)
        )
    }

    /// A WHERE of a few rows: DML without it would empty the tables.
    fn narrow(&mut self, table: &Table) -> String {
        if self.random.random_bool(0.6) {
            return format!(" WHERE k = {}", self.place(table.key.kind));
        }
        let last = table.next_id;
        format!(" WHERE id IN (${{{}|{}}}, 3)", last / 2, last / 3)
    }

    fn filter(&mut self, table: &Table) -> String {
        match self.random.random_range(0..5) {
            0 => String::new(),
            1 => format!(" WHERE k = {}", self.place(table.key.kind)),
            2 => format!(
                " WHERE k IN ({}, {})",
                self.place(table.key.kind),
                self.place(table.key.kind)
            ),
            3 => format!(" WHERE {}", self.condition(table)),
            _ => {
                let join = self.pick(&["AND", "OR"]);
                format!(
                    " WHERE {} {join} {}",
                    self.condition(table),
                    self.condition(table)
                )
            }
        }
    }

    fn condition(&mut self, table: &Table) -> String {
        let at = self.random.random_range(0..=table.columns.len());
        let column = table.columns.get(at).unwrap_or(&table.key);
        let name = &column.name;
        match self.random.random_range(0..7) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!(
                "{name} BETWEEN {} AND {}",
                self.place(column.kind),
                self.place(column.kind)
            ),
            3 => format!("NOT ({name} = {})", self.place(column.kind)),
            4 => format!(
                "{name} IN ({}, {})",
                self.place(column.kind),
                self.literal(column.kind)
            ),
            _ => format!(
                "{name} {} {}",
                self.pick(&["=", "<", ">=", "<>"]),
                self.place(column.kind)
            ),
        }
    }
}
