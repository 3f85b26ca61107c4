//! A set of candidates to empty, with its budgets, rows and disruption kept up to date.
//!
//! Invariant: every sum is a function of the set alone, so inserting and removing in any order restores it.
//!
//! May import: snapshot, plan

use rustc_hash::FxHashMap;

use super::field::Field;
use super::rows::Rows;
use crate::plan::disruption::{Disruption, Load};
use crate::plan::types::Dimensions;
use crate::snapshot::model::{GroupIdx, OwnerIdx, PodIdx};

/// The set.
#[derive(Clone)]
pub(super) struct Choice<'f, 'p, 's> {
    field: &'f Field<'p, 's>,
    rows: &'f Rows,
    inside: Vec<bool>,
    count: usize,
    costs: Disruption,
    /// Sum of each row.
    sums: Vec<i64>,
    /// Sum moved, by cap.
    moved: Vec<i64>,
    /// How many chosen candidates disturb a shared pod.
    uses: FxHashMap<PodIdx, u32>,
    evictions: FxHashMap<OwnerIdx, i64>,
    /// Candidates that other rules keep, by position.
    barred: Vec<bool>,
}

impl<'f, 'p, 's> Choice<'f, 'p, 's> {
    /// The empty set. `barred` are candidates that break other rules than those known here; may be shorter.
    pub fn new(field: &'f Field<'p, 's>, rows: &'f Rows, barred: &[bool]) -> Self {
        Self {
            field,
            rows,
            inside: vec![false; field.len()],
            count: 0,
            costs: field.undisturbed.clone(),
            sums: vec![0; rows.limits.len()],
            moved: vec![0; field.problem.caps.len()],
            uses: FxHashMap::default(),
            evictions: FxHashMap::default(),
            barred: (0..field.len()).map(|at| rows.stuck[at] || barred.get(at) == Some(&true)).collect(),
        }
    }

    /// Number of chosen candidates.
    pub const fn count(&self) -> usize {
        self.count
    }

    pub fn contains(&self, at: usize) -> bool {
        self.inside[at]
    }

    /// True when other rules keep a candidate, whatever else is chosen.
    pub fn is_barred(&self, at: usize) -> bool {
        self.barred[at]
    }

    /// Positions of the chosen candidates, in order.
    pub fn chosen(&self) -> Vec<usize> {
        (0..self.inside.len()).filter(|&at| self.inside[at]).collect()
    }

    /// Disruption of the set.
    pub const fn totals(&self) -> Dimensions {
        self.costs.totals()
    }

    /// Weighted disruption of the set.
    pub fn cost(&self) -> i64 {
        self.totals().cost(self.field.problem.weights)
    }

    /// What inserting a candidate adds to the cost.
    pub fn added_cost(&self, at: usize) -> i64 {
        self.delta(at).cost(self.field.problem.weights)
    }

    /// What removing a candidate saves.
    pub fn saved_cost(&mut self, at: usize) -> i64 {
        let before = self.cost();
        self.remove(at);
        let saved = before - self.cost();
        self.insert(at);
        saved
    }

    /// True when budgets, retries and rows allow the set with this candidate as well.
    pub fn allows(&self, at: usize) -> bool {
        if self.barred[at] {
            return false;
        }
        let problem = self.field.problem;
        let burden = &self.field.burdens[at];
        let within = |(sum, (weight, limit)): (&i64, (&i64, &i64))| sum + weight <= *limit;
        if !self.sums.iter().zip(self.rows.weights[at].iter().zip(&self.rows.limits)).all(within) {
            return false;
        }
        if let Some(most) = problem.max_groups
            && self.totals().affected_groups + self.delta(at).affected_groups > most
        {
            return false;
        }
        for (index, cap) in problem.caps.iter().enumerate() {
            let shared = burden.shared.iter().filter(|pod| !self.uses.contains_key(pod));
            let shared: i64 = shared.map(|&pod| problem.snapshot.charged(pod, cap.resource)).sum();
            if self.moved[index] + burden.caps[index] + shared > cap.most {
                return false;
            }
        }
        burden.retries.iter().all(|&(owner, more)| {
            let so_far = self.evictions.get(&owner).copied().unwrap_or(0);
            problem.evictions_tolerated(owner).is_none_or(|limit| so_far + more <= limit)
        })
    }

    pub fn insert(&mut self, at: usize) {
        self.change(at, 1);
    }

    pub fn remove(&mut self, at: usize) {
        self.change(at, -1);
    }

    fn delta(&self, at: usize) -> Dimensions {
        let burden = &self.field.burdens[at];
        if burden.shared.is_empty() {
            return self.costs.delta(&burden.loads);
        }
        let fresh = burden.shared.iter().copied().filter(|pod| !self.uses.contains_key(pod));
        self.costs.delta(&merged(&burden.loads, self.costs.loads_of(fresh)))
    }

    fn change(&mut self, at: usize, sign: i64) {
        let field = self.field;
        let burden = &field.burdens[at];
        self.inside[at] = sign > 0;
        self.count = if sign > 0 { self.count + 1 } else { self.count - 1 };
        for (sum, weight) in self.sums.iter_mut().zip(&self.rows.weights[at]) {
            *sum += sign * weight;
        }
        for (moved, amount) in self.moved.iter_mut().zip(&burden.caps) {
            *moved += sign * amount;
        }
        for &(group, load) in &burden.loads {
            self.costs.add_load(group, Load { pods: sign * load.pods, cards: sign * load.cards });
        }
        for &(owner, more) in &burden.retries {
            *self.evictions.entry(owner).or_default() += sign * more;
        }
        for &pod in &burden.shared {
            let uses = self.uses.entry(pod).or_default();
            let before = *uses > 0;
            *uses = if sign > 0 { *uses + 1 } else { uses.saturating_sub(1) };
            let after = *uses > 0;
            if !after {
                self.uses.remove(&pod);
            }
            if before == after {
                continue;
            }
            if after {
                self.costs.add(pod);
            } else {
                self.costs.remove(pod);
            }
            for (moved, cap) in self.moved.iter_mut().zip(&field.problem.caps) {
                *moved += sign * field.problem.snapshot.charged(pod, cap.resource);
            }
        }
    }
}

fn merged(a: &[(GroupIdx, Load)], b: Vec<(GroupIdx, Load)>) -> Vec<(GroupIdx, Load)> {
    let mut all: Vec<(GroupIdx, Load)> = a.iter().copied().chain(b).collect();
    all.sort_by_key(|l| l.0);
    let mut out: Vec<(GroupIdx, Load)> = Vec::with_capacity(all.len());
    for (group, load) in all {
        match out.last_mut() {
            Some((last, sum)) if *last == group => {
                sum.pods += load.pods;
                sum.cards += load.cards;
            }
            _ => out.push((group, load)),
        }
    }
    out
}
