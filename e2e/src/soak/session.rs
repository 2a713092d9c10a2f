//! One session: what it says, and what must come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use remora_protocol::Param;
use tokio::sync::OwnedSemaphorePermit;

use super::history::History;
use super::model::{DATABASES, Held, Kind, Model, Rows};
use super::settings::watched;
use super::{Shared, Step};
use crate::client::{Answer, Client, Outcome};
use crate::mysql::{Account, MysqlServer};

/// How long a step may take: statements wait for connections, and the machine is small.
const STEP: Duration = Duration::from_secs(120);

/// A client, and what its session must be like.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) number: usize,
    /// What marks all that is the session's.
    pub(super) mark: String,
    pub(super) random: StdRng,
    pub(super) client: Client,
    pub(super) model: Model,
    /// Its committed rows.
    pub(super) rows: Rows,
    pub(super) history: History,
    /// How often each step was done.
    pub(super) done: BTreeMap<Step, u64>,
    /// Allows it to hold what keeps it on its connections, such as a transaction.
    pub(super) pinned: Option<OwnedSemaphorePermit>,
}

/// The steps of a session whose state can be replayed on any connection.
const FREE: [Step; 25] = [
    Step::Look,
    Step::Look,
    Step::Look,
    Step::LookPrepared,
    Step::LookPrepared,
    Step::Set,
    Step::Set,
    Step::Variable,
    Step::Variable,
    Step::Insert,
    Step::Update,
    Step::Delete,
    Step::ReadOwn,
    Step::FoundRows,
    Step::Note,
    Step::Warning,
    Step::Failure,
    Step::Several,
    Step::Prepare,
    Step::Close,
    Step::LongData,
    Step::Use,
    Step::InsertId,
    Step::Kill,
    Step::Pause,
];

/// What only one that stays on its connections does.
const PINNED: [Step; 6] = [
    Step::Temporary,
    Step::Temporary,
    Step::Lock,
    Step::Assign,
    Step::Into,
    Step::Transaction,
];

/// What a session that is plain does not do.
const SETTING: [Step; 5] = [
    Step::Set,
    Step::Variable,
    Step::Several,
    Step::Assign,
    Step::Into,
];

/// How a session ends, and another begins.
const ENDS: [Step; 7] = [
    Step::Reset,
    Step::Reset,
    Step::ChangeUser,
    Step::ChangeUser,
    Step::Quit,
    Step::LeaveAsleep,
    Step::LeaveHalfRead,
];

impl Session {
    pub(super) async fn begin(shared: Arc<Shared>, number: usize, seed: u64) -> Result<Self> {
        let account = MysqlServer::APPLICATION;
        let client = shared.login(account).connect().await?;
        let model = Model::begun(account, DATABASES[0], &shared.defaults);
        Ok(Self {
            number,
            mark: format!("s{number:03}"),
            random: StdRng::seed_from_u64(seed ^ (number as u64) << 32),
            client,
            model,
            rows: Rows::new(),
            history: History::new(shared.begun),
            done: BTreeMap::new(),
            pinned: None,
            shared,
        })
    }

    /// Lives until `shared` says that the time is over.
    pub(super) async fn live(mut self) -> Result<Self> {
        let mut life = async || -> Result<()> {
            self.introduce().await?;
            while !self.shared.is_over() {
                self.phase().await?;
            }
            self.leave().await
        };
        match life().await {
            Ok(()) => Ok(self),
            Err(error) => Err(error.context(format!(
                "session {} said last:\n{}",
                self.mark, self.history
            ))),
        }
    }

    /// Some steps, with or without state that stays on the connection; then one time in three
    /// another session begins.
    async fn phase(&mut self) -> Result<()> {
        if self.random.random_bool(0.3) {
            self.pinned = Some(Arc::clone(&self.shared.pins).acquire_owned().await?);
        }
        for _ in 0..self.random.random_range(1..10) {
            let pinned = self.pinned.is_some() && self.random.random_bool(0.5);
            let steps: &[Step] = if pinned { &PINNED } else { &FREE };
            self.step(steps).await?;
        }
        // State that stays on the connection ends with the session.
        if self.pinned.is_some() || self.random.random_bool(0.3) {
            self.step(&ENDS).await?;
            self.pinned = None;
        }
        Ok(())
    }

