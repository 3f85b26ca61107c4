//! What planning came to: the plan, and beside it the report of what is, what would be and why the rest stays.
//!
//! The report is the only source for `explain`, tables, events, metric labels and the run's status.
//!
//! May import: snapshot, plan

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx};

use super::benefit::Benefit;
use super::kept::Kept;
use super::takers::{Taker, Withheld};
use super::types::Plan;

/// The rate in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Nodes that provide the resource.
    pub providing: i64,
    /// Nodes that hold some of it.
    pub occupied: i64,
    /// The fewest nodes that could hold all of it.
    pub optimum: i64,
    /// False when `optimum` is only a lower bound.
    pub exact: bool,
}

/// How planning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// There is a plan.
    Recommended,
    /// As few nodes are occupied as possible.
    NotFragmented,
    /// Nothing provides or uses the resource.
    NotUsed,
    /// The best plan frees too little, or nothing can be freed. Holds the nodes of the best plan found.
    Insufficient {
        /// Nodes that the best plan would free.
        best: i64,
    },
}

/// A node that stays and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptNode {
    /// The node.
    pub node: NodeIdx,
    /// Why it stays.
    pub why: Kept,
}

/// Pods that can not move for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmovable {
    /// The stable code.
    pub code: &'static str,
    /// What lifts it, as a flag or an action; empty when nothing does.
    pub remedy: String,
    /// Pods.
    pub pods: i64,
    /// Their cards.
    pub cards: i64,
}

/// The report of a planning pass.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Before the plan.
    pub before: Occupancy,
    /// How it ended.
    pub conclusion: Conclusion,
    /// PodGroups in scope that use the resource.
    pub groups_in_scope: i64,
    /// Nodes in scope that provide it.
    pub nodes_in_scope: i64,
    /// No plan frees more nodes than this: candidates, and nodes occupied beyond the optimum.
    pub upper_bound: i64,
    /// No plan that frees as many nodes as this one disturbs less, in the unit of the weights; 0 where nothing is
    /// known.
    pub least_cost: i64,
    /// How far it was worth it to free nodes, where a least benefit was asked for.
    pub benefit: Option<Benefit>,
    /// A larger plan would not fit into one object.
    pub limited_by_size: bool,
    /// Occupied nodes that stay, by name.
    pub kept: Vec<KeptNode>,
    /// Reasons that pods can not move for, most cards first.
    pub unmovable: Vec<Unmovable>,
    /// Percentage points asked for.
    pub min_improvement_percent: i64,
    /// Pods of the resource that may not move, by index.
    pub held: Vec<PodIdx>,
    /// Waiting gangs that fit only once the victims have left, in the order in which they are tried.
    pub takers: Vec<Taker>,
    /// What receivers keep for such gangs, by name.
    pub withheld: Vec<Withheld>,
    /// Things worth saying that are neither error nor reason.
    pub warnings: Vec<String>,
}

impl Report {
    /// Nodes occupied beyond the optimum, before and after a plan that frees `freed` nodes.
    pub const fn excess(&self, freed: i64) -> (i64, i64) {
        let excess = self.before.occupied - self.before.optimum;
        (excess, excess - freed)
    }

    /// True for a pod of the resource that may not move.
    pub fn is_unmovable(&self, pod: PodIdx) -> bool {
        self.held.binary_search(&pod).is_ok()
    }

    /// Why a node stays, if it is one of those.
    pub fn kept(&self, node: NodeIdx) -> Option<&Kept> {
        let at = self.kept.binary_search_by_key(&node, |k| k.node).ok()?;
        Some(&self.kept[at].why)
    }
}

/// A plan and its report.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The plan that is recommended; empty otherwise.
    pub plan: Plan,
    /// The report.
    pub report: Report,
}

/// The id of a plan: what it evicts and from where, not where the replacements go.
///
/// The first 16 hexadecimal digits of the SHA-256 over the sorted lines `UID node`; pods of hand-written files
/// without UIDs stand with namespace and name.
pub fn plan_id(snapshot: &Snapshot, plan: &Plan) -> String {
    use sha2::{Digest, Sha256};
    let mut lines: Vec<String> = plan
        .moves
        .iter()
        .map(|m| {
            let uid = snapshot.text(snapshot.pod(m.pod).uid);
            let pod = if uid.is_empty() { snapshot.pod_key(m.pod) } else { uid.to_owned() };
            format!("{pod} {}\n", snapshot.node_name(m.from))
        })
        .collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    for line in &lines {
        hash.update(line);
    }
    let digest = hash.finalize();
    let head = digest.iter().take(8).fold(0_u64, |head, &byte| head << 8 | u64::from(byte));
    format!("{head:016x}")
}
