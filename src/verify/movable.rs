//! Which pods may be evicted at all (design: "Which workloads"), rule by rule. The reaction of the controller and the
//! disruption budgets have files of their own.
//!
//! May import: snapshot, `plan::types`, `plan::request`

use super::facts::Facts;
use super::finding::{Check, Finding, Subject};
use super::scope;
use crate::snapshot::model::pod::Volume;
use crate::snapshot::model::{GroupIdx, GroupOrigin, Labels, PodIdx, PodSpec};
use crate::snapshot::names;

/// All checks of this file: for every eviction, for every group, and opt-outs for everything that is taken down.
pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for moved in &facts.plan.moves {
        findings.extend(protected(facts, moved.pod));
        if moved.cascade {
            continue;
        }
        let rules: [fn(&Facts<'_>, PodIdx) -> Option<Finding>; 7] = [
            scheduler_enabled,
            grouped,
            host_path,
            managed_elsewhere,
            preemptable,
            old_enough,
            not_moved_recently,
        ];
        findings.extend(rules.iter().filter_map(|rule| rule(facts, moved.pod)));
    }
    for group in facts.affected() {
        findings.extend(in_scope(facts, group));
        findings.extend(hard_topology(facts, group));
    }
}

fn about(check: Check, pod: PodIdx, text: impl Into<String>) -> Finding {
    Finding::new(check, Subject::Pod(pod), text)
}

/// The value of a label or annotation.
fn value<'a>(facts: &Facts<'a>, labels: &Labels, key: &str) -> Option<&'a str> {
    labels.get(facts.snapshot.symbols.find(key)?).map(|value| facts.snapshot.text(value))
}

fn is_true(facts: &Facts<'_>, sets: [&Labels; 2], key: &str) -> bool {
    sets.iter().any(|set| value(facts, set, key) == Some("true"))
}

/// Our mark as label or annotation on the pod, its group, its owners and its namespace; the marks of the autoscalers
/// on the pod.
fn protected(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let snapshot = facts.snapshot;
    let live = snapshot.pod(pod);
    let own = [&snapshot.spec(live.spec).labels, &live.details().annotations];
    if is_true(facts, own, names::PROTECTED) {
        return Some(about(Check::Protected, pod, "is protected"));
    }
    if value(facts, &live.details().annotations, names::SAFE_TO_EVICT) == Some("false") {
        return Some(about(Check::Protected, pod, "must stay, says the cluster autoscaler's mark"));
    }
    if names::KARPENTER_OPT_OUT
        .iter()
        .any(|key| value(facts, &live.details().annotations, key) == Some("true"))
    {
        return Some(about(Check::Protected, pod, "must stay, says Karpenter's mark"));
    }
    let namespace = &snapshot.namespaces[live.namespace.at()];
    if is_true(facts, [&namespace.labels, &namespace.annotations], names::PROTECTED) {
        return Some(about(Check::Protected, pod, "its namespace is protected"));
    }
    let owners = live.owner.map(|owner| facts.chain(owner)).unwrap_or_default();
    if owners.iter().any(|o| is_true(facts, [&o.labels, &o.annotations], names::PROTECTED)) {
        return Some(about(Check::Protected, pod, "its owner is protected"));
    }
    let group = live.group?;
    group_protected(facts, group)
        .then(|| Finding::new(Check::Protected, Subject::Pod(pod), "its group is protected"))
}

/// It is enough that the group, its owner or any one of its pods is marked.
fn group_protected(facts: &Facts<'_>, group: GroupIdx) -> bool {
    let snapshot = facts.snapshot;
    let g = &snapshot.groups[group.at()];
    let owners = g.owner.map(|owner| facts.chain(owner)).unwrap_or_default();
    is_true(facts, [&g.labels, &g.annotations], names::PROTECTED)
        || owners.iter().any(|o| is_true(facts, [&o.labels, &o.annotations], names::PROTECTED))
        || facts.members(group).iter().any(|&pod| {
            let live = snapshot.pod(pod);
            is_true(facts, [&snapshot.spec(live.spec).labels, &live.details().annotations], names::PROTECTED)
        })
}

/// The spec of the pod as it is, and of the one that comes.
fn both<'a>(facts: &Facts<'a>, pod: PodIdx) -> [&'a PodSpec; 2] {
    [facts.snapshot.spec_of(pod), facts.snapshot.spec(facts.snapshot.pod(pod).replacement_spec())]
}

fn scheduler_enabled(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let enabled = &facts.request.movability.schedulers;
    let [_, coming] = both(facts, pod);
    let name = facts.snapshot.text(coming.scheduler);
    if enabled.iter().any(|known| known == name) {
        return None;
    }
    Some(about(Check::SchedulerDisabled, pod, format!("scheduler {name} is not enabled")))
}

