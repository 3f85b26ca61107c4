//! The webhook configuration: how the API server reaches the webhooks, what it trusts, and for which namespaces it asks.
//!
//! May import: api

use serde_json::{Value, json};

use super::webhook::{POD_GROUPS, PODS, RUNS, base64};
use crate::api::names::{MANAGED_BY_LABEL, MANAGER, WEBHOOKS};
use crate::api::{GROUP, VERSION};

/// How the API server reaches the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By a Service of this namespace and name.
    Service(String, String),
    /// By a base URL, outside the cluster.
    Url(String),
}

/// How the webhooks are reached at a port, and the names that their certificate is for.
pub fn reached(reach: &Reach, port: u16) -> (Reach, Vec<String>) {
    match reach {
        Reach::Service(namespace, name) => {
            let names =
                vec![format!("{name}.{namespace}.svc"), format!("{name}.{namespace}.svc.cluster.local")];
            (reach.clone(), names)
        }
        Reach::Url(base) => {
            let host = base.strip_prefix("https://").unwrap_or(base);
            let (host, base) = match host.rsplit_once(':') {
                Some((host, _)) => (host.to_owned(), base.clone()),
                None => (host.to_owned(), format!("{base}:{port}")),
            };
            (Reach::Url(base), vec![host])
        }
    }
}

/// Every namespace has this label; none lacks it.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A selector that no namespace meets.
pub fn no_namespace() -> Value {
    json!({"matchExpressions": [{"key": NAME_LABEL, "operator": "DoesNotExist"}]})
}

/// The webhook configuration.
pub fn configuration(reach: &Reach, pem: &str, namespaces: &[String]) -> Value {
    let client = |path: &str| match reach {
        Reach::Service(namespace, name) => json!({"caBundle": base64(pem.as_bytes()),
            "service": {"namespace": namespace, "name": name, "path": path, "port": 443}}),
        Reach::Url(base) => json!({"caBundle": base64(pem.as_bytes()), "url": format!("{base}{path}")}),
    };
    let selector = if namespaces.is_empty() {
        no_namespace()
    } else {
        json!({"matchExpressions": [{"key": NAME_LABEL, "operator": "In", "values": namespaces}]})
    };
    let webhook = |name: &str, path: &str, group: &str, versions: &[&str], resource: &str| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client(path),
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "namespaceSelector": selector,
            "reinvocationPolicy": "IfNeeded",
            "rules": [{"apiGroups": [group], "apiVersions": versions, "operations": ["CREATE"],
                       "resources": [resource], "scope": "Namespaced"}],
            "sideEffects": "None",
            "timeoutSeconds": 2,
        })
    };
    // Who creates a run is noted on it, always. Nobody waits for that either: a run without the note is one whose
    // creator is not known, and the verb execute guards it.
    let mut runs = webhook("runs.repack.volcano.sh", RUNS, GROUP, &[VERSION], "repackruns");
    runs["namespaceSelector"] = json!({});
    runs["rules"][0]["scope"] = json!("Cluster");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": WEBHOOKS, "labels": {MANAGED_BY_LABEL: MANAGER}},
        "webhooks": [
            webhook("pods.repack.volcano.sh", PODS, "", &["v1"], "pods"),
            webhook("podgroups.repack.volcano.sh", POD_GROUPS, "scheduling.volcano.sh", &["*"], "podgroups"),
            runs,
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_run_no_namespace_is_selected_and_with_one_only_its_own() {
        let selectors =
            |namespaces: &[String]| {
                let reach = Reach::Service("ns".to_owned(), "svc".to_owned());
                let made = configuration(&reach, "PEM", namespaces);
                let webhooks = made["webhooks"].as_array().unwrap().clone();
                assert!(webhooks.iter().all(|webhook| {
                    webhook["failurePolicy"] == "Ignore" && webhook["timeoutSeconds"] == 2
                }));
                webhooks[0]["namespaceSelector"]["matchExpressions"][0].clone()
            };
        assert_eq!(selectors(&[])["operator"], "DoesNotExist");
        assert_eq!(selectors(&["a".to_owned()])["values"], json!(["a"]));
    }

    #[test]
    fn a_url_without_a_port_gets_that_of_the_webhooks() {
        let (reach, names) = reached(&Reach::Url("https://127.0.0.1".to_owned()), 7);
        assert_eq!(
            (reach, names),
            (Reach::Url("https://127.0.0.1:7".to_owned()), vec!["127.0.0.1".to_owned()])
        );
    }
}
