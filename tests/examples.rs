//! The example files do what the README and their own comments say.

use std::fs::File;
use std::path::Path;

use kubectl_repack::plan::{self, Request, status::dry_run_status};
use kubectl_repack::snapshot::read::read_all;
use kubectl_repack::snapshot::{BuildOptions, Builder, Snapshot};

fn load(name: &str) -> Result<Snapshot, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let mut builder = Builder::new(BuildOptions::default());
    read_all(File::open(path)?, name, &mut builder)?;
    Ok(builder.finish()?)
}

#[test]
fn npu_8_holds_what_five_nodes_could_hold_and_a_plan_frees_the_other_three()
-> Result<(), Box<dyn std::error::Error>> {
    let snapshot = load("npu-8.yaml")?;
    let planned = plan::make(&snapshot, &Request::for_resource("huawei.com/Ascend910"))?;
    let plan = dry_run_status(&snapshot, &planned).plan.ok_or("a plan was expected")?;
    assert_eq!(plan.freed_nodes, ["npu-01", "npu-03", "npu-05"]);
    assert_eq!((plan.summary.frag_before_percent, plan.summary.frag_after_percent), (38, 0));
    let moved: i64 = plan.moves.iter().map(|group| group.cards).sum();
    assert_eq!(moved, plan.summary.moved_card_count);
    Ok(())
}

#[test]
fn the_run_file_keeps_its_budget_on_the_example_cluster() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/run.yaml");
    let run = kubectl_repack::cli::input::read_run(&path)?;
    let request = Request::from_spec(&run.spec, None, plan::request::Movability::default())
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let planned = plan::make(&load("npu-8.yaml")?, &request)?;
    let plan = dry_run_status(&load("npu-8.yaml")?, &planned).plan.ok_or("a plan was expected")?;
    assert_eq!(plan.freed_nodes, ["npu-01", "npu-03"]);
    let groups: Vec<&str> = plan.moves.iter().map(|group| group.pod_group_name.as_str()).collect();
    assert_eq!(groups, ["embed", "eval"]);
    assert_eq!(plan.summary.moved_card_count, 6);
    Ok(())
}
