//! `NodeResourcesFit`: amounts and the number of pods (rulebook 1.1).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, ResourceIdx, SpecIdx};

/// The plugin.
#[derive(Debug)]
pub struct NodeResourcesFit;

impl Plugin for NodeResourcesFit {
    fn name(&self) -> PluginName {
        PluginName::NodeResourcesFit
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        PreFilter::check(move |at| check(context, at))
    }
}

/// True when the pod fits as far as amounts and the number of pods go.
pub(super) fn has_room(state: &State<'_>, spec: SpecIdx, node: NodeIdx) -> bool {
    let (snapshot, amounts) = (state.snapshot(), &state.counters.amounts);
    let free = amounts.free(node);
    let requests = snapshot.requests(snapshot.spec(spec).requests);
    let fits = |&(r, need): &(ResourceIdx, i64)| need <= free[r.at()] || is_delegated(snapshot, r, node);
    amounts.slots(node) > 0 && requests.0.iter().all(fits)
}

/// An extended resource that the node does not have but a device class serves is left to `DynamicResources` (step 5).
fn is_delegated(snapshot: &Snapshot, resource: ResourceIdx, node: NodeIdx) -> bool {
    snapshot.dra.class_serving(resource).is_some() && snapshot.node(node).allocatable[resource.at()] == 0
}

