//! What the input leaves out although pods of it refer to it: unknown, which is not the same as none.
//!
//! Rules that need it count against a move, so a reader has to be told where refusals come from. Only kinds are
//! looked at of which the input has no object at all: a single missing object is a fact about the cluster.
//!
//! May import: snapshot

use super::Snapshot;
use super::model::pod::{ClaimSource, Volume};
use super::model::storage::{PvSource, Pvc};
use super::model::{PodIdx, PodSpec};

/// One sentence, without the full stop, per kind that pods of the snapshot refer to and that it has no object of.
pub fn lacking(snapshot: &Snapshot) -> Vec<String> {
    let storage = &snapshot.storage;
    let has_volumes = |spec: &PodSpec| {
        spec.volumes.iter().any(|volume| matches!(volume, Volume::Claim(_) | Volume::Ephemeral(_)))
    };
    let claims = |spec: &PodSpec, which: &dyn Fn(&Pvc) -> bool| {
        spec.volumes.iter().any(|volume| match volume {
            Volume::Claim(name) => {
                storage.pvc_named(spec.namespace, *name).is_some_and(|pvc| which(storage.pvc(pvc)))
            }
            _ => false,
        })
    };
    let is_csi =
        |claim: &Pvc| claim.pv.is_some_and(|pv| matches!(storage.pv(pv).source, PvSource::Csi { .. }));
    let devices = |spec: &PodSpec, made: bool| {
        spec.claims.iter().any(|claim| matches!(claim.source, ClaimSource::Template(_)) == made)
    };
    let mut sentences = Vec::new();
    let mut tell = |absent: bool, kinds: &str, why: &str, refers: &dyn Fn(&PodSpec) -> bool| {
        let pods = if absent { count(snapshot, refers) } else { 0 };
        if pods > 0 {
            let plural = if pods == 1 { "" } else { "s" };
            sentences.push(format!("{kinds} are not in the input: {why}, which concerns {pods} pod{plural}"));
        }
    };
    let nowhere = "pods that use them are taken to fit nowhere";
    tell(
        snapshot.namespaces.iter().any(|namespace| !namespace.read),
        "Namespaces",
        "rules on their labels are taken to be in the way",
        &|spec| asks_for_namespaces(snapshot, spec),
    );
    tell(storage.pvcs.is_empty(), "PersistentVolumeClaims", nowhere, &has_volumes);
    tell(storage.pvs.is_empty(), "PersistentVolumes", nowhere, &|spec| {
        claims(spec, &|claim| !snapshot.text(claim.pv_name).is_empty())
    });
    tell(storage.classes.is_empty(), "StorageClasses", nowhere, &|spec| {
        claims(spec, &|claim| {
            snapshot.text(claim.pv_name).is_empty() && !snapshot.text(claim.class_name).is_empty()
        })
    });
    tell(
        storage.nodes.iter().all(|node| !node.known),
        "CSINodes",
        "Volcano attaches no volume where it sees none",
        &|spec| snapshot.text(spec.scheduler) != "default-scheduler" && claims(spec, &is_csi),
    );
    tell(snapshot.dra.claims.is_empty(), "ResourceClaims", nowhere, &|spec| devices(spec, false));
    tell(snapshot.dra.templates.is_empty(), "ResourceClaimTemplates", nowhere, &|spec| devices(spec, true));
    sentences
}

/// Pods that stand on a node and refer to it.
fn count(snapshot: &Snapshot, refers: &dyn Fn(&PodSpec) -> bool) -> usize {
    let specs: Vec<bool> = snapshot.specs.iter().map(refers).collect();
    let concerns = |pod: &PodIdx| snapshot.pod(*pod).stands() && specs[snapshot.pod(*pod).spec.at()];
    (0..snapshot.pods.len()).map(PodIdx::new).filter(concerns).count()
}

fn asks_for_namespaces(snapshot: &Snapshot, spec: &PodSpec) -> bool {
    let selectors =
        spec.affinity.iter().chain(&spec.anti_affinity).filter_map(|t| t.namespace_selector.as_ref());
    let symbols = &snapshot.symbols;
    selectors.into_iter().any(|selector| {
        snapshot.namespaces.iter().any(|namespace| namespace.selected(selector, symbols).is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::read::read_all;
    use crate::snapshot::{BuildOptions, Builder};

    fn told(spec: &str, more: &str) -> Vec<String> {
        let text = format!(
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: n}}}}\n---\n\
             {{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: ns}}, status: {{phase: Running}}, \
             spec: {{nodeName: n, containers: [{{name: c}}], {spec}}}}}\n---\n{more}"
        );
        let mut builder = Builder::new(BuildOptions::default());
        read_all(text.as_bytes(), "test", &mut builder).unwrap();
        lacking(&builder.finish().unwrap())
    }

    #[test]
    fn kinds_that_pods_refer_to_and_the_input_has_nothing_of_are_told() {
        let claim = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]";
        assert_eq!(
            told(claim, ""),
            [
                "PersistentVolumeClaims are not in the input: pods that use them are taken to fit nowhere, which concerns 1 pod"
            ]
        );
        let other =
            "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: other, namespace: ns}, spec: {}}";
        assert!(told(claim, other).is_empty(), "one missing claim is a fact about the cluster");
        let bound = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns}, spec: {volumeName: pv}}";
        assert_eq!(
            told(claim, bound),
            [
                "PersistentVolumes are not in the input: pods that use them are taken to fit nowhere, which concerns 1 pod"
            ]
        );
        assert_eq!(
            told("resourceClaims: [{name: d, resourceClaimName: d}]", ""),
            [
                "ResourceClaims are not in the input: pods that use them are taken to fit nowhere, which concerns 1 pod"
            ]
        );
        assert!(told("hostNetwork: true", "").is_empty());
    }

    #[test]
    fn labels_of_namespaces_that_were_not_read_are_unknown_but_for_the_name() {
        let avoid = |selector: &str| {
            let term =
                format!("{{topologyKey: zone, labelSelector: {{}}, namespaceSelector: {{{selector}}}}}");
            format!(
                "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
            )
        };
        let team = avoid("matchLabels: {team: x}");
        assert_eq!(
            told(&team, ""),
            [
                "Namespaces are not in the input: rules on their labels are taken to be in the way, which concerns 1 pod"
            ]
        );
        assert!(told(&team, "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}").is_empty());
        assert!(told(&avoid(""), "").is_empty());
        assert!(told(&avoid("matchLabels: {kubernetes.io/metadata.name: other}"), "").is_empty());
    }
}
