//! Candidates in buckets of equal added disruption, and the documented choice among buckets.
//!
//! Nodes that would add the same five amounts get the same score, so a round looks at buckets, not at nodes. The
//! benefit of a candidate is the number of whole nodes it frees, one for each, so ties are broken by name.
//!
//! May import: snapshot, plan

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::types::Dimensions;
use crate::snapshot::model::NodeIdx;

/// All candidates of a round.
#[derive(Debug)]
pub struct Candidates {
    buckets: BTreeMap<Dimensions, BTreeSet<NodeIdx>>,
    added: Vec<Option<Dimensions>>,
}

impl Candidates {
    /// No candidates among `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { buckets: BTreeMap::new(), added: vec![None; nodes] }
    }

    /// Candidates among `nodes` nodes and what each would add, in order of nodes.
    pub fn of(nodes: usize, mut rated: Vec<(NodeIdx, Dimensions)>) -> Self {
        let mut added = vec![None; nodes];
        for &(node, adds) in &rated {
            added[node.at()] = Some(adds);
        }
        rated.sort_by_key(|&(_, adds)| adds);
        let alike = rated.chunk_by(|a, b| a.1 == b.1);
        let buckets = alike.map(|alike| (alike[0].1, alike.iter().map(|&(node, _)| node).collect()));
        Self { buckets: buckets.collect(), added }
    }

    /// The node would add `added`.
    pub fn set(&mut self, node: NodeIdx, added: Dimensions) {
        if self.added[node.at()] == Some(added) {
            return;
        }
        self.remove(node);
        self.added[node.at()] = Some(added);
        self.buckets.entry(added).or_default().insert(node);
    }

    /// The node is no candidate any more.
    pub fn remove(&mut self, node: NodeIdx) {
        let Some(added) = self.added[node.at()].take() else { return };
        let Some(bucket) = self.buckets.get_mut(&added) else { return };
        bucket.remove(&node);
        if bucket.is_empty() {
            self.buckets.remove(&added);
        }
    }

    /// True while the node is a candidate.
    pub fn contains(&self, node: NodeIdx) -> bool {
        self.added[node.at()].is_some()
    }

    /// Distinct vectors with a candidate, in order.
    pub fn vectors(&self) -> impl Iterator<Item = Dimensions> + '_ {
        self.buckets.keys().copied()
    }

    /// The candidates of one bucket, by name.
    pub fn bucket(&self, added: Dimensions) -> impl Iterator<Item = NodeIdx> + '_ {
        self.buckets.get(&added).into_iter().flatten().copied()
    }
}

/// Smallest and largest value of each dimension.
pub fn extremes(vectors: &[Dimensions]) -> ([i64; 5], [i64; 5]) {
    let (mut low, mut high) = ([i64::MAX; 5], [i64::MIN; 5]);
    for vector in vectors {
        for (at, value) in vector.array().into_iter().enumerate() {
            low[at] = low[at].min(value);
            high[at] = high[at].max(value);
        }
    }
    (low, high)
}

/// Scores are equal when they agree to this many parts of one.
const SCORE_UNIT: f64 = 1e9;

/// The weighted sum of min-max normalised dimensions, rounded to 1e-9. A dimension that all share counts nothing.
pub fn score(vector: Dimensions, low: &[i64; 5], high: &[i64; 5], weights: &[i64; 5]) -> i64 {
    let mut sum = 0.0;
    for (at, value) in vector.array().into_iter().enumerate() {
        if high[at] > low[at] {
            #[expect(clippy::cast_precision_loss, reason = "amounts of a cluster are far below 2^52")]
            let share = (value - low[at]) as f64 / (high[at] - low[at]) as f64 * weights[at] as f64;
            sum += share;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a sum of weights times one billion fits")]
    let rounded = (sum / 10.0 * SCORE_UNIT).round() as i64;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(a: i64, b: i64, c: i64, d: i64, e: i64) -> Dimensions {
        Dimensions { affected_groups: a, breached_groups: b, damaged_cards: c, moved_cards: d, moved_pods: e }
    }

    #[test]
    fn the_guide_prefers_one_group_within_its_minimum() {
        // Three ways to free a node of three cards: three pods of one group; one pod of each of three groups; one
        // group that falls below its minimum.
        let ways = [vector(1, 0, 3, 3, 3), vector(3, 0, 3, 3, 3), vector(1, 1, 8, 3, 3)];
        let (low, high) = extremes(&ways);
        let scores = ways.map(|w| score(w, &low, &high, &[10, 8, 6, 3, 1]));
        assert_eq!(scores[0], 0);
        assert_eq!(scores[1], 1_000_000_000);
        assert_eq!(scores[2], 1_400_000_000);
    }

    #[test]
    fn a_candidate_is_in_the_bucket_of_what_it_adds() {
        let mut candidates = Candidates::new(3);
        for at in [2, 0, 1] {
            candidates.set(NodeIdx::new(at), vector(1, 0, 1, 1, 1));
        }
        let order: Vec<u32> = candidates.bucket(vector(1, 0, 1, 1, 1)).map(NodeIdx::number).collect();
        assert_eq!(order, [0, 1, 2]);
        candidates.set(NodeIdx::new(1), vector(0, 0, 1, 1, 1));
        candidates.remove(NodeIdx::new(2));
        assert_eq!(candidates.vectors().count(), 2);
        assert!(candidates.contains(NodeIdx::new(1)) && !candidates.contains(NodeIdx::new(2)));
    }
}
