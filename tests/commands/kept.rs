//! Whatever stays is explained: every node of a cluster with real shapes of pods, asked one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{bench, run, text};

/// A pod that holds cards, by its node.
fn holders(cluster: &Value, resource: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut holders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pod in cluster["items"].as_array().unwrap().iter().filter(|object| object["kind"] == "Pod") {
        let holds = |c: &Value| c["resources"]["requests"].get(resource).is_some();
        if pod["spec"]["containers"].as_array().unwrap().iter().any(holds) {
            let node = pod["spec"]["nodeName"].as_str().unwrap().to_owned();
            holders.entry(node).or_default().insert(key(&pod["metadata"]));
        }
    }
    holders
}

fn key(named: &Value) -> String {
    format!("{}/{}", named["namespace"].as_str().unwrap(), named["name"].as_str().unwrap())
}

fn strings(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// One pod of a node that stays: a code, a sentence, and every receiver either accepts it or names the first rule that
/// does not, with numbers where the rule compares amounts.
fn explained(pod: &Value, receivers: &BTreeSet<String>) -> Result<(), String> {
    let said = |field: &str| pod[field].as_str().is_some_and(|text| !text.is_empty());
    if !said("reason") || !said("message") {
        return Err("no reason".to_owned());
    }
    let mut asked = strings(&pod["receivers"]);
    for refusal in pod["refusals"].as_array().unwrap() {
        let (rule, message) = (refusal["plugin"].as_str().unwrap(), refusal["message"].as_str().unwrap());
        let nodes = strings(&refusal["nodes"]);
        if nodes.is_empty() || !nodes.contains(refusal["closest"].as_str().unwrap()) {
            return Err(format!("{rule}: no receiver is closest"));
        }
        if rule.is_empty() || message.is_empty() || asked.intersection(&nodes).next().is_some() {
            return Err(format!("{rule}: {message}: a receiver is told twice or without a rule"));
        }
        if matches!(rule, "NodeResourcesFit" | "resources")
            && message.matches(|c: char| c.is_ascii_digit()).count() < 2
        {
            return Err(format!("{rule}: {message}: no numbers"));
        }
        asked.extend(nodes);
    }
    if asked == *receivers {
        Ok(())
    } else {
        let silent: Vec<&String> = receivers.symmetric_difference(&asked).collect();
        Err(format!("nothing is said about {silent:?}"))
    }
}

#[test]
fn f107_explain_says_for_every_node_of_openb_100_that_stays_why_pod_by_pod() {
    let Some(file) = bench::cluster("openb-100") else { return };
    let cluster: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let answer = |arguments: &[&str]| -> Value {
        let done = run(&[arguments, &["--snapshot", file.to_str().unwrap(), "-o", "json", "-q"]].concat());
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", text(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let planned = answer(&["dryrun"]);
    let resource = planned["spec"]["goals"][0]["resource"].as_str().unwrap();
    let freed = strings(&planned["status"]["plan"]["freedNodes"]);
    let holders = holders(&cluster, resource);
    assert!(freed.len() >= 30 && holders.len() >= 90, "{} freed of {}", freed.len(), holders.len());
    let stays: BTreeSet<String> = holders.keys().filter(|&node| !freed.contains(node)).cloned().collect();
    let mut faults = Vec::new();
    for node in &stays {
        let found = answer(&["explain", "node", node]);
        let why = &found["node"];
        if why["freed"] != false || why["reason"] == "" || why["message"] == "" {
            faults.push(format!("{node}: {why}"));
        }
        let pods = found["pods"].as_array().unwrap();
        if pods.iter().map(key).collect::<BTreeSet<_>>() != holders[node] {
            faults.push(format!("{node}: not all pods with cards are explained"));
        }
        let receivers: BTreeSet<String> = stays.iter().filter(|&other| other != node).cloned().collect();
        let wrong = pods.iter().filter_map(|pod| Some((pod, explained(pod, &receivers).err()?)));
        faults.extend(wrong.map(|(pod, fault)| format!("{node}: {}: {fault}", key(pod))));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
