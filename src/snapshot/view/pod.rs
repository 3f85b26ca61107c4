//! View of a Pod and of a pod template.
//!
//! May import: snapshot

use serde::Deserialize;

use super::basic::{LabelSelectorView, List, MetaView, NodeSelectorView, Pairs, Text, or_default};

/// A Pod as the API serves it, or the `template` of a workload (then without status).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodView<'a> {
    /// Metadata.
    #[serde(borrow, deserialize_with = "or_default")]
    pub metadata: MetaView<'a>,
    /// Spec.
    #[serde(borrow, deserialize_with = "or_default")]
    pub spec: PodSpecView<'a>,
    /// Status.
    #[serde(borrow, deserialize_with = "or_default")]
    pub status: PodStatusView<'a>,
}

/// `spec` of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpecView<'a> {
    /// Node the pod is bound to, or names by itself.
    #[serde(borrow)]
    pub node_name: Text<'a>,
    /// Scheduler; empty is the default scheduler.
    #[serde(borrow)]
    pub scheduler_name: Text<'a>,
    /// Priority after admission.
    pub priority: Option<i32>,
    /// Labels the node must have.
    #[serde(borrow)]
    pub node_selector: Pairs<'a>,
    /// Affinities.
    #[serde(borrow)]
    pub affinity: Option<Box<AffinityView<'a>>>,
    /// Tolerations.
    #[serde(borrow)]
    pub tolerations: List<TolerationView<'a>>,
    /// Containers.
    #[serde(borrow)]
    pub containers: List<ContainerView<'a>>,
    /// Init containers, sidecars among them.
    #[serde(borrow)]
    pub init_containers: List<ContainerView<'a>>,
    /// Overhead of the runtime class.
    #[serde(borrow)]
    pub overhead: Pairs<'a>,
    /// Pod-level resources.
    #[serde(borrow)]
    pub resources: Option<ResourcesView<'a>>,
    /// Spread constraints.
    #[serde(borrow)]
    pub topology_spread_constraints: List<SpreadView<'a>>,
    /// Volumes.
    #[serde(borrow)]
    pub volumes: List<VolumeView<'a>>,
    /// Claims of devices.
    #[serde(borrow)]
    pub resource_claims: List<PodClaimView<'a>>,
    /// Scheduling gates.
    #[serde(borrow)]
    pub scheduling_gates: List<NamedView<'a>>,
    /// Host network.
    pub host_network: Option<bool>,
    /// Host user namespace; absent is true.
    pub host_users: Option<bool>,
    /// Restart policy of the pod.
    #[serde(borrow)]
    pub restart_policy: Text<'a>,
    /// Seconds that the pod has to end; an execution waits for it.
    pub termination_grace_period_seconds: Option<i64>,
    /// Native gang scheduling reference (scheduling.k8s.io); its content is not needed, only its presence.
    pub scheduling_group: Option<serde::de::IgnoredAny>,
    /// Older form of the same reference.
    pub workload_ref: Option<serde::de::IgnoredAny>,
}

/// Something with only a name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NamedView<'a> {
    /// The name.
    #[serde(borrow)]
    pub name: Text<'a>,
}

/// `resources` of a container or pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResourcesView<'a> {
    /// Requests.
    #[serde(borrow)]
    pub requests: Pairs<'a>,
    /// Limits.
    #[serde(borrow)]
    pub limits: Pairs<'a>,
    /// Device claims the container uses.
    #[serde(borrow)]
    pub claims: List<ContainerClaimView<'a>>,
}

/// `resources.claims[]` of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerClaimView<'a> {
    /// Name of the pod's claim entry.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// One request of the claim; empty = all.
    #[serde(borrow)]
    pub request: Text<'a>,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerView<'a> {
    /// Name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Resources.
    #[serde(borrow, deserialize_with = "or_default")]
    pub resources: ResourcesView<'a>,
    /// Ports.
    #[serde(borrow)]
    pub ports: List<PortView<'a>>,
    /// `Always` makes an init container a sidecar.
    #[serde(borrow)]
    pub restart_policy: Text<'a>,
    /// Rules that restart on exit codes.
    #[serde(borrow)]
    pub restart_policy_rules: List<RestartRuleView<'a>>,
}

