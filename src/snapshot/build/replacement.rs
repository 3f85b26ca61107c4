//! The spec of the pod that a controller will make in place of a live one.
//!
//! A live pod is its template plus what admission and the controller added (injected containers, default
//! tolerations, labels per pod). While everything the template asserts is still true of the live pod, the live spec
//! stands for the replacement. If not (a rollout, an in-place resize), the replacement is the template plus those
//! additions that a new pod will get as well (rulebook 0.1). Where it is unclear whether a rule of the live pod comes
//! from an older template or from admission, it is kept: stricter is safe.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::Builder;
use super::resources::{kube_units, volcano_knows, volcano_units};
use super::workload::{DraftTemplate, DraftWorkload, HEAD};
use crate::snapshot::model::pod::{PodTerm, Spread, Toleration};
use crate::snapshot::model::{
    Effect, Labels, NodeRules, NodeRulesIdx, Pod, PodSpec, Requests, RequestsIdx, ResourceIdx, Selector,
    SpecIdx, Sym,
};
use crate::snapshot::names;
use crate::snapshot::request::Amounts;
use crate::snapshot::view::object::Kind;

/// Labels that controllers put on each pod: they come back on the replacement.
const CONTROLLER_LABELS: &[&str] = &[
    "pod-template-hash",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "statefulset.kubernetes.io/",
    "apps.kubernetes.io/",
    "batch.kubernetes.io/",
    "volcano.sh/",
    "modelserving.volcano.sh/",
    "leaderworkerset.sigs.k8s.io/",
    "jobset.sigs.k8s.io/",
    "training.kubeflow.org/",
    "trainer.kubeflow.org/",
    "ray.io/",
];

fn controller_adds(key: &str) -> bool {
    CONTROLLER_LABELS.iter().any(|p| if p.ends_with('/') { key.starts_with(p) } else { key == *p })
}

/// Gives each pod the template facts and the spec of its replacement.
pub(super) fn resolve(
    builder: &mut Builder,
    overheads: &[Amounts],
    pods: &mut [Pod],
    workload_of: impl Fn(&Pod) -> Option<usize>,
    workloads: &[DraftWorkload],
) {
    let mut known: FxHashMap<(SpecIdx, SpecIdx, bool), Option<SpecIdx>> = FxHashMap::default();
    for (overhead, pod) in overheads.iter().zip(pods) {
        if !pod.stands() {
            continue;
        }
        let Some(workload) = workload_of(pod).map(|at| &workloads[at]) else { continue };
        let Some(template) = template_of(builder, workload, pod) else { continue };
        pod.template = Some(template.facts);
        // VPA changes what the template asks for, and will do so again.
        let sized_by_other =
            builder.symbols.find(names::VPA_UPDATES).and_then(|key| pod.details().annotations.get(key));
        if sized_by_other.is_some() || keeps_old_template(builder, workload, pod) {
            continue;
        }
        let outdated = is_outdated(builder, workload, pod);
        pod.replacement = if overhead.is_empty() {
            let make = || replacement(builder, template.spec, pod.spec, overhead, outdated);
            *known.entry((template.spec, pod.spec, outdated)).or_insert_with(make)
        } else {
            replacement(builder, template.spec, pod.spec, overhead, outdated)
        };
    }
}

/// The template that the pod is made of.
fn template_of(builder: &Builder, workload: &DraftWorkload, pod: &Pod) -> Option<DraftTemplate> {
    if let [only] = &*workload.templates
        && only.part == Sym::EMPTY
    {
        return Some(*only);
    }
    let labels = &builder.specs.values()[pod.spec.at()].labels;
    let label = |key: &str| builder.symbols.find(key).and_then(|key| labels.get(key));
    let text = |key: &str| label(key).map(|value| builder.symbols.text(value));
    let part: Sym = match workload.workload.kind {
        Kind::VolcanoJob => names::task_of(&builder.symbols, labels, pod, workload.workload.name)?,
        Kind::ModelServing => {
            let role = text("modelserving.volcano.sh/role")?;
            match text("modelserving.volcano.sh/entry") {
                Some("true") => builder.symbols.find(&format!("{role}/entry"))?,
                _ => label("modelserving.volcano.sh/role")?,
            }
        }
        Kind::RayCluster if text("ray.io/node-type") == Some("head") => builder.symbols.find(HEAD)?,
        Kind::RayCluster => label("ray.io/group")?,
        _ => label("training.kubeflow.org/replica-type")?,
    };
    workload.templates.iter().find(|t| t.part == part).copied()
}

