//! What a replica does next: a pure function of what is there and what is ordered.

/// MySQL's error for an account that may not log in.
const ACCESS_DENIED: u32 = 1045;
/// The primary's refusal to send: it lacks what the replica has, or what the replica needs.
const SOURCE_REFUSES: [u32; 2] = [1236, 13114];

/// What is there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Observed {
    pub(super) server_uuid: String,
    /// The file of the CA by which mysqld itself verifies.
    pub(super) ca_file: String,
    /// It has a layout row.
    pub(super) holds_rows: bool,
    pub(super) super_read_only: bool,
    /// It acknowledges what it received.
    pub(super) acknowledges: bool,
    pub(super) channel: Option<Channel>,
    pub(super) primary: Primary,
}

/// How the server follows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Channel {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    /// By GTID, and by TLS that verifies.
    pub(super) safe: bool,
    /// Receives what the primary commits.
    pub(super) receiver: Thread,
    /// Applies what was received.
    pub(super) applier: Thread,
}

/// How a thread of replication fares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Thread {
    Runs,
    /// It tries to reach the primary.
    Connecting(Problem),
    Stopped(Problem),
}

/// MySQL's last error, if there was one.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Problem {
    pub(super) code: u32,
    pub(super) text: String,
}

/// The primary, as seen from the replica.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Primary {
    /// It was not asked.
    #[default]
    NotAsked,
    /// It does not answer, or lets nobody in.
    Away(String),
    There(Comparison),
}

/// The replica's transactions beside the primary's.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Comparison {
    /// Those of the replica alone that another server than the primary made.
    pub(super) foreign: String,
    /// Those of the replica alone that the primary made. It may be about to commit them: a
    /// replica has a commit before it is acknowledged.
    pub(super) ahead: String,
    /// The primary no longer has the binary logs that the replica needs.
    pub(super) purged: bool,
}

/// What is ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) user: &'a str,
}

/// One step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    ReadOnly,
    Stop,
    Clone,
    /// Say whom it follows.
    Point,
    /// Acknowledge what is received.
    Acknowledge,
    Start,
}

impl Step {
    /// What it does, for errors: its statement may hold a password.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::ReadOnly => "SET super_read_only",
            Self::Stop => "STOP REPLICA",
            Self::Clone => "CLONE INSTANCE",
            Self::Point => "CHANGE REPLICATION SOURCE",
            Self::Acknowledge => "SET rpl_semi_sync_replica_enabled",
            Self::Start => "START REPLICA",
        }
    }
}

/// How the replica fares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in super::super) enum State {
    /// It receives and applies what the primary commits.
    Following,
    /// It has nothing, or too little, and gets all of it.
    Cloning,
    /// It has what the primary does not have.
    Errant(String),
    /// It has what it needs, and the primary does not answer.
    Cut(String),
    /// It does not follow yet.
    Waiting(String),
}

/// What to do, and how it fares until then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Decision {
    pub(super) steps: Vec<Step>,
    pub(super) state: State,
}

/// What to do next. Replication is started, and data replaced, only after a comparison with the
/// primary in this very round: the server may have been another's, or its primary.
pub(super) fn decide(observed: &Observed, ordered: Ordered<'_>) -> Decision {
    let mut steps = Vec::new();
    if !observed.super_read_only {
        steps.push(Step::ReadOnly);
    }
    let channel = observed.channel.as_ref();
    let comparison = match &observed.primary {
        Primary::There(comparison) => comparison,
        Primary::NotAsked | Primary::Away(_) => {
            let state = uncompared(observed, ordered);
            return Decision { steps, state };
        }
    };
    let errant = errant(comparison, channel);
    if !errant.is_empty() {
        if channel.is_some_and(is_at_work) {
            steps.push(Step::Stop);
        }
        let state = State::Errant(errant);
        return Decision { steps, state };
    }
    if comparison.purged || !observed.holds_rows {
        if channel.is_some_and(is_at_work) {
            steps.push(Step::Stop);
        }
        steps.push(Step::Clone);
        let state = State::Cloning;
        return Decision { steps, state };
    }
    let state = follow(observed, channel, ordered, &mut steps);
    Decision { steps, state }
}

