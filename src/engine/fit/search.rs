//! Looks for the plan of the fewest nodes after which the pods that are asked about fit.
//!
//! First the planner is asked as every other front asks it. Where its plan puts victims where those pods have to go,
//! it is asked again with rooms for them taken beforehand. In small clusters every set of nodes is tried, each with
//! every choice of rooms that the pods need beside it.
//!
//! May import: engine, api, snapshot, plan

use crate::api::{ObjectSelection, ScopeRule};
use crate::engine::{Fault, plan, plan_beside};
use crate::plan::fit::{Limit, Question, Room, Rooms, Seats};
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;

/// With at most this many candidates every set of them is tried.
const FEW: usize = 12;
/// Plans that all of those tries together may ask for, and nodes that they may look at.
const MOST_PLANS: usize = 500;
const MOST_PLANNED_NODES: usize = 20_000;

/// A plan and the seats after it.
pub(super) struct Try {
    pub planned: Planned,
    pub seats: Seats,
    /// A dry run of the nodes that it frees comes to the same plan.
    pub repeats: bool,
}

/// Looks for the fewest nodes.
pub(super) struct Search<'s> {
    snapshot: &'s Snapshot,
    request: &'s Request,
    question: &'s Question<'s>,
    room: &'s Room,
    /// No plan empties more nodes.
    most: usize,
    /// Plans that trying every set may still ask for.
    plans_left: usize,
    /// The plan of the fewest nodes that seats all.
    pub found: Option<Try>,
    /// Of the others, the one that seats most.
    pub closest: Option<Try>,
}

impl<'s> Search<'s> {
    pub fn new(
        snapshot: &'s Snapshot,
        request: &'s Request,
        question: &'s Question<'s>,
        room: &'s Room,
    ) -> Self {
        let cap = request.max_freed_nodes.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let most = room.candidates().len().min(cap);
        let small = room.candidates().len() <= FEW && question.is_of_few_pods();
        // The rooms that a plan has to leave would change what its benefit is compared with.
        let plans_left = if small && request.min_benefit.is_none() {
            MOST_PLANS.min(MOST_PLANNED_NODES / snapshot.nodes.len().max(1))
        } else {
            0
        };
        Self { snapshot, request, question, room, most, plans_left, found: None, closest: None }
    }

    /// What no plan can exceed, as far as is known.
    pub fn limit(&self) -> Limit {
        self.room.limit(self.most)
    }

    /// Asks for more and more nodes until all are seated, then for the fewest in between: more nodes seat as many. In
    /// small clusters one more at a time.
    pub fn run(&mut self) -> Result<(), Fault> {
        let (mut low, mut step) = (self.room.fewest().unwrap_or(0).max(1), 1);
        let mut count = low;
        while count <= self.most && !self.attempt(count)? {
            low = count + 1;
            if count == self.most || self.limit().shortage.is_some() {
                return Ok(());
            }
            count = count.saturating_add(step).min(self.most);
            step = if self.plans_left > 0 { 1 } else { step * 2 };
        }
        while let Some(found) = &self.found
            && low < found.planned.plan.freed.len()
        {
            let middle = usize::midpoint(low, found.planned.plan.freed.len());
            if !self.attempt(middle)? {
                low = middle + 1;
            }
        }
        Ok(())
    }

    /// Asks for plans of at most so many nodes; true when all are seated after one.
    fn attempt(&mut self, count: usize) -> Result<bool, Fault> {
        let sets = self.room.worth_emptying(count);
        for (at, nodes) in sets.iter().enumerate() {
            let bound = self.ask(nodes, count, &Rooms::new())?;
            // The first set leaves out only what has nothing to give. Where a benefit ends the plan, nothing is proven.
            if at == 0 && bound < count && self.request.min_benefit.is_none() {
                self.most = self.most.min(bound);
            }
            if self.is_found(count) {
                return Ok(true);
            }
        }
        if self.request.min_benefit.is_none() {
            for nodes in &sets {
                for rooms in self.question.rooms_now(nodes, self.room.needed_beside(count)) {
                    self.ask(nodes, count, &rooms)?;
                    if self.is_found(count) {
                        return Ok(true);
                    }
                }
            }
        }
        self.every_set(count)
    }

