//! The best plan of a tiny cluster by trying everything, with the verifier as the only judge.
//!
//! Sets of nodes are tried from the largest on; for each set, receivers of the pods are chosen depth first, pruned by
//! amounts alone, and every complete choice is shown to the judge. Only plans without cascades and without room for
//! pods that come are built, so what is found is a lower bound where workloads restart as a whole, pods wait or are
//! terminating, and exact elsewhere.

use kubectl_repack::plan::Request;
use kubectl_repack::plan::types::{Dimensions, Move, Plan};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::snapshot::model::{NodeIdx, Phase, PodIdx, ResourceIdx};
use kubectl_repack::verify::{Check, check_plan};

/// What was found.
#[derive(Clone, Debug)]
pub struct Best {
    /// A valid plan with the most freed nodes, `None` when no node can be freed.
    pub plan: Option<Plan>,
    /// Every larger set was refuted within the allowance.
    pub complete: bool,
}

/// Complete choices that are shown to the judge, per set of nodes.
const ALLOWANCE: usize = 4_000;

/// A valid plan that frees as many nodes as any, and disturbs as little as any that frees as many.
pub fn best(snapshot: &Snapshot, request: &Request) -> Best {
    let search = Search::new(snapshot, request);
    let mut complete = true;
    let mut sets: Vec<u32> = (1..1 << search.sources.len()).collect();
    sets.sort_by_cached_key(|&set| (std::cmp::Reverse(set.count_ones()), search.cost(set, request)));
    for set in sets {
        match search.freeing(set) {
            Outcome::Found(plan) => return Best { plan: Some(plan), complete },
            Outcome::Refuted => {}
            Outcome::GaveUp => complete = false,
        }
    }
    Best { plan: None, complete }
}

/// A valid plan that frees `node` and at least `size` nodes in all, the cheapest of those that free fewest; `None` when
/// there is none. `complete` says whether all were refuted.
pub fn with(snapshot: &Snapshot, request: &Request, node: NodeIdx, size: usize) -> Best {
    let search = Search::new(snapshot, request);
    let mut complete = true;
    let Some(must) = search.sources.iter().position(|&source| source == node) else {
        return Best { plan: None, complete };
    };
    let wanted = |set: &u32| set >> must & 1 == 1 && set.count_ones() as usize >= size;
    let mut sets: Vec<u32> = (1..1 << search.sources.len()).filter(wanted).collect();
    sets.sort_by_cached_key(|&set| (set.count_ones(), search.cost(set, request)));
    for set in sets {
        match search.freeing(set) {
            Outcome::Found(plan) => return Best { plan: Some(plan), complete },
            Outcome::Refuted => {}
            Outcome::GaveUp => complete = false,
        }
    }
    Best { plan: None, complete }
}

enum Outcome {
    Found(Plan),
    Refuted,
    GaveUp,
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    request: &'a Request,
    resource: ResourceIdx,
    /// Nodes each of which the judge does not refuse for what it is.
    sources: Vec<NodeIdx>,
    /// Nodes that hold cards.
    occupied: Vec<NodeIdx>,
}

impl<'a> Search<'a> {
    fn new(snapshot: &'a Snapshot, request: &'a Request) -> Self {
        let resource = snapshot.resource_named(&request.resource).unwrap();
        let mut search = Self { snapshot, request, resource, sources: Vec::new(), occupied: Vec::new() };
        let all = (0..snapshot.nodes.len()).map(NodeIdx::new);
        search.occupied = all.filter(|&node| !search.holders(node).is_empty()).collect();
        search.sources = search.occupied.iter().copied().filter(|&node| search.may_be_freed(node)).collect();
        search
    }

    fn holders(&self, node: NodeIdx) -> Vec<PodIdx> {
        let here = self.snapshot.pods_on[node.at()].iter().copied();
        here.filter(|&pod| self.snapshot.charged(pod, self.resource) > 0).collect()
    }

    fn victims(&self, node: NodeIdx) -> Vec<PodIdx> {
        let mut pods = self.holders(node);
        pods.retain(|&pod| !self.snapshot.pod(pod).terminating);
        pods
    }

    /// A plan that leaves everything undone is refused for that alone if the node itself is in order; and each pod
    /// alone is refused only for its receiver.
    fn may_be_freed(&self, node: NodeIdx) -> bool {
        let moves = self.victims(node).into_iter().map(|pod| self.to(pod, node, node)).collect();
        let about_places = [
            Check::MovedToItself,
            Check::ReceiverFreed,
            Check::RefusedInTheEnd,
            Check::RefusedAtItsTurn,
            Check::WrongDisruption,
            Check::TooLittleImprovement,
            Check::ReceiverCordoned,
        ];
        let plan = self.plan(vec![node], moves);
        check_plan(self.snapshot, self.request, &plan).iter().all(|f| about_places.contains(&f.check))
    }

    fn to(&self, pod: PodIdx, from: NodeIdx, to: NodeIdx) -> Move {
        let spec = self.snapshot.pod(pod).replacement_spec();
        Move { pod, from, to, spec, cascade: false, gated: false }
    }

    fn plan(&self, freed: Vec<NodeIdx>, moves: Vec<Move>) -> Plan {
        let disruption = Dimensions::default();
        Plan { freed, moves, disruption, ..Plan::empty(self.resource) }
    }

    fn nodes(&self, set: u32) -> Vec<NodeIdx> {
        (0..self.sources.len()).filter(|at| set >> at & 1 == 1).map(|at| self.sources[at]).collect()
    }