/// Transactions for which the replica cannot follow. Those that the primary made itself count
/// once it refuses to send for their sake: then it has lost them.
fn errant(comparison: &Comparison, channel: Option<&Channel>) -> String {
    let refused = channel.is_some_and(|channel| match &channel.receiver {
        Thread::Runs => false,
        Thread::Connecting(problem) | Thread::Stopped(problem) => {
            SOURCE_REFUSES.contains(&problem.code)
        }
    });
    match (comparison.foreign.is_empty(), refused) {
        (false, _) => comparison.foreign.clone(),
        (true, true) => comparison.ahead.clone(),
        (true, false) => String::new(),
    }
}

/// Follows the primary, after a comparison that allows it.
fn follow(
    observed: &Observed,
    channel: Option<&Channel>,
    ordered: Ordered<'_>,
    steps: &mut Vec<Step>,
) -> State {
    let Some(channel) = channel.filter(|channel| is_pointed(channel, ordered)) else {
        if channel.is_some_and(is_at_work) {
            steps.push(Step::Stop);
        }
        steps.push(Step::Point);
        if !observed.acknowledges {
            steps.push(Step::Acknowledge);
        }
        steps.push(Step::Start);
        return State::Waiting("it begins to follow its primary".to_owned());
    };
    let denied = matches!(
        &channel.receiver,
        Thread::Connecting(problem) | Thread::Stopped(problem) if problem.code == ACCESS_DENIED
    );
    if denied || !observed.acknowledges {
        if is_at_work(channel) {
            steps.push(Step::Stop);
        }
        if denied {
            // The account has another password than when this was set.
            steps.push(Step::Point);
        }
        if !observed.acknowledges {
            steps.push(Step::Acknowledge);
        }
        steps.push(Step::Start);
        return State::Waiting("it begins to follow its primary".to_owned());
    }
    let stopped = |thread: &Thread| matches!(thread, Thread::Stopped(_));
    if stopped(&channel.receiver) || stopped(&channel.applier) {
        steps.push(Step::Start);
    }
    threads(channel)
}

/// How it fares by its threads, when the primary could not be asked or was not.
fn uncompared(observed: &Observed, ordered: Ordered<'_>) -> State {
    let away = match &observed.primary {
        Primary::Away(reason) => reason.clone(),
        _ => "its primary was not asked yet".to_owned(),
    };
    match &observed.channel {
        Some(channel) if observed.holds_rows && is_pointed(channel, ordered) => {
            match threads(channel) {
                State::Waiting(_) if channel.applier == Thread::Runs => State::Cut(away),
                state => state,
            }
        }
        _ => State::Waiting(away),
    }
}

fn threads(channel: &Channel) -> State {
    match (&channel.receiver, &channel.applier) {
        (Thread::Runs, Thread::Runs) => State::Following,
        (_, Thread::Stopped(problem)) if problem.code != 0 => State::Waiting(format!(
            "it cannot apply what it received: {}",
            problem.text
        )),
        (Thread::Connecting(problem), Thread::Runs) => {
            State::Cut(format!("it does not reach its primary: {}", problem.text))
        }
        (Thread::Stopped(problem), _) if problem.code != 0 => {
            State::Waiting(format!("it cannot receive: {}", problem.text))
        }
        _ => State::Waiting("it begins to follow its primary".to_owned()),
    }
}

fn is_pointed(channel: &Channel, ordered: Ordered<'_>) -> bool {
    channel.safe
        && channel.host == ordered.host
        && channel.port == ordered.port
        && channel.user == ordered.user
}

fn is_at_work(channel: &Channel) -> bool {
    let at_work = |thread: &Thread| !matches!(thread, Thread::Stopped(_));
    at_work(&channel.receiver) || at_work(&channel.applier)
}

#[cfg(test)]
mod tests;
