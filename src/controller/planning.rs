//! From a request and a snapshot to how a DryRun ends: the engine's answer in the words of the API.
//!
//! Pure work for a processor; the worker calls it on a thread of its own.
//!
//! May import: api, engine, plan, snapshot, fragmentation

use super::run::{MOST_BYTES, Outcome};
use crate::api::Reason;
use crate::engine::{self, Fault};
use crate::fragmentation::{Rate, resources_in_use};
use crate::plan::request::Request;
use crate::plan::status::{dry_run_status, unknown_resource_status};
use crate::snapshot::Snapshot;
use crate::snapshot::read::LeftOut;

/// Plans, and what the planner noticed beside it.
pub fn plan(snapshot: &Snapshot, request: &Request) -> (Outcome, Vec<String>) {
    if snapshot.resource_named(&request.resource).is_none() {
        let status = unknown_resource_status(snapshot, &request.resource);
        return (Outcome::Planned(Box::new(status)), Vec::new());
    }
    match engine::plan(snapshot, request) {
        Ok(planned) => {
            let status = dry_run_status(snapshot, &planned);
            (Outcome::Planned(Box::new(status)), planned.report.warnings)
        }
        // The resource is known, so what can not be resolved is the scope.
        Err(Fault::Request(why)) => {
            (Outcome::Fault(Reason::ScopeResolutionFailed, sentence(&why)), Vec::new())
        }
        Err(Fault::Refused(finding)) => {
            let why = format!("the plan broke a rule and is not shown: {}", finding.line(snapshot));
            (Outcome::Fault(Reason::ReconcileFailed, sentence(&why)), Vec::new())
        }
    }
}

/// The same outcome with what was not read in its message: a plan without a kind is not the plan with it.
pub fn with_left_out(mut outcome: Outcome, left_out: &[LeftOut]) -> Outcome {
    if left_out.is_empty() {
        return outcome;
    }
    let kinds: Vec<String> = left_out.iter().map(|left| format!("{} ({})", left.kind, left.reason)).collect();
    let unknown = format!(" Unknown, because it was not read: {}.", kinds.join("; "));
    match &mut outcome {
        Outcome::Planned(status) => {
            status.message += &unknown;
            for condition in &mut status.conditions {
                condition.message += &unknown;
            }
        }
        Outcome::Fault(_, message) => *message += &unknown,
    }
    outcome
}

/// How a run ends whose object with the plan would have `bytes` bytes, if that is too much. Nothing is cut: half a plan
/// is another plan.
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
    use super::*;
    use crate::api::{ObjectSelection, Phase, RepackRunStatus, Scope, ScopeRule};
    use crate::plan::testing::{CARDS, Cluster};

    fn planned(cluster: Cluster, request: &Request) -> Outcome {
        plan(&cluster.build(), request).0
    }

    fn status(outcome: Outcome) -> RepackRunStatus {
        match outcome {
            Outcome::Planned(status) => *status,
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
