//! A cluster while it is being made: plain structs, and the check that a pod may be put on a node.

use std::collections::{BTreeMap, BTreeSet};

/// Which controller made a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    VolcanoJob,
    Deployment,
    StatefulSet,
    BatchJob,
    DaemonSet,
    Bare,
    Custom,
}

/// What a Volcano job does when one of its pods is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    None,
    /// Action, and whether the policy stands at the task.
    Evicted(&'static str, bool),
}

/// An opt-out or another reason to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Label,
    Annotation,
    SafeToEvictFalse,
    DoNotDisrupt,
}

#[derive(Clone, Debug)]
pub struct NodeDraft {
    pub name: String,
    pub cards: u32,
    pub second: u32,
    pub cpu: u32,
    pub memory: u32,
    pub labels: BTreeMap<&'static str, String>,
    pub taint: Option<&'static str>,
    pub cordoned: bool,
    pub ready: bool,
    pub leaving: bool,
}

/// What the pods of a task have in common.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub app: String,
    pub cards: u32,
    pub second: u32,
    /// Milli.
    pub cpu: u32,
    /// Mebibytes.
    pub memory: u32,
    pub selector: Option<(&'static str, String)>,
    /// Required node affinity: the label has one of the values.
    pub one_of: Option<(&'static str, Vec<String>)>,
    pub tolerates: Option<&'static str>,
    pub port: Option<u32>,
    /// No pod of that application in the same domain.
    pub away: Option<(String, &'static str)>,
    /// Some pod of that application in the same domain.
    pub near: Option<(String, &'static str)>,
    /// Domain label and allowed skew over the own application.
    pub spread: Option<(&'static str, u32)>,
    pub host_path: bool,
    pub kueue: bool,
    pub priority: u32,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub name: String,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub struct Workload {
    pub kind: Kind,
    pub namespace: &'static str,
    pub name: String,
    pub scheduler: &'static str,
    pub tasks: Vec<Task>,
    pub min_member: usize,
    pub policy: Policy,
    pub owner_mark: Option<Mark>,
    pub group_mark: Option<Mark>,
    pub labels: BTreeMap<&'static str, String>,
    pub ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    Running,
    /// Bound, containers not started.
    Starting,
    Terminating,
    /// Not bound.
    Waiting,
    Succeeded,
    Failed,
}

#[derive(Clone, Debug)]
pub struct PodDraft {
    pub workload: usize,
    pub task: usize,
    pub ordinal: usize,
    pub node: usize,
    pub state: PodState,
    pub mark: Option<Mark>,
}

#[derive(Clone, Debug, Default)]
pub struct BudgetDraft {
    pub namespace: &'static str,
    pub name: String,
    pub app: String,
    pub expected: usize,
    pub healthy: usize,
    pub desired: usize,
    pub allowed: usize,
    pub sync_failed: bool,
}

/// Everything that is emitted.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub nodes: Vec<NodeDraft>,
    pub workloads: Vec<Workload>,
    pub pods: Vec<PodDraft>,
    pub budgets: Vec<BudgetDraft>,
}

impl Draft {
    pub fn shape(&self, pod: &PodDraft) -> &Shape {
        &self.workloads[pod.workload].tasks[pod.task].shape
    }

    /// Pods that hold something, with their shapes.
    pub fn holding(&self) -> impl Iterator<Item = (&PodDraft, &Shape)> {
        self.pods
            .iter()
            .filter(|p| !matches!(p.state, PodState::Succeeded | PodState::Failed | PodState::Waiting))
            .map(|p| (p, self.shape(p)))
    }

    /// Cards held on a node.
    pub fn cards_used(&self, node: usize) -> u32 {
        self.holding().filter(|(p, _)| p.node == node).map(|(_, s)| s.cards).sum()
    }

    /// Whether a pod of that shape may be put on that node beside what is there. The namespaces of applications
    /// are not compared: their names are unique in the cluster.
    pub fn fits(&self, node: usize, shape: &Shape) -> bool {
        let n = &self.nodes[node];
        self.has_room(n, node, shape)
            && n.taint.is_none_or(|taint| shape.tolerates == Some(taint))
            && shape.selector.as_ref().is_none_or(|(key, value)| n.labels.get(key) == Some(value))
            && shape
                .one_of
                .as_ref()
                .is_none_or(|(key, values)| n.labels.get(key).is_some_and(|v| values.contains(v)))
            && self.keeps_distance(n, shape)
            && self.is_near(n, shape)
            && self.stays_even(n, shape)
    }

    fn has_room(&self, n: &NodeDraft, node: usize, shape: &Shape) -> bool {
        let mut used = [0; 4];
        let mut pods = 0;
        for (pod, held) in self.holding().filter(|(p, _)| p.node == node) {
            if shape.port.is_some() && shape.port == held.port {
                return false;
            }
            debug_assert_eq!(pod.node, node);
            pods += 1;
            for (sum, amount) in used.iter_mut().zip([held.cards, held.second, held.cpu, held.memory]) {
                *sum += amount;
            }
        }
        let limits = [n.cards, n.second, n.cpu, n.memory];
        let wants = [shape.cards, shape.second, shape.cpu, shape.memory];
        pods < 60 && (0..4).all(|at| used[at] + wants[at] <= limits[at])
    }

    fn same_domain(&self, node: &NodeDraft, other: usize, key: &str) -> bool {
        let label = node.labels.get(key);
        label.is_some() && label == self.nodes[other].labels.get(key)
    }

    fn keeps_distance(&self, node: &NodeDraft, shape: &Shape) -> bool {
        self.holding().all(|(pod, held)| {
            let hits = |rule: &Option<(String, &'static str)>, app: &str| {
                rule.as_ref().is_some_and(|(who, key)| who == app && self.same_domain(node, pod.node, key))
            };
            !hits(&shape.away, &held.app) && !hits(&held.away, &shape.app)
        })
    }

    fn is_near(&self, node: &NodeDraft, shape: &Shape) -> bool {
        shape.near.as_ref().is_none_or(|(app, key)| {
            self.holding().any(|(pod, held)| held.app == *app && self.same_domain(node, pod.node, key))
        })
    }

    fn stays_even(&self, node: &NodeDraft, shape: &Shape) -> bool {
        let Some((key, skew)) = shape.spread else { return true };
        let Some(mine) = node.labels.get(key) else { return false };
        let domains: BTreeSet<&String> = self.nodes.iter().filter_map(|n| n.labels.get(key)).collect();
        let count = |domain: &String| {
            let here = |pod: &PodDraft| self.nodes[pod.node].labels.get(key) == Some(domain);
            u32::try_from(self.holding().filter(|(p, s)| s.app == shape.app && here(p)).count()).unwrap()
        };
        let least = domains.iter().map(|d| count(d)).min().unwrap_or(0);
        count(mine) < least + skew
    }
}
