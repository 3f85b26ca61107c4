//! What the check finds: a stable code, how bad it is, whom it concerns, one sentence.
//!
//! May import: snapshot

use std::fmt;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{BudgetIdx, GroupIdx, NodeIdx, PodIdx};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The plan could be carried out, but something it says is wrong.
    Minor,
    /// The plan breaks a rule: nobody may carry it out.
    Fatal,
}

/// Whom a finding concerns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The plan as a whole.
    Plan,
    /// A node that is emptied, or a receiver.
    Node(NodeIdx),
    /// A victim, a cascade pod, or one that was left behind.
    Pod(PodIdx),
    /// A `PodGroup`.
    Group(GroupIdx),
    /// A `PodDisruptionBudget`.
    Budget(BudgetIdx),
}

macro_rules! checks {
    ($( $(#[$doc:meta])* $name:ident: $severity:ident, )+) => {
        /// What was checked. The name is the stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check { $( $(#[$doc])* $name, )+ }

        impl Check {
            /// Every check.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            /// The stable code.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$name => stringify!($name), )+ }
            }

            /// How bad it is when the check fails.
            pub const fn severity(self) -> Severity {
                match self { $( Self::$name => Severity::$severity, )+ }
            }
        }
    };
}

checks! {
    /// The plan is for another resource than the request, or for one that the cluster does not have.
    OtherResource: Fatal,
    /// Pods move and no node is freed.
    NothingFreed: Fatal,
    /// A node is listed as freed twice.
    FreedTwice: Fatal,
    /// A freed node provides none of the resource.
    FreedProvidesNothing: Fatal,
    /// A freed node holds none of the resource: it is idle already.
    FreedIdle: Fatal,
    /// Every pod of a freed node that holds the resource is terminating: it empties itself.
    FreedEmptying: Fatal,
    /// A freed node is out of the scope of nodes.
    FreedOutOfScope: Fatal,
    /// A freed node is not ready.
    FreedNotReady: Fatal,
    /// A freed node is cordoned and the scope does not name it.
    FreedCordoned: Fatal,
    /// A freed node is being deleted, or an autoscaler is about to.
    FreedLeaving: Fatal,
    /// A pod of a freed node that holds the resource does not move.
    LeftBehind: Fatal,
    /// A pod moves twice.
    MovedTwice: Fatal,
    /// A move names another node than the one the pod stands on.
    WrongSource: Fatal,
    /// A pod is evicted that stands on a node that is kept, or holds none of the resource.
    NeedlessMove: Fatal,
    /// A pod moves that is terminating.
    MovedTerminating: Fatal,
    /// The replacement would have another spec than its controller gives it.
    WrongSpec: Fatal,
    /// The moves are not grouped by freed nodes in the order of these.
    WrongOrder: Fatal,
    /// A pod moves to the node it leaves.
    MovedToItself: Fatal,
    /// A receiver is freed by the same plan.
    ReceiverFreed: Fatal,
    /// A receiver holds none of the resource now.
    ReceiverIdle: Fatal,
    /// All that a receiver holds of the resource is terminating.
    ReceiverEmptying: Fatal,
    /// A receiver provides none of the resource.
    ReceiverProvidesNothing: Fatal,
    /// A receiver is not ready.
    ReceiverNotReady: Fatal,
    /// A receiver is cordoned.
    ReceiverCordoned: Fatal,
    /// A receiver is being deleted, or an autoscaler is about to or considers it.
    ReceiverLeaving: Fatal,
    /// A victim has no controlling owner, or one that makes no other pod for it.
    NoController: Fatal,
    /// The controlling owner of a victim does not exist any more.
    OwnerGone: Fatal,
    /// What the controlling owner would do is not known.
    OwnerUnknown: Fatal,
    /// A victim belongs to its node: static pods and pods of a `DaemonSet`.
    BoundToNode: Fatal,
    /// The eviction would end the workload.
    EndsWorkload: Fatal,
    /// The eviction may end the workload.
    MayEndWorkload: Fatal,
    /// The controller may leave the pod out for a while.
    LateRecovery: Fatal,
    /// The scheduler of a victim is not enabled.
    SchedulerDisabled: Fatal,
    /// A victim belongs to no `PodGroup`.
    Ungrouped: Fatal,
    /// The group of a victim has a hard network topology, and which nodes keep to it is not known.
    HardTopology: Fatal,
    /// The group of a victim is out of scope.
    GroupOutOfScope: Fatal,
    /// A victim, its group, its owner or its namespace is protected.
    Protected: Fatal,
    /// A victim has a `hostPath` volume.
    HostPath: Fatal,
    /// Another system decides when a victim may run.
    ManagedElsewhere: Fatal,
    /// A victim is younger than the request allows.
    TooYoung: Fatal,
    /// An earlier run moved the victim not long ago.
    MovedRecently: Fatal,
    /// A victim is not marked preemptable.
    NotPreemptable: Fatal,
    /// A disruption budget never lets the victim go.
    BudgetNever: Fatal,
    /// A disruption budget lets nobody go at the moment.
    BudgetNow: Fatal,
    /// The waves of the plan do not keep to a disruption budget, or to the order of the moves.
    WrongWaves: Fatal,
    /// A controller takes a pod down along with a victim and the plan does not list it.
    CascadeMissing: Fatal,
    /// The plan lists a pod as taken down along that no controller takes down.
    CascadeInvented: Fatal,
    /// Two pods of a unit that is recreated as a whole are evicted.
    UnitEvictedTwice: Fatal,
    /// More `PodGroups` move than the request allows.
    GroupBudget: Fatal,
    /// More of a resource moves than the request allows.
    ResourceBudget: Fatal,
    /// More nodes are freed than the request asks for.
    TooManyFreed: Fatal,
    /// The rate falls by less than the request asks for.
    TooLittleImprovement: Fatal,
    /// The freed nodes bring fewer cards for what the plan damages than the request asks of every single one.
    TooLittleBenefit: Fatal,
    /// A replacement does not pass its scheduler's rules when all moves are done.
    RefusedInTheEnd: Fatal,
    /// A replacement does not pass its scheduler's rules when it is tried.
    RefusedAtItsTurn: Fatal,
    /// Room is kept for a pod that neither waits nor comes back.
    RoomForNobody: Minor,
    /// Room is kept on a node that the plan frees.
    RoomOnFreedNode: Fatal,
    /// Fewer pods of a waiting group get room than have to come together.
    RoomForPartOfGroup: Fatal,
    /// A waiting pod that the scheduler could bind now gets no room.
    WaitingWithoutRoom: Fatal,
    /// The pod that will replace a terminating one gets no room, and its node is emptied or closed to it.
    ReplacementWithoutRoom: Fatal,
    /// A pod that gets room does not pass there when all moves are done.
    RoomTaken: Fatal,
    /// A waiting group that fits once the victims have left could take a receiver that is not enough for both.
    TakerInTheWay: Fatal,
    /// The plan states another disruption than it causes.
    WrongDisruption: Minor,
}

impl Check {
    /// The list of moves itself is wrong, so that nothing can be said about the places.
    pub(super) const fn is_about_the_list(self) -> bool {
        matches!(self, Self::MovedTwice | Self::WrongSource)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which check.
    pub check: Check,
    /// Whom it concerns.
    pub subject: Subject,
    /// What is wrong, with the numbers: one sentence without the subject.
    pub text: String,
}

impl Finding {
    /// A finding.
    pub(super) fn new(check: Check, subject: Subject, text: impl Into<String>) -> Self {
        Self { check, subject, text: text.into() }
    }

    /// How bad it is.
    pub const fn severity(&self) -> Severity {
        self.check.severity()
    }

    /// `Code subject: sentence`.
    pub fn line(&self, snapshot: &Snapshot) -> String {
        let subject = match self.subject {
            Subject::Plan => "plan".to_owned(),
            Subject::Node(node) => format!("node {}", snapshot.node_name(node)),
            Subject::Pod(pod) => format!("pod {}", snapshot.pod_key(pod)),
            Subject::Group(group) => format!("podgroup {}", snapshot.group_key(group)),
            Subject::Budget(budget) => {
                let budget = &snapshot.budgets[budget.at()];
                let namespace = snapshot.namespace_name(budget.namespace);
                format!("poddisruptionbudget {namespace}/{}", snapshot.text(budget.name))
            }
        };
        format!("{} {subject}: {}", self.check, self.text)
    }
}
