//! Replacements: recognised, given a node, nominated while the gate holds them, let go when there is room, followed
//! until they are bound.
//!
//! May import: api, snapshot, filter

use jiff::{SignedDuration, Timestamp};

use super::barrier::group_named;
use super::claim::pod_named;
use super::command::{About, Answer, Command, PodRef, Refusal};
use super::evict::victim;
use super::journal::{is_closed, is_open, left, read};
use super::machine::{Execution, wait_of, words};
use super::node_choice::Rooms;
use super::seen::{Seen, Sight};
use crate::api::{EvictionPhase, PlacementPhase, Reason, Relocation};

/// So long an owner that is gone may be on its way back.
const MADE_ANEW: SignedDuration = SignedDuration::from_secs(10);
/// A node without the resource is taken only this short before the pod is let go anyway.
const LAST_CHANCE: SignedDuration = SignedDuration::from_secs(60);

impl Execution {
    /// Takes what became of replacements into the record.
    pub(super) fn follow_placements(&mut self, all: &mut [Relocation], sight: &Sight<'_>, now: Timestamp) {
        for relocation in all.iter_mut().filter(|relocation| is_open(relocation)) {
            self.follow(relocation, sight, now);
        }
        if self.claim(all, sight) {
            self.doubt_the_gates();
        }
        for (at, relocation) in all.iter_mut().enumerate() {
            let waits =
                is_open(relocation) && relocation.placement.phase == PlacementPhase::WaitingForReplacement;
            if waits && self.stays_unneeded(relocation, at, sight, now) {
                relocation.placement.phase = PlacementPhase::NotNeeded;
            } else if waits && is_expired(relocation, now) {
                relocation.placement.phase = PlacementPhase::TimedOut;
            }
        }
        self.choose_nodes(all, sight, now);
    }

    /// Whether no replacement comes, and that has been so for a while: a controller above it may make an owner anew, and
    /// caches tell of what belongs together one by one.
    fn stays_unneeded(
        &mut self,
        relocation: &Relocation,
        at: usize,
        sight: &Sight<'_>,
        now: Timestamp,
    ) -> bool {
        // Once no pod refers to the owner, nothing speaks against what was seen last.
        let unheard = self.memory.unneeded.contains_key(&relocation.victim_pod_uid)
            && Self::owner_of(relocation, &self.facts[at].owner, sight).is_none();
        if !unheard && !self.is_not_needed(relocation, at, sight) {
            self.memory.unneeded.remove(&relocation.victim_pod_uid);
            return false;
        }
        let since = *self.memory.unneeded.entry(relocation.victim_pod_uid.clone()).or_insert(now);
        now >= since + MADE_ANEW
    }

    fn follow(&mut self, relocation: &mut Relocation, sight: &Sight<'_>, now: Timestamp) {
        let Some(pod) = replacement(relocation) else { return };
        let placement = &mut relocation.placement;
        let Some(seen) = sight.same(&pod).filter(|seen| !seen.terminating || seen.is_bound()) else {
            // Deleted before it was bound: its controller makes another.
            placement.phase = PlacementPhase::WaitingForReplacement;
            placement.selected_node_name = None;
            placement.replacement_pod_name = None;
            placement.replacement_pod_uid = None;
            return;
        };
        if seen.is_bound() {
            if self.orders.require_ready && !seen.ready && !is_expired(relocation, now) {
                return;
            }
            let late = self.orders.require_ready && !seen.ready || self.memory.expired.contains(&pod.uid);
            let placement = &mut relocation.placement;
            placement.phase = if late { PlacementPhase::TimedOut } else { PlacementPhase::Placed };
            placement.actual_node_name = Some(seen.node.clone());
            self.tell_placed(relocation, &pod, &seen.node);
            return;
        }
        let selected = placement.selected_node_name.clone();
        if placement.phase == PlacementPhase::WaitingForNodeSelection
            && selected.is_some_and(|node| self.is_nominated(&seen, &node))
        {
            placement.phase = PlacementPhase::Nominated;
        }
        if is_expired(relocation, now) && self.is_released(&seen) {
            relocation.placement.phase = PlacementPhase::TimedOut;
            self.tell(
                &pod,
                "RepackPlacementReleased",
                "Not bound in its window; it may go anywhere now.",
                true,
            );
        }
    }

