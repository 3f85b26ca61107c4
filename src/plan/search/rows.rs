//! Necessary conditions on a set of nodes to empty, as rows `Σ weight(node) ≤ limit` over the set.
//!
//! Everything that leaves must find room on receivers that stay. Two kinds of rows, each for a set of node classes U
//! and the demands that only U accepts:
//! - *slots*: with items of s cards counted as one slot (and larger ones as ⌊cards / s⌋), the slots that leave are at
//!   most those that the receivers in U have, Σ ⌊free / s⌋, where cpu and memory cap a node's slots as well. For sizes
//!   that divide each other these rows are also sufficient on cards (Coffman, Garey, Johnson 1987); for others they
//!   are a dual feasible function (Fekete and Schepers 2001);
//! - *volumes*: the same for the plain sum of every other resource.
//!
//! A node that is emptied does not receive, so its weight is what leaves plus what it no longer offers; no offer
//! counts for more than all that could leave. Rows only leave rules out, so no valid plan breaks one.
//!
//! However many sets there are, a candidate with a pod that no other receiver has room for is *stuck*, by itself, and
//! so is one that alone is more than a budget allows.
//!
//! May import: snapshot, filter, plan

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;

use super::demand::{Demand, Demands, receivers};
use super::field::Field;
use crate::filter::{SchedulerRules, State};
use crate::snapshot::model::{NodeIdx, PodIdx};

/// The rows of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// By row.
    pub limits: Vec<i64>,
    /// By candidate and row.
    pub weights: Vec<Vec<i64>>,
    /// By candidate: no plan empties it.
    pub stuck: Vec<bool>,
}

/// More card sizes than this are not looked at one by one.
const MOST_SIZES: usize = 8;
/// With at most this many sets of accepted classes their unions by pairs get rows, too.
const MOST_PAIRED: usize = 10;
/// Sets of accepted classes that get rows: those that most victims need. Every row is one number per candidate, and
/// pods that are pinned to nodes one by one would make thousands.
pub(super) const MOST_SETS: usize = 32;
/// The tightest rows are kept.
pub(super) const MOST_ROWS: usize = 64;
/// Receivers that are looked at for one demand; where none of them has room, nothing is known.
const MOST_LOOKS: usize = 1_000;
/// Largest weight of a row of volumes after scaling: far below what floating point holds exactly.
const LARGEST: i64 = 1 << 20;

struct Row {
    limit: i64,
    weights: Vec<i64>,
}

impl Rows {
    pub fn new(field: &Field<'_, '_>, demands: &Demands, state: &State<'_>) -> Self {
        let offers = Offers::new(field, demands, state);
        let stuck = stuck(field, demands, &offers);
        let leaving = Leaving::new(demands, &stuck);
        let mut rows: Vec<Row> = Vec::new();
        for set in families(demands, &leaving) {
            let inside: Vec<bool> = demands
                .classes
                .iter()
                .zip(&leaving.items)
                .map(|(d, &items)| items > 0 && demands.accepted[d.accepted].is_subset(&set))
                .collect();
            let mut sizes: Vec<i64> = demands
                .classes
                .iter()
                .zip(&inside)
                .filter(|(d, i)| **i && d.cards > 0)
                .map(|(d, _)| d.cards)
                .collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes.truncate(MOST_SIZES);
            for &size in &sizes {
                rows.push(slots(field, demands, &offers, &leaving, &set, &inside, size));
            }
            for at in 0..demands.dimensions.len() {
                if demands.dimensions[at].resource != field.problem.resource {
                    rows.extend(volume(field, demands, &offers, &leaving, &set, &inside, at));
                }
            }
        }
        rows.retain(|row| row.weights.iter().sum::<i64>() > row.limit);
        let mut seen: FxHashSet<(i64, Vec<i64>)> = FxHashSet::default();
        rows.retain(|row| seen.insert((row.limit, row.weights.clone())));
        // The share of all weight that the limit leaves, in parts of a million.
        rows.sort_by_key(|row| {
            i128::from(row.limit.max(0)) * 1_000_000 / i128::from(row.weights.iter().sum::<i64>().max(1))
        });
        rows.truncate(MOST_ROWS);
        let weights = (0..field.len()).map(|at| rows.iter().map(|row| row.weights[at]).collect()).collect();
        Self { limits: rows.iter().map(|row| row.limit).collect(), weights, stuck }
    }
}

/// What receivers have left, and pods on them that may leave because their unit is recreated.
struct Offers {
    nodes: Vec<Option<Offer>>,
}

#[derive(Clone)]
struct Offer {
    class: usize,
    cards: i64,
    left: Vec<i64>,
}

