//! What to do when mysqld has ended. Pure: no process, no clock.

use std::time::Duration;

/// mysqld's exit code after SQL `RESTART`, when `MYSQLD_PARENT_PID` names its parent
/// (`MYSQLD_RESTART_EXIT` in MySQL's sources; tried on 9.7.4).
const RESTART_EXIT: i32 = 16;

/// One that lived this long had started; its end is not a failed start.
const STARTED: Duration = Duration::from_secs(10);

/// The wait after failed starts in a row: a crash is answered at once, a wrong option must
/// not fill the log. The last one repeats.
const WAITS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// How mysqld ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Counts failed starts in a row.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    failed: usize,
}

impl Restarts {
    /// How long to wait before mysqld is started again, after one that lived for `lifetime`.
    ///
    /// Every end but the supervisor's own SIGTERM is followed by a start: CLONE ends mysqld
    /// with 0 when the data was replaced (error 3707), `RESTART` with 16, a kill by a signal.
    pub(crate) fn wait(&mut self, ended: Ended, lifetime: Duration) -> Duration {
        let on_purpose = matches!(ended, Ended::Code(0 | RESTART_EXIT));
        if on_purpose || lifetime >= STARTED {
            self.failed = 0;
            return WAITS[0];
        }
        let wait = WAITS[self.failed.min(WAITS.len() - 1)];
        self.failed += 1;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: Duration = Duration::from_secs(1);

    #[test]
    fn a_crash_is_followed_by_a_start_at_once() {
        let mut restarts = Restarts::default();
        assert_eq!(restarts.wait(Ended::Signal(9), STARTED), Duration::ZERO);
    }

    #[test]
    fn clone_and_restart_are_never_slowed_down() {
        let mut restarts = Restarts::default();
        for _ in 0..10 {
            assert_eq!(restarts.wait(Ended::Code(0), YOUNG), Duration::ZERO);
            assert_eq!(
                restarts.wait(Ended::Code(RESTART_EXIT), YOUNG),
                Duration::ZERO
            );
        }
    }

    #[test]
    fn a_server_that_cannot_start_is_tried_more_and_more_seldom_up_to_two_seconds() {
        let mut restarts = Restarts::default();
        let waits: Vec<_> = (0..7)
            .map(|_| restarts.wait(Ended::Code(1), YOUNG))
            .collect();
        assert!(waits.is_sorted());
        assert_eq!(waits[0], Duration::ZERO);
        assert_eq!(waits[6], Duration::from_secs(2));
    }

    #[test]
    fn one_that_had_started_clears_the_count() {
        let mut restarts = Restarts::default();
        for _ in 0..5 {
            restarts.wait(Ended::Code(1), YOUNG);
        }
        restarts.wait(Ended::Signal(9), STARTED);
        assert_eq!(restarts.wait(Ended::Signal(9), YOUNG), Duration::ZERO);
    }
}