/// Schedulers with PodGroups place members of real groups; for the others the owner makes a virtual one, on demand.
fn grouped(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let rules = &facts.request.movability;
    let [_, coming] = both(facts, pod);
    let scheduler = facts.snapshot.text(coming.scheduler);
    let origin = facts.snapshot.pod(pod).group.map(|group| facts.snapshot.groups[group.at()].origin);
    match origin {
        Some(GroupOrigin::Object) => None,
        Some(GroupOrigin::Missing) => Some(about(Check::Ungrouped, pod, "its PodGroup does not exist")),
        Some(GroupOrigin::Virtual) if !rules.has_pod_groups(scheduler) && rules.allow_ungrouped => None,
        Some(GroupOrigin::Virtual) | None => Some(about(Check::Ungrouped, pod, "belongs to no PodGroup")),
    }
}

fn in_scope(facts: &Facts<'_>, group: GroupIdx) -> Option<Finding> {
    (!scope::group_in_scope(facts, group)).then(|| {
        Finding::new(Check::GroupOutOfScope, Subject::Group(group), "is out of the scope of PodGroups")
    })
}

/// Replacements have to stay in the part of the network where the others run; which nodes those are is not in the model.
fn hard_topology(facts: &Facts<'_>, group: GroupIdx) -> Option<Finding> {
    let tier = facts.snapshot.groups[group.at()].hard_tier?;
    let text = format!("has to stay inside one HyperNode of tier {tier} or below, which can not be checked");
    Some(Finding::new(Check::HardTopology, Subject::Group(group), text))
}

fn host_path(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let has = both(facts, pod).iter().any(|spec| spec.volumes.contains(&Volume::HostPath));
    if has && !facts.request.movability.allow_host_path {
        return Some(about(Check::HostPath, pod, "has a hostPath volume"));
    }
    None
}

/// Kueue marks what it admits on the pod or on the owner; a gate in the template is somebody else's to open.
fn managed_elsewhere(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    if facts.request.movability.allow_managed_elsewhere {
        return None;
    }
    let live = facts.snapshot.pod(pod);
    let owners = live.owner.map(|owner| facts.chain(owner)).unwrap_or_default();
    let key = "kueue.x-k8s.io/queue-name";
    let queued = value(facts, &facts.snapshot.spec_of(pod).labels, key)
        .or_else(|| owners.iter().find_map(|owner| value(facts, &owner.labels, key)));
    if let Some(queue) = queued {
        return Some(about(Check::ManagedElsewhere, pod, format!("Kueue admits it in queue {queue}")));
    }
    if live.template.is_some_and(|t| t.gated) {
        return Some(about(Check::ManagedElsewhere, pod, "its template has scheduling gates"));
    }
    None
}

fn preemptable(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    if !facts.request.movability.only_preemptable {
        return None;
    }
    let live = facts.snapshot.pod(pod);
    let own = [&facts.snapshot.spec(live.spec).labels, &live.details().annotations];
    let group = live.group.map(|group| &facts.snapshot.groups[group.at()]);
    let key = "volcano.sh/preemptable";
    let marked =
        is_true(facts, own, key) || group.is_some_and(|g| is_true(facts, [&g.labels, &g.annotations], key));
    if marked { None } else { Some(about(Check::NotPreemptable, pod, "is not marked preemptable")) }
}

/// Ages are known only with a present. A pod without a time of creation may have any.
fn old_enough(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let least = i64::try_from(facts.request.movability.min_pod_age_seconds).unwrap_or(i64::MAX);
    let created = i64::from(facts.snapshot.pod(pod).created);
    let age = facts.request.now?.saturating_sub(created);
    if created == 0 && least > 0 {
        return Some(about(Check::TooYoung, pod, "has no time of creation"));
    }
    if age < least {
        return Some(about(Check::TooYoung, pod, format!("is {age} s old, not {least}")));
    }
    None
}

fn not_moved_recently(facts: &Facts<'_>, pod: PodIdx) -> Option<Finding> {
    let (snapshot, rules) = (facts.snapshot, &facts.request.movability);
    let (live, now) = (snapshot.pod(pod), facts.request.now?);
    let rest = i64::try_from(rules.pod_cooldown_seconds).unwrap_or(i64::MAX);
    let (uid, name) = (snapshot.text(live.uid), snapshot.text(live.name));
    let owner = live.owner.map(|owner| &snapshot.owners[owner.at()]);
    let before = rules.recent_moves.iter().find(|moved| {
        let replacement = !uid.is_empty() && moved.replacement_uid == uid;
        let same_place = moved.namespace == snapshot.namespace_name(live.namespace)
            && moved.pod_name == name
            && owner.is_some_and(|o| {
                moved.owner_kind == snapshot.text(o.kind) && moved.owner_name == snapshot.text(o.name)
            });
        (replacement || same_place) && now.saturating_sub(moved.at) < rest
    })?;
    Some(about(Check::MovedRecently, pod, format!("was moved {} s ago", now.saturating_sub(before.at))))
}
