//! Which pods the workloads of a file are.

use super::wanted::{Part, Wanted};
use super::{BuildOptions, Builder};
use crate::snapshot::Snapshot;
use crate::snapshot::read::read_all;

fn read(file: &str, replicas: Option<usize>) -> Result<(Vec<Part>, Snapshot), String> {
    let mut builder = Builder::new(BuildOptions::default());
    let mut wanted = Wanted::new(&mut builder, replicas);
    // A text that starts with a brace would be taken for JSON.
    let file = format!("---\n{file}");
    read_all(file.as_bytes(), "job.yaml", &mut wanted).map_err(|fault| fault.to_string())?;
    let parts = wanted.parts;
    Ok((parts, builder.finish().map_err(|fault| fault.to_string())?))
}

fn counts(file: &str) -> Vec<(String, usize, usize)> {
    let (parts, snapshot) = read(file, None).unwrap();
    assert_eq!(snapshot.candidates.len(), parts.iter().map(|part| part.pods.len()).sum::<usize>());
    parts.into_iter().map(|part| (part.task, part.pods.len(), part.of)).collect()
}

fn of_kind(api_version: &str, kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{{spec} template: {{spec: {{containers: \
         [{{name: a}}]}}}}}}\n"
    )
}

#[test]
fn each_kind_says_how_many_pods_run_at_the_same_time() {
    let of = |api_version, kind, spec| counts(&of_kind(api_version, kind, spec))[0].1;
    assert_eq!(of("apps/v1", "Deployment", ""), 1);
    assert_eq!(of("apps/v1", "StatefulSet", "replicas: 3,"), 3);
    assert_eq!(of("apps/v1", "ReplicaSet", "replicas: 0,"), 0);
    assert_eq!(of("v1", "ReplicationController", "replicas: 2,"), 2);
    assert_eq!(of("batch/v1", "Job", ""), 1);
    assert_eq!(of("batch/v1", "Job", "completions: 9,"), 1);
    assert_eq!(of("batch/v1", "Job", "parallelism: 4, completions: 9,"), 4);
    assert_eq!(of("batch/v1", "Job", "parallelism: 4, completions: 3,"), 3);
    assert_eq!(
        counts("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}")[0].1,
        1
    );
}

fn volcano(min: &str, tasks: &[(u32, &str)]) -> Vec<usize> {
    let task = |(at, (replicas, least)): (usize, &(u32, &str))| {
        format!(
            "{{name: t{at}, replicas: {replicas}, {least} template: {{spec: {{containers: [{{name: a}}]}}}}}}"
        )
    };
    let tasks: Vec<String> = tasks.iter().enumerate().map(task).collect();
    let file = format!(
        "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{name: x}}, spec: {{{min} tasks: [{}]}}}}",
        tasks.join(", ")
    );
    counts(&file).into_iter().map(|(_, pods, _)| pods).collect()
}

#[test]
fn a_volcano_job_needs_its_minimum_and_that_of_each_task() {
    assert_eq!(volcano("", &[(1, ""), (4, "")]), [1, 4]);
    assert_eq!(volcano("", &[(1, ""), (4, "minAvailable: 2,")]), [1, 2]);
    assert_eq!(volcano("minAvailable: 3,", &[(1, ""), (4, "minAvailable: 2,")]), [1, 2]);
    assert_eq!(volcano("minAvailable: 4,", &[(1, ""), (4, "minAvailable: 2,")]), [1, 3]);
    // Fewer than the tasks need: what they say themselves first, then in order.
    assert_eq!(volcano("minAvailable: 3,", &[(1, ""), (4, "")]), [1, 2]);
    assert_eq!(volcano("minAvailable: 2,", &[(1, ""), (4, "minAvailable: 2,")]), [0, 2]);
    assert_eq!(volcano("minAvailable: 1,", &[(1, ""), (4, "minAvailable: 2,")]), [1, 0]);
}

