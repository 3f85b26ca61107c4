//! One API object of any kind that planning reads, and the table of those kinds.
//!
//! **To add a kind**: write its view (with a `metadata` field) in a file beside this one and add one line to the
//! [`kinds!`] table below: variant, view, group, kind, plural. Reading, dispatch, the lists of that kind and the right to
//! read it (`manifests`) then work; the
//! allow-list of the snapshot file (`snapshot::write`) needs the fields of the new view as well, and a test there
//! fails until it has them.
//!
//! Any served version of a known group is accepted: a view names only fields that all versions share.
//!
//! May import: snapshot

use serde::Deserialize;
use serde::de::Deserializer;

use super::basic::{MetaView, Text};
use super::cluster::{BudgetView, NamespaceView, NodeView, PodGroupView, QueueView};
use super::dra::{ClaimTemplateView, ClaimView, DeviceClassView, DeviceTaintRuleView, SliceView};
use super::pod::PodView;
use super::storage::{
    AttachmentView, CsiDriverView, CsiNodeView, PvView, PvcView, StorageCapacityView, StorageClassView,
};
use super::workload::{
    JobSetView, JobView, LeaderWorkerSetView, ModelServingView, OwnerView, RayClusterView, ReplicasView,
    TrainingJobView, VolcanoJobView,
};

/// Makes [`Object`] and [`Kind`] from the table of kinds.
macro_rules! kinds {
    ($( $(#[$doc:meta])* $variant:ident($view:ident): $group:literal, $kind:literal, $plural:literal; )*) => {
        /// One object of the input. Boxed, because views differ in size by a factor of ten.
        #[derive(Clone, Debug)]
        pub enum Object<'a> {
            $( $(#[$doc])* $variant(Box<$view<'a>>), )*
            /// A kind that no rule reads.
            Unknown {
                /// `apiVersion` as written.
                api_version: Text<'a>,
                /// `kind` as written.
                kind: Text<'a>,
            },
        }

        /// A kind that planning reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $( $(#[$doc])* $variant, )*
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The kind of that name in that API group (without version); `None` when no rule reads it.
            pub fn of(group: &str, kind: &str) -> Option<Self> {
                match (group, kind) {
                    $( ($group, $kind) => Some(Self::$variant), )*
                    _ => None,
                }
            }

            /// API group, empty for the core group.
            pub const fn group(self) -> &'static str {
                match self { $( Self::$variant => $group, )* }
            }

            /// Name of the kind as in `kind:`.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $kind, )* }
            }

            /// Name of the kind in paths of the API and in roles.
            pub const fn plural(self) -> &'static str {
                match self { $( Self::$variant => $plural, )* }
            }

            /// Reads one object of this kind from any format.
            pub fn read<'de, D: Deserializer<'de>>(self, d: D) -> Result<Object<'de>, D::Error> {
                match self {
                    $( Self::$variant => Box::<$view<'de>>::deserialize(d).map(Object::$variant), )*
                }
            }

            /// Reads the JSON object that `text` starts with; also says how many bytes it took.
            pub fn read_prefix(self, text: &str) -> Result<(Object<'_>, usize), serde_json::Error> {
                match self {
                    $( Self::$variant => {
                        let (view, used) = read_prefix::<Box<$view<'_>>>(text)?;
                        Ok((Object::$variant(view), used))
                    } )*
                }
            }
        }

        impl<'a> Object<'a> {
            /// The kind; `None` for an unknown one.
            pub const fn kind(&self) -> Option<Kind> {
                match self {
                    $( Self::$variant(_) => Some(Kind::$variant), )*
                    Self::Unknown { .. } => None,
                }
            }

            /// Metadata; `None` for an unknown kind.
            pub const fn metadata(&self) -> Option<&MetaView<'a>> {
                match self {
                    $( Self::$variant(object) => Some(&object.metadata), )*
                    Self::Unknown { .. } => None,
                }
            }
        }
    };
}

