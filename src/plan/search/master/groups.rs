//! Variables and inequalities of groups that several candidates disturb.
//!
//! May import: snapshot, plan

use microlp::{ComparisonOp, Problem, Variable};
use rustc_hash::FxHashMap;

use super::columns::{Column, breaches_at_once};
use super::float;
use crate::plan::disruption::GroupFacts;
use crate::plan::search::field::Field;
use crate::snapshot::model::GroupIdx;

/// Adds what groups cost and how they tie candidates together; returns the variables of being touched.
pub(super) fn groups(
    field: &Field<'_, '_>,
    program: &mut Problem,
    columns: &[Column],
    variables: &[Variable],
    with_cost: bool,
) -> Vec<Variable> {
    let mut of_group: FxHashMap<GroupIdx, Vec<usize>> = FxHashMap::default();
    for (at, column) in columns.iter().enumerate() {
        for &(group, ..) in &column.spanning {
            of_group.entry(group).or_default().push(at);
        }
    }
    let mut of_group: Vec<(GroupIdx, Vec<usize>)> = of_group.into_iter().collect();
    of_group.sort_unstable_by_key(|(group, _)| *group);
    let [per_group, per_breach, per_damaged, ..] = field.problem.weights;
    let mut touched = Vec::with_capacity(of_group.len());
    for (group, members) in of_group {
        let facts = field.undisturbed.facts(group);
        let load =
            |at: usize| columns[at].spanning.iter().find(|s| s.0 == group).map_or((0, 0), |s| (s.1, s.2));
        let all: i64 = members
            .iter()
            .map(|&at| load(at).0 * i64::try_from(columns[at].members.len()).unwrap_or(1))
            .sum();
        let at_once = breaches_at_once(field, group, facts);
        let mut price = if with_cost { per_group } else { 0 };
        if with_cost && at_once {
            price += per_breach + per_damaged * facts.cards;
        }
        let z = program.add_binary_var(float(price));
        for &at in &members {
            let count = float(i64::try_from(columns[at].members.len()).unwrap_or(1));
            program.add_constraint([(variables[at], 1.0), (z, -count)], ComparisonOp::Le, 0.0);
        }
        if with_cost && !at_once && all > facts.slack {
            breach(program, columns, variables, &members, &load, facts, all, per_breach, per_damaged);
        }
        touched.push(z);
    }
    touched
}

/// A group that falls below its minimum only when several candidates are emptied.
#[expect(clippy::too_many_arguments, reason = "the parts of one inequality")]
fn breach(
    program: &mut Problem,
    columns: &[Column],
    variables: &[Variable],
    members: &[usize],
    load: &dyn Fn(usize) -> (i64, i64),
    facts: &GroupFacts,
    all: i64,
    per_breach: i64,
    per_damaged: i64,
) {
    let b = program.add_binary_var(float(per_breach));
    // Damage beyond the moved cards, which the candidates pay for themselves.
    let extra = program.add_var(float(per_damaged), (0.0, f64::INFINITY));
    let moved = members.iter().map(|&at| (variables[at], float(load(at).0)));
    let over = float(all - facts.slack);
    program.add_constraint(moved.chain([(b, -over)]), ComparisonOp::Le, float(facts.slack));
    let cards = members.iter().map(|&at| (variables[at], float(load(at).1)));
    program.add_constraint(cards.chain([(extra, 1.0), (b, -float(facts.cards))]), ComparisonOp::Ge, 0.0);
    for &at in members {
        if load(at).0 > facts.slack {
            let count = float(i64::try_from(columns[at].members.len()).unwrap_or(1));
            program.add_constraint([(variables[at], 1.0), (b, -count)], ComparisonOp::Le, 0.0);
        }
    }
}
