//! Claims, volumes, classes, drivers, capacities and attachments.
//!
//! May import: snapshot

use super::Builder;
use super::in_tree::migrated_affinity;
use super::resources::Place;
use crate::snapshot::model::storage::{
    AccessModes, ClaimRef, InTree, NodeDriver, NodeStorage, Pv, PvSource, Pvc, StorageCapacity, StorageClass,
};
use crate::snapshot::model::{Op, Requirement, Sym, Symbols};
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
    pub(super) pvcs: Vec<Pvc>,
    pub(super) pvs: Vec<Pv>,
    pub(super) classes: Vec<StorageClass>,
    /// CSINodes by name.
    pub(super) nodes: Vec<(Sym, NodeStorage)>,
    pub(super) drivers: Vec<DraftDriver>,
    pub(super) capacities: Vec<DraftCapacity>,
    pub(super) attachments: Vec<DraftAttachment>,
    pub(super) in_tree_drivers: Vec<(InTree, Sym)>,
}

/// A CSIDriver.
#[derive(Debug)]
pub(super) struct DraftDriver {
    pub(super) name: Sym,
    pub(super) checks_capacity: bool,
    pub(super) strict: bool,
}

/// A CSIStorageCapacity.
#[derive(Debug)]
pub(super) struct DraftCapacity {
    pub(super) namespace: Sym,
    pub(super) name: Sym,
    pub(super) class: Sym,
    pub(super) capacity: StorageCapacity,
}

/// A VolumeAttachment.
#[derive(Debug)]
pub(super) struct DraftAttachment {
    pub(super) name: Sym,
    pub(super) attacher: Sym,
    pub(super) node: Sym,
    pub(super) pv: Sym,
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
        let taken_over = || InTree::ALL.into_iter().filter(|kind| kind.is_taken_over());
        let migrated = taken_over().filter(|kind| plugins.split(',').any(|p| p == kind.plugin())).collect();
        if self.storage.in_tree_drivers.is_empty() {
            let drivers = taken_over().map(|kind| (kind, self.symbols.intern(kind.driver())));
            self.storage.in_tree_drivers = drivers.collect();
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
