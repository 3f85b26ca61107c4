//! Holes: the free amount of a resource on each node, and the whole pods that fit into them.
//!
//! Idle cards help only as far as they lie together, so the report shows holes by size and what could start now.
//! Units: whole amounts of the resource (cards), nodes, pods. Which nodes count (all, one pool, only those that
//! may receive) is the caller's choice. Only the resource itself is looked at, no other Filter.
//!
//! Cost: O(n log n) for n nodes, then sizes × distinct holes.
//!
//! May import: nothing of this crate

use std::collections::BTreeSet;
use std::fmt;

/// Capacity and free amount of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRoom {
    /// What the node provides; gives the useful sizes. ≤ 0: none.
    pub capacity: i64,
    /// Capacity minus requests. Negative (requests beyond what the node still provides) counts as 0.
    pub free: i64,
}

/// Nodes with the same free amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Free amount of each of these nodes, ≥ 0; 0 = full.
    pub free: i64,
    /// How many nodes.
    pub nodes: u64,
}

/// How many whole pods of one size fit at once; prints as `5x8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The amount one pod requests, > 0.
    pub size: i64,
    /// How many such pods fit, each whole on one node.
    pub pods: u64,
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.pods, self.size)
    }
}

/// Holes by size, what fits into them, and the largest job that could start now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// All nodes by free amount, largest first; full nodes are the last entry.
    pub histogram: Vec<Hole>,
    /// Sum over all nodes; saturates.
    pub free: u64,
    /// For every [useful size](useful_sizes), largest first, 0 pods included.
    pub fits: Vec<Fit>,
    /// The largest useful size of which at least one pod fits, with the number that fit; `None` when none does.
    pub largest_job: Option<Fit>,
}

impl Holes {
    /// The holes of these nodes. The order of the nodes does not matter.
    pub fn new(nodes: impl IntoIterator<Item = NodeRoom>) -> Self {
        let nodes: Vec<NodeRoom> = nodes.into_iter().collect();
        let histogram = histogram(nodes.iter().map(|node| node.free));
        let sizes = useful_sizes(nodes.iter().map(|node| node.capacity));
        let fits: Vec<Fit> = sizes.into_iter().map(|size| fit(&histogram, size)).collect();
        let largest_job = fits.iter().find(|fit| fit.pods > 0).copied();
        let free = histogram
            .iter()
            .fold(0_u64, |sum, hole| sum.saturating_add(hole.free.unsigned_abs().saturating_mul(hole.nodes)));
        Self { histogram, free, fits, largest_job }
    }
}

/// Nodes counted by free amount, largest first; negative counts as 0.
pub fn histogram(free: impl IntoIterator<Item = i64>) -> Vec<Hole> {
    let mut free: Vec<i64> = free.into_iter().map(|free| free.max(0)).collect();
    free.sort_unstable_by(|a, b| b.cmp(a));
    let of_size = |equal: &[i64]| Hole { free: equal[0], nodes: equal.len() as u64 };
    free.chunk_by(|a, b| a == b).map(of_size).collect()
}

/// The pod sizes worth reporting: the powers of two up to the largest capacity, and each capacity itself (a job
/// of whole nodes). Largest first, each once.
pub fn useful_sizes(capacities: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut sizes: BTreeSet<i64> = capacities.into_iter().filter(|&capacity| capacity > 0).collect();
    let largest = sizes.last().copied().unwrap_or(0);
    sizes.extend((0..i64::BITS - 1).map(|bit| 1_i64 << bit).take_while(|&power| power <= largest));
    sizes.into_iter().rev().collect()
}

