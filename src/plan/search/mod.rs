//! Search: plans at, or close to, the proven optimum.
//!
//! The way: [`field`] looks up what emptying each candidate disturbs, [`demand`] what replacements ask for, [`rows`]
//! what room there is. [`master`] chooses candidates by an integer program, whose optimum is a bound; [`rooms`] finds
//! a place for everything on a choice; [`improve`] changes the choice while effort lasts; the result is carried out
//! under all rules by `drain::realize`. Never worse than Drain: its plan is one of those compared.
//!
//! Effort is counted in looks at receivers and branches of the solver, never in time.
//!
//! May import: snapshot, filter, parallel, plan

mod choice;
mod demand;
mod field;
mod improve;
mod least;
mod master;
mod rooms;
mod rows;
mod solution;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use self::choice::Choice;
use self::demand::Demands;
use self::field::Field;
use self::improve::{Random, fill, grow, improve};
use self::least::least_cost;
use self::master::{Answer, Goal};
use self::rooms::Rooms;
use self::rows::Rows;
use self::solution::Solution;
use super::drain::exact::{Exact, Tries};
use super::drain::realize::{Wish, realize};
use super::drain::{Outcome, drain};
use super::problem::Problem;
use super::types::Plan;
use crate::filter::State;
use crate::parallel;
use crate::snapshot::model::NodeIdx;

/// What Search came to.
#[derive(Debug)]
pub struct Found {
    /// The plan, and why other candidates stay.
    pub outcome: Outcome,
    /// No plan under this request frees more nodes.
    pub most: usize,
    /// No plan that frees as many nodes as this one disturbs less.
    pub least_cost: i64,
}

/// Branches that the solver may look at per question.
const BRANCHES: u64 = 400;
/// Beyond this many candidates the cheapest choice is looked for by prices: the program would take seconds.
const MOST_CHEAPEST: usize = 300;
/// Without a limit on groups all of them are coupled, and only small programs are solved.
const MOST_COUPLED: usize = 200;
/// The same for a few candidates out of many: few groups can come together.
const MOST_FEW: usize = 24;
/// Rounds of prices that follow the choice.
const PRICINGS: usize = 8;
/// Rounds in which candidates that broke a rule are left out.
const ROUNDS: u32 = 4;
/// Ways along which more candidates are looked for.
const WAYS: u64 = 2;
/// With at most this many candidates every set is looked at.
const FEW: usize = 10;
/// Looks at places that all of those sets may take, and one of them.
const TRIES_OF_ALL: u64 = 400_000;
const TRIES_OF_ONE: u64 = 20_000;

/// Searches. `state` is the live cluster with room taken for pending pods, `most` a bound on the nodes that any plan
/// frees.
///
/// Where a limit on freed nodes is not reached although the bound allows it, the search without the limit may have come
/// further: programs for fewer nodes than there could be have answers that are further from whole ones. Its plan is then
/// cut down to the limit.
pub fn search<'s>(problem: &Problem<'s>, state: &State<'s>, most: usize, effort: u64) -> Found {
    let found = search_within(problem, state, most, effort);
    let Some(limit) = problem.max_freed else { return found };
    if found.outcome.plan.freed.len() >= limit.min(found.most) {
        return found;
    }
    let without_limit = Problem { max_freed: None, ..problem.clone() };
    let larger = search_within(&without_limit, state, most, effort).outcome.plan;
    let cut = cut_down(problem, state, &larger, limit);
    if !better(problem, &cut.plan, &found.outcome.plan) {
        return found;
    }
    let field = Field::new(problem);
    let rows = Rows::new(&field, &Demands::new(&field, state), state);
    let least_cost = least_cost(&field, &rows, cut.plan.freed.len());
    Found { outcome: cut, least_cost, ..found }
}

