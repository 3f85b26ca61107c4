//! Does a gang fit: now, after the smallest repack that makes it, or never.
//!
//! The planner is the one of every other front: it is asked for plans that empty at most so many nodes, among those
//! that have something to give, from the number that the bound asks for upwards. So the first plan that seats everybody
//! is of the fewest nodes, and of those the cheapest that the planner finds.
//!
//! May import: engine, api, snapshot, plan

use super::{Fault, plan};
use crate::api::{ObjectSelection, ScopeRule};
use crate::plan::fit::{Limit, Question, Room, Seats, Shortage, Standing};
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;

/// The answer for the pods that are asked about.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The answer.
    pub answer: Answer,
    /// What to know about the request, as sentences without a full stop.
    pub noticed: Vec<String>,
}

/// Whether the pods fit.
#[derive(Clone, Debug)]
pub enum Answer {
    /// All find room as things are.
    Now(Seats),
    /// All find room once this plan is carried out.
    After {
        /// The plan.
        planned: Box<Planned>,
        /// Where they go then.
        seats: Seats,
        /// No plan that empties fewer nodes makes room.
        fewest: usize,
    },
    /// No repack helps.
    Never {
        /// However nodes are emptied, no more find room.
        most: i64,
        /// Why not.
        shortage: Shortage,
        /// Why a pod has no room.
        standing: Standing,
    },
    /// No repack was found, and the bound does not rule one out.
    NotFound {
        /// Find room after the plan that seats most.
        seated: usize,
        /// Nodes that it empties.
        emptied: usize,
        /// However nodes are emptied, no more find room.
        most: i64,
        /// Why a pod has no room after that plan.
        standing: Standing,
    },
}

/// Answers for [`Snapshot::candidates`] under a request, whose scope and budget hold for the repack.
///
/// # Errors
/// See [`Fault`].
pub fn fit(snapshot: &Snapshot, request: &Request) -> Result<Fit, Fault> {
    let question = Question::new(snapshot, request).map_err(Fault::Request)?;
    let noticed = question.noticed();
    let answer = answer(snapshot, request, &question)?;
    Ok(Fit { answer, noticed })
}

fn answer(snapshot: &Snapshot, request: &Request, question: &Question<'_>) -> Result<Answer, Fault> {
    let now = question.seats(None);
    let Some(standing) = question.standing(None, &now) else { return Ok(Answer::Now(now)) };
    if let Some(Limit { most, shortage: Some(shortage) }) = question.queue_limit(&now, &standing) {
        return Ok(Answer::Never { most, shortage, standing });
    }
    let room = question.room();
    let mut search = Search::new(snapshot, request, &room);
    if search.limit().shortage.is_none() {
        search.run()?;
    }
    let Limit { most, shortage } = search.limit();
    if let Some(Try { planned, seats }) = search.found {
        return Ok(Answer::After { planned: Box::new(planned), seats, fewest: room.fewest().unwrap_or(0) });
    }
    if let Some(shortage) = shortage {
        return Ok(Answer::Never { most, shortage, standing });
    }
    let Some(Try { planned, seats }) = search.closest else {
        return Ok(Answer::NotFound { seated: now.seated.len(), emptied: 0, most, standing });
    };
    let standing = question.standing(Some(&planned.plan), &seats).unwrap_or(standing);
    let (seated, emptied) = (seats.seated.len(), planned.plan.freed.len());
    Ok(Answer::NotFound { seated, emptied, most, standing })
}

/// A plan and the seats after it.
struct Try {
    planned: Planned,
    seats: Seats,
}

/// Looks for the fewest nodes.
struct Search<'s> {
    snapshot: &'s Snapshot,
    request: &'s Request,
    room: &'s Room,
    /// No plan empties more nodes.
    most: usize,
    /// The plan of the fewest nodes that seats all.
    found: Option<Try>,
    /// Of the others, the one that seats most.
    closest: Option<Try>,
}

impl<'s> Search<'s> {
    fn new(snapshot: &'s Snapshot, request: &'s Request, room: &'s Room) -> Self {
        let cap = request.max_freed_nodes.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let most = room.candidates().min(cap);
        Self { snapshot, request, room, most, found: None, closest: None }
    }

    /// What no plan can exceed, as far as is known.
    fn limit(&self) -> Limit {
        self.room.limit(self.most)
    }

    /// Asks for more and more nodes until all are seated, then for the fewest in between: more nodes seat as many.
    fn run(&mut self) -> Result<(), Fault> {
        let (mut low, mut step) = (self.room.fewest().unwrap_or(0).max(1), 1);
        let mut count = low;
        while count <= self.most && !self.attempt(count)? {
            low = count + 1;
            if count == self.most || self.limit().shortage.is_some() {
                return Ok(());
            }
            count = count.saturating_add(step).min(self.most);
            step *= 2;
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

    /// Asks for a plan of at most so many nodes; true when all are seated after it.
    fn attempt(&mut self, count: usize) -> Result<bool, Fault> {
        for (at, nodes) in self.room.worth_emptying(count).iter().enumerate() {
            let request = self.restricted(nodes, count);
            let planned = plan(self.snapshot, &request)?;
            let bound = usize::try_from(planned.report.upper_bound).unwrap_or(0);
            // The first set leaves out only what has nothing to give. Where a benefit ends the plan, nothing is proven.
            if at == 0 && bound < count && self.request.min_benefit.is_none() {
                self.most = self.most.min(bound);
            }
            let question = Question::new(self.snapshot, &request).map_err(Fault::Request)?;
            let seats = question.seats(Some(&planned.plan));
            if seats.standing.is_empty() {
                self.found = Some(Try { planned, seats });
                return Ok(true);
            }
            let seated = |other: &Try| other.seats.seated.len();
            if self.closest.as_ref().is_none_or(|closest| seats.seated.len() > seated(closest)) {
                self.closest = Some(Try { planned, seats });
            }
        }
        Ok(false)
    }

    fn restricted(&self, nodes: &[NodeIdx], count: usize) -> Request {
        let names = nodes.iter().map(|&node| self.snapshot.node_name(node).to_owned()).collect();
        let mut request = self.request.clone();
        let include = Some(ObjectSelection { selector: None, names });
        request.scope.nodes = Some(ScopeRule { include, exclude: None });
        request.max_freed_nodes = u64::try_from(count).ok();
        request
    }
}
