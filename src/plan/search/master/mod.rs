//! Which candidates to empty, as an integer program over classes of them: bounds, and choices to start from.
//!
//! Candidates that no rule of the program tells apart are one integer variable. A group that several candidates
//! disturb gets a variable for being touched, and where it matters one for falling below its minimum; everything
//! else is a constant of the candidate. The program leaves out where things go (the rows stand for that), so its
//! optimum is a bound for every plan, and its solution a choice that still has to be placed.
//!
//! The solver is floating point; answers are used as choices only after they were counted again in integers, and as
//! bounds only where the solver has proven optimality (coefficients are far below the range for which it vouches).
//!
//! May import: snapshot, plan

mod columns;
mod groups;

use microlp::{
    ComparisonOp, OptimizationDirection, Problem, SolutionStatus, SolveOptions, SolveOutcome, Variable,
};

pub(super) use self::columns::breaches_at_once;
use self::columns::{Column, columns, could_be_one_of};
use self::groups::groups;
use super::field::Field;
use super::rows::Rows;

/// What is asked of the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal<'a> {
    /// The most candidates; at most this many.
    Most(usize),
    /// The same without whole numbers: only a bound, and a choice that is rounded down.
    Relaxed(usize),
    /// The least disruption with exactly this many candidates, below a cost that is known to be possible.
    Cheapest(usize, i64),
    /// The least sum of these prices by candidate with exactly this many. Groups cost nothing.
    Priced(usize, &'a [i64]),
    /// The same where parts of candidates count.
    Fractional(usize, &'a [i64]),
}

impl Goal<'_> {
    const fn count(self) -> usize {
        match self {
            Self::Most(n)
            | Self::Relaxed(n)
            | Self::Cheapest(n, _)
            | Self::Priced(n, _)
            | Self::Fractional(n, _) => n,
        }
    }

    /// Parts of candidates count.
    const fn is_relaxed(self) -> bool {
        matches!(self, Self::Relaxed(_) | Self::Fractional(..))
    }

    /// Exactly that many, not at most.
    const fn is_exact(self) -> bool {
        matches!(self, Self::Cheapest(..) | Self::Priced(..) | Self::Fractional(..))
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Positions of the chosen candidates, in order.
    pub chosen: Vec<usize>,
    /// What no choice beats: candidates for [`Goal::Most`], cost for [`Goal::Cheapest`].
    pub bound: i64,
    /// The solver has proven that the choice is the best of the program.
    pub proven: bool,
}

/// A program with more columns than this is not tried: the first relaxation alone would take too long.
const MOST_COLUMNS: usize = 12_000;

/// Far above the error of a sum of a cluster's amounts, far below one.
const ROUNDING: f64 = 1e-4;

/// Answers, or `None` when the program is too large or the solver gives up within `branches`.
pub(super) fn solve(
    field: &Field<'_, '_>,
    rows: &Rows,
    allowed: impl Fn(usize) -> bool,
    goal: Goal<'_>,
    branches: u64,
) -> Option<Answer> {
    let solved = run(field, rows, allowed, goal, branches)?;
    let relaxed = goal.is_relaxed();
    let mut chosen = Vec::new();
    for (column, value) in solved.columns.iter().zip(&solved.values) {
        let value = if relaxed { (value + ROUNDING).floor() } else { *value };
        let count = whole(value).min(column.members.len());
        chosen.extend(&column.members[..count]);
    }
    chosen.sort_unstable();
    let bound = rounded(if relaxed { (solved.objective + ROUNDING).floor() } else { solved.objective });
    Some(Answer { chosen, bound, proven: solved.proven })
}

/// The least sum of prices with exactly `count` candidates, parts of candidates allowed, rounded down, and which part
/// of each candidate it takes.
pub(super) fn least_price(
    field: &Field<'_, '_>,
    rows: &Rows,
    count: usize,
    prices: &[i64],
) -> Option<(i64, Vec<f64>)> {
    let solved = run(field, rows, |_| true, Goal::Fractional(count, prices), 1)?;
    let mut parts = vec![0.0; field.len()];
    for (column, value) in solved.columns.iter().zip(&solved.values) {
        for &at in &column.members {
            parts[at] = value / f64::from(int(column.members.len()));
        }
    }
    Some((rounded((solved.objective - ROUNDING).floor()), parts))
}

/// What the solver came to.
struct Solved {
    columns: Vec<Column>,
    values: Vec<f64>,
    objective: f64,
    proven: bool,
}

fn run(
    field: &Field<'_, '_>,
    rows: &Rows,
    allowed: impl Fn(usize) -> bool,
    goal: Goal<'_>,
    branches: u64,
) -> Option<Solved> {
    let problem = field.problem;
    let with_cost = matches!(goal, Goal::Cheapest(..));
    let with_groups = with_cost || problem.max_groups.is_some() && !matches!(goal, Goal::Fractional(..));
    let most = goal.count();
    let binding = binding_rows(field, rows, most);
    let possible =
        |at: usize| allowed(at) && !rows.stuck[at] && (!goal.is_exact() || could_be_one_of(field, at, most));
    let columns = columns(field, rows, &binding, possible, with_groups, goal);
    if columns.is_empty() && !goal.is_exact() {
        // Budgets rule every candidate out.
        return Some(Solved { columns, values: Vec::new(), objective: 0.0, proven: true });
    }
    if field.must.is_some() && !columns.iter().any(|column| column.must) {
        return None;
    }
    if columns.is_empty() || columns.len() > MOST_COLUMNS {
        return None;
    }
    let direction =
        if goal.is_exact() { OptimizationDirection::Minimize } else { OptimizationDirection::Maximize };
    let mut program = Problem::new(direction);
    let value = |column: &Column| if goal.is_exact() { float(column.own_cost) } else { 1.0 };
    let relaxed = goal.is_relaxed();
    let variables: Vec<Variable> = columns
        .iter()
        .map(|column| match int(column.members.len()) {
            _ if column.must && relaxed => program.add_var(value(column), (1.0, 1.0)),
            _ if column.must => program.add_integer_var(value(column), (1, 1)),
            count if relaxed => program.add_var(value(column), (0.0, f64::from(count))),
            count => program.add_integer_var(value(column), (0, count)),
        })
        .collect();
    let mut sum = |weight: &dyn Fn(&Column) -> i64, op: ComparisonOp, limit: i64| {
        let terms = columns.iter().zip(&variables).filter(|(c, _)| weight(c) != 0);
        let terms: Vec<(Variable, f64)> = terms.map(|(c, &v)| (v, float(weight(c)))).collect();
        program.add_constraint(terms, op, float(limit));
    };
    let op = if goal.is_exact() { ComparisonOp::Eq } else { ComparisonOp::Le };
    sum(&|_| 1, op, i64::try_from(most).ok()?);
    for (at, &row) in binding.iter().enumerate() {
        sum(&|c| c.weights[at], ComparisonOp::Le, rows.limits[row]);
    }
    for (at, cap) in problem.caps.iter().enumerate() {
        sum(&|c| c.caps[at], ComparisonOp::Le, cap.most);
    }
    if with_groups {
        let touched = groups(field, &mut program, &columns, &variables, with_cost);
        if let Some(limit) = problem.max_groups {
            let own = columns.iter().zip(&variables).filter(|(c, _)| c.own_groups != 0);
            let own = own.map(|(c, &v)| (v, float(c.own_groups)));
            program.add_constraint(
                own.chain(touched.into_iter().map(|z| (z, 1.0))),
                ComparisonOp::Le,
                float(limit),
            );
        }
    }
    let mut options = SolveOptions::default();
    options.node_limit = Some(branches);
    let SolveOutcome::Solution(solution) = program.solve_with(options).ok()? else { return None };
    let proven = solution.status() == SolutionStatus::Optimal;
    let values = variables.iter().map(|&variable| solution.var_value(variable)).collect();
    Some(Solved { values, objective: solution.objective(), proven, columns })
}

/// Rows that a choice of at most `most` candidates could break.
fn binding_rows(field: &Field<'_, '_>, rows: &Rows, most: usize) -> Vec<usize> {
    let most = field.problem.caps.iter().fold(most, |most, cap| {
        if cap.resource != field.problem.resource {
            return most;
        }
        // Each candidate moves at least one card.
        most.min(usize::try_from(cap.most.max(0)).unwrap_or(usize::MAX))
    });
    let can_break = |&row: &usize| {
        let mut weights: Vec<i64> = rows.weights.iter().map(|w| w[row]).collect();
        weights.sort_unstable_by(|a, b| b.cmp(a));
        weights.into_iter().take(most).sum::<i64>() > rows.limits[row]
    };
    (0..rows.limits.len()).filter(can_break).collect()
}

#[expect(clippy::cast_precision_loss, reason = "amounts of a cluster are far below 2^52")]
fn float(n: i64) -> f64 {
    n as f64
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> usize {
    value.round().clamp(0.0, 1e9) as usize
}

#[expect(clippy::cast_possible_truncation, reason = "clamped before")]
fn rounded(value: f64) -> i64 {
    value.round().clamp(-1e15, 1e15) as i64
}
