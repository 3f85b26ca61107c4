//! What is installed into a cluster: the CRD, the roles, the controller's workload or a CronJob in its place, and krew's
//! manifest of the plugin.
//!
//! Values only, no files and no client: `generate` prints them, `make generate` writes them into `manifests/` and
//! `krew/`, and a test compares. [`files`] is the table of the files. Each is built from the one place that
//! knows: the CRD from the types of [`api`](crate::api), the rights from the kinds that `snapshot` reads.
//!
//! May import: api, snapshot, execute

pub mod admission;
pub mod crd;
pub mod cronjob;
pub mod krew;
pub mod rbac;
pub mod workload;

use serde_json::{Value, json};

use crate::api::names::{MANAGED_BY_LABEL, MANAGER};

/// Version of the program, of its image and of the plugin.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Namespace of the controller and its lease.
pub const NAMESPACE: &str = "kubectl-repack";
/// Name of the controller's account, roles and workload.
pub const CONTROLLER: &str = "kubectl-repack-controller";
/// Where events about objects without a namespace stand.
pub const EVENTS_NAMESPACE: &str = "default";

/// The file of the controller itself.
const CONTROLLER_FILE: &str = "manifests/controller.yaml";

/// One generated file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Its path in the source tree.
    pub path: &'static str,
    /// The objects in it.
    pub documents: Vec<Value>,
}

/// Every generated file; those of a cluster in the order in which they are applied.
pub fn files() -> Vec<File> {
    let mut files: Vec<File> =
        resources().into_iter().map(|(path, documents)| File { path, documents }).collect();
    files.push(File { path: "manifests/kustomization.yaml", documents: vec![kustomization()] });
    files.push(File { path: "manifests/cronjob.yaml", documents: cronjob::objects() });
    files.push(File { path: "krew/repack.yaml", documents: vec![krew::template()] });
    files
}

/// What a cluster needs for scheduled runs without a controller, in order.
pub fn scheduled() -> Vec<Value> {
    let parts = resources().into_iter().filter(|(path, _)| *path != CONTROLLER_FILE);
    parts.flat_map(|(_, documents)| documents).chain(cronjob::objects()).collect()
}

/// Everything that is installed into a cluster, in order.
pub fn installed() -> Vec<Value> {
    resources().into_iter().flat_map(|(_, documents)| documents).collect()
}

fn resources() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("manifests/crds/repackruns.repack.volcano.sh.yaml", vec![crd::repack_run()]),
        ("manifests/namespace.yaml", vec![workload::namespace()]),
        ("manifests/rbac/controller.yaml", rbac::controller()),
        ("manifests/rbac/execute.yaml", rbac::executor()),
        ("manifests/rbac/users.yaml", rbac::users()),
        ("manifests/admission.yaml", admission::execute()),
        ("manifests/service.yaml", vec![workload::service()]),
        (CONTROLLER_FILE, workload::controller()),
    ]
}

/// The base that `kubectl apply -k manifests` takes.
fn kustomization() -> Value {
    let paths: Vec<&str> =
        resources().iter().map(|(path, _)| path.strip_prefix("manifests/").unwrap_or(path)).collect();
    json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": paths})
}

/// Labels of everything that is installed.
fn labels() -> Value {
    json!({"app.kubernetes.io/name": workload::IMAGE, MANAGED_BY_LABEL: MANAGER})
}
