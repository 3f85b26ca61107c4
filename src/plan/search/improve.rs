//! Neighbourhood search: give a few candidates up, empty others, keep what is better.
//!
//! Ruin and recreate (Schrimpf et al. 2000) with the rank of plans as the measure: more candidates, then less cost.
//! Steps of equal rank are taken, too, to leave plateaus. Random choices come from a generator that is seeded by the
//! task alone, effort is counted in looks at receivers, so equal inputs give equal answers.
//!
//! May import: snapshot, plan

use super::field::Field;
use super::solution::Solution;

/// A small generator of random numbers (`SplitMix64`, Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 for `n` = 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % n).unwrap_or(0)
    }
}

/// Candidates outside that one step tries to empty.
const TRIES: usize = 24;
/// Most candidates that one step gives up.
const MOST_DROPPED: usize = 6;
/// Steps of [`grow`] after which everything is placed anew.
const REPACK_EVERY: u64 = 64;
/// Steps for which a candidate that found no room is at most left alone.
const REST: usize = 48;
/// Steps without a gain after which nothing more is expected, beside some per candidate.
const PATIENCE: u64 = 2_000;
/// What a step costs beside its looks at receivers.
const STEP: u64 = 40;

fn patience(field: &Field<'_, '_>) -> u64 {
    PATIENCE + 16 * u64::try_from(field.len()).unwrap_or(0)
}

/// Empties what can be emptied as well, cheapest first.
pub(super) fn fill(solution: &mut Solution<'_, '_, '_>, target: usize) {
    while solution.choice.count() < target {
        let order: Vec<usize> = solution.outside().collect();
        let before = solution.choice.count();
        for at in order {
            if solution.choice.count() >= target {
                break;
            }
            solution.add(at);
        }
        solution.settle();
        if solution.choice.count() == before {
            break;
        }
    }
}

/// Looks for more candidates, at whatever cost, while effort lasts.
///
/// A step gives up the candidates whose pods share a receiver, or a few at random, and empties others in random
/// order: what matters is how things fit together, not which candidate is cheap.
pub(super) fn grow(
    field: &Field<'_, '_>,
    solution: &mut Solution<'_, '_, '_>,
    target: usize,
    random: &mut Random,
    effort: u64,
) {
    let start = solution.rooms.probes;
    let mut spent = 0;
    let mut now = 0;
    let mut last_gain = 0;
    while solution.choice.count() < target && solution.rooms.probes - start + spent < effort {
        if now - last_gain > patience(field) {
            break;
        }
        spent += STEP;
        let before = solution.choice.count();
        let mut again = ruin(field, solution, random);
        for _ in 0..TRIES {
            again.push(random.below(field.len()));
        }
        // The order decides what fits: each time another one.
        for at in (1..again.len()).rev() {
            again.swap(at, random.below(at + 1));
        }
        for at in again {
            solution.add(at);
        }
        if solution.choice.count() < before {
            solution.undo();
        } else {
            if solution.choice.count() > before {
                last_gain = now;
            }
            solution.settle();
        }
        now += 1;
        if now % REPACK_EVERY == 0 {
            let chosen = solution.choice.chosen();
            if solution.rooms.repack(&chosen, random) {
                solution.settle();
                fill(solution, target);
            }
        }
    }
}

/// Gives up a few candidates that have to do with each other; returns them.
fn ruin(field: &Field<'_, '_>, solution: &mut Solution<'_, '_, '_>, random: &mut Random) -> Vec<usize> {
    let most = 1 + random.below(MOST_DROPPED);
    let mut dropped: Vec<usize> = Vec::new();
    for _ in 0..4 * most {
        if dropped.len() >= most {
            break;
        }
        let at = random.below(field.len());
        if !solution.choice.contains(at) || field.is_must(at) {
            continue;
        }
        let mut near = vec![at];
        if random.below(2) == 0 {
            near.extend(solution.rooms.neighbours(at));
        }
        near.truncate(most);
        for at in near {
            if solution.choice.contains(at) && !field.is_must(at) {
                solution.drop(at);
                dropped.push(at);
            }
        }
    }
    dropped
}

