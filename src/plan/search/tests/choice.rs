use serde_json::json;

use super::{Task, mixed};
use crate::plan::testing::Cluster;

#[test]
fn whatever_comes_and_goes_a_choice_is_a_function_of_its_set() {
    Task::of(mixed()).budget(Some(4), Some(9)).look(|parts| {
        let count = parts.field.len();
        let mut walked = parts.choice();
        let mut inside = vec![false; count];
        for step in 0..200_usize {
            let at = (step * step + 3 * step) % count;
            if inside[at] {
                let saved = walked.saved_cost(at);
                let before = walked.cost();
                walked.remove(at);
                assert_eq!(before - walked.cost(), saved);
            } else {
                let added = walked.added_cost(at);
                let before = walked.cost();
                walked.insert(at);
                assert_eq!(walked.cost() - before, added);
            }
            inside[at] = !inside[at];
            let mut fresh = parts.choice();
            (0..count).filter(|&at| inside[at]).for_each(|at| fresh.insert(at));
            assert_eq!((walked.totals(), walked.chosen()), (fresh.totals(), fresh.chosen()));
            assert_eq!(walked.count(), inside.iter().filter(|inside| **inside).count());
            for at in (0..count).filter(|&at| !inside[at]) {
                assert_eq!(walked.allows(at), fresh.allows(at), "step {step}, candidate {at}");
            }
        }
    });
}

#[test]
fn pods_that_restart_together_are_counted_once() {
    let task = |cards| Task::of(mixed()).budget(Some(2), Some(cards));
    // n5 holds a card of the rigid group and one of the job, whose other two cards on n7 restart as well.
    task(4).look(|parts| {
        assert!(parts.allows(&["n5", "n7"]));
        let choice = parts.chosen(&[parts.at("n5"), parts.at("n7")]).unwrap();
        assert_eq!((choice.totals().moved_cards, choice.totals().moved_pods), (4, 3));
        assert_eq!(choice.totals().affected_groups, 2);
    });
    task(3).look(|parts| {
        assert!(!parts.allows(&["n5"]) && parts.allows(&["n7"]));
        assert_eq!(parts.chosen(&[parts.at("n7")]).unwrap().totals().moved_cards, 3);
    });
}

#[test]
fn budgets_allow_what_they_say_and_nothing_at_zero() {
    let allowed = |groups, cards| {
        let task = Task::of(mixed()).budget(groups, cards);
        task.look(|parts| parts.cheapest().iter().rposition(Option::is_some).unwrap())
    };
    assert_eq!(allowed(Some(0), None), 0);
    assert_eq!(allowed(None, Some(0)), 0);
    // The three nodes of one group are never emptied alone: others stand there, too.
    assert_eq!(allowed(Some(1), None), 1);
    assert_eq!(allowed(None, Some(3)), 1);
    assert!(allowed(None, None) >= 4);
}

#[test]
fn a_candidate_that_broke_a_rule_stays_out() {
    Task::of(mixed()).look(|parts| {
        let mut barred = vec![false; parts.field.len()];
        barred[2] = true;
        let choice = super::super::choice::Choice::new(parts.field, parts.rows, &barred);
        assert!(!choice.allows(2) && choice.allows(0));
    });
}

#[test]
fn evictions_that_a_job_counts_as_failures_are_limited_over_all_its_nodes() {
    let owner = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "work", "controller": true}]}});
    let job = "apiVersion: batch/v1
kind: Job
metadata: {namespace: a, name: work, uid: work}
spec: {parallelism: 3, completions: 3, backoffLimit: 3}
status: {failed: 1}
";
    let mut cluster = Cluster::new().nodes(4, 8).group("a/work", 1).yaml(job).pod("a/other n4 1 other");
    for node in 1..=3 {
        cluster = cluster.pod_with(&format!("a/work-{node} n{node} 1 work"), &owner);
    }
    Task::of(cluster).look(|parts| {
        assert!(parts.allows(&["n1", "n2"]), "two more failures are tolerated");
        assert!(!parts.allows(&["n1", "n2", "n3"]));
        assert!(parts.allows(&["n1", "n3", "n4"]), "the other pod is not of the job");
    });
}
