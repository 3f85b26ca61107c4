//! Which `PodGroups` may move and which nodes may be emptied or receive.
//!
//! The union of selector and names inside a selection; exclude wins over include; an absent or empty selection
//! restricts nothing. Include looks at the labels of the group, its owner, that one's owner and so on, and those
//! common to all its pods, merged in this order of strength; for exclude it is enough that the group, one of its owners or any
//! one pod matches. The owner of a Deployment's group is its ReplicaSet, and people label the Deployment.
//!
//! A listed name that matches nothing is a warning: runs are repeated and groups come and go. A selection that lists
//! only names, none of which exists, is an error, since the run could never do what it says.
//!
//! May import: snapshot, plan, api

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;

use super::kept::Kept;
use super::reason::Code;
use super::request::Request;
use crate::api::{LabelSelector, ObjectSelection, ScopeRule};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, GroupOrigin, Labels, NodeIdx, PodGroup, Ready, ResourceIdx, Sym};

/// Reads a selector as kubectl spells it: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
///
/// # Errors
/// A sentence that names the part that can not be read.
pub fn parse_selector(text: &str) -> Result<LabelSelector, String> {
    text.parse::<LabelSelector>().map_err(|e| format!("selector {text:?}: {e}"))
}

/// What the policy says about one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePolicy {
    /// Why it may not be emptied; `None` = it may, as far as the node itself goes.
    pub not_emptied: Option<Kept>,
    /// Why it may not receive; `None` = it may, as far as the node itself goes.
    pub not_receiving: Option<Kept>,
}

/// The scope of a request, resolved.
#[derive(Clone, Debug, Default)]
pub struct ResolvedScope {
    /// Per group: why it may not move for reasons of scope.
    groups: Vec<Option<Code>>,
    /// Per node.
    nodes: Vec<NodePolicy>,
    /// `PodGroups` in scope that use the resource.
    pub group_count: usize,
    /// Nodes in scope that provide the resource, empty ones included.
    pub node_count: usize,
    /// Sentences about names that match nothing.
    pub warnings: Vec<String>,
}

impl ResolvedScope {
    /// Resolves the scope.
    ///
    /// # Errors
    /// A sentence (reason `ScopeResolutionFailed`) when a selection lists only names and none of them exists.
    pub fn of(snapshot: &Snapshot, resource: ResourceIdx, request: &Request) -> Result<Self, String> {
        let mut warnings = Vec::new();
        let rule = request.scope.pod_groups.clone().unwrap_or_default();
        let keys: FxHashSet<String> = if names(&rule).next().is_some() {
            (0..snapshot.groups.len()).map(|at| snapshot.group_key(GroupIdx::new(at))).collect()
        } else {
            FxHashSet::default()
        };
        check_names("podGroups", "PodGroup", &rule, |name| keys.contains(name), &mut warnings)?;
        let groups: Vec<Option<Code>> =
            (0..snapshot.groups.len()).map(|at| group_in_scope(snapshot, GroupIdx::new(at), &rule)).collect();
        let rule = request.scope.nodes.clone().unwrap_or_default();
        check_names("nodes", "node", &rule, |name| snapshot.node_named(name).is_some(), &mut warnings)?;
        let mut nodes = Vec::with_capacity(snapshot.nodes.len());
        let mut node_count = 0;
        for at in 0..snapshot.nodes.len() {
            let (policy, in_scope) = node_policy(snapshot, NodeIdx::new(at), resource, &rule);
            let provides = snapshot.nodes[at].allocatable[resource.at()] > 0;
            node_count += usize::from(in_scope && provides);
            nodes.push(policy);
        }
        let group_count = used_groups(snapshot, resource, request)
            .into_iter()
            .filter(|group| groups[group.at()].is_none())
            .count();
        Ok(Self { groups, nodes, group_count, node_count, warnings })
    }

    /// Why a group may not move for reasons of scope; `None` = it is in scope.
    pub fn group(&self, group: GroupIdx) -> Option<Code> {
        self.groups[group.at()]
    }

    /// What the policy says about a node.
    pub fn node(&self, node: NodeIdx) -> &NodePolicy {
        &self.nodes[node.at()]
    }
}

/// Groups that use the resource, and that the request knows as such: virtual groups count where they are allowed.
fn used_groups(snapshot: &Snapshot, resource: ResourceIdx, request: &Request) -> Vec<GroupIdx> {
    let mut seen = FixedBitSet::with_capacity(snapshot.groups.len());
    let mut used = Vec::new();
    // Pod by pod, as they lie in memory, not group by group.
    for pod in snapshot.pods.iter().filter(|pod| pod.stands()) {
        let Some(group) = pod.group else { continue };
        if snapshot.requests(pod.charged).get(resource) <= 0 || seen.put(group.at()) {
            continue;
        }
        let scheduler = snapshot.text(snapshot.spec(pod.spec).scheduler);
        let known = snapshot.groups[group.at()].origin != GroupOrigin::Virtual
            || (request.movability.allow_ungrouped && !request.movability.has_pod_groups(scheduler));
        if known {
            used.push(group);
        }
    }
    used
}

fn names(rule: &ScopeRule) -> impl Iterator<Item = &String> {
    [&rule.include, &rule.exclude].into_iter().flatten().flat_map(|selection| &selection.names)
}

