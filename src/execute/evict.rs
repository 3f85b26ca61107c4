//! Evictions: node by node, one unit at a time unless the run allows more, each written down before it is sent.
//!
//! Outcomes (rulebook 4.6): accepted; gone before; refused for good; or to be tried again. A victim that is gone or going
//! although nobody knows of an answer was evicted by whoever wrote `InProgress` before.
//!
//! May import: api, snapshot, filter, plan

use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashSet;

use super::command::{Answer, Command, PodRef, Refusal};
use super::journal::{is_closed, is_open, left, written};
use super::machine::{Execution, wait_of, words};
use super::memory::{Outcome, lies_ahead};
use super::node_choice::still_empties;
use super::seen::Sight;
use crate::api::{EvictionPhase, PlacementPhase, Reason, Relocation};

/// Attempts to read a victim before a run that ends goes on without the answer.
const MOST_READS: u32 = 5;

impl Execution {
    /// Takes outcomes into the record, and what became of pods that nobody evicts.
    pub(super) fn close_evictions(&self, all: &mut [Relocation], sight: &Sight<'_>, now: Timestamp) {
        for at in 0..all.len() {
            let phase = all[at].eviction.phase;
            if !matches!(phase, EvictionPhase::Pending | EvictionPhase::InProgress) {
                continue;
            }
            let leaves = leaving(sight, &all[at]);
            let outcome = if phase == EvictionPhase::InProgress {
                let taken_up = leaves && !self.memory.own.contains(&all[at].victim_pod_uid);
                let known = self.memory.outcomes.get(&all[at].victim_pod_uid).cloned();
                known.or_else(|| taken_up.then_some(Outcome::Accepted))
            } else {
                leaves.then_some(Outcome::GoneBefore)
            };
            let Some(outcome) = outcome else { continue };
            let sibling = self.has_accepted_sibling(all, at);
            let window = self.memory.windows.get(&all[at].victim_pod_uid).copied();
            let window = window.unwrap_or_else(|| self.orders.window(0));
            let relocation = &mut all[at];
            let (phase, message) = match outcome {
                Outcome::Accepted => (EvictionPhase::Accepted, String::new()),
                Outcome::GoneBefore if sibling => (EvictionPhase::IndirectlyRemoved, String::new()),
                Outcome::GoneBefore => {
                    (EvictionPhase::Rejected, "the pod was gone before it was evicted".to_owned())
                }
                Outcome::Rejected(why) => (EvictionPhase::Rejected, why),
            };
            relocation.eviction.phase = phase;
            relocation.eviction.message = message;
            if left(phase) {
                let expires = now + SignedDuration::from_secs(window);
                relocation.placement.expiration_time = written(expires);
            } else {
                relocation.placement.phase = PlacementPhase::NotNeeded;
            }
        }
        self.close_cascades(all, sight);
    }

    /// A pod that should have been taken along stays when nothing of its unit was evicted.
    fn close_cascades(&self, all: &mut [Relocation], sight: &Sight<'_>) {
        for at in 0..all.len() {
            let mine = &self.facts[at];
            if !mine.cascade || all[at].eviction.phase != EvictionPhase::Pending || leaving(sight, &all[at]) {
                continue;
            }
            if mine.unit != at && all[mine.unit].eviction.phase == EvictionPhase::Rejected {
                all[at].eviction.phase = EvictionPhase::Rejected;
                "the pod whose eviction takes it along was not evicted"
                    .clone_into(&mut all[at].eviction.message);
                all[at].placement.phase = PlacementPhase::NotNeeded;
            }
        }
    }

    /// A pod of its group was evicted, or the one that takes it along, which may be of another group.
    fn has_accepted_sibling(&self, all: &[Relocation], at: usize) -> bool {
        all.iter().enumerate().any(|(other, relocation)| {
            let related = other == self.facts[at].unit
                || relocation.namespace == all[at].namespace
                    && relocation.pod_group_name == all[at].pod_group_name;
            other != at
                && related
                && (relocation.eviction.phase == EvictionPhase::Accepted
                    || self.memory.sent.contains(&relocation.victim_pod_uid)
                        && relocation.eviction.phase == EvictionPhase::InProgress)
        })
    }

