//! Which node a replacement goes to, on the cluster as it is: the planned one while it takes the pod, else the receiver
//! that has least left. Never a node that the plan frees; a node without the resource only at the very end.
//!
//! Nobody holds the room of a pod that is away. A group of Volcano that waits to be let into its queue has no pods yet and
//! is let in as soon as enough is free, so a unit stays where such a group would run in its place.
//!
//! Two states: everything that stands now, and the same once what is terminating has gone. A node is chosen by the
//! second, and the gate opens by the first: a scheduler drops a nomination at its first failed try.
//!
//! May import: api, snapshot, filter

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::barrier::lease_of;
use super::claim::pod_named;
use super::journal::{Orders, is_closed, is_open};
use super::seen::Sight;
use crate::api::Relocation;
use crate::filter::{Incoming, Prepared, SchedulerRules, State, Verdict};
use crate::snapshot::model::{GroupIdx, GroupOrigin, NodeIdx, PodIdx, Ready};

/// Volcano counts cards in thousandths.
const THOUSANDTHS: i64 = 1000;

/// The two states.
pub(super) struct Rooms<'s> {
    now: State<'s>,
    later: State<'s>,
    freed: FxHashSet<NodeIdx>,
    resource: Option<crate::snapshot::model::ResourceIdx>,
}

impl<'s> Rooms<'s> {
    /// The rooms for replacements, with those taken that others were promised.
    pub fn new(sight: &Sight<'s>, orders: &Orders, all: &[Relocation], freed: &[String]) -> Self {
        let snapshot = sight.snapshot;
        let now = State::with_schedulers(snapshot, &orders.schedulers);
        let mut later = now.clone();
        later.release_claims();
        for (at, pod) in snapshot.pods.iter().enumerate() {
            if pod.terminating && pod.stands() {
                later.remove(PodIdx::new(at));
            }
        }
        let freed = freed.iter().filter_map(|name| snapshot.node_named(name)).collect();
        let mut rooms = Self { now, later, freed, resource: snapshot.resource_named(&orders.resource) };
        for relocation in all.iter().filter(|relocation| is_open(relocation)) {
            rooms.keep(sight, relocation, true);
        }
        rooms
    }

    /// Takes the room that a relocation was promised, or gives it back while its own pod is asked about.
    pub fn keep(&mut self, sight: &Sight<'_>, relocation: &Relocation, taken: bool) {
        let snapshot = sight.snapshot;
        let Some((pod, node)) = promised(sight, relocation) else { return };
        let facts = snapshot.pod(pod);
        // The rules of kube count nominated pods by themselves.
        if facts.nominated == Some(node) && self.now.rules_of(facts.spec) == Some(SchedulerRules::Kube) {
            return;
        }
        let incoming = Incoming::pending(snapshot, pod);
        for state in [&mut self.now, &mut self.later] {
            if taken {
                state.place(incoming, node);
            } else {
                state.unplace(incoming, node);
            }
        }
    }

    /// The node for a replacement. `last` allows nodes without the resource.
    pub fn choose(
        &mut self,
        sight: &Sight<'_>,
        relocation: &Relocation,
        pod: PodIdx,
        last: bool,
    ) -> Option<NodeIdx> {
        self.keep(sight, relocation, false);
        let found = self.best(sight, relocation, pod, last);
        self.keep(sight, relocation, true);
        found
    }

    fn best(&self, sight: &Sight<'_>, relocation: &Relocation, pod: PodIdx, last: bool) -> Option<NodeIdx> {
        let snapshot = sight.snapshot;
        let incoming = Incoming::pending(snapshot, pod);
        let prepared = Prepared::new(&self.later, incoming);
        let planned = snapshot.node_named(&relocation.planned_node_name);
        // A pod that was recreated along may be planned back to its own node.
        if let Some(planned) = planned.filter(|n| !self.freed.contains(n) && prepared.fits(*n)) {
            return Some(planned);
        }
        let chosen = relocation.placement.selected_node_name.as_deref().and_then(|n| snapshot.node_named(n));
        if let Some(chosen) = chosen.filter(|n| !self.freed.contains(n) && prepared.fits(*n)) {
            return Some(chosen);
        }
        let rules = self.later.rules_of(snapshot.pod(pod).spec).unwrap_or(SchedulerRules::Kube);
        let now = Prepared::new(&self.now, incoming);
        let receives =
            |&node: &NodeIdx| self.may_receive(node) && (last || self.holds(node)) && prepared.fits(node);
        let rank = |&node: &NodeIdx| {
            let left = self.resource.map_or(0, |resource| self.later.left(rules, node, resource));
            (!self.holds(node), !now.fits(node), left, node)
        };
        (0..snapshot.nodes.len()).map(NodeIdx::new).filter(receives).min_by_key(rank)
    }

