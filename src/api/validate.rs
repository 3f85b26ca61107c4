//! Refuses values outside the rules of the contract, with one sentence per fault that names the field.
//!
//! May import: api

use std::fmt;

use super::limits::{
    MAX_EXPRESSIONS, MAX_LABEL, MAX_LABELS, MAX_NAME, MAX_NAMES, MAX_PLAN_ID, MAX_RESOURCES, MAX_TEXT,
    MAX_VALUES,
};
use super::run::MAX_WEIGHT;
use super::{
    API_VERSION, LabelSelector, NetworkTopology, ObjectSelection, Operator, RepackRun, RepackRunSpec,
    ScopeRule,
};

/// One thing that is wrong with one field. Displays as a sentence that starts with the field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldError {
    /// Path of the field: `spec.goals[0].resource`.
    pub field: String,
    /// The rest of the sentence: `must contain "/" …`.
    pub fault: String,
    /// What was probably meant, as a full sentence.
    pub hint: Option<String>,
}

impl FieldError {
    /// A fault without a hint.
    pub fn new(field: impl Into<String>, fault: impl Into<String>) -> Self {
        Self { field: field.into(), fault: fault.into(), hint: None }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.fault)
    }
}

impl std::error::Error for FieldError {}

impl RepackRun {
    /// Checks every rule of the contract.
    ///
    /// # Errors
    /// All faults, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<FieldError>> {
        let mut faults = Vec::new();
        if self.api_version != API_VERSION {
            faults.push(FieldError::new(
                "apiVersion",
                format!("must be {API_VERSION}, not {:?}", self.api_version),
            ));
        }
        if self.kind != Self::KIND {
            faults.push(FieldError::new("kind", format!("must be {}, not {:?}", Self::KIND, self.kind)));
        }
        if let Err(more) = self.spec.validate() {
            faults.extend(more);
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

impl RepackRunSpec {
    /// Checks every rule of the spec; field paths start with `spec.`.
    ///
    /// # Errors
    /// All faults, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<FieldError>> {
        let mut check = Check::default();
        if let Some(scope) = &self.scope {
            check.rule("spec.scope.podGroups", scope.pod_groups.as_ref(), pod_group_name_fault);
            check.rule("spec.scope.nodes", scope.nodes.as_ref(), node_name_fault);
        }
        if self.goals.len() > 1 {
            check.fault(
                "spec.goals",
                format!("has {} entries, but a run works on one resource", self.goals.len()),
            );
        }
        for (i, goal) in self.goals.iter().enumerate() {
            check.resource(&format!("spec.goals[{i}].resource"), &goal.resource);
            check.range(
                &format!("spec.goals[{i}].minFragImprovementPercent"),
                Some(goal.min_frag_improvement_percent),
                0,
                Some(100),
            );
        }
        if let Some(max) = &self.max_per_run {
            check.range("spec.maxPerRun.podGroups", max.pod_groups, 0, None);
            check.count("spec.maxPerRun.resources", max.resources.len(), MAX_RESOURCES, "resources");
            for (resource, amount) in &max.resources {
                let field = format!("spec.maxPerRun.resources[{resource}]");
                check.resource(&field, resource);
                check.range(&field, Some(*amount), 0, None);
            }
        }
        if let Some(topology) = &self.network_topology {
            check.topology(topology);
        }
        if let Some(eviction) = &self.eviction {
            check.range("spec.eviction.gracePeriodSeconds", eviction.grace_period_seconds, 0, None);
        }
        check.range("spec.ttlSecondsAfterFinished", self.ttl_seconds_after_finished, 0, None);
        if let Some(planner) = &self.planner {
            check.range("spec.planner.effort", planner.effort, 1, None);
            check.range("spec.planner.maxFreedNodes", planner.max_freed_nodes, 1, None);
            check.range("spec.planner.minBenefit", planner.min_benefit, 0, None);
            if let Some(weights) = &planner.weights {
                check.range(
                    "spec.planner.weights.affectedPodGroups",
                    weights.affected_pod_groups,
                    0,
                    Some(MAX_WEIGHT),
                );
                check.range("spec.planner.weights.gangBreaches", weights.gang_breaches, 0, Some(MAX_WEIGHT));
                check.range("spec.planner.weights.damagedCards", weights.damaged_cards, 0, Some(MAX_WEIGHT));
                check.range("spec.planner.weights.movedCards", weights.moved_cards, 0, Some(MAX_WEIGHT));
                check.range("spec.planner.weights.movedPods", weights.moved_pods, 0, Some(MAX_WEIGHT));
            }
        }
        if let Some(execution) = &self.execution {
            check.range("spec.execution.timeoutSeconds", execution.timeout_seconds, 1, None);
            check.range("spec.execution.maxConcurrentEvictions", execution.max_concurrent_evictions, 1, None);
            check.text("spec.execution.expectedPlanID", execution.expected_plan_id.as_deref(), MAX_PLAN_ID);
        }
        check.text("spec.managedBy", self.managed_by.as_deref(), MAX_TEXT);
        if check.faults.is_empty() { Ok(()) } else { Err(check.faults) }
    }
}

#[derive(Default)]
struct Check {
    faults: Vec<FieldError>,
}

impl Check {
    fn fault(&mut self, field: &str, fault: impl Into<String>) {
        self.faults.push(FieldError::new(field, fault));
    }

