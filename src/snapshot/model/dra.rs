//! Devices, the pools they come in, classes and claims (dynamic resource allocation, `resource.k8s.io`).
//!
//! Everything is as the objects say; selectors are texts. What is in use by whom after some moves is a counter of
//! the filters, not part of the model.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::ids::{ClaimIdx, ClaimSpecIdx, DeviceIdx, NodeIdx, PodIdx, ResourceIdx, Sym};
use super::selector::NodeSelector;

/// Value of a device attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttributeValue {
    /// Integer.
    Int(i64),
    /// Boolean.
    Bool(bool),
    /// Text.
    Text(Sym),
    /// Semantic version, as written.
    Version(Sym),
    /// Integers.
    Ints(Box<[i64]>),
    /// Booleans.
    Bools(Box<[bool]>),
    /// Texts.
    Texts(Box<[Sym]>),
    /// Semantic versions, as written.
    Versions(Box<[Sym]>),
    /// No value that is known.
    Unknown,
}

/// A taint of a device. Effects other than `NoSchedule` and `NoExecute` are left out: they prevent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceTaint {
    /// Key.
    pub key: Sym,
    /// Value.
    pub value: Sym,
    /// Effect.
    pub effect: Sym,
}

/// What a slice says of a device. Slices of other generations may speak of the same device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Which device.
    pub id: DeviceIdx,
    /// Driver.
    pub driver: Sym,
    /// Attributes by name as written, sorted by text.
    pub attributes: Box<[(Sym, AttributeValue)]>,
    /// Capacities by name as written, sorted by text.
    pub capacity: Box<[(Sym, Sym)]>,
    /// Taints, those of `DeviceTaintRule`s included.
    pub taints: Vec<DeviceTaint>,
    /// Several claims may hold it at once (consumable capacity).
    pub multiple: bool,
    /// Draws on shared counters (partitionable devices).
    pub counters: bool,
    /// Is bound only after conditions are met.
    pub conditional: bool,
    /// Where it can be used, of the nodes that its slice reaches.
    pub reach: Reach,
}

/// Where a device or slice can be used.
#[derive(Clone, Debug, Default)]
pub enum Reach {
    /// Nowhere that is known.
    #[default]
    Nowhere,
    /// On the node of that name.
    Node(Sym),
    /// On all nodes.
    All,
    /// On the nodes of a selector.
    Selector(NodeSelector),
    /// On the nodes that each device names.
    PerDevice,
}

/// Devices of one pool that a node can reach, in the order in which the scheduler tries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Driver.
    pub driver: Sym,
    /// Name.
    pub name: Sym,
    /// Whether anything may be taken from it.
    pub state: PoolState,
    /// Positions in [`Dra::devices`].
    pub devices: Box<[u32]>,
}

/// Whether a pool can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// All slices of the newest generation are there.
    Complete,
    /// Some are missing: nothing is taken, and "all devices" is an error.
    Incomplete,
    /// A device name is there twice: likewise.
    Invalid,
}

/// A device class.
#[derive(Clone, Debug)]
pub struct DeviceClass {
    /// Name.
    pub name: Sym,
    /// CEL expressions; none = a selector of a kind that is not known.
    pub selectors: Box<[Option<Sym>]>,
}

/// How many devices a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Amount {
    /// So many.
    Count(i64),
    /// All that match, at least one.
    All,
    /// A mode that is not known.
    Unknown,
}

/// A toleration of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceToleration {
    /// Key; empty = every key.
    pub key: Sym,
    /// Value; none = any (`Exists`).
    pub value: Option<Sym>,
    /// Effect; empty = every effect.
    pub effect: Sym,
}

impl DeviceToleration {
    /// Whether it covers the taint.
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        (self.effect == Sym::EMPTY || self.effect == taint.effect)
            && (self.key == Sym::EMPTY || self.key == taint.key)
            && self.value.is_none_or(|value| value == taint.value)
    }
}

/// One way to meet a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alternative {
    /// Name of the sub-request; `EMPTY` for the only way of a plain request.
    pub name: Sym,
    /// Class; `EMPTY` if it names none.
    pub class: Sym,
    /// CEL expressions; none = a selector of a kind that is not known.
    pub selectors: Box<[Option<Sym>]>,
    /// How many.
    pub amount: Amount,
    /// Ignores what is in use and uses up nothing.
    pub admin: bool,
    /// Tolerations.
    pub tolerations: Box<[DeviceToleration]>,
    /// Asks for a part of a device's capacity.
    pub capacity: bool,
}

/// A request: its alternatives in order of preference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceRequest {
    /// Name.
    pub name: Sym,
    /// Ways to meet it; empty = a request of a kind that is not known.
    pub alternatives: Box<[Alternative]>,
}

/// What a constraint asks of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstraintKind {
    /// All devices have the same value.
    Match(Sym),
    /// No two have the same value.
    Distinct(Sym),
    /// The same as kube-scheduler had it up to 1.36: of each request only the latest device is compared with.
    DistinctFromLatest(Sym),
    /// A constraint that is not known.
    Unknown,
}

/// A constraint over the devices of some requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// `request` or (`request`, `sub-request`); empty = all requests.
    pub requests: Box<[(Sym, Sym)]>,
    /// What it asks.
    pub kind: ConstraintKind,
}