    /// A node that takes a pod of nobody's now, beside everything that the run's own pods need or will need.
    pub fn spare(&mut self, sight: &Sight<'_>, all: &[Relocation], pod: PodIdx) -> Option<NodeIdx> {
        let snapshot = sight.snapshot;
        let incoming = Incoming::pending(snapshot, pod);
        for relocation in all.iter().filter(|r| !is_closed(r.placement.phase)) {
            let Some(planned) = snapshot.node_named(&relocation.planned_node_name) else { continue };
            if relocation.placement.selected_node_name.is_some() {
                continue;
            }
            let victim = pod_named(sight, &relocation.namespace, &relocation.victim_pod_name);
            // A victim that is gone asked for what its mates ask for.
            let coming = victim.map_or(incoming, |victim| Incoming::replacement(snapshot, victim));
            self.now.place(coming, planned);
        }
        let rules = self.now.rules_of(snapshot.pod(pod).spec).unwrap_or(SchedulerRules::Kube);
        let prepared = Prepared::new(&self.now, incoming);
        let receives = |&node: &NodeIdx| self.may_receive(node) && prepared.fits(node);
        let rank = |&node: &NodeIdx| {
            let left = self.resource.map_or(0, |resource| self.now.left(rules, node, resource));
            (!self.holds(node), left, node)
        };
        (0..snapshot.nodes.len()).map(NodeIdx::new).filter(receives).min_by_key(rank)
    }

    /// Not a node that the plan frees, and one that takes pods and keeps them.
    fn may_receive(&self, node: NodeIdx) -> bool {
        let snapshot = self.later.snapshot();
        let facts = snapshot.node(node);
        !self.freed.contains(&node) && facts.ready == Ready::Yes && !facts.is_leaving(&snapshot.symbols)
    }

    /// Why no node takes a replacement: what they say, those that say the same together.
    pub fn why_not(&mut self, sight: &Sight<'_>, relocation: &Relocation, pod: PodIdx, last: bool) -> String {
        /// Different answers, and names with each.
        const MOST: usize = 3;
        self.keep(sight, relocation, false);
        let snapshot = sight.snapshot;
        let rules = self.later.rules_of(snapshot.pod(pod).spec).unwrap_or(SchedulerRules::Kube);
        let prepared = Prepared::new(&self.later, Incoming::pending(snapshot, pod));
        let mut said: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for node in (0..snapshot.nodes.len()).map(NodeIdx::new) {
            let why = match prepared.verdict(node) {
                _ if self.freed.contains(&node) => "is to be freed".to_owned(),
                Verdict::Fail(failure) => failure.sentence(snapshot, rules),
                _ if !self.may_receive(node) => "takes no pods for long".to_owned(),
                _ if !last && !self.holds(node) => "is empty and stays so".to_owned(),
                _ => continue,
            };
            said.entry(why).or_default().push(snapshot.node_name(node));
        }
        drop(prepared);
        self.keep(sight, relocation, true);
        let mut said: Vec<(String, Vec<&str>)> = said.into_iter().collect();
        said.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
        let clause = |(why, nodes): &(String, Vec<&str>)| {
            let named = nodes.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
            match nodes.len().saturating_sub(MOST) {
                0 => format!("{named}: {why}"),
                more => format!("{named} and {more} more: {why}"),
            }
        };
        said.iter().take(MOST).map(clause).collect::<Vec<_>>().join("; ")
    }

    /// True when the scheduler would bind the pod to the node at once.
    pub fn is_ready(
        &mut self,
        sight: &Sight<'_>,
        relocation: &Relocation,
        pod: PodIdx,
        node: NodeIdx,
    ) -> bool {
        self.keep(sight, relocation, false);
        let fits = Prepared::new(&self.now, Incoming::pending(sight.snapshot, pod)).fits(node);
        self.keep(sight, relocation, true);
        fits
    }

