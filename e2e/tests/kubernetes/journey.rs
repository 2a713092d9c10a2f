//! Runs the steps and counts them, in the words of cargo's own test runner.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use remora_e2e::kubernetes::{HostState, Images, Kubernetes};

/// How long a pod may take to be Ready on a busy machine of two cores.
pub(crate) const READY: Duration = Duration::from_secs(120);

/// The cluster, and what came of the steps so far.
pub(crate) struct Journey {
    pub(crate) cluster: Kubernetes,
    pub(crate) images: Images,
    verdict: Verdict,
    start: Instant,
}

/// How many steps went well.
#[derive(Default)]
pub(crate) struct Verdict {
    passed: usize,
    failures: Vec<&'static str>,
    skipped: usize,
    took: Duration,
    /// Set by a step without which the later ones mean nothing.
    over: bool,
}

impl Journey {
    /// Builds what is missing and brings the cluster up.
    pub(crate) fn begin() -> Result<Self> {
        let start = Instant::now();
        let images = Images::build()?;
        let cluster = Kubernetes::start(|step| println!("          {step}"))?;
        cluster.import(&images)?;
        println!(
            "test a_node_comes_up ... ok ({:.1} s)",
            start.elapsed().as_secs_f64()
        );
        let verdict = Verdict {
            passed: 1,
            ..Verdict::default()
        };
        Ok(Self {
            cluster,
            images,
            verdict,
            start,
        })
    }

    /// A step whose failure leaves the others as they are.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        step: impl FnOnce(&Kubernetes, &Images) -> Result<()>,
    ) -> bool {
        if self.verdict.over {
            println!("test {name} ... ignored, an earlier step failed");
            self.verdict.skipped += 1;
            return false;
        }
        let begin = Instant::now();
        let result = step(&self.cluster, &self.images);
        let seconds = begin.elapsed().as_secs_f64();
        match result {
            Ok(()) => {
                println!("test {name} ... ok ({seconds:.1} s)");
                self.verdict.passed += 1;
                true
            }
            Err(error) => {
                println!("test {name} ... FAILED ({seconds:.1} s)\n{error:#}");
                self.show_cluster();
                self.verdict.failures.push(name);
                false
            }
        }
    }

    /// A step without which the later ones mean nothing.
    pub(crate) fn foundation(
        &mut self,
        name: &'static str,
        step: impl FnOnce(&Kubernetes, &Images) -> Result<()>,
    ) {
        if !self.verdict.over && !self.step(name, step) {
            self.verdict.over = true;
        }
    }

    /// Ends the cluster, and looks at what it left on the machine.
    pub(crate) fn end(self, before: Result<HostState>) -> Verdict {
        let Self {
            cluster,
            mut verdict,
            start,
            ..
        } = self;
        let name = "the_machine_is_as_it_was";
        // Every pod goes with its processes, also those that would not have stopped by themselves.
        drop(cluster);
        match machine_is_as_it_was(before) {
            Ok(()) => {
                println!("test {name} ... ok");
                verdict.passed += 1;
            }
            Err(error) => {
                println!("test {name} ... FAILED\n{error:#}");
                verdict.failures.push(name);
            }
        }
        verdict.took = start.elapsed();
        verdict
    }

    /// What a person would look at first.
    fn show_cluster(&self) {
        for arguments in [
            &[
                "get",
                "pods,statefulsets,shardingclusters",
                "-A",
                "-o",
                "wide",
            ][..],
            &[
                "get",
                "events",
                "-A",
                "--sort-by=.lastTimestamp",
                "--field-selector=type=Warning",
            ],
        ] {
            match self.cluster.kubectl(arguments) {
                Ok(text) => println!("{text}"),
                Err(error) => println!("{error:#}"),
            }
        }
    }
}

fn machine_is_as_it_was(before: Result<HostState>) -> Result<()> {
    let (before, after) = (before?, HostState::observe()?);
    ensure!(before == after, "before: {before:#?}\nafter: {after:#?}");
    Ok(())
}

impl Verdict {
    /// Whether a step failed.
    pub(crate) fn failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.failed() {
            writeln!(f, "\nfailures: {}", self.failures.join(", "))?;
        }
        write!(
            f,
            "\ntest result: {}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in {:.2}s",
            if self.failed() { "FAILED" } else { "ok" },
            self.passed,
            self.failures.len(),
            self.skipped,
            self.took.as_secs_f64(),
        )
    }
}
