//! Steps on the session's own state: variables, database, temporary tables, locks by name.

use anyhow::{Context as _, Result, ensure};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use remora_protocol::{Command, Param};

use super::Session;
use super::model::{DATABASES, Kind, VARIABLES};
use super::session::only;
use super::settings::setting;

impl Session {
    pub(super) async fn set(&mut self) -> Result<()> {
        let (sql, after) = setting(&mut self.random, self.number);
        self.ok(&sql).await?;
        self.model.settings.extend(after);
        Ok(())
    }

    /// Sets a user variable by a statement that can be said again elsewhere. Always to a string:
    /// in a prepared statement a variable keeps the type that it had when that was prepared.
    pub(super) async fn variable(&mut self) -> Result<()> {
        let name = *VARIABLES.choose(&mut self.random).context("no variables")?;
        let own = format!("{} {}", self.mark, self.random.random::<u16>());
        let (value, after) = match self.random.random_range(0..3) {
            0 => ("NULL".to_owned(), None),
            1 => (format!("CONCAT('{own}', ' ', @mark)"), {
                let mark = self.model.mark.clone();
                mark.map(|mark| format!("{own} {mark}"))
            }),
            _ => (format!("'{own}'"), Some(own)),
        };
        let word = ["=", ":="].choose(&mut self.random).copied().unwrap_or("=");
        self.ok(&format!("SET {name} {word} {value}")).await?;
        self.model.variables.insert(name, after);
        Ok(())
    }

    /// Sets a user variable by an expression of a SELECT.
    pub(super) async fn assign(&mut self) -> Result<()> {
        let own = format!("{} {}", self.mark, self.random.random::<u16>());
        let said = self.value_of(&format!("SELECT @a := '{own}'")).await?;
        ensure!(said.as_ref() == Some(&own), "{said:?} and not {own}");
        self.model.variables.insert("@a", Some(own));
        self.model.assigned = true;
        let again = self.value_of("SELECT @a").await?;
        ensure!(again == said, "{again:?} and not {said:?}");
        Ok(())
    }

    /// Sets a user variable by SELECT … INTO.
    pub(super) async fn select_into(&mut self) -> Result<()> {
        let own = format!("{} {}", self.mark, self.random.random::<u16>());
        self.ok(&format!("SELECT '{own}', @mark INTO @b, @c"))
            .await?;
        self.model.variables.insert("@b", Some(own));
        self.model.assigned = true;
        self.model.variables.insert("@c", self.model.mark.clone());
        Ok(())
    }

    /// LAST_INSERT_ID(expression) is what LAST_INSERT_ID() says from then on.
    pub(super) async fn insert_id(&mut self) -> Result<()> {
        let own = (self.number as u64 + 1) * 1_000_000_000 + self.random.random_range(0..1_000_000);
        let said = self
            .number_of(&format!("SELECT LAST_INSERT_ID({own})"))
            .await?;
        ensure!(said as u64 == own, "{said} and not {own}");
        self.model.insert_id = own;
        let said = self.number_of("SELECT LAST_INSERT_ID()").await?;
        ensure!(
            said as u64 == own,
            "LAST_INSERT_ID() is {said} and not {own}"
        );
        Ok(())
    }

    pub(super) async fn look_prepared(&mut self) -> Result<()> {
        let held = self.held(Kind::Say).await?;
        let mark = self.mark.clone();
        let answer = self
            .execute(&held, &[Param::bytes(mark.as_bytes())])
            .await?;
        let rows = answer.rows.context("no rows")?.rows;
        let row = only(&rows)?;
        ensure!(row[0].as_deref() == Some(&mark), "{:?} for {mark}", row[0]);
        self.compare(&row[1..], held.database)
    }

    pub(super) async fn use_database(&mut self) -> Result<()> {
        let name = *DATABASES.choose(&mut self.random).context("no databases")?;
        if self.random.random_bool(0.5) {
            self.ok(&format!("USE {name}")).await?;
        } else {
            self.history.note(&format!("INIT_DB {name}"));
            let command = Command::InitDb(name.as_bytes());
            self.client.command(&command).await?.one()?;
        }
        self.model.database = name;
        let said = self.value_of("SELECT DATABASE()").await?;
        ensure!(said.as_deref() == Some(name), "{said:?} and not {name}");
        Ok(())
    }

    /// All sessions call their temporary table by the same name.
    pub(super) async fn temporary(&mut self) -> Result<()> {
        let mark = self.mark.clone();
        let Some(mut numbers) = self.model.temporary.take() else {
            let failed = self.fails("SELECT * FROM shop.own", 1146).await?;
            ensure!(failed.contains("shop.own"), "{failed}");
            self.ok("CREATE TEMPORARY TABLE shop.own (owner VARCHAR(16), n BIGINT)")
                .await?;
            self.model.temporary = Some(Vec::new());
            return Ok(());
        };
        if self.random.random_bool(0.1) {
            self.ok("DROP TEMPORARY TABLE shop.own").await?;
            return Ok(());
        }
        let n = self.random.random_range(0..1_000_000);
        self.ok(&format!("INSERT INTO shop.own VALUES ('{mark}', {n})"))
            .await?;
        numbers.push(n);
        let rows = self
            .rows_of("SELECT owner, n, @mark FROM shop.own ORDER BY n")
            .await?;
        numbers.sort_unstable();
        let known = self.model.mark.clone();
        let own = |n: &i64| vec![Some(mark.clone()), Some(n.to_string()), known.clone()];
        let expected: Vec<_> = numbers.iter().map(own).collect();
        ensure!(rows == expected, "{rows:?} and not {expected:?}");
        self.model.temporary = Some(numbers);
        Ok(())
    }

    /// A lock of the session's own name: nobody else asks for it.
    pub(super) async fn lock(&mut self) -> Result<()> {
        let mark = self.mark.clone();
        if self.model.locked {
            let free = self
                .number_of(&format!("SELECT IS_FREE_LOCK('{mark}')"))
                .await?;
            ensure!(free == 0, "the lock of {mark} is gone");
            if self.random.random_bool(0.5) {
                let released = self
                    .number_of(&format!("SELECT RELEASE_LOCK('{mark}')"))
                    .await?;
                ensure!(released == 1, "the lock of {mark} is another's: {released}");
                self.model.locked = false;
            }
            return Ok(());
        }
        let got = self
            .number_of(&format!("SELECT GET_LOCK('{mark}', 20)"))
            .await?;
        ensure!(got == 1, "somebody holds the lock of {mark}");
        self.model.locked = true;
        Ok(())
    }
}
