//! Every way to seat the pods that are asked about, one after the other: the exact answer where there are few.
//!
//! Pods of one template that only amounts concern are interchangeable, so they take nodes by name, each never before
//! the one of the pod before. Of all others every order of nodes is tried, since rules may depend on it.
//!
//! May import: snapshot, filter, plan

use std::collections::BTreeMap;

use super::part::Part;
use crate::filter::{Incoming, Prepared, State};
use crate::plan::problem::Problem;
use crate::snapshot::model::{NodeIdx, PodIdx};

/// Looks at nodes per walk; it ends in time where there are too many ways.
const MOST_LOOKS: usize = 100_000;
/// More pods are not gone through.
const MOST_PODS: usize = 64;
/// Different rooms beside emptied nodes that are told.
const MOST_ROOMS: usize = 64;

/// Pods and their nodes.
pub type Rooms = Vec<(PodIdx, NodeIdx)>;
/// Rooms by node and template, sorted: which pod of a template is which makes no difference.
type Key = Vec<(NodeIdx, usize)>;
/// Takes a way to seat all pods; true when it has had enough.
type Found<'f> = dyn FnMut(&[(PodIdx, NodeIdx)]) -> bool + 'f;

/// True when the pods are few enough to go through their places.
pub(super) fn are_few(parts: &[Part]) -> bool {
    parts.iter().map(|part| part.pods.len()).sum::<usize>() <= MOST_PODS
}

/// A way to seat all pods, if one is found.
pub(super) fn any(state: &mut State<'_>, parts: &[Part]) -> Option<Rooms> {
    let mut seated = None;
    Walk::new(state, parts).go(0, &mut |rooms| {
        seated = Some(rooms.to_vec());
        true
    });
    seated
}

/// The rooms that the pods need on other nodes when these are emptied, fewest first: with any of them kept, the rest
/// fits on the emptied nodes. Nothing where the pods do not fit even then, one empty room where those nodes are enough.
pub(super) fn beside(
    problem: &Problem<'_>,
    state: &mut State<'_>,
    parts: &[Part],
    emptied: &[NodeIdx],
) -> Vec<Rooms> {
    let start = state.checkpoint();
    for &node in emptied {
        problem.node(node).victims.iter().for_each(|&pod| state.remove(pod));
    }
    let mut ways: BTreeMap<(usize, Key), Rooms> = BTreeMap::new();
    let part_of = |pod: PodIdx| parts.iter().position(|part| part.pods.contains(&pod)).unwrap_or(0);
    Walk::new(state, parts).go(0, &mut |rooms| {
        let outside: Rooms = rooms.iter().copied().filter(|(_, node)| !emptied.contains(node)).collect();
        let mut key: Key = outside.iter().map(|&(pod, node)| (node, part_of(pod))).collect();
        key.sort_unstable();
        ways.entry((key.len(), key)).or_insert(outside);
        ways.len() >= 4 * MOST_ROOMS
    });
    state.rollback(start);
    let mut least: Vec<(Key, Rooms)> = Vec::new();
    for ((_, key), rooms) in ways {
        // Who keeps more room than another asks more of a plan, and nobody gains.
        if !least.iter().any(|(smaller, _)| contains(&key, smaller)) {
            least.push((key, rooms));
        }
    }
    least.truncate(MOST_ROOMS);
    least.into_iter().map(|(_, rooms)| rooms).collect()
}

/// True when everything in `part` is in `all`, as often. Both are sorted.
fn contains(all: &[(NodeIdx, usize)], part: &[(NodeIdx, usize)]) -> bool {
    let mut all = all.iter();
    part.iter().all(|one| all.any(|other| other == one))
}

struct Walk<'w, 's> {
    state: &'w mut State<'s>,
    /// Pods, and whether each may start where the one before it is.
    pods: Vec<(PodIdx, bool)>,
    looks: usize,
    seated: Rooms,
}

impl<'w, 's> Walk<'w, 's> {
    fn new(state: &'w mut State<'s>, parts: &[Part]) -> Self {
        let of_part = |part: &Part| {
            let follows = |(at, &pod): (usize, &PodIdx)| (pod, part.plain && at > 0);
            part.pods.iter().enumerate().map(follows).collect::<Vec<_>>()
        };
        Self { state, pods: parts.iter().flat_map(of_part).collect(), looks: 0, seated: Vec::new() }
    }

    /// Seats the pods from here on in every way; true when `found` has had enough, or there were too many looks. The
    /// state is as before afterwards.
    fn go(&mut self, at: usize, found: &mut Found<'_>) -> bool {
        let Some(&(pod, follows)) = self.pods.get(at) else { return found(&self.seated) };
        let snapshot = self.state.snapshot();
        let first = self.seated.last().filter(|_| follows).map_or(0, |last| last.1.at());
        self.looks += snapshot.nodes.len();
        if self.looks > MOST_LOOKS {
            return true;
        }
        let incoming = Incoming::pending(snapshot, pod);
        let nodes: Vec<NodeIdx> = {
            let prepared = Prepared::new(self.state, incoming);
            (first..snapshot.nodes.len()).map(NodeIdx::new).filter(|&node| prepared.fits(node)).collect()
        };
        for node in nodes {
            let start = self.state.checkpoint();
            self.state.place(incoming, node);
            self.seated.push((pod, node));
            let enough = self.go(at + 1, found);
            self.seated.pop();
            self.state.rollback(start);
            if enough {
                return true;
            }
        }
        false
    }
}