    /// Chooses nodes for replacements that have none, or whose node does not take them any more.
    fn choose_nodes(&mut self, all: &mut [Relocation], sight: &Sight<'_>, now: Timestamp) {
        let mut rooms = None;
        for at in 0..all.len() {
            if !is_open(&all[at]) || is_expired(&all[at], now) {
                continue;
            }
            let Some(pod) = replacement(&all[at]) else { continue };
            let Some(seen) = sight.same(&pod).filter(|seen| !seen.is_bound()) else { continue };
            let Some(index) = pod_named(sight, &pod.namespace, &pod.name) else { continue };
            // Let go and under way: it is asked about again only when the scheduler says that it found nothing.
            let under_way = !seen.is_gated() || self.memory.ungated.contains(&pod.uid);
            if under_way && all[at].placement.selected_node_name.is_some() && !seen.unschedulable {
                continue;
            }
            let freed = self.freed();
            let rooms = rooms.get_or_insert_with(|| Rooms::new(sight, &self.orders, all, &freed));
            let expires = read(&all[at].placement.expiration_time);
            let last = expires.is_some_and(|expires| now + LAST_CHANCE >= expires);
            let chosen = rooms.choose(sight, &all[at], index, last);
            let chosen = chosen.map(|node| sight.snapshot.node_name(node).to_owned());
            let before = all[at].placement.selected_node_name.clone();
            if chosen.is_none() && self.is_told_again(&pod.uid, now) {
                let why = rooms.why_not(sight, &all[at], index, last);
                self.tell_unplaced(&pod, &why, now);
            }
            if chosen.is_some() {
                self.memory.nowhere.remove(&pod.uid);
            }
            if chosen.is_none() || chosen == before {
                continue;
            }
            rooms.keep(sight, &all[at], false);
            all[at].placement.selected_node_name.clone_from(&chosen);
            rooms.keep(sight, &all[at], true);
            self.memory.nominated.remove(&pod.uid);
            self.memory.confirmed.remove(&pod.uid);
        }
    }

    /// The next request for a replacement.
    pub(super) fn place(&mut self, sight: &Sight<'_>, now: Timestamp) -> Option<Command> {
        let all = self.relocations();
        let mut rooms = None;
        let mut expired = None;
        for relocation in all.iter().filter(|relocation| is_open(relocation)) {
            let Some(pod) = replacement(relocation) else { continue };
            let Some(seen) = sight.same(&pod).filter(|seen| !seen.is_bound() && !seen.terminating) else {
                continue;
            };
            if !self.memory.may(&pod.uid, now) {
                continue;
            }
            if is_expired(relocation, now) {
                if let Some(command) = self.release(&seen) {
                    expired = Some((pod.uid.clone(), command));
                    break;
                }
                continue;
            }
            let Some(node) = relocation.placement.selected_node_name.clone() else { continue };
            if seen.nominated != node && self.memory.nominated.get(&pod.uid) != Some(&node) {
                return Some(Command::Nominate { pod, node: Some(node) });
            }
            if !self.is_nominated(&seen, &node) {
                return Some(Command::ReadPod(pod));
            }
            let held = seen.is_gated() && !self.memory.ungated.contains(&pod.uid);
            if held && relocation.placement.phase == PlacementPhase::Nominated {
                let freed = self.freed();
                let rooms = rooms.get_or_insert_with(|| Rooms::new(sight, &self.orders, all, &freed));
                if self.may_go(relocation, rooms, sight) {
                    return Some(Command::Ungate(pod));
                }
            }
        }
        if let Some((uid, command)) = expired {
            self.memory.expired.insert(uid);
            return Some(command);
        }
        self.let_go(sight, now)
    }

