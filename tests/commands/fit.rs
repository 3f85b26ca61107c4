//! What `fit` answers is true: after the repack that it names the job fits, with one node less none does, and where
//! none helps none does.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{bench, run, text};

fn written(name: &str, value: &Value) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, value.to_string()).unwrap();
    file
}

fn asked(file: &Path, arguments: &[&str]) -> (Value, i32) {
    let snapshot = ["--snapshot", file.to_str().unwrap(), "-o", "json", "-q"];
    let done = run(&[&["fit"], arguments, &snapshot].concat());
    let code = done.status.code().unwrap();
    assert!(code == 0 || code == 3, "{arguments:?}: {}", text(&done.stderr));
    (serde_json::from_slice(&done.stdout).unwrap(), code)
}

fn answer(file: &Path, replicas: usize, cards: i64) -> (Value, i32) {
    asked(file, &["--replicas", &replicas.to_string(), "--cards", &cards.to_string()])
}

/// The cluster once every move of the plan is made.
fn moved(cluster: &Value, plan: &Value) -> Value {
    let mut to: HashMap<(String, String), Value> = HashMap::new();
    for group in plan["moves"].as_array().unwrap() {
        for pod in group["pods"].as_array().unwrap() {
            let key = (word(&group["namespace"]), word(&pod["name"]));
            to.insert(key, pod["toNode"].clone());
        }
    }
    let mut after = cluster.clone();
    for object in after["items"].as_array_mut().unwrap().iter_mut().filter(|object| object["kind"] == "Pod") {
        let key = (word(&object["metadata"]["namespace"]), word(&object["metadata"]["name"]));
        if let Some(node) = to.remove(&key) {
            object["spec"]["nodeName"] = node;
        }
    }
    assert!(to.is_empty(), "the plan moves pods that are not there: {to:?}");
    after
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn resource_of(cluster: &Value) -> String {
    let node = cluster["items"].as_array().unwrap().iter().find(|object| object["kind"] == "Node").unwrap();
    let names = node["status"]["allocatable"].as_object().unwrap().keys();
    names.into_iter().find(|name| name.contains('/')).unwrap().clone()
}

/// Pods and the cards of each, template by template.
type Gang = [(usize, i64)];

/// The cluster with a gang that waits in it.
fn with_gang(cluster: &Value, resource: &str, gang: &Gang) -> Value {
    let replicas: usize = gang.iter().map(|part| part.0).sum();
    let cards = gang.iter().flat_map(|&(count, cards)| std::iter::repeat_n(cards, count));
    let mut with = cluster.clone();
    let items = with["items"].as_array_mut().unwrap();
    items.push(json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "gang"}, "spec": {"minMember": replicas},
    }));
    for (at, cards) in cards.enumerate() {
        items.push(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("gang-{at}"), "namespace": "gang",
                "annotations": {"scheduling.k8s.io/group-name": "gang"},
            },
            "spec": {
                "schedulerName": "volcano",
                "containers": [{"name": "main", "resources": {"requests": {resource: cards.to_string()}}}],
            },
            "status": {"phase": "Pending"},
        }));
    }
    with
}

/// The nodes on which a plan keeps room for the gang that waits in the cluster, by the filters of its scheduler: those
/// of all its pods, or none.
fn placed(name: &str, cluster: &Value) -> Vec<String> {
    let file = written(name, cluster);
    // Rooms come before all moves, so one node to empty is enough of a plan.
    let node = cluster["items"].as_array().unwrap().iter().find(|object| object["kind"] == "Node").unwrap();
    let node = word(&node["metadata"]["name"]);
    let asked = ["explain", "podgroup", "gang/gang", "--include-node", &node, "-o", "json", "-q"];
    let done = run(&[&asked[..], &["--snapshot", file.to_str().unwrap()]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    std::fs::remove_file(file).unwrap();
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let room = |pod: &Value| {
        assert_eq!(pod["reason"], "Waiting");
        Some(pod["message"].as_str()?.strip_prefix("waits for a node, its room is kept on ")?.to_owned())
    };
    found["pods"].as_array().unwrap().iter().filter_map(room).collect()
}

/// Cards of each node and how many are free, by counting.
fn free(cluster: &Value, resource: &str) -> BTreeMap<String, (i64, i64)> {
    let amount = |value: &Value| value.as_str().map_or(0, |text| text.parse::<i64>().unwrap());
    let mut free: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let items = cluster["items"].as_array().unwrap();
    for node in items.iter().filter(|object| object["kind"] == "Node") {
        let cards = amount(&node["status"]["allocatable"][resource]);
        free.insert(word(&node["metadata"]["name"]), (cards, cards));
    }
    for pod in items.iter().filter(|object| object["kind"] == "Pod") {
        let containers = pod["spec"]["containers"].as_array().unwrap();
        let cards: i64 = containers.iter().map(|c| amount(&c["resources"]["requests"][resource])).sum();
        free.get_mut(pod["spec"]["nodeName"].as_str().unwrap()).unwrap().1 -= cards;
    }
    free
}

/// A Volcano Job of that gang.
fn manifest(name: &str, resource: &str, gang: &Gang) -> PathBuf {
    let task = |(at, &(replicas, cards)): (usize, &(usize, i64))| {
        let requests = json!({"requests": {resource: cards.to_string()}});
        let containers = json!([{"name": "main", "resources": requests}]);
        json!({"name": format!("t{at}"), "replicas": replicas, "template": {"spec": {"containers": containers}}})
    };
    let tasks: Vec<Value> = gang.iter().enumerate().map(task).collect();
    let job = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "asked"},
        "spec": {"tasks": tasks},
    });
    written(name, &job)
}