/// One container restart rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RestartRuleView<'a> {
    /// What the rule does, e.g. `RestartAllContainers`.
    #[serde(borrow)]
    pub action: Text<'a>,
}

/// A container port.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PortView<'a> {
    /// Port on the host, 0 = none.
    pub host_port: Option<i32>,
    /// Port in the container.
    pub container_port: Option<i32>,
    /// Address on the host.
    #[serde(rename = "hostIP", borrow)]
    pub host_ip: Text<'a>,
    /// Protocol; empty is TCP.
    #[serde(borrow)]
    pub protocol: Text<'a>,
}

/// A toleration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TolerationView<'a> {
    /// Taint key; empty = all.
    #[serde(borrow)]
    pub key: Text<'a>,
    /// `Equal` (or empty), `Exists`, `Lt`, `Gt`.
    #[serde(borrow)]
    pub operator: Text<'a>,
    /// Taint value.
    #[serde(borrow)]
    pub value: Text<'a>,
    /// Effect; empty = all.
    #[serde(borrow)]
    pub effect: Text<'a>,
    /// How long a `NoExecute` taint is tolerated.
    pub toleration_seconds: Option<i64>,
}

/// `spec.affinity`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AffinityView<'a> {
    /// Towards nodes.
    #[serde(borrow)]
    pub node_affinity: Option<NodeAffinityView<'a>>,
    /// Towards pods.
    #[serde(borrow)]
    pub pod_affinity: Option<PodAffinityView<'a>>,
    /// Away from pods.
    #[serde(borrow)]
    pub pod_anti_affinity: Option<PodAffinityView<'a>>,
}

/// Node affinity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinityView<'a> {
    /// Hard requirement.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", borrow)]
    pub required: Option<NodeSelectorView<'a>>,
}

/// Pod affinity or anti-affinity.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityView<'a> {
    /// Hard terms.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", borrow)]
    pub required: List<PodAffinityTermView<'a>>,
}

/// One pod affinity term.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTermView<'a> {
    /// Which pods; absent matches none.
    #[serde(borrow)]
    pub label_selector: Option<LabelSelectorView<'a>>,
    /// Namespaces by name.
    #[serde(borrow)]
    pub namespaces: List<Text<'a>>,
    /// Namespaces by label; empty and present = all.
    #[serde(borrow)]
    pub namespace_selector: Option<LabelSelectorView<'a>>,
    /// Label that makes the domains.
    #[serde(borrow)]
    pub topology_key: Text<'a>,
    /// Keys merged by the API server; templates still carry them.
    #[serde(borrow)]
    pub match_label_keys: List<Text<'a>>,
    /// Keys merged as `NotIn`.
    #[serde(borrow)]
    pub mismatch_label_keys: List<Text<'a>>,
}

/// A topology spread constraint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpreadView<'a> {
    /// Allowed difference.
    #[serde(deserialize_with = "or_default")]
    pub max_skew: i32,
    /// Label that makes the domains.
    #[serde(borrow)]
    pub topology_key: Text<'a>,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    #[serde(borrow)]
    pub when_unsatisfiable: Text<'a>,
    /// Which pods count; absent counts none.
    #[serde(borrow)]
    pub label_selector: Option<LabelSelectorView<'a>>,
    /// Least number of domains.
    pub min_domains: Option<i32>,
    /// `Honor` (default) or `Ignore`.
    #[serde(borrow)]
    pub node_affinity_policy: Text<'a>,
    /// `Ignore` (default) or `Honor`.
    #[serde(borrow)]
    pub node_taints_policy: Text<'a>,
    /// Keys whose own values narrow the selector.
    #[serde(borrow)]
    pub match_label_keys: List<Text<'a>>,
}

