//! No sum over the cluster leaves 64 bits: what one object asks for may be anything that an API server stores, so the
//! sums are looked at once, here, and are plain additions everywhere else.
//!
//! May import: snapshot

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, RequestsIdx, ResourceIdx};
use crate::snapshot::read::InputError;

/// Refuses the first object with which a sum of one resource is too large: over all nodes, over all pods, or, in
/// Volcano's units, which are a thousand times finer, over the pods of one node. Of a pod the largest amount counts
/// that any rule may charge it for.
pub(super) fn refuse_overflow(snapshot: &Snapshot) -> Result<(), InputError> {
    let mut sums = vec![0_i64; snapshot.resources.len()];
    for (at, node) in snapshot.nodes.iter().enumerate() {
        for (resource, &amount) in node.allocatable.iter().enumerate() {
            let name = snapshot.node_name(NodeIdx::new(at));
            add(&mut sums, ResourceIdx::new(resource), amount)
                .map_err(|resource| too_large(snapshot, "Node", "", name, resource))?;
        }
    }
    let pods = (0..snapshot.pods.len()).map(PodIdx::new);
    sum_of_pods(snapshot, pods, |pod| {
        let pod = snapshot.pod(pod);
        let coming = snapshot.spec(pod.replacement_spec()).requests;
        [pod.charged, snapshot.spec(pod.spec).requests, coming]
    })?;
    for pods in &snapshot.pods_on {
        sum_of_pods(snapshot, pods.iter().copied(), |pod| {
            let pod = snapshot.pod(pod);
            let coming = snapshot.spec(pod.replacement_spec()).volcano_requests;
            [pod.charged_volcano, snapshot.spec(pod.spec).volcano_requests, coming]
        })?;
    }
    Ok(())
}

fn sum_of_pods(
    snapshot: &Snapshot,
    pods: impl Iterator<Item = PodIdx>,
    lists: impl Fn(PodIdx) -> [RequestsIdx; 3],
) -> Result<(), InputError> {
    let mut sums = vec![0_i64; snapshot.resources.len()];
    let mut largest: Vec<(ResourceIdx, i64)> = Vec::new();
    for pod in pods {
        largest.clear();
        for &(resource, amount) in lists(pod).iter().flat_map(|&list| &snapshot.requests(list).0) {
            match largest.iter_mut().find(|(r, _)| *r == resource) {
                Some((_, most)) => *most = amount.max(*most),
                None => largest.push((resource, amount)),
            }
        }
        for &(resource, amount) in &largest {
            let namespace = snapshot.namespace_name(snapshot.pod(pod).namespace);
            add(&mut sums, resource, amount).map_err(|resource| {
                too_large(snapshot, "Pod", namespace, snapshot.pod_name(pod), resource)
            })?;
        }
    }
    Ok(())
}

fn add(sums: &mut [i64], resource: ResourceIdx, amount: i64) -> Result<(), ResourceIdx> {
    let sum = &mut sums[resource.at()];
    *sum = sum.checked_add(amount).ok_or(resource)?;
    Ok(())
}

fn too_large(
    snapshot: &Snapshot,
    kind: &str,
    namespace: &str,
    name: &str,
    resource: ResourceIdx,
) -> InputError {
    let problem = format!(
        "with its {}, the sum over all {}s is too large",
        snapshot.resource_name(resource),
        kind.to_lowercase()
    );
    InputError::object(kind, namespace, name, problem)
}