    /// Marks the evictions that begin now.
    pub(super) fn begin_evictions(&mut self, all: &mut [Relocation], sight: &Sight<'_>, now: Timestamp) {
        if self.memory.stop.is_some() {
            return;
        }
        let mut in_flight = self.in_flight(all, now);
        let mut at = 0;
        while at < all.len() {
            let begins = all[at].eviction.phase == EvictionPhase::Pending && !self.facts[at].cascade;
            if !begins {
                at += 1;
                continue;
            }
            let step = self.facts[at].step.clone();
            // A node is empty before the next is begun.
            let before = |i: usize| {
                self.facts[i].step != step
                    && (all[i].eviction.phase == EvictionPhase::InProgress
                        || all[i].eviction.phase == EvictionPhase::Accepted && leaving_still(sight, &all[i]))
            };
            let wave = self.facts[at].wave;
            let earlier_wave =
                |i: usize| self.facts[i].wave < wave && (is_open(&all[i]) || unready(sight, &all[i]));
            if (0..at).any(before)
                || (0..all.len()).any(earlier_wave)
                || in_flight >= self.orders.most_in_flight
            {
                return;
            }
            let begun = (0..all.len())
                .any(|i| self.facts[i].step == step && all[i].eviction.phase != EvictionPhase::Pending);
            if !begun && !self.is_trusted(&step) {
                return;
            }
            if !begun
                && !self.memory.checked.contains(&step)
                && let Err(why) = self.still_holds(all, at, sight)
            {
                self.give_up(all, &step, &why);
                continue;
            }
            if let Some(why) = self.is_lost(all, &step) {
                self.give_up(all, &step, &why);
                continue;
            }
            self.memory.checked.insert(step);
            all[at].eviction.phase = EvictionPhase::InProgress;
            let victim = &all[at].victim_pod_uid;
            self.memory.own.insert(victim.clone());
            in_flight += 1;
            at += 1;
        }
    }

    /// Evictions whose replacement is not placed yet; what a budget blocks lets others go on.
    fn in_flight(&self, all: &[Relocation], now: Timestamp) -> usize {
        let counts = |(at, relocation): (usize, &Relocation)| {
            if self.facts[at].cascade {
                return false;
            }
            match relocation.eviction.phase {
                EvictionPhase::InProgress => self.memory.may(&relocation.victim_pod_uid, now),
                _ => is_open(relocation),
            }
        };
        all.iter().enumerate().filter(|&each| counts(each)).count()
    }

    /// Whether the node of a relocation can still be emptied, on the cluster as it is.
    fn still_holds(&self, all: &[Relocation], at: usize, sight: &Sight<'_>) -> Result<(), String> {
        let step = &self.facts[at].step;
        let victims: Vec<&Relocation> =
            (0..all.len()).filter(|&i| self.facts[i].step == *step).map(|i| &all[i]).collect();
        let replacements: FxHashSet<&str> =
            all.iter().filter_map(|r| r.placement.replacement_pod_uid.as_deref()).collect();
        still_empties(sight, &self.orders, step, &victims, &replacements, &self.freed(), self.away(step))
    }

    /// The cards of a node that are away at once at most: those of its largest units, as many as may be on the way.
    fn away(&self, step: &str) -> i64 {
        let mut units: Vec<i64> = Vec::new();
        for facts in self.facts.iter().filter(|facts| facts.step == step) {
            match units.last_mut() {
                Some(unit) if facts.cascade => *unit += facts.cards,
                _ => units.push(facts.cards),
            }
        }
        units.sort_unstable_by(|a, b| b.cmp(a));
        units.iter().take(self.orders.most_in_flight).sum()
    }

    /// The nodes that the plan frees.
    pub(super) fn freed(&self) -> Vec<String> {
        self.stored.plan.as_ref().map(|plan| plan.freed_nodes.clone()).unwrap_or_default()
    }

