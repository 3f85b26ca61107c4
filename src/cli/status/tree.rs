//! How far an execution is: a line per node with its pods below it, and a line per change for whoever reads along.
//!
//! May import: cli, api

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;

use super::list::{duration, mode, name, reason};
use crate::api::{EvictionPhase, PlacementPhase, Relocation, RepackRun};
use crate::cli::options::{Glyphs, View};
use crate::cli::output::printable;

/// Pods that are shown before the rest is counted.
const MOST_PODS: usize = 40;

/// Where a pod is on its way; the word says it, the glyph repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Leaves,
    Gone,
    AtGate,
    Nominated,
    Placed,
    Stays,
    LetGo,
    NotNeeded,
}

impl Stage {
    fn of(relocation: &Relocation) -> Self {
        match (relocation.eviction.phase, relocation.placement.phase) {
            (EvictionPhase::Rejected, _) => Self::Stays,
            (EvictionPhase::Pending, _) => Self::Waits,
            (EvictionPhase::InProgress, _) => Self::Leaves,
            (_, PlacementPhase::WaitingForReplacement) => Self::Gone,
            (_, PlacementPhase::WaitingForNodeSelection) => Self::AtGate,
            (_, PlacementPhase::Nominated) => Self::Nominated,
            (_, PlacementPhase::Placed) => Self::Placed,
            (_, PlacementPhase::TimedOut) => Self::LetGo,
            (_, PlacementPhase::NotNeeded) => Self::NotNeeded,
        }
    }

    const fn glyph(self, glyphs: Glyphs) -> char {
        let (pretty, plain) = match self {
            Self::Waits => ('·', '.'),
            Self::Leaves => ('…', '~'),
            Self::Gone => ('○', 'o'),
            Self::AtGate => ('◌', 'o'),
            Self::Nominated => ('→', '>'),
            Self::Placed => ('✓', '+'),
            Self::Stays => ('✗', 'x'),
            Self::LetGo => ('!', '!'),
            Self::NotNeeded => ('-', '-'),
        };
        match glyphs {
            Glyphs::Unicode => pretty,
            Glyphs::Ascii => plain,
        }
    }

    /// Whether its replacement still needs a node.
    const fn is_open(self) -> bool {
        matches!(self, Self::Gone | Self::AtGate | Self::Nominated)
    }
}

/// What is said of one pod, without its name.
fn words(relocation: &Relocation) -> String {
    let placement = &relocation.placement;
    let selected = placement.selected_node_name.as_deref().unwrap_or("a node");
    match Stage::of(relocation) {
        Stage::Waits => format!("waits, planned for {}", relocation.planned_node_name),
        Stage::Leaves if relocation.eviction.message.is_empty() => "is being evicted".to_owned(),
        Stage::Leaves => format!("is being evicted: {}", relocation.eviction.message),
        Stage::Gone => "evicted, its replacement is not there yet".to_owned(),
        Stage::AtGate => "evicted, its replacement waits for a node".to_owned(),
        Stage::Nominated => format!("evicted, its replacement is to run on {selected}"),
        Stage::Placed => {
            let actual = placement.actual_node_name.as_deref().unwrap_or(selected);
            let planned = &relocation.planned_node_name;
            if actual == planned {
                format!("runs on {actual}")
            } else {
                format!("runs on {actual} instead of {planned}")
            }
        }
        Stage::Stays => format!("was not evicted: {}", relocation.eviction.message),
        Stage::LetGo => "evicted, its replacement was let go: its time was over".to_owned(),
        Stage::NotNeeded => "evicted, no replacement is needed".to_owned(),
    }
}

/// The whole run as it is; none where nothing is carried out.
pub fn tree(run: &RepackRun, view: &View, now: Timestamp) -> Option<String> {
    let status = run.status.as_ref()?;
    let relocations = status.relocations.as_ref().filter(|all| !all.is_empty())?;
    let why = reason(run).map_or_else(String::new, |reason| format!(" ({reason})"));
    let left = until(status.execution_deadline.as_deref(), now);
    let deadline = left.map(|left| format!(", at most {left} more")).unwrap_or_default();
    let mut text = format!("{}: {} {:?}{why}{deadline}\n", printable(name(run)), mode(run), status.phase);
    let _ = writeln!(text, "{}", printable(&status.message));
    let from = origins(run);
    let mut nodes: Vec<(&str, Vec<&Relocation>)> = Vec::new();
    for relocation in relocations {
        let key = (relocation.namespace.as_str(), relocation.victim_pod_name.as_str());
        let node = from.get(&key).copied().unwrap_or_default();
        match nodes.iter_mut().find(|(known, _)| *known == node) {
            Some((_, pods)) => pods.push(relocation),
            None => nodes.push((node, vec![relocation])),
        }
    }
    let mut shown = 0;
    for (node, pods) in nodes {
        let count = |holds: fn(Stage) -> bool| pods.iter().filter(|pod| holds(Stage::of(pod))).count();
        let out = count(|stage| !matches!(stage, Stage::Waits | Stage::Leaves | Stage::Stays));
        let placed = count(|stage| stage == Stage::Placed);
        let all = pods.len();
        let _ = writeln!(text, "node {}: {out} of {all} out, {placed} placed", printable(node));
        for pod in pods {
            shown += 1;
            if shown > MOST_PODS {
                continue;
            }
            let stage = Stage::of(pod);
            let left = until(Some(&pod.placement.expiration_time), now).filter(|_| stage.is_open());
            let left = left.map(|left| format!(" ({left} left)")).unwrap_or_default();
            let who = format!("{}/{}", pod.namespace, pod.victim_pod_name);
            let glyph = stage.glyph(view.glyphs);
            let _ = writeln!(text, "  {glyph} {} {}{left}", printable(&who), printable(&words(pod)));
        }
    }
    if shown > MOST_PODS {
        let _ = writeln!(text, "  and {} more pods", shown - MOST_PODS);
    }
    Some(text)
}

