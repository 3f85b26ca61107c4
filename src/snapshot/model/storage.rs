//! Storage of the model: claims, volumes, classes, drivers, and what each node can attach.
//!
//! Sizes are bytes, rounded up. References that an object makes by name are resolved once, when the model is built;
//! a name without an object stays a name. "PVC" is a `PersistentVolumeClaim`, "PV" a `PersistentVolume`; device claims
//! are another matter.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::ids::{NodeIdx, PvIdx, PvcIdx, StorageClassIdx, Sym};
use super::intern::Symbols;
use super::selector::{Labels, NodeSelector, Requirement, Selector};

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessModes(u8);

impl AccessModes {
    /// Names of the modes; the position is the bit.
    const NAMES: [&'static str; 4] =
        ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", Self::READ_WRITE_ONCE_POD];
    const READ_WRITE_ONCE_POD: &'static str = "ReadWriteOncePod";

    /// Adds a mode; false when there is no such mode.
    pub fn add(&mut self, name: &str) -> bool {
        let bit = Self::NAMES.iter().position(|known| *known == name);
        self.0 |= bit.map_or(0, |bit| 1 << bit);
        bit.is_some()
    }

    /// True when every mode of `other` is in this set.
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when only one pod of the cluster may use it.
    pub const fn is_once_per_pod(self) -> bool {
        self.0 & 1 << 3 != 0
    }
}

/// A PVC.
#[derive(Clone, Debug)]
pub struct Pvc {
    /// Namespace, as a symbol.
    pub namespace: Sym,
    /// Name.
    pub name: Sym,
    /// UID, empty when the file has none.
    pub uid: Sym,
    /// UID of the controlling owner: the pod, for the claim of a generic ephemeral volume.
    pub owner: Option<Sym>,
    /// Name of the class; the annotation of old counts more than the field. `EMPTY` = none.
    pub class_name: Sym,
    /// The class, if its object exists.
    pub class: Option<StorageClassIdx>,
    /// Bytes asked for; `None` when nothing is asked for.
    pub bytes: Option<i64>,
    /// Modes asked for.
    pub modes: AccessModes,
    /// Asked for as a raw block device.
    pub block: bool,
    /// Labels that a volume needs.
    pub selector: Option<Selector>,
    /// Class of mutable attributes, `EMPTY` = none.
    pub attributes_class: Sym,
    /// `spec.volumeName`, `EMPTY` = none.
    pub pv_name: Sym,
    /// The volume of that name, if its object exists.
    pub pv: Option<PvIdx>,
    /// Carries the annotation that says that binding is complete.
    pub bind_completed: bool,
    /// Its volume is gone for good.
    pub lost: bool,
    /// Has a deletionTimestamp.
    pub deleting: bool,
    /// Node that a scheduler selected for provisioning.
    pub selected_node: Option<Sym>,
}

impl Pvc {
    /// Bound on both sides (rulebook 1.10).
    pub fn is_fully_bound(&self) -> bool {
        self.pv_name != Sym::EMPTY && self.bind_completed
    }
}

/// `spec.claimRef` of a PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace.
    pub namespace: Sym,
    /// Name.
    pub name: Sym,
    /// UID; `EMPTY` fits any claim of that name.
    pub uid: Sym,
}

impl ClaimRef {
    /// True when it means this claim.
    pub fn means(&self, claim: &Pvc) -> bool {
        self.namespace == claim.namespace
            && self.name == claim.name
            && (self.uid == Sym::EMPTY || self.uid == claim.uid)
    }
}

/// Where the bytes of a PV are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PvSource {
    /// A CSI volume.
    Csi {
        /// Driver.
        driver: Sym,
        /// Handle, unique per driver.
        handle: Sym,
    },
    /// A volume of a kind that once was compiled into Kubernetes; a CSI driver serves it on nodes that say so.
    InTree {
        /// Which kind.
        kind: InTree,
        /// Its identifier.
        handle: Sym,
    },
    /// Anything that nobody attaches: local, NFS, hostPath.
    Other,
}

