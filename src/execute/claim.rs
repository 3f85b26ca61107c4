//! Which pod replaces which victim.
//!
//! In this order: the one that was recorded, one of the victim's name, one that asks a node for the same, any of a group
//! whose victims all asked for the same. Only pods of the victim's group, or of the one that took its place, that were
//! not there when the plan was made.
//!
//! May import: api, snapshot

use rustc_hash::FxHashSet;

use super::barrier::group_named;
use super::journal::{is_open, read};
use super::machine::Execution;
use super::seen::{Seen, Sight};
use crate::api::{EvictionPhase, PlacementPhase, Relocation};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, OwnerIdx, OwnerObject, PodIdx};

impl Execution {
    /// Finds the replacements of relocations that wait for one. True when one of them came without the gate.
    pub(super) fn claim(&self, all: &mut [Relocation], sight: &Sight<'_>) -> bool {
        let waits = |r: &Relocation| is_open(r) && r.placement.phase == PlacementPhase::WaitingForReplacement;
        if !all.iter().any(waits) {
            return false;
        }
        let mut ungated = false;
        let mut taken: FxHashSet<String> = all.iter().map(|r| r.victim_pod_uid.clone()).collect();
        taken.extend(all.iter().filter_map(|r| r.placement.replacement_pod_uid.clone()));
        for how in [Match::Name, Match::Requirements, Match::Group] {
            for at in 0..all.len() {
                if !waits(&all[at]) {
                    continue;
                }
                if how == Match::Group && !homogeneous(all, at) {
                    continue;
                }
                let found = self.newcomers(&all[at], &self.facts[at].owner, sight).into_iter().find(|seen| {
                    !taken.contains(&seen.at.uid)
                        && match how {
                            Match::Name => seen.at.name == all[at].victim_pod_name,
                            Match::Requirements => seen.requirements == all[at].scheduling_requirements_hash,
                            Match::Group => true,
                        }
                });
                let Some(seen) = found else { continue };
                ungated |= !seen.is_gated();
                taken.insert(seen.at.uid.clone());
                let group = group_of(sight, &seen);
                let relocation = &mut all[at];
                if group.as_ref().is_some_and(|group| *group != relocation.pod_group_name) {
                    relocation.replacement_pod_group_name = group;
                }
                relocation.placement.phase = PlacementPhase::WaitingForNodeSelection;
                relocation.placement.replacement_pod_name = Some(seen.at.name);
                relocation.placement.replacement_pod_uid = Some(seen.at.uid);
            }
        }
        ungated
    }

    /// Pods that may replace a victim, oldest first.
    fn newcomers(&self, relocation: &Relocation, owner: &(String, String), sight: &Sight<'_>) -> Vec<Seen> {
        let snapshot = sight.snapshot;
        let names =
            [Some(relocation.pod_group_name.as_str()), relocation.replacement_pod_group_name.as_deref()];
        let groups = names.into_iter().flatten();
        let groups = groups.filter_map(|name| group_named(snapshot, &relocation.namespace, name));
        let mut pods: Vec<PodIdx> =
            groups.flat_map(|group| snapshot.groups[group.at()].pods.iter().copied()).collect();
        // A controller that makes a new group names its pods as before; one that was made anew itself has a new group.
        let own = group_named(snapshot, &relocation.namespace, &relocation.pod_group_name);
        pods.extend(Self::pods_of_owner(relocation, owner, sight).filter(|&pod| {
            let of_another = snapshot.pod(pod).group != own && own.is_none_or(|own| emptied(snapshot, own));
            of_another || snapshot.pod_name(pod) == relocation.victim_pod_name
        }));
        pods.sort_unstable();
        pods.dedup();
        pods.sort_by(|&a, &b| {
            let key = |pod: PodIdx| (snapshot.pod(pod).created, snapshot.pod_name(pod));
            key(a).cmp(&key(b))
        });
        let seen = pods.into_iter().filter_map(|pod| sight.seen(pod).map(|seen| (pod, seen)));
        let new = seen.filter(|(pod, seen)| {
            // What was let go as a scale-out is no replacement of anybody.
            let let_go = self.memory.ungated.contains(&seen.at.uid);
            !seen.terminating && !seen.finished && !let_go && self.is_new(relocation, *pod, seen, sight)
        });
        new.map(|(_, seen)| seen).collect()
    }

    /// The pod was not there when the plan was made.
    fn is_new(&self, relocation: &Relocation, pod: PodIdx, seen: &Seen, sight: &Sight<'_>) -> bool {
        if seen.gate_owner == self.run.tag() {
            return true;
        }
        if seen.at.name == relocation.victim_pod_name {
            return seen.at.uid != relocation.victim_pod_uid;
        }
        if let Some(known) = &self.memory.known {
            return !known.contains(&seen.at.uid);
        }
        let start = self.stored.start_time.as_deref().and_then(read);
        start.is_some_and(|start| i64::from(sight.snapshot.pod(pod).created) > start.as_second())
    }

