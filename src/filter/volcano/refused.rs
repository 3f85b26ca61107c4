//! Pods that Volcano's cache does not take in: nobody charges them and no predicate sees them (rulebook 2.3).
//!
//! May import: snapshot, filter

use crate::filter::state::Tenant;
use crate::filter::volumes::{Holder, Trouble};
use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::ClaimSource;

/// True when a device claim that the pod names does not exist, or the claim of a generic ephemeral volume was made
/// for another pod.
pub(in crate::filter) fn is_refused(snapshot: &Snapshot, tenant: &Tenant) -> bool {
    let spec = snapshot.spec(tenant.spec);
    let lost = |source| match source {
        ClaimSource::Named(name) => snapshot.dra.claim_named(spec.namespace, name).is_none(),
        ClaimSource::Template(_) => false,
    };
    let holder = Holder::tenant(snapshot, tenant);
    spec.claims.iter().any(|claim| lost(claim.source))
        || spec.volumes.iter().any(|v| matches!(holder.claim(snapshot, v), Some(Err(Trouble::NotOwned(_)))))
}

#[cfg(test)]
mod tests {
    use crate::filter::kube::testing::{asks, candidate, cluster, node_with, pod};
    use crate::filter::{Incoming, Prepared, SchedulerRules, Schedulers, State};
    use crate::snapshot::model::NodeIdx;

    #[test]
    fn a_refused_pod_is_charged_by_kube_and_not_by_volcano_if_the_input_is_complete() {
        let lost = format!(
            "nodeName: n1, resourceClaims: [{{name: x, resourceClaimName: gone}}], {}",
            asks("cpu: 3")
        );
        let nodes = ["n1", "n2"].map(|name| node_with(name, "", "", "cpu: 4, pods: 9"));
        let objects = [nodes.to_vec(), vec![pod("lost", "", &lost)]].concat();
        let snapshot = cluster(&objects, &pod("new", "", &asks("cpu: 2")));
        let incoming = candidate(&snapshot);
        let fits = |state: &State<'_>, rules, node| {
            Prepared::with_rules(state, rules, incoming).fits(NodeIdx::new(node))
        };
        let (kube, volcano) = (SchedulerRules::Kube, SchedulerRules::Volcano);
        let mut state = State::of_complete_input(&snapshot, &Schedulers::default());
        assert_eq!((fits(&state, kube, 0), fits(&state, volcano, 0)), (false, true));
        assert!(!fits(&State::live(&snapshot), volcano, 0), "the claim may only be left out of the input");
        // Both views follow every change and come back.
        let before = state.checkpoint();
        state.place(Incoming { pod: None, ..incoming }, NodeIdx::new(0));
        state.place(Incoming { pod: None, ..incoming }, NodeIdx::new(0));
        state.remove(snapshot.pods_on[0][0]);
        assert_eq!((fits(&state, kube, 0), fits(&state, volcano, 0)), (false, false));
        state.rollback(before);
        assert_eq!((fits(&state, kube, 0), fits(&state, volcano, 0)), (false, true));
    }
}
