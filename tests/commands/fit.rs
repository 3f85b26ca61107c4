//! What `fit` answers is true: after the repack that it names the job fits, and where none helps none does.

use std::path::Path;

use serde_json::Value;

use super::{bench, run, text};

fn answer(file: &Path, replicas: u32, cards: u32) -> (Value, i32) {
    let (replicas, cards) = (replicas.to_string(), cards.to_string());
    let snapshot = file.to_str().unwrap();
    let done =
        run(&["fit", "--replicas", &replicas, "--cards", &cards, "--snapshot", snapshot, "-o", "json", "-q"]);
    let code = done.status.code().unwrap();
    assert!(code == 0 || code == 3, "{}", text(&done.stderr));
    (serde_json::from_slice(&done.stdout).unwrap(), code)
}

/// The cluster once every move of the plan is made.
fn moved(cluster: &Value, plan: &Value) -> Value {
    let mut after = cluster.clone();
    let pods = plan["moves"].as_array().unwrap().iter().flat_map(|group| {
        let namespace = &group["namespace"];
        group["pods"].as_array().unwrap().iter().map(move |pod| (namespace, &pod["name"], &pod["toNode"]))
    });
    let pods: Vec<_> = pods.collect();
    for object in after["items"].as_array_mut().unwrap() {
        let meta = &object["metadata"];
        let here = pods.iter().find(|(namespace, name, _)| {
            object["kind"] == "Pod" && meta["namespace"] == **namespace && meta["name"] == **name
        });
        if let Some((_, _, to)) = here {
            object["spec"]["nodeName"] = (*to).clone();
        }
    }
    after
}

#[test]
fn a_job_fits_after_the_repack_that_fit_names_and_not_where_it_says_never() {
    let Some(file) = bench::cluster("openb-100") else { return };
    let cluster: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut answers = Vec::new();
    for (replicas, cards) in [(2, 1), (1, 8), (4, 8), (16, 8), (10, 4), (60, 2), (400, 1)] {
        let (found, code) = answer(&file, replicas, cards);
        let said = found["answer"].as_str().unwrap().to_owned();
        match said.as_str() {
            "FitsNow" => assert_eq!(code, 0),
            "FitsAfterRepack" => {
                assert_eq!(code, 0);
                let plan = &found["repack"]["plan"];
                let after = folder.join(format!("after-{replicas}x{cards}.json"));
                std::fs::write(&after, moved(&cluster, plan).to_string()).unwrap();
                assert_eq!(answer(&after, replicas, cards).0["answer"], "FitsNow", "{replicas} x {cards}");
                // One node less is not enough: it is the smallest repack that was found.
                assert!(!plan["freedNodes"].as_array().unwrap().is_empty());
            }
            "NeverFits" => {
                assert_eq!(code, 3);
                assert!(found["mostPods"].as_i64().unwrap() < i64::from(replicas));
            }
            other => assert_eq!((other, code), ("NoRepackFound", 3)),
        }
        answers.push(said);
    }
    for said in ["FitsNow", "FitsAfterRepack", "NeverFits"] {
        assert!(answers.iter().any(|a| a == said), "no case of {said}: {answers:?}");
    }
}
