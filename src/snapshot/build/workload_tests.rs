//! Owners, templates and what a replacement looks like.

use super::{BuildOptions, Builder};
use crate::snapshot::model::workload::{PodEvent, PolicyAction};
use crate::snapshot::model::{OwnerObject, Reaction, ResourceIdx, Snapshot};
use crate::snapshot::read::read_all;
use crate::snapshot::view::object::Kind;

fn builder(yaml: &str) -> Builder {
    let mut builder = Builder::new(BuildOptions::default());
    read_all(yaml.as_bytes(), "test.yaml", &mut builder).unwrap();
    builder
}

fn build(yaml: &str) -> Snapshot {
    builder(yaml).finish().unwrap()
}

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: '8', x.io/npu: '8'}, conditions: [{type: Ready, status: 'True'}]}
";

/// A ReplicaSet `rs` whose pods ask for `cpu` and `cards`, and one live pod of it.
fn replica_set(template: &str, pod: &str) -> String {
    format!(
        "{NODE}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{namespace: a, name: rs, uid: u1, labels: {{team: x}}}}
spec:
  replicas: 1
  template:
    metadata: {{labels: {{app: web, pod-template-hash: h}}}}
    spec: {template}
---
apiVersion: v1
kind: Pod
metadata:
  namespace: a
  name: rs-x
  labels: {{app: web, pod-template-hash: h, injected: 'yes'}}
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u1, controller: true}}]
spec: {pod}
status: {{phase: Running}}
"
    )
}

const LIVE: &str = "{nodeName: n1, priority: 7, schedulerName: volcano, \
    tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}], \
    containers: [{name: c, resources: {requests: {cpu: '4', x.io/npu: '1'}}}]}";

#[test]
fn a_pod_that_is_its_template_plus_what_admission_adds_is_its_own_replacement() {
    let template = "{containers: [{name: c, resources: {requests: {cpu: '4', x.io/npu: '1'}}}]}";
    let s = build(&replica_set(template, LIVE));
    assert_eq!(s.pods[0].replacement, None);
    assert!(s.pods[0].template.is_some_and(|t| !t.names_node));
    let sidecar =
        LIVE.replace("containers: [", "containers: [{name: proxy, resources: {requests: {cpu: 100m}}}, ");
    assert_eq!(build(&replica_set(template, &sidecar)).pods[0].replacement, None, "an injected container");
}

#[test]
fn r22_a_pod_resized_in_place_comes_back_in_the_size_of_the_template() {
    let template = "{containers: [{name: c, resources: {requests: {cpu: '1', x.io/npu: '1'}}}]}";
    let s = build(&replica_set(template, LIVE));
    let spec = s.spec(s.pods[0].replacement.unwrap());
    assert_eq!(s.requests(spec.requests).get(ResourceIdx::CPU), 1000);
    assert_eq!(s.charged(crate::snapshot::model::PodIdx::new(0), ResourceIdx::CPU), 4000);
    assert_eq!((spec.priority, s.text(spec.scheduler)), (7, "volcano"), "what admission added stays");
    assert_eq!(s.node_rules[spec.node_rules.at()].tolerations.len(), 1);
    let vpa =
        replica_set(template, LIVE).replace("name: rs-x", "name: rs-x\n  annotations: {vpaUpdates: 'cpu'}");
    assert_eq!(build(&vpa).pods[0].replacement, None, "VPA will size the next one too");
}

#[test]
fn f68_template_rules_apply_when_a_rollout_is_in_progress() {
    let template = "{nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: '4', x.io/npu: '2'}}}]}";
    let s = build(&replica_set(template, LIVE));
    let spec = s.spec(s.pods[0].replacement.unwrap());
    let cards = s.resource_named("x.io/npu").unwrap();
    assert_eq!(s.requests(spec.requests).get(cards), 2);
    let selector = &s.node_rules[spec.node_rules.at()].node_selector;
    assert_eq!(selector.iter().map(|&(k, v)| (s.text(k), s.text(v))).collect::<Vec<_>>(), [("disk", "ssd")]);
    let label = |key: &str| s.symbols.find(key).and_then(|key| spec.labels.get(key)).map(|v| s.text(v));
    assert_eq!(label("pod-template-hash"), Some("h"));
    assert_eq!(label("injected"), None);
}

#[test]
fn overhead_of_the_runtime_class_comes_on_top_of_the_template() {
    let template = "{containers: [{name: c, resources: {requests: {cpu: '4', x.io/npu: '1'}}}]}";
    let live = LIVE.replace("priority: 7", "priority: 7, overhead: {cpu: 250m}");
    assert_eq!(build(&replica_set(template, &live)).pods[0].replacement, None);
    let smaller = template.replace("'4'", "'2'");
    let s = build(&replica_set(&smaller, &live));
    let spec = s.spec(s.pods[0].replacement.unwrap());
    assert_eq!(s.requests(spec.requests).get(ResourceIdx::CPU), 2250);
}

