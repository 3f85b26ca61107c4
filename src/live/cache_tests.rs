//! Tests of the cache: what it knows after lists, changes and faults.

use serde_json::json;

use super::*;

fn served(kind: Kind, plural: &str) -> Served {
    Served { kind, version: "v1".to_owned(), plural: plural.to_owned() }
}

fn object(value: serde_json::Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn node(name: &str, cards: &str) -> DynamicObject {
    object(json!({
        "metadata": {"name": name, "managedFields": [{"manager": "kubelet"}]},
        "status": {"allocatable": {"huawei.com/ascend-1980": cards, "pods": "110"}}
    }))
}

fn started() -> (Cache, Served) {
    let (cache, nodes) = (Cache::default(), served(Kind::Node, "nodes"));
    cache.note(std::slice::from_ref(&nodes), Vec::new());
    (cache, nodes)
}

#[test]
fn a_list_counts_when_it_is_whole_and_replaces_what_was_known() {
    let (cache, nodes) = started();
    assert!(!cache.synced());
    assert!(cache.snapshot().unwrap_err().to_string().contains("Node objects are unknown"));
    cache.take(&nodes, Event::Init);
    cache.take(&nodes, Event::InitApply(node("npu-1", "8")));
    assert!(!cache.synced() && cache.is_empty());
    cache.take(&nodes, Event::InitDone);
    assert!(cache.synced());
    cache.take(&nodes, Event::Apply(node("npu-2", "8")));
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 2);
    // The watch was cut off: until the new list is whole, what is known stays.
    cache.take(&nodes, Event::Init);
    cache.take(&nodes, Event::InitApply(node("npu-3", "8")));
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 2);
    cache.take(&nodes, Event::InitDone);
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 1);
    cache.take(&nodes, Event::Delete(node("npu-3", "8")));
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 0);
}

#[test]
fn a_pod_whose_node_is_gone_already_is_no_fault_of_the_cluster() {
    let (cache, nodes) = started();
    cache.take(&nodes, Event::Init);
    cache.take(&nodes, Event::InitDone);
    let pods = served(Kind::Pod, "pods");
    cache.note(std::slice::from_ref(&pods), Vec::new());
    cache.take(&pods, Event::Init);
    cache.take(
        &pods,
        Event::InitApply(object(json!({
            "metadata": {"namespace": "ns", "name": "left"}, "spec": {"nodeName": "gone", "containers": []}
        }))),
    );
    cache.take(&pods, Event::InitDone);
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 0);
}

#[test]
fn one_bad_object_is_named_and_kills_no_watch() {
    let (cache, nodes) = started();
    cache.take(&nodes, Event::Init);
    cache.take(&nodes, Event::InitDone);
    cache.take(&nodes, Event::Apply(object(json!({"metadata": {"name": "bad"}, "spec": {"taints": 7}}))));
    let fault = cache.snapshot().unwrap_err().to_string();
    assert!(fault.contains("bad") && fault.contains("spec.taints"), "{fault}");
    cache.take(&nodes, Event::Apply(node("bad", "8")));
    assert_eq!(cache.snapshot().unwrap().0.nodes.len(), 1);
}

#[test]
fn a_running_pod_is_found_by_the_deployment_that_made_it() {
    let (cache, _) = started();
    let pods = served(Kind::Pod, "pods");
    let pod = |name: &str, phase: &str| -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "system", "name": name},
            "spec": {}, "status": {"phase": phase},
        }))
        .unwrap()
    };
    cache.take(&pods, Event::Init);
    cache.take(&pods, Event::InitDone);
    for (name, phase) in [("engine-1", "Pending"), ("engineer-1", "Running"), ("engine", "Running")] {
        cache.take(&pods, Event::Apply(pod(name, phase)));
        assert_eq!(cache.running_pod_of("engine"), None, "{name} {phase}");
    }
    cache.take(&pods, Event::Apply(pod("engine-2", "Running")));
    assert_eq!(cache.running_pod_of("engine").as_deref(), Some("system/engine-2"));
}

#[test]
fn a_kind_that_may_not_be_read_is_unknown_and_not_empty() {
    let (cache, nodes) = started();
    cache.take(&nodes, Event::Init);
    cache.take(&nodes, Event::InitDone);
    let pods = served(Kind::Pod, "pods");
    let budgets = served(Kind::PodDisruptionBudget, "poddisruptionbudgets");
    cache.note(&[pods.clone(), budgets.clone()], Vec::new());
    cache.take(&pods, Event::Init);
    cache.take(&pods, Event::InitDone);
    let status = kube::core::Status::failure("budgets are forbidden", "Forbidden").with_code(403);
    let refusal = watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)));
    cache.failed(&budgets, &refusal, Instant::now());
    assert!(cache.synced());
    let (_, left_out) = cache.snapshot().unwrap();
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].reason.contains("poddisruptionbudgets.policy"), "{}", left_out[0].reason);
    cache.failed(&pods, &refusal, Instant::now());
    assert!(cache.snapshot().unwrap_err().to_string().contains("Pod objects are unknown"));
}

#[test]
fn nothing_is_known_of_a_cluster_while_a_watch_is_broken_and_after_a_minute_its_kind_is_unknown() {
    let (cache, nodes) = started();
    let budgets = served(Kind::PodDisruptionBudget, "poddisruptionbudgets");
    cache.note(&[nodes.clone(), budgets.clone()], Vec::new());
    for kind in [&nodes, &budgets] {
        cache.take(kind, Event::Init);
        cache.take(kind, Event::InitDone);
    }
    let broken = watcher::Error::WatchFailed(kube::Error::Service("cut".into()));
    let now = Instant::now();
    cache.failed(&budgets, &broken, now);
    assert!(!cache.synced_at(now), "budgets may have changed since");
    // Every further attempt that fails counts from the first.
    cache.failed(&budgets, &broken, now + PATIENCE / 2);
    cache.take(&budgets, Event::Init);
    assert!(!cache.synced_at(now + PATIENCE / 2));
    let later = now + PATIENCE;
    assert!(cache.synced_at(later));
    let (_, left_out) = cache.snapshot_at(later).unwrap();
    assert_eq!(left_out.len(), 1);
    assert!(
        left_out[0].reason.contains("cannot watch poddisruptionbudgets.policy"),
        "{}",
        left_out[0].reason
    );
    cache.take(&budgets, Event::InitDone);
    assert!(cache.synced_at(later) && cache.snapshot_at(later).unwrap().1.is_empty());
    // Without nodes there is nothing to plan, however long it takes.
    cache.failed(&nodes, &broken, later);
    assert!(cache.snapshot_at(later + PATIENCE).is_err());
}
