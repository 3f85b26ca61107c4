//! Whose the RepackRun definition is: this controller works only where its own installation put it.
//!
//! Another product serves the same kind; two controllers on one definition would both answer every run.
//!
//! May import: api

use std::fmt;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ApiResource;
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use tokio::sync::watch;

use super::metrics::Metrics;
use crate::api::names::{MANAGED_BY_LABEL as MANAGED_BY, MANAGER};
use crate::api::{GROUP, RepackRun, VERSION};

/// Name of the definition.
pub const DEFINITION: &str = "repackruns.repack.volcano.sh";

/// Metadata of the definition, all that is read of it.
pub type Definition = PartialObjectMeta<CustomResourceDefinition>;

/// Where RepackRuns are.
pub fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, RepackRun::KIND);
    ApiResource::from_gvk_with_plural(&kind, "repackruns")
}

/// What is known of the definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// It was not read yet.
    #[default]
    Unknown,
    /// There is none.
    Missing,
    /// It is this product's.
    Ours,
    /// It is not labelled as this product's; holds the label's value, if there is one.
    Foreign(Option<String>),
}

impl Ownership {
    /// Reads the metadata of the definition; none: there is no definition.
    pub fn of(definition: Option<&Definition>) -> Self {
        let Some(definition) = definition else { return Self::Missing };
        let manager = definition.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
        match manager {
            Some(name) if name == MANAGER => Self::Ours,
            other => Self::Foreign(other.cloned()),
        }
    }
}

/// Follows the definition until the task is ended. What can not be read leaves what was known.
pub async fn follow(client: Client, metrics: Arc<Metrics>, found: watch::Sender<Ownership>) {
    let definitions: Api<Definition> = Api::all(client);
    let mut told = watch_object(definitions, DEFINITION).default_backoff().boxed();
    while let Some(told) = told.next().await {
        match told {
            Ok(definition) => {
                let ownership = Ownership::of(definition.as_ref());
                found.send_if_modified(|known| std::mem::replace(known, ownership.clone()) != ownership);
            }
            Err(fault) => {
                metrics.watch_failed("customresourcedefinitions", &fault);
            }
        }
    }
}

/// A sentence without a full stop.
impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = format!("{MANAGED_BY}={MANAGER}");
        match self {
            Self::Unknown => write!(f, "the CustomResourceDefinition {DEFINITION} has not been read yet"),
            Self::Missing => {
                write!(f, "there is no CustomResourceDefinition {DEFINITION}; apply manifests/crds")
            }
            Self::Ours => write!(f, "the CustomResourceDefinition {DEFINITION} is labelled {wanted}"),
            Self::Foreign(manager) => {
                let found = match manager {
                    Some(name) => format!("is labelled {MANAGED_BY}={name}"),
                    None => format!("has no label {MANAGED_BY}"),
                };
                write!(
                    f,
                    "the CustomResourceDefinition {DEFINITION} {found}, so its runs may be another controller's; \
                     where no other controller answers them: kubectl label crd {DEFINITION} --overwrite {wanted}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_definition_with_the_label_is_ours() {
        let of = |labels: serde_json::Value| {
            let definition: Definition = serde_json::from_value(json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                "metadata": {"name": DEFINITION, "labels": labels},
            }))
            .unwrap();
            Ownership::of(Some(&definition))
        };
        assert_eq!(of(json!({"app.kubernetes.io/managed-by": "kubectl-repack"})), Ownership::Ours);
        assert_eq!(of(json!({})), Ownership::Foreign(None));
        let foreign = of(json!({"app.kubernetes.io/managed-by": "Helm"}));
        assert!(foreign.to_string().contains("managed-by=Helm, so"), "{foreign}");
        assert_eq!(Ownership::of(None), Ownership::Missing);
    }

    #[test]
    fn runs_are_asked_for_at_the_path_of_the_contract() {
        let resource = resource();
        assert_eq!(
            (resource.api_version.as_str(), resource.plural.as_str()),
            (crate::api::API_VERSION, "repackruns")
        );
    }
}