impl Offers {
    fn new(field: &Field<'_, '_>, demands: &Demands, state: &State<'_>) -> Self {
        let snapshot = field.problem.snapshot;
        let mut nodes = vec![None; field.problem.nodes.len()];
        for node in receivers(field) {
            let mut left = demands.left(state, node);
            let mut leaving: Vec<PodIdx> = snapshot.pods_on[node.at()]
                .iter()
                .copied()
                .filter(|pod| field.entangled.contains(pod))
                .collect();
            leaving.dedup();
            for (at, d) in demands.dimensions.iter().enumerate() {
                for &pod in &leaving {
                    let pod = snapshot.pod(pod);
                    let charged =
                        if d.rules == SchedulerRules::Volcano { pod.charged_volcano } else { pod.charged };
                    left[at] += snapshot.requests(charged).get(d.resource);
                }
            }
            let cards = |(d, &left): (&super::demand::Dimension, &i64)| {
                (d.resource == field.problem.resource).then(|| match d.rules {
                    SchedulerRules::Volcano => left.div_euclid(1000),
                    _ => left,
                })
            };
            let cards = demands.dimensions.iter().zip(&left).filter_map(cards).max().unwrap_or(0).max(0);
            nodes[node.at()] = Some(Offer { class: snapshot.node(node).class.at(), cards, left });
        }
        Self { nodes }
    }

    fn of(&self, node: NodeIdx) -> Option<&Offer> {
        self.nodes[node.at()].as_ref()
    }

    fn all(&self) -> impl Iterator<Item = &Offer> {
        self.nodes.iter().flatten()
    }
}

/// Sets of node classes to look at: every set that many victims are accepted by, pairs of them, and all together.
fn families(demands: &Demands, leaving: &Leaving) -> Vec<FixedBitSet> {
    let mut items = vec![0_usize; demands.accepted.len()];
    for (demand, count) in demands.classes.iter().zip(&leaving.items) {
        items[demand.accepted] += count;
    }
    let mut busiest: Vec<usize> = (0..items.len()).filter(|&at| items[at] > 0).collect();
    let few: Vec<usize> = if busiest.len() <= MOST_PAIRED { busiest.clone() } else { Vec::new() };
    busiest.sort_by_key(|&at| (std::cmp::Reverse(items[at]), at));
    busiest.truncate(MOST_SETS);
    let mut sets: Vec<FixedBitSet> = busiest.into_iter().map(|at| demands.accepted[at].clone()).collect();
    for (at, &a) in few.iter().enumerate() {
        for &b in &few[..at] {
            sets.push(&demands.accepted[a] | &demands.accepted[b]);
        }
    }
    let mut all = FixedBitSet::new();
    let needed = demands.accepted.iter().zip(&items).filter(|(_, items)| **items > 0);
    needed.for_each(|(set, _)| all.union_with(set));
    sets.push(all);
    let mut distinct: Vec<FixedBitSet> = Vec::new();
    for set in sets {
        if !distinct.contains(&set) {
            distinct.push(set);
        }
    }
    distinct
}

fn slots(
    field: &Field<'_, '_>,
    demands: &Demands,
    offers: &Offers,
    leaving: &Leaving,
    set: &FixedBitSet,
    inside: &[bool],
    size: i64,
) -> Row {
    let of_demand: Vec<i64> =
        demands.classes.iter().zip(inside).map(|(d, &i)| if i { d.cards / size } else { 0 }).collect();
    // Most slots per amount of a resource, where every item needs some of it.
    let caps: Vec<(usize, i64, i64)> = (0..demands.dimensions.len())
        .filter(|&at| demands.dimensions[at].resource != field.problem.resource)
        .filter_map(|at| {
            let counted = || demands.classes.iter().zip(&of_demand).filter(|(_, slots)| **slots > 0);
            let all = counted().all(|(d, _)| d.compares.contains(&at) && d.takes[at] > 0);
            let best = counted().max_by(|(a, x), (b, y)| {
                (i128::from(**x) * i128::from(b.takes[at])).cmp(&(i128::from(**y) * i128::from(a.takes[at])))
            });
            best.filter(|_| all).map(|(d, &slots)| (at, slots, d.takes[at]))
        })
        .collect();
    let offered = |offer: &Offer| {
        if !set.contains(offer.class) {
            return 0;
        }
        let of_cards = offer.cards / size;
        caps.iter().fold(of_cards, |least, &(at, slots, takes)| {
            let of_amount = i128::from(offer.left[at].max(0)) * i128::from(slots) / i128::from(takes);
            least.min(i64::try_from(of_amount).unwrap_or(i64::MAX))
        })
    };
    row(field, demands, offers, leaving, |d| of_demand[d], offered)
}

