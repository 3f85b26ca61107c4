//! What each Volcano queue has allocated and admitted, and the limits of the queues that were read.
//!
//! Volcano's units. Only pods of a PodGroup that was read count. Allocated: terminating ones no longer. Admitted
//! (plugin capacity, enqueue): a group that is Inqueue, or has as many members bound as it needs, takes its whole
//! minResources, any other what its pods have of that; a group without minResources takes nothing.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, GroupOrigin, Phase, PodGroup, PodIdx, ResourceIdx, Sym};

/// Allocated amounts and limits by queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues {
    /// By queue and resource.
    allocated: Vec<Vec<i128>>,
    /// By queue and resource; `None` = no limit.
    limits: Vec<Vec<Option<i64>>>,
    /// By queue and resource. Wider than one amount: thousandths of bytes over a whole cluster.
    admitted: Vec<Vec<i128>>,
    /// By group; empty without limits.
    members: Vec<Members>,
    /// Queue of each group, by group.
    of_group: Vec<Option<usize>>,
    /// Parent of each queue.
    parent: Vec<Option<usize>>,
    any_limits: bool,
}

/// What a group has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Members {
    /// Members that are bound, terminating ones included, or have succeeded.
    bound: i64,
    /// What its pods have of each entry of minResources.
    allocated: Vec<i128>,
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
        let any_limits = closed || limits.iter().flatten().any(Option::is_some);
        let mut queues = Self {
            allocated: vec![vec![0; width]; snapshot.queues.len()],
            admitted: vec![vec![0; width]; snapshot.queues.len()],
            members: Vec::new(),
            any_limits,
            limits,
            of_group: snapshot
                .groups
                .iter()
                .map(|g| (g.origin == GroupOrigin::Object).then(|| named(g.queue)).flatten())
                .collect(),
            parent: snapshot.queues.iter().map(|q| named(q.parent)).collect(),
        };
        if any_limits {
            queues.members = snapshot.groups.iter().map(|group| Members::new(snapshot, group)).collect();
            for group in (0..snapshot.groups.len()).map(GroupIdx::new) {
                queues.admit(snapshot, group, 1);
            }
        }
        queues
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let tenant = &change.tenant;
        let member = tenant.pod.or(tenant.replaces).filter(|_| self.any_limits);
        let Some(group) = member.and_then(|pod| snapshot.pod(pod).group) else { return };
        let Some(start) = self.of_group[group.at()] else { return };
        let sign = if change.arrives { 1 } else { -1 };
        let charged = &snapshot.requests(tenant.charged_volcano).0;
        self.admit(snapshot, group, -1);
        let members = &mut self.members[group.at()];
        members.bound += sign;
        if !tenant.terminating {
            let entries = snapshot.groups[group.at()].min_resources.iter().flat_map(|least| &least.0);
            for (have, &(resource, _)) in members.allocated.iter_mut().zip(entries) {
                let amount = charged.iter().find(|(r, _)| *r == resource).map_or(0, |&(_, amount)| amount);
                *have += i128::from(sign * amount);
            }
            for queue in self.with_ancestors(snapshot, start) {
                for &(resource, amount) in charged {
                    self.allocated[queue][resource.at()] += i128::from(sign * amount);
                }
            }
        }
        self.admit(snapshot, group, 1);
    }

    /// Adds what a group takes of its queue and the ancestors of that, or takes it away.
    fn admit(&mut self, snapshot: &Snapshot, group: GroupIdx, sign: i128) {
        let facts = &snapshot.groups[group.at()];
        let (Some(start), Some(least)) = (self.of_group[group.at()], &facts.min_resources) else { return };
        let members = &self.members[group.at()];
        let whole = members.bound >= facts.min_member || snapshot.text(facts.phase) == "Inqueue";
        let taken: Vec<(ResourceIdx, i128)> = least
            .0
            .iter()
            .zip(&members.allocated)
            .map(|(&(resource, least), &have)| (resource, i128::from(least), have))
            .map(|(resource, least, have)| (resource, if whole { least } else { least.min(have) }))
            .collect();
        for queue in self.with_ancestors(snapshot, start) {
            for &(resource, amount) in &taken {
                self.admitted[queue][resource.at()] += sign * amount;
            }
        }
    }

    /// Whether a group has too few members to keep its place in the queue, were no other to come.
    pub fn falls_out(&self, snapshot: &Snapshot, group: GroupIdx) -> bool {
        self.members.get(group.at()).is_some_and(|m| m.bound < snapshot.groups[group.at()].min_member)
    }

    /// What a queue has admitted, its descendants included; the largest number where it is more.
    pub fn admitted(&self, queue: usize, resource: ResourceIdx) -> i64 {
        i64::try_from(self.admitted[queue][resource.at()]).unwrap_or(i64::MAX)
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

    /// What a queue has allocated, its descendants included; the largest number where it is more.
    pub fn allocated(&self, queue: usize, resource: ResourceIdx) -> i64 {
        i64::try_from(self.allocated[queue][resource.at()]).unwrap_or(i64::MAX)
    }
}

impl Members {
    /// Nobody is bound yet.
    fn new(snapshot: &Snapshot, group: &PodGroup) -> Self {
        let succeeded = group.pods.iter().filter(|&&pod| snapshot.pod(pod).phase == Phase::Succeeded).count();
        Self {
            bound: i64::try_from(succeeded).unwrap_or(i64::MAX),
            allocated: vec![0; group.min_resources.as_ref().map_or(0, |least| least.0.len())],
        }
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
