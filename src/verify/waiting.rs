//! Room that no move may take: of waiting pods that the scheduler could bind now, and of pods that will replace
//! terminating ones.
//!
//! Waiting pods are gone through again in the scheduler's order, highest priority, then oldest, then name, the pods of
//! a group together: what the plan lists is put where it says, what it does not list must find no place then. A
//! replacement that a controller makes only when a terminating pod is gone needs room where its node is emptied,
//! does not take it back, or holds less of it now. In the end there is room at the listed place, all moves done.
//!
//! Left open: groups of unlike pods or with rules beyond room that the plan does not list, and rules beyond room of
//! replacements that nobody moves.
//!
//! May import: snapshot, filter, `plan::types`, `plan::request`

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::reaction;
use crate::filter::{Change, Incoming, Prepared, SchedulerRules, State, Tenant};
use crate::plan::types::Reserved;
use crate::snapshot::model::{GroupIdx, NodeIdx, OwnerIdx, Phase, PodIdx, SpecIdx};
use crate::snapshot::view::object::Kind;

/// The plan's rooms of waiting pods.
pub(super) type Listed = BTreeMap<PodIdx, NodeIdx>;

/// All checks of this file but [`in_the_end`]. `state` is the live cluster, and again afterwards.
pub(super) fn check(facts: &Facts<'_>, state: &mut State<'_>, findings: &mut Vec<Finding>) {
    findings.extend(facts.plan.reserved.iter().filter_map(|room| for_somebody(facts, room)));
    let start = state.checkpoint();
    let listed = listed(facts);
    let mut hopeless = Hopeless::new();
    for turn in turns(facts) {
        findings.extend(replay(facts, state, &listed, &turn, &mut hopeless));
    }
    findings.extend(replacements(facts, state));
    state.rollback(start);
}

fn about(check: Check, pod: PodIdx, text: impl Into<String>) -> Finding {
    Finding::new(check, Subject::Pod(pod), text)
}

/// Rooms of waiting pods.
pub(super) fn listed(facts: &Facts<'_>) -> Listed {
    facts.plan.reserved.iter().filter(|room| !room.replaces).map(|room| (room.pod, room.node)).collect()
}

/// What takes the room.
pub(super) fn incoming(facts: &Facts<'_>, room: &Reserved) -> Incoming {
    if room.replaces {
        Incoming::replacement(facts.snapshot, room.pod)
    } else {
        Incoming::pending(facts.snapshot, room.pod)
    }
}

/// Not bound, not gated, not leaving, and not only asked about.
fn waits(facts: &Facts<'_>, at: PodIdx) -> bool {
    let (snapshot, pod) = (facts.snapshot, facts.snapshot.pod(at));
    pod.phase == Phase::Pending
        && pod.node.is_none()
        && !(pod.lost || pod.terminating)
        && snapshot.spec(pod.spec).gates.is_empty()
        && snapshot.candidates.binary_search(&at).is_err()
}

fn for_somebody(facts: &Facts<'_>, room: &Reserved) -> Option<Finding> {
    let pod = facts.snapshot.pod(room.pod);
    let right = if room.replaces { pod.terminating && pod.stands() } else { waits(facts, room.pod) };
    if !right {
        return Some(about(Check::RoomForNobody, room.pod, "gets room and neither waits nor comes back"));
    }
    let coming = facts.snapshot.spec(incoming(facts, room).spec).requests;
    let cards = facts.snapshot.requests(coming).get(facts.plan.resource);
    (cards > 0 && facts.freed.contains(&room.node)).then(|| {
        let node = facts.snapshot.node_name(room.node);
        about(Check::RoomOnFreedNode, room.pod, format!("gets room on {node}, which is freed"))
    })
}