fn check_names(
    side: &str,
    what: &str,
    rule: &ScopeRule,
    exists: impl Fn(&str) -> bool,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    for (part, selection) in [("include", &rule.include), ("exclude", &rule.exclude)] {
        let Some(selection) = selection else { continue };
        let missing: Vec<&str> =
            selection.names.iter().map(String::as_str).filter(|name| !exists(name)).collect();
        let only_names = selection.selector.is_none() && !selection.names.is_empty();
        if part == "include" && only_names && missing.len() == selection.names.len() {
            let list = shorten(&missing);
            return Err(format!("scope.{side}.include lists only names that do not exist: {list}"));
        }
        warnings.extend(
            missing
                .iter()
                .map(|name| format!("scope.{side}.{part} lists {name}, and there is no such {what}")),
        );
    }
    Ok(())
}

/// The first few names.
fn shorten(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let text = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(rest) if rest > 0 => format!("{text} and {rest} more"),
        _ => text,
    }
}

fn restricts(selection: Option<&ObjectSelection>) -> Option<&ObjectSelection> {
    selection.filter(|s| !s.is_empty())
}

/// Looks labels up by text.
fn looks_up<'s>(
    snapshot: &'s Snapshot,
    labels: impl Fn(Sym) -> Option<Sym>,
) -> impl Fn(&str) -> Option<&'s str> {
    move |key| snapshot.symbols.find(key).and_then(&labels).map(|value| snapshot.text(value))
}

/// True when `labels` are selected.
pub fn selects(snapshot: &Snapshot, selector: &LabelSelector, labels: &Labels) -> bool {
    selector.matches(looks_up(snapshot, |key| labels.get(key)))
}

fn group_in_scope(snapshot: &Snapshot, at: GroupIdx, rule: &ScopeRule) -> Option<Code> {
    let group = &snapshot.groups[at.at()];
    let owners = || snapshot.owner_chain(group.owner).map(|workload| &workload.labels);
    let named = |selection: &ObjectSelection| {
        !selection.names.is_empty() && selection.names.contains(&snapshot.group_key(at))
    };
    if let Some(exclude) = restricts(rule.exclude.as_ref()) {
        let by_selector = exclude.selector.as_ref().is_some_and(|selector| {
            let hits = |labels: &Labels| selects(snapshot, selector, labels);
            hits(&group.labels)
                || owners().any(hits)
                || group.pods.iter().any(|&pod| hits(&snapshot.spec_of(pod).labels))
        });
        if named(exclude) || by_selector {
            return Some(Code::PodGroupExcluded);
        }
    }
    if let Some(include) = restricts(rule.include.as_ref()) {
        let by_selector = include.selector.as_ref().is_some_and(|selector| {
            let merged = |key: Sym| {
                group
                    .labels
                    .get(key)
                    .or_else(|| owners().find_map(|labels| labels.get(key)))
                    .or_else(|| common_label(snapshot, group, key))
            };
            selector.matches(looks_up(snapshot, merged))
        });
        if !named(include) && !by_selector {
            return Some(Code::PodGroupNotIncluded);
        }
    }
    None
}

/// The value that all pods of a group carry under a key.
fn common_label(snapshot: &Snapshot, group: &PodGroup, key: Sym) -> Option<Sym> {
    let mut values = group.pods.iter().map(|&pod| snapshot.spec_of(pod).labels.get(key));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// The policy for a node, and whether scope.nodes selects it.
fn node_policy(
    snapshot: &Snapshot,
    at: NodeIdx,
    resource: ResourceIdx,
    rule: &ScopeRule,
) -> (NodePolicy, bool) {
    let node = snapshot.node(at);
    let matches = |selection: &ObjectSelection| {
        selection.names.iter().any(|name| name == snapshot.text(node.name))
            || selection.selector.as_ref().is_some_and(|s| selects(snapshot, s, &node.labels))
    };
    let include = restricts(rule.include.as_ref());
    let included = include.is_none_or(matches);
    let excluded = restricts(rule.exclude.as_ref()).is_some_and(matches);
    let holders = (snapshot.pods_on[at.at()].iter()).filter(|&&pod| snapshot.charged(pod, resource) > 0);
    let (mut held, mut staying) = (false, false);
    for &pod in holders {
        held = true;
        staying |= !snapshot.pod(pod).terminating;
    }
    let own = if node.allocatable[resource.at()] <= 0 {
        Some(Kept::NotProviding)
    } else if !held {
        Some(Kept::Idle)
    } else if !staying {
        Some(Kept::Emptying)
    } else if node.is_leaving(&snapshot.symbols) {
        Some(Kept::LeavingCluster)
    } else if node.ready == Ready::No {
        Some(Kept::NotReady)
    } else {
        None
    };
    let outside = (excluded || !included).then_some(Kept::OutOfScope);
    // A cordoned node is emptied only when somebody selects it, not because nothing is restricted.
    let cordoned = node.unschedulable.then_some(Kept::Cordoned);
    let policy = NodePolicy {
        not_emptied: own.clone().or(outside).or(cordoned.clone().filter(|_| include.is_none())),
        not_receiving: own
            .or(cordoned)
            .or_else(|| node.may_leave(&snapshot.symbols).then_some(Kept::LeavingCluster)),
    };
    (policy, included && !excluded)
}
