//! Terminating pods: whose controller will make another, and room for that one.
//!
//! A terminating pod holds its cards until its object is gone. Its replacement is there already where the controller
//! does not wait for that (rulebook 4.7): then it waits or stands like any pod. Where it does not exist yet and its
//! node takes it back, it needs room elsewhere only if that node is emptied, which the algorithms see to as with a
//! victim; where its node does not take it back (cordoned, say) or it needs more of it, it gets its room before
//! anything moves.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::fate::{Fates, Timing};
use super::kept::Kept;
use super::pending::cheapest;
use super::problem::Problem;
use super::reason::Code;
use super::types::Reserved;
use crate::filter::{Prepared, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Owner, OwnerIdx, OwnerObject, Pod, PodIdx, SpecIdx};
use crate::snapshot::view::object::Kind;

/// Terminating pods whose controller will make another that does not exist yet, by index.
pub fn returning(snapshot: &Snapshot, fates: &Fates<'_>) -> Vec<PodIdx> {
    let mut by_owner: BTreeMap<OwnerIdx, Vec<PodIdx>> = BTreeMap::new();
    for (at, pod) in snapshot.pods.iter().enumerate() {
        if let (true, true, Some(owner)) = (pod.terminating, pod.stands(), pod.owner) {
            by_owner.entry(owner).or_default().push(PodIdx::new(at));
        }
    }
    let mut pods: Vec<PodIdx> =
        by_owner.into_iter().flat_map(|(owner, pods)| of_owner(snapshot, fates, owner, pods)).collect();
    pods.sort_unstable();
    pods
}

fn of_owner(snapshot: &Snapshot, fates: &Fates<'_>, at: OwnerIdx, mut pods: Vec<PodIdx>) -> Vec<PodIdx> {
    let owner = &snapshot.owners[at.at()];
    if !makes_pods(snapshot, at, owner) {
        return Vec::new();
    }
    pods.retain(|&pod| comes_back(snapshot, fates, pod));
    if let Some(wanted) = wanted(snapshot, at, owner) {
        let there = owner.pods.iter().filter(|&&pod| is_there(snapshot.pod(pod))).count();
        // A StatefulSet that shrinks drops its highest ordinals.
        pods.sort_by_key(|&pod| (ordinal(snapshot, pod), pod));
        pods.truncate(wanted.saturating_sub(there));
        return pods;
    }
    pods.retain(|&pod| fates.of(pod).timing == Timing::AfterGone);
    if !keeps_names(owner) {
        without_those_made(snapshot, owner, &mut pods);
    }
    pods
}

/// The owner exists, has not ended, and does not bind its pods to nodes.
fn makes_pods(snapshot: &Snapshot, at: OwnerIdx, owner: &Owner) -> bool {
    owner.object != OwnerObject::Gone
        && owner.known != Some(Kind::DaemonSet)
        && !matches!(snapshot.text(owner.kind), "DaemonSet" | "Node")
        && !snapshot.owner_chain(Some(at)).any(|workload| workload.deleting || workload.suspended)
}

/// The replacement of this pod would be scheduled, and its end does not end the workload.
fn comes_back(snapshot: &Snapshot, fates: &Fates<'_>, at: PodIdx) -> bool {
    let pod = snapshot.pod(at);
    let trouble = fates.of(at).trouble.map(|(code, _)| code);
    !pod.mirror
        && pod.template.is_none_or(|template| !template.names_node && !template.gated)
        && !matches!(trouble, Some(Code::OwnerEnds | Code::RetriesExhausted | Code::OwnerScalingDown))
}

/// Pods that the owner wants, where its object says so in pods.
fn wanted(snapshot: &Snapshot, at: OwnerIdx, owner: &Owner) -> Option<usize> {
    let counts =
        matches!(owner.known, Some(Kind::ReplicaSet | Kind::ReplicationController | Kind::StatefulSet));
    let replicas = snapshot.workload_of(at).filter(|_| counts)?.replicas?;
    usize::try_from(replicas).ok()
}

/// Counts towards what its owner wants: bound or not, but neither ended nor on its way out.
fn is_there(pod: &Pod) -> bool {
    !pod.terminating && !pod.phase.is_finished()
}

fn ordinal(snapshot: &Snapshot, pod: PodIdx) -> u64 {
    let number = snapshot.pod_name(pod).rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number.unwrap_or(u64::MAX)
}

/// A pod of the same name can not exist before the old one is gone.
fn keeps_names(owner: &Owner) -> bool {
    matches!(
        owner.known,
        Some(
            Kind::StatefulSet
                | Kind::VolcanoJob
                | Kind::ModelServing
                | Kind::PyTorchJob
                | Kind::TFJob
                | Kind::MPIJob
                | Kind::XGBoostJob
                | Kind::PaddleJob
                | Kind::JAXJob
        )
    )
}

/// Each pod of the owner that waits for a node stands for one terminating pod of its class.
fn without_those_made(snapshot: &Snapshot, owner: &Owner, pods: &mut Vec<PodIdx>) {
    let mut made: FxHashMap<SpecIdx, usize> = FxHashMap::default();
    for pod in owner.pods.iter().map(|&pod| snapshot.pod(pod)) {
        if is_there(pod) && pod.node.is_none() && !pod.lost {
            *made.entry(pod.spec).or_default() += 1;
        }
    }
    pods.retain(|&pod| match made.get_mut(&snapshot.pod(pod).replacement_spec()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
}

/// The replacement asks for more than the pod holds: its template has changed.
fn grows(snapshot: &Snapshot, pod: PodIdx) -> bool {
    let live = snapshot.pod(pod);
    let spec = snapshot.spec(live.replacement_spec());
    let more = |asked, held| {
        let held = snapshot.requests(held);
        snapshot.requests(asked).0.iter().any(|&(resource, amount)| amount > held.get(resource))
    };
    more(spec.requests, live.charged) || more(spec.volcano_requests, live.charged_volcano)
}

/// Keeps room for replacements that their own node would not take back, or that need more of it, and drops them from
/// the nodes' lists. Waiting pods have theirs already.
pub fn reserve(problem: &mut Problem<'_>, state: &mut State<'_>) -> Vec<Reserved> {
    let mut reserved = Vec::new();
    for at in 0..problem.nodes.len() {
        if problem.nodes[at].leaving.is_empty() {
            continue;
        }
        let mut home = Vec::new();
        for pod in std::mem::take(&mut problem.nodes[at].leaving) {
            let incoming = problem.replacement[pod.at()];
            let start = state.checkpoint();
            state.remove(pod);
            let here = NodeIdx::new(at);
            let (back, need) = (Prepared::new(state, incoming).fits(here), problem.need_of(pod));
            let room = if back && !grows(problem.snapshot, pod) {
                state.rollback(start);
                home.push(pod);
                continue;
            } else if back {
                // The old one stands for so much of the room already.
                Some((here, need - problem.cards(pod)))
            } else {
                let node = cheapest(need, &problem.nodes, &Prepared::new(state, incoming));
                state.rollback(start);
                node.map(|node| (node, need))
            };
            if let Some((node, more)) = room {
                state.place(incoming, node);
                let facts = &mut problem.nodes[node.at()];
                facts.free -= more;
                facts.keep(Kept::ReturningPod { pod });
                reserved.push(Reserved { pod, node, replaces: true });
            }
        }
        problem.nodes[at].leaving = home;
    }
    reserved
}
