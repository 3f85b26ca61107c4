//! Marks on objects: opt-outs, other systems' labels, preemptability; and the age rules.
//!
//! May import: snapshot, plan

use rustc_hash::FxHashMap;

use crate::plan::reason::{Code, Detail, Reason};
use crate::plan::request::{RecentMove, Request};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Labels, Pod, Sym, Workload};
use crate::snapshot::names;

/// Labels of Kueue on what it admits.
const KUEUE: [&str; 3] =
    ["kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/managed", "kueue.x-k8s.io/pod-group-name"];
/// Volcano's mark of pods and groups that may be preempted.
const PREEMPTABLE: &str = "volcano.sh/preemptable";

/// Marks as symbols of the snapshot, as far as it has them.
pub(super) struct Marks<'a> {
    snapshot: &'a Snapshot,
    request: &'a Request,
    yes: Option<Sym>,
    protected: Option<Sym>,
    /// Annotations that forbid eviction, with the value that does.
    opt_outs: Vec<(Sym, Sym)>,
    kueue: Vec<Sym>,
    preemptable: Option<Sym>,
    /// Moves of earlier runs by the UID of the replacement, and by namespace and name of the victim.
    by_uid: FxHashMap<&'a str, i64>,
    by_name: FxHashMap<(&'a str, &'a str), Vec<&'a RecentMove>>,
}