fn volume(
    field: &Field<'_, '_>,
    demands: &Demands,
    offers: &Offers,
    leaving: &Leaving,
    set: &FixedBitSet,
    inside: &[bool],
    dimension: usize,
) -> Option<Row> {
    let taken = |d: &Demand| if d.compares.contains(&dimension) { d.takes[dimension] } else { 0 };
    let largest =
        demands.classes.iter().zip(inside).filter(|(_, i)| **i).map(|(d, _)| taken(d)).max().unwrap_or(0);
    if largest == 0 {
        return None;
    }
    // Rounding demands down and offers up keeps the row valid.
    let unit = (largest / LARGEST).max(1);
    let of_demand: Vec<i64> =
        demands.classes.iter().zip(inside).map(|(d, &i)| if i { taken(d) / unit } else { 0 }).collect();
    let offered = |offer: &Offer| {
        if set.contains(offer.class) { offer.left[dimension].max(0).div_euclid(unit) + 1 } else { 0 }
    };
    Some(row(field, demands, offers, leaving, |d| of_demand[d], offered))
}

fn row(
    field: &Field<'_, '_>,
    demands: &Demands,
    offers: &Offers,
    leaving: &Leaving,
    of_demand: impl Fn(usize) -> i64,
    offered: impl Fn(&Offer) -> i64,
) -> Row {
    let leaves = |at: usize| demands.of_candidate[at].iter().map(|&d| of_demand(d as usize)).sum::<i64>();
    let leaves: Vec<i64> = (0..field.len()).map(|at| if leaving.may[at] { leaves(at) } else { 0 }).collect();
    // More than leaves is needed nowhere: tighter, and no number grows with what nodes have idle.
    let all: i64 = leaves.iter().sum();
    let offered = |offer: &Offer| offered(offer).min(all);
    let limit = offers.all().map(&offered).sum();
    let weight = |(at, &node): (usize, &NodeIdx)| {
        if leaving.may[at] { leaves[at] + offers.of(node).map_or(0, &offered) } else { 0 }
    };
    Row { limit, weights: field.candidates.iter().enumerate().map(weight).collect() }
}

/// Candidates that may be emptied, and how often each demand leaves at most.
struct Leaving {
    may: Vec<bool>,
    items: Vec<usize>,
}

impl Leaving {
    fn new(demands: &Demands, stuck: &[bool]) -> Self {
        let mut items = vec![0; demands.classes.len()];
        let may: Vec<bool> = stuck.iter().map(|stuck| !stuck).collect();
        for (of, _) in demands.of_candidate.iter().zip(&may).filter(|(_, may)| **may) {
            for &demand in of {
                items[demand as usize] += 1;
            }
        }
        Self { may, items }
    }
}

/// Candidates that no budget allows, and those with a pod that no other receiver has room for.
fn stuck(field: &Field<'_, '_>, demands: &Demands, offers: &Offers) -> Vec<bool> {
    let mut of_class: Vec<Vec<NodeIdx>> = vec![Vec::new(); field.problem.snapshot.node_classes.len()];
    for (at, offer) in offers.nodes.iter().enumerate() {
        if let Some(offer) = offer {
            of_class[offer.class].push(NodeIdx::new(at));
        }
    }
    let hosts: Vec<Hosts> = demands
        .classes
        .iter()
        .map(|d| {
            let nodes = demands.accepted[d.accepted].ones().flat_map(|class| &of_class[class]);
            Hosts::of(nodes.take(MOST_LOOKS + 1).copied(), |node| {
                offers.of(node).is_some_and(|offer| {
                    offer.cards >= d.cards && d.compares.iter().all(|&at| offer.left[at] >= d.takes[at])
                })
            })
        })
        .collect();
    let is_stuck = |at: usize| {
        let finds_none = |&demand: &u32| match hosts[demand as usize] {
            Hosts::None => true,
            Hosts::Only(host) => host == field.candidates[at],
            Hosts::Several => false,
        };
        !field.affordable[at] || demands.of_candidate[at].iter().any(finds_none)
    };
    (0..field.len()).map(is_stuck).collect()
}

/// Receivers that have room for a demand.
enum Hosts {
    None,
    Only(NodeIdx),
    /// Or there are too many to look at.
    Several,
}

impl Hosts {
    fn of(nodes: impl Iterator<Item = NodeIdx>, has_room: impl Fn(NodeIdx) -> bool) -> Self {
        let mut found = Self::None;
        for (looks, node) in nodes.enumerate() {
            if looks == MOST_LOOKS {
                return Self::Several;
            }
            if !has_room(node) {
                continue;
            }
            found = match found {
                Self::None => Self::Only(node),
                _ => return Self::Several,
            };
        }
        found
    }
}