/// Waiting pods in the order in which they are tried, those of a group together.
pub(super) fn turns(facts: &Facts<'_>) -> Vec<Vec<PodIdx>> {
    let snapshot = facts.snapshot;
    let mut pods: Vec<PodIdx> =
        (0..snapshot.pods.len()).map(PodIdx::new).filter(|&pod| waits(facts, pod)).collect();
    pods.sort_by_key(|&at| {
        let pod = snapshot.pod(at);
        (Reverse(snapshot.spec(pod.spec).priority), pod.created == 0, pod.created, at)
    });
    let mut turns: Vec<Vec<PodIdx>> = Vec::new();
    let mut turn_of: BTreeMap<GroupIdx, usize> = BTreeMap::new();
    for pod in pods {
        let Some(group) = snapshot.pod(pod).group else {
            turns.push(vec![pod]);
            continue;
        };
        let turn = *turn_of.entry(group).or_insert_with(|| {
            turns.push(Vec::new());
            turns.len() - 1
        });
        turns[turn].push(pod);
    }
    turns
}

/// How many of the waiting members of a pod's group have to find room; a pod without a group by itself.
pub(super) fn needed(facts: &Facts<'_>, pod: PodIdx) -> usize {
    let Some(group) = facts.snapshot.pod(pod).group else { return 1 };
    let counts = |pod: &&PodIdx| {
        let pod = facts.snapshot.pod(**pod);
        pod.phase == Phase::Succeeded || (pod.stands() && !pod.terminating)
    };
    let ready = facts.members(group).iter().filter(counts).count();
    usize::try_from(facts.snapshot.groups[group.at()].min_member).unwrap_or(0).saturating_sub(ready)
}

/// Puts the listed pods of a turn where the plan says and asks about the others.
fn replay(
    facts: &Facts<'_>,
    state: &mut State<'_>,
    listed: &Listed,
    turn: &[PodIdx],
    hopeless: &mut Hopeless,
) -> Vec<Finding> {
    let (with, without): (Vec<PodIdx>, Vec<PodIdx>) = turn.iter().partition(|pod| listed.contains_key(pod));
    for &pod in &with {
        let (incoming, node) = (Incoming::pending(facts.snapshot, pod), listed[&pod]);
        // Volcano keeps the room of a nomination that does not fit yet.
        let promised = facts.snapshot.pod(pod).nominated == Some(node)
            && state.rules_of(incoming.spec) == Some(SchedulerRules::Volcano);
        let fits = state.rules_of(incoming.spec).is_some() && Prepared::new(state, incoming).fits(node);
        if !(fits || promised) {
            let node = facts.snapshot.node_name(node);
            return vec![about(Check::RoomTaken, pod, format!("finds no room on {node} at its turn"))];
        }
        state.place(incoming, node);
    }
    let needed = needed(facts, turn[0]);
    if !with.is_empty() && with.len() < needed {
        let text = format!("{} of its group get room, {needed} are needed", with.len());
        return vec![about(Check::RoomForPartOfGroup, with[0], text)];
    }
    let more = needed.saturating_sub(with.len()).max(1);
    if !(turn.len() == 1 || is_uniform(facts, state, &without)) {
        return Vec::new();
    }
    let fit = how_many(facts, state, &without, more, hopeless);
    let finding = || {
        let text =
            format!("the scheduler could bind {fit} of its group now, and the plan leaves them no room");
        about(Check::WaitingWithoutRoom, without[0], text)
    };
    (!without.is_empty() && fit >= more).then(finding).into_iter().collect()
}

/// Pods of one spec that nothing but room and the fixed rules of nodes decides about.
fn is_uniform(facts: &Facts<'_>, state: &State<'_>, pods: &[PodIdx]) -> bool {
    let specs: BTreeSet<_> = pods.iter().map(|&pod| facts.snapshot.pod(pod).spec).collect();
    let plain = |pod: PodIdx| Prepared::new(state, Incoming::pending(facts.snapshot, pod)).is_plain();
    specs.len() < 2 && pods.iter().all(|&pod| plain(pod))
}

/// Specs that only room decides about and that no node takes, as long as room only shrinks.
pub(super) type Hopeless = BTreeSet<SpecIdx>;