/// Pods of a StatefulSet below the partition of its rolling update come back as they are.
fn keeps_old_template(builder: &Builder, workload: &DraftWorkload, pod: &Pod) -> bool {
    let ordinal = builder.symbols.text(pod.name).rsplit_once('-').and_then(|(_, n)| n.parse::<i64>().ok());
    ordinal.is_some_and(|ordinal| ordinal < workload.partition)
}

/// The pod says itself that it was made of another revision of the template than the present one.
fn is_outdated(builder: &Builder, workload: &DraftWorkload, pod: &Pod) -> bool {
    let labels = &builder.specs.values()[pod.spec.at()].labels;
    let made_of = builder.symbols.find("controller-revision-hash").and_then(|key| labels.get(key));
    workload.revision != Sym::EMPTY && made_of.is_some_and(|revision| revision != workload.revision)
}

/// `None` when the live spec stands for the replacement. What an `outdated` pod tolerates and the template does not may
/// come from the old template.
fn replacement(
    builder: &mut Builder,
    template: SpecIdx,
    live: SpecIdx,
    overhead: &Amounts,
    outdated: bool,
) -> Option<SpecIdx> {
    let (t, l) = (&builder.specs.values()[template.at()], &builder.specs.values()[live.at()]);
    let injected = l.container_extended.len() > t.container_extended.len();
    let requests = |idx: RequestsIdx| &builder.requests.values()[idx.at()];
    let names = builder.resources.names();
    let volcano_overhead = volcano_units(overhead, |r| volcano_knows(builder.symbols.text(names[r.at()])));
    let kube = merge_requests(requests(t.requests), requests(l.requests), &kube_units(overhead), injected);
    let volcano = merge_requests(
        requests(t.volcano_requests),
        requests(l.volcano_requests),
        &volcano_overhead,
        injected,
    );
    let same_requests = kube == *requests(l.requests);
    let rules = |idx: NodeRulesIdx| &builder.node_rules.values()[idx.at()];
    let (t_rules, l_rules) = (rules(t.node_rules), rules(l.node_rules));
    let adds = |key: Sym| controller_adds(builder.symbols.text(key));
    let scheduler_kept = t.scheduler == l.scheduler || t.scheduler == builder.known.default_scheduler;
    let covered = same_requests
        && scheduler_kept
        && t.labels.pairs().iter().all(|&(key, value)| l.labels.get(key) == Some(value))
        && covers_rules(t_rules, l_rules)
        && !(outdated && tolerates_more(builder, t_rules, l_rules, &kube))
        && t.host_ports.iter().all(|port| l.host_ports.contains(port))
        && covers_terms(&t.affinity, &l.affinity, &t.labels, &adds)
        && covers_terms(&t.anti_affinity, &l.anti_affinity, &t.labels, &adds)
        && covers_spread(&t.spread, &l.spread, &t.labels, &adds)
        && t.volumes.iter().all(|volume| l.volumes.contains(volume))
        && t.claims.iter().all(|claim| l.claims.contains(claim));
    if covered {
        return None;
    }
    let mut labels: Vec<(Sym, Sym)> = l
        .labels
        .pairs()
        .iter()
        .copied()
        .filter(|&(key, _)| adds(key) && t.labels.get(key).is_none())
        .collect();
    labels.extend(t.labels.pairs());
    let merged_rules = merge_rules(builder, t_rules, l_rules, &kube);
    let pick = |t: &[PodTerm], l: &[PodTerm], labels: &Labels| -> Box<[PodTerm]> {
        if t.is_empty() || covers_terms(t, l, labels, &adds) { l.into() } else { t.into() }
    };
    let mut volumes = l.volumes.to_vec();
    volumes.extend(t.volumes.iter().filter(|volume| !l.volumes.contains(volume)).cloned());
    let mut host_ports = t.host_ports.to_vec();
    host_ports.sort_unstable();
    let mut spec = PodSpec {
        labels: Labels::new(labels),
        scheduler: if scheduler_kept { l.scheduler } else { t.scheduler },
        container_extended: if same_requests { l } else { t }.container_extended.clone(),
        host_ports: host_ports.into_boxed_slice(),
        affinity: pick(&t.affinity, &l.affinity, &t.labels),
        anti_affinity: pick(&t.anti_affinity, &l.anti_affinity, &t.labels),
        spread: if covers_spread(&t.spread, &l.spread, &t.labels, &adds) {
            l.spread.clone()
        } else {
            t.spread.clone()
        },
        volumes: volumes.into_boxed_slice(),
        claims: t.claims.clone(),
        ..l.clone()
    };
    spec.node_rules = NodeRulesIdx::new(builder.node_rules.intern(merged_rules));
    spec.requests = RequestsIdx::new(builder.requests.intern(kube));
    spec.volcano_requests = RequestsIdx::new(builder.requests.intern(volcano));
    Some(SpecIdx::new(builder.specs.intern(spec)))
}

