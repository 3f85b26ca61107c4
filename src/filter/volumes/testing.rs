//! Storage objects for tests, as YAML flow text.

use crate::filter::kube::testing::pod;

/// An unbound claim `default/NAME` with UID `NAME-uid`.
pub fn claim(name: &str, size: &str, class: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{namespace: default, name: {name}, \
         uid: {name}-uid}}, spec: {{resources: {{requests: {{storage: {size}}}}}, storageClassName: {class}, \
         accessModes: [ReadWriteOnce]{}}}}}",
        more(spec)
    )
}

/// A claim bound to `pv`.
pub fn bound(name: &str, pv: &str, class: &str) -> String {
    annotated(
        &claim(name, "1Gi", class, &format!("volumeName: {pv}")),
        "pv.kubernetes.io/bind-completed: 'yes'",
    )
}

/// The object with an annotation.
pub fn annotated(object: &str, annotation: &str) -> String {
    with_meta(object, &format!("annotations: {{{annotation}}}"))
}

/// The object with more metadata.
pub fn with_meta(object: &str, meta: &str) -> String {
    object.replacen("metadata: {", &format!("metadata: {{{meta}, "), 1)
}

/// The object owned by the pod with this UID.
pub fn owned_by(object: &str, uid: &str) -> String {
    with_meta(object, &format!("ownerReferences: [{{kind: Pod, name: x, uid: {uid}, controller: true}}]"))
}

/// A free PV.
pub fn volume(name: &str, size: &str, class: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}}}, spec: {{capacity: {{storage: {size}}}, \
         storageClassName: {class}, accessModes: [ReadWriteOnce]{}}}, status: {{phase: Available}}}}",
        more(spec)
    )
}

/// `nodeAffinity` of a PV that only nodes with this label value reach.
pub fn only(key: &str, value: &str) -> String {
    format!(
        "nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {key}, operator: In, values: \
         [{value}]}}]}}]}}}}"
    )
}

/// The source of a CSI PV.
pub fn csi(driver: &str, handle: &str) -> String {
    format!("csi: {{driver: {driver}, volumeHandle: {handle}}}")
}

/// A class whose claims wait for a pod.
pub fn delayed(name: &str, provisioner: &str, fields: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: {name}}}, provisioner: {provisioner}, \
         volumeBindingMode: WaitForFirstConsumer{}}}",
        more(fields)
    )
}

/// A class that makes nothing.
pub fn by_hand(name: &str) -> String {
    delayed(name, "kubernetes.io/no-provisioner", "")
}

/// A class whose claims are bound at once.
pub fn immediate(name: &str, provisioner: &str) -> String {
    delayed(name, provisioner, "").replace("WaitForFirstConsumer", "Immediate")
}

/// A CSINode with one driver.
pub fn csi_node(name: &str, driver: &str, limit: Option<u32>) -> String {
    let limit = limit.map(|count| format!(", allocatable: {{count: {count}}}")).unwrap_or_default();
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {{name: {name}}}, spec: {{drivers: [{{name: \
         {driver}{limit}}}]}}}}"
    )
}

/// A CSIDriver.
pub fn csi_driver(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
    )
}

/// A VolumeAttachment.
pub fn attachment(driver: &str, pv: &str, node: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {{name: {pv}-on-{node}}}, spec: {{attacher: \
         {driver}, nodeName: {node}, source: {{persistentVolumeName: {pv}}}}}}}"
    )
}

/// A pod with UID `NAME-uid` that uses these claims; `node` empty = not bound.
pub fn user(name: &str, node: &str, claims: &[&str]) -> String {
    let volumes = claims.iter().map(|c| format!("{{name: {c}, persistentVolumeClaim: {{claimName: {c}}}}}"));
    with_volumes(name, node, &volumes.collect::<Vec<_>>().join(", "))
}

/// A pod with UID `NAME-uid` and these volumes.
pub fn with_volumes(name: &str, node: &str, volumes: &str) -> String {
    let place = if node.is_empty() { String::new() } else { format!("nodeName: {node}, ") };
    with_meta(&pod(name, "", &format!("{place}volumes: [{volumes}]")), &format!("uid: {name}-uid"))
}

fn more(fields: &str) -> String {
    if fields.is_empty() { String::new() } else { format!(", {fields}") }
}
