//! A proven lower bound on the disruption of emptying a number of candidates.
//!
//! What a group costs for being touched, and for falling below its minimum where any move breaks it, is shared out
//! among the candidates that disturb it: whatever is emptied then pays at most what it really costs, so the least sum
//! of prices is a bound. The shares follow the candidates that the last relaxation chose, as in the dual ascent for
//! facility location (Erlenkotter 1978); the best bound of all rounds counts.
//!
//! Units: prices are thousandths of the unit of cost, so that shares stay whole numbers.
//!
//! May import: snapshot, plan

use super::choice::Choice;
use super::field::Field;
use super::master::{breaches_at_once, least_price};
use super::rows::Rows;
use crate::snapshot::model::GroupIdx;

/// Parts of one unit of cost.
const PARTS: i64 = 1_000;
/// Rounds of shares.
const ROUNDS: usize = 12;

/// A group that several candidates disturb.
struct Shared {
    /// What it costs at least when any of them is emptied, in parts.
    charge: i64,
    /// Candidates and what each of them pays.
    shares: Vec<(usize, i64)>,
}

/// No choice of `count` candidates costs less than this.
pub(super) fn least_cost(field: &Field<'_, '_>, rows: &Rows, count: usize) -> i64 {
    let (fixed, mut shared) = prices(field);
    let mut best = dearest(field, rows, count) * PARTS;
    for _ in 0..ROUNDS {
        let mut prices = fixed.clone();
        for &(at, share) in shared.iter().flat_map(|group| &group.shares) {
            prices[at] += share;
        }
        let Some((bound, parts)) = least_price(field, rows, count, &prices) else { break };
        best = best.max(bound);
        for group in &mut shared {
            follow(group, &parts);
        }
    }
    // Costs are whole: the next whole number is a bound as well.
    best.div_euclid(PARTS) + i64::from(best.rem_euclid(PARTS) > 0)
}

/// The least cost of the dearest of `count` candidates, each by itself: a set costs no less than any part of it.
fn dearest(field: &Field<'_, '_>, rows: &Rows, count: usize) -> i64 {
    let nothing = Choice::new(field, rows, &[]);
    let may = (0..field.len()).filter(|&at| !rows.stuck[at]);
    let mut alone: Vec<i64> = may.map(|at| nothing.added_cost(at)).collect();
    alone.sort_unstable();
    count.checked_sub(1).and_then(|at| alone.get(at)).copied().unwrap_or(0)
}

/// What each candidate costs whatever else is emptied, and the groups to share out.
fn prices(field: &Field<'_, '_>) -> (Vec<i64>, Vec<Shared>) {
    let [per_group, per_breach, per_damaged, per_card, per_pod] = field.problem.weights;
    let mut fixed = vec![0; field.len()];
    let mut shared: Vec<Option<Shared>> = Vec::new();
    shared.resize_with(field.of_group.len(), || None);
    for (at, burden) in field.burdens.iter().enumerate() {
        for &(group, load) in &burden.loads {
            let facts = field.undisturbed.facts(group);
            let mut price = per_card * load.cards + per_pod * load.pods;
            let alone = field.of_group[group.at()].len() == 1;
            let breaks = if alone { load.pods > facts.slack } else { breaches_at_once(field, group, facts) };
            let charge = per_group + if breaks { per_breach + per_damaged * facts.cards } else { 0 };
            if !breaks {
                price += per_damaged * load.cards;
            }
            if alone {
                price += charge;
            } else {
                let entry = shared[group.at()].get_or_insert_with(|| equal(field, group, charge * PARTS));
                debug_assert_eq!(entry.charge, charge * PARTS);
            }
            fixed[at] += price * PARTS;
        }
    }
    (fixed, shared.into_iter().flatten().collect())
}

/// Equal shares, rounded down: less is a bound, too.
fn equal(field: &Field<'_, '_>, group: GroupIdx, charge: i64) -> Shared {
    let members = &field.of_group[group.at()];
    let each = charge / i64::try_from(members.len()).unwrap_or(i64::MAX).max(1);
    Shared { charge, shares: members.iter().map(|&at| (at as usize, each)).collect() }
}

/// Moves half of the charge to the candidates that were chosen, in proportion.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "amounts far below 2^52")]
fn follow(group: &mut Shared, parts: &[f64]) {
    let chosen: f64 = group.shares.iter().map(|&(at, _)| parts[at]).sum();
    if chosen <= f64::EPSILON {
        return;
    }
    let charge = group.charge;
    let mut left = charge;
    for (at, share) in &mut group.shares {
        let goal = (charge as f64 * parts[*at] / chosen) as i64;
        *share = i64::midpoint(*share, goal).clamp(0, left);
        left -= *share;
    }
}
