//! What no plan can exceed: for how many of the pods there is room, by the number of nodes that it empties.
//!
//! Every bound leaves rules out, never in. Of each resource and amount, the pods that ask for at least so much are
//! counted as if they asked for the least of them in everything; each node holds of those what its amounts allow, with
//! all that may leave it gone, and what comes to it ignored. Beside that, a repack creates no cards.
//!
//! May import: snapshot, filter, plan

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;

use super::part::{Apart, Part};
use crate::filter::{SchedulerRules, State};
use crate::plan::problem::{Problem, Role};
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx, Sym};

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// All cards of the pods together, and the cards that are free in the whole cluster.
    Cards {
        /// Asked for.
        need: i64,
        /// Free.
        have: i64,
    },
    /// Pods of one queue, and those that it lets in.
    Queue {
        /// Asked for.
        need: i64,
        /// Let in at most.
        have: i64,
    },
    /// Pods that ask for at least so much of something, and those that all nodes together hold, so many emptied.
    Places {
        /// Asked for.
        need: i64,
        /// Places.
        have: i64,
        /// Emptied nodes.
        emptied: usize,
    },
    /// The same, where the budget is what keeps more nodes from being emptied.
    Budget {
        /// Asked for.
        need: i64,
        /// Places.
        have: i64,
        /// Nodes that the budget lets be emptied.
        emptied: usize,
    },
    /// Pods that no node takes, were it without any other pod.
    Nowhere {
        /// Asked for.
        need: i64,
    },
}

impl Shortage {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Cards { .. } => "TooFewCards",
            Self::Queue { .. } => "QueueLimit",
            Self::Places { .. } => "TooFewNodes",
            Self::Budget { .. } => "BudgetTooSmall",
            Self::Nowhere { .. } => "NoNodeAccepts",
        }
    }
}

/// What plans of so many nodes can not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// No more of the pods find room.
    pub most: i64,
    /// What is short where those are not all; the worst of it.
    pub shortage: Option<Shortage>,
}

/// The counts behind [`Limit`].
#[derive(Clone, Debug)]
pub struct Room {
    pods: i64,
    /// Cards of the pods, least first.
    cards: Vec<i64>,
    /// Cards that are free whatever is moved; `None` where moving may free some.
    free_cards: Option<i64>,
    crowds: Vec<Crowd>,
    /// Rules beyond amounts decide about some pod, so that emptying a node may help where its amounts say no.
    beyond_amounts: bool,
    candidates: Vec<NodeIdx>,
}

/// Pods counted as if they were alike.
#[derive(Clone, Debug)]
struct Crowd {
    pods: i64,
    rules: SchedulerRules,
    amounts: Vec<(ResourceIdx, i64)>,
    accepted: FixedBitSet,
    apart: Option<Apart>,
    /// Places on nodes that are not emptied.
    base: i64,
    /// Places that each candidate gains by being emptied, most first; without those that gain nothing.
    gains: Vec<(i64, NodeIdx)>,
    /// Places of each candidate that is emptied, by name; without those that have none.
    holds: Vec<(i64, NodeIdx)>,
    /// Some node would take one if no other pod were there.
    anywhere: bool,
}

impl Room {
    pub(super) fn new(problem: &Problem<'_>, state: &State<'_>, parts: &[Part]) -> Self {
        let snapshot = problem.snapshot;
        let nodes = || (0..snapshot.nodes.len()).map(NodeIdx::new);
        let is_candidate =
            |node: &NodeIdx| matches!(problem.node(*node).role, Role::Candidate | Role::OnlyCandidate);
        let mut cards: Vec<i64> = parts.iter().flat_map(|p| p.pods.iter().map(|_| p.cards)).collect();
        cards.sort_unstable();
        let left = |node| state.left(SchedulerRules::Kube, node, problem.resource).max(0);
        let free_cards = problem.keeps_its_load().then(|| nodes().map(left).sum());
        let candidates: Vec<NodeIdx> = nodes().filter(is_candidate).collect();
        let mut crowds = crowds(parts);
        let mut places: Vec<Vec<(NodeIdx, i64, i64)>> = vec![Vec::new(); crowds.len()];
        let recreated = recreated_along(problem, &candidates);
        let mut state = state.clone();
        for node in nodes() {
            let start = state.checkpoint();
            let here = &snapshot.pods_on[node.at()];
            let may_leave = |pod: &&PodIdx| recreated.contains(*pod) || snapshot.pod(**pod).terminating;
            here.iter().filter(may_leave).for_each(|&pod| state.remove(pod));
            let base: Vec<i64> = crowds.iter().map(|crowd| crowd.on(&state, node)).collect();
            if candidates.binary_search(&node).is_ok() {
                let facts = problem.node(node);
                facts.victims.iter().for_each(|&pod| state.remove(pod));
            }
            for ((crowd, base), places) in crowds.iter().zip(base).zip(&mut places) {
                places.push((node, base, crowd.on(&state, node)));
            }
            state.rollback(start);
        }
        for (crowd, places) in crowds.iter_mut().zip(places) {
            let emptied = places.iter().filter(|place| candidates.binary_search(&place.0).is_ok());
            crowd.holds = emptied.map(|place| (place.2, place.0)).filter(|(places, _)| *places > 0).collect();
            crowd.count(places, |node, label| snapshot.node(node).labels.get(label));
            crowd.anywhere = crowd.base > 0 || !crowd.gains.is_empty() || {
                nodes().any(|node| {
                    let start = state.checkpoint();
                    snapshot.pods_on[node.at()].iter().for_each(|&pod| state.remove(pod));
                    let places = crowd.on(&state, node);
                    state.rollback(start);
                    places > 0
                })
            };
        }
        let beyond_amounts = parts.iter().any(|part| !part.plain);
        let pods = i64::try_from(cards.len()).unwrap_or(i64::MAX);
        Self { pods, cards, free_cards, crowds, beyond_amounts, candidates }
    }

