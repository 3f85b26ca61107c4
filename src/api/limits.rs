//! Sizes that a run's spec may have. Kubernetes has them for names; the others keep a spec well under what an API
//! server stores, and the server's checks of it affordable.
//!
//! May import: (nothing of this crate)

/// Names of a list: the limit of the contract.
pub const MAX_NAMES: usize = 1024;
/// Letters of a name of Kubernetes (a DNS subdomain).
pub const MAX_NAME: usize = 253;
/// Letters of a qualified name: a prefix, a slash and 63 letters. `namespace/name` is as long.
pub const MAX_QUALIFIED: usize = MAX_NAME + 1 + MAX_LABEL;
/// Letters of the name of a label and of its value.
pub const MAX_LABEL: usize = 63;
/// Resources of a budget; a cluster has a handful.
pub const MAX_RESOURCES: usize = 64;
/// Labels that a selector asks for.
pub const MAX_LABELS: usize = 64;
/// Requirements of a selector.
pub const MAX_EXPRESSIONS: usize = 64;
/// Values of one requirement.
pub const MAX_VALUES: usize = 256;
/// Letters of `managedBy`: as many as a Job's has.
pub const MAX_TEXT: usize = 63;
/// Letters of a plan's id; a hash has far fewer.
pub const MAX_PLAN_ID: usize = 128;