fn check(context: Context<'_>, at: Visit<'_>) -> Result<(), Failure> {
    let (snapshot, amounts) = (context.snapshot(), &context.state.counters.amounts);
    let allocatable = &snapshot.node(at.node).allocatable;
    let fail = |code, detail| Err(Failure { plugin: PluginName::NodeResourcesFit, code, detail });
    let limit = allocatable[ResourceIdx::PODS.at()];
    let pods = limit - amounts.slots(at.node) + i64::try_from(at.guests.len()).unwrap_or(i64::MAX);
    let mut worst: Option<(Code, Detail)> = None;
    for &(resource, need) in &snapshot.requests(context.spec().requests).0 {
        let guests = at.guests.iter().map(|g| snapshot.requests(g.charged).get(resource)).sum::<i64>();
        let have = amounts.free(at.node)[resource.at()] - guests;
        if need <= have || is_delegated(snapshot, resource, at.node) {
            continue;
        }
        // Several shortages make one refusal; it is final as soon as one of them is.
        let hopeless = need > allocatable[resource.at()];
        let code = if hopeless { Code::Unresolvable } else { Code::Unschedulable };
        if worst.as_ref().is_none_or(|(so_far, _)| hopeless && *so_far != Code::Unresolvable) {
            worst = Some((code, Detail::Insufficient { resource, need, have }));
        }
    }
    match worst {
        Some((Code::Unresolvable, detail)) => fail(Code::Unresolvable, detail),
        _ if pods >= limit => fail(Code::Unschedulable, Detail::TooManyPods { pods, limit }),
        Some((code, detail)) => fail(code, detail),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{
        Expect, Fail, Pass, Unresolvable, asks, candidate, cluster, node_with, pod, says, table, terminating,
        with_status,
    };

    /// Node n1 with `allocatable`, pods on it with these specs, and a pod of this spec.
    fn line<'a>(
        number: &'a str,
        allocatable: &str,
        others: &[String],
        spec: &str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        let mut objects = vec![node_with("n1", "", "", &format!("{allocatable}, pods: 10"))];
        objects.extend_from_slice(others);
        (number, objects, pod("new", "", spec), "n1", expected)
    }

    fn on_n1(name: &str, requests: &str) -> String {
        pod(name, "", &format!("nodeName: n1, {}", asks(requests)))
    }

    /// A bound pod of one container `c` whose status was written by a resize.
    fn resized(requests: &str, condition: &str, container: &str) -> String {
        let conditions =
            format!("conditions: [{{type: PodResizePending, status: 'True', reason: {condition}}}]");
        with_status(
            &on_n1("resized", requests),
            &format!("phase: Running, {conditions}, containerStatuses: [{{name: c, {container}}}]"),
        )
    }

    #[test]
    fn amounts_as_in_the_rulebook() {
        let used = |requests: &str| vec![on_n1("p", requests)];
        let init =
            |cpu: u32, rest: &str| format!("{{name: i{cpu}, resources: {{requests: {{cpu: {cpu}}}}}{rest}}}");
        let side = ", restartPolicy: Always";
        let with_init =
            |inits: &[String]| format!("initContainers: [{}], {}", inits.join(", "), asks("cpu: 1"));
        let both = "allocatedResources: {cpu: 6}, resources: {requests: {cpu: 6}}";
        let two = "allocatedResources: {cpu: 2}, resources: {requests: {cpu: 2}}";
        let r16b = with_status(
            &pod(
                "p",
                "",
                "nodeName: n1, containers: [{name: a, resources: {requests: {cpu: 2}}}, \
                 {name: b, resources: {requests: {cpu: 4}}}]",
            ),
            "phase: Running, containerStatuses: [\
             {name: a, allocatedResources: {cpu: 4}, resources: {requests: {cpu: 4}}}, \
             {name: b, allocatedResources: {cpu: 2}, resources: {requests: {cpu: 2}}}]",
        );
        let byte_and_half = "resources: {requests: {memory: 1500m}}";
        table(
            PluginName::NodeResourcesFit,
            &[
                line("R1", "cpu: 4", &used("cpu: 2"), &asks("cpu: 2"), Pass),
                line("R2", "cpu: 4", &used("cpu: 2001m"), &asks("cpu: 2"), Fail),
                line("R3", "cpu: 4", &[], &asks("cpu: 5"), Unresolvable),
                line("R4", "cpu: 4", &used("cpu: 2"), &with_init(&[init(3, "")]), Fail),
                line("R5", "cpu: 3", &[], &with_init(&[init(1, side), init(2, "")]), Pass),
                line("R6", "cpu: 2", &[], &with_init(&[init(2, ""), init(1, side)]), Pass),
                line(
                    "R7",
                    "cpu: 4, nvidia.com/gpu: 1",
                    &used("cpu: 1"),
                    "resources: {requests: {cpu: 4}}, containers: [\
                     {name: a, resources: {requests: {cpu: 1, nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}, \
                     {name: b, resources: {requests: {cpu: 1}}}]",
                    Fail,
                ),
                line(
                    "R8",
                    "cpu: 1",
                    &used("cpu: 300m"),
                    &format!("overhead: {{cpu: 250m}}, {}", asks("cpu: 500m")),
                    Fail,
                ),
                line("R9", "cpu: 1", &used("cpu: 900m"), &asks("cpu: 100500u"), Fail),
                line(
                    "R9b",
                    "memory: 3",
                    &[],
                    &format!("containers: [{{name: a, {byte_and_half}}}, {{name: b, {byte_and_half}}}]"),
                    Pass,
                ),
                line(
                    "R10",
                    "cpu: 1, nvidia.com/gpu: 4",
                    &used("cpu: 1200m"),
                    &asks("nvidia.com/gpu: 1"),
                    Pass,
                ),
                line("R10b", "cpu: 1", &used("cpu: 1200m"), "", Pass),
                line("R11", "cpu: 4", &[], &asks("nvidia.com/gpu: 1"), Unresolvable),
                line("R12", "cpu: 4", &[], &asks("nvidia.com/gpu: 0"), Pass),
                line(
                    "R12b",
                    "cpu: 8, nvidia.com/gpu: 1",
                    &used("nvidia.com/gpu: 2"),
                    &asks("cpu: 1, nvidia.com/gpu: 0"),
                    Pass,
                ),
                line(
                    "R14",
                    "nvidia.com/gpu: 8",
                    &[on_n1("a", "nvidia.com/gpu: 4"), terminating(&on_n1("b", "nvidia.com/gpu: 4"))],
                    &asks("nvidia.com/gpu: 4"),
                    Fail,
                ),
                line(
                    "R15",
                    "nvidia.com/gpu: 8",
                    &[with_status(&on_n1("p", "nvidia.com/gpu: 8"), "phase: Succeeded")],
                    &asks("nvidia.com/gpu: 8"),
                    Pass,
                ),
                line("R16", "cpu: 8", &[resized("cpu: 2", "Deferred", both)], &asks("cpu: 4"), Fail),
                line("R16b", "cpu: 8", &[r16b], &asks("cpu: 2"), Pass),
                line(
                    "R16c",
                    "cpu: 4",
                    &[resized("cpu: 1", "Deferred", "allocatedResources: {cpu: 3}")],
                    &asks("cpu: 2"),
                    Fail,
                ),
                line("R17", "cpu: 8", &[resized("cpu: 8", "Infeasible", two)], &asks("cpu: 4"), Pass),
                line("R18", "cpu: 8", &[resized("cpu: 8", "Deferred", two)], &asks("cpu: 4"), Fail),
                line("R20", "hugepages-2Mi: 64Mi", &[], &asks("hugepages-2Mi: 128Mi"), Unresolvable),
                line(
                    "R21",
                    "nvidia.com/gpu: 6",
                    &used("nvidia.com/gpu: 7"),
                    &asks("nvidia.com/gpu: 1"),
                    Fail,
                ),
            ],
        );
    }

    #[test]
    fn r13_a_terminating_pod_holds_its_place_in_the_pod_count() {
        let objects =
            [node_with("n1", "", "", "pods: 2"), on_n1("a", "cpu: 0"), terminating(&on_n1("b", "cpu: 0"))];
        let snapshot = cluster(&objects, &pod("new", "", ""));
        let mut state = State::live(&snapshot);
        let incoming = candidate(&snapshot);
        assert_eq!(says(&state, PluginName::NodeResourcesFit, incoming, "n1"), Fail);
        let last = *snapshot.pods_on[0].last().unwrap();
        let before = state.checkpoint();
        state.remove(last);
        assert_eq!(says(&state, PluginName::NodeResourcesFit, incoming, "n1"), Pass);
        state.rollback(before);
        assert_eq!(says(&state, PluginName::NodeResourcesFit, incoming, "n1"), Fail);
    }

    #[test]
    fn r22_a_replacement_asks_for_its_spec_and_not_for_what_was_resized() {
        let live = with_status(
            &pod("p", "", &format!("nodeName: n2, {}", asks("cpu: 1"))),
            "phase: Running, containerStatuses: [{name: c, allocatedResources: {cpu: 4}, resources: {requests: {cpu: 4}}}]",
        );
        let nodes = ["n1", "n2"].map(|n| node_with(n, "", "", "cpu: 2, pods: 9"));
        let snapshot = cluster(&[nodes[0].clone(), nodes[1].clone(), live], &pod("other", "", ""));
        let victim = snapshot.pods_on[1][0];
        let incoming = crate::filter::Incoming::replacement(&snapshot, victim);
        assert_eq!(says(&State::live(&snapshot), PluginName::NodeResourcesFit, incoming, "n1"), Pass);
    }

    #[test]
    fn a_nomination_reserves_against_pods_of_no_higher_priority() {
        let nominated = |priority: i32, scheduler: &str| {
            let spec = format!("priority: {priority}, schedulerName: {scheduler}, {}", asks("cpu: 3"));
            with_status(&pod("nominated", "", &spec), "phase: Pending, nominatedNodeName: n1")
        };
        let new = pod("new", "", &format!("priority: 5, {}", asks("cpu: 2")));
        for (nominee, expected) in [
            (nominated(5, "default-scheduler"), Fail),
            (nominated(4, "default-scheduler"), Pass),
            (nominated(5, "volcano"), Pass),
            (terminating(&nominated(6, "default-scheduler")), Fail),
        ] {
            let snapshot = cluster(&[node_with("n1", "", "", "cpu: 4, pods: 9"), nominee], &new);
            let mut state = State::live(&snapshot);
            assert_eq!(says(&state, PluginName::NodeResourcesFit, candidate(&snapshot), "n1"), expected);
            // Once it is bound elsewhere it reserves nothing; undone, it does again.
            let nominee = state.nominees(NodeIdx::new(0))[0];
            let (before, incoming) =
                (state.checkpoint(), crate::filter::Incoming::pending(&snapshot, nominee));
            state.place(incoming, NodeIdx::new(0));
            assert!(state.nominees(NodeIdx::new(0)).is_empty());
            state.rollback(before);
            assert_eq!(state.nominees(NodeIdx::new(0)), [nominee]);
        }
    }
}
