//! Views of the storage kinds: claims, volumes, classes, CSI nodes, drivers, capacities and attachments.
//!
//! May import: snapshot

use serde::Deserialize;

use super::basic::{LabelSelectorView, List, MetaView, NodeSelectorView, Pairs, Text, or_default};
use super::cluster::PhaseView;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PvcView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: PvcSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: PhaseView<'a>,
}

/// `spec` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PvcSpecView<'a> {
    /// How the volume may be mounted.
    #[serde(borrow)]
    pub access_modes: List<Text<'a>>,
    /// Amount of storage.
    #[serde(borrow, deserialize_with = "or_default")]
    pub resources: StorageRequestView<'a>,
    /// Class.
    #[serde(borrow)]
    pub storage_class_name: Text<'a>,
    /// `Filesystem` (default) or `Block`.
    #[serde(borrow)]
    pub volume_mode: Text<'a>,
    /// Volume that it is bound to, or shall be.
    #[serde(borrow)]
    pub volume_name: Text<'a>,
    /// Which volumes are good.
    #[serde(borrow)]
    pub selector: Option<LabelSelectorView<'a>>,
    /// Class of mutable attributes.
    #[serde(borrow)]
    pub volume_attributes_class_name: Text<'a>,
}

/// `spec.resources` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StorageRequestView<'a> {
    /// Amounts; only `storage` counts.
    #[serde(borrow)]
    pub requests: Pairs<'a>,
}

/// A PersistentVolume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PvView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: PvSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: PhaseView<'a>,
}

/// `spec` of a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PvSpecView<'a> {
    /// How it may be mounted.
    #[serde(borrow)]
    pub access_modes: List<Text<'a>>,
    /// Size; only `storage` counts.
    #[serde(borrow)]
    pub capacity: Pairs<'a>,
    /// Claim that it is bound to, or reserved for.
    #[serde(borrow)]
    pub claim_ref: Option<ClaimRefView<'a>>,
    /// Class.
    #[serde(borrow)]
    pub storage_class_name: Text<'a>,
    /// `Filesystem` (default) or `Block`.
    #[serde(borrow)]
    pub volume_mode: Text<'a>,
    /// Class of mutable attributes.
    #[serde(borrow)]
    pub volume_attributes_class_name: Text<'a>,
    /// Nodes that can reach it.
    #[serde(borrow)]
    pub node_affinity: Option<PvAffinityView<'a>>,
    /// CSI volume.
    #[serde(borrow)]
    pub csi: Option<PvSourceView<'a>>,
    /// In-tree GCE disk.
    #[serde(borrow)]
    pub gce_persistent_disk: Option<PvSourceView<'a>>,
    /// In-tree AWS disk.
    #[serde(borrow)]
    pub aws_elastic_block_store: Option<PvSourceView<'a>>,
    /// In-tree OpenStack disk.
    #[serde(borrow)]
    pub cinder: Option<PvSourceView<'a>>,
    /// In-tree Azure disk.
    #[serde(borrow)]
    pub azure_disk: Option<PvSourceView<'a>>,
    /// In-tree Azure share.
    #[serde(borrow)]
    pub azure_file: Option<PvSourceView<'a>>,
    /// In-tree vSphere disk.
    #[serde(borrow)]
    pub vsphere_volume: Option<PvSourceView<'a>>,
    /// In-tree Portworx volume.
    #[serde(borrow)]
    pub portworx_volume: Option<PvSourceView<'a>>,
}

/// `spec.claimRef` of a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimRefView<'a> {
    /// Namespace.
    #[serde(borrow)]
    pub namespace: Text<'a>,
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// UID; empty when a person reserved the volume by name.
    #[serde(borrow)]
    pub uid: Text<'a>,
}

/// `spec.nodeAffinity` of a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PvAffinityView<'a> {
    /// The rule.
    #[serde(borrow)]
    pub required: Option<NodeSelectorView<'a>>,
}

