//! Places for the pods that are asked about, one after the other under all Filters.
//!
//! Each takes the fullest node that its scheduler accepts; idle and freed nodes count. That is as good as it gets for
//! pods of one template that only amounts concern. For others the outcome depends on the order and on the choice of
//! nodes, so a few of each are tried, and the first pod is tried on different nodes, from which mates that attract each
//! other follow.
//!
//! May import: snapshot, filter, plan

use super::complete::{self, Rooms};
use super::part::Part;
use crate::filter::{Incoming, Prepared, SchedulerRules, State};
use crate::plan::pending::Turn;
use crate::plan::problem::Problem;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

/// Where the pods find room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    /// Pods and their nodes.
    pub seated: Vec<(PodIdx, NodeIdx)>,
    /// Pods without room.
    pub standing: Vec<PodIdx>,
}

/// Looks at nodes that all tries together may take after the first; it ends in time where nothing comes of it.
const MOST_LOOKS: u64 = 20_000_000;
/// Nodes that the first pod is tried on.
const MOST_FIRST: usize = 128;

/// Which of the nodes that accept a pod it takes.
#[derive(Clone, Copy)]
enum Choice {
    /// The one with the least left of the resource.
    Fullest(ResourceIdx),
    /// The one with the most left.
    Emptiest(ResourceIdx),
}

/// Seats in this state, as many as are found.
pub(super) fn seat(problem: &Problem<'_>, state: State<'_>, parts: &[Part]) -> Seats {
    let mut task = Task { problem, state, looks: 0 };
    let in_order: Vec<&Part> = parts.iter().collect();
    let mut best = task.pass(&in_order, Choice::Fullest(problem.resource), None);
    if best.standing.is_empty() || parts.len() == 1 && parts[0].plain {
        return best;
    }
    task.looks = 0;
    let mut by_freedom = in_order.clone();
    by_freedom.sort_by_key(|part| part.accepted.count_ones(..));
    let backwards: Vec<&Part> = in_order.iter().rev().copied().collect();
    let choices = [
        Choice::Fullest(problem.resource),
        Choice::Fullest(ResourceIdx::CPU),
        Choice::Fullest(ResourceIdx::MEMORY),
        Choice::Emptiest(problem.resource),
    ];
    for order in [&in_order, &by_freedom, &backwards] {
        for choice in choices {
            if task.better(&mut best, order, choice, None) {
                return best;
            }
        }
    }
    if let Some(seated) = all_ways(&mut task, parts) {
        return Seats { seated, standing: Vec::new() };
    }
    if parts.iter().all(|part| part.plain) {
        return best;
    }
    for order in [&in_order, &backwards] {
        let pod = order[0].pods[0];
        for node in task.accepting(pod).into_iter().take(MOST_FIRST) {
            for choice in [choices[0], choices[3]] {
                if task.better(&mut best, order, choice, Some(node)) {
                    return best;
                }
            }
        }
    }
    best
}

/// Goes through all ways to seat few pods.
fn all_ways(task: &mut Task<'_, '_>, parts: &[Part]) -> Option<Rooms> {
    complete::are_few(parts).then(|| complete::any(&mut task.state, parts)).flatten()
}

/// Gives waiting gangs the room that they find, each as a whole or not at all.
pub(super) fn seat_waiting(state: &mut State<'_>, waiting: &[Turn]) {
    let snapshot = state.snapshot();
    for turn in waiting {
        let start = state.checkpoint();
        let mut placed = 0;
        for &pod in &turn.pods {
            if state.rules_of(snapshot.pod(pod).spec).is_none() {
                continue;
            }
            let incoming = Incoming::pending(snapshot, pod);
            let node = {
                let prepared = Prepared::new(state, incoming);
                (0..snapshot.nodes.len()).map(NodeIdx::new).find(|&node| prepared.fits(node))
            };
            if let Some(node) = node {
                state.place(incoming, node);
                placed += 1;
            }
        }
        if placed < turn.needed {
            state.rollback(start);
        }
    }
}

