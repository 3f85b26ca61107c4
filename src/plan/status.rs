//! The status of a run, from a plan and its report: the same bytes offline, in the controller and in a file.
//!
//! May import: snapshot, plan, api

use std::collections::BTreeMap;

use crate::api::{
    Benefit as ApiBenefit, BenefitStep, Condition, ConditionStatus, ConditionType, Disruption, ExactRate,
    MovedPod, Owner, Plan as ApiPlan, PlanMove, PlanSummary, Reason, RepackRunStatus, ReservedRoom,
    ResolvedScope, Taker, UnmovableCount,
};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, PodIdx, ResourceIdx};

use super::benefit::Benefit;
use super::outcome::{Conclusion, Planned, Report, plan_id};
use super::takers;
use super::types::{Move, Plan, Reserved};

/// How many reasons the summary lists.
const TOP_REASONS: usize = 5;

/// `.status.plan` of a run.
pub fn api_plan(snapshot: &Snapshot, planned: &Planned) -> ApiPlan {
    let (plan, report) = (&planned.plan, &planned.report);
    let freed = count(plan.freed.len());
    let (before, after) = report.excess(freed);
    let rate = |excess| ExactRate::new(excess, report.before.providing);
    let mut freed_nodes: Vec<String> = plan.freed.iter().map(|&n| snapshot.node_name(n).to_owned()).collect();
    freed_nodes.sort_unstable();
    let cost = plan.disruption;
    ApiPlan {
        id: plan_id(snapshot, plan),
        limited_by_size: report.limited_by_size,
        summary: PlanSummary {
            frag_before_percent: rate(before).whole_percent(),
            frag_after_percent: rate(after).whole_percent(),
            freed_node_count: freed,
            moved_card_count: cost.moved_cards,
            resolved_scope: ResolvedScope {
                pod_group_count: report.groups_in_scope,
                node_count: report.nodes_in_scope,
            },
            frag_before_exact: rate(before),
            frag_after_exact: rate(after),
            freeable_upper_bound: Some(report.upper_bound),
            optimal_occupied_nodes: report.before.optimum,
            optimum_exact: report.before.exact,
            disruption: Disruption {
                affected_pod_groups: cost.affected_groups,
                gang_breaches: cost.breached_groups,
                damaged_cards: cost.damaged_cards,
                moved_cards: cost.moved_cards,
                moved_pods: cost.moved_pods,
            },
            benefit: report.benefit.as_ref().map(api_benefit),
            unmovable: report
                .unmovable
                .iter()
                .take(TOP_REASONS)
                .map(|u| UnmovableCount { reason: u.code.to_owned(), pod_count: u.pods, card_count: u.cards })
                .collect(),
        },
        moves: api_moves(snapshot, planned),
        freed_nodes,
        waves: count(plan.wave_count()),
        reserved: reserved(snapshot, plan),
        takers: report.takers.iter().map(|taker| api_taker(snapshot, taker)).collect(),
    }
}

/// How far it was worth it to free nodes.
pub fn api_benefit(benefit: &Benefit) -> ApiBenefit {
    ApiBenefit {
        min_benefit: benefit.least,
        freed_node_count: count(benefit.freed),
        freed_cards: benefit.cards,
        damaged_cards: benefit.damaged,
        next_step: benefit.next.map(|step| BenefitStep {
            freed_node_count: count(step.nodes),
            freed_cards: step.cards,
            damaged_cards: step.damaged,
        }),
    }
}

/// Rooms of pods of the resource, by namespace and name.
pub fn reserved(snapshot: &Snapshot, plan: &Plan) -> Vec<ReservedRoom> {
    rooms_of_cards(snapshot, plan)
        .map(|(room, cards)| ReservedRoom {
            namespace: snapshot.namespace_name(snapshot.pod(room.pod).namespace).to_owned(),
            name: snapshot.pod_name(room.pod).to_owned(),
            node: snapshot.node_name(room.node).to_owned(),
            cards,
            terminating: room.replaces,
        })
        .collect()
}

