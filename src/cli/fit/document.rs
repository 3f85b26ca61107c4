//! The answer as a versioned document: everything that the text shows.
//!
//! May import: cli, api, engine, snapshot, plan

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api::{API_VERSION, RepackRunStatus};
use crate::cli::explain::document::RefusalAnswer;
use crate::engine::Answer;
use crate::plan::fit::{Seats, Shortage, Standing};
use crate::plan::status::dry_run_status;
use crate::snapshot::Snapshot;
use crate::snapshot::build::wanted::Part;
use crate::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

/// What `-o json` and `-o yaml` print.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    api_version: &'static str,
    kind: &'static str,
    /// The resource that nodes would be freed of.
    pub resource: String,
    /// Pods that have to run at the same time.
    pub replicas: usize,
    /// The same by template.
    pub gang: Vec<Members>,
    /// `FitsNow`, `FitsAfterRepack`, `NeverFits`, `NoRepackFound`.
    pub answer: &'static str,
    /// Where the pods go, by node.
    pub seats: Vec<Seat>,
    /// No plan that frees fewer nodes makes room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewest_nodes: Option<usize>,
    /// No repack makes room for more pods than this; absent where all fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_pods: Option<i64>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Why>,
    /// The first pod without room, and what nodes say to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// A dry run under the same flags that may empty only the freed nodes makes the same plan; if not, that one
    /// does not leave the room that is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run_repeats: Option<bool>,
    /// The status of the repack that makes room, as `dryrun` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repack: Option<RepackRunStatus>,
}

/// Pods of one template.
#[derive(Clone, Debug, Serialize)]
pub struct Members {
    /// `Job team-a/train`; empty for pods that flags describe.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The task of a Volcano Job.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// How many have to run.
    pub pods: usize,
    /// How many the workload creates.
    pub of: usize,
    /// Cards of each.
    pub cards: i64,
}

/// Pods of one template on one node.
#[derive(Clone, Debug, Serialize)]
pub struct Seat {
    /// The node.
    pub node: String,
    /// How many pods.
    pub pods: usize,
    /// Their place in `gang`; absent where there is only one template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<usize>,
}

/// Why no repack helps, or none is known to.
#[derive(Clone, Debug, Serialize)]
pub struct Why {
    /// The stable code.
    pub code: &'static str,
    /// The same in a clause.
    pub message: String,
    /// What is asked for.
    pub need: i64,
    /// What there is.
    pub have: i64,
}

/// A pod without room.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Its place in `gang`.
    pub member: usize,
    /// Why nodes refuse it, with the others seated.
    pub refusals: Vec<RefusalAnswer>,
}

/// The document of an answer. `described` are pods that flags describe and no file names.
pub fn document(
    snapshot: &Snapshot,
    parts: &[Part],
    described: bool,
    resource: &str,
    answer: &Answer,
) -> Document {
    let names = Names::new(parts);
    let index = snapshot.resource_named(resource);
    let members = parts.iter().map(|part| members(snapshot, part, index, described));
    let mut document = Document {
        api_version: API_VERSION,
        kind: "RepackFit",
        resource: resource.to_owned(),
        replicas: parts.iter().map(|part| part.pods.len()).sum(),
        gang: members.collect(),
        answer: "",
        seats: Vec::new(),
        fewest_nodes: None,
        most_pods: None,
        reason: None,
        refused: None,
        dry_run_repeats: None,
        repack: None,
    };
    match answer {
        Answer::Now(seats) => {
            document.answer = "FitsNow";
            document.seats = names.by_node(snapshot, seats);
        }
        Answer::After { planned, seats, fewest, repeats } => {
            document.answer = "FitsAfterRepack";
            document.seats = names.by_node(snapshot, seats);
            document.fewest_nodes = Some(*fewest);
            document.dry_run_repeats = Some(*repeats);
            document.repack = Some(dry_run_status(snapshot, planned));
        }
        Answer::Never { most, shortage, standing } => {
            document.answer = "NeverFits";
            document.most_pods = Some(*most);
            document.reason = Some(why(*shortage));
            document.refused = Some(names.refused(snapshot, standing));
        }
        Answer::NotFound { seated, emptied, most, standing } => {
            document.answer = "NoRepackFound";
            document.most_pods = Some(*most);
            let found = match *emptied {
                0 => "no plan empties a node that would help (dryrun says what keeps each)".to_owned(),
                emptied => format!("after the best repack that was found, of {}", counted(emptied, "node")),
            };
            document.reason = Some(Why {
                code: "NoRepackFound",
                message: format!(
                    "{found}, there is room for {seated} of {}, and the bound leaves up to {most} open",
                    counted(document.replicas, "pod")
                ),
                need: i64::try_from(document.replicas).unwrap_or(i64::MAX),
                have: i64::try_from(*seated).unwrap_or(i64::MAX),
            });
            document.refused = Some(names.refused(snapshot, standing));
        }
    }
    document
}

