use serde_json::json;

use super::{Task, labelled, pinned, resized};
use crate::plan::testing::Cluster;

/// One group per pod, so that groups say nothing.
fn cluster(nodes: usize, pods: &[&str]) -> Cluster {
    pods.iter().fold(Cluster::new().nodes(nodes, 8), |cluster, pod| cluster.pod(pod))
}

#[test]
fn what_leaves_has_to_fit_on_what_stays() {
    let task = Task::of(cluster(3, &["a/p n1 4 p", "a/q n2 4 q", "a/r n3 4 r"]));
    task.look(|parts| {
        assert!(["n1", "n2", "n3"].iter().all(|node| parts.allows(&[node])));
        assert!(!parts.allows(&["n1", "n2"]) && !parts.allows(&["n3", "n2"]));
    });
    assert_eq!(task.freed().1, 1);
}

#[test]
fn cards_that_are_free_on_two_nodes_hold_no_pod_that_needs_them_together() {
    let task = Task::of(cluster(3, &["a/p n1 5 p", "a/q n2 5 q", "a/r n3 5 r"]));
    task.look(|parts| assert!(["n1", "n2", "n3"].iter().all(|node| !parts.allows(&[node]))));
}

#[test]
fn a_larger_node_counts_with_the_slots_that_it_has() {
    let pods = ["a/p n1 3 p", "a/q n2 3 q", "a/r n3 5 r"];
    let task = Task::of(resized(cluster(3, &pods), "n3", "16"));
    task.look(|parts| {
        // Eleven cards are free on n3: three slots of three.
        assert!(parts.allows(&["n1", "n2"]));
        // Five cards go nowhere but to one of the small nodes, which has to stay then.
        assert!(parts.allows(&["n3"]) && !parts.allows(&["n3", "n1"]));
    });
    assert_eq!(task.freed(), (vec!["n1", "n2"], 2));
}

#[test]
fn cpu_that_runs_out_before_cards_do_limits_the_slots() {
    let hungry = |cluster: Cluster, words: &str| {
        let requests = json!({"x.io/npu": "1", "cpu": "40"});
        let containers = json!([{"name": "main", "resources": {"requests": requests}}]);
        cluster.pod_with(words, &json!({"spec": {"containers": containers}}))
    };
    let pods = ["a/p n1 1 p", "a/q n2 1 q", "a/r n3 1 r"];
    let task = Task::of(pods.iter().fold(Cluster::new().nodes(3, 8), |c, words| hungry(c, words)));
    task.look(|parts| assert!(["n1", "n2", "n3"].iter().all(|node| !parts.allows(&[node]))));
    assert_eq!(task.freed(), (vec![], 0));
}

#[test]
fn a_node_whose_pod_no_other_node_accepts_is_in_no_choice() {
    let mut all = labelled(cluster(3, &["a/q n2 1 q", "a/r n3 1 r"]), "n1", "own", "n1");
    all = pinned(all, "a/p n1 1 p", "own", "n1");
    let task = Task::of(all);
    task.look(|parts| assert!(!parts.allows(&["n1"]) && parts.allows(&["n2", "n3"])));
    assert_eq!(task.freed(), (vec!["n2", "n3"], 2));
}

/// Pairs of nodes with pods of three cards that go only to the other node of the pair: one of each pair can be emptied.
fn pairs(count: usize) -> Task {
    let mut all = Cluster::new().nodes(2 * count, 8);
    for pair in 1..=count {
        for node in [2 * pair - 1, 2 * pair] {
            all = labelled(all, &format!("n{node}"), "pair", &pair.to_string());
            all = pinned(all, &format!("a/p{node} n{node} 3 p{node}"), "pair", &pair.to_string());
        }
    }
    Task::of(all)
}

