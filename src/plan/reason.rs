//! Why a pod can not move: a closed list of stable codes. Why a node stays is told by [`super::kept::Kept`].
//!
//! The codes are the vocabulary of `explain`, the report, events and metric labels; numbers and names stand in
//! [`Reason`]. A code never changes its meaning.
//!
//! May import: snapshot, plan

use std::fmt;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{BudgetIdx, OwnerIdx, PodIdx, Sym};

/// Makes [`Code`] from the table of reasons.
macro_rules! codes {
    ($( $(#[$doc:meta])* $name:ident: $sentence:literal, $remedy:expr; )*) => {
        /// A stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $( $(#[$doc])* $name, )*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The code as it stands in reports, events and metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => stringify!($name), )* }
            }

            /// What it says, without numbers and names: half a sentence about the pod or node.
            pub const fn sentence(self) -> &'static str {
                match self { $( Self::$name => $sentence, )* }
            }

            /// What would lift it: a flag, or what to do to the object; `None` where nothing short of waiting or
            /// rebuilding helps.
            pub const fn remedy(self) -> Option<&'static str> {
                match self { $( Self::$name => $remedy, )* }
            }
        }
    };
}

codes! {
    // Pods that are no victims and hold no node back.
    /// Does not request the resource.
    NotRequesting: "does not request the resource", None;
    /// Not bound, finished, or bound to a node that is not there.
    NotBound: "is not bound to a node", None;
    /// Already on its way out: its node waits for it.
    Terminating: "is terminating already", None;

    // Pods that stay whatever the flags.
    /// A static pod, run by its kubelet.
    StaticPod: "is a static pod of its node", None;
    /// Bound to its node by a DaemonSet.
    DaemonSetPod: "belongs to a DaemonSet", None;
    /// Nobody recreates it.
    BarePod: "has no controlling owner that would recreate it", Some("let a controller own it");
    /// Our opt-out.
    Protected: "is protected by repack.volcano.sh/protected", Some("remove the mark repack.volcano.sh/protected");
    /// The opt-out of cluster-autoscaler or Karpenter.
    EvictionOptOut: "carries a do-not-evict mark", Some("remove the mark from the pod template");
    /// Its controller is gone or being deleted.
    OwnerGone: "has a controller that is gone", None;
    /// The controller's kind could not be listed.
    OwnerNotReadable: "has a controller that could not be read", Some("grant list on its controller's kind");
    /// The controller wants fewer pods than there are.
    OwnerScalingDown: "would not be recreated: its controller has more pods than it wants", None;
    /// The controller ends the workload when a pod is evicted.
    OwnerEnds: "would end its workload when evicted", Some("change the policy of the workload");
    /// The retries of the controller are used up.
    RetriesExhausted: "would be a failure that its controller no longer tolerates",
        Some("raise the retry limit of the workload");
    /// The template names a node.
    TemplateNamesNode: "comes from a template that names its node", None;
    /// A budget that can never allow an eviction.
    BudgetNeverAllows: "is held by a PodDisruptionBudget that can never allow an eviction",
        Some("change the PodDisruptionBudget");
    /// More than one budget: the eviction API refuses for ever.
    SeveralBudgets: "is selected by more than one PodDisruptionBudget",
        Some("let one PodDisruptionBudget select it");
    /// It would take pods along that may not move.
    CascadeBlocked: "would be recreated together with a pod that may not move", None;

    // Pods that stay because of what was asked, each with its flag.
    /// scope.podGroups.include does not select its group.
    PodGroupNotIncluded: "is outside the PodGroups in scope", Some("--include-podgroups or --include-podgroup");
    /// scope.podGroups.exclude selects its group.
    PodGroupExcluded: "is excluded by the scope", Some("change --exclude-podgroups");
    /// Its scheduler is not enabled.
    SchedulerNotEnabled: "is placed by a scheduler that is not enabled", Some("--schedulers");
    /// No group, and the scheduler needs one.
    NoPodGroup: "belongs to no PodGroup, which its scheduler needs", None;
    /// No group, and the scheduler has none.
    Ungrouped: "belongs to no PodGroup", Some("--allow-ungrouped");
    /// It names a group that is not there.
    PodGroupNotRead: "names a PodGroup that is not there", Some("include PodGroups in the input");
    /// Its group has to stay inside one part of the network, and which nodes those are is not modelled.
    HardTopology: "belongs to a PodGroup with a hard network topology, which is not modelled", None;
    /// Unknown controller.
    CustomOwner: "has a controller whose reaction is unknown", Some("--allow-custom-owners");
    /// The workload may end if the process exits with a fault.
    OwnerMayEnd: "may end its workload when evicted", Some("--allow-may-terminate");
    /// The controller may leave it out for a while.
    LateRecovery: "is not recreated before its controller looks again", Some("--allow-late-recovery");
    /// A directory of the node.
    HostPath: "uses a hostPath volume", Some("--allow-host-path");
    /// Another system admits its replacement.
    ManagedElsewhere: "is admitted by another system", Some("--allow-managed-elsewhere");
    /// Not marked preemptable.
    NotPreemptable: "is not marked preemptable", Some("drop --only-preemptable");
    /// Younger than asked.
    TooYoung: "is too young", Some("--min-pod-age");
    /// It has no time of creation, and young pods stay.
    AgeUnknown: "may be too young, since its age is not known", Some("drop --min-pod-age");
    /// Moved not long ago.
    MovedRecently: "was moved recently", Some("--pod-cooldown");
    /// Its budget allows nothing now.
    BudgetExhaustedNow: "is held by a PodDisruptionBudget that allows no eviction now",
        Some("--on-blocked-pdb=Wait");
}

