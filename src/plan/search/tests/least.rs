use super::super::least::least_cost;
use super::{Task, mixed};
use crate::plan::testing::Cluster;

#[test]
fn no_choice_costs_less_than_the_bound_says() {
    let budgets = [(None, None), (Some(2), None), (Some(3), Some(6)), (None, Some(4))];
    for (groups, cards) in budgets {
        Task::of(mixed()).budget(groups, cards).look(|parts| {
            for (count, least) in parts.cheapest().iter().enumerate() {
                let Some(least) = *least else { continue };
                let bound = least_cost(parts.field, parts.rows, count);
                assert!(bound <= least, "{count} candidates: {bound} > {least}");
                assert!(count == 0 || bound > 0, "{count} candidates cost something");
            }
        });
    }
}

#[test]
fn groups_on_one_node_each_are_priced_exactly() {
    let pods = ["a/g n1 1 g", "a/h n2 2 h", "a/i n3 3 i", "a/j n4 1 j"];
    let groups = [("a/g", 1), ("a/h", 0), ("a/i", 1), ("a/j", 0)];
    let cluster = groups.iter().fold(Cluster::new().nodes(4, 8), |c, (name, least)| c.group(name, *least));
    Task::of(pods.iter().fold(cluster, |cluster, pod| cluster.pod(pod))).look(|parts| {
        for (count, least) in parts.cheapest().iter().enumerate() {
            let Some(least) = *least else { continue };
            assert_eq!(least_cost(parts.field, parts.rows, count), least, "{count}");
        }
    });
}

#[test]
fn what_a_group_costs_for_being_touched_is_shared_by_its_nodes() {
    let pods = ["a/g-0 n1 1 g", "a/g-1 n2 1 g", "a/h-0 n3 1 h"];
    let cluster = Cluster::new().nodes(3, 8).group("a/g", 2).group("a/h", 0);
    Task::of(pods.iter().fold(cluster, |cluster, pod| cluster.pod(pod))).look(|parts| {
        // Both nodes of the gang: touched and breached once, two cards damaged, two moved, two pods.
        assert_eq!(parts.cheapest(), [Some(0), Some(10 + 6 + 3 + 1), Some(10 + 8 + 12 + 6 + 2), None]);
        assert_eq!(least_cost(parts.field, parts.rows, 1), 20);
        let both = least_cost(parts.field, parts.rows, 2);
        assert!(both > 20 && both <= 38, "{both}");
    });
}
