//! Which of the kinds that planning reads an API server serves, and where.
//!
//! Two requests tell it (aggregated discovery, `apidiscovery.k8s.io`), so no kind is asked for that is not there.
//!
//! May import: live, snapshot

use serde::Deserialize;

use super::pages::get;
use super::{Connected, LiveError};
use crate::snapshot::view::object::Kind;

/// A kind at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The kind.
    pub kind: Kind,
    /// Version of its group: `v1beta1`.
    pub version: String,
    /// Its name in paths: `podgroups`.
    pub plural: String,
}

impl Served {
    /// As `kubectl` names it: `podgroups.scheduling.volcano.sh`, or `pods`.
    pub fn resource(&self) -> String {
        match self.kind.group() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The path of all its objects, in every namespace.
    pub fn path(&self) -> String {
        match self.kind.group() {
            "" => format!("/api/{}/{}", self.version, self.plural),
            group => format!("/apis/{group}/{}/{}", self.version, self.plural),
        }
    }
}

/// What a server serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Kinds that can be listed, in the order of [`Kind::ALL`].
    pub served: Vec<Served>,
    /// Kinds of groups whose own server does not answer the API server.
    pub silent: Vec<Kind>,
}

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                      application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Asks the server.
///
/// # Errors
/// The server does not answer, refuses, or is older than 1.27 and knows no aggregated discovery.
pub async fn catalogue(connected: &Connected) -> Result<Catalogue, LiveError> {
    let mut groups = Vec::new();
    for path in ["/api", "/apis"] {
        let text = get(connected, path, Some(ACCEPT), "discover", "the served resources").await?;
        let list: GroupList = serde_json::from_str(&text).map_err(|fault| LiveError::Connection {
            verb: "discover",
            resource: "the served resources".to_owned(),
            server: connected.server.clone(),
            fault: format!("no aggregated discovery (servers from 1.27 on have it): {fault}"),
        })?;
        groups.extend(list.items);
    }
    Ok(choose(&groups))
}

fn choose(groups: &[Group]) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for &kind in Kind::ALL {
        let Some(group) = groups.iter().find(|group| group.metadata.name == kind.group()) else { continue };
        // Versions come in the order in which the server prefers them.
        let found = group.versions.iter().find_map(|version| {
            let of_kind = |r: &&Resource| r.response_kind.kind == kind.name();
            let listed = |r: &&Resource| r.verbs.iter().any(|verb| verb == "list");
            let resource = version.resources.iter().filter(of_kind).find(listed)?;
            Some(Served { kind, version: version.version.clone(), plural: resource.resource.clone() })
        });
        match found {
            Some(served) => catalogue.served.push(served),
            None if group.versions.iter().any(|version| version.freshness == "Stale") => {
                catalogue.silent.push(kind);
            }
            None => {}
        }
    }
    catalogue
}

#[derive(Debug, Deserialize)]
struct GroupList {
    items: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Name,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: String,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    #[serde(default)]
    response_kind: ResponseKind,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_that_can_be_listed_is_taken_and_a_silent_group_is_no_absent_one() {
        let text = r#"[
          {"metadata": {}, "versions": [{"version": "v1", "resources": [
            {"resource": "pods", "responseKind": {"kind": "Pod"}, "verbs": ["get", "list"]},
            {"resource": "bindings", "responseKind": {"kind": "Binding"}, "verbs": ["create"]}]}]},
          {"metadata": {"name": "scheduling.volcano.sh"}, "versions": [
            {"version": "v1", "resources": [
              {"resource": "podgroups", "responseKind": {"kind": "PodGroup"}, "verbs": ["get"]}]},
            {"version": "v1beta1", "resources": [
              {"resource": "podgroups", "responseKind": {"kind": "PodGroup"}, "verbs": ["list"]}]}]},
          {"metadata": {"name": "ray.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]}
        ]"#;
        let groups: Vec<Group> = serde_json::from_str(text).unwrap();
        let catalogue = choose(&groups);
        let paths: Vec<String> = catalogue.served.iter().map(Served::path).collect();
        assert_eq!(paths, ["/api/v1/pods", "/apis/scheduling.volcano.sh/v1beta1/podgroups"]);
        assert_eq!(catalogue.served[1].resource(), "podgroups.scheduling.volcano.sh");
        assert_eq!(catalogue.silent, [Kind::RayCluster, Kind::RayJob, Kind::RayService]);
    }
}
