//! A good plan passes; each change of it, of the cluster or of the request is caught by the check that it breaks.
//!
//! May import: snapshot, api, `plan::types`, `plan::request`, `plan::testing`

mod cases;
mod rules;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::facts::Facts;
use super::{Check, Finding, check_plan, disruption};
use crate::plan::request::Request;
use crate::plan::testing::{CARDS, Cluster, pod};
use crate::plan::types::{Move, Plan};
use crate::snapshot::Snapshot;
use crate::snapshot::model::NodeIdx;

/// A cluster and what is asked about it.
struct World {
    cluster: Cluster,
    request: Request,
}

/// Five nodes of 8 cards and one without. `n1` holds `a-0` (2) and `b-0` (1), `n2` `c-0` (4), `n3` `d-0` (4), `n5`
/// `e-0` (1); `n4` and `n6` hold nothing. Each pod is a Volcano Job of its own whose objects are not in the file.
fn world() -> World {
    let mut cluster = Cluster::new().nodes(6, 8);
    for (name, words) in [("a", "n1 2 a"), ("b", "n1 1 b"), ("c", "n2 4 c"), ("d", "n3 4 d"), ("e", "n5 1 e")]
    {
        cluster = cluster.group(&format!("t/{name}"), 1).pod(&format!("t/{name}-0 {words}"));
    }
    cluster = cluster.patch("Node", "n6", &json!({"status": {"allocatable": {CARDS: null}}}));
    World { cluster, request: Request::for_resource(CARDS) }
}

impl World {
    fn patch(mut self, kind: &str, name: &str, patch: &Value) -> Self {
        self.cluster = self.cluster.patch(kind, name, patch);
        self
    }

    fn pod(mut self, words: &str, patch: &Value) -> Self {
        self.cluster = self.cluster.pod_with(words, patch);
        self
    }

    fn yaml(mut self, text: &str) -> Self {
        self.cluster = self.cluster.yaml(text);
        self
    }

    fn ask(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }
}

fn node(snapshot: &Snapshot, name: &str) -> NodeIdx {
    snapshot.node_named(name).unwrap()
}

/// `POD TO`, with `+` in front of a cascade and `!` in front of a gated replacement.
fn moved(snapshot: &Snapshot, words: &str) -> Move {
    let (name, to) = words.split_once(' ').unwrap();
    let pod = pod(snapshot, name.trim_start_matches(['+', '!']));
    let live = snapshot.pod(pod);
    Move {
        pod,
        from: live.node.unwrap(),
        to: node(snapshot, to),
        spec: live.replacement_spec(),
        cascade: name.starts_with('+'),
        gated: name.starts_with('!'),
    }
}

/// A plan that states its disruption rightly.
fn plan(snapshot: &Snapshot, request: &Request, freed: &[&str], moves: &[&str]) -> Plan {
    let plan = Plan {
        freed: freed.iter().map(|name| node(snapshot, name)).collect(),
        moves: moves.iter().map(|words| moved(snapshot, words)).collect(),
        ..Plan::empty(snapshot.resource_named(CARDS).unwrap())
    };
    restated(snapshot, request, plan)
}

fn restated(snapshot: &Snapshot, request: &Request, plan: Plan) -> Plan {
    let disruption = disruption::count(&Facts::new(snapshot, request, &plan));
    Plan { disruption, ..plan }
}

/// Frees `n1`.
fn good(snapshot: &Snapshot, request: &Request) -> Plan {
    plan(snapshot, request, &["n1"], &["a-0 n2", "b-0 n3"])
}

fn codes(findings: &[Finding]) -> BTreeSet<Check> {
    findings.iter().map(|finding| finding.check).collect()
}

/// Checks the plan that frees these nodes with these moves.
fn found(world: World, freed: &[&str], moves: &[&str]) -> BTreeSet<Check> {
    let (snapshot, request) = (world.cluster.build(), world.request);
    codes(&check_plan(&snapshot, &request, &plan(&snapshot, &request, freed, moves)))
}
