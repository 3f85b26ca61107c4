//! Claims, volumes, classes, drivers, capacities and attachments.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::Builder;
use super::in_tree::migrated_affinity;
use super::resources::Place;
use crate::snapshot::model::storage::{
    AccessModes, ClaimRef, InTree, NodeDriver, NodeStorage, Pv, PvSource, Pvc, StorageCapacity, StorageClass,
};
use crate::snapshot::model::{Node, Op, PvIdx, PvcIdx, Requirement, Storage, StorageClassIdx, Sym, Symbols};
use crate::snapshot::names;
use crate::snapshot::quantity::{Quantity, QuantityError};
use crate::snapshot::read::InputError;
use crate::snapshot::view::basic::{MetaView, Text};
use crate::snapshot::view::storage::{
    AttachmentView, CsiDriverView, CsiNodeView, PvSourceView, PvSpecView, PvView, PvcView,
    StorageCapacityView, StorageClassView,
};

/// Provisioner of classes whose volumes somebody makes by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Storage objects before references are resolved.
#[derive(Debug, Default)]
pub(super) struct StorageDraft {
    pvcs: Vec<Pvc>,
    pvs: Vec<Pv>,
    classes: Vec<StorageClass>,
    /// CSINodes by name.
    nodes: Vec<(Sym, NodeStorage)>,
    drivers: Vec<DraftDriver>,
    capacities: Vec<DraftCapacity>,
    attachments: Vec<DraftAttachment>,
    in_tree_drivers: Vec<(InTree, Sym)>,
}

#[derive(Debug)]
struct DraftDriver {
    name: Sym,
    checks_capacity: bool,
    strict: bool,
}

#[derive(Debug)]
struct DraftCapacity {
    namespace: Sym,
    name: Sym,
    class: Sym,
    capacity: StorageCapacity,
}

#[derive(Debug)]
struct DraftAttachment {
    name: Sym,
    attacher: Sym,
    node: Sym,
    pv: Sym,
}

fn place<'a>(kind: &'a str, meta: &'a MetaView<'_>) -> Result<Place<'a>, InputError> {
    let place = Place { kind, namespace: &meta.namespace, name: &meta.name };
    if meta.name.is_empty() { Err(place.error("metadata.name", "is missing")) } else { Ok(place) }
}

/// An amount of storage in bytes, rounded up.
fn bytes(text: &str, place: Place<'_>, field: &str) -> Result<i64, InputError> {
    let fault = |problem: &str| place.error(field, format!("\"{text}\" {problem}"));
    match Quantity::parse(text) {
        Ok(quantity) if quantity < Quantity::ZERO => Err(fault("is negative")),
        Ok(quantity) => Ok(quantity.ceil_units()),
        Err(QuantityError::Syntax) => Err(fault("is not a quantity")),
        Err(QuantityError::Overflow) => Err(fault("is too large")),
    }
}

