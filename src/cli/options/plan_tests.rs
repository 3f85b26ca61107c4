use clap::Parser;

use super::*;
use crate::cli::output::yaml;

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: DryRunArgs,
}

fn typed(words: &str) -> DryRunArgs {
    Typed::try_parse_from(std::iter::once("dryrun").chain(words.split_whitespace())).unwrap().args
}

fn spec(words: &str, file: Option<RepackRun>) -> String {
    let options = PlanOptions::dry_run(&typed(words), file);
    let run = options.run_for(options.resource().unwrap_or("nvidia.com/gpu"));
    run.validate().unwrap();
    yaml(&run.spec).unwrap()
}

#[test]
fn no_flags_make_the_smallest_run() {
    insta::assert_snapshot!(spec("", None), @"
    mode: DryRun
    goals:
    - resource: nvidia.com/gpu
      minFragImprovementPercent: 0
    planner:
      algorithm: Search
    ");
}

#[test]
fn every_flag_has_its_field() {
    let words = "-r huawei.com/Ascend910 --min-improvement 10% --include-podgroups team=a,tier!=gold \
                 --exclude-podgroups keep --include-podgroup a/x --include-podgroup a/y --include-nodes pool=npu \
                 --exclude-nodes zone=z --include-node n1 --max-podgroups 2 --max-cards 8 --free 3 --min-benefit 2 \
                 --grace-period 90s --ttl 2h --algorithm drain --on-blocked-pdb wait";
    insta::assert_snapshot!(spec(words, None), @"
    mode: DryRun
    scope:
      podGroups:
        include:
          selector:
            matchLabels:
              team: a
            matchExpressions:
            - key: tier
              operator: NotIn
              values:
              - gold
          names:
          - a/x
          - a/y
        exclude:
          selector:
            matchExpressions:
            - key: keep
              operator: Exists
      nodes:
        include:
          selector:
            matchLabels:
              pool: npu
          names:
          - n1
        exclude:
          selector:
            matchLabels:
              zone: z
    goals:
    - resource: huawei.com/Ascend910
      minFragImprovementPercent: 10
    maxPerRun:
      podGroups: 2
      resources:
        huawei.com/Ascend910: 8
    eviction:
      gracePeriodSeconds: 90
    ttlSecondsAfterFinished: 7200
    planner:
      algorithm: Drain
      maxFreedNodes: 3
      minBenefit: 2
    execution:
      onBlockedPDB: Wait
    ");
}

fn file() -> RepackRun {
    RepackRun::from_document(serde_json::json!({
        "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun", "metadata": {"name": "from-file"},
        "spec": {
            "mode": "Execute",
            "scope": {"nodes": {"include": {"names": ["n1"]}, "exclude": {"names": ["n2"]}}},
            "goals": [{"resource": "a.b/c", "minFragImprovementPercent": 5}],
            "maxPerRun": {"podGroups": 1, "resources": {"a.b/c": 4, "d.e/f": 1}},
        },
    }))
    .unwrap()
}

#[test]
fn f108_a_file_is_planned_as_a_dry_run_whatever_its_mode() {
    insta::assert_snapshot!(spec("", Some(file())), @"
    mode: DryRun
    scope:
      nodes:
        include:
          names:
          - n1
        exclude:
          names:
          - n2
    goals:
    - resource: a.b/c
      minFragImprovementPercent: 5
    maxPerRun:
      podGroups: 1
      resources:
        a.b/c: 4
        d.e/f: 1
    planner:
      algorithm: Search
    ");
}

#[test]
fn a_flag_replaces_its_own_field_of_the_file_and_no_other() {
    insta::assert_snapshot!(spec("--include-node n7 --max-cards 16 --min-improvement 0", Some(file())), @"
    mode: DryRun
    scope:
      nodes:
        include:
          names:
          - n7
        exclude:
          names:
          - n2
    goals:
    - resource: a.b/c
      minFragImprovementPercent: 0
    maxPerRun:
      podGroups: 1
      resources:
        a.b/c: 16
        d.e/f: 1
    planner:
      algorithm: Search
    ");
}

#[test]
fn the_search_plans_unless_the_file_or_a_flag_says_otherwise() {
    let planned_by = |flags: &str, algorithm| {
        let mut run = file();
        run.spec.planner = Some(Planner { algorithm, ..Planner::default() });
        let options = PlanOptions::dry_run(&typed(flags), Some(run));
        options.request_for("a.b/c").unwrap().1.algorithm
    };
    assert_eq!(planned_by("", None), Algorithm::Search);
    assert_eq!(planned_by("", Some(Algorithm::Drain)), Algorithm::Drain);
    assert_eq!(planned_by("--algorithm drain", Some(Algorithm::Search)), Algorithm::Drain);
    assert_eq!(planned_by("--algorithm search", Some(Algorithm::Drain)), Algorithm::Search);
}

#[test]
fn movability_flags_are_taken_along() {
    let args =
        typed("--schedulers volcano,default-scheduler --allow-ungrouped --min-pod-age 1h --pod-cooldown 0");
    let movability = PlanOptions::dry_run(&args, None).movability;
    assert_eq!(movability.schedulers, ["default-scheduler", "volcano"]);
    assert!(movability.allow_ungrouped && !movability.allow_host_path);
    assert_eq!((movability.min_pod_age_seconds, movability.pod_cooldown_seconds), (3600, 0));
}

#[test]
fn the_request_of_the_planner_says_what_the_run_says() {
    let args =
        typed("--max-podgroups 2 --max-cards 8 --on-blocked-pdb wait --now 1970-01-01T00:01:00Z --free 1");
    let (run, request) = PlanOptions::dry_run(&args, None).request_for("a.b/c").unwrap();
    assert_eq!(run.spec.max_per_run.unwrap().resources["a.b/c"], 8);
    assert_eq!((request.budget.pod_groups, request.budget.resources["a.b/c"]), (Some(2), 8));
    assert_eq!(request.movability.on_blocked_pdb, OnBlockedPdb::Wait);
    assert_eq!((request.now, request.max_freed_nodes), (Some(60), Some(1)));
}

#[test]
fn a_name_no_node_can_have_is_refused() {
    let options = PlanOptions::dry_run(&typed("--include-node team/x"), None);
    let error = options.request_for("a.b/c").unwrap_err().to_string();
    insta::assert_snapshot!(error, @r#"cannot plan this: spec.scope.nodes.include.names[0] must be a node name, not "team/x""#);
}
