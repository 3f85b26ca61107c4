//! Views of `ResourceSlice`, `DeviceClass`, `ResourceClaim`, `ResourceClaimTemplate` and `DeviceTaintRule`.
//!
//! Versions v1, v1beta2 and v1beta1 of `resource.k8s.io` are read: v1beta1 puts the fields of a request beside its name
//! and those of a device under `basic`.
//!
//! May import: snapshot

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::basic::{List, MetaView, NodeSelectorView, Text};
use super::cluster::TaintView;
use super::pod::TolerationView;

/// A `ResourceSlice`: devices that a driver offers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SliceView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: SliceSpecView<'a>,
}

/// `spec` of a `ResourceSlice`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SliceSpecView<'a> {
    /// Driver.
    #[serde(borrow)]
    pub driver: Text<'a>,
    /// Pool that the slice is part of.
    #[serde(borrow)]
    pub pool: PoolView<'a>,
    /// Its devices can be used on one node,
    #[serde(borrow)]
    pub node_name: Option<Text<'a>>,
    /// on the nodes of a selector,
    #[serde(borrow)]
    pub node_selector: Option<NodeSelectorView<'a>>,
    /// on all nodes,
    pub all_nodes: Option<bool>,
    /// or every device says itself where it can be used.
    pub per_device_node_selection: Option<bool>,
    /// Devices.
    #[serde(borrow)]
    pub devices: List<DeviceView<'a>>,
}

/// `spec.pool` of a `ResourceSlice`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolView<'a> {
    /// Name, unique per driver.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Generation; older slices of the pool are out of date.
    pub generation: i64,
    /// Slices of this generation.
    pub resource_slice_count: i64,
}

/// A device. In v1beta1 everything but the name stands under `basic`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceView<'a> {
    /// Name, unique in the pool.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// The properties in v1beta1.
    #[serde(borrow)]
    pub basic: Option<Box<DeviceView<'a>>>,
    /// Attributes by `domain/name`, or `name` in the driver's domain.
    #[serde(borrow)]
    pub attributes: Option<BTreeMap<Text<'a>, AttributeView<'a>>>,
    /// Capacities, named likewise.
    #[serde(borrow)]
    pub capacity: Option<BTreeMap<Text<'a>, CapacityView<'a>>>,
    /// Taints.
    #[serde(borrow)]
    pub taints: List<TaintView<'a>>,
    /// Where the slice leaves it to its devices: it can be used on one node,
    #[serde(borrow)]
    pub node_name: Option<Text<'a>>,
    /// on the nodes of a selector,
    #[serde(borrow)]
    pub node_selector: Option<NodeSelectorView<'a>>,
    /// or on all nodes.
    pub all_nodes: Option<bool>,
    /// Shared counters it draws on (partitionable devices).
    #[serde(borrow)]
    pub consumes_counters: List<CounterUseView<'a>>,
    /// Several claims may hold it (consumable capacity).
    pub allow_multiple_allocations: Option<bool>,
    /// Conditions to wait for before binding.
    #[serde(borrow)]
    pub binding_conditions: List<Text<'a>>,
    /// Allocating it pins the claim to the node.
    pub binds_to_node: Option<bool>,
}

/// Use of a set of shared counters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CounterUseView<'a> {
    /// Name of the set.
    #[serde(borrow)]
    pub counter_set: Text<'a>,
}

/// An attribute; exactly one field is set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AttributeView<'a> {
    /// Integer.
    pub int: Option<i64>,
    /// Boolean.
    pub bool: Option<bool>,
    /// Text.
    #[serde(borrow)]
    pub string: Option<Text<'a>>,
    /// Semantic version.
    #[serde(borrow)]
    pub version: Option<Text<'a>>,
    /// Integers.
    pub ints: Option<Vec<i64>>,
    /// Booleans.
    pub bools: Option<Vec<bool>>,
    /// Texts.
    #[serde(borrow)]
    pub strings: Option<Vec<Text<'a>>>,
    /// Semantic versions.
    #[serde(borrow)]
    pub versions: Option<Vec<Text<'a>>>,
}

/// A capacity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CapacityView<'a> {
    /// Amount.
    #[serde(borrow)]
    pub value: Text<'a>,
}

/// A `DeviceClass`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceClassView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: DeviceClassSpecView<'a>,
}

/// `spec` of a `DeviceClass`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassSpecView<'a> {
    /// Which devices belong to the class.
    #[serde(borrow)]
    pub selectors: List<DeviceSelectorView<'a>>,
    /// Extended resource that the class serves.
    #[serde(borrow)]
    pub extended_resource_name: Option<Text<'a>>,
}

/// One selector of a class or request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceSelectorView<'a> {
    /// A CEL selector; there is no other kind yet.
    #[serde(borrow)]
    pub cel: Option<CelView<'a>>,
}

/// A CEL selector.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CelView<'a> {
    /// The expression.
    #[serde(borrow)]
    pub expression: Text<'a>,
}

/// A `ResourceClaim`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: ClaimSpecView<'a>,
    /// Status.
    #[serde(borrow)]
    pub status: ClaimStateView<'a>,
}

