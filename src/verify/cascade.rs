//! Checks of what controllers do: every evicted pod comes back, and exactly the pods that are recreated along are
//! listed as a cascade.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::reaction::{self, Return};
use crate::snapshot::model::{OwnerIdx, PodIdx};

/// How each evicted pod comes back; those that do not are missing.
pub(super) type Returns = BTreeMap<PodIdx, Return>;

/// All checks of this file. The answers are needed again for the order.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) -> Returns {
    let mut returns = Returns::new();
    for moved in facts.plan.moves.iter().filter(|m| !m.cascade) {
        match reaction::of(facts, moved.pod) {
            Ok(answer) => {
                returns.insert(moved.pod, answer);
            }
            Err((check, text)) => findings.push(Finding::new(check, Subject::Pod(moved.pod), text)),
        }
    }
    findings.extend(missing(facts, &returns));
    findings.extend(invented(facts, &returns));
    findings.extend(evicted_twice(facts, &returns));
    findings.extend(patience_of_owners(facts, &returns));
    findings.extend(specs(facts));
    returns
}

fn about(check: Check, pod: PodIdx, text: impl Into<String>) -> Finding {
    Finding::new(check, Subject::Pod(pod), text)
}

fn missing(facts: &Facts<'_>, returns: &Returns) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told = BTreeSet::new();
    for (&evicted, answer) in returns {
        let silent = |pod: &&PodIdx| **pod != evicted && !facts.moves_of.contains_key(*pod);
        for &pod in answer.unit.iter().filter(silent) {
            if told.insert(pod) {
                let text = format!("is taken down along with {}", facts.snapshot.pod_key(evicted));
                findings.push(about(Check::CascadeMissing, pod, text));
            }
        }
    }
    findings
}

fn invented(facts: &Facts<'_>, returns: &Returns) -> Vec<Finding> {
    let real: BTreeSet<PodIdx> = returns.values().flat_map(|answer| &answer.unit).copied().collect();
    let listed = facts.plan.moves.iter().filter(|m| m.cascade && !real.contains(&m.pod));
    listed.map(|m| about(Check::CascadeInvented, m.pod, "no controller takes it down along")).collect()
}

/// Of a unit that is recreated as a whole one pod is evicted; a second eviction would hit the new ones.
fn evicted_twice(facts: &Facts<'_>, returns: &Returns) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: BTreeMap<PodIdx, PodIdx> = BTreeMap::new();
    for moved in facts.plan.moves.iter().filter(|m| !m.cascade) {
        let Some(answer) = returns.get(&moved.pod) else { continue };
        if let Some(&before) = first.get(&moved.pod).filter(|before| **before != moved.pod) {
            let text = format!("is recreated along with {} already", facts.snapshot.pod_key(before));
            findings.push(about(Check::UnitEvictedTwice, moved.pod, text));
        }
        for &pod in &answer.unit {
            first.entry(pod).or_insert(moved.pod);
        }
    }
    findings
}

/// Each failure or restart that an owner tolerates is used once: several evictions add up.
fn patience_of_owners(facts: &Facts<'_>, returns: &Returns) -> Vec<Finding> {
    let mut used: BTreeMap<OwnerIdx, i64> = BTreeMap::new();
    let mut findings = Vec::new();
    for moved in facts.plan.moves.iter().filter(|m| !m.cascade) {
        let Some(limit) = returns.get(&moved.pod).and_then(|answer| answer.costs) else { continue };
        let Some(owner) = facts.snapshot.pod(moved.pod).owner else { continue };
        let count = used.entry(owner).or_default();
        *count += 1;
        if *count > limit {
            let text = format!("is eviction {count} of its workload, which survives {limit}");
            findings.push(about(Check::EndsWorkload, moved.pod, text));
        }
    }
    findings
}

/// The replacement has the spec that the model derives from the controller's template.
fn specs(facts: &Facts<'_>) -> Vec<Finding> {
    let wrong = facts.plan.moves.iter().filter(|m| facts.snapshot.pod(m.pod).replacement_spec() != m.spec);
    wrong
        .map(|m| about(Check::WrongSpec, m.pod, "its controller gives the replacement another spec"))
        .collect()
}