/// The answer for a gang, proven by other means than its own.
fn proven(instance: &str, file: &Path, cluster: &Value, gang: &Gang) -> String {
    let resource = resource_of(cluster);
    let case = format!("{instance}: {gang:?}");
    let temporary = |when: &str| format!("{instance}-{}x{}-{when}.json", gang[0].0, gang[0].1);
    let (found, code) = match gang {
        &[(replicas, cards)] => answer(file, replicas, cards),
        _ => asked(file, &["-f", manifest(&temporary("job"), &resource, gang).to_str().unwrap()]),
    };
    let replicas: usize = gang.iter().map(|part| part.0).sum();
    let said = word(&found["answer"]);
    let before = placed(&temporary("before"), &with_gang(cluster, &resource, gang));
    let seats = || -> usize {
        let pods = |seat: &Value| usize::try_from(seat["pods"].as_u64().unwrap()).unwrap();
        found["seats"].as_array().unwrap().iter().map(pods).sum()
    };
    let free = free(cluster, &resource);
    let wanted = i64::try_from(gang[0].0).unwrap();
    let cards = gang[0].1;
    match said.as_str() {
        "FitsNow" => {
            assert_eq!((code, before.len(), seats()), (0, replicas, replicas), "{case}");
        }
        "FitsAfterRepack" => {
            assert_eq!((code, seats()), (0, replicas), "{case}");
            assert!(before.is_empty(), "{case}: it is bound without any move");
            let plan = &found["repack"]["plan"];
            let after = with_gang(&moved(cluster, plan), &resource, gang);
            let placed = placed(&temporary("after"), &after);
            assert_eq!(placed.len(), replicas, "{case}: not all are bound after the moves");
            // By counting alone: places that there are, and the most that one more empty node gives.
            let places: i64 = free.values().map(|&(_, free)| free.max(0) / cards).sum();
            let most = free.values().map(|&(all, _)| all / cards).max().unwrap();
            let freed = i64::try_from(plan["freedNodes"].as_array().unwrap().len()).unwrap();
            assert!(freed * most >= wanted - places, "{case}: {freed} freed beside {places} places");
            assert_eq!(found["fewestNodes"], freed, "{case}: the bound does not prove the minimum");
        }
        "NeverFits" => {
            assert_eq!(code, 3, "{case}");
            assert!(before.is_empty(), "{case}: it is bound without any move");
            // Moving pods frees no card.
            let all: i64 = free.values().map(|&(_, free)| free.max(0)).sum();
            let most = found["mostPods"].as_i64().unwrap();
            assert!(all < cards * wanted && most <= all / cards, "{case}: {all} cards are free, {most} fit");
            assert!(found["reason"]["need"].as_i64().unwrap() > found["reason"]["have"].as_i64().unwrap());
            assert!(!found["refused"]["refusals"].as_array().unwrap().is_empty(), "{case}: no node says why");
        }
        other => assert_eq!(other, "an answer with a proof", "{case}: {}", found["reason"]),
    }
    said
}

#[test]
fn the_three_answers_are_proven_on_openb_1213() {
    let Some(file) = bench::cluster("openb-1213") else { return };
    let cluster: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for (gang, expected) in [
        (&[(100, 1)][..], "FitsNow"),
        (&[(4, 8)], "FitsAfterRepack"),
        (&[(16, 8)], "FitsAfterRepack"),
        (&[(64, 8)], "FitsAfterRepack"),
        (&[(400, 8)], "NeverFits"),
        // Several templates: the largest first, since the counts of the proof are of those.
        (&[(12, 8), (40, 2), (1, 1)], "FitsAfterRepack"),
    ] {
        assert_eq!(proven("openb-1213", &file, &cluster, gang), expected, "{gang:?}");
    }
}

