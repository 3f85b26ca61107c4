//! Whether pods that are only asked about find room: in the cluster as it is, or once a plan is carried out.
//!
//! The pods are one gang, of one template or several. [`seats`] finds places for them under all Filters, [`room`] counts
//! what no plan can exceed. Rooms of waiting pods are taken first, as in any plan; waiting gangs that fit only once
//! victims have left go first, too, unless the pods asked about have a higher priority.
//!
//! May import: snapshot, filter, plan

mod complete;
mod part;
mod room;
mod seats;
#[cfg(test)]
mod tests;

pub use complete::Rooms;
pub use room::{Limit, Room, Shortage};
pub use seats::Seats;

use self::part::Part;
use super::explain::{Refusal, refusals};
use super::kept::Kept;
use super::outcome::Planned;
use super::pending::{Turn, left_over};
use super::problem::Problem;
use super::request::Request;
use super::setup::start;
use super::types::Plan;
use crate::filter::{Detail, Incoming, PluginName, SchedulerRules, State};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, Sym};

/// A pod without room.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The pod.
    pub pod: PodIdx,
    /// Whose rules it follows; amounts of the refusals are in their units.
    pub rules: SchedulerRules,
    /// Why nodes refuse it, with the others seated, most nodes first.
    pub refusals: Vec<Refusal>,
}

/// The pods that are asked about ([`Snapshot::candidates`]) and the cluster that they come to.
#[derive(Debug)]
pub struct Question<'s> {
    problem: Problem<'s>,
    state: State<'s>,
    /// Waiting gangs that go first where a plan makes room for them.
    waiting: Vec<Turn>,
    parts: Vec<Part>,
}

impl<'s> Question<'s> {
    /// Looks everything up.
    ///
    /// # Errors
    /// A sentence when the request can not be resolved.
    pub fn new(snapshot: &'s Snapshot, request: &Request) -> Result<Self, String> {
        let Some(resource) = snapshot.resource_named(&request.resource) else {
            return Err(format!("no node provides and no pod requests {}", request.resource));
        };
        let start = start(snapshot, request, resource)?;
        let parts = part::parts(&start.problem, &start.state);
        let priority =
            snapshot.candidates.iter().map(|&pod| snapshot.spec_of(pod).priority).min().unwrap_or(0);
        let mut waiting = left_over(snapshot, &start.reserved);
        waiting.retain(|turn| turn.pods.iter().any(|&pod| snapshot.spec_of(pod).priority >= priority));
        Ok(Self { problem: start.problem, state: start.state, waiting, parts })
    }

    /// What to know about the request, as sentences without a full stop: scopes that name nothing, and the like.
    pub fn noticed(&self) -> Vec<String> {
        let (snapshot, facts) = (self.problem.snapshot, &self.problem.facts);
        let mut noticed: Vec<String> =
            facts.scope.warnings.iter().chain(&facts.movability.warnings).cloned().collect();
        for part in &self.parts {
            let spec = snapshot.spec(part.spec);
            let scheduler = snapshot.text(spec.scheduler);
            if self.state.rules_of(part.spec).is_none() {
                noticed.push(format!(
                    "the rules of scheduler {scheduler} are unknown, so those of kube are taken for the pods that are asked \
                     about; --scheduler-rules {scheduler}=volcano declares others"
                ));
            }
            if snapshot.node_rules[spec.node_rules.at()].node_name != Sym::EMPTY {
                noticed.push(
                    "pods that name their node are placed by no scheduler; they are asked about as if one let them \
                     there"
                        .to_owned(),
                );
            }
            if !spec.gates.is_empty() {
                noticed.push(
                    "pods with scheduling gates are asked about as if the gates were lifted".to_owned(),
                );
            }
        }
        noticed.sort_unstable();
        noticed.dedup();
        noticed
    }

    /// What no plan can exceed, by the number of nodes that it empties.
    pub fn room(&self) -> Room {
        Room::new(&self.problem, &self.state, &self.parts)
    }

    /// Seats now, or after `plan`.
    pub fn seats(&self, plan: Option<&Plan>) -> Seats {
        seats::seat(&self.problem, self.after(plan), &self.parts)
    }

    /// True when the pods are few enough for every choice of rooms to be told by [`Question::rooms_beside`].
    pub fn is_of_few_pods(&self) -> bool {
        complete::are_few(&self.parts)
    }