impl<'a> Marks<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, request: &'a Request) -> Self {
        let find = |text: &str| snapshot.symbols.find(text);
        let mut opt_outs = vec![(names::SAFE_TO_EVICT, "false")];
        opt_outs.extend(names::KARPENTER_OPT_OUT.map(|key| (key, "true")));
        let opt_outs =
            opt_outs.into_iter().filter_map(|(key, value)| Some((find(key)?, find(value)?))).collect();
        let mut by_uid = FxHashMap::default();
        let mut by_name: FxHashMap<_, Vec<&RecentMove>> = FxHashMap::default();
        for moved in &request.movability.recent_moves {
            if !moved.replacement_uid.is_empty() {
                let at = by_uid.entry(moved.replacement_uid.as_str()).or_insert(moved.at);
                *at = moved.at.max(*at);
            }
            by_name.entry((moved.namespace.as_str(), moved.pod_name.as_str())).or_default().push(moved);
        }
        Self {
            snapshot,
            request,
            yes: find("true"),
            protected: find(names::PROTECTED),
            opt_outs,
            kueue: KUEUE.iter().filter_map(|key| find(key)).collect(),
            preemptable: find(PREEMPTABLE),
            by_uid,
            by_name,
        }
    }

    fn labels(&self, pod: &Pod) -> &'a Labels {
        &self.snapshot.spec(pod.spec).labels
    }

    fn owners(&self, pod: &Pod) -> impl Iterator<Item = &'a Workload> {
        let group_owner = pod.group.and_then(|group| self.snapshot.groups[group.at()].owner);
        self.snapshot.owner_chain(pod.owner).chain(self.snapshot.owner_chain(group_owner))
    }

    /// Our opt-out, on the pod, its group, any pod of its group, an owner or its namespace.
    pub(super) fn protected(&self, pod: &Pod) -> Option<Reason> {
        let (key, yes) = (self.protected?, self.yes?);
        let marked = |labels: &Labels, annotations: &Labels| {
            labels.get(key) == Some(yes) || annotations.get(key) == Some(yes)
        };
        let namespace = &self.snapshot.namespaces[pod.namespace.at()];
        let group = pod.group.map(|group| &self.snapshot.groups[group.at()]);
        let place = if marked(self.labels(pod), &pod.details().annotations) {
            "on the pod"
        } else if group.is_some_and(|group| marked(&group.labels, &group.annotations)) {
            "on its PodGroup"
        } else if group.is_some_and(|group| {
            group
                .pods
                .iter()
                .map(|&pod| self.snapshot.pod(pod))
                .any(|p| marked(self.labels(p), &p.details().annotations))
        }) {
            "on a pod of its PodGroup"
        } else if self.owners(pod).any(|owner| marked(&owner.labels, &owner.annotations)) {
            "on its owner"
        } else if marked(&namespace.labels, &namespace.annotations) {
            "on its namespace"
        } else {
            return None;
        };
        Some(Reason::new(Code::Protected, Detail::Clause(place)))
    }

    /// Opt-outs of autoscalers: annotations of the pod itself.
    pub(super) fn opted_out(&self, pod: &Pod) -> Option<Reason> {
        let (key, _) =
            self.opt_outs.iter().find(|&&(key, value)| pod.details().annotations.get(key) == Some(value))?;
        Some(Reason::new(Code::EvictionOptOut, Detail::Text(*key)))
    }

    /// Another system admits the replacement, or lifts its gates.
    pub(super) fn managed_elsewhere(&self, pod: &Pod) -> Option<Reason> {
        if self.request.movability.allow_managed_elsewhere {
            return None;
        }
        let group = pod.group.map(|group| &self.snapshot.groups[group.at()].labels);
        let on = |key: Sym| {
            self.labels(pod).get(key).is_some()
                || group.is_some_and(|labels| labels.get(key).is_some())
                || self.owners(pod).any(|owner| owner.labels.get(key).is_some())
        };
        if let Some(&key) = self.kueue.iter().find(|&&key| on(key)) {
            return Some(Reason::new(Code::ManagedElsewhere, Detail::Text(key)));
        }
        let gated = pod.template.is_some_and(|template| template.gated);
        gated
            .then(|| Reason::new(Code::ManagedElsewhere, Detail::Clause("its template has scheduling gates")))
    }

    /// Not marked preemptable, on the pod or its group.
    pub(super) fn not_preemptable(&self, pod: &Pod) -> Option<Reason> {
        if !self.request.movability.only_preemptable {
            return None;
        }
        let marked = |labels: &Labels| {
            self.preemptable.is_some_and(|key| labels.get(key).is_some() && labels.get(key) == self.yes)
        };
        let group = pod.group.map(|group| &self.snapshot.groups[group.at()]);
        let any = marked(self.labels(pod))
            || marked(&pod.details().annotations)
            || group.is_some_and(|group| marked(&group.labels) || marked(&group.annotations));
        (!any).then(|| Code::NotPreemptable.into())
    }

    /// Too young, or moved not long ago. Ages need a clock; a pod whose creation is not known may be young.
    pub(super) fn age(&self, pod: &Pod) -> Option<Reason> {
        let options = &self.request.movability;
        let now = self.request.now?;
        let least = i64::try_from(options.min_pod_age_seconds).unwrap_or(i64::MAX);
        let age = now.saturating_sub(i64::from(pod.created));
        if pod.created == 0 && least > 0 {
            return Some(Code::AgeUnknown.into());
        }
        if pod.created > 0 && age < least {
            return Some(Reason::new(Code::TooYoung, Detail::Seconds { have: age, need: least }));
        }
        let wait = i64::try_from(options.pod_cooldown_seconds).unwrap_or(i64::MAX);
        let since = now.saturating_sub(self.moved_at(pod)?);
        (since < wait).then(|| Reason::new(Code::MovedRecently, Detail::Seconds { have: since, need: wait }))
    }

    /// When an earlier run moved the pod that this one stands for: the same name under the same owner, or a
    /// replacement that the run has seen.
    fn moved_at(&self, pod: &Pod) -> Option<i64> {
        let text = |sym| self.snapshot.text(sym);
        let by_uid = self.by_uid.get(text(pod.uid)).copied();
        let owner = pod.owner.map(|owner| &self.snapshot.owners[owner.at()]);
        let key = (self.snapshot.namespace_name(pod.namespace), text(pod.name));
        let named = self.by_name.get(&key).into_iter().flatten();
        let by_name = named
            .filter(|moved| {
                owner.is_some_and(|o| text(o.kind) == moved.owner_kind && text(o.name) == moved.owner_name)
            })
            .map(|moved| moved.at)
            .max();
        by_uid.max(by_name)
    }

    /// Age rules without a clock, and opt-outs of autoscalers that stand on a controller, where nothing reads them.
    pub(super) fn warnings(&self) -> Vec<String> {
        let text = |sym| self.snapshot.text(sym);
        let mut warnings = Vec::new();
        if self.request.movability.min_pod_age_seconds > 0 && self.request.now.is_none() {
            warnings.push(
                "no pod counts as too young, since the time of this plan is not known; --now TIME says it"
                    .to_owned(),
            );
        }
        for workload in &self.snapshot.workloads {
            for &(key, value) in &self.opt_outs {
                if workload.annotations.get(key) == Some(value) {
                    warnings.push(format!(
                        "{} {}/{} carries {}={}, which counts only on pods: put it into the pod template",
                        workload.kind.name(),
                        self.snapshot.namespace_name(workload.namespace),
                        text(workload.name),
                        text(key),
                        text(value),
                    ));
                }
            }
        }
        warnings
    }
}
