//! The integer program of the pattern model.
//!
//! Two kinds of answers count: a packing that meets the proven lower bound, re-counted in integers; and the
//! optimum over *all* patterns where the solver has proven that nothing smaller exists. The second rests on its
//! branch and bound (integer coefficients far below a million, the range for which it vouches), and is needed
//! only for the rare loads whose optimum is above the bound of the relaxation.
//!
//! May import: nothing of this crate

use microlp::{
    ComparisonOp, OptimizationDirection, Problem, SolutionStatus, SolveOptions, SolveOutcome, Variable,
};

use super::load::{Load, Work};
use super::pattern::Patterns;
use super::relaxation::float;

/// The optimum, or `None` when it is not decided within the effort. `lower` is a proven bound.
pub(super) fn optimum(load: &Load, patterns: &Patterns, lower: u64, work: &mut Work) -> Option<u64> {
    let pivot = patterns.pivot(load).max(1);
    let branch = pivot.saturating_mul(PIVOTS_OF_A_BRANCH).saturating_add(STEPS_OF_A_BRANCH);
    let branches = work.left().saturating_sub(pivot.saturating_mul(PIVOTS_AT_FIRST)) / branch;
    if branches == 0 {
        return None;
    }
    let mut program = Problem::new(OptimizationDirection::Minimize);
    let mut columns: Vec<Vec<Variable>> = Vec::with_capacity(load.bins.len());
    for (bin, of_class) in load.bins.iter().zip(&patterns.classes) {
        let most = i32::try_from(bin.count).ok()?;
        let of_class: Vec<Variable> =
            of_class.iter().map(|_| program.add_integer_var(1.0, (0, most))).collect();
        let used = of_class.iter().map(|&column| (column, 1.0));
        program.add_constraint(used, ComparisonOp::Le, float(bin.count));
        columns.push(of_class);
    }
    let all = || columns.iter().flatten().zip(patterns.classes.iter().flatten());
    for (index, item) in load.items.iter().enumerate() {
        let covering = all().filter(|(_, pattern)| pattern[index] > 0);
        let covering = covering.map(|(&column, pattern)| (column, f64::from(pattern[index])));
        program.add_constraint(covering, ComparisonOp::Ge, float(item.count));
    }
    program.add_constraint(all().map(|(&column, _)| (column, 1.0)), ComparisonOp::Ge, float(lower));

    let mut options = SolveOptions::default();
    options.node_limit = Some(branches);
    // Interrupted, infeasible or in numerical trouble: nothing is known.
    let SolveOutcome::Solution(solution) = program.solve_with(options).ok()? else { return None };
    let proven = patterns.complete && solution.status() == SolutionStatus::Optimal;
    let uses: Vec<Vec<u64>> = columns
        .iter()
        .map(|of_class| of_class.iter().map(|&column| whole(solution.var_value(column))).collect())
        .collect();
    let nodes = recount(load, patterns, &uses)?;
    (proven || nodes == lower).then_some(nodes)
}

/// Bins used, when these uses of the patterns pack everything.
fn recount(load: &Load, patterns: &Patterns, uses: &[Vec<u64>]) -> Option<u64> {
    let mut packed = vec![0_u64; load.items.len()];
    let mut nodes = 0;
    for ((bin, of_class), uses) in load.bins.iter().zip(&patterns.classes).zip(uses) {
        let used: u64 = uses.iter().sum();
        if used > bin.count {
            return None;
        }
        nodes += used;
        for (pattern, &times) in of_class.iter().zip(uses) {
            for (packed, &taken) in packed.iter_mut().zip(pattern) {
                *packed = packed.saturating_add(u64::from(taken).saturating_mul(times));
            }
        }
    }
    let complete = load.items.iter().zip(&packed).all(|(item, &packed)| packed >= item.count);
    complete.then_some(nodes)
}

/// Pivots charged for the relaxation and for each node of the branch and bound, and the steps that a node costs
/// however small the program is (it copies and factorises a basis).
const PIVOTS_AT_FIRST: u64 = 50;
const PIVOTS_OF_A_BRANCH: u64 = 10;
const STEPS_OF_A_BRANCH: u64 = 4_000;

/// The integer that a value of the solver stands for.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e15) as u64
}