    fn range(&mut self, field: &str, value: Option<i64>, low: i64, high: Option<i64>) {
        let Some(value) = value else { return };
        match high {
            Some(high) if !(low..=high).contains(&value) => {
                self.fault(field, format!("must be {low} to {high}, not {value}"));
            }
            None if value < low => self.fault(field, format!("must be at least {low}, not {value}")),
            _ => {}
        }
    }

    fn text(&mut self, field: &str, value: Option<&str>, most: usize) {
        let letters = value.map_or(1, |text| text.chars().count());
        if letters == 0 {
            self.fault(field, "must not be empty; leave it out instead");
        }
        self.count(field, letters, most, "letters");
    }

    fn count(&mut self, field: &str, count: usize, most: usize, things: &str) {
        if count > most {
            self.fault(field, format!("has {count} {things}, but at most {most} are allowed"));
        }
    }

    fn resource(&mut self, field: &str, resource: &str) {
        if !resource.contains('/') {
            self.fault(
                field,
                format!("must be an extended resource such as \"huawei.com/ascend-1980\", not {resource:?}"),
            );
        } else if label_key_fault(resource).is_some() {
            self.fault(field, format!("is not a resource name: {resource:?}"));
        }
    }

    fn rule(&mut self, field: &str, rule: Option<&ScopeRule>, name_fault: fn(&str) -> Option<&'static str>) {
        let Some(rule) = rule else { return };
        for (side, selection) in [("include", &rule.include), ("exclude", &rule.exclude)] {
            if let Some(selection) = selection {
                self.selection(&format!("{field}.{side}"), selection, name_fault);
            }
        }
    }

    fn selection(
        &mut self,
        field: &str,
        selection: &ObjectSelection,
        name_fault: fn(&str) -> Option<&'static str>,
    ) {
        if let Some(selector) = &selection.selector {
            self.selector(&format!("{field}.selector"), selector);
        }
        self.count(&format!("{field}.names"), selection.names.len(), MAX_NAMES, "names");
        for (i, name) in selection.names.iter().enumerate().take(MAX_NAMES) {
            if let Some(fault) = name_fault(name) {
                self.fault(&format!("{field}.names[{i}]"), format!("{fault}, not {name:?}"));
            }
        }
    }

