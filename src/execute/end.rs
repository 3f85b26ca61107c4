//! How a run ends: when, with which reason, and with which result.
//!
//! The result is measured on one list of all pods, after everything of the run is off the cluster. It tells what was
//! really done, also after a failure.
//!
//! May import: api, snapshot, fragmentation

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::Timestamp;
use rustc_hash::FxHashSet;

use super::command::{Answer, PodRef};
use super::journal::{is_open, left, read, written};
use super::machine::{Execution, wait_of, words};
use super::memory::Ending;
use super::seen::Sight;
use crate::api::names::{GATE_OWNER_ANNOTATION, PLACEMENT_GATE};
use crate::api::{
    Condition, ConditionStatus, ConditionType, EvictionPhase, ExactRate, Phase, PlacementPhase, Reason,
    Relocation, RepackRunStatus, RunResult, TakenNode,
};
use crate::fragmentation::Rate;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Pod, PodIdx, ResourceIdx};

/// Lists that may fail before the result stays unverified.
const MOST_LISTS: u32 = 5;
/// Names that a message lists.
const MOST_NAMES: usize = 8;

impl Execution {
    /// Looks whether the run ends now, and which planned nodes are empty.
    pub(super) fn notice(&mut self, sight: &Sight<'_>, now: Timestamp) {
        self.note_empty_nodes(sight);
        if self.memory.ending.is_some() {
            return;
        }
        if self.deleting {
            self.end(Some(Reason::ExecutionInterrupted), "the run was deleted");
        } else if self.cancelled {
            self.end(Some(Reason::ExecutionCancelled), "the run was cancelled");
        } else if self.deadline().is_some_and(|deadline| now >= deadline) {
            // What was begun and never accepted counts as refused, with the server's words.
            let pending = self.relocations().iter().any(|r| r.eviction.phase == EvictionPhase::Pending);
            let reason = pending.then_some(Reason::ExecutionTimedOut);
            self.end(
                reason,
                if pending { "the deadline came with evictions that had not happened" } else { "" },
            );
        } else if self.all_closed() && self.all_gone(sight) {
            let stop = self.memory.stop.clone();
            let pending = self.relocations().iter().any(|r| r.eviction.phase == EvictionPhase::Pending);
            match stop {
                // Whoever created it may no longer: that ends the run, whatever it has come to.
                Some((reason @ Reason::ExecutionInterrupted, why)) if pending => self.end(Some(reason), why),
                Some((_, why)) if pending => self.end(None, why),
                _ => self.end(None, ""),
            }
        }
    }

    /// A planned node is realised once it was empty after its last victim, whoever takes it then.
    fn note_empty_nodes(&mut self, sight: &Sight<'_>) {
        let Some(resource) = sight.snapshot.resource_named(&self.orders.resource) else { return };
        for node in self.freed() {
            if self.memory.emptied.contains(&node) {
                continue;
            }
            let steps = self.relocations().iter().zip(&self.facts).filter(|(_, facts)| facts.from == node);
            let mut all_left = true;
            let mut any = false;
            for (relocation, _) in steps {
                any = true;
                all_left &= left(relocation.eviction.phase);
            }
            if any && all_left && holders(sight.snapshot, &node, resource).is_empty() {
                self.memory.emptied.insert(node);
            }
        }
    }

