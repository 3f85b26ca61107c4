//! Resolves what storage objects say of each other.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::BuildOptions;
use super::storage::{DraftDriver, StorageDraft};
use crate::snapshot::model::storage::{NodeStorage, Pv, PvSource, StorageCapacity};
use crate::snapshot::model::{Node, PvIdx, PvcIdx, Storage, StorageClassIdx, Sym, Symbols};
use crate::snapshot::read::InputError;

/// First minor version whose scheduler heeds `preventPodSchedulingIfMissing` (gate `VolumeLimitScaling`).
const STRICT_DRIVERS_SINCE: u32 = 37;

/// Sorts by name; of two objects with one name the first stays, unless that is refused.
fn sort_unique<T>(
    items: &mut Vec<T>,
    kind: &str,
    refuse: bool,
    symbols: &Symbols,
    key: impl Fn(&T) -> (Sym, Sym),
) -> Result<(), InputError> {
    let text = |item: &T| {
        let (namespace, name) = key(item);
        (symbols.text(namespace), symbols.text(name))
    };
    items.sort_by(|a, b| text(a).cmp(&text(b)));
    if let Some([twin, _]) = items.array_windows().find(|[a, b]| refuse && key(a) == key(b)) {
        let (namespace, name) = text(twin);
        return Err(InputError::object(kind, namespace, name, "is in the input twice"));
    }
    items.dedup_by(|b, a| key(a) == key(b));
    Ok(())
}

impl StorageDraft {
    /// Resolves references. `nodes` are sorted by name.
    pub(super) fn finish(
        mut self,
        nodes: &[Node],
        symbols: &Symbols,
        options: BuildOptions,
    ) -> Result<Storage, InputError> {
        let (none, refuse) = (Sym::EMPTY, options.refuse_duplicates);
        sort_unique(&mut self.pvcs, "PersistentVolumeClaim", refuse, symbols, |c| (c.namespace, c.name))?;
        sort_unique(&mut self.pvs, "PersistentVolume", refuse, symbols, |v| (none, v.name))?;
        sort_unique(&mut self.classes, "StorageClass", refuse, symbols, |c| (none, c.name))?;
        sort_unique(&mut self.nodes, "CSINode", refuse, symbols, |n| (none, n.0))?;
        sort_unique(&mut self.drivers, "CSIDriver", refuse, symbols, |d| (none, d.name))?;
        sort_unique(&mut self.capacities, "CSIStorageCapacity", refuse, symbols, |c| (c.namespace, c.name))?;
        sort_unique(&mut self.attachments, "VolumeAttachment", refuse, symbols, |a| (none, a.name))?;
        let pv_index: FxHashMap<Sym, PvIdx> =
            self.pvs.iter().enumerate().map(|(at, pv)| (pv.name, PvIdx::new(at))).collect();
        let class_index: FxHashMap<Sym, StorageClassIdx> =
            self.classes.iter().enumerate().map(|(at, c)| (c.name, StorageClassIdx::new(at))).collect();
        for pvc in &mut self.pvcs {
            pvc.class = class_index.get(&pvc.class_name).copied();
            pvc.pv = pv_index.get(&pvc.pv_name).copied();
        }
        self.fill_classes(&class_index);
        let attached = self.attached(&pv_index);
        let mut csi_nodes: FxHashMap<Sym, NodeStorage> = self.nodes.into_iter().collect();
        let node_storage = nodes.iter().map(|node| {
            let mut storage = csi_nodes.remove(&node.name).unwrap_or_default();
            storage.attached = attached.get(&node.name).cloned().unwrap_or_default().into_boxed_slice();
            storage
        });
        let strict = |d: &&DraftDriver| d.strict && options.kubernetes_minor >= STRICT_DRIVERS_SINCE;
        let mut strict_drivers: Vec<Sym> = self.drivers.iter().filter(strict).map(|d| d.name).collect();
        strict_drivers.sort_unstable();
        Ok(Storage {
            nodes: node_storage.collect(),
            pvc_index: self
                .pvcs
                .iter()
                .enumerate()
                .map(|(at, c)| ((c.namespace, c.name), PvcIdx::new(at)))
                .collect(),
            pvcs: self.pvcs,
            pvs: self.pvs,
            classes: self.classes,
            strict_drivers,
            in_tree_drivers: self.in_tree_drivers,
        })
    }

