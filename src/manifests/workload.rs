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

/// Deployment, Service and disruption budget.
pub fn controller() -> Vec<Value> {
    vec![deployment(), service(), budget()]
}

fn deployment() -> Value {
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
                "metadata": {"labels": labels_of_pods()},
                "spec": {
                    "serviceAccountName": CONTROLLER,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
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
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }],
                },
            },
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(),
        "spec": {
            "selector": selector(),
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

fn labels_of_pods() -> Value {
    let mut labels = selector();
    labels["app.kubernetes.io/version"] = json!(VERSION);
    labels
}
