//! What is charged on each node: kube's amounts, Volcano's amounts, pods.
//!
//! Units are those of the model: kube's (cpu milli, everything else whole) and Volcano's (cpu milli, memory bytes,
//! everything else in thousandths). Vectors are indexed by node × width + resource.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Node, NodeIdx, Phase, RequestsIdx, ResourceIdx};

/// Amounts charged per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amounts {
    width: usize,
    /// kube: allocatable − charged; negative where the node is overcommitted.
    free: Vec<i64>,
    /// Pods that each node can still take: allocatable − pods there, terminating ones included.
    slots: Vec<i64>,
    /// Terminating pods that give their slot back, as far as Volcano is concerned.
    releasing_pods: Vec<i64>,
    /// Volcano: Idle = allocatable + oversubscription − charged.
    idle: Vec<i64>,
    /// Volcano: what terminating pods give back (task status Releasing, rulebook 2.3).
    releasing: Vec<i64>,
}

/// Thousandths per unit: Volcano's unit of everything but cpu and memory.
const MILLI: i64 = 1000;

impl Amounts {
    /// Nothing charged.
    pub fn new(snapshot: &Snapshot) -> Self {
        let width = snapshot.resources.len();
        let nodes = &snapshot.nodes;
        Self {
            width,
            free: nodes.iter().flat_map(|n| n.allocatable.iter().copied()).collect(),
            slots: nodes.iter().map(|n| n.allocatable[ResourceIdx::PODS.at()]).collect(),
            releasing_pods: vec![0; nodes.len()],
            idle: nodes
                .iter()
                .flat_map(|n| (0..width).map(|r| volcano_allocatable(n, ResourceIdx::new(r))))
                .collect(),
            releasing: vec![0; width * nodes.len()],
        }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let sign = if change.arrives { 1 } else { -1 };
        let base = change.node.at() * self.width;
        let tenant = &change.tenant;
        self.slots[change.node.at()] -= sign;
        let add = |to: &mut [i64], amounts: RequestsIdx, sign: i64| {
            for &(resource, amount) in &snapshot.requests(amounts).0 {
                // Absurd amounts wrap, as in the scheduler, and undo exactly all the same.
                let cell = &mut to[base + resource.at()];
                *cell = cell.wrapping_add(sign * amount);
            }
        };
        add(&mut self.free, tenant.charged, -sign);
        add(&mut self.idle, tenant.charged_volcano, -sign);
        let unknown = tenant.pod.is_some_and(|pod| snapshot.pod(pod).phase == Phase::Unknown);
        if tenant.terminating && !unknown {
            self.releasing_pods[change.node.at()] += sign;
            add(&mut self.releasing, tenant.charged_volcano, sign);
        }
    }

    /// kube: free amounts of a node per resource.
    pub fn free(&self, node: NodeIdx) -> &[i64] {
        &self.free[node.at() * self.width..][..self.width]
    }

    /// Pods that a node can still take; negative where it holds too many.
    pub fn slots(&self, node: NodeIdx) -> i64 {
        self.slots[node.at()]
    }

    /// Volcano: terminating pods of a node that give their slot back.
    pub fn releasing_pods(&self, node: NodeIdx) -> i64 {
        self.releasing_pods[node.at()]
    }

    /// Volcano: Idle of a node per resource, in its own units.
    pub fn idle(&self, node: NodeIdx) -> &[i64] {
        &self.idle[node.at() * self.width..][..self.width]
    }

    /// Volcano: amounts that terminating pods of a node give back.
    pub fn releasing(&self, node: NodeIdx) -> &[i64] {
        &self.releasing[node.at() * self.width..][..self.width]
    }
}

/// Allocatable in Volcano's units, with the oversubscription annotations.
fn volcano_allocatable(node: &Node, resource: ResourceIdx) -> i64 {
    let amount = node.allocatable[resource.at()];
    match resource {
        ResourceIdx::CPU => amount.saturating_add(node.oversubscription[0]),
        ResourceIdx::MEMORY => amount.saturating_add(node.oversubscription[1]),
        _ => amount.saturating_mul(MILLI),
    }
}