/// The source of a volume: whichever identifier its kind has.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PvSourceView<'a> {
    /// CSI driver.
    #[serde(borrow)]
    pub driver: Text<'a>,
    /// CSI handle.
    #[serde(borrow)]
    pub volume_handle: Text<'a>,
    /// GCE name.
    #[serde(borrow)]
    pub pd_name: Text<'a>,
    /// AWS, OpenStack and Portworx id.
    #[serde(rename = "volumeID", borrow)]
    pub volume_id: Text<'a>,
    /// Azure disk URI.
    #[serde(rename = "diskURI", borrow)]
    pub disk_uri: Text<'a>,
    /// Azure share.
    #[serde(borrow)]
    pub share_name: Text<'a>,
    /// vSphere path.
    #[serde(borrow)]
    pub volume_path: Text<'a>,
}

/// A StorageClass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClassView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Who makes volumes.
    #[serde(borrow)]
    pub provisioner: Text<'a>,
    /// `Immediate` (default) or `WaitForFirstConsumer`.
    #[serde(borrow)]
    pub volume_binding_mode: Text<'a>,
    /// Where volumes can be made; empty = everywhere.
    #[serde(borrow)]
    pub allowed_topologies: List<TopologyTermView<'a>>,
    /// Parameters of the provisioner; only `csi.storage.k8s.io/csi-driver-name` is read.
    #[serde(borrow, deserialize_with = "or_default")]
    pub parameters: ClassParametersView<'a>,
}

/// The one parameter of a class that a rule reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClassParametersView<'a> {
    /// Driver behind the class, where it differs from the provisioner.
    #[serde(rename = "csi.storage.k8s.io/csi-driver-name", borrow)]
    pub driver: Text<'a>,
}

/// One alternative of `allowedTopologies`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyTermView<'a> {
    /// Requirements, all needed.
    #[serde(borrow)]
    pub match_label_expressions: List<TopologyRequirementView<'a>>,
}

/// One requirement of a topology term.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TopologyRequirementView<'a> {
    /// Label key.
    #[serde(borrow)]
    pub key: Text<'a>,
    /// Allowed values.
    #[serde(borrow)]
    pub values: List<Text<'a>>,
}

/// A CSINode: the CSI side of a node of the same name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CsiNodeView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: CsiNodeSpecView<'a>,
}

/// `spec` of a CSINode.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CsiNodeSpecView<'a> {
    /// Drivers that run on the node.
    #[serde(borrow)]
    pub drivers: List<NodeDriverView<'a>>,
}

/// A driver on a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeDriverView<'a> {
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Limits.
    pub allocatable: Option<DriverLimitView>,
}

/// Limits of a driver on a node.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DriverLimitView {
    /// Volumes that can be attached; absent = unlimited.
    pub count: Option<i64>,
}

/// A CSIDriver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CsiDriverView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(deserialize_with = "or_default")]
    pub spec: CsiDriverSpecView,
}

/// `spec` of a CSIDriver.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriverSpecView {
    /// Publishes how much it can make where.
    pub storage_capacity: Option<bool>,
    /// Nodes without the driver are refused.
    pub prevent_pod_scheduling_if_missing: Option<bool>,
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageCapacityView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Class that it speaks of.
    #[serde(borrow)]
    pub storage_class_name: Text<'a>,
    /// Nodes that it speaks of; absent = none.
    #[serde(borrow)]
    pub node_topology: Option<LabelSelectorView<'a>>,
    /// Free storage.
    #[serde(borrow)]
    pub capacity: Option<Text<'a>>,
    /// Largest volume that can be made.
    #[serde(borrow)]
    pub maximum_volume_size: Option<Text<'a>>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AttachmentView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: AttachmentSpecView<'a>,
}

/// `spec` of a VolumeAttachment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachmentSpecView<'a> {
    /// Driver.
    #[serde(borrow)]
    pub attacher: Text<'a>,
    /// Node.
    #[serde(borrow)]
    pub node_name: Text<'a>,
    /// What is attached.
    #[serde(borrow, deserialize_with = "or_default")]
    pub source: AttachmentSourceView<'a>,
}

/// `spec.source` of a VolumeAttachment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachmentSourceView<'a> {
    /// Volume by name; empty for inline volumes.
    #[serde(borrow)]
    pub persistent_volume_name: Text<'a>,
}
