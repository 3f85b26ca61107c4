use std::collections::BTreeSet;

use serde_json::json;

use super::super::demand::{leavers, receivers};
use super::{Task, labelled, pinned};
use crate::api::{ObjectSelection, ScopeRule};
use crate::plan::testing::Cluster;

#[test]
fn replacements_that_ask_for_the_same_are_one_class() {
    let cluster = Cluster::new().nodes(3, 8).pod("a/p n1 2 p").pod("b/q n2 2 q").pod("a/r n3 3 r");
    Task::of(cluster).look(|parts| {
        let demands = parts.demands;
        let of = |node| demands.of_candidate[parts.at(node)][0];
        assert_eq!(demands.classes.len(), 2);
        assert!(of("n1") == of("n2") && of("n1") != of("n3"));
        assert_eq!(demands.classes[of("n3") as usize].cards, 3);
        assert_eq!(demands.accepted.len(), 1);
    });
}

#[test]
fn pods_that_different_nodes_accept_are_different_classes_that_share_sets() {
    let mut cluster = Cluster::new().nodes(4, 8);
    cluster = labelled(labelled(cluster, "n1", "own", "a"), "n2", "own", "a");
    for (words, key, value) in
        [("a/p n1 1 p", "own", "a"), ("a/q n1 2 q", "own", "a"), ("a/r n2 1 r", "pool", "a")]
    {
        cluster = pinned(cluster, words, key, value);
    }
    Task::of(cluster.pod("a/s n3 1 s")).look(|parts| {
        let demands = parts.demands;
        // One and two cards on two nodes; one card anywhere, with and without a label that all nodes have.
        let found: BTreeSet<(i64, usize)> =
            demands.classes.iter().map(|d| (d.cards, demands.accepted[d.accepted].count_ones(..))).collect();
        assert_eq!(demands.classes.len(), 3);
        assert_eq!(demands.accepted.len(), 2);
        assert_eq!(found.iter().filter(|(_, classes)| *classes == 1).count(), 2, "{found:?}");
    });
}

#[test]
fn each_scheduler_compares_in_its_own_dimensions_and_takes_from_all() {
    let requests = json!({"x.io/npu": "1", "cpu": "2"});
    let spec = |scheduler: &str| {
        json!({"spec": {"schedulerName": scheduler,
            "containers": [{"name": "main", "resources": {"requests": requests.clone()}}]}})
    };
    let cluster = Cluster::new()
        .nodes(3, 8)
        .pod_with("a/p n1 1 p", &spec("volcano"))
        .pod_with("a/q n2 1 q", &spec("default-scheduler"))
        .pod("a/r n3 1 r");
    let mut task = Task::of(cluster);
    task.request.movability.schedulers.push("default-scheduler".to_owned());
    task.request.movability.allow_ungrouped = true;
    task.look(|parts| {
        let demands = parts.demands;
        let compared = |node| {
            let d = &demands.classes[demands.of_candidate[parts.at(node)][0] as usize];
            d.compares.iter().map(|&at| demands.dimensions[at].rules).collect::<BTreeSet<_>>()
        };
        assert!(compared("n1").is_disjoint(&compared("n2")));
        for d in &demands.classes {
            let cards = demands.dimensions.iter().zip(&d.takes);
            let cards = cards.filter(|(at, _)| at.resource == parts.field.problem.resource);
            assert!(cards.clone().count() == 2 && cards.clone().all(|(_, takes)| *takes > 0));
        }
    });
}

#[test]
fn terminating_pods_that_come_back_leave_after_the_victims() {
    let ending = json!({"metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z"}});
    let cluster =
        Cluster::new().nodes(2, 8).pod("a/p n1 1 p").pod_with("a/q n1 4 q", &ending).pod("a/r n2 2 r");
    Task::of(cluster).look(|parts| {
        let snapshot = parts.field.problem.snapshot;
        let node = parts.field.candidates[parts.at("n1")];
        let names: Vec<&str> = leavers(parts.field.problem, node).map(|pod| snapshot.pod_name(pod)).collect();
        assert_eq!(names, ["p", "q"]);
        assert_eq!(parts.demands.of_candidate[parts.at("n1")].len(), 2);
    });
}

#[test]
fn a_cordoned_node_that_is_selected_is_emptied_and_receives_nothing() {
    let cluster = Cluster::new().nodes(3, 8).pod("a/p n1 1 p").pod("a/q n2 1 q").pod("a/r n3 1 r");
    let mut task = Task::of(cluster.patch("Node", "n2", &json!({"spec": {"unschedulable": true}})));
    let names = vec!["n1".to_owned(), "n2".to_owned(), "n3".to_owned()];
    task.request.scope.nodes =
        Some(ScopeRule { include: Some(ObjectSelection { names, selector: None }), exclude: None });
    task.look(|parts| {
        let snapshot = parts.field.problem.snapshot;
        let names: Vec<&str> = receivers(parts.field).map(|node| snapshot.node_name(node)).collect();
        assert_eq!((names, parts.field.len()), (vec!["n1", "n3"], 3));
        let left = parts.demands.left(parts.state, parts.field.candidates[parts.at("n3")]);
        assert_eq!(left.len(), parts.demands.dimensions.len());
    });
}
