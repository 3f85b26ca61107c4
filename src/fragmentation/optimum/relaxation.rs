//! The bound of the linear relaxation of the pattern model.
//!
//! With a weight w ≥ 0 for each size, no bin of class c holds items worth more than V(c), its most valuable
//! pattern; so the values V of the bins used must add up to the worth of all items. The weights that make this
//! strongest solve the dual
//!
//! ```text
//! maximise  Σ items_i w_i − Σ bins_c u_c
//! so that   Σ p_i w_i ≤ 1 + u_c     for each pattern p of each class c          w, u ≥ 0
//! ```
//!
//! Floating point only proposes weights. The bound is computed from their integer roundings, V included, in
//! exact arithmetic, so it is sound whatever the solver returned. Where not all patterns are listed, the most
//! valuable one of each class is added until none violates its row (cutting planes of the dual = column
//! generation); every round's bound is sound, the best one counts.
//!
//! May import: nothing of this crate

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::load::{Load, Work};
use super::pattern::{Pattern, Patterns};
use super::price::{Price, price};

/// The best bound found, rounded up to whole bins; `None` when there is none. Adds the patterns that it met.
pub(super) fn bound(load: &Load, patterns: &mut Patterns, work: &mut Work) -> Option<u64> {
    if !work.spend(patterns.pivot(load).saturating_mul(PIVOTS_AT_FIRST)) {
        return None;
    }
    let dual = Dual::new(load, patterns);
    let mut solution = dual.problem.solve().ok()?.into_solution().ok()?;
    let mut best = None;
    loop {
        let weights: Vec<u128> =
            dual.weights.iter().map(|&weight| rounded(solution.var_value(weight))).collect();
        let prices = prices(load, patterns, &weights, work);
        let items = load.items.iter().zip(&weights);
        let demand = items.map(|(item, &weight)| u128::from(item.count) * weight).sum();
        best = best.max(load.fewest(demand, |class, _| prices[class].bound));

        let rows = dual.violated(&solution, &prices);
        if patterns.complete || rows.is_empty() {
            return best;
        }
        for (class, pattern) in rows {
            let pivots = patterns.pivot(load).saturating_mul(PIVOTS_OF_A_ROW);
            let row = dual.row(class, &pattern);
            patterns.classes[class].push(pattern);
            let edited = if work.spend(pivots) {
                solution
                    .add_constraint(row, ComparisonOp::Le, 1.0)
                    .ok()
                    .and_then(|edit| edit.into_solution().ok())
            } else {
                None
            };
            let Some(edited) = edited else { return best };
            solution = edited;
        }
    }
}

/// The price of each class, made non-decreasing in the capacity: larger bins hold whatever smaller ones do,
/// also where a search was cut short.
fn prices(load: &Load, patterns: &Patterns, weights: &[u128], work: &mut Work) -> Vec<Price> {
    let worth = |pattern: &Pattern| -> u128 {
        pattern.iter().zip(weights).map(|(&taken, &weight)| u128::from(taken) * weight).sum()
    };
    let mut prices: Vec<Price> = load
        .bins
        .iter()
        .zip(&patterns.classes)
        .map(|(bin, of_class)| {
            if patterns.complete {
                let bound = of_class.iter().map(worth).max().unwrap_or(0);
                Price { pattern: Pattern::new(), found: bound, bound }
            } else {
                price(load, weights, bin.amount, work)
            }
        })
        .collect();
    for class in (1..prices.len()).rev() {
        prices[class - 1].bound = prices[class - 1].bound.max(prices[class].bound);
    }
    prices
}

struct Dual {
    problem: Problem,
    weights: Vec<Variable>,
    surcharges: Vec<Variable>,
}

impl Dual {
    fn new(load: &Load, patterns: &Patterns) -> Self {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let weights =
            load.items.iter().map(|item| problem.add_var(float(item.count), (0.0, MOST_WEIGHT))).collect();
        let surcharges =
            load.bins.iter().map(|bin| problem.add_var(-float(bin.count), (0.0, f64::INFINITY))).collect();
        let mut dual = Self { problem, weights, surcharges };
        for (class, of_class) in patterns.classes.iter().enumerate() {
            for pattern in of_class {
                let row = dual.row(class, pattern);
                dual.problem.add_constraint(row, ComparisonOp::Le, 1.0);
            }
        }
        dual
    }

    fn row(&self, class: usize, pattern: &Pattern) -> Vec<(Variable, f64)> {
        let taken = self.weights.iter().zip(pattern).filter(|(_, taken)| **taken > 0);
        let worth = taken.map(|(&weight, &taken)| (weight, f64::from(taken)));
        worth.chain([(self.surcharges[class], -1.0)]).collect()
    }

    /// The most valuable pattern of each class whose row the solution breaks.
    fn violated(&self, solution: &Solution, prices: &[Price]) -> Vec<(usize, Pattern)> {
        let breaks = |class: usize, price: &Price| {
            price.found > rounded(1.0 + solution.var_value(self.surcharges[class]) + TOLERANCE)
        };
        let broken = prices.iter().enumerate().filter(|(class, price)| breaks(*class, price));
        broken.map(|(class, price)| (class, price.pattern.clone())).collect()
    }
}

/// Weights are rounded to multiples of 1 / this.
const WEIGHT_SCALE: f64 = 1_073_741_824.0;
/// A bin costs 1; an item worth a thousand times as much only exists while patterns are missing. Keeps the dual
/// bounded then, and the roundings below 2^50.
const MOST_WEIGHT: f64 = 1_000.0;
/// Rows broken by less than this do not matter for a bound that is rounded up to whole bins.
const TOLERANCE: f64 = 1e-6;
/// Pivots charged for the first solution and for each added row.
const PIVOTS_AT_FIRST: u64 = 50;
const PIVOTS_OF_A_ROW: u64 = 4;

/// Exact: the counts of the pattern model are far below 2^53.
#[allow(clippy::cast_precision_loss)]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// As a multiple of 1 / [`WEIGHT_SCALE`]. Any rounding is sound, it only costs strength.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rounded(value: f64) -> u128 {
    u128::from((value * WEIGHT_SCALE).round().clamp(0.0, 1.1e15) as u64)
}