    fn selector(&mut self, field: &str, selector: &LabelSelector) {
        self.count(&format!("{field}.matchLabels"), selector.match_labels.len(), MAX_LABELS, "labels");
        self.count(
            &format!("{field}.matchExpressions"),
            selector.match_expressions.len(),
            MAX_EXPRESSIONS,
            "requirements",
        );
        for (key, value) in &selector.match_labels {
            let place = format!("{field}.matchLabels[{key}]");
            if let Some(fault) = label_key_fault(key) {
                self.fault(&place, format!("has a key that {fault}"));
            }
            if let Some(fault) = label_value_fault(value) {
                self.fault(&place, format!("has a value that {fault}: {value:?}"));
            }
        }
        for (i, requirement) in selector.match_expressions.iter().enumerate() {
            let place = format!("{field}.matchExpressions[{i}]");
            if let Some(fault) = label_key_fault(&requirement.key) {
                self.fault(&format!("{place}.key"), format!("{fault}: {:?}", requirement.key));
            }
            let values = format!("{place}.values");
            match requirement.operator {
                Operator::In | Operator::NotIn if requirement.values.is_empty() => {
                    self.fault(
                        &values,
                        format!("must not be empty with operator {:?}", requirement.operator),
                    );
                }
                Operator::Exists | Operator::DoesNotExist if !requirement.values.is_empty() => {
                    self.fault(&values, format!("must be empty with operator {:?}", requirement.operator));
                }
                _ => {}
            }
            self.count(&values, requirement.values.len(), MAX_VALUES, "values");
            for value in &requirement.values {
                if let Some(fault) = label_value_fault(value) {
                    self.fault(&values, format!("has a value that {fault}: {value:?}"));
                }
            }
        }
    }

    fn topology(&mut self, topology: &NetworkTopology) {
        let field = "spec.networkTopology";
        match (topology.hyper_node_tier, &topology.hyper_node_tier_name) {
            (Some(_), Some(_)) => {
                self.fault(field, "must have hyperNodeTier or hyperNodeTierName, not both");
            }
            (None, None) => self.fault(field, "must have hyperNodeTier or hyperNodeTierName"),
            _ => {}
        }
        self.range(&format!("{field}.hyperNodeTier"), topology.hyper_node_tier, 1, None);
        self.text(&format!("{field}.hyperNodeTierName"), topology.hyper_node_tier_name.as_deref(), MAX_NAME);
        self.range(&format!("{field}.nodeBlockSize"), Some(topology.node_block_size), 1, None);
        self.range(&format!("{field}.requiredNodeBlocks"), Some(topology.required_node_blocks), 0, None);
    }
}

/// `namespace/name`: one slash, a DNS label before it and a DNS subdomain after it.
fn pod_group_name_fault(name: &str) -> Option<&'static str> {
    let good = name
        .split_once('/')
        .is_some_and(|(namespace, name)| is_dns_label(namespace) && is_dns_subdomain(name));
    (!good).then_some("must be namespace/name")
}

fn node_name_fault(name: &str) -> Option<&'static str> {
    (!is_dns_subdomain(name)).then_some("must be a node name")
}

/// Kubernetes' qualified name: an optional DNS subdomain and "/", then at most 63 letters, digits, `-`, `_`, `.`
/// that begin and end with a letter or digit. Half a sentence when it is not one.
pub(super) fn label_key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.is_empty() || !is_label_text(name) || prefix.is_some_and(|prefix| !is_dns_subdomain(prefix)) {
        return Some("is not a label key");
    }
    None
}

/// Empty, or the same as the name of a key.
pub(super) fn label_value_fault(value: &str) -> Option<&'static str> {
    (!is_label_text(value)).then_some("is not a label value")
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= MAX_LABEL
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
}

fn is_dns_label(text: &str) -> bool {
    text.len() <= MAX_LABEL && is_dns_part(text)
}

/// Kubernetes limits the length of the whole, not of the parts between the dots.
fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_NAME && text.split('.').all(is_dns_part)
}

fn is_dns_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.iter().all(|b| edge(b) || *b == b'-')
        && bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