/// How many of these pods find a node one after the other, at most `most`. The state is as before afterwards.
pub(super) fn how_many(
    facts: &Facts<'_>,
    state: &mut State<'_>,
    pods: &[PodIdx],
    most: usize,
    hopeless: &mut Hopeless,
) -> usize {
    let start = state.checkpoint();
    let (mut count, mut full) = (0, Hopeless::new());
    for &pod in pods {
        let incoming = Incoming::pending(facts.snapshot, pod);
        if hopeless.contains(&incoming.spec) || full.contains(&incoming.spec) {
            continue;
        }
        let Some(node) = somewhere(facts, state, incoming) else {
            if is_uniform(facts, state, &[pod]) {
                full.insert(incoming.spec);
                hopeless.extend((count == 0).then_some(incoming.spec));
            }
            continue;
        };
        state.place(incoming, node);
        count += 1;
        if count == most {
            break;
        }
    }
    state.rollback(start);
    count
}

/// The first node that takes the pod.
fn somewhere(facts: &Facts<'_>, state: &State<'_>, incoming: Incoming) -> Option<NodeIdx> {
    state.rules_of(incoming.spec)?;
    let prepared = Prepared::new(state, incoming);
    (0..facts.snapshot.nodes.len()).map(NodeIdx::new).find(|&node| prepared.fits(node))
}

/// Terminating pods that come back and whose replacement finds its node emptied, or closed to it.
fn replacements(facts: &Facts<'_>, state: &mut State<'_>) -> Vec<Finding> {
    let listed: BTreeSet<PodIdx> =
        facts.plan.reserved.iter().filter(|room| room.replaces).map(|room| room.pod).collect();
    let open = |pod: &PodIdx| !(listed.contains(pod) || facts.moves_of.contains_key(pod));
    let open: Vec<PodIdx> = returning(facts).into_iter().filter(open).collect();
    // The others' rooms may close a node to it that was open before, and the other way round.
    let welcome: Vec<bool> = open.iter().map(|&pod| comes_home(facts, state, pod)).collect();
    for room in facts.plan.reserved.iter().filter(|room| room.replaces) {
        take(facts, state, room);
    }
    let mut findings = Vec::new();
    for (pod, welcome) in open.into_iter().zip(welcome) {
        let incoming = Incoming::replacement(facts.snapshot, pod);
        let cards = facts.snapshot.requests(facts.snapshot.spec(incoming.spec).requests);
        let Some(home) = facts.snapshot.pod(pod).node.filter(|_| cards.get(facts.plan.resource) > 0) else {
            continue;
        };
        let closed = !welcome && !comes_home(facts, state, pod);
        let homeless = facts.freed.contains(&home) || grows(facts, pod) || closed;
        let before = state.checkpoint();
        state.remove(pod);
        let lost = homeless && somewhere(facts, state, incoming).is_some();
        state.rollback(before);
        if lost {
            let text = "is terminating, its controller makes another, and the plan leaves that one no room";
            findings.push(about(Check::ReplacementWithoutRoom, pod, text));
        }
    }
    findings
}

/// The node of the pod takes its replacement once the pod is gone. The state is as before afterwards.
fn comes_home(facts: &Facts<'_>, state: &mut State<'_>, pod: PodIdx) -> bool {
    let incoming = Incoming::replacement(facts.snapshot, pod);
    let start = state.checkpoint();
    state.remove(pod);
    let fits = state.rules_of(incoming.spec).is_some()
        && facts.snapshot.pod(pod).node.is_some_and(|home| Prepared::new(state, incoming).fits(home));
    state.rollback(start);
    fits
}

/// The replacement asks for more of something than the pod holds, as kube-scheduler or Volcano counts.
fn grows(facts: &Facts<'_>, pod: PodIdx) -> bool {
    let live = facts.snapshot.pod(pod);
    let coming = facts.snapshot.spec(live.replacement_spec());
    [(coming.requests, live.charged), (coming.volcano_requests, live.charged_volcano)].iter().any(
        |&(a, b)| {
            let (asked, held) = (facts.snapshot.requests(a), facts.snapshot.requests(b));
            asked.0.iter().any(|&(resource, amount)| held.get(resource) < amount)
        },
    )
}

