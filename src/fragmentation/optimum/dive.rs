//! A packing heuristic that follows the relaxation: use patterns as often as it does, rounded down, and pack
//! what is left again.
//!
//! May import: nothing of this crate

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::load::{Class, Load, Work};
use super::pack;
use super::pattern::{Pattern, Patterns};
use super::relaxation::float;

/// Whether diving packs everything into the `nodes` largest bins; `false` proves nothing.
///
/// Each round solves the relaxation for what is left, uses every pattern as often as it does, rounded down (when
/// that is never: the most used one once), and tries best-fit decreasing on the rest.
pub(super) fn fits(load: &Load, patterns: &Patterns, nodes: u64, work: &mut Work) -> bool {
    let mut rest = Rest { items: load.items.clone(), bins: load.bins.clone() };
    let mut left = nodes;
    for bin in &mut rest.bins {
        bin.count = bin.count.min(left);
        left -= bin.count;
    }
    let cost = patterns.pivot(load).saturating_mul(PIVOTS_OF_A_ROUND);
    while work.spend(cost) {
        let Some(uses) = rest.relaxed(patterns) else { return false };
        let mut used = false;
        for &(class, pattern, amount) in &uses {
            used |= rest.take(class, pattern, whole_part(amount));
        }
        if !used {
            // Ties go to the first pattern, so that the choice is reproducible.
            let most = uses.iter().rev().max_by(|a, b| a.2.total_cmp(&b.2));
            let Some(&(class, pattern, _)) = most else { return false };
            if !rest.take(class, pattern, 1) {
                return false;
            }
        }
        if pack::fits_into(&rest.items, rest.bins.iter().copied(), work) {
            return true;
        }
    }
    false
}

/// What is still to be packed, and the bins left for it; classes as in the load, counts may be 0.
struct Rest {
    items: Vec<Class>,
    bins: Vec<Class>,
}

impl Rest {
    /// The patterns that an optimal solution of the relaxation uses, and how often.
    fn relaxed<'a>(&self, patterns: &'a Patterns) -> Option<Vec<(usize, &'a Pattern, f64)>> {
        let mut program = Problem::new(OptimizationDirection::Minimize);
        let mut columns: Vec<(usize, &Pattern, Variable)> = Vec::new();
        for (class, of_class) in patterns.classes.iter().enumerate() {
            let most = float(self.bins[class].count);
            let of_class = of_class.iter().map(|pattern| (class, pattern, program.add_var(1.0, (0.0, most))));
            let first = columns.len();
            columns.extend(of_class);
            let used = columns[first..].iter().map(|&(_, _, column)| (column, 1.0));
            program.add_constraint(used, ComparisonOp::Le, most);
        }
        for (index, item) in self.items.iter().enumerate() {
            let covering = columns.iter().filter(|(_, pattern, _)| pattern[index] > 0);
            let covering = covering.map(|&(_, pattern, column)| (column, f64::from(pattern[index])));
            program.add_constraint(covering, ComparisonOp::Ge, float(item.count));
        }
        let solution = program.solve().ok()?.into_solution().ok()?;
        let uses =
            columns.into_iter().map(|(class, pattern, column)| (class, pattern, solution.var_value(column)));
        Some(uses.filter(|&(_, _, amount)| amount > NOTHING).collect())
    }

    /// Fills bins of a class with a pattern, at most `times`; whether any bin was filled.
    fn take(&mut self, class: usize, pattern: &Pattern, times: u64) -> bool {
        let times = times.min(self.bins[class].count);
        self.bins[class].count -= times;
        for (item, &taken) in self.items.iter_mut().zip(pattern) {
            item.count = item.count.saturating_sub(u64::from(taken).saturating_mul(times));
        }
        times > 0
    }
}

/// Smaller uses are rounding errors.
const NOTHING: f64 = 1e-6;
/// Pivots charged for one relaxation.
const PIVOTS_OF_A_ROUND: u64 = 50;

/// Rounded down, rounding errors aside.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_part(amount: f64) -> u64 {
    (amount + NOTHING).floor().clamp(0.0, 1e15) as u64
}