    /// Tries every set of so many candidates, as long as plans are left.
    fn every_set(&mut self, count: usize) -> Result<bool, Fault> {
        let candidates = self.room.candidates().to_vec();
        let mut chosen: Vec<usize> = (0..count).collect();
        while self.plans_left > 0 && count <= candidates.len() {
            let nodes: Vec<NodeIdx> = chosen.iter().map(|&at| candidates[at]).collect();
            for rooms in self.question.rooms_beside(&nodes) {
                if self.plans_left == 0 {
                    break;
                }
                self.plans_left -= 1;
                self.ask(&nodes, count, &rooms)?;
                if self.is_found(count) {
                    return Ok(true);
                }
            }
            if !next_choice(&mut chosen, candidates.len()) {
                break;
            }
        }
        Ok(false)
    }

    fn is_found(&self, count: usize) -> bool {
        self.found.as_ref().is_some_and(|found| found.planned.plan.freed.len() <= count)
    }

    /// Asks for one plan that empties at most so many of these nodes and leaves these rooms, and looks who is seated
    /// after it. Returns the bound on the nodes that it could have emptied.
    fn ask(&mut self, nodes: &[NodeIdx], count: usize, rooms: &Rooms) -> Result<usize, Fault> {
        let request = self.restricted(nodes, u64::try_from(count).ok());
        let planned = if rooms.is_empty() {
            plan(self.snapshot, &request)?
        } else {
            plan_beside(self.snapshot, &request, rooms)?
        };
        let bound = usize::try_from(planned.report.upper_bound).unwrap_or(0);
        let seats = self.seats(&request, &planned)?;
        let attempt = Try { planned, seats, repeats: false };
        if attempt.seats.standing.is_empty() {
            self.found = Some(self.repeated(attempt)?);
            return Ok(bound);
        }
        let seated = |other: &Try| other.seats.seated.len();
        if self.closest.as_ref().is_none_or(|closest| seated(&attempt) > seated(closest)) {
            self.closest = Some(attempt);
        }
        Ok(bound)
    }

    /// The plan that a dry run of the freed nodes makes, where all are seated after that one, too.
    fn repeated(&self, found: Try) -> Result<Try, Fault> {
        let request = self.restricted(&found.planned.plan.freed, self.request.max_freed_nodes);
        let planned = plan(self.snapshot, &request)?;
        let sorted = |planned: &Planned| {
            let mut nodes = planned.plan.freed.clone();
            nodes.sort_unstable();
            nodes
        };
        if sorted(&planned) != sorted(&found.planned) {
            return Ok(found);
        }
        let seats = self.seats(&request, &planned)?;
        Ok(if seats.standing.is_empty() { Try { planned, seats, repeats: true } } else { found })
    }

    /// Seats after a plan, with rooms of waiting pods where that plan keeps them.
    fn seats(&self, request: &Request, planned: &Planned) -> Result<Seats, Fault> {
        let question = Question::new(self.snapshot, request).map_err(Fault::Request)?;
        Ok(question.seats(Some(&planned.plan)))
    }

    fn restricted(&self, nodes: &[NodeIdx], most: Option<u64>) -> Request {
        let names = nodes.iter().map(|&node| self.snapshot.node_name(node).to_owned()).collect();
        let mut request = self.request.clone();
        let include = Some(ObjectSelection { selector: None, names });
        request.scope.nodes = Some(ScopeRule { include, exclude: None });
        request.max_freed_nodes = most;
        request
    }
}

/// The next choice of as many out of so many, in the order of their positions; false after the last one.
fn next_choice(chosen: &mut [usize], all: usize) -> bool {
    let count = chosen.len();
    let Some(at) = (0..count).rev().find(|&at| chosen[at] < all - count + at) else { return false };
    chosen[at] += 1;
    for next in at + 1..count {
        chosen[next] = chosen[next - 1] + 1;
    }
    true
}
