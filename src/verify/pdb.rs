//! Disruption budgets of evicted pods: which never allow it, which not at the moment (Eviction API, rulebook 4.6).
//!
//! A budget that allows at least one disruption allows any number in waves, each after the replacements of the last
//! are ready; the waves that the plan states have to keep to that.
//!
//! May import: snapshot, `plan::types`, `plan::request`, api

use std::collections::{BTreeMap, BTreeSet};

use super::cascade::Returns;
use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use crate::api::OnBlockedPdb;
use crate::snapshot::model::{Budget, BudgetIdx, BudgetStatus, Phase, PodIdx};
use crate::snapshot::view::object::Kind;

/// All checks of this file.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for moved in facts.plan.moves.iter().filter(|m| !m.cascade) {
        findings.extend(may_be_disrupted(facts, moved.pod));
    }
}

/// The stated waves: one per move, the first is 0, along the evictions they rise by at most one, what is taken along goes
/// with the eviction, and no wave asks a budget for more than it allows now. One unit alone may: where that is no
/// fault of its own, the budget is waited for.
pub(super) fn check_waves(facts: &Facts<'_>, returns: &Returns, findings: &mut Vec<Finding>) {
    let plan = facts.plan;
    if plan.waves.is_empty() {
        return;
    }
    let wrong = |text: String| Finding::new(Check::WrongWaves, Subject::Plan, text);
    if plan.waves.len() != plan.moves.len() {
        findings.push(wrong(format!("{} waves are stated for {} moves", plan.waves.len(), plan.moves.len())));
        return;
    }
    let mut asked: BTreeMap<(usize, usize), (usize, i64)> = BTreeMap::new();
    let mut last: Option<usize> = None;
    for (moved, &wave) in plan.moves.iter().zip(&plan.waves).filter(|(moved, _)| !moved.cascade) {
        let most = last.map_or(0, |last| last + 1);
        if wave > most || Some(wave) < last {
            let text = format!("is in wave {wave}, where none above {most} and none before may follow");
            findings.push(about(Check::WrongWaves, moved.pod, text));
        }
        last = Some(wave);
        let unit = returns.get(&moved.pod).map_or_else(|| BTreeSet::from([moved.pod]), |r| r.unit.clone());
        let along = |m: &crate::plan::types::Move| m.cascade && unit.contains(&m.pod);
        let elsewhere = plan.moves.iter().zip(&plan.waves).find(|(m, w)| along(m) && **w != wave);
        if let Some((m, other)) = elsewhere {
            findings.push(about(
                Check::WrongWaves,
                m.pod,
                format!("is in wave {other}, its eviction in {wave}"),
            ));
        }
        let mut budgets: BTreeMap<usize, i64> = BTreeMap::new();
        for budget in unit.iter().filter_map(|&pod| asks(facts, pod)) {
            *budgets.entry(budget).or_default() += 1;
        }
        for (budget, count) in budgets {
            let sum = asked.entry((wave, budget)).or_default();
            *sum = (sum.0 + 1, sum.1 + count);
        }
    }
    for ((wave, budget), (units, count)) in asked {
        let facts_of = &facts.snapshot.budgets[budget];
        let status = written(facts_of).or_else(|| counted(facts, facts_of));
        let allowed = status.map_or(0, |status| status.disruptions_allowed).max(1);
        if units > 1 && count > allowed {
            let text = format!("wave {wave} asks for {count}, it allows {allowed} at a time");
            findings.push(Finding::new(Check::WrongWaves, Subject::Budget(BudgetIdx::new(budget)), text));
        }
    }
}

/// The position of the one budget that has to allow the end of a pod.
fn asks(facts: &Facts<'_>, pod: PodIdx) -> Option<usize> {
    if facts.snapshot.pod(pod).phase != Phase::Running {
        return None;
    }
    let namespace = facts.snapshot.pod(pod).namespace;
    let budgets = &facts.snapshot.budgets;
    let at = budgets.iter().position(|b| b.namespace == namespace && selects(facts, b, pod))?;
    let budget = &budgets[at];
    let status = written(budget).or_else(|| counted(facts, budget))?;
    let enough = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    let exempt = !is_ready(facts, pod) && (budget.always_allow_unhealthy || enough);
    (!exempt).then_some(at)
}

fn about(check: Check, pod: PodIdx, text: String) -> Finding {
    Finding::new(check, Subject::Pod(pod), text)
}

fn selects(facts: &Facts<'_>, budget: &Budget, pod: PodIdx) -> bool {
    let labels = &facts.snapshot.spec_of(pod).labels;
    budget.selector.as_ref().is_some_and(|s| s.matches(labels, &facts.snapshot.symbols))
}

/// Budgets that cover the pod: those of its namespace whose selector matches its labels.
fn covering<'a>(facts: &Facts<'a>, pod: PodIdx) -> Vec<&'a Budget> {
    let namespace = facts.snapshot.pod(pod).namespace;
    let covers = |budget: &&Budget| budget.namespace == namespace && selects(facts, budget, pod);
    facts.snapshot.budgets.iter().filter(covers).collect()
}

