//! Why a node stays as it is: stable codes with numbers, used by reports, `explain`, events and metrics alike.
//!
//! May import: snapshot, plan

use crate::snapshot::Snapshot;
use crate::snapshot::model::{PodIdx, ResourceIdx};

use super::benefit::Step;
use super::reason::Reason;

/// Why a node is not emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It holds none of the resource.
    Idle,
    /// It does not provide the resource.
    NotProviding,
    /// All pods of the resource on it are terminating.
    Emptying,
    /// Not in `scope.nodes`.
    OutOfScope,
    /// It is not Ready.
    NotReady,
    /// It is being deleted, or an autoscaler is about to remove it.
    LeavingCluster,
    /// It is cordoned and not selected by name or label.
    Cordoned,
    /// A pod of the resource on it may not move.
    UnmovablePod {
        /// The pod.
        pod: PodIdx,
        /// Why.
        reason: Reason,
    },
    /// A pending pod gets its room there first.
    PendingPod {
        /// The pending pod.
        pod: PodIdx,
    },
    /// A pod that will replace a terminating one gets its room there first.
    ReturningPod {
        /// The terminating pod.
        pod: PodIdx,
    },
    /// Emptying it would touch too many groups.
    GroupBudget {
        /// Groups of the plan with it.
        would_be: i64,
        /// Groups allowed.
        limit: i64,
    },
    /// Emptying it would move too much of a resource.
    ResourceBudget {
        /// The resource.
        resource: ResourceIdx,
        /// Amount of the plan with it.
        would_be: i64,
        /// Amount allowed.
        limit: i64,
    },
    /// Its pods would be more evictions of one workload than that tolerates before it fails.
    RetryBudget {
        /// One of the pods.
        pod: PodIdx,
        /// Evictions of the workload with the node.
        would_be: i64,
        /// Evictions tolerated.
        limit: i64,
    },
    /// A pod on it, or recreated along with one, fits no receiver.
    NoReceiver {
        /// The pod.
        pod: PodIdx,
    },
    /// A pod on it, or recreated along with one, fits receivers, and none any more beside the pods that are placed before.
    NoneLeft {
        /// The pod.
        pod: PodIdx,
    },
    /// With its pods moved a replacement elsewhere in the plan would break a rule of its scheduler.
    BreaksRule {
        /// The pod whose replacement it is.
        pod: PodIdx,
    },
    /// A replacement would be refused at its turn, whatever the order within the node.
    BlockedInTurn {
        /// The pod whose replacement it is.
        pod: PodIdx,
    },
    /// It receives pods of this plan.
    Receives,
    /// The number of nodes asked for was reached before.
    EnoughFreed,
    /// Freeing more nodes damages too much for what it brings.
    NotWorthIt {
        /// The first step that is not worth it.
        step: Step,
        /// Cards asked for per damaged card.
        least: i64,
    },
    /// As few nodes are occupied as possible, so nothing is emptied.
    NothingToGain,
    /// It could be emptied or receive, but the best plan improves less than was asked for.
    TooLittleGained,
    /// A plan with it would not fit into one object.
    SizeLimit,
}

