//! What Prometheus is told. Labels are closed lists of words and names of resources, never names of runs or pods.
//!
//! May import: api

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use kube::runtime::watcher;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::api::{Mode, Reason};

/// Bounds of planning times in seconds: from a small cluster to the largest with a margin.
const PLANNING_BOUNDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// Bounds of the times of admission reviews in seconds: the API server waits for 2 s.
const REVIEW_BOUNDS: [f64; 6] = [0.000_1, 0.001, 0.01, 0.1, 1.0, 2.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    mode: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PruningLabels {
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    resource: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    verb: String,
    resource: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: String,
}

/// All metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    runs: Family<RunLabels, Counter>,
    planning: Histogram,
    candidates: Counter,
    prunings: Family<PruningLabels, Counter>,
    fragmentation: Family<ResourceLabels, Gauge<f64, AtomicU64>>,
    leader: Gauge,
    errors: Family<ErrorLabels, Counter>,
    evictions: Family<ResultLabels, Counter>,
    placements: Family<ResultLabels, Counter>,
    reviews: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("kubectl_repack"),
            runs: Family::default(),
            planning: Histogram::new(PLANNING_BOUNDS),
            candidates: Counter::default(),
            prunings: Family::default(),
            fragmentation: Family::default(),
            leader: Gauge::default(),
            errors: Family::default(),
            evictions: Family::default(),
            placements: Family::default(),
            reviews: Histogram::new(REVIEW_BOUNDS),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "runs",
            "Runs that this process finished, by mode and reason",
            metrics.runs.clone(),
        );
        registry.register(
            "planning_seconds",
            "Seconds that planning took, snapshot included",
            metrics.planning.clone(),
        );
        registry.register(
            "planning_candidates",
            "Nodes that some plan could empty, over all plans made",
            metrics.candidates.clone(),
        );
        registry.register(
            "planning_prunings",
            "Occupied nodes that stay, over all plans made, by the code that explain and the report use",
            metrics.prunings.clone(),
        );
        registry.register(
            "fragmentation_ratio",
            "Nodes occupied beyond the fewest possible, as a part of the nodes that provide the resource; told by the leader",
            metrics.fragmentation.clone(),
        );
        registry.register("leader", "1 while this process is the leader", metrics.leader.clone());
        registry.register(
            "api_errors",
            "Failed requests, by verb, resource and status (0: no answer)",
            metrics.errors.clone(),
        );
        registry.register("evictions", "Evictions that were asked for, by result", metrics.evictions.clone());
        registry.register(
            "placements",
            "Placements of replacements that were closed, by outcome",
            metrics.placements.clone(),
        );
        registry.register("webhook_seconds", "Seconds that admission reviews took", metrics.reviews.clone());
        metrics
    }

    /// A run ended.
    pub fn run_ended(&self, mode: Mode, reason: Reason) {
        let mode = match mode {
            Mode::DryRun => "DryRun",
            Mode::Execute => "Execute",
        };
        let labels = RunLabels { mode: mode.to_owned(), reason: reason.to_string() };
        self.runs.get_or_create(&labels).inc();
    }

    /// A plan was made: nodes that it could have emptied, and those that stay by the code of the reason.
    pub fn planned(&self, took: Duration, candidates: u64, prunings: &BTreeMap<&'static str, u64>) {
        self.planning.observe(took.as_secs_f64());
        self.candidates.inc_by(candidates);
        for (reason, nodes) in prunings {
            self.prunings.get_or_create(&PruningLabels { reason: (*reason).to_owned() }).inc_by(*nodes);
        }
    }

    /// An eviction was asked for.
    pub fn evicted(&self, accepted: bool) {
        let result = if accepted { "accepted" } else { "refused" }.to_owned();
        self.evictions.get_or_create(&ResultLabels { result }).inc();
    }

    /// A placement was closed.
    pub fn placed(&self, outcome: &str) {
        self.placements.get_or_create(&ResultLabels { result: outcome.to_owned() }).inc();
    }

    /// An admission review was answered.
    pub fn reviewed(&self, took: Duration) {
        self.reviews.observe(took.as_secs_f64());
    }

    /// The rates now; resources that are not among them are gone.
    pub fn fragmentation(&self, rates: &[(String, f64)]) {
        self.fragmentation.clear();
        for (resource, rate) in rates {
            self.fragmentation.get_or_create(&ResourceLabels { resource: resource.clone() }).set(*rate);
        }
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// A request failed; `code` 0 is no answer.
    pub fn failed(&self, verb: &str, resource: &str, code: u16) {
        let labels =
            ErrorLabels { verb: verb.to_owned(), resource: resource.to_owned(), code: code.to_string() };
        self.errors.get_or_create(&labels).inc();
    }

    /// A watch broke off; it is logged, too. Servers let go of old versions, which is no fault: the watch lists again by
    /// itself.
    pub fn watch_failed(&self, resource: &str, fault: &watcher::Error) {
        let code = match fault {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => status.code,
            _ => 0,
        };
        if code != 410 {
            self.failed("watch", resource, code);
            tracing::warn!("cannot watch {resource}: {fault}");
        }
    }

    /// All of it in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a text does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_happened_stands_in_the_text() {
        let metrics = Metrics::new();
        metrics.run_ended(Mode::DryRun, Reason::RepackRecommended);
        metrics.planned(
            Duration::from_millis(30),
            7,
            &BTreeMap::from([("UnmovablePod", 2), ("Receives", 3)]),
        );
        metrics.fragmentation(&[("old.io/x".to_owned(), 0.5)]);
        metrics.fragmentation(&[("x.io/npu".to_owned(), 0.25)]);
        metrics.leads(true);
        metrics.failed("update", "repackruns/status", 409);
        let text = metrics.text();
        for line in [
            r#"kubectl_repack_runs_total{mode="DryRun",reason="RepackRecommended"} 1"#,
            "kubectl_repack_planning_seconds_count 1",
            r#"kubectl_repack_planning_seconds_bucket{le="0.05"} 1"#,
            "kubectl_repack_planning_candidates_total 7",
            r#"kubectl_repack_planning_prunings_total{reason="UnmovablePod"} 2"#,
            r#"kubectl_repack_fragmentation_ratio{resource="x.io/npu"} 0.25"#,
            "kubectl_repack_leader 1",
            r#"kubectl_repack_api_errors_total{verb="update",resource="repackruns/status",code="409"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("old.io/x"));
    }
}