    /// The gate opens when the scheduler would bind the pod at once, and a group that lacks members gets enough of them
    /// together to reach its minimum.
    fn may_go(&self, relocation: &Relocation, rooms: &mut Rooms<'_>, sight: &Sight<'_>) -> bool {
        let mut ready = |relocation: &Relocation| {
            let placement = &relocation.placement;
            let pod = placement.replacement_pod_name.as_deref();
            let pod = pod.and_then(|name| pod_named(sight, &relocation.namespace, name));
            let node = placement.selected_node_name.as_deref().and_then(|n| sight.snapshot.node_named(n));
            placement.phase == PlacementPhase::Nominated
                && pod.zip(node).is_some_and(|(pod, node)| rooms.is_ready(sight, relocation, pod, node))
        };
        if !ready(relocation) {
            return false;
        }
        let name = relocation.replacement_pod_group_name.as_ref().unwrap_or(&relocation.pod_group_name);
        let Some(group) = group_named(sight.snapshot, &relocation.namespace, name) else { return true };
        let group = &sight.snapshot.groups[group.at()];
        let stands = |pod: &&crate::snapshot::model::PodIdx| {
            let pod = sight.snapshot.pod(**pod);
            pod.stands() && !pod.terminating
        };
        let running = i64::try_from(group.pods.iter().filter(stands).count()).unwrap_or(i64::MAX);
        if running >= group.min_member {
            return true;
        }
        let of_group = self.relocations().iter().filter(|other| {
            let theirs = other.replacement_pod_group_name.as_ref().unwrap_or(&other.pod_group_name);
            is_open(other) && other.namespace == relocation.namespace && theirs == name
        });
        let coming = i64::try_from(of_group.filter(|other| ready(other)).count()).unwrap_or(i64::MAX);
        running + coming >= group.min_member || self.nobody_else_comes(relocation, name)
    }

    /// No other member of the group is on its way by this run.
    fn nobody_else_comes(&self, relocation: &Relocation, group: &str) -> bool {
        !self.relocations().iter().any(|other| {
            let theirs = other.replacement_pod_group_name.as_deref().unwrap_or(&other.pod_group_name);
            is_open(other)
                && other.victim_pod_uid != relocation.victim_pod_uid
                && other.namespace == relocation.namespace
                && theirs == group
                && other.placement.phase != PlacementPhase::Nominated
        })
    }

    fn is_nominated(&self, seen: &Seen, node: &str) -> bool {
        seen.nominated == node || self.memory.confirmed.get(&seen.at.uid).is_some_and(|known| known == node)
    }

    /// Nothing of ours holds or steers the pod any more.
    pub(super) fn is_released(&self, seen: &Seen) -> bool {
        (seen.nominated.is_empty() || self.memory.released.contains(&seen.at.uid))
            && (!seen.is_gated() || self.memory.ungated.contains(&seen.at.uid))
    }

    /// The next step towards that.
    pub(super) fn release(&self, seen: &Seen) -> Option<Command> {
        if !seen.nominated.is_empty() && !self.memory.released.contains(&seen.at.uid) {
            return Some(Command::Nominate { pod: seen.at.clone(), node: None });
        }
        let held = seen.is_gated() && !self.memory.ungated.contains(&seen.at.uid);
        held.then(|| Command::Ungate(seen.at.clone()))
    }

    /// Takes the answer to a nomination or to the removal of a gate.
    pub(super) fn placing_answered(&mut self, command: &Command, answer: &Answer, now: Timestamp) {
        let (Command::Nominate { pod, .. } | Command::Ungate(pod)) = command else { return };
        // A pod that is gone, or has no such gate any more, needs nothing.
        let over = matches!(answer, Answer::Refused(Refusal { code: 400 | 404 | 422, .. }));
        if !matches!(answer, Answer::Done) && !over {
            if matches!(answer, Answer::Refused(Refusal { code: 403, .. })) && self.memory.stop.is_none() {
                // Whoever comes next would wait at the gate as well.
                let why = format!("cannot {}: {}", command.what(), words(answer));
                self.memory.stop = Some((Reason::ExecutionPreparationFailed, why));
            }
            self.memory.again(&pod.uid, wait_of(answer), now);
            return;
        }
        self.memory.worked(&pod.uid);
        match command {
            Command::Nominate { node: Some(node), .. } => {
                self.memory.nominated.insert(pod.uid.clone(), node.clone());
                if over {
                    // Looked at again before anything else is tried.
                    self.memory.again(&pod.uid, None, now);
                } else {
                    let message = format!("Nominated to node {node}.");
                    self.tell(pod, "RepackPlacementNominated", &message, false);
                }
            }
            Command::Nominate { node: None, .. } => {
                self.memory.released.insert(pod.uid.clone());
            }
            _ => {
                self.memory.ungated.insert(pod.uid.clone());
            }
        }
    }