    /// Gives every class its volumes and capacities.
    fn fill_classes(&mut self, index: &FxHashMap<Sym, StorageClassIdx>) {
        let mut volumes: Vec<Vec<PvIdx>> = vec![Vec::new(); self.classes.len()];
        for (at, pv) in self.pvs.iter().enumerate() {
            if let Some(class) = index.get(&pv.class_name) {
                volumes[class.at()].push(PvIdx::new(at));
            }
        }
        let mut capacities: Vec<Vec<StorageCapacity>> = vec![Vec::new(); self.classes.len()];
        for draft in &self.capacities {
            if let Some(class) = index.get(&draft.class) {
                capacities[class.at()].push(draft.capacity.clone());
            }
        }
        for ((class, mut volumes), capacities) in self.classes.iter_mut().zip(volumes).zip(capacities) {
            volumes.sort_by_key(|pv| (self.pvs[pv.at()].bytes, *pv));
            class.volumes = volumes.into_boxed_slice();
            class.capacities = capacities.into_boxed_slice();
            class.checks_capacity =
                self.drivers.iter().any(|d| d.name == class.provisioner && d.checks_capacity);
        }
    }

    /// CSI volumes that are attached, per node. Attachments without driver, of inline volumes and of volumes that
    /// are gone or not CSI do not count (rulebook 1.12).
    fn attached(&self, pv_index: &FxHashMap<Sym, PvIdx>) -> FxHashMap<Sym, Vec<(Sym, Sym)>> {
        let mut attached: FxHashMap<Sym, Vec<(Sym, Sym)>> = FxHashMap::default();
        for draft in self.attachments.iter().filter(|a| a.attacher != Sym::EMPTY) {
            let pv = pv_index.get(&draft.pv).map(|pv| &self.pvs[pv.at()]);
            if let Some(Pv { source: PvSource::Csi { handle, .. }, .. }) = pv {
                attached.entry(draft.node).or_default().push((draft.attacher, *handle));
            }
        }
        for volumes in attached.values_mut() {
            volumes.sort_unstable();
            volumes.dedup();
        }
        attached
    }
}

#[cfg(test)]
mod tests {
    use crate::snapshot::Snapshot;
    use crate::snapshot::build::{BuildOptions, Builder};
    use crate::snapshot::model::storage::PvSource;
    use crate::snapshot::read::{InputError, read_all};

    const API: &str = "apiVersion: storage.k8s.io/v1";

    fn build(documents: &[&str]) -> Result<Snapshot, InputError> {
        let mut builder = Builder::new(BuildOptions::default());
        for document in documents {
            let value: serde_json::Value = serde_saphyr::from_str(document).unwrap();
            read_all(value.to_string().as_bytes(), "test.json", &mut builder)?;
        }
        builder.finish()
    }

