//! Indices into the model. Each is a newtype, so that a node index can not be used for a pod.
//!
//! Indices follow names (nodes by name, groups by namespace and name, pods by node, namespace and name, classes by their
//! first pod), so an order by index is an order by name and equal clusters get equal indices whatever the order of the
//! input.
//!
//! An index is stored one higher than its position, so that an `Option` of it is no larger: pods are many, and how much
//! of them fits into the caches decides how fast everything is.
//!
//! May import: (nothing of this crate)

use std::num::NonZeroU32;

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The index that no element has, for places that are filled in later.
            pub const UNSET: Self = Self(NonZeroU32::MAX);

            /// The index of the element at `position`.
            ///
            /// # Panics
            /// Beyond 2^32 − 2 elements, which no cluster has.
            pub const fn new(position: usize) -> Self {
                assert!(position < u32::MAX as usize - 1, "fewer than 2^32 - 2 elements");
                #[expect(clippy::cast_possible_truncation, reason = "just compared")]
                match NonZeroU32::new(position as u32 + 1) {
                    Some(number) => Self(number),
                    None => Self::UNSET,
                }
            }

            /// The position as a number of 32 bits, for tables of many.
            pub const fn number(self) -> u32 {
                self.0.get() - 1
            }

            /// The position in its vector.
            pub const fn at(self) -> usize {
                self.0.get() as usize - 1
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
    pub const CPU: Self = Self::new(0);
    /// memory, in bytes.
    pub const MEMORY: Self = Self::new(1);
    /// ephemeral-storage, in bytes.
    pub const EPHEMERAL: Self = Self::new(2);
    /// pods, in pods.
    pub const PODS: Self = Self::new(3);
}

impl Sym {
    /// The empty string.
    pub const EMPTY: Self = Self::new(0);
}

impl Default for Sym {
    fn default() -> Self {
        Self::EMPTY
    }
}