/// Gives up what costs most until as many nodes are left as the limit allows. What can be placed together can be placed
/// with less.
fn cut_down<'s>(problem: &Problem<'s>, state: &State<'s>, plan: &Plan, limit: usize) -> Outcome {
    let field = Field::new(problem);
    let rows = Rows::new(&field, &Demands::new(&field, state), state);
    let barred = vec![false; field.len()];
    let mut choice = Choice::new(&field, &rows, &barred);
    for at in (0..field.len()).filter(|&at| plan.freed.contains(&field.candidates[at])) {
        choice.insert(at);
    }
    while choice.count() > limit {
        let mut others = choice.chosen();
        others.retain(|&at| !field.is_must(at));
        let Some((_, worst)) = others.into_iter().map(|at| (choice.saved_cost(at), at)).max() else { break };
        choice.remove(worst);
    }
    let nodes = choice.chosen().into_iter().map(|at| field.candidates[at]).collect();
    let places = plan.moves.iter().map(|m| (m.pod, m.to)).collect();
    realize(problem, state.clone(), &Wish { nodes, places })
}

fn search_within<'s>(problem: &Problem<'s>, state: &State<'s>, most: usize, effort: u64) -> Found {
    let field = Field::new(problem);
    if problem.must.is_some() && field.must.is_none() {
        return none(problem);
    }
    let most = problem.max_freed.map_or(most, |free| most.min(free));
    // The program is solved while Drain plans.
    let drain_beside = || drain(problem, state.clone());
    let (drained, (demands, rows, (most, start))) = parallel::both(drain_beside, || {
        let demands = Demands::new(&field, state);
        let rows = Rows::new(&field, &demands, state);
        let possible = rows.stuck.iter().filter(|stuck| !**stuck).count();
        let answer = most_candidates(&field, &rows, most.min(possible));
        (demands, rows, answer)
    });
    let barred = vec![false; field.len()];
    let mut task = Task { field: &field, demands: &demands, rows: &rows, state, most, barred };
    let position: FxHashMap<_, usize> =
        field.candidates.iter().enumerate().map(|(at, &node)| (node, at)).collect();
    let at = |node: &NodeIdx| position.get(node).copied();
    let from_drain: Vec<usize> = drained.plan.freed.iter().filter_map(at).collect();
    let keeps_to_must = |plan: &Plan| problem.must.is_none_or(|must| plan.freed.contains(&must));
    let mut found = if keeps_to_must(&drained.plan) { drained } else { none(problem).outcome };
    let mut random = Random(seed(&field));
    let mut proven = (0, 0);
    // What no choice contains need not be looked for.
    let rounds = if most == 0 && problem.must.is_some() { 0 } else { ROUNDS };
    for round in 0..rounds {
        let mut best = task.solution(&from_drain);
        if let Some(start) = &start {
            task.consider(&mut best, start);
        }
        let count = best.choice.count();
        let least = task.cheapen(&mut best);
        if least > 0 {
            proven = (count, least);
        }
        let best = task.improved(best, least, &mut random, effort >> round);
        let mut wish = Wish::default();
        let mut chosen = best.choice.chosen();
        // Whatever has to be emptied is tried first.
        chosen.sort_by_key(|&at| !field.is_must(at));
        for at in chosen {
            wish.nodes.push(field.candidates[at]);
            wish.places.extend(best.rooms.places(at));
        }
        let outcome = realize(problem, state.clone(), &wish);
        let lost: Vec<NodeIdx> =
            wish.nodes.iter().copied().filter(|node| !outcome.plan.freed.contains(node)).collect();
        if better(problem, &outcome.plan, &found.plan) && keeps_to_must(&outcome.plan) {
            found = outcome;
        }
        if lost.is_empty() || lost.iter().any(|node| problem.must == Some(*node)) {
            break;
        }
        lost.iter().filter_map(at).for_each(|at| task.barred[at] = true);
    }
    if let Some(plan) = task.enumerate(&found.plan) {
        // Once more by way of Drain, which says why the others stay.
        let places = plan.moves.iter().map(|m| (m.pod, m.to)).collect();
        let again = realize(problem, state.clone(), &Wish { nodes: plan.freed.clone(), places });
        let same = again.plan.freed.len() == plan.freed.len() && !better(problem, &plan, &again.plan);
        found = if same && keeps_to_must(&again.plan) {
            again
        } else {
            Outcome { rejected: vec![None; problem.nodes.len()], plan }
        };
    }
    let count = found.plan.freed.len();
    let least_cost = if proven.0 == count {
        proven.1
    } else {
        let known = found.plan.disruption.cost(problem.weights);
        let whole =
            if field.len() <= MOST_COUPLED { least_of_all(&field, &rows, count, known) } else { None };
        whole.unwrap_or_else(|| least_cost(&field, &rows, count))
    };
    Found { outcome: found, most, least_cost }
}