/// Kinds of volumes that CSI drivers took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InTree {
    /// GCE persistent disk.
    Gce,
    /// AWS EBS.
    Aws,
    /// OpenStack Cinder.
    Cinder,
    /// Azure disk.
    AzureDisk,
    /// Azure file share.
    AzureFile,
    /// vSphere disk.
    VSphere,
    /// Portworx volume.
    Portworx,
}

impl InTree {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Gce, Self::Aws, Self::Cinder, Self::AzureDisk, Self::AzureFile, Self::VSphere, Self::Portworx];

    /// Name of the plugin: provisioner of its classes, entry of the CSINode's list of migrated plugins.
    pub const fn plugin(self) -> &'static str {
        match self {
            Self::Gce => "kubernetes.io/gce-pd",
            Self::Aws => "kubernetes.io/aws-ebs",
            Self::Cinder => "kubernetes.io/cinder",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::VSphere => "kubernetes.io/vsphere-volume",
            Self::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The CSI driver that serves it.
    pub const fn driver(self) -> &'static str {
        match self {
            Self::Gce => "pd.csi.storage.gke.io",
            Self::Aws => "ebs.csi.aws.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::VSphere => "csi.vsphere.vmware.com",
            Self::Portworx => "pxd.portworx.com",
        }
    }

    /// True for kinds that kube-scheduler takes for CSI volumes: all but two, whose move it never followed.
    pub const fn is_taken_over(self) -> bool {
        !matches!(self, Self::AzureFile | Self::VSphere)
    }

    /// Node label that the driver uses where the old plugin used the zone.
    pub const fn zone_key(self) -> Option<&'static str> {
        match self {
            Self::Gce => Some("topology.gke.io/zone"),
            Self::Aws => Some("topology.ebs.csi.aws.com/zone"),
            Self::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            Self::AzureDisk | Self::AzureFile | Self::VSphere | Self::Portworx => None,
        }
    }
}

/// A PV.
#[derive(Clone, Debug)]
pub struct Pv {
    /// Name.
    pub name: Sym,
    /// Labels.
    pub labels: Labels,
    /// Name of the class, `EMPTY` = none.
    pub class_name: Sym,
    /// Size in bytes.
    pub bytes: i64,
    /// Modes that it can be mounted in.
    pub modes: AccessModes,
    /// A raw block device.
    pub block: bool,
    /// Class of mutable attributes, `EMPTY` = none.
    pub attributes_class: Sym,
    /// Claim that it is bound to or reserved for.
    pub claim: Option<ClaimRef>,
    /// Phase Available.
    pub available: bool,
    /// Has a deletionTimestamp.
    pub deleting: bool,
    /// Nodes that can reach it; `None` = all.
    pub affinity: Option<NodeSelector>,
    /// For in-tree volumes: the same where the CSI driver serves it.
    pub migrated_affinity: Option<NodeSelector>,
    /// Zones and regions of its labels: (key, allowed values), where the values can be read (rulebook 1.11).
    pub zones: Box<[(Sym, Box<[Sym]>)]>,
    /// Where its bytes are.
    pub source: PvSource,
}

/// Free storage of a class on some nodes.
#[derive(Clone, Debug)]
pub struct StorageCapacity {
    /// Nodes; `None` = none.
    pub nodes: Option<Selector>,
    /// Largest volume in bytes: `maximumVolumeSize`, else `capacity`; `None` = unknown, which is not enough.
    pub bytes: Option<i64>,
}

/// A `StorageClass`.
#[derive(Clone, Debug)]
pub struct StorageClass {
    /// Name.
    pub name: Sym,
    /// Who makes volumes; `EMPTY` = nobody.
    pub provisioner: Sym,
    /// The provisioner makes volumes: it is neither missing nor the one that makes nothing.
    pub provisions: bool,
    /// The kind of in-tree volumes that it makes, if it is an in-tree plugin.
    pub in_tree: Option<InTree>,
    /// The CSI driver that the class names in its parameters, `EMPTY` = none.
    pub driver_parameter: Sym,
    /// Claims wait for a pod.
    pub delayed: bool,
    /// Where volumes can be made: alternatives of requirements; empty = everywhere.
    pub topologies: Box<[Box<[Requirement]>]>,
    /// The driver publishes how much it can make where.
    pub checks_capacity: bool,
    /// What it published for this class, by namespace and name.
    pub capacities: Box<[StorageCapacity]>,
    /// Volumes of this class by size, then name.
    pub volumes: Box<[PvIdx]>,
}

