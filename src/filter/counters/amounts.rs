//! What is charged on each node: kube's amounts, Volcano's amounts, pods.
//!
//! Units are those of the model: kube's (cpu milli, everything else whole) and Volcano's (cpu milli, memory bytes,
//! everything else in thousandths). Vectors are indexed by node × width + resource.
//!
//! May import: snapshot, filter

use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, Phase, RequestsIdx};

/// Amounts charged per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amounts {
    width: usize,
    /// kube: allocatable − charged; negative where the node is overcommitted.
    free: Vec<i64>,
    /// Pods on each node, terminating ones included.
    pods: Vec<i64>,
    /// Terminating pods that give their slot back, as far as Volcano is concerned.
    releasing_pods: Vec<i64>,
    /// Volcano: charged.
    volcano_used: Vec<i64>,
    /// Volcano: the part of it that terminating pods give back (task status Releasing, rulebook 2.3).
    volcano_releasing: Vec<i64>,
}

impl Amounts {
    /// Nothing charged.
    pub fn new(snapshot: &Snapshot) -> Self {
        let width = snapshot.resources.len();
        let cells = width * snapshot.nodes.len();
        Self {
            width,
            free: snapshot.nodes.iter().flat_map(|n| n.allocatable.iter().copied()).collect(),
            pods: vec![0; snapshot.nodes.len()],
            releasing_pods: vec![0; snapshot.nodes.len()],
            volcano_used: vec![0; cells],
            volcano_releasing: vec![0; cells],
        }
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        let sign = if change.arrives { 1 } else { -1 };
        let base = change.node.at() * self.width;
        let tenant = &change.tenant;
        self.pods[change.node.at()] += sign;
        let add = |to: &mut [i64], amounts: RequestsIdx, sign: i64| {
            for &(resource, amount) in &snapshot.requests(amounts).0 {
                to[base + resource.at()] += sign * amount;
            }
        };
        add(&mut self.free, tenant.charged, -sign);
        add(&mut self.volcano_used, tenant.charged_volcano, sign);
        let unknown = tenant.pod.is_some_and(|pod| snapshot.pod(pod).phase == Phase::Unknown);
        if tenant.terminating && !unknown {
            self.releasing_pods[change.node.at()] += sign;
            add(&mut self.volcano_releasing, tenant.charged_volcano, sign);
        }
    }

    /// kube: free amounts of a node per resource.
    pub fn free(&self, node: NodeIdx) -> &[i64] {
        &self.free[node.at() * self.width..][..self.width]
    }

    /// Pods on a node.
    pub fn pods(&self, node: NodeIdx) -> i64 {
        self.pods[node.at()]
    }

    /// Volcano: terminating pods of a node that give their slot back.
    pub fn releasing_pods(&self, node: NodeIdx) -> i64 {
        self.releasing_pods[node.at()]
    }

    /// Volcano: charged amounts of a node per resource.
    pub fn volcano_used(&self, node: NodeIdx) -> &[i64] {
        &self.volcano_used[node.at() * self.width..][..self.width]
    }

    /// Volcano: amounts that terminating pods of a node give back.
    pub fn volcano_releasing(&self, node: NodeIdx) -> &[i64] {
        &self.volcano_releasing[node.at() * self.width..][..self.width]
    }
}
