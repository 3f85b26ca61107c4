//! Nodes of the model.
//!
//! May import: snapshot

use super::ids::{NodeClassIdx, NodeIdx, ResourceIdx, Sym};
use super::intern::Symbols;
use super::selector::Labels;
use crate::snapshot::names::{REMOVAL_CANDIDATE_TAINT, REMOVAL_TAINTS};

/// Effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No new pods.
    NoSchedule,
    /// Rather not; never filters.
    PreferNoSchedule,
    /// No pods at all.
    NoExecute,
    /// An effect that no rule knows.
    Other,
}

/// A taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Key.
    pub key: Sym,
    /// Value.
    pub value: Sym,
    /// Effect.
    pub effect: Effect,
}

/// The `Ready` condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ready {
    /// `True`.
    Yes,
    /// `False`, `Unknown` or absent.
    No,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name.
    pub name: Sym,
    /// UID, empty when the file has none.
    pub uid: Sym,
    /// Labels.
    pub labels: Labels,
    /// Taints.
    pub taints: Box<[Taint]>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// The Ready condition.
    pub ready: Ready,
    /// Has a deletionTimestamp.
    pub deleting: bool,
    /// `status.declaredFeatures`, sorted by symbol.
    pub features: Box<[Sym]>,
    /// Allocatable per resource, in the units of [`super::Snapshot::resources`]; 0 when absent.
    pub allocatable: Box<[i64]>,
    /// Resources that allocatable names, also those of amount 0; sorted.
    pub named: Box<[ResourceIdx]>,
    /// Volcano's oversubscription annotations: extra cpu in milli, extra memory in bytes.
    pub oversubscription: [i64; 2],
    /// Its class.
    pub class: NodeClassIdx,
}

impl Node {
    /// Being deleted, or tainted for deletion by an autoscaler: neither a source nor a receiver of moves.
    pub fn is_leaving(&self, symbols: &Symbols) -> bool {
        self.deleting || self.taints.iter().any(|taint| REMOVAL_TAINTS.contains(&symbols.text(taint.key)))
    }

    /// An autoscaler considers to remove it: no receiver of moves, but it may be emptied.
    pub fn may_leave(&self, symbols: &Symbols) -> bool {
        self.taints.iter().any(|taint| symbols.text(taint.key) == REMOVAL_CANDIDATE_TAINT)
    }
}

/// Nodes that no rule on single nodes can tell apart, with one of them as the representative.
#[derive(Clone, Debug)]
pub struct NodeClass {
    /// The first node of the class.
    pub representative: NodeIdx,
    /// All its nodes, in order.
    pub nodes: Vec<NodeIdx>,
}