/// The node of each victim, as the plan says.
fn origins(run: &RepackRun) -> BTreeMap<(&str, &str), &str> {
    let plan = run.status.as_ref().and_then(|status| status.plan.as_ref());
    let moves = plan.into_iter().flat_map(|plan| &plan.moves);
    moves
        .flat_map(|group| {
            let named = group.pods.iter().map(|pod| (&pod.name, &pod.from_node));
            named.map(|(pod, node)| ((group.namespace.as_str(), pod.as_str()), node.as_str()))
        })
        .collect()
}

/// How long until a time; none once it is over or unknown.
fn until(time: Option<&str>, now: Timestamp) -> Option<String> {
    let time: Timestamp = time?.parse().ok()?;
    let seconds = time.as_second() - now.as_second();
    (seconds > 0).then(|| duration(seconds))
}

/// What was said of a run, so that only what is new is said.
#[derive(Debug, Default)]
pub struct Told {
    message: String,
    pods: BTreeMap<String, String>,
}

impl Told {
    /// A line for everything that changed since the last call.
    pub fn news(&mut self, run: &RepackRun) -> Vec<String> {
        let mut news = Vec::new();
        let Some(status) = &run.status else { return news };
        if status.message != self.message {
            self.message.clone_from(&status.message);
            news.push(status.message.clone());
        }
        for relocation in status.relocations.iter().flatten() {
            let who = format!("{}/{}", relocation.namespace, relocation.victim_pod_name);
            let words = words(relocation);
            // That it waits was said by the plan.
            let begins = !self.pods.contains_key(&who) && Stage::of(relocation) == Stage::Waits;
            if self.pods.get(&who) != Some(&words) {
                if !begins {
                    news.push(format!("{who} {words}"));
                }
                self.pods.insert(who, words);
            }
        }
        news
    }

    /// Whether anything was said.
    pub fn said_anything(&self) -> bool {
        !self.message.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(eviction: &str, placement: &str, selected: Option<&str>, actual: Option<&str>) -> RepackRun {
        let pod = |name: &str| json!({"name": name, "fromNode": "n1", "toNode": "n2", "cards": 1, "cascade": false});
        let relocation = |name: &str, eviction: &str, placement: &str| {
            json!({"namespace": "a", "podGroupName": "g", "victimPodName": name, "victimPodUID": name,
                   "schedulingRequirementsHash": "", "plannedNodeName": "n2",
                   "eviction": {"phase": eviction, "message": ""},
                   "placement": {"phase": placement, "selectedNodeName": selected, "actualNodeName": actual,
                                 "expirationTime": "2026-07-30T10:05:00Z"}})
        };
        let mut plan = serde_json::to_value(crate::api::Plan::default()).unwrap();
        plan["moves"] =
            json!([{"namespace": "a", "podGroupName": "g", "cards": 2, "pods": [pod("p"), pod("q")]}]);
        let status = json!({"phase": "Running", "message": "Evicting.", "conditions": [], "plan": plan,
            "executionDeadline": "2026-07-30T10:10:00Z",
            "relocations": [relocation("p", eviction, placement), relocation("q", "Pending", "WaitingForReplacement")]});
        let mut run = RepackRun::new(crate::api::RepackRunSpec::default());
        run.metadata.name = Some("r".to_owned());
        run.status = Some(serde_json::from_value(status).unwrap());
        run
    }

    #[test]
    fn a_node_says_how_many_of_its_pods_are_out_and_each_pod_what_it_waits_for() {
        let view = View { glyphs: Glyphs::Ascii, ..View::default() };
        let now = "2026-07-30T10:00:00Z".parse().unwrap();
        let run = run("Accepted", "Nominated", Some("n3"), None);
        insta::assert_snapshot!(tree(&run, &view, now).unwrap(), @"
        r: DryRun Running, at most 10m more
        Evicting.
        node n1: 1 of 2 out, 0 placed
          > a/p evicted, its replacement is to run on n3 (5m left)
          . a/q waits, planned for n2
        ");
    }

    #[test]
    fn a_change_is_told_once() {
        let mut told = Told::default();
        assert_eq!(told.news(&run("Pending", "WaitingForReplacement", None, None)), ["Evicting."]);
        let gone = run("Accepted", "WaitingForNodeSelection", None, None);
        assert_eq!(told.news(&gone), ["a/p evicted, its replacement waits for a node"]);
        assert!(told.news(&gone).is_empty());
        let placed = run("Accepted", "Placed", Some("n3"), Some("n3"));
        assert_eq!(told.news(&placed), ["a/p runs on n3 instead of n2"]);
    }
}