    async fn step(&mut self, steps: &[Step]) -> Result<()> {
        let mut step = *steps.choose(&mut self.random).context("no steps")?;
        if self.model.plain && SETTING.contains(&step) {
            step = Step::Look;
        }
        *self.done.entry(step).or_default() += 1;
        let done = tokio::time::timeout(STEP, self.take(step)).await;
        done.map_err(|_| anyhow::anyhow!("no answer for {} s", STEP.as_secs()))
            .flatten()
            .with_context(|| format!("{step:?}"))
    }

    async fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Look => self.look().await,
            Step::LookPrepared => self.look_prepared().await,
            Step::Set => self.set().await,
            Step::Variable => self.variable().await,
            Step::Assign => self.assign().await,
            Step::Into => self.select_into().await,
            Step::Insert => self.insert().await,
            Step::Update => self.update().await,
            Step::Delete => self.delete().await,
            Step::ReadOwn => self.read_own().await,
            Step::FoundRows => self.found_rows().await,
            Step::Note => self.note().await,
            Step::InsertId => self.insert_id().await,
            Step::Warning => self.warning().await,
            Step::Failure => self.failure().await,
            Step::Several => self.several().await,
            Step::Prepare => self.prepare().await,
            Step::Close => self.close().await,
            Step::LongData => self.long_data().await,
            Step::Use => self.use_database().await,
            Step::Temporary => self.temporary().await,
            Step::Lock => self.lock().await,
            Step::Transaction => self.transaction().await,
            Step::Kill => self.kill().await,
            Step::Pause => self.pause().await,
            Step::Reset => self.reset().await,
            Step::ChangeUser => self.change_user().await,
            Step::Quit => self.quit().await,
            Step::LeaveAsleep => self.leave_asleep().await,
            Step::LeaveHalfRead => self.leave_half_read().await,
        }
    }

    /// Looks at a session that just began, which must have nothing of another's; then marks it,
    /// or leaves it plain.
    pub(super) async fn introduce(&mut self) -> Result<()> {
        self.look().await.context("a session that begins")?;
        self.model.plain = self.random.random_bool(0.4);
        if self.model.plain {
            return Ok(());
        }
        self.ok(&format!("SET @mark = '{}'", self.mark)).await?;
        self.model.mark = Some(self.mark.clone());
        Ok(())
    }

    async fn pause(&mut self) -> Result<()> {
        let most = match self.random.random_bool(0.1) {
            true => 2_500,
            false => 200,
        };
        let pause = Duration::from_millis(self.random.random_range(0..most));
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// What [`state`] must be.
    fn expected(&self, database: &str) -> Vec<Option<String>> {
        let model = &self.model;
        let mut expected = vec![model.mark.clone()];
        expected.extend(model.variables.values().cloned());
        expected.push(Some(database.to_owned()));
        expected.push(Some(format!("{}@%", model.account.name)));
        expected.push(Some(model.insert_id.to_string()));
        expected.extend(model.settings.values().cloned().map(Some));
        expected
    }

    /// Compares the rest of a row with what the session must be, in this database.
    pub(super) fn compare(&self, row: &[Option<String>], database: &str) -> Result<()> {
        let expected = self.expected(database);
        ensure!(row.len() == expected.len(), "{} values", row.len());
        let state = state();
        let names = state.split(", ");
        for ((name, got), expected) in names.zip(row).zip(expected) {
            ensure!(
                *got == expected,
                "{name} is {got:?} and must be {expected:?}"
            );
        }
        Ok(())
    }

    /// Asks for everything, on whatever server, or beside a row on the server that has it.
    async fn look(&mut self) -> Result<()> {
        let (mark, state) = (self.mark.clone(), state());
        // Refused beside rows that may be on another server: DATABASE() of another database, and
        // variables that a SELECT assigned.
        let alone = self.model.database != DATABASES[0] || self.model.assigned;
        let beside = !alone && self.random.random_bool(0.6);
        let Some((id, n)) = self.own_row().filter(|_| beside) else {
            let rows = self.rows_of(&format!("SELECT '{mark}', {state}")).await?;
            let row = only(&rows)?;
            ensure!(row[0].as_deref() == Some(&mark), "{:?} for {mark}", row[0]);
            return self.compare(&row[1..], self.model.database);
        };
        let sql = format!("SELECT owner, n, {state} FROM shop.item WHERE id = {id}");
        let rows = self.rows_of(&sql).await?;
        let row = only(&rows)?;
        self.is_own(&row[..2], n)?;
        self.compare(&row[2..], self.model.database)
    }

    /// One of the session's rows.
    pub(super) fn own_row(&mut self) -> Option<(u64, i64)> {
        let at = self.random.random_range(0..self.rows.len().max(1));
        self.rows.iter().nth(at).map(|(id, n)| (*id, *n))
    }

    /// Whether owner and number of a row are the session's.
    pub(super) fn is_own(&self, row: &[Option<String>], n: i64) -> Result<()> {
        let expected = [Some(self.mark.clone()), Some(n.to_string())];
        ensure!(row == expected, "a row is {row:?} and must be {expected:?}");
        Ok(())
    }

    /// Runs a text.
    pub(super) async fn say(&mut self, sql: &str) -> Result<Outcome> {
        self.history.note(sql);
        self.client.query(sql).await
    }

    /// Runs a statement that must succeed.
    pub(super) async fn ok(&mut self, sql: &str) -> Result<Answer> {
        self.say(sql).await?.one().with_context(|| sql.to_owned())
    }

    /// The rows of a statement that must succeed.
    pub(super) async fn rows_of(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.say(sql).await?.rows().with_context(|| sql.to_owned())
    }

    /// The value of a statement that has one.
    pub(super) async fn value_of(&mut self, sql: &str) -> Result<Option<String>> {
        self.say(sql).await?.value().with_context(|| sql.to_owned())
    }

    /// The number of a statement that has one.
    pub(super) async fn number_of(&mut self, sql: &str) -> Result<i64> {
        let value = self.value_of(sql).await?;
        Ok(value.context("NULL")?.parse()?)
    }

    /// The error of a statement that must fail so.
    pub(super) async fn fails(&mut self, sql: &str, code: u16) -> Result<String> {
        match self.say(sql).await?.error {
            Some(error) if error.code == code => Ok(error.message),
            other => bail!("{other:?} and not {code}: {sql}"),
        }
    }

    /// A statement of this kind: one that is prepared, or a new one.
    pub(super) async fn held(&mut self, kind: Kind) -> Result<Held> {
        // Refused: one that was prepared when texts were read otherwise.
        let reading = self.model.reading();
        let usable = |held: &&Held| held.kind == kind && held.reading == reading;
        if let Some(held) = self.model.prepared.iter().find(usable) {
            return Ok(held.clone());
        }
        let sql = match kind {
            Kind::Say => format!("SELECT ?, {}", state()),
            Kind::Read => "SELECT owner, n FROM shop.item WHERE id = ?".to_owned(),
            Kind::Add => "UPDATE shop.item SET n = n + ? WHERE id = ?".to_owned(),
            Kind::Make => "INSERT INTO shop.item (owner, n) VALUES (?, ?)".to_owned(),
            Kind::Long => "SELECT CHAR_LENGTH(?), @mark".to_owned(),
        };
        self.history.note(&format!("PREPARE {sql}"));
        let statement = match self.client.prepare(&sql).await? {
            Ok(statement) => statement,
            Err(error) => bail!("{error}: PREPARE {sql}"),
        };
        let held = Held {
            statement,
            kind,
            database: self.model.database,
            reading,
        };
        self.model.prepared.push(held.clone());
        Ok(held)
    }

    /// Executes a statement that must succeed.
    pub(super) async fn execute(&mut self, held: &Held, params: &[Param<'_>]) -> Result<Answer> {
        self.history
            .note(&format!("EXECUTE {:?} {}", held.kind, held.statement.id));
        self.client.execute(held.statement, params).await?.one()
    }

    /// The other user.
    pub(super) fn other_user(&self) -> Account {
        match self.model.account.name == MysqlServer::APPLICATION.name {
            true => MysqlServer::GUEST,
            false => MysqlServer::APPLICATION,
        }
    }
}

/// What a session is by itself, as the items of a SELECT.
fn state() -> String {
    format!(
        "@mark, @a, @b, @c, DATABASE(), CURRENT_USER(), LAST_INSERT_ID(), {}",
        watched()
    )
}

/// The only row.
pub(super) fn only(rows: &[Vec<Option<String>>]) -> Result<&[Option<String>]> {
    match rows {
        [row] => Ok(row),
        _ => bail!("{} rows and not one: {rows:?}", rows.len()),
    }
}