kinds! {
    /// Node.
    Node(NodeView): "", "Node", "nodes";
    /// Pod.
    Pod(PodView): "", "Pod", "pods";
    /// Namespace.
    Namespace(NamespaceView): "", "Namespace", "namespaces";
    /// PodGroup of Volcano.
    PodGroup(PodGroupView): "scheduling.volcano.sh", "PodGroup", "podgroups";
    /// Queue of Volcano.
    Queue(QueueView): "scheduling.volcano.sh", "Queue", "queues";
    /// PodDisruptionBudget.
    PodDisruptionBudget(BudgetView): "policy", "PodDisruptionBudget", "poddisruptionbudgets";
    /// ResourceSlice.
    ResourceSlice(SliceView): "resource.k8s.io", "ResourceSlice", "resourceslices";
    /// DeviceClass.
    DeviceClass(DeviceClassView): "resource.k8s.io", "DeviceClass", "deviceclasses";
    /// ResourceClaim.
    ResourceClaim(ClaimView): "resource.k8s.io", "ResourceClaim", "resourceclaims";
    /// ResourceClaimTemplate.
    ResourceClaimTemplate(ClaimTemplateView): "resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates";
    /// DeviceTaintRule.
    DeviceTaintRule(DeviceTaintRuleView): "resource.k8s.io", "DeviceTaintRule", "devicetaintrules";
    /// PersistentVolumeClaim.
    PersistentVolumeClaim(PvcView): "", "PersistentVolumeClaim", "persistentvolumeclaims";
    /// PersistentVolume.
    PersistentVolume(PvView): "", "PersistentVolume", "persistentvolumes";
    /// StorageClass.
    StorageClass(StorageClassView): "storage.k8s.io", "StorageClass", "storageclasses";
    /// CSINode.
    CsiNode(CsiNodeView): "storage.k8s.io", "CSINode", "csinodes";
    /// CSIDriver.
    CsiDriver(CsiDriverView): "storage.k8s.io", "CSIDriver", "csidrivers";
    /// CSIStorageCapacity.
    StorageCapacity(StorageCapacityView): "storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities";
    /// VolumeAttachment.
    VolumeAttachment(AttachmentView): "storage.k8s.io", "VolumeAttachment", "volumeattachments";
    /// Deployment.
    Deployment(ReplicasView): "apps", "Deployment", "deployments";
    /// ReplicaSet.
    ReplicaSet(ReplicasView): "apps", "ReplicaSet", "replicasets";
    /// StatefulSet.
    StatefulSet(ReplicasView): "apps", "StatefulSet", "statefulsets";
    /// DaemonSet.
    DaemonSet(ReplicasView): "apps", "DaemonSet", "daemonsets";
    /// ReplicationController.
    ReplicationController(ReplicasView): "", "ReplicationController", "replicationcontrollers";
    /// Job of Kubernetes.
    Job(JobView): "batch", "Job", "jobs";
    /// CronJob.
    CronJob(OwnerView): "batch", "CronJob", "cronjobs";
    /// Job of Volcano.
    VolcanoJob(VolcanoJobView): "batch.volcano.sh", "Job", "jobs";
    /// ModelServing of Kthena.
    ModelServing(ModelServingView): "workload.serving.volcano.sh", "ModelServing", "modelservings";
    /// LeaderWorkerSet.
    LeaderWorkerSet(LeaderWorkerSetView): "leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets";
    /// JobSet.
    JobSet(JobSetView): "jobset.x-k8s.io", "JobSet", "jobsets";
    /// RayCluster.
    RayCluster(RayClusterView): "ray.io", "RayCluster", "rayclusters";
    /// RayJob.
    RayJob(OwnerView): "ray.io", "RayJob", "rayjobs";
    /// RayService.
    RayService(OwnerView): "ray.io", "RayService", "rayservices";
    /// PyTorchJob of training-operator v1.
    PyTorchJob(TrainingJobView): "kubeflow.org", "PyTorchJob", "pytorchjobs";
    /// TFJob of training-operator v1.
    TFJob(TrainingJobView): "kubeflow.org", "TFJob", "tfjobs";
    /// MPIJob.
    MPIJob(TrainingJobView): "kubeflow.org", "MPIJob", "mpijobs";
    /// XGBoostJob of training-operator v1.
    XGBoostJob(TrainingJobView): "kubeflow.org", "XGBoostJob", "xgboostjobs";
    /// PaddleJob of training-operator v1.
    PaddleJob(TrainingJobView): "kubeflow.org", "PaddleJob", "paddlejobs";
    /// JAXJob of training-operator v1.
    JAXJob(TrainingJobView): "kubeflow.org", "JAXJob", "jaxjobs";
    /// TrainJob of the newer trainer.
    TrainJob(OwnerView): "trainer.kubeflow.org", "TrainJob", "trainjobs";
}

/// Reads the JSON value that `text` starts with; also says how many bytes it took.
pub fn read_prefix<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(T, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        // Nothing but blanks: the error of the parser itself, which says that the text ended.
        None => {
            T::deserialize(&mut serde_json::Deserializer::from_str(text)).map(|value| (value, text.len()))
        }
    }
}

/// Group of an `apiVersion`: what stands before the slash; the core group has none.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_version_of_a_known_group_is_the_same_kind() {
        for version in ["scheduling.volcano.sh/v1beta1", "scheduling.volcano.sh/v1"] {
            assert_eq!(Kind::of(group_of(version), "PodGroup"), Some(Kind::PodGroup));
        }
        assert_eq!(Kind::of(group_of("v1"), "Pod"), Some(Kind::Pod));
        assert_eq!(Kind::of(group_of("metrics.k8s.io/v1beta1"), "Pod"), None);
    }

    #[test]
    fn every_kind_is_found_under_its_own_group_and_name() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::of(kind.group(), kind.name()), Some(kind));
        }
    }
}
