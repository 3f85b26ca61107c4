//! Why a node stays and where a pod could go, receiver by receiver.
//!
//! Asked about the cluster as it will be with the plan carried out: moves applied, waiting pods in their room. A
//! receiver's answer is the first Filter that refuses, with its numbers; equal answers of many receivers are told
//! once, with the receiver that comes closest.
//!
//! May import: snapshot, filter, plan

use crate::filter::{Detail, Failure, Incoming, PluginName, Prepared, SchedulerRules, State, Verdict};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx, Sym};

use super::kept::Kept;
use super::outcome::Planned;
use super::problem::{Problem, Role};
use super::reason::Reason;
use super::request::Request;
use super::setup::{Start, start};

/// Receivers that refuse a pod for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The receivers, by name.
    pub nodes: Vec<NodeIdx>,
    /// The one that comes closest.
    pub closest: NodeIdx,
    /// What it says.
    pub failure: Failure,
}

/// What keeps a pod or lets it go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It holds none of the resource, so nothing asks it to move.
    HoldsNothing,
    /// It is terminating: nothing is done to it.
    Terminating,
    /// It has ended.
    Finished,
    /// It waits for a node. Holds the node where room is kept for it; without one it is asked about all nodes.
    Waits(Option<NodeIdx>),
    /// It may not move.
    MayNotMove(Reason),
    /// The plan moves it there.
    Moves(NodeIdx),
    /// It would be accepted by these receivers, by name.
    Fits(Vec<NodeIdx>),
    /// Asked alone it would be accepted, but the other pods of its node go first, and then every receiver refuses it.
    NothingLeft {
        /// Receivers that would accept it alone, by name.
        alone: Vec<NodeIdx>,
        /// The pods that go first and where they fit, in the order of victims.
        first: Vec<(PodIdx, NodeIdx)>,
    },
    /// It would be accepted by these receivers alone, by name, which keep that room for waiting gangs.
    Withheld(Vec<NodeIdx>),
    /// Every receiver refuses it, most receivers first.
    Nowhere(Vec<Refusal>),
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodExplanation {
    /// The pod.
    pub pod: PodIdx,
    /// Its cards.
    pub cards: i64,
    /// What keeps it or lets it go.
    pub answer: Answer,
    /// Receivers that would accept it if it might move, nodes that would accept a waiting pod, by name; empty for
    /// every other answer.
    pub accepting: Vec<NodeIdx>,
    /// Receivers that refuse it although others do not, most first.
    pub refusals: Vec<Refusal>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeExplanation {
    /// The node.
    pub node: NodeIdx,
    /// The plan frees it.
    pub freed: bool,
    /// Why it stays.
    pub kept: Option<Kept>,
    /// Its pods of the resource, in the order of victims, terminating ones last.
    pub pods: Vec<PodExplanation>,
}

/// Answers questions about one plan.
#[derive(Debug)]
pub struct Explainer<'s> {
    problem: Problem<'s>,
    planned: Planned,
    state: State<'s>,
    freed: Vec<bool>,
}

impl<'s> Explainer<'s> {
    /// Looks everything up again that the planner did, and carries the plan out.
    ///
    /// # Errors
    /// A sentence when the scope can not be resolved.
    pub fn new(snapshot: &'s Snapshot, request: &Request, planned: Planned) -> Result<Self, String> {
        let resource = planned.plan.resource;
        let Start { problem, mut state, reserved } = start(snapshot, request, resource)?;
        for m in &planned.plan.moves {
            state.remove(m.pod);
        }
        for m in &planned.plan.moves {
            state.place(problem.replacement[m.pod.at()], m.to);
        }
        for r in planned.plan.reserved.iter().filter(|r| r.replaces && !reserved.contains(r)) {
            state.place(problem.replacement[r.pod.at()], r.node);
        }
        let mut freed = vec![false; snapshot.nodes.len()];
        planned.plan.freed.iter().for_each(|n| freed[n.at()] = true);
        Ok(Self { problem, planned, state, freed })
    }

