use proptest::prelude::*;

use super::*;

const ORDERED: Ordered<'static> = Ordered {
    host: "shop-0-0",
    port: 3307,
    user: "remora_repl",
};

fn channel(receiver: Thread, applier: Thread) -> Channel {
    Channel {
        host: "shop-0-0".to_owned(),
        port: 3307,
        user: "remora_repl".to_owned(),
        safe: true,
        receiver,
        applier,
    }
}

fn problem(code: u32) -> Problem {
    Problem {
        code,
        text: format!("error {code}"),
    }
}

fn stopped() -> Thread {
    Thread::Stopped(Problem::default())
}

/// A replica that follows, when it is compared.
fn following() -> Observed {
    Observed {
        holds_rows: true,
        super_read_only: true,
        acknowledges: true,
        channel: Some(channel(Thread::Runs, Thread::Runs)),
        primary: Primary::There(Comparison::default()),
        ..Observed::default()
    }
}

fn with(comparison: Comparison) -> Primary {
    Primary::There(comparison)
}

fn told(observed: &Observed) -> String {
    let Decision { steps, state } = decide(observed, ORDERED);
    format!("{steps:?} {state:?}")
}

#[test]
fn each_situation_has_its_steps() {
    let fresh = Observed {
        primary: Primary::There(Comparison::default()),
        ..Observed::default()
    };
    let cloned = Observed {
        channel: None,
        acknowledges: false,
        ..following()
    };
    let receiving = |receiver: Thread, primary: Primary| Observed {
        channel: Some(channel(receiver, Thread::Runs)),
        primary,
        ..following()
    };
    let foreign = Comparison {
        foreign: "e:1".to_owned(),
        ..Comparison::default()
    };
    let ahead = Comparison {
        ahead: "p:9".to_owned(),
        ..Comparison::default()
    };
    let purged = Comparison {
        purged: true,
        ..Comparison::default()
    };
    let away = || Primary::Away("refused".to_owned());
    let cases = [
        ("an empty server", fresh.clone()),
        (
            "an empty server without a primary",
            Observed {
                primary: away(),
                ..fresh
            },
        ),
        ("one that was just cloned", cloned),
        ("one that follows", following()),
        (
            "one that follows and was not compared",
            Observed {
                primary: Primary::NotAsked,
                ..following()
            },
        ),
        (
            "one that was restarted",
            Observed {
                acknowledges: false,
                channel: Some(channel(stopped(), stopped())),
                ..following()
            },
        ),
        (
            "one that was restarted without a primary",
            Observed {
                acknowledges: false,
                channel: Some(channel(stopped(), stopped())),
                primary: away(),
                ..following()
            },
        ),
        (
            "one whose primary is gone",
            receiving(Thread::Connecting(problem(2003)), away()),
        ),
        (
            "one whose account has another password",
            receiving(
                Thread::Connecting(problem(1045)),
                with(Comparison::default()),
            ),
        ),
        (
            "one that is a commit ahead",
            Observed {
                primary: with(ahead.clone()),
                ..following()
            },
        ),
        (
            "one that is ahead of a primary that lost its commits",
            receiving(Thread::Stopped(problem(13114)), with(ahead)),
        ),
        (
            "one with transactions of its own",
            Observed {
                primary: with(foreign.clone()),
                ..following()
            },
        ),
        (
            "one with transactions of its own that was stopped",
            Observed {
                channel: Some(channel(stopped(), stopped())),
                primary: with(Comparison {
                    purged: true,
                    ..foreign
                }),
                ..following()
            },
        ),
        (
            "one whose binary logs were purged",
            receiving(Thread::Stopped(problem(13114)), with(purged)),
        ),
        (
            "one that cannot apply",
            Observed {
                channel: Some(channel(Thread::Runs, Thread::Stopped(problem(1062)))),
                ..following()
            },
        ),
        (
            "one that follows another server",
            Observed {
                channel: Some(Channel {
                    host: "shop-0-9".to_owned(),
                    ..channel(Thread::Runs, Thread::Runs)
                }),
                ..following()
            },
        ),
        (
            "one that takes writes",
            Observed {
                super_read_only: false,
                ..following()
            },
        ),
    ];
    let told: Vec<_> = cases
        .iter()
        .map(|(what, observed)| format!("{what}\n  {}", told(observed)))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

fn any_thread() -> impl Strategy<Value = Thread> {
    let problem = || prop_oneof![Just(0), Just(1045), Just(1236), Just(13114), Just(2003)];
    prop_oneof![
        Just(Thread::Runs),
        problem().prop_map(|code| Thread::Connecting(self::problem(code))),
        problem().prop_map(|code| Thread::Stopped(self::problem(code))),
    ]
}

fn any_observed() -> impl Strategy<Value = Observed> {
    let set = || prop_oneof![Just(String::new()), Just("u:1".to_owned())];
    let comparison = (set(), set(), any::<bool>()).prop_map(|(foreign, ahead, purged)| {
        Primary::There(Comparison {
            foreign,
            ahead,
            purged,
        })
    });
    let primary = prop_oneof![
        Just(Primary::NotAsked),
        Just(Primary::Away("away".to_owned())),
        comparison
    ];
    // The applier connects to nobody.
    let applier = any_thread().prop_map(|thread| match thread {
        Thread::Connecting(problem) => Thread::Stopped(problem),
        other => other,
    });
    let channel = prop::option::of((any_thread(), applier, any::<[bool; 2]>()).prop_map(
        |(receiver, applier, [safe, here])| Channel {
            safe,
            host: if here { "shop-0-0" } else { "elsewhere" }.to_owned(),
            ..channel(receiver, applier)
        },
    ));
    (any::<[bool; 3]>(), channel, primary).prop_map(
        |([holds_rows, super_read_only, acknowledges], channel, primary)| Observed {
            holds_rows,
            super_read_only,
            acknowledges,
            channel,
            primary,
            ..Observed::default()
        },
    )
}

/// What the steps make of the server, as far as decisions see it.
fn after(mut observed: Observed, steps: &[Step]) -> Observed {
    for step in steps {
        match step {
            Step::ReadOnly => observed.super_read_only = true,
            Step::Acknowledge => observed.acknowledges = true,
            Step::Stop => {
                if let Some(channel) = &mut observed.channel {
                    (channel.receiver, channel.applier) = (stopped(), stopped());
                }
            }
            Step::Point => observed.channel = Some(channel(stopped(), stopped())),
            Step::Start => {
                if let Some(channel) = &mut observed.channel {
                    (channel.receiver, channel.applier) = (Thread::Runs, Thread::Runs);
                }
            }
            Step::Clone => {
                observed.holds_rows = true;
                observed.channel = None;
                observed.acknowledges = false;
                observed.primary = Primary::There(Comparison::default());
            }
        }
    }
    observed
}

proptest! {
    #[test]
    fn nothing_is_started_or_replaced_without_a_comparison_that_allows_it(
        observed in any_observed()
    ) {
        let Decision { steps, state } = decide(&observed, ORDERED);
        let has = |step: Step| steps.contains(&step);
        match &observed.primary {
            Primary::There(comparison) => {
                if !comparison.foreign.is_empty() {
                    prop_assert!(!has(Step::Start) && !has(Step::Clone) && !has(Step::Point));
                    prop_assert!(matches!(state, State::Errant(_)));
                }
                if comparison.purged || !observed.holds_rows {
                    prop_assert!(!has(Step::Start));
                }
                if has(Step::Clone) {
                    prop_assert!(comparison.purged || !observed.holds_rows);
                }
            }
            _ => prop_assert!(steps.iter().all(|step| *step == Step::ReadOnly)),
        }
        if state == State::Following {
            prop_assert!(observed.holds_rows);
            prop_assert!(!has(Step::Clone) && !has(Step::Point));
        }
        // MySQL refuses to be pointed elsewhere, or to be replaced, while it follows.
        if let Some(channel) = &observed.channel
            && is_at_work(channel)
            && (has(Step::Point) || has(Step::Clone))
        {
            prop_assert!(has(Step::Stop));
        }
    }

    /// Killed after any number of steps, the next rounds come to the same end.
    #[test]
    fn a_crash_between_steps_is_completed(observed in any_observed(), cut in 0_usize..6) {
        let allowed = Primary::There(Comparison::default());
        let mut observed = Observed { primary: allowed, ..observed };
        for round in 0..4 {
            let Decision { steps, .. } = decide(&observed, ORDERED);
            let done = if round == 0 { cut.min(steps.len()) } else { steps.len() };
            observed = after(observed, &steps[..done]);
            // A thread that was connecting has connected meanwhile.
            if let Some(channel) = &mut observed.channel {
                for thread in [&mut channel.receiver, &mut channel.applier] {
                    if matches!(thread, Thread::Connecting(problem) if problem.code == 2003 || problem.code == 0) {
                        *thread = Thread::Runs;
                    }
                }
            }
        }
        let Decision { steps, state } = decide(&observed, ORDERED);
        if !matches!(state, State::Cut(_)) {
            prop_assert_eq!(steps, []);
            prop_assert_eq!(state, State::Following);
        }
    }
}
