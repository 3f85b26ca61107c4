//! The explanation as a versioned document: everything that the text shows.
//!
//! May import: cli, api, engine, snapshot, filter, plan

use serde::Serialize;

use super::proof::{Proof, proof};
use crate::api::{API_VERSION, ReservedRoom};
use crate::engine::Certificate;
use crate::filter::SchedulerRules;
use crate::plan::explain::{Answer, Explainer, PodExplanation, Refusal};
use crate::plan::kept::Kept;
use crate::plan::reason::Reason;
use crate::plan::status::{reserved, waiting_name};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, NodeIdx, PodIdx};

/// How the message of a pod begins that may not move; the text puts the code into it.
pub const MAY_NOT_MOVE: &str = "may not move: ";

/// An explanation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    api_version: &'static str,
    kind: &'static str,
    /// The node, when one was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeAnswer>,
    /// The PodGroup, when one was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_group: Option<GroupAnswer>,
    /// Pods.
    pub pods: Vec<PodAnswer>,
    /// Rooms that are kept on nodes which refuse one of the pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rooms: Vec<ReservedRoom>,
}

impl Explanation {
    /// There is nothing to say: a PodGroup without pods.
    pub const fn is_empty(&self) -> bool {
        self.node.is_none() && self.pods.is_empty()
    }
}

/// Why a node stays.
#[derive(Clone, Debug, Serialize)]
pub struct NodeAnswer {
    /// Its name.
    pub name: String,
    /// The plan frees it.
    pub freed: bool,
    /// Stable code of the reason; empty for a freed node.
    pub reason: String,
    /// The reason in a clause.
    pub message: String,
    /// What freeing it would take, where that is a matter of choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Proof>,
}

/// How many pods of a PodGroup would move, and how many it wants.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupAnswer {
    /// `namespace/name`.
    pub name: String,
    /// Its pods, those that wait included.
    pub pod_count: usize,
    /// `minMember`.
    pub min_member: i64,
    /// Pods that the plan moves.
    pub moving: usize,
}

/// What keeps a pod or lets it go.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAnswer {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// Cards.
    pub cards: i64,
    /// Stable code of the answer.
    pub reason: String,
    /// The answer in a clause.
    pub message: String,
    /// What would lift it, if something would.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Receivers that would accept it, also if it may not move.
    pub receivers: Vec<String>,
    /// Receivers that refuse it, by rule.
    pub refusals: Vec<RefusalAnswer>,
}

/// Receivers that refuse for one reason.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalAnswer {
    /// The Filter.
    pub plugin: String,
    /// What the closest receiver says.
    pub message: String,
    /// The receiver that comes closest.
    pub closest: String,
    /// All of them.
    pub nodes: Vec<String>,
}

impl RefusalAnswer {
    /// A refusal in words; amounts are told in the units of these rules.
    pub fn of(snapshot: &Snapshot, rules: SchedulerRules, refusal: &Refusal) -> Self {
        Self {
            plugin: refusal.failure.plugin.as_str().to_owned(),
            message: refusal.failure.sentence(snapshot, rules),
            closest: snapshot.node_name(refusal.closest).to_owned(),
            nodes: refusal.nodes.iter().map(|&node| snapshot.node_name(node).to_owned()).collect(),
        }
    }
}

/// Explains a node.
pub fn node(
    snapshot: &Snapshot,
    explainer: &mut Explainer<'_>,
    node: NodeIdx,
    certificate: Option<&Certificate>,
) -> Explanation {
    let found = explainer.node(node);
    // The report lists occupied nodes only.
    let resource = explainer.planned().plan.resource;
    let empty =
        if snapshot.node(node).allocatable[resource.at()] > 0 { Kept::Idle } else { Kept::NotProviding };
    let kept = found.kept.as_ref().or((!found.freed).then_some(&empty));
    let answer = NodeAnswer {
        name: snapshot.node_name(node).to_owned(),
        freed: found.freed,
        reason: kept.map(|k| k.code().to_owned()).unwrap_or_default(),
        message: kept.map(|k| k.sentence(snapshot)).unwrap_or_default(),
        certificate: certificate.map(|certificate| proof(snapshot, certificate)),
    };
    explanation(snapshot, explainer, Some(answer), None, &found.pods)
}

/// Explains pods.
pub fn pods(snapshot: &Snapshot, explainer: &mut Explainer<'_>, pods: &[PodIdx]) -> Explanation {
    let found: Vec<PodExplanation> = pods.iter().map(|&pod| explainer.pod(pod)).collect();
    explanation(snapshot, explainer, None, None, &found)
}

/// Explains a PodGroup and all its pods.
pub fn group(snapshot: &Snapshot, explainer: &mut Explainer<'_>, group: GroupIdx) -> Explanation {
    let members = &snapshot.groups[group.at()].pods;
    let found: Vec<PodExplanation> = members.iter().map(|&pod| explainer.pod(pod)).collect();
    let answer = GroupAnswer {
        name: snapshot.group_key(group),
        pod_count: members.len(),
        min_member: snapshot.groups[group.at()].min_member,
        moving: found.iter().filter(|pod| matches!(pod.answer, Answer::Moves(_))).count(),
    };
    explanation(snapshot, explainer, None, Some(answer), &found)
}