/// Rooms of pods that ask for the resource and how much of it, by namespace and name of the pod.
pub fn rooms_of_cards<'a>(
    snapshot: &'a Snapshot,
    plan: &'a Plan,
) -> impl Iterator<Item = (&'a Reserved, i64)> {
    let cards = |room: &Reserved| {
        let pod = snapshot.pod(room.pod);
        let spec = if room.replaces { pod.replacement_spec() } else { pod.spec };
        snapshot.requests(snapshot.spec(spec).requests).get(plan.resource)
    };
    let mut rooms: Vec<(&Reserved, i64)> =
        plan.reserved.iter().map(|room| (room, cards(room))).filter(|(_, cards)| *cards > 0).collect();
    rooms.sort_by(|(a, _), (b, _)| snapshot.compare_pods(a.pod, b.pod));
    rooms.into_iter()
}

/// What people call a waiting pod by: its group, or itself where it has none.
pub fn waiting_name(snapshot: &Snapshot, pod: PodIdx) -> String {
    match snapshot.pod(pod).group {
        Some(group) => format!("PodGroup {}", snapshot.group_key(group)),
        None => format!("pod {}", snapshot.pod_key(pod)),
    }
}

fn api_taker(snapshot: &Snapshot, taker: &takers::Taker) -> Taker {
    let first = taker.pods.first().map(|&pod| (pod, snapshot.pod(pod)));
    let group = first.and_then(|(_, pod)| pod.group).map(|group| &snapshot.groups[group.at()]);
    let name = first.map(|(pod, _)| snapshot.pod_name(pod)).unwrap_or_default();
    Taker {
        namespace: first
            .map(|(_, pod)| snapshot.namespace_name(pod.namespace))
            .unwrap_or_default()
            .to_owned(),
        pod_group_name: group.map(|group| snapshot.text(group.name)).unwrap_or_default().to_owned(),
        pod_name: if group.is_none() { name.to_owned() } else { String::new() },
        pod_count: count(taker.pods.len()),
        receivers: taker.receivers.iter().map(|&node| snapshot.node_name(node).to_owned()).collect(),
    }
}

/// Moves by group, groups by namespace and name, pods by name.
fn api_moves(snapshot: &Snapshot, planned: &Planned) -> Vec<PlanMove> {
    let plan = &planned.plan;
    let several = plan.wave_count() > 1;
    let mut by_group: BTreeMap<GroupIdx, Vec<(&Move, Option<i64>)>> = BTreeMap::new();
    for (at, m) in plan.moves.iter().enumerate() {
        if let Some(group) = snapshot.pod(m.pod).group {
            let wave = plan.waves.get(at).filter(|_| several).map(|&wave| count(wave + 1));
            by_group.entry(group).or_default().push((m, wave));
        }
    }
    by_group
        .into_iter()
        .map(|(group, mut moves)| {
            moves.sort_by(|(a, _), (b, _)| snapshot.compare_pods(a.pod, b.pod));
            let cards = |m: &Move| snapshot.charged(m.pod, plan.resource);
            let facts = &snapshot.groups[group.at()];
            PlanMove {
                namespace: snapshot.namespace_name(facts.namespace).to_owned(),
                pod_group_name: snapshot.text(facts.name).to_owned(),
                owner: facts.owner.map(|owner| {
                    let owner = &snapshot.owners[owner.at()];
                    Owner {
                        api_version: snapshot.text(owner.api_version).to_owned(),
                        kind: snapshot.text(owner.kind).to_owned(),
                        name: snapshot.text(owner.name).to_owned(),
                    }
                }),
                cards: moves.iter().map(|(m, _)| cards(m)).sum(),
                pods: moves
                    .iter()
                    .map(|&(m, wave)| MovedPod {
                        name: snapshot.pod_name(m.pod).to_owned(),
                        from_node: snapshot.node_name(m.from).to_owned(),
                        to_node: snapshot.node_name(m.to).to_owned(),
                        cards: cards(m),
                        cascade: m.cascade,
                        gated: m.gated,
                        wave,
                    })
                    .collect(),
            }
        })
        .collect()
}

/// The terminal status of a dry run. Times are left to whoever has a clock.
pub fn dry_run_status(snapshot: &Snapshot, planned: &Planned) -> RepackRunStatus {
    let plan = api_plan(snapshot, planned);
    let reason = match planned.report.conclusion {
        Conclusion::Recommended => Reason::RepackRecommended,
        Conclusion::NotFragmented | Conclusion::NotUsed => Reason::NoFragmentation,
        Conclusion::Insufficient { .. } => Reason::InsufficientImprovement,
    };
    let message = message(snapshot, planned, &plan);
    concluded(reason, &message, plan)
}