/// What the replacement asks for. Amounts that the template does not mention are defaults of admission; in a pod with
/// injected containers a larger amount is theirs; else the template decides, and the overhead comes on top.
fn merge_requests(t: &Requests, l: &Requests, overhead: &Requests, injected: bool) -> Requests {
    let find = |list: &Requests, r: ResourceIdx| list.0.iter().find(|(x, _)| *x == r).map(|&(_, n)| n);
    let mut all: Vec<ResourceIdx> = t.0.iter().chain(&*l.0).map(|&(r, _)| r).collect();
    all.sort_unstable();
    all.dedup();
    let amount = |r: ResourceIdx| match (find(t, r), find(l, r)) {
        (None, Some(live)) => live,
        (Some(asked), live) => {
            let asked = asked + overhead.get(r);
            live.filter(|&live| injected && live > asked).unwrap_or(asked)
        }
        (None, None) => 0,
    };
    Requests(all.into_iter().map(|r| (r, amount(r))).collect())
}

fn covers_rules(t: &NodeRules, l: &NodeRules) -> bool {
    t.node_selector.iter().all(|pair| l.node_selector.contains(pair))
        && (t.affinity.is_none() || t.affinity == l.affinity)
        && t.tolerations.iter().all(|toleration| l.tolerations.contains(toleration))
        && t.features.iter().all(|feature| l.features.contains(feature))
}

/// Admission adds these again: times of grace on failing nodes, and tolerations of taints named like a resource.
fn is_admitted(builder: &Builder, toleration: &Toleration, requests: &Requests) -> bool {
    let names = builder.resources.names();
    let node_trouble = builder.symbols.text(toleration.key).starts_with("node.kubernetes.io/");
    (node_trouble && toleration.effect == Some(Effect::NoExecute))
        || requests.0.iter().any(|&(r, _)| names[r.at()] == toleration.key)
}

/// The live pod tolerates something that neither the template nor admission is known for.
fn tolerates_more(builder: &Builder, t: &NodeRules, l: &NodeRules, requests: &Requests) -> bool {
    let known = |toleration: &Toleration| {
        t.tolerations.contains(toleration) || is_admitted(builder, toleration, requests)
    };
    !l.tolerations.iter().all(known)
}

/// Rules of the template, and those of the live pod that it does not contradict.
fn merge_rules(builder: &Builder, t: &NodeRules, l: &NodeRules, requests: &Requests) -> NodeRules {
    let mut node_selector = t.node_selector.to_vec();
    node_selector
        .extend(l.node_selector.iter().filter(|(key, _)| t.node_selector.iter().all(|(k, _)| k != key)));
    node_selector.sort_unstable();
    let missing = l.tolerations.iter().filter(|toleration| !t.tolerations.contains(toleration));
    let mut tolerations = t.tolerations.to_vec();
    tolerations.extend(missing.filter(|toleration| is_admitted(builder, toleration, requests)).copied());
    let mut features = [&*t.features, &*l.features].concat();
    features.sort_unstable();
    features.dedup();
    NodeRules {
        node_name: Sym::EMPTY,
        node_selector: node_selector.into_boxed_slice(),
        affinity: t.affinity.clone().or_else(|| l.affinity.clone()),
        tolerations: tolerations.into_boxed_slice(),
        features: features.into_boxed_slice(),
    }
}

/// The live selector is the template's, with label keys merged in that only live pods carry.
fn same_selector(
    t: Option<&Selector>,
    l: Option<&Selector>,
    labels: &Labels,
    adds: &impl Fn(Sym) -> bool,
) -> bool {
    let (Some(t), Some(l)) = (t, l) else { return t.is_none() && l.is_none() };
    let own = l.0.iter().filter(|r| t.0.contains(r) || !(adds(r.key) && labels.get(r.key).is_none()));
    own.eq(t.0.iter())
}

fn covers_terms(t: &[PodTerm], l: &[PodTerm], labels: &Labels, adds: &impl Fn(Sym) -> bool) -> bool {
    t.iter().all(|term| {
        l.iter().any(|live| {
            live.topology_key == term.topology_key
                && live.namespaces == term.namespaces
                && live.namespace_selector == term.namespace_selector
                && same_selector(term.selector.as_ref(), live.selector.as_ref(), labels, adds)
        })
    })
}

fn covers_spread(t: &[Spread], l: &[Spread], labels: &Labels, adds: &impl Fn(Sym) -> bool) -> bool {
    t.iter().all(|constraint| {
        l.iter().any(|live| {
            let same = Spread { selector: live.selector.clone(), ..constraint.clone() };
            same == *live && same_selector(constraint.selector.as_ref(), live.selector.as_ref(), labels, adds)
        })
    })
}