#[test]
fn pods_below_the_partition_of_a_stateful_set_come_back_as_they_are() {
    let set = |partition: u32| {
        let template = "{containers: [{name: c, resources: {requests: {cpu: '1', x.io/npu: '1'}}}]}";
        let yaml = replica_set(template, LIVE).replace("ReplicaSet", "StatefulSet").replace("rs-x", "rs-2");
        let strategy =
            format!("replicas: 1\n  updateStrategy: {{rollingUpdate: {{partition: {partition}}}}}");
        build(&yaml.replace("replicas: 1", &strategy))
    };
    assert!(set(2).pods[0].replacement.is_some());
    assert!(set(3).pods[0].replacement.is_none());
}

#[test]
fn the_first_ordinal_of_a_stateful_set_moves_its_partition() {
    let template = "{containers: [{name: c, resources: {requests: {cpu: '1', x.io/npu: '1'}}}]}";
    let yaml = replica_set(template, LIVE).replace("ReplicaSet", "StatefulSet").replace("rs-x", "rs-5");
    let starting = |first: u32| {
        let fields = format!(
            "replicas: 1\n  ordinals: {{start: {first}}}\n  updateStrategy: {{rollingUpdate: {{partition: 1}}}}"
        );
        build(&yaml.replace("replicas: 1", &fields)).pods[0].replacement
    };
    assert!(starting(4).is_some());
    assert!(starting(5).is_none());
}

#[test]
fn what_a_pod_of_an_older_revision_tolerates_is_not_taken_for_admission() {
    let template = "{containers: [{name: c, resources: {requests: {cpu: '4', x.io/npu: '1'}}}]}";
    let live = LIVE.replace(
        "tolerations: [",
        "tolerations: [{key: pool, operator: Exists}, {key: x.io/npu, operator: Exists}, ",
    );
    let yaml = replica_set(template, &live).replace("ReplicaSet", "StatefulSet");
    let made_of = |revision: &str| {
        let yaml = yaml.replace("injected: 'yes'", &format!("controller-revision-hash: {revision}"));
        build(&yaml.replace(
            "---\napiVersion: v1\nkind: Pod",
            "status: {updateRevision: rs-2}\n---\napiVersion: v1\nkind: Pod",
        ))
    };
    assert_eq!(made_of("rs-2").pods[0].replacement, None, "some webhook adds it");
    let s = made_of("rs-1");
    let rules = s.spec(s.pods[0].replacement.unwrap()).node_rules;
    let keys: Vec<&str> = s.node_rules[rules.at()].tolerations.iter().map(|t| s.text(t.key)).collect();
    assert_eq!(keys, ["x.io/npu", "node.kubernetes.io/not-ready"]);
}

#[test]
fn an_owner_is_present_gone_or_of_a_kind_that_was_not_read() {
    let template = "{containers: [{name: c}]}";
    let yaml = replica_set(template, LIVE);
    assert!(matches!(build(&yaml).owners[0].object, OwnerObject::Present(_)));
    assert_eq!(build(&yaml).owner_chain(build(&yaml).pods[0].owner).count(), 1);
    let other_uid = yaml.replacen("uid: u1, labels", "uid: u2, labels", 1);
    assert_eq!(build(&other_uid).owners[0].object, OwnerObject::Gone, "another object of that name");
    let without = |kind: Option<Kind>, refused: bool| {
        let parts: Vec<&str> =
            yaml.split("---").filter(|part| !part.contains("kind: ReplicaSet\nmetadata")).collect();
        let mut builder = builder(&parts.join("---"));
        if let Some(kind) = kind {
            if refused { builder.kind_refused(kind) } else { builder.kind_read(kind) }
        }
        builder.finish().unwrap().owners[0].object
    };
    assert_eq!(without(None, false), OwnerObject::NotRead);
    assert_eq!(without(Some(Kind::ReplicaSet), false), OwnerObject::Gone);
    assert_eq!(without(Some(Kind::ReplicaSet), true), OwnerObject::Refused);
}

#[test]
fn policies_of_a_volcano_job_are_asked_task_first() {
    let s = build(&format!(
        "{NODE}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{namespace: a, name: j}}
spec:
  policies: [{{event: PodEvicted, action: RestartJob}}, {{event: '*', action: AbortJob}}]
  tasks:
  - name: ps
    policies: [{{events: [PodEvicted, PodFailed], action: RestartTask}}]
    template: {{spec: {{nodeName: n1, containers: [{{name: c}}]}}}}
  - {{name: worker}}
status: {{retryCount: 2}}
---
apiVersion: v1
kind: Pod
metadata:
  {{namespace: a, name: j-ps-0, ownerReferences: [{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, controller: true}}]}}
spec: {{nodeName: n1, containers: [{{name: c}}]}}
status: {{phase: Running}}
"
    ));
    let Reaction::VolcanoJob(rules) = &s.workloads[0].reaction else { panic!("{:?}", s.workloads[0]) };
    let action = |task: &str, event| rules.action(s.symbols.find(task).unwrap(), event);
    assert_eq!(action("ps", PodEvent::Failed), PolicyAction::RestartTask);
    assert_eq!(action("worker", PodEvent::Evicted), PolicyAction::RestartJob);
    assert_eq!(action("worker", PodEvent::Failed), PolicyAction::End);
    assert_eq!((rules.retries, rules.max_retry), (2, 3));
    assert!(s.pods[0].template.unwrap().names_node, "found by the name of the pod");
}