fn explanation(
    snapshot: &Snapshot,
    explainer: &Explainer<'_>,
    node: Option<NodeAnswer>,
    pod_group: Option<GroupAnswer>,
    found: &[PodExplanation],
) -> Explanation {
    let pods: Vec<PodAnswer> = found.iter().map(|p| pod_answer(snapshot, explainer, p)).collect();
    let refused = |room: &ReservedRoom| {
        pods.iter().any(|pod| pod.refusals.iter().any(|refusal| refusal.nodes.contains(&room.node)))
    };
    let rooms = reserved(snapshot, &explainer.planned().plan).into_iter().filter(refused).collect();
    Explanation { api_version: API_VERSION, kind: "Explanation", node, pod_group, pods, rooms }
}

/// What lifts a reason for all its pods: a flag that replaces a list names what is enabled already, too.
fn remedy(snapshot: &Snapshot, explainer: &Explainer<'_>, why: &Reason) -> String {
    let unmovable = &explainer.planned().report.unmovable;
    match unmovable.iter().find(|held| held.code == why.code.as_str()) {
        Some(held) => held.remedy.clone(),
        None => why.remedy(snapshot).unwrap_or_default(),
    }
}

/// The waiting gangs that these nodes keep room for.
fn takers(snapshot: &Snapshot, explainer: &Explainer<'_>, nodes: &[NodeIdx]) -> String {
    let withheld = explainer.planned().report.withheld.iter().filter(|w| nodes.contains(&w.node));
    let mut names: Vec<String> = withheld.map(|w| waiting_name(snapshot, w.taker)).collect();
    names.sort_unstable();
    names.dedup();
    format!("waiting {}", names.join(" and "))
}

fn pod_answer(snapshot: &Snapshot, explainer: &Explainer<'_>, found: &PodExplanation) -> PodAnswer {
    let pod = snapshot.pod(found.pod);
    let names =
        |nodes: &[NodeIdx]| nodes.iter().map(|&n| snapshot.node_name(n).to_owned()).collect::<Vec<_>>();
    let (reason, message, remedy, receivers, refusals): (&str, String, String, Vec<String>, &[Refusal]) =
        match &found.answer {
            Answer::HoldsNothing => {
                ("HoldsNothing", "holds none of the resource".to_owned(), String::new(), Vec::new(), &[])
            }
            Answer::Terminating => (
                "Terminating",
                "is terminating and will leave by itself".to_owned(),
                String::new(),
                Vec::new(),
                &[],
            ),
            Answer::Finished => {
                ("Finished", "has ended and holds nothing".to_owned(), String::new(), Vec::new(), &[])
            }
            Answer::Waits(room) => {
                let after = if explainer.planned().plan.is_empty() {
                    ""
                } else {
                    " (asked with the plan carried out)"
                };
                let room = match room {
                    Some(node) => format!("its room is kept on {}", snapshot.node_name(*node)),
                    None => format!("no room is kept for it{after}"),
                };
                let message = format!("waits for a node, {room}");
                ("Waiting", message, String::new(), names(&found.accepting), &found.refusals)
            }
            Answer::MayNotMove(why) => (
                why.code.as_str(),
                format!("{MAY_NOT_MOVE}it {}", why.sentence(snapshot)),
                remedy(snapshot, explainer, why),
                names(&found.accepting),
                &found.refusals,
            ),
            Answer::Moves(to) => (
                "Moves",
                format!("moves to {}", snapshot.node_name(*to)),
                String::new(),
                vec![snapshot.node_name(*to).to_owned()],
                &[],
            ),
            Answer::Fits(nodes) => {
                let count = nodes.len();
                let message = format!("fits {count} receiver{}", if count == 1 { "" } else { "s" });
                ("Fits", message, String::new(), names(nodes), &found.refusals)
            }
            Answer::NothingLeft { alone, first } => {
                let first: Vec<String> = first
                    .iter()
                    .map(|&(pod, to)| format!("{} on {}", snapshot.pod_key(pod), snapshot.node_name(to)))
                    .collect();
                let count = alone.len();
                let message = format!(
                    "fits {count} receiver{} alone, none after {}",
                    if count == 1 { "" } else { "s" },
                    first.join(", ")
                );
                ("NoReceiver", message, String::new(), names(alone), &found.refusals)
            }
            Answer::Withheld(nodes) => {
                let message =
                    format!("fits only where room is kept for {}", takers(snapshot, explainer, nodes));
                ("NoReceiver", message, String::new(), names(nodes), &found.refusals)
            }
            Answer::Nowhere(refusals) => {
                ("NoReceiver", "fits no receiver".to_owned(), String::new(), Vec::new(), refusals)
            }
        };
    PodAnswer {
        namespace: snapshot.namespace_name(pod.namespace).to_owned(),
        name: snapshot.text(pod.name).to_owned(),
        node: pod.node.map(|n| snapshot.node_name(n).to_owned()).unwrap_or_default(),
        cards: found.cards,
        reason: reason.to_owned(),
        message,
        remedy,
        receivers,
        refusals: refusals
            .iter()
            .map(|refusal| RefusalAnswer::of(snapshot, explainer.rules_of(found.pod), refusal))
            .collect(),
    }
}
