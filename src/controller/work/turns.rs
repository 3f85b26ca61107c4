//! Which Execute run is being carried out, who waits for it, and what the webhooks have to know of it.
//!
//! May import: api, execute, controller

use std::sync::Arc;

use super::Worker;
use crate::api::{Mode, Phase};
use crate::controller::object::Recorded;
use crate::controller::run::Queue;
use crate::execute::RunRef;
use crate::execute::admission::Expected;
use crate::execute::queue::Active;

impl Worker {
    /// Tells the webhooks which pods the active run expects.
    pub(super) fn tell_webhooks(&self) {
        let expected = self.runs.in_order().into_iter().find_map(|entry| match &entry.run.recorded {
            Recorded::Open(status) if entry.run.mode == Mode::Execute => {
                let run = RunRef { name: entry.run.name.clone(), uid: entry.run.uid.clone() };
                Expected::of(&run, status)
            }
            _ => None,
        });
        self.expected.send_if_modified(|known| {
            let modified = known.as_deref() != expected.as_ref();
            if modified {
                *known = expected.map(Arc::new);
            }
            modified
        });
    }

    /// Whose turn it is.
    pub(super) fn queue(&self) -> Queue {
        let active = self.runs.in_order().into_iter().find_map(|entry| match &entry.run.recorded {
            Recorded::Open(status) if entry.run.mode == Mode::Execute && status.phase == Phase::Running => {
                let deadline = status.execution_deadline.as_deref().and_then(|time| time.parse().ok());
                Some(Active { name: entry.run.name.clone(), deadline })
            }
            _ => None,
        });
        Queue { active, last: self.executor.last() }
    }

    /// Whether an Execute run waits for what the Lease says of the last one.
    pub(super) fn asks_for_the_last(&self) -> bool {
        self.rules.execute_cooldown.is_some()
            && self.runs.in_order().into_iter().any(|entry| {
                entry.run.mode == Mode::Execute && !matches!(entry.run.recorded, Recorded::Finished { .. })
            })
    }
}