/// A `ResourceClaimTemplate`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimTemplateView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: ClaimTemplateSpecView<'a>,
}

/// `spec` of a `ResourceClaimTemplate`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimTemplateSpecView<'a> {
    /// Spec of the claims made from it.
    #[serde(borrow)]
    pub spec: ClaimSpecView<'a>,
}

/// `spec` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimSpecView<'a> {
    /// What is asked for.
    #[serde(borrow)]
    pub devices: ClaimDevicesView<'a>,
}

/// `spec.devices` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimDevicesView<'a> {
    /// Requests, all needed.
    #[serde(borrow)]
    pub requests: List<RequestView<'a>>,
    /// Constraints across requests.
    #[serde(borrow)]
    pub constraints: List<ConstraintView<'a>>,
}

/// One request of a claim, one of its alternatives, or what stands under `exactly`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestView<'a> {
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What is asked for; in v1beta1 it stands beside the name.
    #[serde(borrow)]
    pub exactly: Option<Box<RequestView<'a>>>,
    /// Alternatives, the first that can be met.
    #[serde(borrow)]
    pub first_available: List<RequestView<'a>>,
    /// Class of the devices.
    #[serde(borrow)]
    pub device_class_name: Text<'a>,
    /// Further selectors.
    #[serde(borrow)]
    pub selectors: List<DeviceSelectorView<'a>>,
    /// `ExactCount` (default) or `All`.
    #[serde(borrow)]
    pub allocation_mode: Text<'a>,
    /// Devices in mode `ExactCount`, default 1.
    pub count: Option<i64>,
    /// Ignores what is in use.
    pub admin_access: Option<bool>,
    /// Tolerated device taints.
    #[serde(borrow)]
    pub tolerations: List<TolerationView<'a>>,
    /// Wanted capacity (consumable capacity).
    pub capacity: Option<IgnoredAny>,
}

/// A constraint on the devices of several requests.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConstraintView<'a> {
    /// Requests it holds for; empty is all.
    #[serde(borrow)]
    pub requests: List<Text<'a>>,
    /// Attribute that has to be equal.
    #[serde(borrow)]
    pub match_attribute: Option<Text<'a>>,
    /// Attribute that has to differ.
    #[serde(borrow)]
    pub distinct_attribute: Option<Text<'a>>,
}

/// `status` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStateView<'a> {
    /// Allocation, once there is one.
    #[serde(borrow)]
    pub allocation: Option<AllocationView<'a>>,
    /// Consumers.
    #[serde(borrow)]
    pub reserved_for: List<ConsumerView<'a>>,
}

/// `status.allocation` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocationView<'a> {
    /// Devices.
    #[serde(borrow)]
    pub devices: AllocatedDevicesView<'a>,
    /// Nodes where the devices can be used; absent is every node.
    #[serde(borrow)]
    pub node_selector: Option<NodeSelectorView<'a>>,
}

/// `status.allocation.devices` of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AllocatedDevicesView<'a> {
    /// One entry per device.
    #[serde(borrow)]
    pub results: List<AllocatedDeviceView<'a>>,
}

/// One allocated device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocatedDeviceView<'a> {
    /// Driver.
    #[serde(borrow)]
    pub driver: Text<'a>,
    /// Pool.
    #[serde(borrow)]
    pub pool: Text<'a>,
    /// Device.
    #[serde(borrow)]
    pub device: Text<'a>,
    /// Does not count as used.
    pub admin_access: Option<bool>,
    /// Set where only a share is held (consumable capacity).
    #[serde(rename = "shareID", borrow)]
    pub share_id: Option<Text<'a>>,
    /// Conditions to wait for before binding.
    #[serde(borrow)]
    pub binding_conditions: List<Text<'a>>,
}

/// One entry of `status.reservedFor`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConsumerView<'a> {
    /// `pods` for pods.
    #[serde(borrow)]
    pub resource: Text<'a>,
    /// Name in the claim's namespace.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// UID.
    #[serde(borrow)]
    pub uid: Text<'a>,
}

/// A `DeviceTaintRule`: a taint that an administrator puts on devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceTaintRuleView<'a> {
    /// Metadata.
    #[serde(borrow)]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow)]
    pub spec: DeviceTaintRuleSpecView<'a>,
}

/// `spec` of a `DeviceTaintRule`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintRuleSpecView<'a> {
    /// Which devices; what is absent is not compared.
    #[serde(borrow)]
    pub device_selector: Option<DeviceTaintSelectorView<'a>>,
    /// The taint.
    #[serde(borrow)]
    pub taint: TaintView<'a>,
}

/// `spec.deviceSelector` of a `DeviceTaintRule`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceTaintSelectorView<'a> {
    /// Driver.
    #[serde(borrow)]
    pub driver: Option<Text<'a>>,
    /// Pool.
    #[serde(borrow)]
    pub pool: Option<Text<'a>>,
    /// Device.
    #[serde(borrow)]
    pub device: Option<Text<'a>>,
    /// Older, alpha ways of selecting.
    pub device_class_name: Option<IgnoredAny>,
    /// Likewise.
    pub selectors: Option<IgnoredAny>,
}