struct Task<'p, 's> {
    problem: &'p Problem<'s>,
    state: State<'s>,
    /// Looks at nodes so far.
    looks: u64,
}

impl Task<'_, '_> {
    /// Tries once more; true when nothing is left to try for.
    fn better(&mut self, best: &mut Seats, order: &[&Part], choice: Choice, first: Option<NodeIdx>) -> bool {
        let seats = self.pass(order, choice, first);
        if seats.standing.len() < best.standing.len() {
            *best = seats;
        }
        best.standing.is_empty() || self.looks > MOST_LOOKS
    }

    fn nodes(&self) -> impl Iterator<Item = NodeIdx> + use<> {
        (0..self.problem.snapshot.nodes.len()).map(NodeIdx::new)
    }

    /// Nodes that would take the pod first.
    fn accepting(&mut self, pod: PodIdx) -> Vec<NodeIdx> {
        let prepared = Prepared::new(&self.state, Incoming::pending(self.problem.snapshot, pod));
        self.nodes().filter(|&node| prepared.fits(node)).collect()
    }

    /// Seats the parts in this order; the state is as before afterwards.
    fn pass(&mut self, order: &[&Part], choice: Choice, mut first: Option<NodeIdx>) -> Seats {
        let start = self.state.checkpoint();
        let mut seats = Seats::default();
        for part in order {
            let mut left = &part.pods[..];
            if let (Some(node), Some((&pod, rest))) = (first.take(), left.split_first()) {
                self.place(pod, node, &mut seats);
                left = rest;
            }
            if part.plain {
                left = &left[self.fill(left, choice, &mut seats)..];
            }
            while let Some((&pod, rest)) = left.split_first()
                && self.one(pod, choice, &mut seats)
            {
                left = rest;
            }
            // What refused one of them refuses all: nothing has changed since.
            seats.standing.extend(left);
        }
        self.state.rollback(start);
        seats.standing.sort_unstable();
        seats
    }

    fn place(&mut self, pod: PodIdx, node: NodeIdx, seats: &mut Seats) {
        self.state.place(Incoming::pending(self.problem.snapshot, pod), node);
        seats.seated.push((pod, node));
    }

    /// Pods of one part that only amounts concern: the chosen node stays the one to choose until it is full. Returns
    /// how many are seated.
    fn fill(&mut self, pods: &[PodIdx], choice: Choice, seats: &mut Seats) -> usize {
        let (Choice::Fullest(_), Some(&pod)) = (choice, pods.first()) else { return 0 };
        let mut nodes = self.accepting(pod);
        nodes.sort_by_key(|&node| self.rank(choice, node));
        self.looks += self.problem.nodes.len() as u64;
        let mut pods = pods.iter().copied().peekable();
        let before = seats.seated.len();
        for node in nodes {
            while let Some(&pod) = pods.peek() {
                self.looks += 1;
                let incoming = Incoming::pending(self.problem.snapshot, pod);
                if !Prepared::new(&self.state, incoming).fits(node) {
                    break;
                }
                self.place(pod, node, seats);
                pods.next();
            }
        }
        seats.seated.len() - before
    }

    /// Seats one pod if any node accepts it.
    fn one(&mut self, pod: PodIdx, choice: Choice, seats: &mut Seats) -> bool {
        self.looks += self.problem.nodes.len() as u64;
        let accepting = self.accepting(pod);
        let node = accepting.into_iter().min_by_key(|&node| self.rank(choice, node));
        node.inspect(|&node| self.place(pod, node, seats)).is_some()
    }

    fn rank(&self, choice: Choice, node: NodeIdx) -> (i64, NodeIdx) {
        let left = |resource| self.state.left(SchedulerRules::Kube, node, resource);
        match choice {
            Choice::Fullest(resource) => (left(resource), node),
            Choice::Emptiest(resource) => (-left(resource), node),
        }
    }
}