impl Code {
    /// Pods of this code do not hold their node back.
    pub const fn holds_nothing(self) -> bool {
        matches!(self, Self::NotRequesting | Self::NotBound | Self::Terminating)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a reason is about, in indices; texts are made where they are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Nothing to add.
    #[default]
    None,
    /// A mark, scheduler, group, policy or field by its text.
    Text(Sym),
    /// A fixed clause.
    Clause(&'static str),
    /// The owner.
    Owner(OwnerIdx),
    /// An owner and what about it.
    OwnerClause(OwnerIdx, &'static str),
    /// A budget.
    Budget(BudgetIdx),
    /// A budget and what about it.
    BudgetClause(BudgetIdx, &'static str),
    /// Two budgets.
    Budgets(BudgetIdx, BudgetIdx),
    /// Another pod, and why that one may not move.
    Pod(PodIdx, Code),
    /// A budget and its numbers.
    BudgetNumbers {
        /// The budget.
        budget: BudgetIdx,
        /// Healthy pods.
        healthy: i64,
        /// Healthy pods needed.
        desired: i64,
    },
    /// A time that has passed and the least that is asked for.
    Seconds {
        /// Passed.
        have: i64,
        /// Asked for.
        need: i64,
    },
}

/// Why a pod can not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    /// The code.
    pub code: Code,
    /// Names and numbers.
    pub detail: Detail,
}

impl From<Code> for Reason {
    fn from(code: Code) -> Self {
        Self { code, detail: Detail::None }
    }
}

impl Reason {
    /// A code with its detail.
    pub const fn new(code: Code, detail: Detail) -> Self {
        Self { code, detail }
    }

    /// The sentence about the pod, with names and numbers and without its subject and full stop: `is placed by a
    /// scheduler that is not enabled (default-scheduler)`.
    pub fn sentence(&self, snapshot: &Snapshot) -> String {
        let detail = self.detail_text(snapshot);
        let sentence = self.code.sentence();
        if detail.is_empty() { sentence.to_owned() } else { format!("{sentence} ({detail})") }
    }

    /// Names and numbers alone; empty when there are none.
    pub fn detail_text(&self, snapshot: &Snapshot) -> String {
        let owner = |owner: OwnerIdx| {
            let owner = &snapshot.owners[owner.at()];
            format!("{} {}", snapshot.text(owner.kind), snapshot.text(owner.name))
        };
        let budget = |budget: BudgetIdx| snapshot.text(snapshot.budgets[budget.at()].name).to_owned();
        match self.detail {
            Detail::None => String::new(),
            // The sentence says the kind.
            Detail::Owner(o) if self.code == Code::DaemonSetPod => {
                snapshot.text(snapshot.owners[o.at()].name).to_owned()
            }
            Detail::Text(text) => snapshot.text(text).to_owned(),
            Detail::Clause(clause) => clause.to_owned(),
            Detail::Owner(o) => owner(o),
            Detail::OwnerClause(o, clause) => format!("{}: {clause}", owner(o)),
            Detail::Budget(b) => budget(b),
            Detail::BudgetClause(b, clause) => format!("{}: {clause}", budget(b)),
            Detail::Budgets(a, b) => format!("{} and {}", budget(a), budget(b)),
            Detail::Pod(pod, code) => format!("{} {}", snapshot.pod_key(pod), code.sentence()),
            Detail::BudgetNumbers { budget: b, healthy, desired } => {
                format!("{}: {healthy} healthy, {desired} needed", budget(b))
            }
            Detail::Seconds { have, need } => format!("{have} s of {need} s"),
        }
    }

    /// The flag or action that lifts it, with the value where one is needed: `--schedulers default-scheduler`.
    pub fn remedy(&self, snapshot: &Snapshot) -> Option<String> {
        let remedy = self.code.remedy()?;
        Some(match (self.code, self.detail) {
            (Code::SchedulerNotEnabled, Detail::Text(name)) => format!("{remedy} {}", snapshot.text(name)),
            _ => remedy.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_unique_and_its_sentence_can_follow_a_name() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code} is there twice");
            let sentence = code.sentence();
            assert!(
                !sentence.ends_with('.') && sentence.starts_with(char::is_lowercase),
                "{code}: {sentence}"
            );
        }
    }

    #[test]
    fn codes_named_in_the_contract_keep_their_names() {
        for name in ["OwnerGone", "BudgetExhaustedNow"] {
            assert!(Code::ALL.iter().any(|code| code.as_str() == name));
        }
    }
}