    /// What plans that empty at most so many nodes can not exceed.
    pub fn limit(&self, emptied: usize) -> Limit {
        let by_places = self.crowds.iter().map(|crowd| {
            let have = crowd.places(emptied);
            let most = self.pods - (crowd.pods - have).max(0);
            let (need, emptied) = (crowd.pods, emptied.min(self.candidates.len()));
            let shortage = Shortage::Places { need, have, emptied };
            (most, if crowd.anywhere { shortage } else { Shortage::Nowhere { need } })
        });
        let by_cards = self.free_cards.map(|have| {
            let need = self.cards.iter().fold(0, |sum: i64, cards| sum.saturating_add(*cards));
            (prefix_within(&self.cards, have), Shortage::Cards { need, have })
        });
        match by_cards.into_iter().chain(by_places).min_by_key(|&(most, _)| most) {
            Some((most, shortage)) if most < self.pods => Limit { most, shortage: Some(shortage) },
            _ => Limit { most: self.pods, shortage: None },
        }
    }

    /// Nodes that a plan may empty.
    pub fn candidates(&self) -> &[NodeIdx] {
        &self.candidates
    }

    /// How many of the pods need a place besides so many emptied nodes, at least.
    pub fn needed_beside(&self, emptied: usize) -> usize {
        let beside = |crowd: &Crowd| {
            let mut holds: Vec<i64> = crowd.holds.iter().map(|(places, _)| *places).collect();
            holds.sort_unstable_by_key(|&places| Reverse(places));
            crowd.pods - holds.iter().take(emptied).sum::<i64>()
        };
        let most = self.crowds.iter().map(beside).max().unwrap_or(0);
        usize::try_from(most).unwrap_or(0)
    }

    /// No plan that empties fewer nodes makes room for all; `None` where none does at all.
    pub fn fewest(&self) -> Option<usize> {
        let all = self.candidates.len();
        if self.limit(all).shortage.is_some() {
            return None;
        }
        let (mut low, mut high) = (0, all);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.limit(middle).shortage.is_some() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// Nodes worth emptying when at most `emptied` are. First all that have something to give, then those of which so
    /// many are enough for the pods that lack most places, if these are fewer.
    pub fn worth_emptying(&self, emptied: usize) -> Vec<Vec<NodeIdx>> {
        if self.beyond_amounts {
            return self.by_size();
        }
        let short: Vec<&Crowd> = self.crowds.iter().filter(|crowd| crowd.pods > crowd.base).collect();
        let lacks = |crowd: &&&Crowd| (crowd.pods - crowd.base, Reverse(crowd.gains.len()));
        let Some(worst) = short.iter().max_by_key(lacks) else {
            return vec![self.candidates.clone()];
        };
        let nodes_of = |crowd: &Crowd, least: i64| -> Vec<NodeIdx> {
            let gaining = crowd.gains.iter().filter(|(gain, _)| *gain >= least);
            gaining.map(|&(_, node)| node).collect()
        };
        let emptied = i64::try_from(emptied.max(1)).unwrap_or(i64::MAX);
        let each = (worst.pods - worst.base - 1) / emptied + 1;
        let all = short.iter().flat_map(|crowd| nodes_of(crowd, 1)).collect();
        let mut sets: Vec<Vec<NodeIdx>> = vec![all, nodes_of(worst, each)];
        for nodes in &mut sets {
            nodes.sort_unstable();
            nodes.dedup();
        }
        sets.dedup();
        sets
    }

    /// Candidates that hold one, two, four and so on of the pods that fewest hold: rules beyond amounts may want all
    /// pods on few nodes.
    fn by_size(&self) -> Vec<Vec<NodeIdx>> {
        let mut sets = vec![self.candidates.clone()];
        let all = |crowd: &&Crowd| crowd.holds.iter().map(|(places, _)| places).sum::<i64>();
        let Some(crowd) = self.crowds.iter().min_by_key(all) else { return sets };
        let mut least = 1;
        loop {
            let holding = crowd.holds.iter().filter(|(places, _)| *places >= least);
            let nodes: Vec<NodeIdx> = holding.map(|&(_, node)| node).collect();
            if nodes.is_empty() || least >= 2 * crowd.pods {
                return sets;
            }
            sets.push(nodes);
            sets.dedup();
            least *= 2;
        }
    }
}

impl Crowd {
    /// How many of them the amounts of a node have room for.
    fn on(&self, state: &State<'_>, node: NodeIdx) -> i64 {
        if !self.accepted.contains(node.at()) {
            return 0;
        }
        let fits = self.amounts.iter().map(|&(resource, need)| state.left(self.rules, node, resource) / need);
        let fits = fits.chain([state.slots(node)]).min().unwrap_or(0).max(0);
        if self.apart.is_some() { fits.min(1) } else { fits }
    }