/// How many pods of `size` fit into the holes at once: Σ ⌊free / size⌋, which is exact for pods of one size.
/// A size ≤ 0 fits no time; the count saturates.
pub fn fit(histogram: &[Hole], size: i64) -> Fit {
    let pods = histogram.iter().take_while(|hole| size > 0 && hole.free >= size).fold(0_u64, |pods, hole| {
        pods.saturating_add((hole.free / size).unsigned_abs().saturating_mul(hole.nodes))
    });
    Fit { size, pods }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(rooms: &[(i64, i64)]) -> Holes {
        Holes::new(rooms.iter().map(|&(capacity, free)| NodeRoom { capacity, free }))
    }

    #[test]
    fn five_idle_nodes_of_eight_take_a_job_of_5x8() {
        let mut rooms = vec![(8, 8); 5];
        rooms.extend([(8, 4), (8, 2), (8, 5)]);
        rooms.extend([(8, 0); 12]);
        let holes = nodes(&rooms);
        assert_eq!(holes.free, 51);
        assert_eq!(holes.largest_job.unwrap().to_string(), "5x8");
        let fits: Vec<String> = holes.fits.iter().map(Fit::to_string).collect();
        assert_eq!(fits, ["5x8", "12x4", "25x2", "51x1"]);
        let histogram: Vec<(i64, u64)> = holes.histogram.iter().map(|hole| (hole.free, hole.nodes)).collect();
        assert_eq!(histogram, [(8, 5), (5, 1), (4, 1), (2, 1), (0, 12)]);
    }

    #[test]
    fn scattered_cards_fit_no_whole_node_job() {
        // 192 free cards, 2 on each of 96 nodes.
        let holes = nodes(&vec![(8, 2); 96]);
        assert_eq!(holes.free, 192);
        assert_eq!(holes.largest_job, Some(Fit { size: 2, pods: 96 }));
        assert_eq!(holes.fits[0], Fit { size: 8, pods: 0 });
    }

    #[test]
    fn capacities_that_are_no_powers_of_two_are_sizes_of_their_own() {
        assert_eq!(useful_sizes([6, 10, 6, 0, -3]), [10, 8, 6, 4, 2, 1]);
        let holes = nodes(&[(10, 9), (6, 6)]);
        assert_eq!(holes.largest_job, Some(Fit { size: 8, pods: 1 }));
        assert_eq!(holes.fits[2], Fit { size: 6, pods: 2 });
    }

    #[test]
    fn an_overcommitted_node_is_full_not_negative() {
        let holes = nodes(&[(4, -4), (8, 0)]);
        assert_eq!(holes.histogram, [Hole { free: 0, nodes: 2 }]);
        assert_eq!((holes.free, holes.largest_job), (0, None));
        assert!(holes.fits.iter().all(|fit| fit.pods == 0));
    }

    #[test]
    fn no_nodes_no_holes() {
        assert_eq!(nodes(&[]), Holes::default());
    }

    #[test]
    fn huge_amounts_saturate() {
        let holes = nodes(&[(i64::MAX, i64::MAX); 3]);
        assert_eq!(holes.free, u64::MAX);
        assert_eq!(holes.largest_job, Some(Fit { size: i64::MAX, pods: 3 }));
        assert_eq!(holes.fits.last(), Some(&Fit { size: 1, pods: u64::MAX }));
        assert_eq!(fit(&holes.histogram, 0).pods, 0);
        assert_eq!(fit(&holes.histogram, i64::MIN).pods, 0);
    }

    #[test]
    fn ten_thousand_nodes() {
        let rooms: Vec<(i64, i64)> = (0..10_000).map(|index| (8, index % 9)).collect();
        let holes = nodes(&rooms);
        // 10,000 = 9 × 1,111 + 1: one more full node.
        assert_eq!(holes.histogram.len(), 9);
        assert_eq!(holes.histogram.last(), Some(&Hole { free: 0, nodes: 1_112 }));
        assert_eq!(holes.free, 1_111 * 36);
        assert_eq!(holes.largest_job, Some(Fit { size: 8, pods: 1_111 }));
        assert_eq!(holes.fits[1], Fit { size: 4, pods: 1_111 * (4 + 2) });
    }

    proptest! {
        #[test]
        fn counting_by_histogram_equals_counting_node_by_node(
            free in prop::collection::vec(-3_i64..40, 0..50),
            size in 1_i64..20,
        ) {
            let holes = histogram(free.iter().copied());
            let mut pods = 0;
            for &node in &free {
                let mut left = node;
                while left >= size {
                    left -= size;
                    pods += 1;
                }
            }
            prop_assert_eq!(fit(&holes, size), Fit { size, pods });
            prop_assert!(holes.windows(2).all(|pair| pair[0].free > pair[1].free));
            prop_assert_eq!(holes.iter().map(|hole| hole.nodes).sum::<u64>(), free.len() as u64);
        }
    }
}