#[test]
fn pods_are_read_with_what_their_controller_adds() {
    let file = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: x, namespace: team}, spec: {tasks: [{replicas: \
                2, template: {metadata: {labels: {app: a}}, spec: {priority: 7, nodeSelector: {pool: gold}, containers: \
                [{name: a, ports: [{hostPort: 80}]}]}}}]}}";
    let (parts, snapshot) = read(file, None).unwrap();
    assert_eq!(parts[0].pods, ["team/x-default0-0", "team/x-default0-1"]);
    let spec = snapshot.spec_of(snapshot.candidates[0]);
    assert_eq!(snapshot.text(spec.scheduler), "volcano");
    assert_eq!((spec.priority, spec.host_ports.len()), (7, 1));
    let label = |key: &str| snapshot.symbols.find(key).and_then(|key| spec.labels.get(key));
    assert_eq!(label("volcano.sh/task-spec").map(|value| snapshot.text(value)), Some("default0"));
    assert_eq!(label("app").map(|value| snapshot.text(value)), Some("a"));
    // Both are of one class.
    assert_eq!(snapshot.pod(snapshot.candidates[0]).spec, snapshot.pod(snapshot.candidates[1]).spec);
}

#[test]
fn the_queue_of_a_job_limits_its_pods() {
    let queue = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}, status: {state: Closed}}\n---\n";
    let job = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: x}, spec: {queue: q, tasks: [{name: a, replicas: 1, \
               template: {spec: {containers: [{name: a}]}}}, {name: b, replicas: 1, template: {spec: {containers: [{name: a}]}}}]}}";
    let (_, snapshot) = read(&format!("{queue}{job}"), None).unwrap();
    assert_eq!(snapshot.groups.len(), 1);
    assert_eq!(snapshot.text(snapshot.groups[0].queue), "q");
    assert_eq!(snapshot.groups[0].min_member, 2);
    assert!(snapshot.candidates.iter().all(|&pod| snapshot.pod(pod).group.is_some()));
}

#[test]
fn a_live_pod_is_asked_about_as_before_it_was_bound() {
    let live = "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {nodeName: gone, containers: [{name: a}]}, status: {phase: Running}}";
    let (_, snapshot) = read(live, None).unwrap();
    let rules = &snapshot.node_rules[snapshot.spec_of(snapshot.candidates[0]).node_rules.at()];
    assert_eq!(snapshot.text(rules.node_name), "");
    // A pod that names its node before it has been anywhere means it.
    let (_, snapshot) = read(&live.replace(", uid: u", ""), None).unwrap();
    let rules = &snapshot.node_rules[snapshot.spec_of(snapshot.candidates[0]).node_rules.at()];
    assert_eq!(snapshot.text(rules.node_name), "gone");
}

#[test]
fn a_manifest_may_leave_the_name_to_the_server() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: a}]}}\n";
    let (parts, _) = read(&format!("{pod}---\n{pod}"), None).unwrap();
    assert_eq!(parts.iter().map(|part| &*part.name).collect::<Vec<_>>(), ["unnamed-1", "unnamed-2"]);
}

#[test]
fn what_can_not_be_asked_about_is_told_in_one_sentence() {
    let fault = |file: &str, replicas| read(file, replicas).map(|(parts, _)| parts).unwrap_err();
    let deployment = of_kind("apps/v1", "Deployment", "");
    let two = format!("{deployment}---\n{}", of_kind("batch/v1", "Job", ""));
    insta::assert_snapshot!(fault(&two, Some(3)), @"Job x: --replicas is the number of pods of one template, and this is one more (job.yaml, item 2)");
    insta::assert_snapshot!(fault(&deployment, Some(70_000)), @"Deployment x: asks for 70000 pods, and not more than 65535 are looked at (job.yaml, item 1)");
    insta::assert_snapshot!(fault(&of_kind("apps/v1", "StatefulSet", "replicas: -1,"), None), @"StatefulSet x: spec.replicas: -1 is negative (job.yaml, item 1)");
    insta::assert_snapshot!(fault("{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}", None), @"Deployment x: spec.template: is missing (job.yaml, item 1)");
    insta::assert_snapshot!(fault("{apiVersion: v1, kind: Node, metadata: {name: x}}", None), @"Node x: is part of a cluster, which is given with --snapshot (job.yaml, item 1)");
    insta::assert_snapshot!(fault(&of_kind("apps/v1", "DaemonSet", ""), None), @"DaemonSet x: is of a kind whose pods are not known here; known are Pod, Job, Deployment, StatefulSet, ReplicaSet, ReplicationController and Volcano's Job (job.yaml, item 1)");
    let job = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: x}, spec: {minAvailable: 9, tasks: [{replicas: 8, template: {}}]}}";
    insta::assert_snapshot!(fault(job, None), @"Job x: spec.minAvailable: 9 is more than the 8 pods of its tasks (job.yaml, item 1)");
}
