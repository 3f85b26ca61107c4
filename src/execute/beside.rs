//! What happens beside the moves: pods of the run's groups that replace nobody, and replacements that come without the
//! gate.
//!
//! May import: api, snapshot

use jiff::Timestamp;

use super::claim::pod_named;
use super::command::Command;
use super::machine::Execution;
use super::node_choice::Rooms;
use super::seen::Sight;

impl Execution {
    /// The next request for a pod that the run gated and that replaces nobody. It is let go at once, with a hint to a node
    /// that takes it beside everything that the run moves: a scheduler that likes empty nodes would put it on the one
    /// that was just freed, or into the room of a replacement.
    pub(super) fn let_go(&mut self, sight: &Sight<'_>, now: Timestamp) -> Option<Command> {
        let stray = self.unclaimed(sight).into_iter().find(|seen| self.memory.may(&seen.at.uid, now))?;
        let pod = stray.at;
        // Once: a hint that can not be given holds nobody up.
        if stray.nominated.is_empty() && self.memory.steered.insert(pod.uid.clone(), pod.clone()).is_none() {
            let all = self.relocations();
            let index = pod_named(sight, &pod.namespace, &pod.name);
            let node = index.and_then(|index| {
                Rooms::new(sight, &self.orders, all, &self.freed()).spare(sight, all, index)
            });
            if let Some(node) = node {
                let node = Some(sight.snapshot.node_name(node).to_owned());
                return Some(Command::Nominate { pod, node });
            }
        }
        Some(Command::Ungate(pod))
    }

    /// A replacement came without the gate: before another pod is evicted, the webhook has to show that it gates.
    pub(super) fn doubt_the_gates(&mut self) {
        let of_webhooks = |step: &Command| matches!(step, Command::Webhooks { .. });
        if self.memory.prepared == Some(true)
            && let Some(at) = self.memory.steps.iter().position(of_webhooks)
        {
            self.memory.prepared = None;
            self.memory.barrier = at;
            self.memory.worked("barrier");
        }
    }
}
