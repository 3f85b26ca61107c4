//! Label and annotation keys of other systems that planning reads, and the allow-list of annotations.
//!
//! May import: snapshot

use super::model::{Labels, Pod, Sym, Symbols};

/// Group of a pod, key that Volcano's scheduler cache reads.
pub const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
/// Group of a pod, the newer key.
pub const GROUP_NAME_VOLCANO: &str = "scheduling.volcano.sh/group-name";
/// Static (mirror) pods carry it.
pub const MIRROR: &str = "kubernetes.io/config.mirror";
/// Our opt-out, as a label or an annotation.
pub const PROTECTED: &str = "repack.volcano.sh/protected";
/// Cluster autoscaler's opt-out: `"false"` forbids eviction.
pub const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Karpenter's opt-outs.
pub const KARPENTER_OPT_OUT: [&str; 2] = ["karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict"];

/// Taints that say a node is about to be removed: cluster-autoscaler's, Karpenter's since v1, and Karpenter's of v1beta1.
pub const REMOVAL_TAINTS: [&str; 3] =
    ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"];
/// cluster-autoscaler's softer taint: it may remove the node if that does not fill up again. A reason not to fill it
/// (rulebook 1.4), none against emptying it.
pub const REMOVAL_CANDIDATE_TAINT: &str = "DeletionCandidateOfClusterAutoscaler";
/// Claims that the scheduler makes for extended resources carry it as `"true"`.
pub const EXTENDED_CLAIM: &str = "resource.kubernetes.io/extended-resource-claim";
/// On a claim: the PV controller has finished binding.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On a claim: the node that a scheduler selected for provisioning.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On claims and volumes: the class, from before it was a field; it counts more than the field.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// On a CSINode: in-tree plugins whose volumes a CSI driver serves there, separated by commas.
pub const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";
/// Zone and region labels: those of today and, in the same order, those from before.
pub const TOPOLOGY_KEYS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
/// The old names of [`TOPOLOGY_KEYS`].
pub const BETA_TOPOLOGY_KEYS: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"];

/// The vertical pod autoscaler changed the pod at admission.
pub const VPA_UPDATES: &str = "vpaUpdates";
/// Task of a pod of a Volcano Job, as a label or an annotation.
pub const TASK_SPEC: &str = "volcano.sh/task-spec";

/// Prefixes of annotation keys that are kept: each is read by a planning rule.
const KEPT_PREFIXES: &[&str] = &[
    "scheduling.k8s.io/",
    "scheduling.volcano.sh/",
    "volcano.sh/",
    "repack.volcano.sh/",
    "cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",
    "kubernetes.io/config.mirror",
    "pv.kubernetes.io/",
    "storage.alpha.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "batch.kubernetes.io/",
    "apps.kubernetes.io/",
    "leaderworkerset.sigs.k8s.io/",
    "jobset.sigs.k8s.io/",
    "resource.kubernetes.io/",
    "hami.io/",
    "nvidia.com/",
    "ray.io/",
    VPA_UPDATES,
];

/// True for annotations that some rule reads. Everything else never enters the model or a snapshot file.
pub fn keeps_annotation(key: &str) -> bool {
    KEPT_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// The task of a pod of a Volcano Job: its label, else its annotation, else what stands between the job's name and the
/// index in its own name (`JOB-TASK-INDEX`).
pub fn task_of(symbols: &Symbols, labels: &Labels, pod: &Pod, job: Sym) -> Option<Sym> {
    let marked = symbols
        .find(TASK_SPEC)
        .and_then(|key| labels.get(key).or_else(|| pod.details().annotations.get(key)));
    marked.or_else(|| {
        let rest = symbols.text(pod.name).strip_prefix(symbols.text(job))?.strip_prefix('-')?;
        symbols.find(rest.rsplit_once('-')?.0)
    })
}

/// The index of a pod of a Volcano Job within its task, by its name (`JOB-TASK-INDEX`).
pub fn index_of(name: &str) -> Option<i64> {
    name.rsplit_once('-')?.1.parse().ok()
}
