//! A replica's agent at work: round after round, until other orders come.

use std::time::{Duration, Instant};

use remora_discovery::{AgentHealth, AgentOrders, ReplicationHealth, ServerData, Snapshot as Told};

use super::replica::{Round, Source, State, round};
use super::{AGAIN, Agent, AgentError, PULSE};

/// How often a replica that follows is compared with its primary.
const COMPARE: Duration = Duration::from_secs(10);
/// A round's statements wait for nobody but the primary's answer.
const ROUND: Duration = Duration::from_secs(30);

impl Agent {
    /// Makes the server follow its primary. Answers how long to rest, as `serve` does.
    pub(super) async fn follow(&mut self, told: &Told, orders: &AgentOrders) -> Option<Duration> {
        let source = match Source::of(told, orders) {
            Ok(source) => source?,
            Err(error) => {
                self.fail(&error, orders);
                return Some(AGAIN);
            }
        };
        let socket = self.socket.clone();
        let mut compared: Option<Instant> = None;
        self.certificates.forget();
        loop {
            let compare = compared.is_none_or(|at| at.elapsed() >= COMPARE);
            let round = round(&socket, orders, &source, compare, &mut self.certificates);
            let attempt = tokio::time::timeout(ROUND, round);
            let rest = match attempt.await {
                Ok(Ok(round)) => {
                    if compare {
                        compared = Some(Instant::now());
                    }
                    if round.copying.is_some() {
                        self.certificates.forget();
                    }
                    self.went(round, orders).await
                }
                Ok(Err(error)) => {
                    compared = None;
                    self.certificates.forget();
                    self.hold.set(Some(&error.to_string()));
                    self.fail(&error, orders);
                    PULSE
                }
                Err(_) => {
                    compared = None;
                    let error = AgentError::Silent("it takes too long".to_owned());
                    self.fail(&error, orders);
                    PULSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                _ = self.told.changed() => {
                    self.told.mark_changed();
                    return Some(Duration::ZERO);
                }
            }
        }
    }

    /// Reports a round, and copies the primary's data if that is next: other orders wait for it.
    async fn went(&self, round: Round, orders: &AgentOrders) -> Duration {
        let (reason, fit) = match &round.state {
            State::Following => (String::new(), true),
            // It serves what it has, and whoever reads looks at how old that is.
            State::Cut(reason) => (reason.clone(), true),
            State::Cloning => ("it is being cloned from its primary".to_owned(), false),
            State::Errant(set) => (
                format!("it has transactions that its primary does not have: {set}"),
                false,
            ),
            State::Waiting(reason) => (reason.clone(), false),
        };
        self.hold.set((!fit).then_some(reason.as_str()));
        self.say(AgentHealth {
            mysqld: true,
            bootstrapped: round.state == State::Following,
            reason,
            data: match round.holds_rows {
                true => ServerData::Held,
                false => ServerData::Empty,
            },
            replication: orders.replication.as_ref().map(|order| ReplicationHealth {
                ordinal: order.ordinal,
                primary: false,
                server_uuid: round.server_uuid,
                following: round.state == State::Following,
                cloning: round.state == State::Cloning,
                errant: match &round.state {
                    State::Errant(set) => set.clone(),
                    _ => String::new(),
                },
                acknowledgements: 0,
            }),
            // The primary's agent speaks of the layout.
            ..AgentHealth::default()
        });
        if let Some(copying) = round.copying {
            match copying.run().await {
                Ok(()) => tracing::info!("The primary's data is here; mysqld starts again"),
                Err(error) => {
                    tracing::warn!(%error, "The primary's data could not be copied");
                    return AGAIN;
                }
            }
        }
        match round.state {
            State::Waiting(_) | State::Errant(_) => PULSE * 2,
            _ => PULSE,
        }
    }
}
