//! Events about a run, as `kubectl get events` and `kubectl describe` show them.
//!
//! RepackRuns are cluster scoped, so their events go to the namespace `default`. They are core/v1 with count and both
//! times set: `--sort-by=.lastTimestamp` sorts them among all others.
//!
//! May import: api

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::object::Run;
use crate::api::{API_VERSION, Phase, RepackRun, RepackRunStatus};

/// Where events of cluster scoped objects are.
pub const NAMESPACE: &str = "default";

/// Who reports.
const COMPONENT: &str = "kubectl-repack";

/// Longest part of a run's name in the name of an event: names have at most 253 letters, and the end is ours.
const LONGEST_NAME: usize = 220;

/// Longest message the API server takes.
const LONGEST_MESSAGE: usize = 1024;

/// What happened to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// The one word.
    pub reason: String,
    /// The sentence.
    pub message: String,
    /// Whether somebody should look at it.
    pub warning: bool,
}

/// What a planned run's last status says in events: the plan, if there is one, and how the run ended.
pub fn of_end(status: &RepackRunStatus) -> Vec<Happened> {
    let mut all = Vec::new();
    if let Some(plan) = status.plan.as_ref().filter(|plan| plan.summary.freed_node_count > 0) {
        let summary = &plan.summary;
        let message = format!(
            "Plan {} would free {} of the nodes by moving {} pods; the fragmentation rate would change from {}% to {}%.",
            plan.id,
            summary.freed_node_count,
            summary.disruption.moved_pods,
            summary.frag_before_percent,
            summary.frag_after_percent,
        );
        all.push(Happened { reason: "PlanComputed".to_owned(), message, warning: false });
    }
    if let Some(reason) = super::run::reason_of(status) {
        let warning = status.phase == Phase::Failed;
        all.push(Happened { reason: reason.to_string(), message: status.message.clone(), warning });
    }
    all
}

/// A number that no other event of this process has.
pub fn sequence() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The object for the API server. `sequence` differs between any two events of this process.
pub fn event(run: &Run, happened: &Happened, reporter: &str, now: Timestamp, sequence: u64) -> Event {
    // A part of a name may not end in what joins its parts.
    let stem = cut(&run.name, LONGEST_NAME).trim_end_matches(['.', '-']);
    let time = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    Event {
        metadata: ObjectMeta {
            // As kube's own recorders name them: the object and a number that never comes twice.
            name: Some(format!("{stem}.{:016x}", now.as_microsecond().unsigned_abs().wrapping_add(sequence))),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(API_VERSION.to_owned()),
            kind: Some(RepackRun::KIND.to_owned()),
            name: Some(run.name.clone()),
            uid: Some(run.uid.clone()),
            resource_version: Some(run.version.clone()),
            ..ObjectReference::default()
        },
        reason: Some(happened.reason.clone()),
        message: Some(cut(&happened.message, LONGEST_MESSAGE).to_owned()),
        type_: Some(if happened.warning { "Warning" } else { "Normal" }.to_owned()),
        count: Some(1),
        first_timestamp: Some(time.clone()),
        last_timestamp: Some(time),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
        reporting_component: Some(COMPONENT.to_owned()),
        reporting_instance: Some(cut(reporter, 128).to_owned()),
        ..Event::default()
    }
}

/// The first letters that take at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::run::{Outcome, ended};
    use crate::plan::testing::{CARDS, Cluster};

    fn run(name: &str) -> Run {
        let object = json!({
            "apiVersion": API_VERSION, "kind": "RepackRun",
            "metadata": {"name": name, "uid": "u", "resourceVersion": "5"}, "spec": {"mode": "DryRun"},
        });
        Run::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_run_with_a_plan_tells_of_the_plan_and_of_its_end() {
        let cluster = Cluster::new().nodes(3, 8).group("a/g", 1).pod("a/p n1 1 g").pod("a/x n2 7 -");
        let request = crate::plan::request::Request::for_resource(CARDS);
        let outcome = crate::controller::planning::plan(&cluster.build(), &request).outcome;
        let now = "2026-07-30T10:00:00.5Z".parse().unwrap();
        let status = ended(&run("a"), outcome, now);
        let all = of_end(&status);
        let reasons: Vec<&str> = all.iter().map(|happened| happened.reason.as_str()).collect();
        assert_eq!(reasons, ["PlanComputed", "RepackRecommended"]);
        let event = event(&run("a"), &all[1], "me", now, 0);
        assert_eq!((event.count, event.type_.as_deref()), (Some(1), Some("Normal")));
        assert_eq!(event.first_timestamp, event.last_timestamp);
        assert_eq!(event.last_timestamp.unwrap().0.to_string(), "2026-07-30T10:00:00Z");
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(event.involved_object.namespace, None);
        assert_eq!(event.message, Some(status.message));
    }

    #[test]
    fn a_run_that_failed_warns_and_has_no_plan_to_tell_of() {
        let now = "2026-07-30T10:00:00Z".parse().unwrap();
        let fault = Outcome::Fault(crate::api::Reason::InvalidConfiguration, "Wrong.".to_owned());
        let all = of_end(&ended(&run("a"), fault, now));
        let expected = Happened {
            reason: "InvalidConfiguration".to_owned(),
            message: "Wrong.".to_owned(),
            warning: true,
        };
        assert_eq!(all, [expected]);
    }

    #[test]
    fn names_of_events_stay_names_and_differ() {
        let now = "2026-07-30T10:00:00Z".parse().unwrap();
        let name = |run_name: &str, sequence| {
            let happened = Happened { reason: "R".to_owned(), message: "M.".to_owned(), warning: false };
            event(&run(run_name), &happened, "me", now, sequence).metadata.name.unwrap()
        };
        let long = format!("{}.{}", "a".repeat(219), "b".repeat(30));
        assert!(name(&long, 0).len() <= 253 && !name(&long, 0).contains(".."));
        assert_ne!(name("a", 0), name("a", 1));
    }
}
