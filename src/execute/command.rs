//! Every side effect of an execution: one command is one request to the API server. The rights of the controller that
//! come with execution are generated from here.
//!
//! May import: api, snapshot

use jiff::Timestamp;

use super::rights::Creator;
use super::seen::Seen;
use crate::api::RepackRunStatus;
use crate::snapshot::Snapshot;

/// A pod, and which of that name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID: a pod of the same name with another UID is another pod.
    pub uid: String,
}

/// A `PodGroup`, and which of that name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The run.
    Run,
    /// A replacement.
    Pod(PodRef),
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Reads the run afresh: somebody changed it, or the answer to a write was lost.
    ReadRun,
    /// Replaces the run's status at the version that is known.
    WriteStatus(Box<RepackRunStatus>),
    /// Puts the finalizer on the run, or takes it off.
    Finalizer(bool),
    /// Puts the label on the run that says it has leases and gates out, or takes it off.
    ActiveLabel(bool),
    /// Writes the run's lease on a group, or removes it.
    Lease {
        /// The group.
        group: GroupRef,
        /// Whether the run works on it.
        held: bool,
    },
    /// Sets the namespaces whose new pods come by the webhook; none outside runs.
    Webhooks {
        /// Sorted.
        namespaces: Vec<String>,
    },
    /// Asks whether somebody has a right in a namespace.
    Review {
        /// Where.
        namespace: String,
        /// The right.
        right: Right,
        /// Who; none: this process.
        of: Option<Box<Creator>>,
    },
    /// Creates a pod for the sake of the answer only: it has to come back with the gate.
    Probe {
        /// Where.
        namespace: String,
    },
    /// Reads one pod.
    ReadPod(PodRef),
    /// Evicts a pod, if it still is the one.
    Evict {
        /// The victim.
        pod: PodRef,
        /// Seconds it has to end; none: its own.
        grace: Option<i64>,
    },
    /// Writes the nomination of a pending pod, or removes it.
    Nominate {
        /// The replacement.
        pod: PodRef,
        /// The node; none: no longer any.
        node: Option<String>,
    },
    /// Removes the gate.
    Ungate(PodRef),
    /// Reads all pods at one moment.
    ListPods,
    /// Notes on the controller's Lease when the run ended: the cooldown counts from there.
    Anchor(Timestamp),
    /// Tells of something in an event; it may get lost.
    Tell {
        /// What it is about.
        about: About,
        /// One word.
        reason: &'static str,
        /// A sentence.
        message: String,
        /// Whether somebody should look at it.
        warning: bool,
    },
}

/// What a right of the controller is for: verb, API group, resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The verb.
    pub verb: &'static str,
    /// The API group; empty is the core group.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
}

const fn right(verb: &'static str, group: &'static str, resource: &'static str) -> Right {
    Right { verb, group, resource }
}

/// What the pods of a plan are moved with.
pub const MOVES: [Right; 3] = [EVICTS, RIGHTS[7], RIGHTS[8]];
/// What a victim is evicted with.
pub const EVICTS: Right = RIGHTS[6];

/// The rights that commands need, besides those to read: the runs' own and the Lease's are the controller's anyway.
pub const RIGHTS: [Right; 11] = [
    right("get", "repack.volcano.sh", "repackruns"),
    right("update", "repack.volcano.sh", "repackruns/status"),
    right("patch", "repack.volcano.sh", "repackruns"),
    right("patch", "scheduling.volcano.sh", "podgroups"),
    right("create", "", "pods"),
    right("get", "", "pods"),
    right("create", "", "pods/eviction"),
    right("patch", "", "pods/status"),
    right("patch", "", "pods"),
    right("create", "", "events"),
    right("create", "authorization.k8s.io", "subjectaccessreviews"),
];

impl Command {
    /// The right it needs; none for what the controller may do anyway (webhooks by name, its Lease, lists).
    pub const fn right(&self) -> Option<Right> {
        Some(match self {
            Self::ReadRun => RIGHTS[0],
            Self::WriteStatus(_) => RIGHTS[1],
            Self::Finalizer(_) | Self::ActiveLabel(_) => RIGHTS[2],
            Self::Lease { .. } => RIGHTS[3],
            Self::Probe { .. } => RIGHTS[4],
            Self::ReadPod(_) => RIGHTS[5],
            Self::Evict { .. } => RIGHTS[6],
            Self::Nominate { .. } => RIGHTS[7],
            Self::Ungate(_) => RIGHTS[8],
            Self::Tell { .. } => RIGHTS[9],
            Self::Review { of: Some(_), .. } => RIGHTS[10],
            // Everybody may ask about themselves.
            Self::Webhooks { .. } | Self::ListPods | Self::Anchor(_) | Self::Review { of: None, .. } => {
                return None;
            }
        })
    }

    /// What it does, for messages: without a full stop.
    pub fn what(&self) -> String {
        match self {
            Self::ReadRun => "get repackruns".to_owned(),
            Self::WriteStatus(_) => "update repackruns/status".to_owned(),
            Self::Finalizer(_) | Self::ActiveLabel(_) => "patch repackruns".to_owned(),
            Self::Lease { group, .. } => format!("patch podgroups {}/{}", group.namespace, group.name),
            Self::Webhooks { .. } => "set the namespaces of the webhook".to_owned(),
            Self::Review { namespace, right, of } => {
                let who = of.as_ref().map(|who| format!(" for {}", who.username)).unwrap_or_default();
                format!("{} {} in namespace {namespace}{who}", right.verb, right.resource)
            }
            Self::Probe { namespace } => format!("create pods (dry run) in namespace {namespace}"),
            Self::ReadPod(pod) => format!("get pods {}/{}", pod.namespace, pod.name),
            Self::Evict { pod, .. } => format!("create pods/eviction {}/{}", pod.namespace, pod.name),
            Self::Nominate { pod, .. } => format!("patch pods/status {}/{}", pod.namespace, pod.name),
            Self::Ungate(pod) => format!("patch pods {}/{}", pod.namespace, pod.name),
            Self::ListPods => "list pods".to_owned(),
            Self::Anchor(_) => "patch leases".to_owned(),
            Self::Tell { .. } => "create events".to_owned(),
        }
    }
}

/// What the server said no with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// Whether a disruption budget is the cause.
    pub budget: bool,
    /// Seconds to wait, if the server says so.
    pub retry_after: Option<u64>,
    /// The server's words.
    pub message: String,
}

/// What came of a command.
#[derive(Debug)]
pub enum Answer {
    /// It was carried out.
    Done,
    /// The run as it is now, for [`Command::ReadRun`]; none: it is gone.
    Run(Option<Box<RunSeen>>),
    /// The pod of that name, for [`Command::ReadPod`].
    Pod(Option<Box<Seen>>),
    /// The cluster with all pods of one moment, for [`Command::ListPods`].
    Cluster(Box<Snapshot>),
    /// The server refused.
    Refused(Refusal),
    /// No answer came: it may have been carried out.
    Lost(String),
}

/// What execution needs to know of the run's object.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeen {
    /// Its UID.
    pub uid: String,
    /// Its status; none when there is none.
    pub status: Option<RepackRunStatus>,
    /// It is being deleted.
    pub deleting: bool,
    /// The annotation asks to stop.
    pub cancelled: bool,
    /// It has the finalizer.
    pub finalizer: bool,
    /// It has the label.
    pub active: bool,
}
