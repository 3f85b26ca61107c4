//! A choice made elsewhere, carried out under all rules.
//!
//! Search chooses by amounts; here every node of its choice is tried as Drain tries a candidate, with the receivers
//! that Search has in mind first. What does not hold is given up, and what was given up may receive again.
//!
//! May import: snapshot, filter, plan

use rustc_hash::FxHashMap;

use super::{Drain, Outcome};
use crate::filter::State;
use crate::plan::problem::Problem;
use crate::snapshot::model::{NodeIdx, PodIdx};

/// Nodes to empty, in the order in which they are tried, and where their pods would best go.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Nodes to empty.
    pub nodes: Vec<NodeIdx>,
    /// Receivers to try first.
    pub places: FxHashMap<PodIdx, NodeIdx>,
}

/// Carries out as much of a wish as holds, then goes on as Drain does. `state` is the live cluster, with room taken
/// for pending pods.
pub fn realize<'s>(problem: &Problem<'s>, state: State<'s>, wish: &Wish) -> Outcome {
    carry_out(problem, state, wish).settle()
}

/// The same, with the receivers as they come.
pub(super) fn carry_out<'p, 's>(problem: &'p Problem<'s>, state: State<'s>, wish: &Wish) -> Drain<'p, 's> {
    let mut drain = Drain::new(problem, state);
    drain.places.clone_from(&wish.places);
    for &node in &wish.nodes {
        drain.wished[node.at()] = true;
        drain.receivers.remove(node);
    }
    let mut left = wish.nodes.clone();
    loop {
        let before = left.len();
        left.retain(|&node| {
            if problem.max_freed.is_some_and(|most| drain.plan.freed.len() >= most) {
                return true;
            }
            match drain.attempt(node) {
                Ok(placement) => {
                    drain.commit(node, placement);
                    false
                }
                Err(_) => true,
            }
        });
        // A rule on other pods may hold once more has moved.
        if left.is_empty() || left.len() == before {
            break;
        }
    }
    for node in left {
        drain.wished[node.at()] = false;
        drain.rate(node);
    }
    drain.go_on();
    drain
}