    /// The plan and its report.
    pub const fn planned(&self) -> &Planned {
        &self.planned
    }

    /// Whose rules the replacement of a pod follows.
    pub fn rules_of(&self, pod: PodIdx) -> SchedulerRules {
        self.state.rules_of(self.problem.replacement[pod.at()].spec).unwrap_or(SchedulerRules::Kube)
    }

    /// Why a node stays, pod by pod. A pod is asked about as if the other victims of its node were gone.
    pub fn node(&mut self, node: NodeIdx) -> NodeExplanation {
        let snapshot = self.problem.snapshot;
        let start = self.state.checkpoint();
        let victims = self.problem.node(node).victims.clone();
        for &pod in &victims {
            self.state.remove(pod);
        }
        let resource = self.problem.resource;
        let leaving = snapshot.pods_on[node.at()]
            .iter()
            .copied()
            .filter(|&p| snapshot.pod(p).terminating && snapshot.charged(p, resource) > 0);
        let mut pods: Vec<PodExplanation> =
            victims.iter().copied().chain(leaving).map(|pod| self.about(pod)).collect();
        if let Some(&(Kept::NoReceiver { pod } | Kept::NoneLeft { pod })) = self.planned.report.kept(node) {
            let along = self.recreated_along(&victims);
            for &pod in &along {
                self.state.remove(pod);
            }
            if along.contains(&pod) {
                pods.push(self.about_along(node, pod));
            }
            if let Some(told) = pods.iter_mut().find(|told| told.pod == pod) {
                self.after_the_others(node, &along, told);
            }
        }
        self.state.rollback(start);
        NodeExplanation {
            node,
            freed: self.freed[node.at()],
            kept: self.planned.report.kept(node).cloned(),
            pods,
        }
    }

    /// Pods that a controller recreates along with these, and that the plan does not move.
    fn recreated_along(&self, victims: &[PodIdx]) -> Vec<PodIdx> {
        let mut pods = self.problem.facts.units.closure(victims.iter().copied());
        let moved = |pod| self.planned.plan.moves.iter().any(|m| m.pod == pod);
        pods.retain(|pod| !victims.contains(pod) && !moved(*pod));
        pods
    }

    /// A pod that is recreated along when `node` is emptied. One without cards can only come home.
    fn about_along(&self, node: NodeIdx, pod: PodIdx) -> PodExplanation {
        let home = self.problem.snapshot.pod(pod).node;
        let (fits, refusals) = if self.problem.need_of(pod) > 0 {
            self.ask_receivers(pod, Some(node))
        } else {
            let (_, refusals) = self.ask(self.problem.replacement[pod.at()], home.into_iter());
            (Vec::new(), refusals)
        };
        let cards = self.problem.cards(pod);
        let (answer, refusals) = if fits.is_empty() {
            (Answer::Nowhere(refusals), Vec::new())
        } else {
            (Answer::Fits(fits), refusals)
        };
        PodExplanation { pod, cards, answer, accepting: Vec::new(), refusals }
    }

    /// The pod that kept its node from being emptied, asked again with the pods before it where they fit, as the planner
    /// tries them: those that are recreated along at home, if they can come back there. The state is changed.
    fn after_the_others(&mut self, node: NodeIdx, along: &[PodIdx], told: &mut PodExplanation) {
        let Answer::Fits(alone) = &told.answer else { return };
        let facts = self.problem.node(node);
        let mut pods: Vec<PodIdx> = [&facts.victims, along, &facts.leaving].concat();
        self.problem.sort_victims(&mut pods);
        let mut first: Vec<(PodIdx, NodeIdx)> = Vec::new();
        for pod in pods.into_iter().take_while(|&pod| pod != told.pod) {
            if self.problem.snapshot.pod(pod).terminating {
                self.state.remove(pod);
            }
            let need = self.problem.need_of(pod);
            let home = self.problem.snapshot.pod(pod).node.filter(|_| along.contains(&pod));
            let to = home.filter(|&home| self.takes_back(pod, home)).or_else(|| {
                let (fits, _) = self.ask_receivers(pod, Some(node));
                fits.into_iter().min_by_key(|&to| (self.left(to, &first) - need, to))
            });
            let Some(to) = to else { continue };
            self.state.place(self.problem.replacement[pod.at()], to);
            first.push((pod, to));
        }
        let (fits, refusals) = self.ask_receivers(told.pod, Some(node));
        if fits.is_empty() {
            told.answer = Answer::NothingLeft { alone: alone.clone(), first };
            told.refusals = refusals;
        }
    }