#[test]
fn a_job_fits_after_the_repack_that_fit_names_and_not_where_it_says_never() {
    let Some(file) = bench::cluster("openb-100") else { return };
    let cluster: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let mut answers = Vec::new();
    for (replicas, cards) in [(2, 1), (1, 8), (4, 8), (16, 8), (10, 4), (60, 2), (400, 1)] {
        let (found, code) = answer(&file, replicas, cards);
        let said = word(&found["answer"]);
        match said.as_str() {
            "FitsNow" => assert_eq!(code, 0),
            "FitsAfterRepack" => {
                assert_eq!(code, 0);
                let plan = &found["repack"]["plan"];
                let after = written(&format!("after-{replicas}x{cards}.json"), &moved(&cluster, plan));
                assert_eq!(answer(&after, replicas, cards).0["answer"], "FitsNow", "{replicas} x {cards}");
                let freed = i64::try_from(plan["freedNodes"].as_array().unwrap().len()).unwrap();
                assert!(found["fewestNodes"].as_i64().unwrap() <= freed);
            }
            "NeverFits" => {
                assert_eq!(code, 3);
                assert!(found["mostPods"].as_i64().unwrap() < i64::try_from(replicas).unwrap());
                assert!(
                    found["reason"]["need"].as_i64().unwrap() > found["reason"]["have"].as_i64().unwrap()
                );
            }
            other => assert_eq!((other, code), ("NoRepackFound", 3)),
        }
        answers.push(said);
    }
    for said in ["FitsNow", "FitsAfterRepack", "NeverFits"] {
        assert!(answers.iter().any(|a| a == said), "no case of {said}: {answers:?}");
    }
}

/// The dry run that fit names makes its plan, under the same flags.
#[test]
fn the_plan_that_a_dry_run_repeats_is_the_same_plan() {
    let cluster = super::example();
    let mut repeated = 0;
    for (replicas, cards, flags) in [
        (1, 8, &[][..]),
        (2, 8, &["--max-podgroups", "4"]),
        (2, 7, &["--exclude-nodes", "none=x", "--max-cards", "9"]),
    ] {
        let asked_for = ["--replicas", &replicas.to_string(), "--cards", &cards.to_string()];
        let (found, _) = asked(&cluster, &[&asked_for, flags].concat());
        if found["dryRunRepeats"] != true {
            continue;
        }
        repeated += 1;
        let plan = &found["repack"]["plan"];
        let mut again = vec!["dryrun", "-r", found["resource"].as_str().unwrap(), "-o", "json", "-q"];
        again.extend(
            plan["freedNodes"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|n| ["--include-node", n.as_str().unwrap()]),
        );
        again.extend(["--snapshot", cluster.to_str().unwrap()]);
        again.extend(flags);
        let done = run(&again);
        let dry: Value = serde_json::from_slice(&done.stdout).unwrap();
        let dry = if dry["plan"].is_null() { &dry["status"]["plan"] } else { &dry["plan"] };
        assert_eq!((&dry["id"], &dry["moves"]), (&plan["id"], &plan["moves"]), "{again:?}");
    }
    assert!(repeated >= 2, "{repeated}");
}

#[test]
fn a_manifest_gets_the_answer_of_the_flags_that_say_the_same() {
    let cluster = super::example();
    for (replicas, cards) in [(3, 2), (2, 8), (4, 8)] {
        let job = json!({
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train", "namespace": "team-x"},
            "spec": {"tasks": [{"name": "worker", "replicas": replicas, "template": {"spec": {"containers": [
                {"name": "main", "resources": {"limits": {"huawei.com/Ascend910": cards.to_string()}}},
            ]}}}]},
        });
        let file = written(&format!("job-{replicas}x{cards}.json"), &job);
        let (by_file, code) = asked(&cluster, &["-f", file.to_str().unwrap()]);
        let (by_flags, same) = answer(&cluster, replicas, cards);
        assert_eq!(code, same);
        for field in
            ["answer", "resource", "replicas", "seats", "reason", "repack", "fewestNodes", "mostPods"]
        {
            assert_eq!(by_file[field], by_flags[field], "{replicas} x {cards}: {field}");
        }
        assert_eq!(by_file["gang"][0]["workload"], "Job team-x/train");
    }
}
