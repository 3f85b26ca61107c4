//! Does a gang fit: now, after the smallest repack that makes it, or never.
//!
//! The planner is the one of every other front: it is asked for plans that empty at most so many nodes, among those
//! that have something to give, from the number that the bound asks for upwards. So the first plan that seats everybody
//! is of the fewest nodes, and of those the cheapest that the planner finds.
//!
//! May import: engine, api, snapshot, plan

mod search;
#[cfg(test)]
mod tests;

use self::search::{Search, Try};
use super::{Fault, plan};
use crate::plan::fit::{Limit, Question, Room, Seats, Shortage, Standing};
use crate::plan::request::Budget;
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;

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
        /// A dry run under the same request that may empty only the freed nodes comes to the same plan. If not, that
        /// one need not leave the room that is needed.
        repeats: bool,
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
    let mut search = Search::new(snapshot, request, question, &room);
    if search.limit().shortage.is_none() {
        search.run()?;
    }
    let Limit { most, shortage } = search.limit();
    if let Some(Try { mut planned, seats, repeats }) = search.found {
        question.tell(&mut planned);
        // They do not fit now, so no node less than one is enough.
        let fewest = room.fewest().unwrap_or(0).max(1);
        return Ok(Answer::After { planned: Box::new(planned), seats, fewest, repeats });
    }
    if let Some(shortage) = shortage {
        let shortage = without_budget(snapshot, request, &room, shortage)?;
        return Ok(Answer::Never { most, shortage, standing });
    }
    let Some(Try { planned, seats, .. }) = search.closest else {
        return Ok(Answer::NotFound { seated: now.seated.len(), emptied: 0, most, standing });
    };
    let standing = question.standing(Some(&planned.plan), &seats).unwrap_or(standing);
    let (seated, emptied) = (seats.seated.len(), planned.plan.freed.len());
    Ok(Answer::NotFound { seated, emptied, most, standing })
}

/// What is short: the budget, where there is enough without it.
fn without_budget(
    snapshot: &Snapshot,
    request: &Request,
    room: &Room,
    shortage: Shortage,
) -> Result<Shortage, Fault> {
    let Shortage::Places { need, have, emptied } = shortage else { return Ok(shortage) };
    let Request { budget, max_freed_nodes, .. } = request;
    if *budget == Budget::default() && max_freed_nodes.is_none() {
        return Ok(shortage);
    }
    let free =
        Request { budget: Budget::default(), max_freed_nodes: None, min_benefit: None, ..request.clone() };
    let bound = usize::try_from(plan(snapshot, &free)?.report.upper_bound).unwrap_or(0);
    let without = room.limit(room.candidates().len().min(bound)).shortage;
    Ok(without.unwrap_or(Shortage::Budget { need, have, emptied }))
}
