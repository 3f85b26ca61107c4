//! Each part of Search on small clusters made by hand.

mod choice;
mod demand;
mod least;
mod master;
mod rooms;
mod rows;

use serde_json::json;

use super::choice::Choice;
use super::demand::Demands;
use super::field::Field;
use super::rows::Rows;
use crate::api::Algorithm;
use crate::filter::State;
use crate::plan::request::Request;
use crate::plan::setup::{Start, start};
use crate::plan::testing::{CARDS, Cluster};
use crate::plan::{Planned, make};
use crate::snapshot::Snapshot;

/// A cluster and what is asked of it.
struct Task {
    snapshot: Snapshot,
    request: Request,
}

impl Task {
    /// Groups that are only named have a minimum of 1.
    fn of(cluster: Cluster) -> Self {
        let request = Request { algorithm: Algorithm::Search, ..Request::for_resource(CARDS) };
        Self { snapshot: cluster.with_groups().build(), request }
    }

    /// Budgets of groups and of cards.
    fn budget(mut self, groups: Option<u64>, cards: Option<u64>) -> Self {
        self.request.budget.pod_groups = groups;
        self.request.budget.resources = cards.map(|cards| (CARDS.to_owned(), cards)).into_iter().collect();
        self
    }

    fn planned(&self) -> Planned {
        make(&self.snapshot, &self.request).unwrap()
    }

    /// Freed nodes by name, and the bound on their number.
    fn freed(&self) -> (Vec<&str>, i64) {
        let Planned { plan, report } = self.planned();
        let mut names: Vec<&str> = plan.freed.iter().map(|&node| self.snapshot.node_name(node)).collect();
        names.sort_unstable();
        (names, report.upper_bound)
    }

    /// Shows what Search looks up.
    fn look<R>(&self, at: impl FnOnce(Parts<'_, '_, '_>) -> R) -> R {
        let resource = self.snapshot.resource_named(CARDS).unwrap();
        let Start { problem, state, .. } = start(&self.snapshot, &self.request, resource).unwrap();
        let field = Field::new(&problem);
        let demands = Demands::new(&field, &state);
        let rows = Rows::new(&field, &demands, &state);
        at(Parts { field: &field, demands: &demands, rows: &rows, state: &state })
    }
}

/// What Search looks up.
#[derive(Clone, Copy)]
struct Parts<'a, 'p, 's> {
    field: &'a Field<'p, 's>,
    demands: &'a Demands,
    rows: &'a Rows,
    state: &'a State<'s>,
}

impl<'a, 'p, 's> Parts<'a, 'p, 's> {
    /// The position of a candidate.
    fn at(&self, name: &str) -> usize {
        let snapshot = self.field.problem.snapshot;
        self.field.candidates.iter().position(|&node| snapshot.node_name(node) == name).unwrap()
    }

    fn choice(&self) -> Choice<'a, 'p, 's> {
        Choice::new(self.field, self.rows, &vec![false; self.field.len()])
    }

    /// The choice of these candidates; `None` where budgets or rows do not allow it.
    fn chosen(&self, set: &[usize]) -> Option<Choice<'a, 'p, 's>> {
        let mut choice = self.choice();
        let allowed = set.iter().all(|&at| {
            let allowed = choice.allows(at);
            choice.insert(at);
            allowed
        });
        allowed.then_some(choice)
    }

    fn allows(&self, names: &[&str]) -> bool {
        let set: Vec<usize> = names.iter().map(|name| self.at(name)).collect();
        self.chosen(&set).is_some()
    }

    /// The least cost of a choice of each number of candidates, by trying all of them.
    fn cheapest(&self) -> Vec<Option<i64>> {
        let mut least = vec![None; self.field.len() + 1];
        for bits in 0_u32..1 << self.field.len() {
            let set: Vec<usize> = (0..self.field.len()).filter(|at| bits >> at & 1 == 1).collect();
            if let Some(choice) = self.chosen(&set) {
                let known: &mut Option<i64> = &mut least[set.len()];
                *known = Some(known.map_or(choice.cost(), |known| known.min(choice.cost())));
            }
        }
        least
    }
}

/// A pod that only nodes with this label accept.
fn pinned(cluster: Cluster, words: &str, key: &str, value: &str) -> Cluster {
    cluster.pod_with(words, &json!({"spec": {"nodeSelector": {key: value}}}))
}

/// Labels for a node.
fn labelled(cluster: Cluster, node: &str, key: &str, value: &str) -> Cluster {
    cluster.patch("Node", node, &json!({"metadata": {"labels": {key: value}}}))
}

/// A node with another number of cards.
fn resized(cluster: Cluster, node: &str, cards: &str) -> Cluster {
    cluster.patch("Node", node, &json!({"status": {"allocatable": {CARDS: cards}}}))
}

/// Groups of all shapes on nodes of unequal sizes: one on a single node, one on three with room to spare, one that any
/// move breaches, one that only two moves breach, and one whose pods restart together.
fn mixed() -> Cluster {
    let mut cluster = Cluster::new().nodes(7, 8);
    for (node, cards) in [("n5", "4"), ("n6", "16")] {
        cluster = resized(cluster, node, cards);
    }
    for (group, least) in [("a/alone", 1), ("a/loose", 1), ("a/rigid", 3), ("a/tight", 2), ("a/j", 1)] {
        let name = &group[2..];
        let policies = if name == "j" { "[{event: PodEvicted, action: RestartJob}]" } else { "[]" };
        cluster = cluster.group(group, least).yaml(&format!(
            "apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{namespace: a, name: {name}}}
spec: {{policies: {policies}, tasks: [{{name: a, replicas: 9}}]}}
"
        ));
    }
    let pods = [
        "a/alone-0 n1 3 alone",
        "a/loose-0 n1 1 loose",
        "a/loose-1 n2 2 loose",
        "a/loose-2 n3 1 loose",
        "a/rigid-0 n2 1 rigid",
        "a/rigid-1 n4 2 rigid",
        "a/rigid-2 n5 1 rigid",
        "a/tight-0 n3 1 tight",
        "a/tight-1 n4 1 tight",
        "a/tight-2 n6 3 tight",
        "a/j-a-0 n5 1 j",
        "a/j-a-1 n7 2 j",
    ];
    pods.into_iter().fold(cluster, Cluster::pod)
}
