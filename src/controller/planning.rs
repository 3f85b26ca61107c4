//! From a request and a snapshot to how a DryRun ends: the engine's answer in the words of the API.
//!
//! Pure work for a processor; the worker calls it on a thread of its own.
//!
//! May import: api, engine, plan, snapshot, fragmentation, execute

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::core::DynamicObject;

use super::run::Outcome;
use crate::api::{ConditionStatus, ConditionType, Phase, Reason, RepackRunSpec, RepackRunStatus, RunResult};
use crate::engine::{self, Fault};
use crate::execute::{Orders, Seen, begin};
use crate::fragmentation::{Rate, resources_in_use};
use crate::plan::request::Request;
use crate::plan::status::{dry_run_status, unknown_resource_status};
use crate::plan::{Plan, Planned};
use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;
use crate::snapshot::read::LeftOut;

/// Largest object in bytes that is written: two thirds of what API servers take, so that a run can still get labels,
/// annotations and what other writers add.
const MOST_BYTES: u64 = 1_000_000;

/// What a status gets beside what the planner writes: times and generation.
const TIMES: u64 = 1_000;

/// Bytes that a run's object leaves for the planner's status.
pub fn room(object: &DynamicObject) -> u64 {
    let mut rest = object.clone();
    if let Some(data) = rest.data.as_object_mut() {
        data.remove("status");
    }
    let rest = serde_json::to_vec(&rest).map_or(u64::MAX, |text| length(text.len()));
    MOST_BYTES.saturating_sub(rest).saturating_sub(TIMES)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What came of planning.
#[derive(Debug)]
pub struct Answer {
    /// How the run ends.
    pub outcome: Outcome,
    /// What the planner noticed beside it; sentences without a full stop.
    pub noticed: Vec<String>,
    /// Nodes that some plan of the request could empty.
    pub candidates: u64,
    /// Occupied nodes that stay, by the code of the reason.
    pub prunings: BTreeMap<&'static str, u64>,
}

impl Answer {
    /// An answer without a look at any node.
    fn at_once(outcome: Outcome) -> Self {
        Self { outcome, noticed: Vec::new(), candidates: 0, prunings: BTreeMap::new() }
    }

    fn of(status: RepackRunStatus, planned: Planned) -> Self {
        let kept = &planned.report.kept;
        let choices = kept.iter().filter(|kept| kept.why.is_choice()).count();
        let mut prunings = BTreeMap::new();
        for kept in kept {
            *prunings.entry(kept.why.code()).or_default() += 1;
        }
        Self {
            outcome: Outcome::Planned(Box::new(status)),
            candidates: length(planned.plan.freed.len() + choices),
            prunings,
            noticed: planned.report.warnings,
        }
    }
}

/// How a run ends on a snapshot some kinds of which were not read.
pub fn answer(snapshot: &Snapshot, request: &Request, left_out: &[LeftOut]) -> Answer {
    let mut request = request.clone();
    // It stands in the message, and the message in both conditions.
    let unknown = length(3 * unknown(left_out).len());
    request.max_object_bytes = request.max_object_bytes.map(|most| most.saturating_sub(unknown));
    let answer = plan(snapshot, &request);
    Answer { outcome: with_left_out(answer.outcome, left_out), ..answer }
}

/// With what an Execute run begins, or how it ends without a move. With a plan its status has the relocations.
pub fn execution(
    snapshot: &Snapshot,
    request: &Request,
    spec: &RepackRunSpec,
    left_out: &[LeftOut],
    seen: impl Fn(PodIdx) -> Option<Seen>,
    now: Timestamp,
) -> Answer {
    let mut request = request.clone();
    request.executes = true;
    let unknown = length(3 * unknown(left_out).len());
    request.max_object_bytes = request.max_object_bytes.map(|most| most.saturating_sub(unknown));
    let (answer, plan) = planned(snapshot, &request);
    let outcome = match (answer.outcome, plan) {
        (Outcome::Planned(status), Some(plan)) if !plan.is_empty() => {
            prepared(*status, snapshot, &request, spec, &plan, seen, now)
        }
        (outcome, _) => unmoved(outcome),
    };
    Answer { outcome: with_left_out(outcome, left_out), ..answer }
}

/// The status with which a plan begins to be carried out, unless another one was approved.
fn prepared(
    mut status: RepackRunStatus,
    snapshot: &Snapshot,
    request: &Request,
    spec: &RepackRunSpec,
    plan: &Plan,
    seen: impl Fn(PodIdx) -> Option<Seen>,
    now: Timestamp,
) -> Outcome {
    let id = status.plan.as_ref().map(|plan| plan.id.clone()).unwrap_or_default();
    let expected = spec.execution.as_ref().and_then(|execution| execution.expected_plan_id.as_ref());
    if let Some(expected) = expected.filter(|expected| **expected != id) {
        let message = format!("The plan is now {id}, and {expected} was approved; nothing was moved.");
        return Outcome::Fault(Reason::PlanChanged, message);
    }
    let orders = Orders::of(spec, &request.resource, &request.movability);
    status.phase = Phase::Running;
    status.message = format!("Moving {} pods to free {} nodes.", plan.moves.len(), plan.freed.len());
    status.conditions.retain(|condition| condition.kind == ConditionType::Progressing);
    for condition in &mut status.conditions {
        condition.status = ConditionStatus::True;
        condition.reason = Reason::Evicting;
        condition.message.clone_from(&status.message);
    }
    Outcome::Prepared(Box::new(begin(status, snapshot, plan, &orders, seen, now)))
}

/// The outcome of an Execute run that moved nothing because there is no plan.
fn unmoved(outcome: Outcome) -> Outcome {
    let Outcome::Planned(mut status) = outcome else { return outcome };
    let before = status.plan.as_ref().map_or(0, |plan| plan.summary.frag_before_percent);
    status.result = Some(RunResult {
        frag_after_percent: before,
        freed_node_count: 0,
        freed_nodes: Vec::new(),
        moved_card_count: 0,
        metrics_verified: true,
        taken_nodes: Vec::new(),
        indirect_card_count: 0,
    });
    status.relocations = Some(Vec::new());
    Outcome::Planned(status)
}

/// Plans.
pub fn plan(snapshot: &Snapshot, request: &Request) -> Answer {
    planned(snapshot, request).0
}

/// Plans; the plan itself in the second part, if there is one.
fn planned(snapshot: &Snapshot, request: &Request) -> (Answer, Option<Plan>) {
    let fault = |reason, why: &str| Answer::at_once(Outcome::Fault(reason, sentence(why)));
    if snapshot.resource_named(&request.resource).is_none() {
        let status = unknown_resource_status(snapshot, &request.resource);
        return (Answer::at_once(Outcome::Planned(Box::new(status))), None);
    }
    match engine::plan(snapshot, request) {
        Ok(planned) => {
            let plan = planned.plan.clone();
            (Answer::of(dry_run_status(snapshot, &planned), planned), Some(plan))
        }
        // The resource is known, so what can not be resolved is the scope.
        Err(Fault::Request(why)) => (fault(Reason::ScopeResolutionFailed, &why), None),
        Err(Fault::Refused(finding)) => {
            let why = format!("the plan broke a rule and is not shown: {}", finding.line(snapshot));
            (fault(Reason::ReconcileFailed, &why), None)
        }
    }
}

/// What was not read, as the end of a message.
fn unknown(left_out: &[LeftOut]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let kinds: Vec<String> = left_out.iter().map(|left| format!("{} ({})", left.kind, left.reason)).collect();
    format!(" Unknown, because it was not read: {}.", kinds.join("; "))
}

/// The same outcome with what was not read in its message: a plan without a kind is not the plan with it.
fn with_left_out(mut outcome: Outcome, left_out: &[LeftOut]) -> Outcome {
    let unknown = unknown(left_out);
    match &mut outcome {
        Outcome::Planned(status) | Outcome::Prepared(status) => {
            status.message += &unknown;
            for condition in &mut status.conditions {
                condition.message += &unknown;
            }
        }
        Outcome::Fault(_, message) => *message += &unknown,
    }
    outcome
}

/// How a run ends whose object with the plan would have `bytes` bytes, if that is too much: plans are made to fit, but
/// what stands in them beside the moves may be too much already. Nothing is cut: half a plan is another plan.
pub fn too_large(bytes: u64) -> Option<Outcome> {
    (bytes > MOST_BYTES).then(|| {
        let message = format!(
            "The plan takes {bytes} bytes, and a run may have {MOST_BYTES}. Lower spec.maxPerRun or \
             spec.planner.maxFreedNodes, or narrow spec.scope.nodes."
        );
        Outcome::Fault(Reason::ReconcileFailed, message)
    })
}

/// The fragmentation rate of every resource in use, by name, as a part of 1.
pub fn rates(snapshot: &Snapshot) -> Vec<(String, f64)> {
    let rate = |resource| {
        let exact = Rate::of(snapshot, resource).exact();
        if exact.providing <= 0 {
            return 0.0;
        }
        // Counts of nodes are far below 2^32.
        let part = |n: i64| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        part(exact.excess) / part(exact.providing)
    };
    let used = resources_in_use(snapshot).into_iter();
    used.map(|resource| (snapshot.resource_name(resource).to_owned(), rate(resource))).collect()
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::{ObjectSelection, Phase, Scope, ScopeRule};
    use crate::plan::testing::{CARDS, Cluster};

    fn planned(cluster: Cluster, request: &Request) -> Outcome {
        plan(&cluster.build(), request).outcome
    }

    fn status(outcome: Outcome) -> RepackRunStatus {
        match outcome {
            Outcome::Planned(status) | Outcome::Prepared(status) => *status,
            Outcome::Fault(reason, message) => panic!("{reason}: {message}"),
        }
    }

    /// Two pods of one card on node 1; the other two hold seven of eight each.
    fn spread() -> Cluster {
        Cluster::new()
            .nodes(3, 8)
            .group("a/g", 1)
            .pod("a/p n1 1 g")
            .pod("a/q n1 1 g")
            .pod("a/x n2 7 -")
            .pod("a/y n3 7 -")
    }

    #[test]
    fn a_plan_ends_as_recommended_and_a_packed_cluster_as_not_fragmented() {
        let status_of = |cluster| status(planned(cluster, &Request::for_resource(CARDS)));
        let found = status_of(spread());
        assert_eq!(found.conditions[1].reason, Reason::RepackRecommended);
        assert_eq!(found.plan.unwrap().summary.freed_node_count, 1);
        let found = status_of(Cluster::new().nodes(2, 8).pod("a/x n1 8 -"));
        assert_eq!(found.conditions[1].reason, Reason::NoFragmentation);
    }

    #[test]
    fn every_occupied_node_is_freed_or_stays_for_a_reason_that_is_counted() {
        let answer = plan(&spread().build(), &Request::for_resource(CARDS));
        assert_eq!(answer.prunings, BTreeMap::from([("UnmovablePod", 2)]));
        assert_eq!(answer.candidates, 1, "the node that is freed");
    }

    #[test]
    fn nothing_movable_is_an_insufficient_improvement() {
        let cluster = Cluster::new().nodes(2, 8).pod("a/x n1 1 -").pod("a/y n2 1 -");
        let found = status(planned(cluster, &Request::for_resource(CARDS)));
        assert_eq!(
            (found.phase, found.conditions[1].reason),
            (Phase::Succeeded, Reason::InsufficientImprovement)
        );
    }

    #[test]
    fn a_resource_that_nothing_knows_is_no_fragmentation_with_a_written_summary() {
        let found = status(planned(spread(), &Request::for_resource("other.io/gpu")));
        assert_eq!((found.phase, found.conditions[1].reason), (Phase::Succeeded, Reason::NoFragmentation));
        assert!(found.message.contains("no node provides it"), "{}", found.message);
        let plan = found.plan.unwrap();
        assert_eq!((plan.summary.frag_before_percent, plan.summary.freed_node_count), (0, 0));
        assert_eq!(plan.id.len(), 16);
    }

    #[test]
    fn a_scope_of_names_that_do_not_exist_can_not_be_resolved() {
        let include = ObjectSelection { names: vec!["nowhere".to_owned()], ..ObjectSelection::default() };
        let nodes = ScopeRule { include: Some(include), exclude: None };
        let scope = Scope { nodes: Some(nodes), pod_groups: None };
        let outcome = planned(spread(), &Request { scope, ..Request::for_resource(CARDS) });
        let Outcome::Fault(reason, message) = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason, Reason::ScopeResolutionFailed);
        assert!(message.starts_with("Scope.nodes.include") && message.ends_with('.'), "{message}");
    }

    #[test]
    fn an_object_beyond_the_limit_ends_the_run_and_says_what_makes_it_smaller() {
        assert_eq!(too_large(MOST_BYTES), None);
        let Some(Outcome::Fault(reason, message)) = too_large(MOST_BYTES + 1) else { panic!() };
        assert_eq!(reason, Reason::ReconcileFailed);
        assert!(message.contains("spec.planner.maxFreedNodes"));
    }

    #[test]
    fn a_status_has_the_room_that_metadata_and_spec_leave_and_is_whole_without_what_it_replaces() {
        let object = |names: usize| -> DynamicObject {
            let names: Vec<String> = (0..names).map(|at| format!("node-{at:04}")).collect();
            serde_json::from_value(json!({
                "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "a"},
                "spec": {"mode": "DryRun", "scope": {"nodes": {"include": {"names": names}}}},
                "status": {"phase": "Running", "message": "x".repeat(5_000)},
            }))
            .unwrap()
        };
        let bare = room(&object(0));
        assert!((MOST_BYTES - 2_000..MOST_BYTES - TIMES).contains(&bare), "{bare}");
        // A name, its quotes and a comma.
        assert_eq!(bare - room(&object(1_000)), 1_000 * 12 - 1);
    }

    #[test]
    fn a_plan_fits_with_what_was_not_read_in_all_its_messages() {
        let mut cluster = Cluster::new().nodes(20, 8);
        for at in 1..=20 {
            cluster = cluster.group(&format!("a/g{at}"), 1).pod(&format!("a/p{at} n{at} 2 g{at}"));
        }
        let snapshot = cluster.build();
        let size = |outcome: Outcome| serde_json::to_vec(&status(outcome)).unwrap().len();
        let request = Request::for_resource(CARDS);
        let all = size(answer(&snapshot, &request, &[]).outcome);
        let request = Request { max_object_bytes: Some(length(all)), ..request };
        assert_eq!(size(answer(&snapshot, &request, &[]).outcome), all);
        let reason = "cannot list queues".to_owned();
        let left_out = [LeftOut { kind: "Queue".to_owned(), count: None, reason }];
        let limited = answer(&snapshot, &request, &left_out).outcome;
        assert!(size(limited.clone()) <= all);
        let plan = status(limited).plan.unwrap();
        assert!(plan.limited_by_size && (1..15).contains(&plan.summary.freed_node_count));
    }

    #[test]
    fn what_was_not_read_stands_in_every_message() {
        let left = LeftOut { kind: "Queue".to_owned(), count: None, reason: "cannot list queues".to_owned() };
        let outcome = planned(spread(), &Request::for_resource(CARDS));
        assert_eq!(with_left_out(outcome.clone(), &[]), outcome);
        let found = status(with_left_out(outcome, &[left]));
        for text in [&found.message, &found.conditions[0].message, &found.conditions[1].message] {
            assert!(
                text.ends_with(" Unknown, because it was not read: Queue (cannot list queues)."),
                "{text}"
            );
        }
    }

    #[test]
    fn rates_are_parts_of_one() {
        let found = rates(&spread().build());
        assert_eq!(found.len(), 1);
        assert!((found[0].1 - 1.0 / 3.0).abs() < 1e-9, "{found:?}");
    }
}