    /// Rooms that the pods need on other nodes when these are emptied, one choice after the other, smallest first. None
    /// where they do not fit even then.
    pub fn rooms_beside(&self, emptied: &[NodeIdx]) -> Vec<Rooms> {
        complete::beside(&self.problem, &mut self.state.clone(), &self.parts, emptied)
    }

    /// So many rooms that the pods find now: on nodes other than these, or on any, fullest nodes first.
    pub fn rooms_now(&self, emptied: &[NodeIdx], needed: usize) -> Vec<Rooms> {
        let any = self.seats(None).seated;
        let others: Rooms = any.iter().copied().filter(|(_, node)| !emptied.contains(node)).collect();
        let mut choices = vec![others, any];
        for rooms in &mut choices {
            rooms.truncate(needed);
        }
        choices.dedup();
        choices.retain(|rooms| !rooms.is_empty());
        choices
    }

    /// Tells a plan that was asked for only some of the nodes as one of the whole request: the scope is that of the
    /// request, and a node stays for its own reason, because it receives, or because the others are enough.
    pub fn tell(&self, planned: &mut Planned) {
        let Planned { plan, report } = planned;
        let scope = &self.problem.facts.scope;
        report.groups_in_scope = i64::try_from(scope.group_count).unwrap_or(i64::MAX);
        report.nodes_in_scope = i64::try_from(scope.node_count).unwrap_or(i64::MAX);
        for kept in &mut report.kept {
            let receives = plan.moves.iter().any(|m| m.to == kept.node);
            kept.why = match &self.problem.node(kept.node).kept {
                Some(own) => own.clone(),
                None if receives => Kept::Receives,
                None => Kept::EnoughFreed,
            };
        }
    }

    /// The first pod that stands, with the others seated.
    pub fn standing(&self, plan: Option<&Plan>, seats: &Seats) -> Option<Standing> {
        let snapshot = self.problem.snapshot;
        let &pod = seats.standing.first()?;
        let mut state = self.after(plan);
        for &(pod, node) in &seats.seated {
            state.place(Incoming::pending(snapshot, pod), node);
        }
        let all = (0..snapshot.nodes.len()).map(NodeIdx::new);
        let (_, refusals) = refusals(&state, Incoming::pending(snapshot, pod), all);
        let rules = state.rules_of(snapshot.pod(pod).spec).unwrap_or(SchedulerRules::Kube);
        Some(Standing { pod, rules, refusals })
    }

    /// What their queue can not exceed, where it is what refuses the pod without room: no repack changes that.
    pub fn queue_limit(&self, seats: &Seats, standing: &Standing) -> Option<Limit> {
        let snapshot = self.problem.snapshot;
        let failure = standing.refusals.first().map(|refusal| &refusal.failure)?;
        if failure.plugin != PluginName::Queue || !self.problem.keeps_its_load() {
            return None;
        }
        let group = snapshot.pod(standing.pod).group;
        let of_group = |pod: &&PodIdx| snapshot.pod(**pod).group == group;
        let members: Vec<PodIdx> = snapshot.candidates.iter().filter(of_group).copied().collect();
        let have = match failure.detail {
            Detail::Insufficient { resource, have, .. } => {
                let amount = |pod| snapshot.requests(snapshot.spec_of(pod).volcano_requests).get(resource);
                let seated = seats.seated.iter().map(|(pod, _)| pod).filter(of_group);
                let left = have.saturating_add(seated.map(|&pod| amount(pod)).sum());
                let mut amounts: Vec<i64> = members.iter().map(|&pod| amount(pod)).collect();
                amounts.sort_unstable();
                room::prefix_within(&amounts, left)
            }
            _ => 0,
        };
        let need = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let all = i64::try_from(snapshot.candidates.len()).unwrap_or(i64::MAX);
        let shortage = Some(Shortage::Queue { need, have });
        (have < need).then_some(Limit { most: all - (need - have), shortage })
    }

    /// The cluster once the plan is carried out and whoever waits for that has come.
    fn after(&self, plan: Option<&Plan>) -> State<'s> {
        let mut state = self.state.clone();
        if let Some(plan) = plan {
            for m in &plan.moves {
                state.remove(m.pod);
            }
            for m in &plan.moves {
                state.place(self.problem.replacement[m.pod.at()], m.to);
            }
            seats::seat_waiting(&mut state, &self.waiting);
        }
        state
    }
}
