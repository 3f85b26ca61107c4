//! What owners and groups say about all of their pods, worked out once for each and kept small.
//!
//! May import: snapshot, plan

use crate::plan::reason::{Code, Detail, Reason};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupOrigin, OwnerIdx, OwnerObject, PodGroup};
use crate::snapshot::view::object::Kind;

/// What is asked about the owner of every pod, in few bytes: owners are many, and pods come to them in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerKind {
    /// Makes one pod for each node.
    Daemon,
    /// It is not known how it reacts.
    Custom,
    /// All others.
    Known,
}

/// What an owner is, and why its pods stay on account of its state.
pub(super) type OwnerFacts = (OwnerKind, Option<Reason>);

pub(super) fn owners(snapshot: &Snapshot) -> Vec<OwnerFacts> {
    let shrinking = shrinking(snapshot);
    let facts = |(at, clause): (usize, Option<&'static str>)| {
        let owner = &snapshot.owners[at];
        let kind = if owner.known == Some(Kind::DaemonSet) || snapshot.text(owner.kind) == "DaemonSet" {
            OwnerKind::Daemon
        } else if owner.known.is_none() {
            OwnerKind::Custom
        } else {
            OwnerKind::Known
        };
        (kind, owner_state(snapshot, OwnerIdx::new(at), clause))
    };
    shrinking.into_iter().enumerate().map(facts).collect()
}

fn owner_state(snapshot: &Snapshot, at: OwnerIdx, shrinks: Option<&'static str>) -> Option<Reason> {
    match snapshot.owners[at.at()].object {
        OwnerObject::Gone => return Some(Reason::new(Code::OwnerGone, Detail::Owner(at))),
        OwnerObject::Refused => return Some(Reason::new(Code::OwnerNotReadable, Detail::Owner(at))),
        OwnerObject::Present(_) | OwnerObject::NotRead => {}
    }
    if snapshot.owner_chain(Some(at)).any(|workload| workload.deleting) {
        let detail = Detail::OwnerClause(at, "it is being deleted");
        return Some(Reason::new(Code::OwnerGone, detail));
    }
    Some(Reason::new(Code::OwnerScalingDown, Detail::OwnerClause(at, shrinks?)))
}

/// What is asked about the group of every pod, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    Free,
    HardTopology,
    NotRead,
    Virtual,
}

impl Membership {
    pub(super) const fn of(group: &PodGroup) -> Self {
        match group.origin {
            GroupOrigin::Object if group.hard_tier.is_some() => Self::HardTopology,
            GroupOrigin::Object => Self::Free,
            GroupOrigin::Missing => Self::NotRead,
            GroupOrigin::Virtual => Self::Virtual,
        }
    }
}

/// Owners that want fewer pods than they have, or none any more, with a clause.
fn shrinking(snapshot: &Snapshot) -> Vec<Option<&'static str>> {
    let clause = |at: usize| {
        let owner = &snapshot.owners[at];
        let workload = snapshot.workload_of(OwnerIdx::new(at))?;
        if workload.suspended {
            return Some("it is suspended or has ended");
        }
        let counts =
            matches!(workload.kind, Kind::ReplicaSet | Kind::ReplicationController | Kind::StatefulSet);
        let wanted = workload.replicas.filter(|_| counts)?;
        let active = owner.pods.iter().filter(|&&pod| {
            let pod = snapshot.pod(pod);
            !pod.phase.is_finished() && !pod.terminating && !pod.lost
        });
        (i64::try_from(active.count()).unwrap_or(i64::MAX) > wanted).then_some("it wants fewer pods")
    };
    (0..snapshot.owners.len()).map(clause).collect()
}