fn access_modes(texts: &[Text<'_>], place: Place<'_>) -> Result<AccessModes, InputError> {
    let mut modes = AccessModes::default();
    for (at, text) in texts.iter().enumerate() {
        if !modes.add(text) {
            let problem = format!("\"{}\" is no access mode", &**text);
            return Err(place.error(format!("spec.accessModes[{at}]"), problem));
        }
    }
    Ok(modes)
}

fn is_block(mode: &str, place: Place<'_>) -> Result<bool, InputError> {
    match mode {
        "" | "Filesystem" => Ok(false),
        "Block" => Ok(true),
        other => Err(place.error("spec.volumeMode", format!("\"{other}\" is no volume mode"))),
    }
}

/// Values of a zone label: a set separated by `__`. `None` when one of them is empty: the label is then ignored.
fn zone_set(value: &str, symbols: &mut Symbols) -> Option<Box<[Sym]>> {
    let parts: Vec<&str> = value.split("__").map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    Some(parts.into_iter().map(|part| symbols.intern(part)).collect())
}

impl Builder {
    /// The class that a claim or volume names: the annotation of old, else the field.
    fn class_name(&mut self, meta: &MetaView<'_>, field: &str) -> Sym {
        self.symbols.intern(meta.annotations.get(names::BETA_STORAGE_CLASS).unwrap_or(field))
    }

    pub(super) fn pvc(&mut self, view: &PvcView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let place = place("PersistentVolumeClaim", meta)?;
        let spec = &view.spec;
        let asked = spec.resources.requests.get("storage");
        let asked =
            asked.map(|text| bytes(text, place, "spec.resources.requests[\"storage\"]")).transpose()?;
        let owner = meta.owner_references.iter().find(|r| r.controller == Some(true));
        let pvc = Pvc {
            namespace: self.namespace_of(&meta.namespace),
            name: self.symbols.intern(&meta.name),
            uid: self.symbols.intern(&meta.uid),
            owner: owner.map(|r| self.symbols.intern(&r.uid)),
            class_name: self.class_name(meta, &spec.storage_class_name),
            class: None,
            bytes: asked,
            modes: access_modes(&spec.access_modes, place)?,
            block: is_block(&spec.volume_mode, place)?,
            selector: spec.selector.as_ref().map(|s| self.selector(s)),
            attributes_class: self.symbols.intern(&spec.volume_attributes_class_name),
            pv_name: self.symbols.intern(&spec.volume_name),
            pv: None,
            bind_completed: meta.annotations.get(names::BIND_COMPLETED).is_some(),
            lost: &*view.status.phase == "Lost",
            deleting: meta.deletion_timestamp.is_some(),
            selected_node: meta.annotations.get(names::SELECTED_NODE).map(|node| self.symbols.intern(node)),
        };
        self.storage.pvcs.push(pvc);
        Ok(())
    }

    pub(super) fn pv(&mut self, view: &PvView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let place = place("PersistentVolume", meta)?;
        let spec = &view.spec;
        let size = spec.capacity.get("storage");
        let size = size.map(|text| bytes(text, place, "spec.capacity[\"storage\"]")).transpose()?;
        let source = self.pv_source(spec);
        let affinity =
            spec.node_affinity.as_ref().and_then(|a| a.required.as_ref()).map(|r| self.node_selector(r));
        let labels = self.labels(&meta.labels);
        let migrated_affinity = match source {
            PvSource::InTree { kind, .. } => {
                migrated_affinity(kind, affinity.as_ref(), &labels, &mut self.symbols)
            }
            _ => None,
        };
        let mut zones = Vec::new();
        for key in names::TOPOLOGY_KEYS.iter().chain(&names::BETA_TOPOLOGY_KEYS) {
            let set = meta.labels.get(key).and_then(|value| zone_set(value, &mut self.symbols));
            zones.extend(set.map(|set| (self.symbols.intern(key), set)));
        }
        let pv = Pv {
            name: self.symbols.intern(&meta.name),
            labels,
            class_name: self.class_name(meta, &spec.storage_class_name),
            bytes: size.unwrap_or(0),
            modes: access_modes(&spec.access_modes, place)?,
            block: is_block(&spec.volume_mode, place)?,
            attributes_class: self.symbols.intern(&spec.volume_attributes_class_name),
            claim: spec.claim_ref.as_ref().map(|r| ClaimRef {
                namespace: self.namespace_of(&r.namespace),
                name: self.symbols.intern(&r.name),
                uid: self.symbols.intern(&r.uid),
            }),
            available: &*view.status.phase == "Available",
            deleting: meta.deletion_timestamp.is_some(),
            affinity,
            migrated_affinity,
            zones: zones.into_boxed_slice(),
            source,
        };
        self.storage.pvs.push(pv);
        Ok(())
    }

    fn pv_source(&mut self, spec: &PvSpecView<'_>) -> PvSource {
        if let Some(csi) = &spec.csi {
            let (driver, handle) =
                (self.symbols.intern(&csi.driver), self.symbols.intern(&csi.volume_handle));
            return PvSource::Csi { driver, handle };
        }
        let in_tree: [(InTree, &Option<PvSourceView<'_>>); 7] = [
            (InTree::Gce, &spec.gce_persistent_disk),
            (InTree::Aws, &spec.aws_elastic_block_store),
            (InTree::Cinder, &spec.cinder),
            (InTree::AzureDisk, &spec.azure_disk),
            (InTree::AzureFile, &spec.azure_file),
            (InTree::VSphere, &spec.vsphere_volume),
            (InTree::Portworx, &spec.portworx_volume),
        ];
        for (kind, view) in in_tree {
            let Some(view) = view else { continue };
            let handle = match kind {
                InTree::Gce => &view.pd_name,
                InTree::Aws | InTree::Cinder | InTree::Portworx => &view.volume_id,
                InTree::AzureDisk => &view.disk_uri,
                InTree::AzureFile => &view.share_name,
                InTree::VSphere => &view.volume_path,
            };
            return PvSource::InTree { kind, handle: self.symbols.intern(handle) };
        }
        PvSource::Other
    }

    pub(super) fn storage_class(&mut self, view: &StorageClassView<'_>) -> Result<(), InputError> {
        let place = place("StorageClass", &view.metadata)?;
        let delayed = match &*view.volume_binding_mode {
            "" | "Immediate" => false,
            "WaitForFirstConsumer" => true,
            other => return Err(place.error("volumeBindingMode", format!("\"{other}\" is no binding mode"))),
        };
        let topologies = view.allowed_topologies.iter().map(|term| {
            let requirements = term.match_label_expressions.iter().map(|r| Requirement {
                key: self.symbols.intern(&r.key),
                op: Op::In,
                values: r.values.iter().map(|v| self.symbols.intern(v)).collect(),
            });
            requirements.collect()
        });
        let class = StorageClass {
            topologies: topologies.collect(),
            name: self.symbols.intern(&view.metadata.name),
            provisioner: self.symbols.intern(&view.provisioner),
            provisions: !matches!(&*view.provisioner, "" | NO_PROVISIONER),
            in_tree: InTree::ALL.into_iter().find(|kind| kind.plugin() == &*view.provisioner),
            driver_parameter: self.symbols.intern(&view.parameters.driver),
            delayed,
            checks_capacity: false,
            capacities: Box::default(),
            volumes: Box::default(),
        };
        self.storage.classes.push(class);
        Ok(())
    }

    pub(super) fn csi_node(&mut self, view: &CsiNodeView<'_>) -> Result<(), InputError> {
        let place = place("CSINode", &view.metadata)?;
        let mut drivers = Vec::with_capacity(view.spec.drivers.len());
        for (at, driver) in view.spec.drivers.iter().enumerate() {
            let limit = driver.allocatable.and_then(|a| a.count);
            if let Some(limit) = limit.filter(|&limit| limit < 0) {
                let field = format!("spec.drivers[{at}].allocatable.count");
                return Err(place.error(field, format!("{limit} is negative")));
            }
            drivers.push(NodeDriver { name: self.symbols.intern(&driver.name), limit });
        }
        let plugins = view.metadata.annotations.get(names::MIGRATED_PLUGINS).unwrap_or_default();
        let migrated: Box<[InTree]> =
            InTree::ALL.into_iter().filter(|kind| plugins.split(',').any(|p| p == kind.plugin())).collect();
        for &kind in &migrated {
            let known = &mut self.storage.in_tree_drivers;
            if !known.iter().any(|(k, _)| *k == kind) {
                known.push((kind, self.symbols.intern(kind.driver())));
            }
        }
        let node = NodeStorage { known: true, drivers: drivers.into(), migrated, attached: Box::default() };
        self.storage.nodes.push((self.symbols.intern(&view.metadata.name), node));
        Ok(())
    }

    pub(super) fn csi_driver(&mut self, view: &CsiDriverView<'_>) -> Result<(), InputError> {
        place("CSIDriver", &view.metadata)?;
        let name = self.symbols.intern(&view.metadata.name);
        self.storage.drivers.push(DraftDriver {
            name,
            checks_capacity: view.spec.storage_capacity == Some(true),
            strict: view.spec.prevent_pod_scheduling_if_missing == Some(true),
        });
        Ok(())
    }

    pub(super) fn storage_capacity(&mut self, view: &StorageCapacityView<'_>) -> Result<(), InputError> {
        let place = place("CSIStorageCapacity", &view.metadata)?;
        let free = view.capacity.as_ref().map(|text| bytes(text, place, "capacity")).transpose()?;
        let most = view.maximum_volume_size.as_ref();
        let most = most.map(|text| bytes(text, place, "maximumVolumeSize")).transpose()?;
        let capacity = StorageCapacity {
            nodes: view.node_topology.as_ref().map(|s| self.selector(s)),
            bytes: most.or(free),
        };
        let draft = DraftCapacity {
            namespace: self.namespace_of(&view.metadata.namespace),
            name: self.symbols.intern(&view.metadata.name),
            class: self.symbols.intern(&view.storage_class_name),
            capacity,
        };
        self.storage.capacities.push(draft);
        Ok(())
    }

    pub(super) fn attachment(&mut self, view: &AttachmentView<'_>) -> Result<(), InputError> {
        place("VolumeAttachment", &view.metadata)?;
        let draft = DraftAttachment {
            name: self.symbols.intern(&view.metadata.name),
            attacher: self.symbols.intern(&view.spec.attacher),
            node: self.symbols.intern(&view.spec.node_name),
            pv: self.symbols.intern(&view.spec.source.persistent_volume_name),
        };
        self.storage.attachments.push(draft);
        Ok(())
    }
}

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
    if let Some(pair) = items.windows(2).find(|pair| refuse && key(&pair[0]) == key(&pair[1])) {
        let (namespace, name) = text(&pair[0]);
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
        refuse: bool,
    ) -> Result<Storage, InputError> {
        let none = Sym::EMPTY;
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
        let mut strict_drivers: Vec<Sym> = self.drivers.iter().filter(|d| d.strict).map(|d| d.name).collect();
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