/// What a claim asks for. Claims of one template share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClaimSpec {
    /// Requests, all needed.
    pub requests: Box<[DeviceRequest]>,
    /// Constraints.
    pub constraints: Box<[Constraint]>,
}

/// An allocated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// Which.
    pub device: DeviceIdx,
    /// Counts as used. Admin access and shares of a device do not.
    pub uses: bool,
}

/// The allocation of a claim.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// Devices.
    pub devices: Box<[Allocated]>,
    /// Nodes where they can be used; none = all.
    pub nodes: Option<NodeSelector>,
    /// The scheduler waits for conditions before it binds.
    pub conditional: bool,
}

/// A claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Namespace.
    pub namespace: Sym,
    /// Name.
    pub name: Sym,
    /// Name and UID of the pod that it was made for.
    pub for_pod: Option<(Sym, Sym)>,
    /// Has a deletionTimestamp.
    pub deleting: bool,
    /// Made by the scheduler for the extended resources of [`Claim::for_pod`].
    pub extended: bool,
    /// What it asks for.
    pub spec: ClaimSpecIdx,
    /// Allocation, once there is one.
    pub allocation: Option<Allocation>,
    /// `status.reservedFor`: name and UID.
    pub consumers: Box<[(Sym, Sym)]>,
    /// Consumers that are pods of the snapshot standing on a node.
    pub pods: Vec<PodIdx>,
}

impl Claim {
    /// Whether it was made for the pod of that name and UID. Hand-written files have no UIDs: there names decide.
    pub fn is_for(&self, name: Sym, uid: Sym) -> bool {
        self.for_pod.is_some_and(|owner| same_object(owner, (name, uid)))
    }
}

/// Compares (name, UID) by UID where both have one, else by name.
pub fn same_object(a: (Sym, Sym), b: (Sym, Sym)) -> bool {
    if a.1 == Sym::EMPTY || b.1 == Sym::EMPTY { a.0 == b.0 } else { a.1 == b.1 }
}

/// A template for claims.
#[derive(Clone, Debug)]
pub struct ClaimTemplate {
    /// Namespace.
    pub namespace: Sym,
    /// Name.
    pub name: Sym,
    /// What its claims ask for.
    pub spec: ClaimSpecIdx,
}

/// Everything of `resource.k8s.io`.
#[derive(Clone, Debug, Default)]
pub struct Dra {
    /// Devices as the slices list them.
    pub devices: Vec<Device>,
    /// How many different devices there are; [`DeviceIdx`] counts up to it.
    pub device_count: usize,
    /// Classes by name.
    pub classes: Vec<DeviceClass>,
    /// Different claim specs.
    pub specs: Vec<ClaimSpec>,
    /// Claims by namespace and name.
    pub claims: Vec<Claim>,
    /// Templates by namespace and name.
    pub templates: Vec<ClaimTemplate>,
    /// Pools per node, in the order in which the scheduler tries them. Empty when there are no slices.
    pub pools: Vec<Vec<Pool>>,
    /// Extended resource → position in [`Dra::classes`], for the resources that pods or nodes name.
    pub extended: FxHashMap<ResourceIdx, u32>,
    /// (namespace, name) → claim.
    pub claim_index: FxHashMap<(Sym, Sym), ClaimIdx>,
    /// (namespace, name) → position in [`Dra::templates`].
    pub template_index: FxHashMap<(Sym, Sym), u32>,
    /// Class name → position in [`Dra::classes`].
    pub class_index: FxHashMap<Sym, u32>,
    /// Claims that a standing pod consumes.
    pub claims_of: FxHashMap<PodIdx, Vec<ClaimIdx>>,
    /// Something about device taint rules that is not modelled.
    pub unknown_taint_rule: Option<Sym>,
}

impl Dra {
    /// True when nothing of it can matter to any pod without claims.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.extended.is_empty()
    }

    /// A claim.
    pub fn claim(&self, claim: ClaimIdx) -> &Claim {
        &self.claims[claim.at()]
    }

    /// The claim of that namespace and name.
    pub fn claim_named(&self, namespace: Sym, name: Sym) -> Option<ClaimIdx> {
        self.claim_index.get(&(namespace, name)).copied()
    }

    /// The template of that namespace and name.
    pub fn template_named(&self, namespace: Sym, name: Sym) -> Option<&ClaimTemplate> {
        self.template_index.get(&(namespace, name)).map(|&at| &self.templates[at as usize])
    }

    /// The class of that name.
    pub fn class_named(&self, name: Sym) -> Option<&DeviceClass> {
        self.class_index.get(&name).map(|&at| &self.classes[at as usize])
    }

    /// The class that serves an extended resource where no device plugin does (rulebook 1.1 step 5).
    pub fn class_serving(&self, resource: ResourceIdx) -> Option<&DeviceClass> {
        self.extended.get(&resource).map(|&at| &self.classes[at as usize])
    }

    /// Pools that a node can reach.
    pub fn pools_of(&self, node: NodeIdx) -> &[Pool] {
        self.pools.get(node.at()).map_or(&[], Vec::as_slice)
    }
}
