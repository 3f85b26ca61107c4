//! `--min-benefit`: each node that is freed is worth what it damages, as counted again from what the program prints.

use std::path::Path;

use serde_json::Value;

use super::{bench, example, run, text};

fn answer(file: &Path, flags: &[&str]) -> Value {
    let arguments = [&["dryrun", "--snapshot", file.to_str().unwrap(), "-q", "-o", "json"], flags].concat();
    let done = run(&arguments);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Freed nodes, their allocatable cards and damaged cards of a plan.
fn worth(run: &Value, cluster: &Value) -> (i64, i64, i64) {
    let resource = run["spec"]["goals"][0]["resource"].as_str().unwrap();
    let plan = &run["status"]["plan"];
    let cards = |name: &Value| -> i64 {
        let here = |object: &&Value| object["kind"] == "Node" && object["metadata"]["name"] == *name;
        let node = cluster["items"].as_array().unwrap().iter().find(here).unwrap();
        let amount = &node["status"]["allocatable"][resource];
        amount.as_str().map_or_else(|| amount.as_i64().unwrap(), |text| text.parse().unwrap())
    };
    let freed = plan["freedNodes"].as_array().unwrap();
    let damaged = plan["summary"]["disruption"]["damagedCards"].as_i64().unwrap();
    (i64::try_from(freed.len()).unwrap(), freed.iter().map(cards).sum(), damaged)
}

#[test]
fn a_plan_stops_where_a_further_node_is_not_worth_what_it_damages() {
    let Some(file) = bench::cluster("openb-100") else { return };
    let cluster: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let budget = ["--max-podgroups", "6", "--max-cards", "40"];
    let plan = |flags: &[&str]| answer(&file, &[&budget, flags].concat());
    let most = worth(&plan(&[]), &cluster).0;
    let points: Vec<_> =
        (1..=most).map(|freed| worth(&plan(&["--free", &freed.to_string()]), &cluster)).collect();
    let mut stops = Vec::new();
    for least in 0..=5_i64 {
        let asked = ["--min-benefit", &least.to_string()];
        let stopped = worth(&plan(&asked), &cluster);
        let mut good = (0, 0, 0);
        for &point in &points {
            if point.1 - good.1 < least * (point.2 - good.2).max(0) {
                break;
            }
            good = point;
        }
        assert_eq!(stopped, good, "least {least}: {points:?}");
        if least > 0 {
            let frontier = plan(&[&asked[..], &["--frontier"]].concat());
            assert_eq!(frontier["benefit"]["freedNodeCount"], good.0, "least {least}");
            assert_eq!(frontier["points"].as_array().unwrap().len(), points.len());
        }
        stops.push(stopped.0);
    }
    assert!(stops.is_sorted_by(|a, b| a >= b), "{stops:?}");
    assert!(stops[0] == most && stops[1] > *stops.last().unwrap(), "{stops:?}");
}

#[test]
fn the_field_of_a_run_file_is_the_flag() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("benefit-run.yaml");
    let spec = "apiVersion: repack.volcano.sh/v1alpha1\nkind: RepackRun\nmetadata:\n  name: benefit\nspec:\n  \
                mode: DryRun\n  planner:\n    minBenefit: 2\n";
    std::fs::write(&file, spec).unwrap();
    let named = file.to_str().unwrap();
    let of_file = answer(&example(), &["-f", named]);
    let mut of_flag = answer(&example(), &["--min-benefit", "2"]);
    of_flag["metadata"] = of_file["metadata"].clone();
    assert_eq!(of_file, of_flag);
    assert_eq!(of_file["status"]["plan"]["summary"]["benefit"]["minBenefit"], 2);
    // A flag beside the file wins.
    let lifted = answer(&example(), &["-f", named, "--min-benefit", "0"]);
    assert_eq!(lifted["status"]["plan"]["summary"]["benefit"], Value::Null);
}
