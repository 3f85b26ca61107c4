//! The closed lists of words a run's status may use: reasons, condition types, phases.
//!
//! May import: (nothing of this crate)

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a run is where it is: the `reason` of its conditions, also used in events and metric labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Reason {
    /// Waiting: another Execute run is active.
    AnotherRunActive,
    /// Waiting: the cooldown after the last Execute run has not passed.
    ExecuteCooldownActive,
    /// Running: the plan is being computed.
    Planning,
    /// Running: pods are being evicted.
    Evicting,
    /// Running: replacements are being placed.
    ReconcilingPlacements,
    /// A dry run found a plan; nothing was moved.
    RepackRecommended,
    /// As few nodes are occupied as possible, or nothing uses or provides the resource.
    NoFragmentation,
    /// No plan reaches the improvement asked for.
    InsufficientImprovement,
    /// No plan leaves the blocks of free nodes asked for.
    RequiredNodeBlocksNotMet,
    /// The result equals the plan.
    ExecutionCompleted,
    /// The planned nodes are free, but a pod went to another node than planned.
    ExecutionCompletedWithAlternativePlacement,
    /// The run asks for something that is wrong or not supported.
    InvalidConfiguration,
    /// The scope could not be resolved to PodGroups and nodes.
    ScopeResolutionFailed,
    /// Preparing refused before any eviction.
    ExecutionPreparationFailed,
    /// The fresh plan is not the one that was approved.
    PlanChanged,
    /// No eviction was accepted.
    EvictionFailed,
    /// Some planned nodes did not become free.
    BenefitNotRealized,
    /// A replacement was not bound in its window.
    PlacementTimedOut,
    /// The run's deadline came with evictions still pending.
    ExecutionTimedOut,
    /// The cluster could not be listed at verification.
    ResultVerificationFailed,
    /// The run was deleted, uninstalled or lost its creator's right half way.
    ExecutionInterrupted,
    /// The run was cancelled.
    ExecutionCancelled,
    /// The run's own status could not be read.
    ReconcileFailed,
}

impl Reason {
    /// Every reason, in the order of the contract's table.
    pub const ALL: [Self; 23] = [
        Self::AnotherRunActive,
        Self::ExecuteCooldownActive,
        Self::Planning,
        Self::Evicting,
        Self::ReconcilingPlacements,
        Self::RepackRecommended,
        Self::NoFragmentation,
        Self::InsufficientImprovement,
        Self::RequiredNodeBlocksNotMet,
        Self::ExecutionCompleted,
        Self::ExecutionCompletedWithAlternativePlacement,
        Self::InvalidConfiguration,
        Self::ScopeResolutionFailed,
        Self::ExecutionPreparationFailed,
        Self::PlanChanged,
        Self::EvictionFailed,
        Self::BenefitNotRealized,
        Self::PlacementTimedOut,
        Self::ExecutionTimedOut,
        Self::ResultVerificationFailed,
        Self::ExecutionInterrupted,
        Self::ExecutionCancelled,
        Self::ReconcileFailed,
    ];

    /// The exact text that stands in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AnotherRunActive => "AnotherRunActive",
            Self::ExecuteCooldownActive => "ExecuteCooldownActive",
            Self::Planning => "Planning",
            Self::Evicting => "Evicting",
            Self::ReconcilingPlacements => "ReconcilingPlacements",
            Self::RepackRecommended => "RepackRecommended",
            Self::NoFragmentation => "NoFragmentation",
            Self::InsufficientImprovement => "InsufficientImprovement",
            Self::RequiredNodeBlocksNotMet => "RequiredNodeBlocksNotMet",
            Self::ExecutionCompleted => "ExecutionCompleted",
            Self::ExecutionCompletedWithAlternativePlacement => "ExecutionCompletedWithAlternativePlacement",
            Self::InvalidConfiguration => "InvalidConfiguration",
            Self::ScopeResolutionFailed => "ScopeResolutionFailed",
            Self::ExecutionPreparationFailed => "ExecutionPreparationFailed",
            Self::PlanChanged => "PlanChanged",
            Self::EvictionFailed => "EvictionFailed",
            Self::BenefitNotRealized => "BenefitNotRealized",
            Self::PlacementTimedOut => "PlacementTimedOut",
            Self::ExecutionTimedOut => "ExecutionTimedOut",
            Self::ResultVerificationFailed => "ResultVerificationFailed",
            Self::ExecutionInterrupted => "ExecutionInterrupted",
            Self::ExecutionCancelled => "ExecutionCancelled",
            Self::ReconcileFailed => "ReconcileFailed",
        }
    }

    /// The phase a run with this reason is in.
    pub const fn phase(self) -> Phase {
        match self {
            Self::AnotherRunActive | Self::ExecuteCooldownActive => Phase::Pending,
            Self::Planning | Self::Evicting | Self::ReconcilingPlacements => Phase::Running,
            Self::RepackRecommended
            | Self::NoFragmentation
            | Self::InsufficientImprovement
            | Self::RequiredNodeBlocksNotMet
            | Self::ExecutionCompleted
            | Self::ExecutionCompletedWithAlternativePlacement => Phase::Succeeded,
            Self::InvalidConfiguration
            | Self::ScopeResolutionFailed
            | Self::ExecutionPreparationFailed
            | Self::PlanChanged
            | Self::EvictionFailed
            | Self::BenefitNotRealized
            | Self::PlacementTimedOut
            | Self::ExecutionTimedOut
            | Self::ResultVerificationFailed
            | Self::ExecutionInterrupted
            | Self::ExecutionCancelled
            | Self::ReconcileFailed => Phase::Failed,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The simplified life cycle; derived from the conditions, which are the authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not started.
    Pending,
    /// Planning, evicting or placing.
    Running,
    /// Complete is True.
    Succeeded,
    /// Failed is True.
    Failed,
}

/// The condition types of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ConditionType {
    /// True while the run works; False while it waits and after it ended.
    Progressing,
    /// True when the run ended without fault, also when there was nothing to do.
    Complete,
    /// True when the run ended with a fault.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed_once_and_serialises_as_its_text() {
        for (i, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
            assert_eq!(*reason as usize, i, "{reason} stands at the wrong place of ALL");
        }
    }

    #[test]
    fn a_dry_run_that_only_found_nothing_to_do_has_succeeded() {
        assert_eq!(Reason::InsufficientImprovement.phase(), Phase::Succeeded);
        assert_eq!(Reason::PlanChanged.phase(), Phase::Failed);
    }
}
