//! Extended resources that a device class serves (rulebook 1.13): one generated claim per pod and node.
//!
//! May import: snapshot, filter

use crate::snapshot::Snapshot;
use crate::snapshot::build::is_extended;
use crate::snapshot::model::dra::{Alternative, Amount, ClaimSpec, DeviceRequest};
use crate::snapshot::model::pod::ContainerRole;
use crate::snapshot::model::{Node, NodeIdx, PodSpec, Requests, ResourceIdx, Sym};

/// True when the pod asks for a resource that some class serves.
pub(in crate::filter) fn wants(snapshot: &Snapshot, spec: &PodSpec) -> bool {
    let extended = &snapshot.dra.extended;
    !extended.is_empty() && snapshot.requests(spec.requests).0.iter().any(|(r, _)| extended.contains_key(r))
}

/// What a node has to serve through devices.
pub(in crate::filter) enum Delegated {
    /// Nothing: a device plugin serves all of it.
    Nothing,
    /// These requests.
    Claim(ClaimSpec),
    /// The node lacks a resource that no class serves.
    Lacks(ResourceIdx),
}

/// The generated claim for a pod that [`wants`] one, on one node.
pub(in crate::filter) fn delegated(snapshot: &Snapshot, spec: &PodSpec, node: NodeIdx) -> Delegated {
    let Node { allocatable, named, .. } = snapshot.node(node);
    let mut requests: Vec<(String, DeviceRequest)> = Vec::new();
    for &(resource, _) in &snapshot.requests(spec.requests).0 {
        if allocatable[resource.at()] != 0 {
            continue;
        }
        match snapshot.dra.class_serving(resource) {
            Some(class) => requests.extend(requests_for(spec, resource, class.name)),
            // An amount of 0 is left to the comparison of amounts.
            None if named.binary_search(&resource).is_err()
                && is_extended(snapshot.resource_name(resource)) =>
            {
                return Delegated::Lacks(resource);
            }
            None => {}
        }
    }
    if requests.is_empty() {
        return Delegated::Nothing;
    }
    // The scheduler sorts the requests by their generated names.
    requests.sort_by(|a, b| a.0.cmp(&b.0));
    let requests = requests.into_iter().map(|(_, request)| request).collect();
    Delegated::Claim(ClaimSpec { requests, constraints: Box::default() })
}

/// One request per container that stays; init containers reuse the devices of those that start after them, and the
/// largest of what they need beyond that is one more request.
fn requests_for(spec: &PodSpec, resource: ResourceIdx, class: Sym) -> Vec<(String, DeviceRequest)> {
    let containers = &spec.container_extended;
    let stays = |role: ContainerRole| role != ContainerRole::Init;
    let amount = |amounts: &Requests| amounts.get(resource);
    let mut requests = Vec::new();
    let mut most: Option<(usize, i64)> = None;
    for (at, (role, amounts)) in containers.iter().enumerate() {
        let wanted = amount(amounts);
        if wanted == 0 {
            continue;
        }
        if stays(*role) {
            requests.push((at, wanted));
            continue;
        }
        let later = containers[at..].iter().filter(|(role, _)| stays(*role));
        let more = wanted - later.map(|(_, amounts)| amount(amounts)).sum::<i64>();
        if more > 0 && most.is_none_or(|(_, so_far)| so_far < more) {
            most = Some((at, more));
        }
    }
    requests.extend(most);
    let request = |(at, count): (usize, i64)| {
        let alternative = Alternative {
            name: Sym::EMPTY,
            class,
            selectors: Box::default(),
            amount: Amount::Count(count),
            admin: false,
            tolerations: Box::default(),
            capacity: false,
        };
        let request = DeviceRequest { name: Sym::EMPTY, alternatives: Box::new([alternative]) };
        (format!("container-{at}-request-{:04}", resource.number()), request)
    };
    requests.into_iter().map(request).collect()
}