    /// What emptying the set costs, wherever its pods go.
    fn cost(&self, set: u32, request: &Request) -> i64 {
        let freed = self.nodes(set);
        let victims =
            freed.iter().flat_map(|&node| self.victims(node).into_iter().map(move |pod| (pod, node)));
        let moves = victims.map(|(pod, node)| self.to(pod, node, node)).collect();
        disruption(self.snapshot, &self.plan(freed, moves)).cost(request.weights.array())
    }

    fn freeing(&self, set: u32) -> Outcome {
        let freed = self.nodes(set);
        let receivers: Vec<NodeIdx> =
            self.occupied.iter().copied().filter(|node| !freed.contains(node)).collect();
        let mut room: Vec<Vec<i64>> = receivers.iter().map(|&node| self.free(node)).collect();
        let mut victims: Vec<(PodIdx, NodeIdx)> = freed
            .iter()
            .flat_map(|&node| self.victims(node).into_iter().map(move |pod| (pod, node)))
            .collect();
        victims.sort_by_key(|&(pod, _)| std::cmp::Reverse(self.snapshot.charged(pod, self.resource)));
        let mut chosen = Vec::new();
        let mut left = ALLOWANCE;
        match self.place(&freed, &receivers, &mut room, &victims, &mut chosen, &mut left) {
            Some(plan) => Outcome::Found(plan),
            None if left > 0 => Outcome::Refuted,
            None => Outcome::GaveUp,
        }
    }

    /// What a node has left, by resource.
    fn free(&self, node: NodeIdx) -> Vec<i64> {
        let mut free = self.snapshot.node(node).allocatable.to_vec();
        for &pod in &self.snapshot.pods_on[node.at()] {
            for &(resource, amount) in &self.snapshot.requests(self.snapshot.pod(pod).charged).0 {
                free[resource.at()] -= amount;
            }
        }
        free
    }

    fn place(
        &self,
        freed: &[NodeIdx],
        receivers: &[NodeIdx],
        room: &mut [Vec<i64>],
        victims: &[(PodIdx, NodeIdx)],
        chosen: &mut Vec<Move>,
        left: &mut usize,
    ) -> Option<Plan> {
        if *left == 0 {
            return None;
        }
        let Some((&(pod, from), others)) = victims.split_first() else {
            *left -= 1;
            return self.judged(freed, chosen);
        };
        let spec = self.snapshot.spec(self.snapshot.pod(pod).replacement_spec());
        let wants = &self.snapshot.requests(spec.requests).0;
        for at in 0..receivers.len() {
            if wants.iter().any(|&(resource, amount)| room[at][resource.at()] < amount) {
                continue;
            }
            for &(resource, amount) in wants {
                room[at][resource.at()] -= amount;
            }
            chosen.push(self.to(pod, from, receivers[at]));
            let found = self.place(freed, receivers, room, others, chosen, left);
            chosen.pop();
            for &(resource, amount) in wants {
                room[at][resource.at()] += amount;
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The judge sees the moves in the order of the nodes, forwards and backwards, those of a node likewise, with and
    /// without gates.
    fn judged(&self, freed: &[NodeIdx], chosen: &[Move]) -> Option<Plan> {
        let backwards: Vec<NodeIdx> = freed.iter().rev().copied().collect();
        let orders = [(freed, false), (freed, true), (&backwards, false), (&backwards, true)];
        for ((order, turned), gated) in orders.into_iter().flat_map(|order| [(order, false), (order, true)]) {
            let mut moves: Vec<Move> = chosen.iter().map(|&m| Move { gated, ..m }).collect();
            moves.sort_by_key(|m| m.pod);
            if turned {
                moves.reverse();
            }
            moves.sort_by_key(|m| order.iter().position(|&node| node == m.from));
            let mut plan = self.plan(order.to_vec(), moves);
            plan.disruption = disruption(self.snapshot, &plan);
            if check_plan(self.snapshot, self.request, &plan).is_empty() {
                return Some(plan);
            }
        }
        None
    }
}

/// What a plan costs, from the definition.
pub fn disruption(snapshot: &Snapshot, plan: &Plan) -> Dimensions {
    let mut total = Dimensions::default();
    for group in &snapshot.groups {
        let moves = plan.moves.iter().filter(|m| group.pods.contains(&m.pod));
        let cards: Vec<i64> = moves.map(|m| snapshot.charged(m.pod, plan.resource)).collect();
        if cards.is_empty() {
            continue;
        }
        let standing = |pod: &&PodIdx| {
            let pod = snapshot.pod(**pod);
            pod.stands() && !pod.terminating
        };
        let runs = |pod: &&PodIdx| match snapshot.pod(**pod).phase {
            Phase::Succeeded => true,
            Phase::Running => standing(pod),
            _ => false,
        };
        let pods = i64::try_from(cards.len()).unwrap();
        let running = i64::try_from(group.pods.iter().filter(runs).count()).unwrap();
        let breached = pods > (running - group.min_member).max(0);
        let moved: i64 = cards.iter().sum();
        let all: i64 =
            group.pods.iter().filter(standing).map(|&pod| snapshot.charged(pod, plan.resource)).sum();
        total = total
            + Dimensions {
                affected_groups: 1,
                breached_groups: i64::from(breached),
                damaged_cards: if breached { all } else { moved },
                moved_cards: moved,
                moved_pods: pods,
            };
    }
    total
}
