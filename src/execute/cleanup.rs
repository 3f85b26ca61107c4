//! Clean-up, on every exit: the webhook's namespaces, leases, nominations and gates first, then the look at the whole
//! cluster and the last status, and label and finalizer after it.
//!
//! Touches only what carries this run's name and UID. What does not work after several attempts is left to whoever looks
//! for strays: an end must not hang.
//!
//! May import: api, snapshot

use jiff::{SignedDuration, Timestamp};

use super::barrier::lease_of;
use super::claim::gated_pods;
use super::command::{About, Answer, Command, GroupRef};
use super::journal::is_open;
use super::machine::{Execution, Next, wait_of};
use super::memory::lies_ahead;
use super::placement::replacement;
use super::seen::Sight;
use crate::api::EvictionPhase;
use crate::snapshot::model::{GroupIdx, GroupOrigin};

/// The API server takes up a changed webhook within about a second.
const SETTLES: SignedDuration = SignedDuration::from_secs(2);

impl Execution {
    /// What is left to do on the way to the last status.
    pub(super) fn finish(&mut self, sight: &Sight<'_>, now: Timestamp) -> Next {
        // What was evicted is known before anything is said of it.
        let mut all = self.stored.relocations.take().unwrap_or_default();
        self.close_evictions(&mut all, sight, now);
        self.stored.relocations = Some(all);
        if let Some(command) = self.evict(now) {
            return Next::Do(command);
        }
        if let Some(at) = self.unanswered(now) {
            return Next::Wait(Some(at));
        }
        if let Some(command) = self.tidy(sight, now) {
            return command;
        }
        if let Some(pod) = self.memory.left_gated.first().cloned() {
            return self.when_due(&pod.uid.clone(), Command::Ungate(pod), now);
        }
        let Some(verified) = self.memory.verified.clone() else {
            // A pod that passed the webhook just before it stopped is on the list by then.
            let settled = self.memory.cleared_at.map_or(now, |at| at + SETTLES);
            if self.relocations().iter().any(is_open) && lies_ahead(settled, now) {
                return Next::Wait(Some(settled));
            }
            return self.when_due("list", Command::ListPods, now);
        };
        let evicted = self.relocations().iter().any(|r| r.eviction.phase == EvictionPhase::Accepted);
        if evicted && !self.memory.anchored {
            return self.when_due("anchor", Command::Anchor(now), now);
        }
        let status = self.last_status(&verified, now);
        self.when_due("status", Command::WriteStatus(Box::new(status)), now)
    }

    /// The next request that tidies up before the last status.
    fn tidy(&mut self, sight: &Sight<'_>, now: Timestamp) -> Option<Next> {
        // No new pod is gated from here on.
        if !self.memory.webhooks_cleared {
            let command = Command::Webhooks { namespaces: Vec::new() };
            return Some(self.when_due("webhooks", command, now));
        }
        let tag = self.run.tag();
        for at in 0..sight.snapshot.groups.len() {
            let group = GroupIdx::new(at);
            let facts = &sight.snapshot.groups[at];
            let uid = sight.snapshot.text(facts.uid);
            if facts.origin != GroupOrigin::Object
                || lease_of(sight.snapshot, group) != Some(tag.as_str())
                || self.memory.tidied.contains(uid)
            {
                continue;
            }
            let group = GroupRef {
                namespace: sight.snapshot.namespace_name(facts.namespace).to_owned(),
                name: sight.snapshot.text(facts.name).to_owned(),
                uid: uid.to_owned(),
            };
            return Some(self.when_due(uid, Command::Lease { group, held: false }, now));
        }
        let pods = self.relocations().iter().filter_map(replacement);
        let pods = pods.chain(self.memory.steered.values().cloned());
        let replacements: Vec<_> = pods.filter_map(|pod| sight.same(&pod)).collect();
        let gated = gated_pods(sight).filter(|seen| seen.gate_owner == tag);
        for seen in replacements.into_iter().chain(gated) {
            if seen.is_bound() || seen.terminating || self.memory.tidied.contains(&seen.at.uid) {
                continue;
            }
            if let Some(command) = self.release(&seen) {
                return Some(self.when_due(&seen.at.uid, command, now));
            }
        }
        None
    }

    /// Takes the answer to a request of the clean-up.
    pub(super) fn cleaned(&mut self, command: &Command, answer: &Answer, now: Timestamp) {
        match command {
            Command::Webhooks { .. } => {
                self.memory.webhooks_cleared |= self.tidied("webhooks", answer, now);
                self.memory.cleared_at = Some(now);
            }
            Command::Lease { group, .. } => {
                if self.tidied(&group.uid, answer, now) {
                    self.memory.tidied.insert(group.uid.clone());
                }
            }
            Command::Nominate { pod, .. } => {
                if self.tidied(&pod.uid, answer, now) {
                    self.memory.released.insert(pod.uid.clone());
                }
            }
            Command::Ungate(pod) => {
                if self.tidied(&pod.uid, answer, now) {
                    self.memory.ungated.insert(pod.uid.clone());
                    if self.memory.left_gated.iter().any(|left| left.uid == pod.uid) {
                        self.memory.left_gated.retain(|left| left.uid != pod.uid);
                        // Once more, until there is none.
                        self.memory.verified = None;
                    }
                }
            }
            Command::Anchor(_) => self.memory.anchored |= self.tidied("anchor", answer, now),
            Command::ActiveLabel(_) => {
                if self.tidied("label", answer, now) {
                    self.active = false;
                }
            }
            Command::Finalizer(_) => {
                let conflict = matches!(answer, Answer::Refused(refusal) if refusal.code == 409);
                if conflict {
                    self.memory.reread = true;
                } else if self.tidied("finalizer", answer, now) {
                    self.finalizer = false;
                }
            }
            _ => {
                self.memory.again("clean-up", wait_of(answer), now);
            }
        }
    }

    /// After the last status: nothing is left of the run but its record.
    pub(super) fn close(&mut self, now: Timestamp) -> Next {
        if self.active {
            return self.when_due("label", Command::ActiveLabel(false), now);
        }
        if let Some(event) = self.memory.events.pop_front() {
            return Next::Do(event);
        }
        if let Some((reason, warning)) = self.ended_with()
            && self.memory.told.insert(("end".to_owned(), reason))
        {
            let message = self.stored.message.clone();
            return Next::Do(Command::Tell { about: About::Run, reason, message, warning });
        }
        // The finalizer goes last: with it goes a run that is being deleted.
        if self.finalizer {
            return self.when_due("finalizer", Command::Finalizer(false), now);
        }
        Next::Finished
    }
}