/// Terminating pods whose controller certainly makes another one that does not exist yet.
fn returning(facts: &Facts<'_>) -> Vec<PodIdx> {
    let snapshot = facts.snapshot;
    let mut by_owner: BTreeMap<OwnerIdx, Vec<PodIdx>> = BTreeMap::new();
    for at in (0..snapshot.pods.len()).map(PodIdx::new) {
        let pod = snapshot.pod(at);
        let gated = pod.template.is_some_and(|template| template.gated);
        if let (true, true, false, Some(owner)) = (pod.terminating, pod.stands(), gated, pod.owner) {
            by_owner.entry(owner).or_default().push(at);
        }
    }
    by_owner.into_iter().flat_map(|(owner, pods)| of_owner(facts, owner, pods)).collect()
}

fn of_owner(facts: &Facts<'_>, owner: OwnerIdx, mut pods: Vec<PodIdx>) -> Vec<PodIdx> {
    let snapshot = facts.snapshot;
    let stays = |pod: &PodIdx| {
        let pod = snapshot.pod(*pod);
        !(pod.terminating || pod.phase.is_finished())
    };
    let kind = snapshot.owners[owner.at()].known;
    let scales = [Kind::ReplicaSet, Kind::ReplicationController, Kind::StatefulSet];
    let object = snapshot.workload_of(owner).filter(|_| kind.is_some_and(|kind| scales.contains(&kind)));
    if let Some(wanted) = object.and_then(|object| object.replicas) {
        let there = facts.owned(owner).iter().filter(|pod| stays(pod)).count();
        pods.retain(|&pod| reaction::of(facts, pod).is_ok());
        pods.sort_by_key(|&pod| {
            let name = snapshot.pod_name(pod);
            (name.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX), pod)
        });
        let missing = usize::try_from(wanted).unwrap_or(0).saturating_sub(there);
        pods.truncate(missing);
        return pods;
    }
    // With names of their own kind, some that wait may be the replacements already.
    let made = facts.owned(owner).iter().any(|pod| stays(pod) && snapshot.pod(*pod).node.is_none());
    pods.retain(|&pod| {
        reaction::of(facts, pod).is_ok_and(|answer| answer.after_gone && (answer.same_name || !made))
    });
    pods
}

/// Every replacement of a terminating pod passes in its room, all moves done and all rooms taken, which `state` shows.
/// A waiting pod is bound before anything moves, so afterwards it only takes up room, which the moves feel.
pub(super) fn in_the_end(facts: &Facts<'_>, state: &mut State<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in facts.plan.reserved.iter().filter(|room| room.replaces) {
        let coming = incoming(facts, room);
        let before = state.checkpoint();
        let tenant = Tenant::bound(facts.snapshot, coming);
        state.apply(Change { tenant, node: room.node, arrives: false });
        state.remove(room.pod);
        let prepared = Prepared::new(state, coming);
        let taken = prepared.is_plain() && !prepared.fits(room.node);
        drop(prepared);
        state.rollback(before);
        if taken {
            let node = facts.snapshot.node_name(room.node);
            findings.push(about(
                Check::RoomTaken,
                room.pod,
                format!("has no room left on {node} in the end"),
            ));
        }
    }
    findings
}

/// The pod that a room is for has its node among those that are freed, so the room is chosen with that node.
pub(super) fn goes_with(facts: &Facts<'_>, room: &Reserved) -> Option<NodeIdx> {
    facts.snapshot.pod(room.pod).node.filter(|home| room.replaces && facts.freed.contains(home))
}

/// Takes a room. At home the old pod makes place; elsewhere both are counted.
pub(super) fn take(facts: &Facts<'_>, state: &mut State<'_>, room: &Reserved) {
    if room.replaces && facts.snapshot.pod(room.pod).node == Some(room.node) {
        state.remove(room.pod);
    }
    state.place(incoming(facts, room), room.node);
}
