use super::super::master::{Answer, Goal, solve};
use super::{Parts, Task, mixed};
use crate::plan::testing::Cluster;

const BRANCHES: u64 = 400;

fn answer(parts: &Parts<'_, '_, '_>, goal: Goal<'_>) -> Option<Answer> {
    solve(parts.field, parts.rows, |_| true, goal, BRANCHES)
}

/// The program knows exactly what budgets, rows and groups say.
fn agrees_with_trying_everything(task: &Task) {
    task.look(|parts| {
        let cheapest = parts.cheapest();
        let most = cheapest.iter().rposition(Option::is_some).unwrap();
        let found = answer(&parts, Goal::Most(parts.field.len())).unwrap();
        assert!(found.proven && found.chosen.len() >= most, "{found:?}, {most}");
        assert_eq!(answer(&parts, Goal::Most(1)).unwrap().chosen.len(), most.min(1));
        let relaxed = answer(&parts, Goal::Relaxed(parts.field.len())).unwrap();
        assert!(relaxed.bound >= i64::try_from(most).unwrap());
        for (count, least) in cheapest.iter().enumerate().skip(1) {
            let Some(least) = *least else { continue };
            // A cost that is known to be possible rules nothing out that is as good.
            for known in [least, least + 7, 100_000] {
                let found = answer(&parts, Goal::Cheapest(count, known)).unwrap();
                assert!(found.proven && found.chosen.len() == count, "{count}: {found:?}");
                assert!(found.bound <= least, "{count} candidates for {least}: {found:?}");
            }
        }
    });
}

#[test]
fn the_program_is_as_good_as_trying_everything() {
    let budgets = [(None, None), (Some(2), None), (Some(3), Some(6)), (None, Some(4)), (Some(1), Some(1))];
    for (groups, cards) in budgets {
        agrees_with_trying_everything(&Task::of(mixed()).budget(groups, cards));
    }
}

/// Where no pod restarts with others, choices cost in the program what they really cost.
#[test]
fn the_cheapest_choice_costs_what_the_program_says() {
    let pods = ["a/g-0 n1 1 g", "a/g-1 n2 1 g", "a/h-0 n2 1 h", "a/h-1 n3 2 h", "a/i-0 n4 2 i"];
    for least in 0..=2 {
        let cluster = Cluster::new().nodes(4, 8).group("a/g", least).group("a/h", 2).group("a/i", 1);
        Task::of(pods.iter().fold(cluster, |cluster, pod| cluster.pod(pod))).look(|parts| {
            for (count, known) in parts.cheapest().iter().enumerate().skip(1) {
                let Some(known) = *known else { continue };
                let found = answer(&parts, Goal::Cheapest(count, known)).unwrap();
                let chosen = parts.chosen(&found.chosen).unwrap();
                assert_eq!((found.bound, chosen.cost()), (known, known), "{count} nodes, minimum {least}");
            }
        });
    }
}

#[test]
fn a_budget_of_zero_rules_every_candidate_out_and_that_is_proven() {
    for (groups, cards) in [(Some(0), None), (None, Some(0)), (Some(0), Some(0))] {
        let task = Task::of(mixed()).budget(groups, cards);
        task.look(|parts| {
            let found = answer(&parts, Goal::Most(parts.field.len())).unwrap();
            assert_eq!((found.chosen.len(), found.proven), (0, true));
            assert!(answer(&parts, Goal::Cheapest(1, 1_000)).is_none());
        });
        assert_eq!(task.freed(), (vec![], 0));
    }
}

#[test]
fn a_group_on_several_nodes_counts_once_against_the_budget() {
    let pods = ["a/g-0 n1 1 g", "a/g-1 n2 1 g", "a/g-2 n3 1 g", "a/h n4 1 h", "a/i n5 1 i"];
    let task = Task::of(pods.iter().fold(Cluster::new().nodes(5, 8), |cluster, pod| cluster.pod(pod)));
    let task = task.budget(Some(1), None);
    task.look(|parts| {
        let found = answer(&parts, Goal::Most(parts.field.len())).unwrap();
        let names: Vec<usize> = ["n1", "n2", "n3"].map(|node| parts.at(node)).to_vec();
        assert_eq!((found.chosen, found.proven), (names, true));
    });
    assert_eq!(task.freed(), (vec!["n1", "n2", "n3"], 3));
}

#[test]
fn prices_decide_alone_where_they_are_asked_for() {
    Task::of(mixed()).look(|parts| {
        let prices: Vec<i64> = (0..parts.field.len()).map(|at| i64::try_from(10 - at).unwrap()).collect();
        let found = answer(&parts, Goal::Priced(1, &prices)).unwrap();
        assert_eq!((found.chosen, found.bound), (vec![parts.field.len() - 1], 4));
        let part = answer(&parts, Goal::Fractional(1, &prices)).unwrap();
        assert!(part.bound <= 4);
    });
}

#[test]
fn candidates_that_are_not_allowed_are_not_chosen() {
    Task::of(mixed()).look(|parts| {
        let found = solve(parts.field, parts.rows, |at| at == 1, Goal::Most(5), BRANCHES).unwrap();
        assert_eq!(found.chosen, [1]);
    });
}
