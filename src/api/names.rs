//! Names that this product writes on, or reads from, objects of other owners.
//!
//! May import: (nothing of this crate)

/// This product, where objects name their manager: the value of [`MANAGED_BY_LABEL`] and of a run's `managedBy`.
pub const MANAGER: &str = "kubectl-repack";
/// Label of what is installed; on the CRD it says whose controller answers runs.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Scheduling gate that holds a replacement pod until its node is chosen.
pub const PLACEMENT_GATE: &str = "repack.volcano.sh/placement";
/// PodGroup annotation that says which run works on the group; its value is `RUN/UID`.
pub const PLACEMENT_LEASE_ANNOTATION: &str = "repack.volcano.sh/placement-lease";
/// Pod annotation that says which run put the gate there.
pub const GATE_OWNER_ANNOTATION: &str = "repack.volcano.sh/placement-gate-owner";
/// Run label that stands while the run has gates or leases out.
pub const PLACEMENT_ACTIVE_LABEL: &str = "repack.volcano.sh/placement-active";
/// Run annotation that asks a running run to stop (value `true`).
pub const CANCEL_ANNOTATION: &str = "repack.volcano.sh/cancel";
/// Finalizer of runs that may have leases and gates out.
pub const FINALIZER: &str = "repack.volcano.sh/execution";
/// Annotation of the controller's Lease: when the last run that evicted something ended (RFC 3339).
pub const LAST_EXECUTION_ANNOTATION: &str = "repack.volcano.sh/last-execution";
/// Annotations of a run: the user who created it, as the API server named them, and their groups, one a line.
pub const CREATOR_ANNOTATION: &str = "repack.volcano.sh/creator";
/// See [`CREATOR_ANNOTATION`].
pub const CREATOR_GROUPS_ANNOTATION: &str = "repack.volcano.sh/creator-groups";
/// Annotations of the controller's Lease, one per replica: the certificate of its webhooks.
pub const TRUST_ANNOTATION_PREFIX: &str = "ca.repack.volcano.sh/";
/// Name of the webhook configuration.
pub const WEBHOOKS: &str = "kubectl-repack";
/// Name of the leader lease.
pub const CONTROLLER_LEASE: &str = "kubectl-repack-controller";
/// Annotation of the leader lease: the holder's version.
pub const VERSION_ANNOTATION: &str = "repack.volcano.sh/version";

/// Deployment of Volcano's own repack engine, which answers the same runs; its pods are named after it.
pub const VOLCANO_ENGINE: &str = "volcano-repack-engine";

/// Label or annotation that always keeps a pod where it is (value `true`), on pod, PodGroup, owner or namespace.
pub const PROTECTED: &str = "repack.volcano.sh/protected";
/// cluster-autoscaler's pod annotation; the value `false` means "do not evict".
pub const AUTOSCALER_SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Karpenter's pod annotation (value `true`).
pub const KARPENTER_DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Karpenter's older spelling of the same annotation (value `true`).
pub const KARPENTER_DO_NOT_EVICT: &str = "karpenter.sh/do-not-evict";

/// The opt-outs that always win: key and the value that switches them on.
pub const OPT_OUTS: [(&str, &str); 4] = [
    (PROTECTED, "true"),
    (AUTOSCALER_SAFE_TO_EVICT, "false"),
    (KARPENTER_DO_NOT_DISRUPT, "true"),
    (KARPENTER_DO_NOT_EVICT, "true"),
];

/// Prefix of the PodGroup name that stands for a workload without one: `podgroup-` and the owner's UID.
pub const VIRTUAL_GROUP_PREFIX: &str = "podgroup-";