    /// The owner of a victim's group, by kind and name.
    pub(super) fn owner_of(
        relocation: &Relocation,
        owner: &(String, String),
        sight: &Sight<'_>,
    ) -> Option<OwnerIdx> {
        let snapshot = sight.snapshot;
        let is_it = |facts: &crate::snapshot::model::Owner| {
            snapshot.namespace_name(facts.namespace) == relocation.namespace
                && snapshot.text(facts.kind) == owner.0
                && snapshot.text(facts.name) == owner.1
        };
        (!owner.1.is_empty()).then(|| snapshot.owners.iter().position(is_it).map(OwnerIdx::new)).flatten()
    }

    fn pods_of_owner<'a>(
        relocation: &Relocation,
        owner: &(String, String),
        sight: &'a Sight<'_>,
    ) -> impl Iterator<Item = PodIdx> + use<'a> {
        let owner = Self::owner_of(relocation, owner, sight);
        owner.into_iter().flat_map(|owner| sight.snapshot.owners[owner.at()].pods.iter().copied())
    }

    /// No replacement comes: the owner is gone, going, finished, or has all the pods it wants.
    pub(super) fn is_not_needed(&self, relocation: &Relocation, at: usize, sight: &Sight<'_>) -> bool {
        let snapshot = sight.snapshot;
        let facts = &self.facts[at];
        let Some(owner) = Self::owner_of(relocation, &facts.owner, sight) else {
            // Nothing refers to the owner any more.
            let (kind, name) = &facts.owner;
            return snapshot.lacks_workload(&facts.owner_api, kind, &relocation.namespace, name);
        };
        let owner = &snapshot.owners[owner.at()];
        let workload = match owner.object {
            OwnerObject::Present(workload) => &snapshot.workloads[workload.at()],
            OwnerObject::Gone => return true,
            OwnerObject::NotRead | OwnerObject::Refused => return false,
        };
        let living = owner.pods.iter().filter(|&&pod| {
            let pod = snapshot.pod(pod);
            !pod.terminating && !pod.phase.is_finished()
        });
        // The victim itself must not be among them.
        let gone = sight.same(&super::evict::victim(relocation)).is_none_or(|seen| seen.terminating);
        let enough = workload
            .replicas
            .is_some_and(|wanted| i64::try_from(living.count()).unwrap_or(i64::MAX) >= wanted);
        workload.deleting || workload.suspended || gone && enough
    }

    /// Gated pods of the run that replace nothing: the run let them in and has no use for them.
    pub(super) fn unclaimed(&self, sight: &Sight<'_>) -> Vec<Seen> {
        let tag = self.run.tag();
        let all = self.relocations();
        let claimed: FxHashSet<&str> =
            all.iter().filter_map(|r| r.placement.replacement_pod_uid.as_deref()).collect();
        let expects = |seen: &Seen| {
            all.iter().any(|r| {
                let unanswered = r.eviction.phase == EvictionPhase::InProgress;
                let waits = is_open(r) && r.placement.replacement_pod_uid.is_none();
                r.namespace == seen.at.namespace && (unanswered || waits)
            })
        };
        let gated = gated_pods(sight).filter(|seen| {
            seen.gate_owner == tag
                && !claimed.contains(seen.at.uid.as_str())
                && !self.memory.ungated.contains(&seen.at.uid)
        });
        gated.filter(|seen| !expects(seen)).collect()
    }
}

/// By what a pod is recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Name,
    Requirements,
    Group,
}

/// No pod of the group stays.
fn emptied(snapshot: &Snapshot, group: GroupIdx) -> bool {
    let stays = |&pod: &PodIdx| {
        let pod = snapshot.pod(pod);
        !pod.terminating && !pod.phase.is_finished()
    };
    !snapshot.groups[group.at()].pods.iter().any(stays)
}

/// All victims of the group asked for the same.
fn homogeneous(all: &[Relocation], at: usize) -> bool {
    let mine = &all[at];
    all.iter()
        .filter(|r| r.namespace == mine.namespace && r.pod_group_name == mine.pod_group_name)
        .all(|r| r.scheduling_requirements_hash == mine.scheduling_requirements_hash)
}

/// The name of the group of a pod.
fn group_of(sight: &Sight<'_>, seen: &Seen) -> Option<String> {
    let snapshot = sight.snapshot;
    let pod = pod_named(sight, &seen.at.namespace, &seen.at.name)?;
    snapshot.pod(pod).group.map(|group| snapshot.text(snapshot.groups[group.at()].name).to_owned())
}

/// The pod of that name in the model.
pub(super) fn pod_named(sight: &Sight<'_>, namespace: &str, name: &str) -> Option<PodIdx> {
    let snapshot = sight.snapshot;
    let name = snapshot.symbols.find(name)?;
    let is_it = |pod: &crate::snapshot::model::Pod| {
        pod.name == name && snapshot.namespace_name(pod.namespace) == namespace
    };
    snapshot.pods.iter().position(is_it).map(PodIdx::new)
}

/// All pods with our gate.
pub(super) fn gated_pods<'a>(sight: &'a Sight<'_>) -> impl Iterator<Item = Seen> + use<'a> {
    let snapshot = sight.snapshot;
    let gate = snapshot.symbols.find(crate::api::names::PLACEMENT_GATE);
    let pods = snapshot
        .pods
        .iter()
        .enumerate()
        .filter(move |(_, pod)| gate.is_some_and(|gate| snapshot.spec(pod.spec).gates.contains(&gate)));
    pods.filter_map(|(at, _)| sight.seen(PodIdx::new(at))).filter(Seen::is_gated)
}
