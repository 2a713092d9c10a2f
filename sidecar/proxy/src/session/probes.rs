//! Column definitions of statements that run in parts, as MySQL gave them to the whole.

use std::sync::Arc;

use remora_planner::{Plan, Planned};

use crate::backend::Described;

/// How many are kept for a session.
const CAPACITY: usize = 16;

/// Definitions by plan. They depend on the session's character sets too, so any SET voids them.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    known: Vec<Probe>,
    version: u64,
}

#[derive(Debug)]
struct Probe {
    /// Held, so that no other plan gets its address.
    plan: Arc<Plan>,
    described: Arc<Described>,
}

impl Probes {
    /// The definitions for a plan, under the settings of this version.
    pub(crate) fn get(&self, planned: &Planned, version: u64) -> Option<Arc<Described>> {
        let same = |probe: &&Probe| Arc::ptr_eq(&probe.plan, planned.plan());
        let probe = self
            .known
            .iter()
            .find(same)
            .filter(|_| self.version == version)?;
        Some(probe.described.clone())
    }

    /// Forgets the definitions for a plan.
    pub(crate) fn forget(&mut self, planned: &Planned) {
        self.known
            .retain(|probe| !Arc::ptr_eq(&probe.plan, planned.plan()));
    }

    /// Remembers definitions.
    pub(crate) fn put(&mut self, planned: &Planned, version: u64, described: Arc<Described>) {
        if self.version != version || self.known.len() == CAPACITY {
            self.known.clear();
            self.version = version;
        }
        self.known.push(Probe {
            plan: planned.plan().clone(),
            described,
        });
    }
}