impl Kept {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::NotProviding => "NodeNotProviding",
            Self::Emptying => "Emptying",
            Self::OutOfScope => "NodeOutOfScope",
            Self::NotReady => "NodeNotReady",
            Self::LeavingCluster => "NodeLeavingCluster",
            Self::Cordoned => "NodeCordoned",
            Self::UnmovablePod { .. } => "UnmovablePod",
            Self::PendingPod { .. } => "RoomForPendingPod",
            Self::ReturningPod { .. } => "RoomForReplacement",
            Self::GroupBudget { .. } => "PodGroupBudget",
            Self::ResourceBudget { .. } => "ResourceBudget",
            Self::RetryBudget { .. } => "RetryBudget",
            Self::NoReceiver { .. } | Self::NoneLeft { .. } => "NoReceiver",
            Self::BreaksRule { .. } => "BreaksRule",
            Self::BlockedInTurn { .. } => "BlockedInTurn",
            Self::Receives => "Receives",
            Self::EnoughFreed => "EnoughFreed",
            Self::NotWorthIt { .. } => "NotWorthIt",
            Self::NothingToGain => "NothingToGain",
            Self::TooLittleGained => "TooLittleGained",
            Self::SizeLimit => "SizeLimit",
        }
    }

    /// Another plan could free the node as far as this reason goes; the others hold for every plan of the request.
    pub const fn is_choice(&self) -> bool {
        match self {
            Self::Idle
            | Self::NotProviding
            | Self::Emptying
            | Self::OutOfScope
            | Self::NotReady
            | Self::LeavingCluster
            | Self::Cordoned
            | Self::UnmovablePod { .. }
            | Self::PendingPod { .. }
            | Self::ReturningPod { .. }
            | Self::NothingToGain => false,
            Self::GroupBudget { .. }
            | Self::ResourceBudget { .. }
            | Self::RetryBudget { .. }
            | Self::NoReceiver { .. }
            | Self::NoneLeft { .. }
            | Self::BreaksRule { .. }
            | Self::BlockedInTurn { .. }
            | Self::Receives
            | Self::EnoughFreed
            | Self::NotWorthIt { .. }
            | Self::TooLittleGained
            | Self::SizeLimit => true,
        }
    }

    /// The pod that is to blame, if one is.
    pub const fn pod(&self) -> Option<PodIdx> {
        match self {
            Self::UnmovablePod { pod, .. }
            | Self::PendingPod { pod }
            | Self::ReturningPod { pod }
            | Self::RetryBudget { pod, .. }
            | Self::NoReceiver { pod }
            | Self::NoneLeft { pod }
            | Self::BreaksRule { pod }
            | Self::BlockedInTurn { pod } => Some(*pod),
            _ => None,
        }
    }

    /// One clause with the numbers.
    pub fn sentence(&self, snapshot: &Snapshot) -> String {
        match self {
            Self::Idle => "holds none of the resource".to_owned(),
            Self::NotProviding => "does not provide the resource".to_owned(),
            Self::Emptying => "all its pods of the resource are terminating".to_owned(),
            Self::OutOfScope => "is not in scope".to_owned(),
            Self::NotReady => "is not Ready".to_owned(),
            Self::LeavingCluster => "is being deleted or removed by an autoscaler".to_owned(),
            Self::Cordoned => "is cordoned and not selected by name or label".to_owned(),
            Self::UnmovablePod { pod, reason } => {
                format!("pod {} can not move: it {}", snapshot.pod_key(*pod), reason.sentence(snapshot))
            }
            Self::PendingPod { pod } => {
                format!("pending pod {} gets its room there first", snapshot.pod_key(*pod))
            }
            Self::ReturningPod { pod } => {
                let pod = snapshot.pod_key(*pod);
                format!("the replacement of terminating pod {pod} gets its room there first")
            }
            Self::GroupBudget { would_be, limit } => {
                let plural = if *would_be == 1 { "" } else { "s" };
                format!("would touch {would_be} PodGroup{plural} in all, {limit} allowed")
            }
            Self::ResourceBudget { resource, would_be, limit } => {
                let name = snapshot.resource_name(*resource);
                format!("would move {would_be} {name} in all, {limit} allowed")
            }
            Self::RetryBudget { pod, would_be, limit } => {
                let pod = snapshot.pod_key(*pod);
                let plural = if *would_be == 1 { "" } else { "s" };
                format!(
                    "would make {would_be} eviction{plural} of the workload of pod {pod}, which tolerates {limit}"
                )
            }
            Self::NoReceiver { pod } if snapshot.pod(*pod).terminating => {
                format!("the replacement of terminating pod {} fits no receiver", snapshot.pod_key(*pod))
            }
            Self::NoReceiver { pod } => format!("pod {} fits no receiver", snapshot.pod_key(*pod)),
            Self::NoneLeft { pod } => {
                let whose =
                    if snapshot.pod(*pod).terminating { "the replacement of terminating pod" } else { "pod" };
                format!(
                    "{whose} {} fits no receiver once the pods before it have theirs",
                    snapshot.pod_key(*pod)
                )
            }
            Self::BreaksRule { pod } => {
                format!("the replacement of pod {} would break a scheduling rule", snapshot.pod_key(*pod))
            }
            Self::BlockedInTurn { pod } => {
                format!("the replacement of pod {} would be refused at its turn", snapshot.pod_key(*pod))
            }
            Self::Receives => "receives pods of this plan".to_owned(),
            Self::EnoughFreed => "enough nodes are freed without it".to_owned(),
            Self::NotWorthIt { step, least } => format!("freeing more would bring {}", step.clause(*least)),
            Self::NothingToGain => "as few nodes are occupied as possible".to_owned(),
            Self::TooLittleGained => "the best plan improves less than was asked for".to_owned(),
            Self::SizeLimit => "a plan with it would be too large for one object".to_owned(),
        }
    }
}