/// Improves the solution while effort lasts. `target` is the most candidates that make sense; `least_cost` ends the
/// search when that many candidates cost no more.
pub(super) fn improve(
    field: &Field<'_, '_>,
    solution: &mut Solution<'_, '_, '_>,
    target: usize,
    least_cost: i64,
    random: &mut Random,
    effort: u64,
) {
    let start = solution.rooms.probes;
    let mut spent = 0;
    let mut tired = vec![0; field.len()];
    let mut now = 0;
    let mut last_gain = 0;
    while solution.rooms.probes - start + spent < effort {
        now += 1;
        if now - last_gain > patience(field) {
            break;
        }
        if solution.choice.count() >= target && solution.choice.cost() <= least_cost {
            break;
        }
        spent += STEP;
        let before = solution.rank();
        let made = step(field, solution, target, random, &mut tired, now);
        if !made || solution.rank() < before {
            solution.undo();
        } else {
            if solution.rank() > before {
                last_gain = now;
            }
            solution.settle();
        }
    }
}

/// One step; false when it made no sense.
fn step(
    field: &Field<'_, '_>,
    solution: &mut Solution<'_, '_, '_>,
    target: usize,
    random: &mut Random,
    tired: &mut [u64],
    now: u64,
) -> bool {
    // Around a candidate outside that would be cheap: those that share a group with it, or any.
    let width = solution.choice.count().clamp(8, 400);
    let skip = {
        let r = random.below(width);
        random.below(r + 1)
    };
    let Some(wanted) = solution.outside().nth(skip) else { return false };
    let chosen_near = |solution: &Solution<'_, '_, '_>, at: usize| -> Vec<usize> {
        let near = field.groups(at).into_iter().flat_map(|g| field.of_group[g.at()].iter().copied());
        near.map(|n| n as usize).filter(|&n| solution.choice.contains(n)).collect()
    };
    let count = 1 + random.below(MOST_DROPPED);
    let mut dropped = Vec::new();
    let mut tries = 0;
    let room = solution.choice.count() < target;
    if !(room && solution.add(wanted)) {
        while dropped.len() < count && tries < 4 * count {
            tries += 1;
            let anchor = dropped.last().copied().unwrap_or(wanted);
            let near = if random.below(3) == 0 { Vec::new() } else { chosen_near(solution, anchor) };
            let pick = if near.is_empty() {
                costly(field, solution, random)
            } else {
                Some(near[random.below(near.len())])
            };
            let Some(pick) = pick else { break };
            if !solution.choice.contains(pick) || field.is_must(pick) {
                continue;
            }
            solution.drop(pick);
            dropped.push(pick);
            if !solution.choice.contains(wanted) && solution.add(wanted) && random.below(2) == 0 {
                break;
            }
        }
    }
    let mut tried = 0;
    while solution.choice.count() < target && tried < TRIES {
        let next: Vec<usize> = solution.outside().filter(|&at| tired[at] <= now).take(TRIES).collect();
        let before = tried;
        for at in next {
            tried += 1;
            if solution.add(at) {
                break;
            }
            tired[at] = now + 4 + u64::try_from(random.below(REST)).unwrap_or(0);
        }
        if tried == before || tried >= TRIES {
            break;
        }
    }
    true
}

/// Of a few chosen candidates the one that saves most.
fn costly(field: &Field<'_, '_>, solution: &mut Solution<'_, '_, '_>, random: &mut Random) -> Option<usize> {
    let mut best: Option<(i64, usize)> = None;
    for _ in 0..24 {
        let at = random.below(field.len());
        if solution.choice.contains(at) && !field.is_must(at) {
            let saved = solution.choice.saved_cost(at);
            if best.is_none_or(|b| (saved, at) > b) {
                best = Some((saved, at));
            }
        }
    }
    best.map(|b| b.1)
}