fn members(snapshot: &Snapshot, part: &Part, resource: Option<ResourceIdx>, described: bool) -> Members {
    let spec = part.pods.first().and_then(|key| pod_named(snapshot, key)).map(|pod| snapshot.spec_of(pod));
    let cards =
        spec.zip(resource).map_or(0, |(spec, resource)| snapshot.requests(spec.requests).get(resource));
    let workload = if described {
        String::new()
    } else {
        format!("{} {}/{}", part.kind.name(), part.namespace, part.name)
    };
    Members { workload, task: part.task.clone(), pods: part.pods.len(), of: part.of, cards }
}

fn pod_named(snapshot: &Snapshot, key: &str) -> Option<PodIdx> {
    snapshot.candidates.iter().copied().find(|&pod| snapshot.pod_key(pod) == key)
}

fn why(shortage: Shortage) -> Why {
    let (need, have, message) = match shortage {
        Shortage::Cards { need, have } => {
            let verb = if need == 1 { "is" } else { "are" };
            let message = format!(
                "{} {verb} asked for, {have} free, and moving pods frees none",
                counted(need, "card")
            );
            (need, have, message)
        }
        Shortage::Queue { need, have } => {
            (need, have, format!("the queue lets in {have} of {}", counted(need, "pod")))
        }
        Shortage::Nowhere { need } => {
            (need, 0, format!("no node takes any of {}, even emptied", counted(need, "pod")))
        }
        Shortage::Budget { need, have, emptied } => {
            let message = format!(
                "the budget lets {} be emptied at the most, which makes {} for {}",
                counted(emptied, "node"),
                counted(have, "place"),
                counted(need, "pod")
            );
            (need, have, message)
        }
        Shortage::Places { need, have, emptied } => {
            let message = format!(
                "{} at the most for {}, with {} emptied",
                counted(have, "place"),
                counted(need, "pod"),
                counted(emptied, "node")
            );
            (need, have, message)
        }
    };
    Why { code: shortage.code(), message, need, have }
}

fn counted<N: Copy + std::fmt::Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Which template a pod is of.
struct Names<'p> {
    part_of: BTreeMap<&'p str, usize>,
    several: bool,
}

impl<'p> Names<'p> {
    fn new(parts: &'p [Part]) -> Self {
        let of = parts.iter().enumerate().flat_map(|(at, p)| p.pods.iter().map(move |pod| (&**pod, at)));
        Self { part_of: of.collect(), several: parts.len() > 1 }
    }

    fn part(&self, snapshot: &Snapshot, pod: PodIdx) -> usize {
        self.part_of.get(&*snapshot.pod_key(pod)).copied().unwrap_or(0)
    }

    fn by_node(&self, snapshot: &Snapshot, seats: &Seats) -> Vec<Seat> {
        let mut places: Vec<_> =
            seats.seated.iter().map(|&(pod, node)| (node, self.part(snapshot, pod))).collect();
        places.sort_unstable();
        let seat = |same: &[(NodeIdx, usize)]| Seat {
            node: snapshot.node_name(same[0].0).to_owned(),
            pods: same.len(),
            member: self.several.then_some(same[0].1),
        };
        places.chunk_by(|a, b| a == b).map(seat).collect()
    }

    fn refused(&self, snapshot: &Snapshot, standing: &Standing) -> Refused {
        let told = |refusal| RefusalAnswer::of(snapshot, standing.rules, refusal);
        let refusals = standing.refusals.iter().map(told);
        Refused { member: self.part(snapshot, standing.pod), refusals: refusals.collect() }
    }
}