    /// Takes the list of all pods.
    pub(super) fn list_answered(&mut self, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Cluster(snapshot) => {
                self.memory.worked("list");
                self.memory.verified = Some(Ok(self.measure(&snapshot)));
                self.memory.left_gated = self.gated_on(&snapshot);
                self.memory.came = self.came_instead(&snapshot);
            }
            answer => {
                if self.memory.again("list", wait_of(&answer), now) >= MOST_LISTS {
                    self.memory.verified = Some(Err(words(&answer)));
                }
            }
        }
    }

    /// Pods that wait at the run's gate.
    fn gated_on(&self, snapshot: &Snapshot) -> Vec<PodRef> {
        let symbol = |text: &str| snapshot.symbols.find(text);
        let (Some(gate), Some(key)) = (symbol(PLACEMENT_GATE), symbol(GATE_OWNER_ANNOTATION)) else {
            return Vec::new();
        };
        let tag = self.run.tag();
        let gated = snapshot.pods.iter().filter(|pod| {
            let owner = pod.details().annotations.get(key).map(|owner| snapshot.text(owner));
            snapshot.spec(pod.spec).gates.contains(&gate) && owner == Some(tag.as_str()) && !pod.terminating
        });
        let named = gated.map(|pod| PodRef {
            namespace: snapshot.namespace_name(pod.namespace).to_owned(),
            name: snapshot.text(pod.name).to_owned(),
            uid: snapshot.text(pod.uid).to_owned(),
        });
        named.filter(|pod| !self.memory.ungated.contains(&pod.uid)).collect()
    }

    /// Who came to the nodes that were chosen for replacements that are not bound, since the run began.
    fn came_instead(&self, snapshot: &Snapshot) -> Vec<String> {
        let Some(resource) = snapshot.resource_named(&self.orders.resource) else { return Vec::new() };
        let start = self.stored.start_time.as_deref().and_then(read).map_or(i64::MAX, Timestamp::as_second);
        let is_new = |pod: &Pod| {
            let uid = snapshot.text(pod.uid);
            match &self.memory.known {
                Some(known) => !known.contains(uid) || self.memory.unplaced.contains(uid),
                None => i64::from(pod.created) > start,
            }
        };
        let late = self.relocations().iter().filter(|r| is_late(r));
        let nodes = late.map(|r| r.placement.selected_node_name.as_ref().unwrap_or(&r.planned_node_name));
        let mut came = BTreeSet::new();
        for node in nodes.collect::<BTreeSet<_>>() {
            for at in holders(snapshot, node, resource) {
                let pod = snapshot.pod(at);
                let uid = Some(snapshot.text(pod.uid));
                let ours =
                    self.relocations().iter().any(|r| r.placement.replacement_pod_uid.as_deref() == uid);
                if ours || !is_new(pod) {
                    continue;
                }
                let who = match pod.group {
                    Some(group) => format!("PodGroup {}", snapshot.group_key(group)),
                    None => format!("pod {}", snapshot.pod_key(at)),
                };
                came.insert(format!("{who} came to node {node}"));
            }
        }
        came.into_iter().collect()
    }

    /// What the cluster says the run achieved.
    fn measure(&mut self, snapshot: &Snapshot) -> RunResult {
        let mut result = self.done_so_far();
        result.metrics_verified = true;
        let Some(resource) = snapshot.resource_named(&self.orders.resource) else { return result };
        let excess = Rate::of(snapshot, resource).exact();
        result.frag_after_percent = ExactRate::new(excess.excess, excess.providing).whole_percent();
        let ours: FxHashSet<&str> = self
            .relocations()
            .iter()
            .flat_map(|r| [Some(r.victim_pod_uid.as_str()), r.placement.replacement_pod_uid.as_deref()])
            .flatten()
            .collect();
        let mut held = Vec::new();
        for node in self.freed() {
            if snapshot.node_named(&node).is_none() && !self.memory.emptied.contains(&node) {
                held.push(format!("node {node} is gone"));
                continue;
            }
            let there = holders(snapshot, &node, resource);
            let Some(&first) = there.first() else {
                result.freed_nodes.push(node);
                continue;
            };
            let uid = |pod: PodIdx| snapshot.text(snapshot.pod(pod).uid);
            let of_ours = |pod: PodIdx| {
                let pod = snapshot.pod(pod);
                let group = pod.group.map(|group| snapshot.text(snapshot.groups[group.at()].name));
                let namespace = snapshot.namespace_name(pod.namespace);
                self.relocations()
                    .iter()
                    .any(|r| r.namespace == namespace && Some(r.pod_group_name.as_str()) == group)
            };
            let taken = self.memory.emptied.contains(&node)
                && !there.iter().any(|&pod| of_ours(pod) || ours.contains(uid(pod)));
            let pod = snapshot.pod(first);
            if taken {
                let group = pod.group.map(|group| snapshot.text(snapshot.groups[group.at()].name));
                result.taken_nodes.push(TakenNode {
                    node: node.clone(),
                    namespace: snapshot.namespace_name(pod.namespace).to_owned(),
                    pod_group_name: group.unwrap_or_default().to_owned(),
                });
                result.freed_nodes.push(node);
            } else {
                let emptying = there.iter().all(|&pod| snapshot.pod(pod).terminating);
                let what = if emptying { "is emptying, last" } else { "is held by" };
                held.push(format!("node {node} {what} {}", snapshot.pod_key(first)));
            }
        }
        result.freed_node_count = i64::try_from(result.freed_nodes.len()).unwrap_or(i64::MAX);
        self.memory.held = held;
        result
    }

    /// What was really evicted, without a look at the cluster.
    fn done_so_far(&self) -> RunResult {
        let cards = |phase: EvictionPhase| -> i64 {
            let of = self.relocations().iter().zip(&self.facts).filter(|(r, _)| r.eviction.phase == phase);
            of.map(|(_, facts)| facts.cards).sum()
        };
        let before = self.stored.plan.as_ref().map_or(0, |plan| plan.summary.frag_before_percent);
        RunResult {
            frag_after_percent: before,
            freed_node_count: 0,
            freed_nodes: Vec::new(),
            moved_card_count: cards(EvictionPhase::Accepted),
            metrics_verified: false,
            taken_nodes: Vec::new(),
            indirect_card_count: cards(EvictionPhase::IndirectlyRemoved),
        }
    }

    /// The status with which the run ends.
    pub(super) fn last_status(
        &self,
        verified: &Result<RunResult, String>,
        now: Timestamp,
    ) -> RepackRunStatus {
        let mut status = self.stored.clone();
        let result = verified.clone().unwrap_or_else(|_| self.done_so_far());
        let (reason, message) = self.conclusion(&result, verified.as_ref().err());
        for relocation in status.relocations.iter_mut().flatten() {
            let timed_out = reason == Reason::ExecutionTimedOut || reason == Reason::PlacementTimedOut;
            if timed_out && is_open(relocation) {
                relocation.placement.phase = PlacementPhase::TimedOut;
            }
        }
        let generation = status.conditions.iter().find_map(|condition| condition.observed_generation);
        let kind = match reason.phase() {
            Phase::Succeeded => ConditionType::Complete,
            _ => ConditionType::Failed,
        };
        let condition = |kind, status| Condition {
            kind,
            status,
            observed_generation: generation,
            last_transition_time: Some(written(now)),
            reason,
            message: message.clone(),
        };
        status.conditions = vec![
            condition(ConditionType::Progressing, ConditionStatus::False),
            condition(kind, ConditionStatus::True),
        ];
        status.phase = reason.phase();
        status.message.clone_from(&message);
        status.completion_time = Some(written(now));
        status.result = Some(result);
        status
    }

    fn conclusion(&self, result: &RunResult, fault: Option<&String>) -> (Reason, String) {
        let Ending { reason, because } =
            self.memory.ending.clone().unwrap_or(Ending { reason: None, because: String::new() });
        let all = self.relocations();
        let resource = &self.orders.resource;
        let done = self.done(result);
        if let Some(reason) = reason {
            let troubles = match self.troubles() {
                troubles if reason == Reason::ExecutionTimedOut && !troubles.is_empty() => {
                    format!(" ({})", listed(&troubles))
                }
                _ => String::new(),
            };
            return (reason, format!("Repack of {resource} ended because {because}{troubles}; {done}."));
        }
        if let Some(fault) = fault {
            let message = format!("The result for {resource} could not be verified: {fault}; {done}.");
            return (Reason::ResultVerificationFailed, message);
        }
        if !all.iter().any(|r| r.eviction.phase == EvictionPhase::Accepted) {
            let why = all.iter().map(|r| r.eviction.message.as_str()).find(|why| !why.is_empty());
            if let Some((reason, why)) = &self.memory.stop {
                return (*reason, format!("Nothing was moved for {resource}: {why}."));
            }
            let why = why.map(str::to_owned).or((!because.is_empty()).then_some(because));
            let why = why.unwrap_or_else(|| "no pod was left to evict".to_owned());
            return (Reason::EvictionFailed, format!("No eviction was accepted for {resource}: {why}."));
        }
        let late: Vec<String> = all
            .iter()
            .filter(|r| is_late(r))
            .map(|r| format!("{}/{}", r.namespace, r.victim_pod_name))
            .collect();
        if !late.is_empty() {
            let came = match self.memory.came.as_slice() {
                [] => String::new(),
                came => format!(" ({})", listed(came)),
            };
            let late = listed(&late);
            let message =
                format!("Replacements for {resource} were not bound in their window: {late}{came}; {done}.");
            return (Reason::PlacementTimedOut, message);
        }
        let planned = self.freed();
        let missing = planned.iter().filter(|node| !result.freed_nodes.contains(node)).count();
        if missing > 0 {
            let mut why: BTreeSet<String> = self.memory.held.iter().cloned().collect();
            let refused = all.iter().filter(|r| r.eviction.phase == EvictionPhase::Rejected);
            why.extend(refused.map(|r| {
                let words = &r.eviction.message;
                format!("pod {}/{} was not evicted ({words})", r.namespace, r.victim_pod_name)
            }));
            why.extend((!because.is_empty()).then_some(because));
            let why: Vec<String> = why.into_iter().collect();
            let message = format!(
                "{missing} of {} planned nodes for {resource} are not free: {}; {done}.",
                planned.len(),
                listed(&why)
            );
            return (Reason::BenefitNotRealized, message);
        }
        let elsewhere = all.iter().filter(|r| {
            r.placement.phase == PlacementPhase::Placed
                && r.placement.actual_node_name.as_ref() != Some(&r.planned_node_name)
        });
        let elsewhere = elsewhere.count();
        let before = self.stored.plan.as_ref().map_or(0, |plan| plan.summary.frag_before_percent);
        let pods = all.iter().filter(|r| r.placement.phase == PlacementPhase::Placed).count();
        let mut message = format!(
            "Repack succeeded for {resource}: all {pods} replacement {} scheduled and all {} planned {} verified free \
             [{}]; cluster fragmentation changed from {before}% to {}%.",
            if pods == 1 { "Pod was" } else { "Pods were" },
            planned.len(),
            if planned.len() == 1 { "node was" } else { "nodes were" },
            planned.join(", "),
            result.frag_after_percent,
        );
        if elsewhere == 0 {
            return (Reason::ExecutionCompleted, message);
        }
        message.pop();
        let _ = write!(message, "; {elsewhere} went to another node than planned.");
        (Reason::ExecutionCompletedWithAlternativePlacement, message)
    }

    /// What kept the run from getting on: what the server said of evictions, and replacements that found no place.
    fn troubles(&self) -> Vec<String> {
        let blocked = self.relocations().iter().filter_map(|r| {
            let words = self.memory.blocked.get(&r.victim_pod_uid)?;
            Some(format!("pod {}/{}: {words}", r.namespace, r.victim_pod_name))
        });
        let late = self.relocations().iter().filter(|r| is_late(r));
        let late =
            late.map(|r| format!("the replacement of {}/{} was not bound", r.namespace, r.victim_pod_name));
        blocked.chain(late).chain(self.memory.came.iter().cloned()).collect()
    }

    /// What was done, in a clause.
    fn done(&self, result: &RunResult) -> String {
        let all = self.relocations();
        let out = all.iter().filter(|r| left(r.eviction.phase)).count();
        let placed = all.iter().filter(|r| r.placement.phase == PlacementPhase::Placed).count();
        format!(
            "{out} of {} pods were moved out, {placed} replacements are placed, {} of {} planned nodes are free",
            all.len(),
            result.freed_nodes.len(),
            self.freed().len()
        )
    }

    /// The last reason, for an event, and whether somebody should look at it.
    pub(super) fn ended_with(&self) -> Option<(&'static str, bool)> {
        let last = self.stored.conditions.iter().rfind(|c| c.status == ConditionStatus::True)?;
        Some((last.reason.as_str(), self.stored.phase == Phase::Failed))
    }
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut text = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// A replacement that is not bound, in its window or after it.
const fn is_late(relocation: &Relocation) -> bool {
    is_open(relocation) || matches!(relocation.placement.phase, PlacementPhase::TimedOut)
}

/// Pods that hold the resource on a node.
fn holders(snapshot: &Snapshot, node: &str, resource: ResourceIdx) -> Vec<PodIdx> {
    let Some(node) = snapshot.node_named(node) else { return Vec::new() };
    let pods = snapshot.pods_on[node.at()].iter().copied();
    pods.filter(|&pod| snapshot.charged(pod, resource) > 0).collect()
}