    fn pvc(fields: &str) -> String {
        format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{namespace: a, name: c}}, spec: {{{fields}}}}}"
        )
    }

    fn pv(fields: &str) -> String {
        format!("{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: v}}, spec: {{{fields}}}}}")
    }

    #[test]
    fn bad_storage_objects_are_one_sentence_that_names_object_and_field() {
        let class = |mode: &str| {
            format!(
                "{{{API}, kind: StorageClass, metadata: {{name: s}}, provisioner: p, volumeBindingMode: {mode}}}"
            )
        };
        let drivers = "[{name: d, allocatable: {count: 1}}, {name: e, allocatable: {count: -1}}]";
        let csi_node =
            format!("{{{API}, kind: CSINode, metadata: {{name: n1}}, spec: {{drivers: {drivers}}}}}");
        let capacity = |fields: &str| {
            format!(
                "{{{API}, kind: CSIStorageCapacity, metadata: {{namespace: a, name: k}}, storageClassName: s, {fields}}}"
            )
        };
        let nameless = format!("{{{API}, kind: VolumeAttachment, spec: {{attacher: d}}}}");
        for (document, sentence) in [
            (
                pvc("resources: {requests: {storage: much}}"),
                "PersistentVolumeClaim a/c: spec.resources.requests[\"storage\"]: \"much\" is not a quantity",
            ),
            (
                pvc("accessModes: [ReadWriteOnce, Sometimes]"),
                "PersistentVolumeClaim a/c: spec.accessModes[1]: \"Sometimes\" is no access mode",
            ),
            (
                pv("capacity: {storage: -1Gi}"),
                "PersistentVolume v: spec.capacity[\"storage\"]: \"-1Gi\" is negative",
            ),
            (pv("volumeMode: Tape"), "PersistentVolume v: spec.volumeMode: \"Tape\" is no volume mode"),
            (class("Later"), "StorageClass s: volumeBindingMode: \"Later\" is no binding mode"),
            (csi_node, "CSINode n1: spec.drivers[1].allocatable.count: -1 is negative"),
            (
                capacity("maximumVolumeSize: 99X"),
                "CSIStorageCapacity a/k: maximumVolumeSize: \"99X\" is not a quantity",
            ),
            (
                capacity("capacity: '99999999999999999999'"),
                "CSIStorageCapacity a/k: capacity: \"99999999999999999999\" is too large",
            ),
            (nameless, "VolumeAttachment (no name): metadata.name: is missing"),
        ] {
            let error = build(&[&document]).unwrap_err().to_string();
            assert!(error.starts_with(sentence), "{error}");
        }
        let error = build(&[&pv(""), &pv("")]).unwrap_err().to_string();
        assert_eq!(error, "PersistentVolume v: is in the input twice");
    }

    #[test]
    fn references_are_resolved_and_classes_know_their_volumes_by_size() {
        let class = format!(
            "{{{API}, kind: StorageClass, metadata: {{name: s}}, provisioner: d, volumeBindingMode: null}}"
        );
        let big = pv("capacity: {storage: 2Gi}, storageClassName: s, csi: {driver: d, volumeHandle: h}");
        let small = pv("capacity: {storage: 1.5Ki}, storageClassName: s").replace("name: v", "name: w");
        let attachment = format!(
            "{{{API}, kind: VolumeAttachment, metadata: {{name: t}}, spec: {{attacher: d, nodeName: n1, source: \
             {{persistentVolumeName: v}}}}}}"
        );
        let node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}";
        let claim = pvc("volumeName: v, storageClassName: s, resources: {requests: {storage: 1500m}}");
        let old = claim.replace(
            "namespace: a",
            "namespace: b, annotations: {volume.beta.kubernetes.io/storage-class: t}",
        );
        for documents in [
            [&*class, &big, &small, &attachment, node, &claim, &old],
            [&*old, &claim, node, &attachment, &small, &big, &class],
        ] {
            let snapshot = build(&documents).unwrap();
            let storage = &snapshot.storage;
            let name = |sym| snapshot.text(sym);
            let class = &storage.classes[0];
            let volumes: Vec<_> =
                class.volumes.iter().map(|&v| (name(storage.pv(v).name), storage.pv(v).bytes)).collect();
            assert_eq!(volumes, [("w", 1536), ("v", 2 << 30)]);
            assert!(!class.delayed && class.provisions);
            let [first, second] = &*storage.pvcs else { unreachable!() };
            assert_eq!(first.pv.map(|pv| name(storage.pv(pv).name)), Some("v"));
            assert_eq!((first.bytes, first.class.is_some()), (Some(2), true), "bytes are rounded up");
            assert_eq!((name(second.class_name), second.class), ("t", None), "the annotation counts more");
            let PvSource::Csi { driver, handle } = storage.pvs[0].source else { unreachable!() };
            assert_eq!(*storage.nodes[0].attached, [(driver, handle)]);
            assert_eq!((name(driver), name(handle)), ("d", "h"));
        }
    }
}
