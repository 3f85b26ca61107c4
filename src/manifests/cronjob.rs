//! The CronJob for clusters that want no controller: one run at a time, each a Job whose pod plans, moves and cleans up.
//!
//! May import: api

use serde_json::{Value, json};

use super::workload::{IMAGE, WEBHOOK_PORT, confined, labels_of_pods, security, serves_webhooks};
use super::{NAMESPACE, VERSION, labels, rbac};

/// Name of the CronJob, of its account, and of the `ConfigMap` with its run.
const NAME: &str = "kubectl-repack-once";
/// Where the run is mounted, and its file.
const FOLDER: &str = "/etc/kubectl-repack";
const FILE: &str = "run.yaml";
/// A careful run, with words for whoever changes it.
const RUN: &str = "\
# What every run does; kubectl explain repackrun.spec tells of all fields. Without goals it is
# about the only extended resource in use.
apiVersion: repack.volcano.sh/v1alpha1
kind: RepackRun
spec:
  mode: Execute
  maxPerRun:
    # So many workloads are disturbed at most.
    podGroups: 2
  # A week.
  ttlSecondsAfterFinished: 604800
";
/// Exit codes after which another try would end in the same way: the command line is wrong; the run ended without the
/// wanted result.
pub const FINAL: [u8; 2] = [2, 3];

/// Account with its rights, the run, and the CronJob.
pub fn objects() -> Vec<Value> {
    let mut objects = vec![json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata()})];
    objects.extend(rbac::once(NAME));
    objects.extend([run(), cronjob()]);
    objects
}

fn run() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(), "data": {FILE: RUN}})
}

fn cronjob() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(),
        "spec": {
            // Every night; the time zone is the cluster's unless spec.timeZone says another.
            "schedule": "0 2 * * *",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {
                "metadata": {"labels": labels()},
                "spec": {
                    // A pod that fails is followed by one that goes on with the same run.
                    "backoffLimit": 3,
                    "podFailurePolicy": {"rules": [
                        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                        {"action": "FailJob", "onExitCodes": {"containerName": "once", "operator": "In", "values": FINAL}},
                    ]},
                    "template": {"metadata": {"labels": pod_labels()}, "spec": pod()},
                },
            },
        },
    })
}

fn pod() -> Value {
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let file = format!("{FOLDER}/{FILE}");
    json!({
        "serviceAccountName": NAME,
        "restartPolicy": "Never",
        // Asked to end, it cancels the run and cleans up.
        "terminationGracePeriodSeconds": 120,
        "securityContext": security(),
        "containers": [{
            "name": "once",
            "image": format!("{IMAGE}:{VERSION}"),
            "args": ["run", "--once", "-f", file, "--name", "$(JOB_NAME)"],
            "env": [
                field("POD_NAME", "metadata.name"),
                field("POD_NAMESPACE", "metadata.namespace"),
                field("JOB_NAME", "metadata.labels['batch.kubernetes.io/job-name']"),
            ],
            "ports": [{"name": "webhooks", "containerPort": WEBHOOK_PORT}],
            "resources": {"requests": {"cpu": "100m", "memory": "300Mi"}, "limits": {"memory": "2Gi"}},
            "securityContext": confined(),
            "volumeMounts": [{"name": "run", "mountPath": FOLDER, "readOnly": true}],
        }],
        "volumes": [{"name": "run", "configMap": {"name": NAME}}],
    })
}

fn pod_labels() -> Value {
    let mut labels = labels_of_pods("once");
    serves_webhooks(&mut labels);
    labels
}

fn metadata() -> Value {
    json!({"name": NAME, "namespace": NAMESPACE, "labels": labels()})
}