    /// A group that is not let into its queue and will be once `away` cards more are free, and for how many it asks. What is
    /// free now is not enough for it, or it would be in already.
    fn rival(&self, away: i64) -> Option<(GroupIdx, i64)> {
        let (snapshot, resource) = (self.later.snapshot(), self.resource?);
        let counts = |&node: &NodeIdx| {
            let facts = snapshot.node(node);
            facts.ready == Ready::Yes && !facts.unschedulable
        };
        let nodes = (0..snapshot.nodes.len()).map(NodeIdx::new).filter(counts);
        let free: i64 =
            nodes.map(|node| self.later.left(SchedulerRules::Volcano, node, resource).max(0)).sum();
        let asks = |at: GroupIdx| {
            let group = &snapshot.groups[at.at()];
            let waits = group.origin == GroupOrigin::Object
                && snapshot.text(group.phase) == "Pending"
                && lease_of(snapshot, at).is_none()
                && !group.pods.iter().any(|&pod| snapshot.pod(pod).stands());
            Some((at, group.min_resources.as_ref().filter(|_| waits)?.get(resource)))
        };
        let mut groups = (0..snapshot.groups.len()).map(GroupIdx::new).filter_map(asks);
        let found = groups.find(|&(_, asked)| asked > free && asked <= free + away * THOUSANDTHS);
        found.map(|(group, asked)| (group, asked / THOUSANDTHS))
    }

    /// The node holds some of the resource, apart from what is leaving.
    fn holds(&self, node: NodeIdx) -> bool {
        let snapshot = self.later.snapshot();
        let held = |&pod: &PodIdx| {
            self.resource.is_some_and(|resource| snapshot.charged(pod, resource) > 0)
                && !snapshot.pod(pod).terminating
        };
        snapshot.pods_on[node.at()].iter().any(held)
    }
}

/// The pod and the node that a relocation was promised, while the pod is not bound.
fn promised(sight: &Sight<'_>, relocation: &Relocation) -> Option<(PodIdx, NodeIdx)> {
    let placement = &relocation.placement;
    let node = sight.snapshot.node_named(placement.selected_node_name.as_deref()?)?;
    let pod = pod_named(sight, &relocation.namespace, placement.replacement_pod_name.as_deref()?)?;
    let facts = sight.snapshot.pod(pod);
    let same = Some(sight.snapshot.text(facts.uid)) == placement.replacement_pod_uid.as_deref();
    (same && facts.node.is_none()).then_some((pod, node))
}

/// Whether a node can still be emptied: nothing of the resource came that is not among its victims, no group waits for the
/// room of the `away` cards that are away at once, and the replacements of all its victims find room elsewhere.
pub(super) fn still_empties(
    sight: &Sight<'_>,
    orders: &Orders,
    node: &str,
    victims: &[&Relocation],
    replacements: &FxHashSet<&str>,
    freed: &[String],
    away: i64,
) -> Result<(), String> {
    let snapshot = sight.snapshot;
    let Some(at) = snapshot.node_named(node) else { return Err("the node is gone".to_owned()) };
    let Some(resource) = snapshot.resource_named(&orders.resource) else {
        return Err(format!("no node provides {} any more", orders.resource));
    };
    let uids: FxHashSet<&str> = victims.iter().map(|r| r.victim_pod_uid.as_str()).collect();
    for &pod in &snapshot.pods_on[at.at()] {
        let facts = snapshot.pod(pod);
        let uid = snapshot.text(facts.uid);
        if snapshot.charged(pod, resource) > 0 && !facts.terminating && !uids.contains(uid) {
            let whose = if replacements.contains(uid) { "the replacement" } else { "pod" };
            return Err(format!("{whose} {} holds {} there", snapshot.pod_key(pod), orders.resource));
        }
    }
    let mut rooms = Rooms::new(sight, orders, &[], freed);
    if let Some((group, cards)) = rooms.rival(away) {
        return Err(format!(
            "PodGroup {} waits for {cards} {} and would take the room of the pods that move while they are away",
            snapshot.group_key(group),
            orders.resource
        ));
    }
    let mut incoming = Vec::new();
    for relocation in victims {
        let found = pod_named(sight, &relocation.namespace, &relocation.victim_pod_name);
        let Some(pod) =
            found.filter(|&pod| snapshot.text(snapshot.pod(pod).uid) == relocation.victim_pod_uid)
        else {
            continue;
        };
        if snapshot.pod(pod).stands() && !snapshot.pod(pod).terminating {
            rooms.later.remove(pod);
        }
        incoming.push((*relocation, pod));
    }
    for (relocation, pod) in incoming {
        let replacement = Incoming::replacement(snapshot, pod);
        let place = {
            let prepared = Prepared::new(&rooms.later, replacement);
            let planned = snapshot.node_named(&relocation.planned_node_name);
            let fits = |n: &NodeIdx| !rooms.freed.contains(n) && prepared.fits(*n);
            let others = (0..snapshot.nodes.len()).map(NodeIdx::new).filter(|&n| rooms.holds(n));
            planned.filter(fits).or_else(|| others.into_iter().find(fits))
        };
        match place {
            Some(place) => rooms.later.place(replacement, place),
            None => {
                return Err(format!("no receiver takes pod {} any more", snapshot.pod_key(pod)));
            }
        }
    }
    Ok(())
}