    /// A pod that is recreated along would be accepted where it stands now.
    fn takes_back(&self, pod: PodIdx, home: NodeIdx) -> bool {
        self.problem.node(home).takes_back
            && !self.freed[home.at()]
            && Prepared::new(&self.state, self.problem.replacement[pod.at()]).fits(home)
    }

    /// Cards of a receiver that the plan and these pods leave.
    fn left(&self, node: NodeIdx, placed: &[(PodIdx, NodeIdx)]) -> i64 {
        let moves = self.planned.plan.moves.iter().filter(|m| m.to == node && m.from != node).map(|m| m.pod);
        let placed = placed.iter().filter(|(_, to)| *to == node).map(|&(pod, _)| pod);
        let taken: i64 = moves.chain(placed).map(|pod| self.problem.need_of(pod)).sum();
        self.problem.node(node).free - taken
    }

    /// Where a pod could go. It is asked about as if it were gone from where it stands.
    pub fn pod(&mut self, pod: PodIdx) -> PodExplanation {
        let start = self.state.checkpoint();
        self.state.remove(pod);
        let about = self.about(pod);
        self.state.rollback(start);
        about
    }

    fn about(&self, pod: PodIdx) -> PodExplanation {
        let snapshot = self.problem.snapshot;
        let ended = snapshot.pod(pod).phase.is_finished();
        let cards = if ended { 0 } else { self.problem.cards(pod) };
        let planned = self.planned.plan.moves.iter().find(|m| m.pod == pod);
        let quick = if let Some(m) = planned {
            Some(Answer::Moves(m.to))
        } else if snapshot.pod(pod).terminating {
            Some(Answer::Terminating)
        } else if ended {
            Some(Answer::Finished)
        } else if cards == 0 {
            Some(Answer::HoldsNothing)
        } else {
            self.room_of(pod).map(|node| Answer::Waits(Some(node)))
        };
        if let Some(answer) = quick {
            return PodExplanation { pod, cards, answer, accepting: Vec::new(), refusals: Vec::new() };
        }
        if snapshot.pod(pod).node.is_none() {
            let all = (0..self.problem.nodes.len()).map(NodeIdx::new);
            let (accepting, refusals) = self.ask(Incoming::pending(snapshot, pod), all);
            return PodExplanation { pod, cards, answer: Answer::Waits(None), accepting, refusals };
        }
        let (fits, refusals) = self.ask_receivers(pod, None);
        let (withheld, fits): (Vec<NodeIdx>, Vec<NodeIdx>) =
            fits.into_iter().partition(|&node| self.is_withheld(pod, node));
        let refused = self.problem.facts.movability.reason(pod).copied();
        let (answer, accepting, refusals) = match refused {
            Some(reason) => (Answer::MayNotMove(reason), fits, refusals),
            None if fits.is_empty() && !withheld.is_empty() => {
                (Answer::Withheld(withheld), Vec::new(), refusals)
            }
            None if fits.is_empty() => (Answer::Nowhere(refusals), Vec::new(), Vec::new()),
            None => (Answer::Fits(fits), Vec::new(), refusals),
        };
        PodExplanation { pod, cards, answer, accepting, refusals }
    }