    /// A replacement of the run has come back to a node that was to be freed: to evict the others gains nothing.
    fn is_lost(&self, all: &[Relocation], step: &str) -> Option<String> {
        let back = |r: &&Relocation| {
            r.placement.phase == PlacementPhase::Placed
                && r.placement.actual_node_name.as_deref() == Some(step)
        };
        let back = all.iter().find(back).filter(|_| self.freed().iter().any(|node| node == step))?;
        let name = back.placement.replacement_pod_name.as_deref().unwrap_or_default();
        Some(format!("the replacement {}/{name} came back to it", back.namespace))
    }

    /// What was not touched of a node is left in peace.
    fn give_up(&self, all: &mut [Relocation], step: &str, why: &str) {
        for (at, relocation) in all.iter_mut().enumerate() {
            if self.facts[at].step == step && relocation.eviction.phase == EvictionPhase::Pending {
                relocation.eviction.phase = EvictionPhase::Rejected;
                relocation.eviction.message = format!("node {step} was given up: {why}");
                relocation.placement.phase = PlacementPhase::NotNeeded;
            }
        }
    }

    /// The next request of an eviction that is on the way.
    pub(super) fn evict(&mut self, now: Timestamp) -> Option<Command> {
        let of = |relocation: &Relocation| PodRef {
            namespace: relocation.namespace.clone(),
            name: relocation.victim_pod_name.clone(),
            uid: relocation.victim_pod_uid.clone(),
        };
        let mut waiting = self.relocations().iter().filter(|relocation| {
            relocation.eviction.phase == EvictionPhase::InProgress
                && !self.memory.outcomes.contains_key(&relocation.victim_pod_uid)
                && self.memory.may(&relocation.victim_pod_uid, now)
        });
        let pod = of(waiting.next()?);
        if self.memory.ending.is_some() {
            let tried = self.memory.retries.get(&pod.uid).map_or(0, |retry| retry.attempts);
            return (tried < MOST_READS).then_some(Command::ReadPod(pod));
        }
        if self.memory.looked.as_ref() == Some(&pod.uid) {
            return Some(Command::Evict { grace: self.orders.grace_seconds, pod });
        }
        Some(Command::ReadPod(pod))
    }

    /// The time at which a victim is asked about again whose eviction has no answer yet, while the run ends; after a few
    /// attempts it is left open.
    pub(super) fn unanswered(&self, now: Timestamp) -> Option<Timestamp> {
        let open = self.relocations().iter().filter(|relocation| {
            relocation.eviction.phase == EvictionPhase::InProgress
                && !self.memory.outcomes.contains_key(&relocation.victim_pod_uid)
        });
        let retries = open.filter_map(|relocation| self.memory.retries.get(&relocation.victim_pod_uid));
        let due = retries.filter(|retry| retry.attempts < MOST_READS).map(|retry| retry.at);
        due.filter(|at| lies_ahead(*at, now)).min()
    }

