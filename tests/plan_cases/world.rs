//! The cluster of a case: the objects as the API server would list them, and what the drawing says about them.

use std::collections::BTreeMap;

use kubectl_repack::snapshot::read::read_all;
use kubectl_repack::snapshot::{BuildOptions, Builder, Snapshot};
use serde_json::{Value, json};

/// The resource that is drawn.
pub const CARDS: &str = "x.io/npu";

/// A cluster under construction.
#[derive(Default)]
pub struct World {
    /// All objects but those of owners.
    pub objects: Vec<Value>,
    /// What owns the pods of each letter.
    pub owners: BTreeMap<String, Owner>,
    /// Nodes in the order of the drawing.
    pub nodes: Vec<String>,
}

/// An owner of pods.
pub struct Owner {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// The object is part of the input, and with it all owners of its kind.
    pub listed: bool,
    /// What the object says beside its metadata.
    pub body: Value,
}

impl Owner {
    /// The owner of most pods on Volcano: its Job.
    pub fn volcano_job() -> Self {
        Self {
            api_version: "batch.volcano.sh/v1alpha1".to_owned(),
            kind: "Job".to_owned(),
            listed: false,
            body: Value::Null,
        }
    }

    /// A reference to it, as pods carry it.
    pub fn reference(&self, name: &str) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "name": name, "uid": format!("uid-{name}"),
            "controller": true})
    }
}

impl World {
    /// Objects of a kind whose name passes.
    pub fn find(&mut self, kind: &str, is: impl Fn(&str) -> bool) -> Vec<&mut Value> {
        let name = |o: &Value| o["metadata"]["name"].as_str().unwrap_or("").to_owned();
        self.objects.iter_mut().filter(|o| o["kind"] == kind && is(&name(o))).collect()
    }

    /// The node of that name.
    pub fn node(&mut self, name: &str) -> Result<&mut Value, String> {
        let fault = format!("there is no node {name:?}");
        self.find("Node", |n| n == name).pop().ok_or(fault)
    }

    /// Pods of a letter, or the one pod of that name; `on` keeps those of one node.
    pub fn pods(&mut self, which: &str, on: Option<&str>) -> Result<Vec<&mut Value>, String> {
        let mut pods: Vec<&mut Value> = self.find("Pod", |name| name == which || letter_of(name) == which);
        pods.retain(|pod| on.is_none_or(|node| pod["spec"]["nodeName"] == node));
        if pods.is_empty() { Err(format!("there are no pods {which:?}")) } else { Ok(pods) }
    }

    /// Reads and builds the cluster, as from a file.
    pub fn snapshot(&self) -> Result<Snapshot, String> {
        let mut items = self.objects.clone();
        for owner in self.owners.values().filter(|owner| owner.listed) {
            let alike = |o: &&Owner| o.api_version == owner.api_version && o.kind == owner.kind;
            for (name, one) in self.owners.iter().filter(|(_, o)| alike(o)) {
                let mut object = json!({"apiVersion": one.api_version, "kind": one.kind,
                    "metadata": {"namespace": "default", "name": name, "uid": format!("uid-{name}")}});
                merge(&mut object, &one.body);
                if !items.contains(&object) {
                    items.push(object);
                }
            }
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let mut builder = Builder::new(BuildOptions::default());
        read_all(list.as_bytes(), "case", &mut builder).map_err(|fault| fault.to_string())?;
        builder.finish().map_err(|fault| fault.to_string())
    }
}

/// The glyph of a pod: the letters before its number, or `#` for the pods of `DaemonSet`s that drawings make.
pub fn letter_of(pod: &str) -> &str {
    if pod.starts_with("fixed-") { "#" } else { pod.trim_end_matches(|c: char| c.is_ascii_digit()) }
}

/// A JSON merge patch (RFC 7396).
pub fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        if !patch.is_null() {
            *target = patch.clone();
        }
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            if let Some(object) = target.as_object_mut() {
                object.remove(key);
            }
        } else {
            merge(&mut target[key], value);
        }
    }
}
