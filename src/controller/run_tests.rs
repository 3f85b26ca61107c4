//! Tests of a run's life.

use serde_json::{Value, json};

use super::*;
use crate::plan::status::dry_run_status;
use crate::plan::testing::{CARDS, Cluster};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn begin() -> Timestamp {
    at("2026-07-30T10:00:00Z")
}

/// A run with this spec and status as the server would store it.
fn run(spec: &Value, status: &Value) -> Run {
    let object = json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 3},
        "spec": spec, "status": status,
    });
    Run::of(&serde_json::from_value(object).unwrap())
}

fn dry_run() -> Value {
    json!({"mode": "DryRun", "goals": [{"resource": CARDS}]})
}

fn stored(status: &RepackRunStatus) -> Value {
    serde_json::to_value(status).unwrap()
}

fn start_of(run: &Run) -> RepackRunStatus {
    match next(run, &Rules::default(), &Queue::default(), begin()) {
        Step::Start(status) => *status,
        other => panic!("{other:?}"),
    }
}

fn end_of(spec: &Value, status: &Value, rules: &Rules) -> RepackRunStatus {
    match next(&run(spec, status), rules, &Queue::default(), begin()) {
        Step::End(status) => *status,
        other => panic!("{other:?}"),
    }
}

fn states(status: &RepackRunStatus) -> Vec<(ConditionType, ConditionStatus, Reason)> {
    status.conditions.iter().map(|c| (c.kind, c.status, c.reason)).collect()
}

#[test]
fn a_run_is_planned_after_its_status_says_so_and_the_times_are_those_of_the_first_time() {
    use {ConditionStatus::*, ConditionType::*};
    let started = start_of(&run(&dry_run(), &Value::Null));
    assert_eq!(states(&started), [(Progressing, True, Reason::Planning)]);
    assert_eq!(
        (started.phase, started.start_time.as_deref()),
        (Phase::Running, Some("2026-07-30T10:00:00Z"))
    );
    assert_eq!(started.conditions[0].observed_generation, Some(3));
    assert!(!started.message.is_empty() && started.message == started.conditions[0].message);

    // Another process takes it up: no second start.
    let running = run(&dry_run(), &stored(&started));
    let Step::Plan(request) =
        next(&running, &Rules::default(), &Queue::default(), at("2026-07-30T10:00:09Z"))
    else {
        panic!()
    };
    assert_eq!((request.resource.as_str(), request.now), (CARDS, Some(1_785_405_609)));

    let snapshot = Cluster::new().nodes(2, 8).pod("a/x n1 8 -").build();
    let planned = crate::engine::plan(&snapshot, &request).unwrap();
    let outcome = Outcome::Planned(Box::new(dry_run_status(&snapshot, &planned)));
    let end = ended(&running, outcome, at("2026-07-30T10:00:11.9Z"));
    let reason = Reason::NoFragmentation;
    assert_eq!(states(&end), [(Progressing, False, reason), (Complete, True, reason)]);
    assert_eq!(end.phase, Phase::Succeeded);
    assert_eq!(end.start_time.as_deref(), Some("2026-07-30T10:00:00Z"));
    assert_eq!(end.completion_time.as_deref(), Some("2026-07-30T10:00:11Z"));
    for condition in &end.conditions {
        assert_eq!(condition.last_transition_time.as_deref(), Some("2026-07-30T10:00:11Z"));
        assert_eq!((condition.observed_generation, &condition.message), (Some(3), &end.message));
    }
    assert_eq!(reason_of(&end), Some(reason));
    let after = run(&dry_run(), &stored(&end));
    assert_eq!(next(&after, &Rules::default(), &Queue::default(), begin()), Step::Leave(Leave::Finished));
}

#[test]
fn the_time_of_a_condition_changes_with_its_state_only() {
    let mut started = start_of(&run(&dry_run(), &Value::Null));
    started.conditions[0].last_transition_time = Some("2020-01-01T00:00:00Z".to_owned());
    let running = run(&dry_run(), &stored(&started));
    let again = stamped(&running, started.clone(), begin());
    assert_eq!(again.conditions[0].last_transition_time.as_deref(), Some("2020-01-01T00:00:00Z"));
    started.conditions[0].status = ConditionStatus::False;
    let changed = stamped(&running, started, begin());
    assert_eq!(changed.conditions[0].last_transition_time.as_deref(), Some("2026-07-30T10:00:00Z"));
}

#[test]
fn a_run_that_asks_for_what_cannot_be_planned_fails_without_having_run() {
    use {ConditionStatus::*, ConditionType::*};
    let cases = [
        (json!({"mode": "DryRun"}), "spec.goals names no resource, and there is no default one."),
        (
            json!({"mode": "DryRun", "goals": [{"resource": CARDS}], "networkTopology": {"hyperNodeTier": 1}}),
            "spec.networkTopology is not supported yet.",
        ),
        (json!({"mode": "Dry", "goals": []}), "spec.mode"),
        (json!({"mode": "DryRun", "goals": [{"resource": "cpu"}]}), "spec.goals[0].resource"),
    ];
    for (spec, part) in cases {
        let end = end_of(&spec, &Value::Null, &Rules::default());
        let reason = Reason::InvalidConfiguration;
        assert_eq!(states(&end), [(Progressing, False, reason), (Failed, True, reason)]);
        assert_eq!((end.phase, &end.start_time), (Phase::Failed, &None));
        assert_eq!(end.completion_time.as_deref(), Some("2026-07-30T10:00:00Z"));
        assert!(end.message.contains(part) && end.message.ends_with('.'), "{}", end.message);
    }
}

