//! Properties of states and the evaluator on random small clusters.

use proptest::prelude::*;

use super::kube::testing::{cluster, node_with, pod, terminating, with_status};
use super::{Incoming, Prepared, SchedulerRules, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx};

/// A stream of small numbers that a seed determines.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// Rules that make pods look at each other: one term each of the kinds that counters count.
fn rules(draw: &mut Draw) -> String {
    let key = draw.of(&["zone", "host"]);
    let app = draw.of(&["web", "db"]);
    let term = |app: &str, key: &str| {
        format!("{{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {key}}}")
    };
    let required = |kind: &str, terms: &str| {
        format!("affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{terms}]}}}}, ")
    };
    match draw.below(6) {
        0 => required("podAffinity", &format!("{}, {}", term(app, key), term(app, "zone"))),
        1 => required("podAntiAffinity", &term(app, key)),
        2 => format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, \
             labelSelector: {{matchLabels: {{app: {app}}}}}}}], "
        ),
        3 => "tolerations: [{operator: Exists}], ".to_owned(),
        4 => "nodeSelector: {zone: z1}, ".to_owned(),
        _ => String::new(),
    }
}

fn random_pod(draw: &mut Draw, name: &str, nodes: u64) -> String {
    let app = draw.of(&["web", "db", "batch"]);
    let place = match draw.below(5) {
        0 => String::new(),
        _ => format!("nodeName: n{}, ", draw.below(nodes)),
    };
    let scheduler = draw.of(&["default-scheduler", "default-scheduler", "volcano"]);
    let port = if draw.below(5) == 0 { "ports: [{containerPort: 1, hostPort: 80}], " } else { "" };
    let spec = format!(
        "{place}{}schedulerName: {scheduler}, priority: {}, containers: [{{name: c, {port}resources: {{requests: \
         {{cpu: {}, x.io/npu: {}}}}}}}]",
        rules(draw),
        draw.below(2),
        draw.below(3),
        draw.below(3),
    );
    let text = pod(name, &format!("app: {app}"), &spec);
    let phase = draw.of(&["Running", "Running", "Pending", "Succeeded", "Unknown"]);
    let nominated = if draw.below(4) == 0 {
        format!(", nominatedNodeName: n{}", draw.below(nodes))
    } else {
        String::new()
    };
    let text = with_status(&text, &format!("phase: {phase}{nominated}"));
    if draw.below(6) == 0 { terminating(&text) } else { text }
}

fn random_cluster(seed: u64) -> Snapshot {
    let mut draw = Draw(seed);
    let nodes = 3 + draw.below(4);
    let mut objects = Vec::new();
    for at in 0..nodes {
        let zone = match draw.below(4) {
            3 => String::new(),
            zone => format!(", zone: z{zone}"),
        };
        let spec = draw.of(&["", "", "unschedulable: true", "taints: [{key: t, effect: NoSchedule}]"]);
        let allocatable = format!("cpu: {}, x.io/npu: 8, pods: {}", 4 + draw.below(6), 4 + draw.below(4));
        objects.push(node_with(&format!("n{at}"), &format!("host: h{at}{zone}"), spec, &allocatable));
    }
    for at in 0..8 + draw.below(10) {
        objects.push(random_pod(&mut draw, &format!("p{at}"), nodes));
    }
    cluster(&objects, &random_pod(&mut draw, "new", nodes).replacen("nodeName: n0, ", "", 1))
}

/// One random step; the same numbers are the same step.
fn step(state: &mut State<'_>, kind: u8, pod: usize, node: usize) {
    let snapshot = state.snapshot();
    let pod = PodIdx::new(pod % snapshot.pods.len());
    let node = NodeIdx::new(node % snapshot.nodes.len());
    match kind % 4 {
        0 => state.remove(pod),
        1 => state.terminate(pod),
        2 => state.place(Incoming::replacement(snapshot, pod), node),
        // A pod stands on one node at most.
        _ if snapshot.pod(pod).node.is_none() && !stands_somewhere(state, pod) => {
            state.place(Incoming::pending(snapshot, pod), node);
        }
        _ => {}
    }
}

fn stands_somewhere(state: &State<'_>, pod: PodIdx) -> bool {
    let mut nodes = (0..state.snapshot().nodes.len()).map(NodeIdx::new);
    nodes.any(|node| state.tenants(node).iter().any(|tenant| tenant.pod == Some(pod)))
}

fn steps() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_equal_those_computed_from_scratch_and_undo_exactly(
        seed in any::<u64>(), first in steps(), second in steps(),
    ) {
        let snapshot = random_cluster(seed);
        let mut state = State::live(&snapshot);
        for &(kind, pod, node) in &first {
            step(&mut state, kind, pod, node);
        }
        prop_assert!(state.counters == state.recounted());
        let (before, point) = (state.clone(), state.checkpoint());
        for &(kind, pod, node) in &second {
            step(&mut state, kind, pod, node);
        }
        prop_assert!(state.counters == state.recounted());
        state.rollback(point);
        prop_assert!(state.counters == before.counters);
        for node in (0..snapshot.nodes.len()).map(NodeIdx::new) {
            prop_assert_eq!(state.tenants(node), before.tenants(node));
            prop_assert_eq!(state.nominees(node), before.nominees(node));
        }
    }

    #[test]
    fn the_fast_path_the_verdict_and_the_explanation_agree(seed in any::<u64>(), changes in steps()) {
        let snapshot = random_cluster(seed);
        let mut state = State::live(&snapshot);
        for &(kind, pod, node) in &changes {
            step(&mut state, kind, pod, node);
        }
        for pod in (0..snapshot.pods.len()).map(PodIdx::new) {
            let mut incoming = Incoming::replacement(&snapshot, pod);
            if snapshot.candidates.contains(&pod) {
                incoming = Incoming::pending(&snapshot, pod);
            }
            for rules in [SchedulerRules::Kube, SchedulerRules::Volcano] {
                let prepared = Prepared::with_rules(&state, rules, incoming);
                for node in (0..snapshot.nodes.len()).map(NodeIdx::new) {
                    let verdict = prepared.verdict(node);
                    prop_assert_eq!(prepared.fits(node), verdict.passes());
                    prop_assert_eq!(prepared.explain(node).is_empty(), verdict.passes(), "{:?}", verdict);
                }
            }
        }
    }
}
