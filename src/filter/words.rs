//! Refusals in words: one clause with have and need.
//!
//! May import: snapshot, filter

use super::rules::SchedulerRules;
use super::verdict::{Detail, Failure};
use crate::snapshot::Snapshot;
use crate::snapshot::model::ResourceIdx;

impl Failure {
    /// One clause with the numbers, without the plugin's name. `rules` tells the unit of amounts.
    pub fn sentence(&self, snapshot: &Snapshot, rules: SchedulerRules) -> String {
        let text = |sym| snapshot.text(sym);
        match &self.detail {
            Detail::Insufficient { resource, need, have } => {
                let amount = |n| in_units(*resource, n, rules);
                let name = snapshot.resource_name(*resource);
                if snapshot.nodes.iter().any(|node| node.allocatable[resource.at()] > 0) {
                    format!("needs {} {name}, has {}", amount(*need), amount(*have))
                } else {
                    // An extender may hand it out and tell the scheduler to ignore it; no object says so.
                    format!("needs {} {name}, which no node lists: what is left is unknown", amount(*need))
                }
            }
            Detail::Readmission { queue, resource, need, have } => {
                let amount = |n| in_units(*resource, n, rules);
                let name = snapshot.resource_name(*resource);
                format!(
                    "its PodGroup would have to be admitted to {} again: needs {} {name}, has {}",
                    text(*queue),
                    amount(*need),
                    amount(*have)
                )
            }
            Detail::TooManyPods { pods, limit } => format!("holds {pods} pods of {limit}"),
            Detail::PortTaken { port } => format!("host port {port} is taken"),
            Detail::Taint { key, value } => format!("taint {}={} is not tolerated", text(*key), text(*value)),
            Detail::Cordoned => "is cordoned".to_owned(),
            Detail::Selector => "does not match the node selector or affinity".to_owned(),
            Detail::OtherNode => "is not the node the pod asks for".to_owned(),
            Detail::MissingTopologyKey { key } => format!("lacks the label {}", text(*key)),
            Detail::AffinityUnmet => "no pod that the affinity asks for is in its domain".to_owned(),
            Detail::AntiAffinity => "a pod that the anti-affinity avoids is in its domain".to_owned(),
            Detail::AntiAffinityOfOther => "a pod in its domain keeps pods like this one away".to_owned(),
            Detail::Skew { key, skew, limit } => {
                format!("skew over {} would be {skew} of {limit} allowed", text(*key))
            }
            Detail::VolumeLimit { attached, new, limit } => {
                format!("{attached} volumes attached and {new} new, {limit} allowed")
            }
            Detail::Object { text } | Detail::NotModelled { text } => text.clone(),
            Detail::VolumeInUse { by: Some(pod) } => {
                format!("volume is in use by {}", snapshot.pod_key(*pod))
            }
            Detail::VolumeInUse { by: None } => "volume is in use".to_owned(),
            Detail::NominatedPods { node } => {
                format!("room on {} is for pods nominated to it", snapshot.node_name(*node))
            }
        }
    }
}

/// An amount as people write it: cpu in cores, memory as it is, others in whole units.
fn in_units(resource: ResourceIdx, amount: i64, rules: SchedulerRules) -> String {
    let thousandths = resource == ResourceIdx::CPU
        || (rules == SchedulerRules::Volcano
            && resource != ResourceIdx::MEMORY
            && resource != ResourceIdx::PODS);
    if thousandths && amount % 1000 == 0 {
        (amount / 1000).to_string()
    } else if thousandths {
        format!("{amount}m")
    } else if resource == ResourceIdx::MEMORY && amount != 0 && amount % (1 << 20) == 0 {
        format!("{}Mi", amount >> 20)
    } else {
        amount.to_string()
    }
}
