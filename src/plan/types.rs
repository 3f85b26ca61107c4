//! What a plan is. The report of why nodes stayed is another value, in `plan::report`.
//!
//! May import: snapshot

use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx, SpecIdx};

/// One pod goes from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Move {
    /// The victim.
    pub pod: PodIdx,
    /// Where it stands.
    pub from: NodeIdx,
    /// Where its replacement goes. Equal to `from` only for a cascade pod whose node stays.
    pub to: NodeIdx,
    /// Spec of the replacement.
    pub spec: SpecIdx,
    /// Recreated by its controller because another pod of its unit is evicted; not evicted by us.
    pub cascade: bool,
    /// The replacement passes only once its victim is gone: it must be gated.
    pub gated: bool,
}

/// Room that is kept for a pod that is not there yet: one that waits, or one that will replace a terminating pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reserved {
    /// The waiting pod, or the terminating one.
    pub pod: PodIdx,
    /// Where the room is.
    pub node: NodeIdx,
    /// `pod` is terminating: the room is for the pod that its controller will make.
    pub replaces: bool,
}

/// The five dimensions of disruption, as sums over a plan or as what one node would add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimensions {
    /// Distinct PodGroups with a moved pod.
    pub affected_groups: i64,
    /// PodGroups that fall below their minimum.
    pub breached_groups: i64,
    /// Cards of breached groups, and the moved cards of all others.
    pub damaged_cards: i64,
    /// Moved cards.
    pub moved_cards: i64,
    /// Moved pods.
    pub moved_pods: i64,
}

impl Dimensions {
    /// The dimensions in the order of the weights.
    pub const fn array(self) -> [i64; 5] {
        [self.affected_groups, self.breached_groups, self.damaged_cards, self.moved_cards, self.moved_pods]
    }

    /// Weighted sum, in the unit of the weights (tenths by default).
    pub fn cost(self, weights: [i64; 5]) -> i64 {
        let parts =
            self.array().into_iter().zip(weights).map(|(amount, weight)| amount.saturating_mul(weight));
        parts.fold(0, i64::saturating_add)
    }
}

impl std::ops::Add for Dimensions {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            affected_groups: self.affected_groups + other.affected_groups,
            breached_groups: self.breached_groups + other.breached_groups,
            damaged_cards: self.damaged_cards + other.damaged_cards,
            moved_cards: self.moved_cards + other.moved_cards,
            moved_pods: self.moved_pods + other.moved_pods,
        }
    }
}

impl std::ops::Sub for Dimensions {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            affected_groups: self.affected_groups - other.affected_groups,
            breached_groups: self.breached_groups - other.breached_groups,
            damaged_cards: self.damaged_cards - other.damaged_cards,
            moved_cards: self.moved_cards - other.moved_cards,
            moved_pods: self.moved_pods - other.moved_pods,
        }
    }
}

/// A set of nodes to empty and a receiver for every pod on them, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The resource to free nodes of.
    pub resource: ResourceIdx,
    /// Nodes that will hold none of it, in the order in which they are emptied.
    pub freed: Vec<NodeIdx>,
    /// Moves in the order of execution: grouped by the node that is emptied, in the order of `freed`.
    pub moves: Vec<Move>,
    /// What it costs.
    pub disruption: Dimensions,
    /// The wave of each move, from 0: disruption budgets let the next wave begin when the replacements of the last are
    /// Ready. Empty where nobody has worked them out.
    pub waves: Vec<usize>,
    /// Room that no move may take: of waiting pods, then of pods that will replace terminating ones.
    pub reserved: Vec<Reserved>,
}

impl Plan {
    /// A plan that moves nothing.
    pub const fn empty(resource: ResourceIdx) -> Self {
        Self {
            resource,
            freed: Vec::new(),
            moves: Vec::new(),
            disruption: Dimensions {
                affected_groups: 0,
                breached_groups: 0,
                damaged_cards: 0,
                moved_cards: 0,
                moved_pods: 0,
            },
            waves: Vec::new(),
            reserved: Vec::new(),
        }
    }

    /// How many waves there are; 0 for a plan that moves nothing.
    pub fn wave_count(&self) -> usize {
        self.waves.iter().max().map_or(usize::from(!self.moves.is_empty()), |last| last + 1)
    }

    /// True when nothing moves.
    pub fn is_empty(&self) -> bool {
        self.freed.is_empty()
    }
}