    /// Takes what a pod is read as: a victim before its eviction, a replacement after its nomination.
    pub(super) fn pod_answered(&mut self, pod: &PodRef, answer: Answer, now: Timestamp) {
        if self.relocations().iter().any(|relocation| relocation.victim_pod_uid == pod.uid) {
            self.victim_read(pod, answer, now);
            return;
        }
        match answer {
            Answer::Pod(Some(seen)) if seen.at.uid == pod.uid => {
                if !seen.nominated.is_empty() && self.memory.nominated.get(&pod.uid) == Some(&seen.nominated)
                {
                    self.memory.confirmed.insert(pod.uid.clone(), seen.nominated);
                    self.memory.worked(&pod.uid);
                } else {
                    // Bound meanwhile, or somebody else wrote: the cluster's state will tell.
                    self.memory.nominated.remove(&pod.uid);
                    self.memory.again(&pod.uid, None, now);
                }
            }
            answer => {
                self.memory.again(&pod.uid, wait_of(&answer), now);
            }
        }
    }

    fn tell_placed(&mut self, relocation: &Relocation, pod: &PodRef, node: &str) {
        let as_planned = relocation.planned_node_name == node;
        let (reason, message) = if as_planned {
            ("RepackPlacementSucceeded", format!("Bound to node {node} as planned."))
        } else {
            let planned = &relocation.planned_node_name;
            ("RepackAlternativePlacement", format!("Bound to node {node}; planned was {planned}."))
        };
        self.tell(pod, reason, &message, false);
    }

    pub(super) fn tell(&mut self, pod: &PodRef, reason: &'static str, message: &str, warning: bool) {
        // A transition may be worked out again before it is stored.
        let about = About::Pod(pod.clone());
        let event = Command::Tell { about, reason, message: message.to_owned(), warning };
        if !self.memory.events.contains(&event) && self.memory.told.insert((pod.uid.clone(), reason)) {
            self.memory.events.push_back(event);
        }
    }

    /// Every evicted pod is gone.
    pub(super) fn all_gone(&self, sight: &Sight<'_>) -> bool {
        let evicted = self.relocations().iter().filter(|relocation| left(relocation.eviction.phase));
        evicted.into_iter().all(|relocation| sight.same(&victim(relocation)).is_none())
    }

    /// Nothing moves any more: no eviction to come, no placement open.
    pub(super) fn all_closed(&self) -> bool {
        self.relocations().iter().enumerate().all(|(at, relocation)| match relocation.eviction.phase {
            EvictionPhase::InProgress => false,
            EvictionPhase::Pending => self.memory.stop.is_some() || self.is_orphan(at),
            EvictionPhase::Accepted | EvictionPhase::IndirectlyRemoved => {
                is_closed(relocation.placement.phase)
            }
            EvictionPhase::Rejected => true,
        })
    }

    /// A pod that was to be taken along and is not, although everything else of its node is over.
    fn is_orphan(&self, at: usize) -> bool {
        self.facts[at].cascade
            && self.relocations().iter().enumerate().all(|(other, relocation)| {
                self.facts[other].cascade
                    || !matches!(
                        relocation.eviction.phase,
                        EvictionPhase::Pending | EvictionPhase::InProgress
                    ) && (is_closed(relocation.placement.phase) || !left(relocation.eviction.phase))
            })
    }
}

/// The replacement that a relocation has recorded.
pub(super) fn replacement(relocation: &Relocation) -> Option<PodRef> {
    Some(PodRef {
        namespace: relocation.namespace.clone(),
        name: relocation.placement.replacement_pod_name.clone()?,
        uid: relocation.placement.replacement_pod_uid.clone()?,
    })
}

fn is_expired(relocation: &Relocation, now: Timestamp) -> bool {
    read(&relocation.placement.expiration_time).is_some_and(|expires| now >= expires)
}