/// No plan, because there is none with the node that has to be freed.
fn none(problem: &Problem<'_>) -> Found {
    let outcome = Outcome { plan: Plan::empty(problem.resource), rejected: vec![None; problem.nodes.len()] };
    Found { outcome, most: 0, least_cost: 0 }
}

/// Everything that stays the same while solutions come and go.
struct Task<'f, 'p, 's> {
    field: &'f Field<'p, 's>,
    demands: &'f Demands,
    rows: &'f Rows,
    state: &'f State<'s>,
    /// No plan empties more candidates.
    most: usize,
    /// Candidates whose pods broke a rule that choices do not know, by position.
    barred: Vec<bool>,
}

impl<'f, 'p, 's> Task<'f, 'p, 's> {
    /// What of a set can be placed, filled up.
    fn solution(&self, set: &[usize]) -> Solution<'f, 'p, 's> {
        let choice = Choice::new(self.field, self.rows, &self.barred);
        let rooms = Rooms::new(self.field, self.demands, self.state);
        let mut solution = Solution::new(self.field, choice, rooms);
        let must = self.field.must.into_iter();
        let others = set.iter().copied().filter(|&at| !self.field.is_must(at));
        let set: Vec<usize> = must.chain(others).collect();
        solution.start(&set);
        fill(&mut solution, self.most);
        solution
    }

    /// Takes the solution of a set if it is better.
    fn consider(&self, best: &mut Solution<'f, 'p, 's>, set: &[usize]) -> bool {
        let solution = self.solution(set);
        let must = |choice: &Choice<'_, '_, '_>| self.field.must.is_none_or(|must| choice.contains(must));
        let better = (must(&solution.choice), solution.rank()) > (must(&best.choice), best.rank());
        if better {
            *best = solution;
        }
        better
    }

    /// With few candidates: the best of all sets that is better than `plan`.
    fn enumerate(&self, plan: &Plan) -> Option<Plan> {
        let (field, problem) = (self.field, self.field.problem);
        if field.len() > FEW {
            return None;
        }
        let mut sets = Vec::new();
        for bits in 1_u32..1 << field.len() {
            let set: Vec<usize> = (0..field.len()).filter(|at| bits >> at & 1 == 1).collect();
            if set.len() > self.most || field.must.is_some_and(|must| !set.contains(&must)) {
                continue;
            }
            let mut choice = Choice::new(field, self.rows, &[]);
            let allowed = set.iter().all(|&at| {
                let allowed = choice.allows(at);
                choice.insert(at);
                allowed
            });
            let totals = choice.totals();
            let rank = (Reverse(set.len()), totals.cost(problem.weights), totals.moved_cards);
            if allowed && rank < rank_of(problem, plan) {
                sets.push((rank, set));
            }
        }
        sets.sort_unstable();
        let mut all = TRIES_OF_ALL;
        let mut exact = Exact::new(problem, self.state.clone());
        for (_, set) in sets {
            let nodes: Vec<NodeIdx> = set.iter().map(|&at| field.candidates[at]).collect();
            let given = TRIES_OF_ONE.min(all);
            let mut tries = Tries(given);
            let plan = exact.empty(&nodes, &mut tries);
            all -= given - tries.0;
            if plan.is_some() || all == 0 {
                return plan;
            }
        }
        None
    }

    fn solve(&self, goal: Goal<'_>) -> Option<Answer> {
        master::solve(self.field, self.rows, |at| !self.barred[at], goal, BRANCHES)
    }

    /// Changes the solution while `effort` lasts; `least` is what no choice of as many candidates costs less than.
    ///
    /// Where there may be room for more candidates it is luck that decides: several ways are gone, the best one counts.
    /// What is left to gain otherwise is a cheaper plan, and a part of the effort brings nearly all of that.
    fn improved(
        &self,
        start: Solution<'f, 'p, 's>,
        least: i64,
        random: &mut Random,
        effort: u64,
    ) -> Solution<'f, 'p, 's> {
        let full = start.choice.count() >= self.most;
        let ways = if full { 1 } else { WAYS };
        let share = if full { effort / 3 } else { effort / ways } / 4;
        let seeds: Vec<u64> = (0..ways).map(|_| random.next()).collect();
        let go = |&seed: &u64| {
            let (mut solution, mut random) = (start.clone(), Random(seed));
            improve(self.field, &mut solution, self.most, least, &mut random, share);
            grow(self.field, &mut solution, self.most, &mut random, share);
            improve(self.field, &mut solution, self.most, least, &mut random, 2 * share);
            solution
        };
        let mut best: Option<Solution<'f, 'p, 's>> = None;
        for solution in parallel::map(&seeds, go) {
            if best.as_ref().is_none_or(|best| best.rank() < solution.rank()) {
                best = Some(solution);
            }
        }
        best.unwrap_or(start)
    }

    /// Looks for a cheaper choice of as many candidates; returns what none of them costs less than.
    fn cheapen(&self, best: &mut Solution<'f, 'p, 's>) -> i64 {
        let with_groups = self.field.problem.max_groups.is_some();
        let count = best.choice.count();
        let small = self.field.len() <= MOST_COUPLED || count <= MOST_FEW;
        if count <= MOST_CHEAPEST && (with_groups || small) {
            let answer = self.solve(Goal::Cheapest(count, best.choice.cost()));
            if let Some(answer) = &answer {
                self.consider(best, &answer.chosen);
            }
            let whole = self.barred.iter().all(|barred| !barred);
            match answer {
                Some(answer) if answer.proven && whole => return answer.bound,
                // Prices do not see a limit on groups.
                _ if with_groups => return 0,
                _ => {}
            }
        }
        for _ in 0..PRICINGS {
            let prices = prices(self.field, best);
            let Some(answer) = self.solve(Goal::Priced(best.choice.count(), &prices)) else { break };
            if !self.consider(best, &answer.chosen) {
                break;
            }
        }
        0
    }
}

