//! What a run is at, in its conditions and events while it works.
//!
//! May import: api

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};

use super::command::{About, Command, PodRef};
use super::journal::{is_open, left, written};
use super::machine::Execution;
use crate::api::{
    Condition, ConditionStatus, ConditionType, EvictionPhase, Phase, PlacementPhase, Reason, Relocation,
    RepackRunStatus,
};

/// Between two looks at why a replacement has no node: the reason is written into the status, and numbers in it change.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

impl Execution {
    /// Writes into the conditions what the run is at.
    pub(super) fn tell_stage(&mut self, status: &mut RepackRunStatus, evicting: bool, now: Timestamp) {
        let all = status.relocations.as_deref().unwrap_or_default();
        let count = |which: &dyn Fn(&Relocation) -> bool| all.iter().filter(|r| which(r)).count();
        let out = count(&|r| left(r.eviction.phase));
        let placed = count(&|r| r.placement.phase == PlacementPhase::Placed);
        let waiting = count(&|r| r.eviction.phase == EvictionPhase::Pending);
        let reason = if evicting { Reason::Evicting } else { Reason::ReconcilingPlacements };
        let mut message = format!("{out} of {} pods are out, {placed} replacements are placed", all.len());
        if waiting > 0 {
            let _ = write!(message, ", {waiting} evictions have not begun");
        }
        let unplaced = all.iter().filter(|relocation| is_open(relocation)).filter_map(|relocation| {
            let uid = relocation.placement.replacement_pod_uid.as_ref()?;
            self.memory.nowhere.get(uid)
        });
        let unplaced: Vec<&String> = unplaced.map(|(_, why)| why).collect();
        if let Some(first) = unplaced.first() {
            let _ = write!(message, ", {} wait for a node: {first}", unplaced.len());
        }
        message.push('.');
        let known = status.conditions.iter().find(|condition| condition.kind == ConditionType::Progressing);
        let was = known.map(|condition| condition.reason);
        let since = known
            .filter(|condition| condition.status == ConditionStatus::True)
            .and_then(|condition| condition.last_transition_time.clone());
        let condition = Condition {
            kind: ConditionType::Progressing,
            status: ConditionStatus::True,
            observed_generation: known.and_then(|condition| condition.observed_generation),
            last_transition_time: since.or_else(|| Some(written(now))),
            reason,
            message: message.clone(),
        };
        status.conditions.retain(|condition| condition.kind != ConditionType::Progressing);
        status.conditions.insert(0, condition);
        status.phase = Phase::Running;
        status.message = message;
        let told = || (String::new(), "ReconcilingPlacements");
        if was != Some(reason) && reason == Reason::ReconcilingPlacements && self.memory.told.insert(told()) {
            self.memory.events.push_back(Command::Tell {
                about: About::Run,
                reason: "ReconcilingPlacements",
                message: status.message.clone(),
                warning: false,
            });
        }
    }

    /// Whether it is time to say why a replacement has no node.
    pub(super) fn is_told_again(&self, uid: &str, now: Timestamp) -> bool {
        self.memory.nowhere.get(uid).is_none_or(|(at, _)| now >= *at + LOOK_AGAIN || now < *at)
    }

    /// A replacement has no node, and why.
    pub(super) fn tell_unplaced(&mut self, pod: &PodRef, why: &str, now: Timestamp) {
        let named = format!("{}/{}", pod.namespace, pod.name);
        let reason = "WaitingForNodeSelection";
        if self.memory.told.insert((pod.uid.clone(), reason)) {
            let message = format!("Replacement {named} waits at the gate, no node takes it: {why}.");
            self.memory.events.push_back(Command::Tell { about: About::Run, reason, message, warning: true });
        }
        self.memory.nowhere.insert(pod.uid.clone(), (now, format!("{named} ({why})")));
    }
}