/// The limit on the number of rows leaves rules out, never plans.
#[test]
fn with_more_sets_of_nodes_than_get_rows_the_bound_still_holds() {
    for count in [4, 31, 32, 33, 40] {
        let task = pairs(count);
        let one_of_each: Vec<String> = (1..=count).map(|pair| format!("n{}", 2 * pair)).collect();
        let one_of_each: Vec<&str> = one_of_each.iter().map(String::as_str).collect();
        task.look(|parts| {
            assert!(parts.allows(&one_of_each), "{count} pairs");
            assert!(parts.rows.limits.len() <= super::super::rows::MOST_ROWS);
            let both = |pair: usize| [format!("n{}", 2 * pair - 1), format!("n{}", 2 * pair)];
            let refused =
                (1..=count).filter(|&pair| !parts.allows(&both(pair).each_ref().map(String::as_str)));
            // Every set has a row as long as there are few, and the most of them where there are many.
            assert_eq!(refused.count(), count.min(super::super::rows::MOST_SETS), "{count} pairs");
        });
        let (freed, bound) = task.freed();
        assert_eq!((freed.len(), bound), (count, i64::try_from(count).unwrap()), "{count} pairs");
    }
}

/// However many sets there are, a pod that finds no receiver keeps its node by itself.
#[test]
fn thousands_of_pods_that_are_pinned_one_by_one_leave_nothing_to_look_for() {
    let mut all = Cluster::new().nodes(60, 8);
    for node in 1..=60 {
        let name = format!("n{node}");
        all = labelled(all, &name, "own", &name);
        // Of every third node the pods may go anywhere.
        let words = format!("a/p{node} {name} 1 p{node}");
        all = if node % 3 == 0 { all.pod(&words) } else { pinned(all, &words, "own", &name) };
    }
    let task = Task::of(all);
    let (freed, bound) = task.freed();
    assert_eq!((freed.len(), bound), (20, 20));
}

#[test]
fn of_many_sets_those_that_most_pods_need_get_rows() {
    let count = 40;
    let mut all = Cluster::new().nodes(2 * count, 8);
    for pair in 1..=count {
        for node in [2 * pair - 1, 2 * pair] {
            all = labelled(all, &format!("n{node}"), "pair", &pair.to_string());
            // The last pairs have more pods of the same three cards.
            let pods = if pair > 20 { 3 } else { 1 };
            for pod in 0..pods {
                let words = format!("a/p{node}-{pod} n{node} {} p{node}", 3 / pods);
                all = pinned(all, &words, "pair", &pair.to_string());
            }
        }
    }
    Task::of(all).look(|parts| {
        let both = |pair: usize| [format!("n{}", 2 * pair - 1), format!("n{}", 2 * pair)];
        let refused = |pair: usize| !parts.allows(&both(pair).each_ref().map(String::as_str));
        assert!((21..=40).all(refused), "pairs with many pods");
        assert_eq!((1..=20).filter(|&pair| refused(pair)).count(), 12);
    });
}

#[test]
fn room_far_beyond_what_leaves_makes_no_large_numbers() {
    // One byte of memory each, on nodes with a terabyte.
    let small = |cluster: Cluster, words: &str| {
        let requests = json!({"x.io/npu": "1", "memory": "1"});
        let containers = json!([{"name": "main", "resources": {"requests": requests}}]);
        cluster.pod_with(words, &json!({"spec": {"containers": containers}}))
    };
    let pods = ["a/p n1 1 p", "a/q n2 1 q", "a/r n3 1 r"];
    let task = Task::of(pods.iter().fold(Cluster::new().nodes(3, 8), |c, words| small(c, words)));
    task.look(|parts| {
        let largest = parts.rows.weights.iter().flatten().chain(&parts.rows.limits).max();
        assert!(largest.is_some_and(|&n| n < 1_000), "{largest:?}");
        assert!(parts.allows(&["n1", "n2"]) && !parts.allows(&["n1", "n2", "n3"]));
    });
    assert_eq!(task.freed().1, 2);
}