/// A run that ended without fault. Times are left to whoever has a clock.
fn concluded(reason: Reason, message: &str, plan: ApiPlan) -> RepackRunStatus {
    let condition = |kind, status| Condition {
        kind,
        status,
        observed_generation: None,
        last_transition_time: None,
        reason,
        message: message.to_owned(),
    };
    RepackRunStatus {
        phase: reason.phase(),
        conditions: vec![
            condition(ConditionType::Progressing, ConditionStatus::False),
            condition(ConditionType::Complete, ConditionStatus::True),
        ],
        message: message.to_owned(),
        start_time: None,
        completion_time: None,
        execution_deadline: None,
        plan: Some(plan),
        result: None,
        relocations: None,
    }
}

/// The terminal status of a dry run for a resource that the cluster does not know, neither on a node nor in a pod.
pub fn unknown_resource_status(snapshot: &Snapshot, resource: &str) -> RepackRunStatus {
    let message = format!("No repack needed for {resource}: no node provides it and no pod requests it.");
    let rate = ExactRate::new(0, 0);
    let summary = PlanSummary {
        frag_before_exact: rate.clone(),
        frag_after_exact: rate,
        freeable_upper_bound: Some(0),
        optimum_exact: true,
        ..PlanSummary::default()
    };
    // Any index will do: a plan without moves names no resource.
    let id = plan_id(snapshot, &Plan::empty(ResourceIdx::new(0)));
    concluded(Reason::NoFragmentation, &message, ApiPlan { id, summary, ..ApiPlan::default() })
}

/// The outcome in a sentence, with whole percent as the guides have them.
fn message(snapshot: &Snapshot, planned: &Planned, plan: &ApiPlan) -> String {
    let resource = snapshot.resource_name(planned.plan.resource);
    let (summary, report) = (&plan.summary, &planned.report);
    let before = summary.frag_before_percent;
    match report.conclusion {
        Conclusion::Recommended => format!(
            "Repack evaluated for {resource}: moving {} in {} of {} would free {} [{}]; cluster fragmentation would \
             change from {before}% to {}%.{}",
            amount(summary.moved_card_count, "card"),
            amount(summary.disruption.moved_pods, "Pod"),
            amount(summary.disruption.affected_pod_groups, "PodGroup"),
            amount(summary.freed_node_count, "node"),
            name_some(&plan.freed_nodes),
            summary.frag_after_percent,
            if report.limited_by_size { " A larger plan does not fit into one run." } else { "" },
        ),
        Conclusion::NotFragmented => format!(
            "No repack needed for {resource}: {} occupied, as few as can hold what is running; cluster fragmentation \
             is {before}%.",
            amount(report.before.occupied, "node"),
        ),
        Conclusion::NotUsed => {
            let what = if report.before.providing == 0 { "provides" } else { "uses" };
            format!("No repack needed for {resource}: nothing {what} it.")
        }
        Conclusion::Insufficient { best: 0 } if let Some(benefit) = not_worth_it(report) => format!(
            "No repack recommended for {resource}: no node is worth what freeing it damages, {}; cluster fragmentation \
             stays at {before}%.",
            benefit.clause(),
        ),
        Conclusion::Insufficient { best } => {
            let asked = report.min_improvement_percent;
            let reach = crate::api::one_decimal(best, report.before.providing);
            let wanted = if asked > 0 {
                format!("at least {asked} percentage points were asked for")
            } else {
                "at least one node has to become free".to_owned()
            };
            let within = if report.limited_by_size {
                "scope, budgets and the size of one run"
            } else {
                "scope and budgets"
            };
            format!(
                "No repack recommended for {resource}: within {within} the best plan frees {} \
                 ({reach} percentage points), {wanted}; cluster fragmentation stays at {before}%.",
                amount(best, "node"),
            )
        }
    }
}

/// What was asked for per damaged card, where some node can be freed and is not worth it.
fn not_worth_it(report: &Report) -> Option<&Benefit> {
    report.benefit.as_ref().filter(|benefit| benefit.next.is_some())
}

/// How many nodes a sentence names before it counts the rest.
const NAMED_NODES: usize = 20;

fn name_some(nodes: &[String]) -> String {
    match nodes.len().checked_sub(NAMED_NODES) {
        Some(rest) if rest > 0 => format!("{} and {rest} more", nodes[..NAMED_NODES].join(", ")),
        _ => nodes.join(", "),
    }
}

fn amount(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
