//! What each Volcano queue has allocated, and the limits of the queues that were read.
//!
//! Volcano's units. Only pods of a PodGroup that was read count, terminating ones no longer.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupOrigin, PodIdx, ResourceIdx, Sym};

/// Allocated amounts and limits by queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues {
    /// By queue and resource.
    allocated: Vec<Vec<i64>>,
    /// By queue and resource; `None` = no limit.
    limits: Vec<Vec<Option<i64>>>,
    /// Queue of each group, by group.
    of_group: Vec<Option<usize>>,
    /// Parent of each queue.
    parent: Vec<Option<usize>>,
    any_limits: bool,
}

impl Queues {
    /// Nothing allocated.
    pub fn new(snapshot: &Snapshot) -> Self {
        let width = snapshot.resources.len();
        let named = |name: Sym| snapshot.queues.iter().position(|q| q.name == name);
        let limits: Vec<Vec<Option<i64>>> = (0..snapshot.queues.len())
            .map(|at| (0..width).map(|r| limit(snapshot, at, ResourceIdx::new(r))).collect())
            .collect();
        let closed = snapshot.queues.iter().any(|q| !q.open);
        Self {
            allocated: vec![vec![0; width]; snapshot.queues.len()],
            any_limits: closed || limits.iter().flatten().any(Option::is_some),
            limits,
            of_group: snapshot
                .groups
                .iter()
                .map(|g| (g.origin == GroupOrigin::Object).then(|| named(g.queue)).flatten())
                .collect(),
            parent: snapshot.queues.iter().map(|q| named(q.parent)).collect(),
        }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        if !self.any_limits || change.tenant.terminating {
            return;
        }
        let member = change.tenant.pod.or(change.tenant.replaces);
        let Some(start) = member.and_then(|pod| self.of_pod(snapshot, pod)) else { return };
        let sign = if change.arrives { 1 } else { -1 };
        for queue in self.with_ancestors(snapshot, start) {
            for &(resource, amount) in &snapshot.requests(change.tenant.charged_volcano).0 {
                self.allocated[queue][resource.at()] += sign * amount;
            }
        }
    }

    /// True when some queue is closed or limited.
    pub const fn any_limits(&self) -> bool {
        self.any_limits
    }

    /// The queue of a pod, if its group and its queue were read.
    pub fn of_pod(&self, snapshot: &Snapshot, pod: PodIdx) -> Option<usize> {
        self.of_group[snapshot.pod(pod).group?.at()]
    }

    /// A queue and its ancestors. A loop of parents ends where it began.
    pub fn with_ancestors(&self, _snapshot: &Snapshot, queue: usize) -> Vec<usize> {
        let mut chain = vec![queue];
        let mut at = queue;
        while let Some(parent) = self.parent[at].filter(|parent| !chain.contains(parent)) {
            chain.push(parent);
            at = parent;
        }
        chain
    }

    /// What a queue may allocate; `None` = no limit.
    pub fn limit(&self, queue: usize, resource: ResourceIdx) -> Option<i64> {
        self.limits[queue][resource.at()]
    }

    /// What a queue has allocated, its descendants included.
    pub fn allocated(&self, queue: usize, resource: ResourceIdx) -> i64 {
        self.allocated[queue][resource.at()]
    }
}

/// The capability that is written down; what other queues are guaranteed is not for this one.
fn limit(snapshot: &Snapshot, queue: usize, resource: ResourceIdx) -> Option<i64> {
    let written = |at: usize| {
        let amounts = &snapshot.queues[at].capability.0;
        amounts.iter().find(|(r, _)| *r == resource).map(|&(_, amount)| amount)
    };
    written(queue)
}