fn may_be_disrupted(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let live = facts.snapshot.pod(pod);
    // Pods that have not started are let go without a look at any budget.
    if live.phase == Phase::Pending {
        return None;
    }
    let budgets = covering(facts, pod);
    let budget = match budgets[..] {
        [] => return None,
        [budget] => budget,
        _ => {
            let text =
                format!("{} disruption budgets cover it, which is an error on every eviction", budgets.len());
            return Some(about(Check::BudgetNever, pod, text));
        }
    };
    let name = facts.snapshot.text(budget.name);
    let Some(status) = written(budget).or_else(|| counted(facts, budget)) else {
        return Some(about(Check::BudgetNever, pod, format!("budget {name} can not count its pods")));
    };
    let enough = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    if !is_ready(facts, pod) && (budget.always_allow_unhealthy || enough) {
        return None;
    }
    if status.sync_failed {
        return Some(about(Check::BudgetNever, pod, format!("budget {name} can not count its pods")));
    }
    let (desired, expected) = (status.desired_healthy, status.expected_pods);
    if expected > 0 && desired >= expected {
        let text = format!("budget {name} wants {desired} of {expected} pods healthy");
        return Some(about(Check::BudgetNever, pod, text));
    }
    let waits = facts.request.movability.on_blocked_pdb == OnBlockedPdb::Wait;
    if status.disruptions_allowed < 1 && !waits {
        return Some(about(Check::BudgetNow, pod, format!("budget {name} allows no disruption now")));
    }
    None
}

/// Files without any Ready condition do not tell: running is ready there.
fn is_ready(facts: &Facts<'_>, pod: PodIdx) -> bool {
    let live = facts.snapshot.pod(pod);
    live.ready || (live.phase == Phase::Running && !facts.readiness_is_told)
}

/// The status, unless nobody has written one for the spec that is there: a status of zeros while the budget has pods,
/// or one of an older generation.
fn written(budget: &Budget) -> Option<BudgetStatus> {
    let status = budget.status.filter(|status| !status.stale)?;
    let all =
        [status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods];
    (status.sync_failed || all != [0; 4]).then_some(status)
}

/// The status that the disruption controller would write; `None` where it fails. A number of pods is compared with
/// the pods that are there; a share, and everything unavailable, with what their controllers want.
fn counted(facts: &Facts<'_>, budget: &Budget) -> Option<BudgetStatus> {
    let snapshot = facts.snapshot;
    let pods: Vec<PodIdx> = facts
        .namespace_pods(budget.namespace)
        .iter()
        .copied()
        .filter(|&pod| {
            let live = snapshot.pod(pod);
            !live.phase.is_finished() && !live.lost && selects(facts, budget, pod)
        })
        .collect();
    let healthy = pods.iter().filter(|&&pod| !snapshot.pod(pod).terminating && is_ready(facts, pod)).count();
    let (expected, desired) = if let Some(most) = budget.max_unavailable {
        let expected = wanted(facts, &pods)?;
        (expected, (expected - part_of(snapshot.text(most), expected)?).max(0))
    } else {
        let least = snapshot.text(budget.min_available?);
        let expected = if least.ends_with('%') { wanted(facts, &pods)? } else { length(pods.len()) };
        (expected, part_of(least, expected)?)
    };
    let healthy = length(healthy);
    let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
    Some(BudgetStatus {
        disruptions_allowed: allowed,
        current_healthy: healthy,
        desired_healthy: desired,
        expected_pods: expected,
        sync_failed: false,
        stale: false,
    })
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A number, or a percentage of a total rounded up.
fn part_of(text: &str, total: i64) -> Option<i64> {
    match text.strip_suffix('%') {
        Some(share) => Some((share.parse::<i64>().ok()?.saturating_mul(total) + 99).div_euclid(100)),
        None => text.parse().ok(),
    }
}

/// Pods that the controllers of these pods want; `None` when one of them does not tell (it has no scale). The
/// replicas of a `ReplicaSet` are those of its Deployment. Where no object was read, its pods are counted.
fn wanted(facts: &Facts<'_>, pods: &[PodIdx]) -> Option<i64> {
    let mut sum: BTreeMap<String, i64> = BTreeMap::new();
    for owner in pods.iter().filter_map(|&pod| facts.snapshot.pod(pod).owner) {
        let scales = [
            Kind::ReplicaSet,
            Kind::ReplicationController,
            Kind::StatefulSet,
            Kind::Deployment,
            Kind::ModelServing,
            Kind::LeaderWorkerSet,
        ];
        let kind = facts.snapshot.owners[owner.at()].known.filter(|kind| scales.contains(kind))?;
        let chain = facts.chain(owner);
        let top = if kind == Kind::ReplicaSet { chain.get(1).or(chain.first()) } else { chain.first() };
        let (key, replicas) = if let Some(object) = top {
            (format!("{:?} {:?}", object.kind, object.name), object.replicas.unwrap_or(0))
        } else {
            let live = |pod: &&PodIdx| {
                let pod = facts.snapshot.pod(**pod);
                pod.stands() && !pod.terminating
            };
            (format!("{owner:?}"), length(facts.owned(owner).iter().filter(live).count()))
        };
        sum.insert(key, replicas);
    }
    Some(sum.values().sum())
}