/// What no choice of `count` candidates costs less than, where the program proves it; `known` is a cost that is possible.
fn least_of_all(field: &Field<'_, '_>, rows: &Rows, count: usize, known: i64) -> Option<i64> {
    let answer = master::solve(field, rows, |_| true, Goal::Cheapest(count, known), BRANCHES)?;
    answer.proven.then_some(answer.bound)
}

/// A bound on the candidates that can be emptied, at most `most`, and a choice to start from.
fn most_candidates(field: &Field<'_, '_>, rows: &Rows, most: usize) -> (usize, Option<Vec<usize>>) {
    // What is too much for one candidate is too much for it and others: amounts, groups and retries only add up.
    if field.must.is_some_and(|must| !Choice::new(field, rows, &[]).allows(must)) {
        return (0, None);
    }
    if let Some(answer) = master::solve(field, rows, |_| true, Goal::Most(most), BRANCHES)
        && answer.proven
    {
        return (most.min(answer.chosen.len()), Some(answer.chosen));
    }
    match master::solve(field, rows, |_| true, Goal::Relaxed(most), 1) {
        Some(Answer { bound, chosen, .. }) => (most.min(usize::try_from(bound).unwrap_or(0)), Some(chosen)),
        None => (most, None),
    }
}

/// What each candidate costs beside the choice so far: what it saves or adds.
fn prices(field: &Field<'_, '_>, solution: &mut Solution<'_, '_, '_>) -> Vec<i64> {
    let price = |at: usize| {
        if solution.choice.contains(at) { solution.choice.saved_cost(at) } else { solution.added_cost(at) }
    };
    (0..field.len()).map(price).collect()
}

/// More freed nodes first, then less disruption, then fewer moved cards.
fn rank_of(problem: &Problem<'_>, plan: &Plan) -> (Reverse<usize>, i64, i64) {
    let disruption = plan.disruption;
    (Reverse(plan.freed.len()), disruption.cost(problem.weights), disruption.moved_cards)
}

fn better(problem: &Problem<'_>, a: &Plan, b: &Plan) -> bool {
    rank_of(problem, a) < rank_of(problem, b)
}

/// Depends on the task alone.
fn seed(field: &Field<'_, '_>) -> u64 {
    let mut random = Random(u64::try_from(field.len()).unwrap_or(0));
    for burden in &field.burdens {
        random.0 ^= u64::try_from(burden.cards).unwrap_or(0);
        random.next();
    }
    random.0
}
