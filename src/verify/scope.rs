//! Scope: which nodes may be emptied and which groups may be moved (API contract, "scope").
//!
//! Inside one rule selector and names are a union; exclude wins; an absent or empty include is no restriction; the
//! empty selector selects everything. Nodes are selected by their labels. A group is included by the labels of the
//! group, its owner, the owner of that one, …, and those common to all its pods, stronger first; it is excluded when the
//! group, one of these owners or any one pod matches.
//!
//! May import: snapshot, `plan::request`, api

use std::collections::BTreeMap;

use super::facts::Facts;
use crate::api::{ObjectSelection, Operator, ScopeRule};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, Labels, NodeIdx};

type Texts<'a> = BTreeMap<&'a str, &'a str>;

/// Labels as text.
pub(super) fn texts<'a>(snapshot: &'a Snapshot, labels: &Labels) -> Texts<'a> {
    labels.pairs().iter().map(|&(key, value)| (snapshot.text(key), snapshot.text(value))).collect()
}

/// The selector of a selection matches these labels. A selection without a selector matches none by label.
fn selects(selection: &ObjectSelection, labels: &Texts<'_>) -> bool {
    let Some(selector) = &selection.selector else { return false };
    let pairs = selector.match_labels.iter().all(|(key, value)| labels.get(&**key) == Some(&&**value));
    let rules = selector.match_expressions.iter().all(|rule| {
        let value = labels.get(&*rule.key);
        let listed = value.is_some_and(|v| rule.values.iter().any(|known| known == v));
        match rule.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    });
    pairs && rules
}

fn says_nothing(selection: Option<&ObjectSelection>) -> bool {
    selection.is_none_or(|s| s.selector.is_none() && s.names.is_empty())
}

fn names_it(selection: &ObjectSelection, name: &str) -> bool {
    selection.names.iter().any(|known| known == name)
}

fn node_rule<'a>(facts: &Facts<'a>) -> Option<&'a ScopeRule> {
    facts.request.scope.nodes.as_ref()
}

/// The include of scope.nodes says something, and selects the node.
pub(super) fn node_is_included(facts: &Facts<'_>, node: NodeIdx) -> bool {
    let Some(include) = node_rule(facts).and_then(|rule| rule.include.as_ref()) else { return false };
    let labels = texts(facts.snapshot, &facts.snapshot.node(node).labels);
    names_it(include, facts.snapshot.node_name(node)) || selects(include, &labels)
}

/// The node may be emptied as far as the scope goes.
pub(super) fn node_in_scope(facts: &Facts<'_>, node: NodeIdx) -> bool {
    let Some(rule) = node_rule(facts) else { return true };
    let labels = texts(facts.snapshot, &facts.snapshot.node(node).labels);
    let excluded = rule
        .exclude
        .as_ref()
        .is_some_and(|e| names_it(e, facts.snapshot.node_name(node)) || selects(e, &labels));
    !excluded && (says_nothing(rule.include.as_ref()) || node_is_included(facts, node))
}

/// Labels of the objects that own a group, the nearest first, as far as they were read.
fn owner_labels<'a>(facts: &Facts<'a>, group: GroupIdx) -> Vec<Texts<'a>> {
    let mut found = Vec::new();
    let mut owner = facts.snapshot.groups[group.at()].owner;
    while let Some(object) = owner.and_then(|owner| facts.snapshot.workload_of(owner)) {
        found.push(texts(facts.snapshot, &object.labels));
        // References may go round in a circle.
        owner = object.owner.filter(|_| found.len() < 8);
    }
    found
}

fn pod_labels<'a>(facts: &Facts<'a>, group: GroupIdx) -> Vec<Texts<'a>> {
    let snapshot = facts.snapshot;
    facts.members(group).iter().map(|&pod| texts(snapshot, &snapshot.spec_of(pod).labels)).collect()
}

/// Pairs that all pods of a group carry.
fn common<'a>(pods: &[Texts<'a>]) -> Texts<'a> {
    let Some((first, others)) = pods.split_first() else { return Texts::new() };
    let shared = first.iter().filter(|(key, value)| others.iter().all(|o| o.get(*key) == Some(value)));
    shared.map(|(key, value)| (*key, *value)).collect()
}

/// The pods of the group may be moved as far as the scope goes.
pub(super) fn group_in_scope(facts: &Facts<'_>, group: GroupIdx) -> bool {
    let Some(rule) = facts.request.scope.pod_groups.as_ref() else { return true };
    let name = facts.snapshot.group_key(group);
    let own = texts(facts.snapshot, &facts.snapshot.groups[group.at()].labels);
    let owners = owner_labels(facts, group);
    let pods = pod_labels(facts, group);
    let excluded = rule.exclude.as_ref().is_some_and(|e| {
        let labels = owners.iter().chain(&pods).chain([&own]);
        names_it(e, &name) || labels.into_iter().any(|labels| selects(e, labels))
    });
    let included = || {
        let Some(include) = rule.include.as_ref() else { return false };
        let mut merged = common(&pods);
        for labels in owners.iter().rev() {
            merged.extend(labels.iter());
        }
        merged.extend(own.iter());
        names_it(include, &name) || selects(include, &merged)
    };
    !excluded && (says_nothing(rule.include.as_ref()) || included())
}
