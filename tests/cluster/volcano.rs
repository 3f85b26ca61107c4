//! Volcano itself beside a cluster: its scheduler, its controllers and its webhooks, from a folder of programs that
//! somebody has built. Nothing of it is in this tree.
//!
//! The folder is named by `VOLCANO_BIN`. It holds the programs `scheduler`, `controller-manager` and `webhook-manager`,
//! built from those folders of Volcano's `cmd`, and beside them the folder `crds` with Volcano's CRDs, one to a file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Cluster;
use super::objects::SOON;
use super::process::Processes;
use super::start::free_ports;

/// The account that Volcano's programs use; it may do everything.
pub const ACCOUNT: &str = "volcano";
/// The variable that names the folder.
pub const FOLDER: &str = "VOLCANO_BIN";

/// A webhook: path, whether it changes objects, API group, version, resource, operations.
type Webhook = (&'static str, bool, &'static str, &'static str, &'static str, &'static [&'static str]);

/// Those that Volcano enables by default.
const WEBHOOKS: [Webhook; 7] = [
    ("/jobs/mutate", true, "batch.volcano.sh", "v1alpha1", "jobs", &["CREATE"]),
    ("/jobs/validate", false, "batch.volcano.sh", "v1alpha1", "jobs", &["CREATE", "UPDATE"]),
    ("/podgroups/mutate", true, "scheduling.volcano.sh", "v1beta1", "podgroups", &["CREATE"]),
    ("/pods/mutate", true, "", "v1", "pods", &["CREATE"]),
    ("/pods/validate", false, "", "v1", "pods", &["CREATE"]),
    ("/queues/mutate", true, "scheduling.volcano.sh", "v1beta1", "queues", &["CREATE"]),
    (
        "/queues/validate",
        false,
        "scheduling.volcano.sh",
        "v1beta1",
        "queues",
        &["CREATE", "UPDATE", "DELETE"],
    ),
];

/// Actions and plugins that Volcano is installed with.
const SCHEDULER: &str = "actions: enqueue, allocate, backfill
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
";

/// The folder that `VOLCANO_BIN` names.
///
/// # Panics
/// When it names none: `make e2e-volcano` looks before.
pub fn folder() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(|| panic!("{FOLDER} names no folder"), PathBuf::from)
}

impl Cluster {
    /// Starts Volcano, which takes some seconds, and waits until it takes Jobs. The cluster has a user [`ACCOUNT`], none of
    /// Volcano's types, and no other scheduler of the name `volcano`.
    ///
    /// # Panics
    /// When it does not become ready.
    pub fn start_volcano(&self, programs: &Path) -> Processes {
        self.kubectl_text(&format!(
            "create clusterrolebinding volcano --clusterrole=cluster-admin --user={ACCOUNT}"
        ));
        self.install_types(&programs.join("crds"));
        let [port] = free_ports().unwrap();
        let configurations: Vec<Value> =
            WEBHOOKS.iter().map(|webhook| configuration(webhook, port)).collect();
        self.create_all(&configurations);
        let folder = self.folder().join("volcano");
        let mut running = Processes::new(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let [certificate, key, conf] =
            ["webhooks.crt", "webhooks.key", "scheduler.conf"].map(|name| folder.join(name));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        std::fs::write(&conf, SCHEDULER).unwrap();

        let command = |program: &str| {
            let mut command = self.command(ACCOUNT, programs.join(program));
            command.arg("--kubeconfig").arg(self.kubeconfig(ACCOUNT)).current_dir(&folder);
            command
        };
        let mut webhooks = command("webhook-manager");
        webhooks
            .args(["--listen-address=127.0.0.1", &format!("--port={port}")])
            .arg(format!("--webhook-url=https://127.0.0.1:{port}"))
            // It is its own authority, and puts it into the configurations by itself.
            .arg(format!("--ca-cert-file={}", certificate.display()))
            .arg(format!("--tls-cert-file={}", certificate.display()))
            .arg(format!("--tls-private-key-file={}", key.display()));
        running.start("webhook-manager", &mut webhooks).unwrap();
        running
            .start("controller-manager", command("controller-manager").arg("--leader-elect=false"))
            .unwrap();
        let mut scheduler = command("scheduler");
        scheduler.args(["--leader-elect=false", "--cache-dumper=false", "--scheduler-conf"]).arg(conf);
        running.start("scheduler", &mut scheduler).unwrap();

        let queue = "/apis/scheduling.volcano.sh/v1beta1/queues/default";
        self.wait_for("Volcano's scheduler has made the queue default, and it is open", SOON, || {
            if let Some(fault) = running.ended() {
                panic!("{fault}");
            }
            let answer = self.get("admin", queue);
            (answer.code == 200 && answer.body["status"]["state"] == "Open").then_some(())
        });
        running
    }
}

fn configuration(webhook: &Webhook, port: u16) -> Value {
    let (path, changes, group, version, resource, operations) = *webhook;
    let kind = if changes { "MutatingWebhookConfiguration" } else { "ValidatingWebhookConfiguration" };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": format!("volcano-admission-service{}", path.replace('/', "-"))},
        "webhooks": [{
            "name": format!("{}.volcano.sh", path.trim_start_matches('/').replace('/', ".")),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("https://127.0.0.1:{port}{path}")},
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]},
            "rules": [{"apiGroups": [group], "apiVersions": [version], "operations": operations,
                       "resources": [resource], "scope": "*"}],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 10,
        }],
    })
}
