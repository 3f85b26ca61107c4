//! Plans of one request for growing numbers of freed nodes, each made once.
//!
//! May import: engine, parallel, plan, snapshot

use std::collections::BTreeMap;

use super::{Fault, checked_plan};
use crate::parallel;
use crate::plan::benefit::Step;
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;

/// Up to this many nodes every number of them is looked at.
pub(super) const ALL: usize = 24;

/// The plans.
pub(super) struct Points<'s> {
    snapshot: &'s Snapshot,
    /// Any improvement is enough for a point.
    request: Request,
    made: BTreeMap<usize, Planned>,
    most: usize,
}

impl<'s> Points<'s> {
    /// Makes the plan of the most nodes.
    pub fn new(snapshot: &'s Snapshot, request: &Request) -> Result<Self, Fault> {
        let request = Request { min_improvement_percent: 0, min_benefit: None, ..request.clone() };
        let whole = checked_plan(snapshot, &request)?;
        let most = whole.plan.freed.len();
        Ok(Self { snapshot, request, made: BTreeMap::from([(most, whole)]), most })
    }

    /// Nodes that the largest plan frees.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// The plan of at most so many nodes.
    pub fn at(&mut self, freed: usize) -> Result<&Planned, Fault> {
        if !self.made.contains_key(&freed) {
            self.made.insert(freed, self.plan(freed)?);
        }
        Ok(&self.made[&freed])
    }

    /// Makes the plans of all these numbers of nodes that are not made yet, on all processors. Each is what
    /// [`Points::at`] makes: no plan depends on another.
    pub fn make(&mut self, levels: &[usize]) -> Result<(), Fault> {
        let missing: Vec<usize> =
            levels.iter().copied().filter(|level| !self.made.contains_key(level)).collect();
        let plans = parallel::map(&missing, |&freed| self.plan(freed));
        for (freed, planned) in missing.into_iter().zip(plans) {
            self.made.insert(freed, planned?);
        }
        Ok(())
    }

    fn plan(&self, freed: usize) -> Result<Planned, Fault> {
        let max_freed_nodes = u64::try_from(freed).ok();
        checked_plan(self.snapshot, &Request { max_freed_nodes, ..self.request.clone() })
    }

    /// The plans made so far, by the number of nodes that was asked for.
    pub fn made(&self) -> impl Iterator<Item = &Planned> {
        self.made.values()
    }

    /// What the plan of at most so many nodes is worth.
    pub fn worth(&mut self, freed: usize) -> Result<Worth, Fault> {
        let snapshot = self.snapshot;
        Ok(Worth::of(snapshot, self.at(freed)?))
    }
}

/// What a plan brings and what it damages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Worth {
    /// Freed nodes.
    pub freed: usize,
    /// Allocatable cards on them.
    pub cards: i64,
    /// Damaged cards.
    pub damaged: i64,
}

impl Worth {
    pub fn of(snapshot: &Snapshot, planned: &Planned) -> Self {
        let plan = &planned.plan;
        let cards = |&node| snapshot.node(node).allocatable[plan.resource.at()];
        Self {
            freed: plan.freed.len(),
            cards: plan.freed.iter().map(cards).sum(),
            damaged: plan.disruption.damaged_cards,
        }
    }

    /// The step from here to a plan that frees more nodes.
    pub const fn step_to(&self, larger: &Self) -> Step {
        Step {
            nodes: larger.freed.saturating_sub(self.freed),
            cards: larger.cards - self.cards,
            damaged: larger.damaged - self.damaged,
        }
    }
}