    /// What the server said of a victim before it is evicted.
    pub(super) fn victim_read(&mut self, pod: &PodRef, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Pod(Some(seen))
                if seen.at.uid == pod.uid
                    && !seen.terminating
                    && !seen.finished
                    && self.memory.ending.is_some() =>
            {
                let said = self.memory.blocked.get(&pod.uid).cloned();
                let why = said.unwrap_or_else(|| "the run ended before it was evicted".to_owned());
                self.memory.outcomes.insert(pod.uid.clone(), Outcome::Rejected(why));
            }
            Answer::Pod(Some(seen)) if seen.at.uid == pod.uid && !seen.terminating && !seen.finished => {
                self.memory.windows.insert(pod.uid.clone(), self.orders.window(seen.grace_seconds));
                self.memory.looked = Some(pod.uid.clone());
            }
            Answer::Pod(_) | Answer::Refused(Refusal { code: 404, .. }) => self.victim_is_gone(&pod.uid),
            answer => self.not_yet(&pod.uid, &answer, now),
        }
    }

    fn victim_is_gone(&mut self, uid: &str) {
        self.memory.blocked.remove(uid);
        let ours = self.memory.sent.contains(uid) || !self.memory.own.contains(uid);
        let outcome = if ours { Outcome::Accepted } else { Outcome::GoneBefore };
        self.memory.outcomes.insert(uid.to_owned(), outcome);
        self.memory.worked(uid);
    }

    /// What came of an eviction.
    pub(super) fn evict_answered(&mut self, uid: &str, answer: Answer, now: Timestamp) {
        self.memory.looked = None;
        match answer {
            Answer::Refused(refusal) => self.evict_refused(uid, refusal, now),
            Answer::Lost(_) => {
                self.memory.sent.insert(uid.to_owned());
                self.not_yet(uid, &answer, now);
            }
            _ => {
                self.memory.sent.insert(uid.to_owned());
                self.memory.worked(uid);
                self.memory.blocked.remove(uid);
                self.memory.outcomes.insert(uid.to_owned(), Outcome::Accepted);
            }
        }
    }

    fn evict_refused(&mut self, uid: &str, refusal: Refusal, now: Timestamp) {
        let several = refusal.message.contains("more than one PodDisruptionBudget");
        let by_rights = refusal.code == 403 && refusal.message.contains("cannot create resource");
        match refusal.code {
            404 => self.victim_is_gone(uid),
            403 if by_rights => {
                let why = format!("cannot create pods/eviction: {}", refusal.message);
                self.memory.outcomes.insert(uid.to_owned(), Outcome::Rejected(refusal.message));
                self.memory.stop = Some((Reason::ExecutionPreparationFailed, why));
            }
            500 if several => {
                self.memory.outcomes.insert(uid.to_owned(), Outcome::Rejected(refusal.message));
            }
            403 if refusal.budget => self.not_yet(uid, &Answer::Refused(refusal), now),
            409 | 429 | 500..=599 => {
                // A server's fault may hide that it did what was asked.
                if refusal.code >= 500 {
                    self.memory.sent.insert(uid.to_owned());
                }
                self.not_yet(uid, &Answer::Refused(refusal), now);
            }
            _ => {
                self.memory.outcomes.insert(uid.to_owned(), Outcome::Rejected(refusal.message));
            }
        }
    }

    /// Tried again later, until the window of the victim is over.
    fn not_yet(&mut self, uid: &str, answer: &Answer, now: Timestamp) {
        self.memory.looked = None;
        self.memory.blocked.insert(uid.to_owned(), words(answer));
        self.memory.again(uid, wait_of(answer), now);
        let since = self.memory.retries.get(uid).map_or(now, |retry| retry.since);
        let window = self.memory.windows.get(uid).copied().unwrap_or_else(|| self.orders.window(0));
        if now >= since + SignedDuration::from_secs(window) {
            self.memory.worked(uid);
            self.memory.outcomes.insert(uid.to_owned(), Outcome::Rejected(words(answer)));
        }
    }
}

/// The victim is gone, another pod has its name, or it is on its way out.
fn leaving(sight: &Sight<'_>, relocation: &Relocation) -> bool {
    let seen = sight.same(&victim(relocation));
    seen.is_none_or(|seen| seen.terminating || seen.finished)
}

/// The victim was evicted and is still there.
pub(super) fn leaving_still(sight: &Sight<'_>, relocation: &Relocation) -> bool {
    sight.same(&victim(relocation)).is_some_and(|seen| !seen.finished)
}

/// Its replacement is bound and not Ready yet.
fn unready(sight: &Sight<'_>, relocation: &Relocation) -> bool {
    let placement = &relocation.placement;
    if placement.phase != PlacementPhase::Placed || !is_closed(placement.phase) {
        return false;
    }
    let (Some(name), Some(uid)) = (&placement.replacement_pod_name, &placement.replacement_pod_uid) else {
        return false;
    };
    let pod = PodRef { namespace: relocation.namespace.clone(), name: name.clone(), uid: uid.clone() };
    sight.same(&pod).is_some_and(|seen| !seen.ready && !seen.terminating)
}

pub(super) fn victim(relocation: &Relocation) -> PodRef {
    PodRef {
        namespace: relocation.namespace.clone(),
        name: relocation.victim_pod_name.clone(),
        uid: relocation.victim_pod_uid.clone(),
    }
}
