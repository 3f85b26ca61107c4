//! Does a gang fit: now, after the smallest repack that makes it, or never.
//!
//! May import: engine, api, snapshot, plan

use super::{Fault, plan};
use crate::api::{ObjectSelection, ScopeRule};
use crate::plan::fit::{Seats, most_seats, seats, worth_emptying};
use crate::plan::{Planned, Request};
use crate::snapshot::Snapshot;

/// The answer for the pods that are asked about.
#[derive(Clone, Debug)]
pub enum Fit {
    /// All find room as things are.
    Now(Seats),
    /// All find room once this plan is carried out, which frees as few nodes as any that was found.
    After {
        /// The plan.
        planned: Box<Planned>,
        /// Where they go then.
        seats: Seats,
    },
    /// No repack helps.
    Never {
        /// However nodes are emptied, no more find room.
        most: i64,
    },
    /// No repack was found, and the bound does not rule one out.
    NotFound {
        /// Find room after the plan that frees most.
        seated: usize,
        /// However nodes are emptied, no more find room.
        most: i64,
    },
}

/// Answers for [`Snapshot::candidates`] under a request, whose scope and budget hold for the repack.
///
/// # Errors
/// See [`Fault`].
pub fn fit(snapshot: &Snapshot, request: &Request) -> Result<Fit, Fault> {
    let replicas = i64::try_from(snapshot.candidates.len()).unwrap_or(i64::MAX);
    let now = seats(snapshot, request, None).map_err(Fault::Request)?;
    if now.standing.is_empty() {
        return Ok(Fit::Now(now));
    }
    let nodes = worth_emptying(snapshot, request).map_err(Fault::Request)?;
    let bound = |freed| most_seats(snapshot, request, freed).map_err(Fault::Request);
    if nodes.is_empty() {
        return Ok(Fit::Never { most: bound(0)? });
    }
    let names = nodes.iter().map(|&node| snapshot.node_name(node).to_owned()).collect();
    let mut request = request.clone();
    let include = Some(ObjectSelection { selector: None, names });
    request.scope.nodes = Some(ScopeRule { include, exclude: None });
    let largest = plan(snapshot, &request)?;
    let most = most_seats(snapshot, &request, usize::try_from(largest.report.upper_bound).unwrap_or(0));
    let most = most.map_err(Fault::Request)?;
    if most < replicas {
        return Ok(Fit::Never { most });
    }
    let after = |planned: &Planned| seats(snapshot, &request, Some(&planned.plan)).map_err(Fault::Request);
    let seated = after(&largest)?;
    if !seated.standing.is_empty() {
        return Ok(Fit::NotFound { seated: seated.seated.len(), most });
    }
    // The smallest number of nodes: more of them seat at least as many.
    let (mut best, mut low) = ((largest, seated), 1);
    while low < best.0.plan.freed.len() {
        let middle = usize::midpoint(low, best.0.plan.freed.len());
        let smaller = Request { max_freed_nodes: u64::try_from(middle).ok(), ..request.clone() };
        let planned = plan(snapshot, &smaller)?;
        let seated = after(&planned)?;
        if seated.standing.is_empty() && planned.plan.freed.len() <= middle {
            best = (planned, seated);
        } else {
            low = middle + 1;
        }
    }
    Ok(Fit::After { planned: Box::new(best.0), seats: best.1 })
}