    /// A receiver that accepts the pod keeps that room for a waiting gang.
    fn is_withheld(&self, pod: PodIdx, node: NodeIdx) -> bool {
        let withheld = &self.planned.report.withheld;
        let Ok(at) = withheld.binary_search_by_key(&node, |w| w.node) else { return false };
        withheld[at].cards.is_none_or(|cards| self.left(node, &[]) - cards < self.problem.need_of(pod))
    }

    /// Where room is kept for a waiting pod.
    fn room_of(&self, pod: PodIdx) -> Option<NodeIdx> {
        self.planned.plan.reserved.iter().find(|room| !room.replaces && room.pod == pod).map(|room| room.node)
    }

    /// Receivers that accept the pod's replacement, and the others by reason; neither its own node nor the `emptied` one.
    fn ask_receivers(&self, pod: PodIdx, emptied: Option<NodeIdx>) -> (Vec<NodeIdx>, Vec<Refusal>) {
        let source = self.problem.snapshot.pod(pod).node;
        let receives = |&node: &NodeIdx| {
            matches!(self.problem.node(node).role, Role::Stays | Role::Candidate)
                && !self.freed[node.at()]
                && ![source, emptied].contains(&Some(node))
        };
        let nodes = (0..self.problem.nodes.len()).map(NodeIdx::new).filter(receives);
        self.ask(self.problem.replacement[pod.at()], nodes)
    }

    fn ask(&self, pod: Incoming, nodes: impl Iterator<Item = NodeIdx>) -> (Vec<NodeIdx>, Vec<Refusal>) {
        refusals(&self.state, pod, nodes)
    }
}

/// Which of these nodes accept a pod, and the others by reason, most nodes first.
pub(super) fn refusals(
    state: &State<'_>,
    pod: Incoming,
    nodes: impl Iterator<Item = NodeIdx>,
) -> (Vec<NodeIdx>, Vec<Refusal>) {
    let prepared = Prepared::new(state, pod);
    let mut fits = Vec::new();
    let mut refusals: Vec<Refusal> = Vec::new();
    for node in nodes {
        let (Verdict::Wait(failure) | Verdict::Fail(failure)) = prepared.verdict(node) else {
            fits.push(node);
            continue;
        };
        match refusals.iter_mut().find(|r| kind(&r.failure) == kind(&failure)) {
            Some(same) => {
                if nearness(&failure.detail) > nearness(&same.failure.detail) {
                    same.closest = node;
                    same.failure = failure;
                }
                same.nodes.push(node);
            }
            None => refusals.push(Refusal { nodes: vec![node], closest: node, failure }),
        }
    }
    refusals.sort_by(|a, b| b.nodes.len().cmp(&a.nodes.len()).then(a.closest.cmp(&b.closest)));
    (fits, refusals)
}

/// What makes two refusals the same reason: the plugin, the sort of detail, and what it is about.
fn kind(failure: &Failure) -> (PluginName, std::mem::Discriminant<Detail>, Option<ResourceIdx>, Option<Sym>) {
    let (resource, label) = match &failure.detail {
        Detail::Insufficient { resource, .. } | Detail::Readmission { resource, .. } => {
            (Some(*resource), None)
        }
        Detail::Taint { key, .. } | Detail::MissingTopologyKey { key } | Detail::Skew { key, .. } => {
            (None, Some(*key))
        }
        _ => (None, None),
    };
    (failure.plugin, std::mem::discriminant(&failure.detail), resource, label)
}

/// How close a refusal is to acceptance; larger is closer. Only amounts have a distance.
fn nearness(detail: &Detail) -> i64 {
    match detail {
        Detail::Insufficient { need, have, .. } | Detail::Readmission { need, have, .. } => {
            have.saturating_sub(*need)
        }
        Detail::TooManyPods { pods, limit } => limit.saturating_sub(*pods),
        Detail::Skew { skew, limit, .. } => limit.saturating_sub(*skew),
        Detail::VolumeLimit { attached, new, limit } => limit.saturating_sub(attached.saturating_add(*new)),
        _ => 0,
    }
}
