//! Columns of the program: candidates that it does not tell apart.
//!
//! May import: snapshot, plan

use rustc_hash::FxHashMap;

use super::Goal;
use crate::plan::disruption::GroupFacts;
use crate::plan::search::field::Field;
use crate::plan::search::rows::Rows;
use crate::snapshot::model::GroupIdx;

/// Pods and cards of a group on one candidate.
pub(super) type Share = (GroupIdx, i64, i64);

/// Candidates that the program does not tell apart.
pub(super) struct Column {
    /// Every choice contains its only member.
    pub must: bool,
    pub members: Vec<usize>,
    pub weights: Vec<i64>,
    pub caps: Vec<i64>,
    /// Groups that only this candidate disturbs.
    pub own_groups: i64,
    /// Cost that does not depend on other candidates.
    pub own_cost: i64,
    /// Of groups that others disturb, too.
    pub spanning: Vec<Share>,
}

/// The candidates that are allowed.
pub(super) fn columns(
    field: &Field<'_, '_>,
    rows: &Rows,
    binding: &[usize],
    allowed: impl Fn(usize) -> bool,
    with_groups: bool,
    goal: Goal<'_>,
) -> Vec<Column> {
    let with_cost = matches!(goal, Goal::Cheapest(..));
    let problem = field.problem;
    let [per_group, per_breach, per_damaged, per_card, per_pod] = problem.weights;
    let mut index: FxHashMap<(Vec<i64>, Vec<Share>), usize> = FxHashMap::default();
    let mut columns: Vec<Column> = Vec::new();
    let cheapest_others = |count: usize| {
        // Every moved card and pod costs at least this, whatever its group is spared.
        let others = count.saturating_sub(1).min(field.len());
        field.least_moves.get(others).copied().unwrap_or(0)
    };
    for at in (0..field.len()).filter(|&at| allowed(at)) {
        let burden = &field.burdens[at];
        let weights: Vec<i64> = binding.iter().map(|&row| rows.weights[at][row]).collect();
        let (mut own_groups, mut own_cost) = (0, 0);
        let mut spanning = Vec::new();
        if with_groups {
            for &(group, load) in &burden.loads {
                own_cost += per_card * load.cards + per_pod * load.pods;
                let facts = field.undisturbed.facts(group);
                if field.of_group[group.at()].len() > 1 {
                    spanning.push((group, load.pods, load.cards));
                    // A group that its first move breaches pays for all its cards with being touched.
                    if !breaches_at_once(field, group, facts) {
                        own_cost += per_damaged * load.cards;
                    }
                } else {
                    own_groups += 1;
                    let breached = load.pods > facts.slack;
                    let damaged = if breached { facts.cards } else { load.cards };
                    own_cost += per_group + if breached { per_breach } else { 0 } + per_damaged * damaged;
                }
            }
        }
        if !with_cost {
            own_cost = match goal {
                Goal::Priced(_, prices) | Goal::Fractional(_, prices) => prices[at],
                _ => 0,
            };
            // Only who is touched matters then.
            for share in &mut spanning {
                (share.1, share.2) = (0, 0);
            }
        }
        if let Goal::Cheapest(count, known) = goal
            && own_cost + cheapest_others(count) > known
        {
            continue;
        }
        let mut numbers = weights.clone();
        numbers.extend(&burden.caps);
        numbers.extend([own_groups, own_cost, i64::from(field.is_must(at))]);
        let column = *index.entry((numbers, spanning.clone())).or_insert_with(|| {
            columns.push(Column {
                must: field.is_must(at),
                members: Vec::new(),
                weights,
                caps: burden.caps.clone(),
                own_groups,
                own_cost,
                spanning,
            });
            columns.len() - 1
        });
        columns[column].members.push(at);
    }
    columns
}

/// True when a choice of `count` candidates may contain this one: the others take at least as much of each cap as
/// those that take least.
pub(super) fn could_be_one_of(field: &Field<'_, '_>, at: usize, count: usize) -> bool {
    field.problem.caps.iter().enumerate().all(|(cap, limits)| {
        let least =
            field.least_of_caps[cap].get(count.saturating_sub(1).min(field.len())).copied().unwrap_or(0);
        field.burdens[at].caps[cap] + least <= limits.most
    })
}

/// True when every candidate that disturbs the group takes it below its minimum.
pub(in crate::plan::search) fn breaches_at_once(
    field: &Field<'_, '_>,
    group: GroupIdx,
    facts: &GroupFacts,
) -> bool {
    field.of_group[group.at()].iter().all(|&at| {
        let loads = &field.burdens[at as usize].loads;
        loads.binary_search_by_key(&group, |l| l.0).is_ok_and(|i| loads[i].1.pods > facts.slack)
    })
}
