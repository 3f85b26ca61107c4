//! Turns: what the moves of a plan meet one after the other, as they are carried out.
//!
//! May import: snapshot, filter, plan

use super::Drain;
use super::trial::Rejection;
use crate::filter::Prepared;
use crate::plan::kept::Kept;
use crate::plan::problem::Timing;
use crate::plan::types::Move;
use crate::snapshot::model::PodIdx;

impl Drain<'_, '_> {
    /// Goes through the new moves as the executor would: a unit is evicted as a whole, then its replacements come.
    /// Whoever is refused at its turn comes again after the others; the moves are in the order that works.
    pub(super) fn take_turns(&mut self, moves: &mut Vec<Move>) -> Result<(), Rejection> {
        let mut order = Vec::with_capacity(moves.len());
        let mut waiting = self.units_among(moves);
        while !waiting.is_empty() {
            let (before, mut refused, mut first) = (waiting.len(), Vec::new(), None);
            for unit in waiting {
                let here = self.state.checkpoint();
                match self.take_turn(moves, &unit) {
                    Ok(()) => order.extend(unit),
                    Err(pod) => {
                        self.state.rollback(here);
                        first = first.or(Some(pod));
                        refused.push(unit);
                    }
                }
            }
            if let (Some(pod), true) = (first, refused.len() == before) {
                return Err(Rejection { reason: Kept::BlockedInTurn { pod }, may_pass_later: true });
            }
            waiting = refused;
        }
        *moves = order.into_iter().map(|at| moves[at]).collect();
        Ok(())
    }

    /// Indices of moves that take one turn together, in the order of the moves.
    fn units_among(&self, moves: &[Move]) -> Vec<Vec<usize>> {
        let mut done = vec![false; moves.len()];
        let mut units = Vec::with_capacity(moves.len());
        for at in 0..moves.len() {
            if done[at] {
                continue;
            }
            let unit = self.problem.unit_of(moves[at].pod).unwrap_or_default();
            let together: Vec<usize> =
                (at..moves.len()).filter(|&i| i == at || unit.contains(&moves[i].pod)).collect();
            for &i in &together {
                done[i] = true;
            }
            units.push(together);
        }
        units
    }

    /// The turn of one unit: the pod that is refused, if any.
    fn take_turn(&mut self, moves: &mut [Move], unit: &[usize]) -> Result<(), PodIdx> {
        let alone = unit.len() == 1;
        let stays_meanwhile =
            |drain: &Self, pod| alone && drain.problem.timing(pod) == Timing::WhileTerminating;
        for &i in unit {
            let pod = moves[i].pod;
            if stays_meanwhile(self, pod) {
                self.state.terminate(pod);
            } else {
                self.lift(pod);
            }
        }
        for &i in unit {
            let (pod, to) = (moves[i].pod, moves[i].to);
            let incoming = self.problem.replacement[pod.at()];
            let mut fits = Prepared::new(&self.state, incoming).fits(to);
            moves[i].gated = false;
            if stays_meanwhile(self, pod) {
                self.state.remove(pod);
                if !fits {
                    fits = Prepared::new(&self.state, incoming).fits(to);
                    moves[i].gated = true;
                }
            }
            if !fits {
                return Err(pod);
            }
            self.state.place(incoming, to);
        }
        Ok(())
    }

    /// The turns of the whole plan from the start, with the new moves: for pods of earlier nodes that now go elsewhere.
    pub(super) fn whole_plan_holds(&self, moves: &[Move]) -> Result<(), Rejection> {
        let anew = |pod: PodIdx| moves.iter().find(|m| m.pod == pod);
        let earlier = self.plan.moves.iter().map(|m| anew(m.pod).map_or(*m, |n| Move { to: n.to, ..*m }));
        let later = moves.iter().filter(|m| !self.move_of.contains_key(&m.pod)).copied();
        let mut all: Vec<Move> = earlier.chain(later).collect();
        let mut state = self.state.clone();
        state.rollback(self.origin);
        for room in &self.plan.reserved {
            state.place(self.problem.replacement[room.pod.at()], room.node);
        }
        let mut replay = Self::new(self.problem, state);
        for unit in replay.units_among(&all) {
            if let Err(pod) = replay.take_turn(&mut all, &unit) {
                return Err(Rejection { reason: Kept::BlockedInTurn { pod }, may_pass_later: true });
            }
        }
        Ok(())
    }
}