impl StorageClass {
    /// True when a volume can be made for a node with these labels. A term without requirements matches nothing.
    pub fn reaches(&self, labels: &Labels, symbols: &Symbols) -> bool {
        self.topologies.is_empty()
            || self
                .topologies
                .iter()
                .any(|term| !term.is_empty() && term.iter().all(|r| r.matches(labels, symbols)))
    }

    /// True when the driver has room for a volume of `bytes` near a node with these labels, or does not say.
    pub fn has_room(&self, bytes: Option<i64>, labels: &Labels, symbols: &Symbols) -> bool {
        let Some(bytes) = bytes.filter(|_| self.checks_capacity) else { return true };
        self.capacities.iter().any(|c| {
            c.bytes.is_some_and(|most| most >= bytes)
                && c.nodes.as_ref().is_some_and(|nodes| nodes.matches(labels, symbols))
        })
    }
}

/// A CSI driver on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeDriver {
    /// Name.
    pub name: Sym,
    /// Volumes that can be attached; `None` = unlimited.
    pub limit: Option<i64>,
}

/// The storage side of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeStorage {
    /// Its CSINode object exists.
    pub known: bool,
    /// Drivers of the CSINode, by name.
    pub drivers: Box<[NodeDriver]>,
    /// Kinds of in-tree volumes that a CSI driver serves here, as the CSINode says: where their PVs are reached from
    /// is asked with the driver's labels. Limits need no such word, only the CSINode.
    pub migrated: Box<[InTree]>,
    /// CSI volumes that are attached, as (driver, handle), each once.
    pub attached: Box<[(Sym, Sym)]>,
}

impl NodeStorage {
    /// The driver of that name.
    pub fn driver(&self, name: Sym) -> Option<&NodeDriver> {
        self.drivers.iter().find(|d| d.name == name)
    }
}

/// All storage of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    /// PVCs by namespace and name.
    pub pvcs: Vec<Pvc>,
    /// PVs by name.
    pub pvs: Vec<Pv>,
    /// Classes by name.
    pub classes: Vec<StorageClass>,
    /// CSI drivers whose pods must not go to nodes without the driver, sorted by symbol.
    pub strict_drivers: Vec<Sym>,
    /// The storage side of each node.
    pub nodes: Vec<NodeStorage>,
    /// In-tree kinds that a driver serves on some node, with the driver.
    pub in_tree_drivers: Vec<(InTree, Sym)>,
    pub(in crate::snapshot) pvc_index: FxHashMap<(Sym, Sym), PvcIdx>,
}

impl Storage {
    /// The PVC of that namespace and name.
    pub fn pvc_named(&self, namespace: Sym, name: Sym) -> Option<PvcIdx> {
        self.pvc_index.get(&(namespace, name)).copied()
    }

    /// A PVC.
    pub fn pvc(&self, pvc: PvcIdx) -> &Pvc {
        &self.pvcs[pvc.at()]
    }

    /// A PV.
    pub fn pv(&self, pv: PvIdx) -> &Pv {
        &self.pvs[pv.at()]
    }

    /// A class.
    pub fn class(&self, class: StorageClassIdx) -> &StorageClass {
        &self.classes[class.at()]
    }

    /// The class of a PVC, if its object exists.
    pub fn class_of(&self, pvc: PvcIdx) -> Option<&StorageClass> {
        self.pvc(pvc).class.map(|class| self.class(class))
    }

    /// The storage side of a node.
    pub fn node(&self, node: NodeIdx) -> &NodeStorage {
        &self.nodes[node.at()]
    }

    /// True when a pod that uses this driver must not go to a node without it (`preventPodSchedulingIfMissing`).
    pub fn is_strict(&self, driver: Sym) -> bool {
        self.strict_drivers.binary_search(&driver).is_ok()
    }

    /// The CSI driver that serves an in-tree kind.
    pub fn driver_of(&self, kind: InTree) -> Option<Sym> {
        self.in_tree_drivers.iter().find(|(k, _)| *k == kind).map(|&(_, driver)| driver)
    }
}