/// A volume of a pod. Only sources that some rule reads are kept.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeView<'a> {
    /// Name inside the pod.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Named claim.
    #[serde(borrow)]
    pub persistent_volume_claim: Option<ClaimVolumeView<'a>>,
    /// Generic ephemeral volume: claim `POD-VOLUME`.
    pub ephemeral: Option<serde::de::IgnoredAny>,
    /// Directory of the host.
    pub host_path: Option<serde::de::IgnoredAny>,
    /// Scratch space of the node.
    pub empty_dir: Option<serde::de::IgnoredAny>,
    /// GCE disk.
    #[serde(borrow)]
    pub gce_persistent_disk: Option<DiskView<'a>>,
    /// AWS disk.
    #[serde(borrow)]
    pub aws_elastic_block_store: Option<DiskView<'a>>,
    /// iSCSI.
    #[serde(borrow)]
    pub iscsi: Option<DiskView<'a>>,
    /// Ceph RBD.
    #[serde(borrow)]
    pub rbd: Option<DiskView<'a>>,
}

/// `persistentVolumeClaim` of a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimVolumeView<'a> {
    /// Claim name.
    #[serde(borrow)]
    pub claim_name: Text<'a>,
}

/// An inline disk: the union of the fields that identify GCE, AWS, iSCSI and RBD disks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DiskView<'a> {
    /// GCE.
    #[serde(borrow)]
    pub pd_name: Text<'a>,
    /// AWS.
    #[serde(rename = "volumeID", borrow)]
    pub volume_id: Text<'a>,
    /// iSCSI.
    #[serde(borrow)]
    pub iqn: Text<'a>,
    /// RBD monitors.
    #[serde(borrow)]
    pub monitors: List<Text<'a>>,
    /// RBD pool; empty is `rbd`.
    #[serde(borrow)]
    pub pool: Text<'a>,
    /// RBD image.
    #[serde(borrow)]
    pub image: Text<'a>,
    /// Read-only mount.
    pub read_only: Option<bool>,
}

/// `spec.resourceClaims[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodClaimView<'a> {
    /// Name inside the pod.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// A claim by name.
    #[serde(borrow)]
    pub resource_claim_name: Option<Text<'a>>,
    /// A claim made for this pod from a template.
    #[serde(borrow)]
    pub resource_claim_template_name: Option<Text<'a>>,
}

/// `status` of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatusView<'a> {
    /// Phase.
    #[serde(borrow)]
    pub phase: Text<'a>,
    /// Conditions.
    #[serde(borrow)]
    pub conditions: List<ConditionView<'a>>,
    /// Nominated node.
    #[serde(borrow)]
    pub nominated_node_name: Text<'a>,
    /// Start time.
    #[serde(borrow)]
    pub start_time: Option<Text<'a>>,
    /// Container statuses.
    #[serde(borrow)]
    pub container_statuses: List<ContainerStatusView<'a>>,
    /// Init container statuses.
    #[serde(borrow)]
    pub init_container_statuses: List<ContainerStatusView<'a>>,
    /// Claims made from templates.
    #[serde(borrow)]
    pub resource_claim_statuses: List<ClaimStatusView<'a>>,
    /// Claim made by the scheduler for extended resources.
    #[serde(borrow)]
    pub extended_resource_claim_status: Option<ExtendedClaimStatusView<'a>>,
    /// Pod-level allocation.
    #[serde(borrow)]
    pub allocated_resources: Option<Pairs<'a>>,
    /// Pod-level actual resources.
    #[serde(borrow)]
    pub resources: Option<ResourcesView<'a>>,
}

/// A condition of a pod, node or budget.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionView<'a> {
    /// Type.
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    /// `True`, `False`, `Unknown`.
    #[serde(borrow)]
    pub status: Text<'a>,
    /// Reason.
    #[serde(borrow)]
    pub reason: Text<'a>,
}

/// Status of one container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatusView<'a> {
    /// Container name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What the kubelet has granted.
    #[serde(borrow)]
    pub allocated_resources: Option<Pairs<'a>>,
    /// What is in effect.
    #[serde(borrow)]
    pub resources: Option<ResourcesView<'a>>,
}

/// `status.resourceClaimStatuses[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatusView<'a> {
    /// Name of the pod's claim entry.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Name of the generated claim; absent when none is needed.
    #[serde(borrow)]
    pub resource_claim_name: Option<Text<'a>>,
}

/// `status.extendedResourceClaimStatus`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtendedClaimStatusView<'a> {
    /// Name of the claim that the scheduler made.
    #[serde(borrow)]
    pub resource_claim_name: Text<'a>,
}