#[test]
fn the_default_resource_stands_in_for_a_goal_and_the_process_says_what_may_move() {
    let mut rules = Rules { default_resource: Some("d.io/gpu".to_owned()), ..Rules::default() };
    rules.movability.schedulers = vec!["mine".to_owned()];
    let run = run(&json!({"mode": "DryRun"}), &stored(&start_of(&run(&dry_run(), &Value::Null))));
    let Step::Plan(request) = next(&run, &rules, &Queue::default(), begin()) else { panic!() };
    assert_eq!(
        (request.resource.as_str(), &request.movability.schedulers[..]),
        ("d.io/gpu", &["mine".to_owned()][..])
    );
}

#[test]
fn runs_of_others_execute_runs_and_runs_on_their_way_out_are_left_alone_even_when_they_are_wrong() {
    let leave = |change: &dyn Fn(&mut Run), spec: Value| {
        let mut run = run(&spec, &Value::Null);
        run.cancelled = true;
        change(&mut run);
        match next(&run, &Rules::default(), &Queue::default(), begin()) {
            Step::Leave(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let nothing = |_: &mut Run| {};
    assert_eq!(leave(&nothing, json!({"mode": "DryRun", "managedBy": "other"})), Leave::OtherManager);
    assert_eq!(leave(&nothing, json!({"mode": "Execute"})), Leave::Execute);
    assert_eq!(leave(&|run| run.deleting = true, dry_run()), Leave::Deleting);
    let ours = json!({"mode": "DryRun", "goals": [{"resource": CARDS}], "managedBy": MANAGER});
    start_of(&run(&ours, &Value::Null));
}

#[test]
fn a_cancelled_run_ends_before_and_during_planning_and_a_finished_one_does_not_change() {
    let started = stored(&start_of(&run(&dry_run(), &Value::Null)));
    for status in [Value::Null, started] {
        let mut run = run(&dry_run(), &status);
        run.cancelled = true;
        let Step::End(end) = next(&run, &Rules::default(), &Queue::default(), begin()) else { panic!() };
        assert_eq!((end.phase, reason_of(&end)), (Phase::Failed, Some(Reason::ExecutionCancelled)));
    }
    let mut done = run(&dry_run(), &json!({"phase": "Succeeded"}));
    done.cancelled = true;
    assert_eq!(next(&done, &Rules::default(), &Queue::default(), begin()), Step::Leave(Leave::Finished));
}

#[test]
fn a_status_that_cannot_be_read_ends_the_run() {
    let end = end_of(&dry_run(), &json!({"phase": "Novel"}), &Rules::default());
    assert_eq!(reason_of(&end), Some(Reason::ReconcileFailed));
    assert!(end.message.contains("Novel"), "{}", end.message);
}

#[test]
fn a_finished_run_is_deleted_when_its_time_is_over_and_not_before() {
    let with = |ttl: Option<i64>, completed: &str| {
        let mut spec = dry_run();
        if let Some(ttl) = ttl {
            spec["ttlSecondsAfterFinished"] = json!(ttl);
        }
        let run = run(&spec, &json!({"phase": "Failed", "completionTime": completed}));
        next(&run, &Rules::default(), &Queue::default(), begin())
    };
    assert_eq!(with(Some(60), "2026-07-30T09:59:00Z"), Step::Delete);
    assert_eq!(with(Some(61), "2026-07-30T09:59:00Z"), Step::Later(at("2026-07-30T10:00:01Z")));
    assert_eq!(with(Some(0), "2026-07-30T10:00:00Z"), Step::Delete);
    assert_eq!(with(None, "2026-07-30T09:59:00Z"), Step::Leave(Leave::Finished));
    assert_eq!(with(Some(60), "yesterday"), Step::Leave(Leave::Finished));
    assert_eq!(with(Some(i64::MAX), "2026-07-30T09:59:00Z"), Step::Leave(Leave::Finished));
}

#[test]
fn an_execute_run_waits_for_the_one_before_and_for_the_pause_and_is_left_alone_while_it_is_carried_out() {
    let rules = Rules { execute_cooldown: Some(600), ..Rules::default() };
    let spec = json!({"mode": "Execute", "goals": [{"resource": CARDS}]});
    let fresh = run(&spec, &Value::Null);
    let busy = Queue { active: Some(Active { name: "b".to_owned(), deadline: None }), last: None };
    let Step::Wait(waiting) = next(&fresh, &rules, &busy, begin()) else { panic!() };
    assert_eq!((waiting.phase, waiting.conditions[0].reason), (Phase::Pending, Reason::AnotherRunActive));
    assert_eq!(waiting.start_time, None);
    let told = run(&spec, &stored(&waiting));
    assert_eq!(next(&told, &rules, &busy, begin()), Step::Leave(Leave::Waiting));
    let pause = Queue { active: None, last: Some(at("2026-07-30T09:55:00Z")) };
    let Step::Wait(waiting) = next(&told, &rules, &pause, begin()) else { panic!() };
    assert_eq!(waiting.conditions[0].reason, Reason::ExecuteCooldownActive);
    let told = run(&spec, &stored(&waiting));
    assert_eq!(next(&told, &rules, &pause, begin()), Step::Later(at("2026-07-30T10:05:00Z")));
    let Step::Start(started) = next(&told, &rules, &pause, at("2026-07-30T10:05:00Z")) else { panic!() };
    let planning = run(&spec, &stored(&started));
    assert!(matches!(next(&planning, &rules, &busy, begin()), Step::Plan(_)));
    let moving = RepackRunStatus { relocations: Some(Vec::new()), ..*started };
    assert_eq!(next(&run(&spec, &stored(&moving)), &rules, &busy, begin()), Step::Leave(Leave::CarriedOut));
    assert_eq!(next(&fresh, &Rules::default(), &Queue::default(), begin()), Step::Leave(Leave::Execute));
}
