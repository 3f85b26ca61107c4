//! The controller as it runs in a cluster: namespace, two replicas of which one leads, what scrapes and what drains
//! them.
//!
//! May import: api

use serde_json::{Value, json};

use super::{CONTROLLER, NAMESPACE, VERSION, labels};

/// Port of `/metrics`.
pub const METRICS_PORT: u16 = 8080;
/// Port of the webhooks.
pub const WEBHOOK_PORT: u16 = 9443;
/// Port of `/healthz` and `/readyz`.
pub const PROBE_PORT: u16 = 8081;
/// A plain name: whoever installs says in the kustomization where the image lies.
pub const IMAGE: &str = "kubectl-repack";
/// Any number but 0 will do; this is the one that distroless images use.
const USER: u32 = 65532;

/// The namespace of everything else.
pub fn namespace() -> Value {
    let mut labels = labels();
    // The pods below pass the strictest profile, and nothing else should run there.
    labels["pod-security.kubernetes.io/enforce"] = json!("restricted");
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
}

/// Deployment and disruption budget.
pub fn controller() -> Vec<Value> {
    vec![deployment(), budget()]
}

fn deployment() -> Value {
    let mut pods = labels_of_pods("controller");
    serves_webhooks(&mut pods);
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "probes"}});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(),
        "spec": {
            // One leads, the other takes over within a lease duration.
            "replicas": 2,
            "selector": {"matchLabels": selector()},
            "template": {
                "metadata": {"labels": pods},
                "spec": {
                    "serviceAccountName": CONTROLLER,
                    "securityContext": security(),
                    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                        "weight": 100,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": selector()},
                            "topologyKey": "kubernetes.io/hostname",
                        },
                    }]}},
                    "containers": [{
                        "name": "controller",
                        "image": format!("{IMAGE}:{VERSION}"),
                        "args": ["controller"],
                        // Who holds the lease, and where it is.
                        "env": [
                            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                        ],
                        "ports": [
                            {"name": "metrics", "containerPort": METRICS_PORT},
                            {"name": "probes", "containerPort": PROBE_PORT},
                            {"name": "webhooks", "containerPort": WEBHOOK_PORT},
                        ],
                        "livenessProbe": probe("/healthz"),
                        "readinessProbe": probe("/readyz"),
                        // A cluster of a thousand nodes and ten thousand pods stays under the request.
                        "resources": {
                            "requests": {"cpu": "100m", "memory": "300Mi"},
                            "limits": {"memory": "2Gi"},
                        },
                        "securityContext": confined(),
                    }],
                },
            },
        },
    })
}

/// By which the API server reaches the webhooks of whatever serves them, and Prometheus the controller.
pub fn service() -> Value {
    let mut selector = json!({"app.kubernetes.io/name": IMAGE});
    serves_webhooks(&mut selector);

    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(),
        "spec": {
            "selector": selector,
            "ports": [
                {"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"},
                {"name": "webhooks", "port": 443, "targetPort": "webhooks"},
            ],
        },
    })
}

fn budget() -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector()}},
    })
}

fn metadata() -> Value {
    json!({"name": CONTROLLER, "namespace": NAMESPACE, "labels": labels()})
}

/// What a Deployment may never change.
fn selector() -> Value {
    json!({"app.kubernetes.io/name": IMAGE, "app.kubernetes.io/component": "controller"})
}

/// Labels of pods that do this job.
pub fn labels_of_pods(component: &str) -> Value {
    let name = "app.kubernetes.io";
    json!({
        format!("{name}/name"): IMAGE,
        format!("{name}/component"): component,
        format!("{name}/version"): VERSION,
    })
}

/// Puts the label on pods that the Service finds.
pub fn serves_webhooks(labels: &mut Value) {
    labels["repack.volcano.sh/serves-webhooks"] = json!("true");
}

/// What the strictest profile asks of a pod.
pub fn security() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// What it asks of a container.
pub fn confined() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}