    /// Takes in the places of each node as it is and emptied.
    fn count(&mut self, places: Vec<(NodeIdx, i64, i64)>, label: impl Fn(NodeIdx, Sym) -> Option<Sym>) {
        let domain = |node| match self.apart {
            Some(Apart::Domain(key)) => label(node, key),
            _ => None,
        };
        let mut gains: BTreeMap<NodeIdx, i64> = BTreeMap::new();
        let mut taken: FxHashSet<Sym> = FxHashSet::default();
        for &(node, base, _) in places.iter().filter(|place| place.1 > 0) {
            self.base += match domain(node) {
                Some(domain) => i64::from(taken.insert(domain)),
                None => base,
            };
        }
        for (node, base, emptied) in places {
            let gain = match domain(node) {
                Some(domain) => i64::from(emptied > 0 && taken.insert(domain)),
                None => emptied - base,
            };
            if gain > 0 {
                gains.insert(node, gain);
            }
        }
        self.gains = gains.into_iter().map(|(node, gain)| (gain, node)).collect();
        self.gains.sort_by_key(|&(gain, node)| (Reverse(gain), node));
    }

    fn places(&self, emptied: usize) -> i64 {
        self.base + self.gains.iter().take(emptied).map(|(gain, _)| gain).sum::<i64>()
    }
}

/// How many of these amounts, least first, fit into so much together.
pub(super) fn prefix_within(amounts: &[i64], mut left: i64) -> i64 {
    let fits = |amount: &&i64| {
        left = left.saturating_sub(**amount);
        left >= 0
    };
    i64::try_from(amounts.iter().take_while(fits).count()).unwrap_or(i64::MAX)
}

/// Of each scheduler's rules, resource and amount: the pods that ask for at least so much.
fn crowds(parts: &[Part]) -> Vec<Crowd> {
    let mut bars: Vec<(SchedulerRules, Option<(ResourceIdx, i64)>)> = Vec::new();
    for part in parts {
        bars.push((part.rules, None));
        bars.extend(part.amounts.iter().map(|&amount| (part.rules, Some(amount))));
    }
    let mut crowds: Vec<Crowd> = Vec::new();
    for (rules, bar) in bars {
        let asks = |part: &&Part| {
            let amount = |resource| part.amounts.iter().find(|a| a.0 == resource).map_or(0, |a| a.1);
            part.rules == rules && bar.is_none_or(|(resource, least)| amount(resource) >= least)
        };
        let members: Vec<&Part> = parts.iter().filter(asks).collect();
        let Some((first, rest)) = members.split_first() else { continue };
        let mut amounts = first.amounts.clone();
        let mut accepted = first.accepted.clone();
        for part in rest {
            amounts.retain_mut(|(resource, need)| {
                let other = part.amounts.iter().find(|a| a.0 == *resource).map_or(0, |a| a.1);
                *need = (*need).min(other);
                *need > 0
            });
            accepted.union_with(&part.accepted);
        }
        let pods: usize = members.iter().map(|part| part.pods.len()).sum();
        let crowd = Crowd {
            pods: i64::try_from(pods).unwrap_or(i64::MAX),
            rules,
            amounts,
            accepted,
            apart: if rest.is_empty() { first.apart } else { None },
            base: 0,
            gains: Vec::new(),
            holds: Vec::new(),
            anywhere: false,
        };
        let same = |c: &Crowd| {
            (c.pods, c.rules, &c.amounts) == (crowd.pods, crowd.rules, &crowd.amounts)
                && c.accepted == crowd.accepted
        };
        if !crowds.iter().any(same) {
            crowds.push(crowd);
        }
    }
    crowds
}

/// Pods that a controller may recreate along with victims of candidates: they may leave nodes that are kept.
fn recreated_along(problem: &Problem<'_>, candidates: &[NodeIdx]) -> FxHashSet<PodIdx> {
    let victims = candidates.iter().flat_map(|&node| problem.node(node).victims.iter());
    victims.filter_map(|&pod| problem.unit_of(pod)).flatten().copied().collect()
}
