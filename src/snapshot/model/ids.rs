//! Indices into the model. Each is a newtype, so that a node index can not be used for a pod.
//!
//! Indices follow names (nodes by name, pods and groups by namespace and name, classes by their first pod), so an
//! order by index is an order by name and equal clusters get equal indices whatever the order of the input.
//!
//! May import: (nothing of this crate)

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index of the element at `position`.
            ///
            /// # Panics
            /// Beyond 2^32 elements, which no cluster has.
            pub fn new(position: usize) -> Self {
                Self(u32::try_from(position).expect("fewer than 2^32 elements"))
            }

            /// The position in its vector.
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

index! {
    /// A node.
    NodeIdx,
    /// A class of nodes that no selector, toleration or declared feature can tell apart.
    NodeClassIdx,
    /// A live pod.
    PodIdx,
    /// A class of pods with equal scheduling-relevant spec.
    SpecIdx,
    /// A class of pod specs with equal rules on single nodes (selectors, tolerations, node name, features).
    NodeRulesIdx,
    /// A resource name. The first four are fixed: cpu, memory, ephemeral-storage, pods.
    ResourceIdx,
    /// A vector of requested amounts.
    RequestsIdx,
    /// A namespace.
    NamespaceIdx,
    /// A `PodGroup`, real or virtual.
    GroupIdx,
    /// A controlling owner.
    OwnerIdx,
    /// A controller whose object was read.
    WorkloadIdx,
    /// A `PodDisruptionBudget`.
    BudgetIdx,
    /// A device, identified by driver, pool and name.
    DeviceIdx,
    /// A `ResourceClaim`.
    ClaimIdx,
    /// What a claim asks for.
    ClaimSpecIdx,
    /// A `PersistentVolumeClaim`.
    PvcIdx,
    /// A `PersistentVolume`.
    PvIdx,
    /// A `StorageClass`.
    StorageClassIdx,
    /// An interned string. Its number says nothing about order: compare texts.
    Sym,
}

impl ResourceIdx {
    /// cpu, in milli.
    pub const CPU: Self = Self(0);
    /// memory, in bytes.
    pub const MEMORY: Self = Self(1);
    /// ephemeral-storage, in bytes.
    pub const EPHEMERAL: Self = Self(2);
    /// pods, in pods.
    pub const PODS: Self = Self(3);
}

impl Sym {
    /// The empty string.
    pub const EMPTY: Self = Self(0);
}

impl Default for Sym {
    fn default() -> Self {
        Self::EMPTY
    }
}
