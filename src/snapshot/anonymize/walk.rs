//! Which strings of a reduced object are replaced, and what they are.
//!
//! The default is to replace: a field that views start to read is anonymised until it is put on the list here.
//!
//! May import: snapshot

use serde_json::{Map, Value};

use crate::snapshot::names::{MIGRATED_PLUGINS, TASK_SPEC};
use crate::snapshot::view::object::{Kind, group_of};

/// What a string is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Class<'a> {
    /// A name or a value; the word says of what, for the reader.
    Name(&'a str),
    /// A UID.
    Uid,
}

/// Sees every string that is replaced, and may replace it.
pub(super) trait Visit {
    fn string(&mut self, text: &mut String, class: Class<'_>);
}

/// Fields whose strings mean the same in every cluster: enumerations, amounts, times, API vocabulary.
const KEPT_FIELDS: &[&str] = &[
    // objects and conditions
    "apiVersion",
    "kind",
    "type",
    "status",
    "reason",
    "phase",
    "state",
    "mode",
    "resource",
    "creationTimestamp",
    "deletionTimestamp",
    "startTime",
    // scheduling
    "schedulerName",
    "effect",
    "operator",
    "topologyKey",
    "matchLabelKeys",
    "mismatchLabelKeys",
    "whenUnsatisfiable",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "declaredFeatures",
    "restartPolicy",
    "protocol",
    "action",
    "event",
    "events",
    "exitCode",
    "minAvailable",
    "maxUnavailable",
    "unhealthyPodEvictionPolicy",
    // volumes
    "provisioner",
    "attacher",
    "driver",
    "topologyKeys",
    "volumeBindingMode",
    "volumeMode",
    "accessModes",
    "capacity",
    "maximumVolumeSize",
    "csi.storage.k8s.io/csi-driver-name",
    // devices
    "expression",
    "deviceClassName",
    "extendedResourceName",
    "allocationMode",
    "matchAttribute",
    "distinctAttribute",
    "bindingConditions",
    // workloads
    "policy",
    "podReplacementPolicy",
    "recoveryPolicy",
];

/// Maps from resource or device vocabulary to amounts: keys and values stay. Some of these names are lists elsewhere.
const KEPT_MAPS: &[&str] = &[
    "allocatable",
    "capacity",
    "requests",
    "limits",
    "overhead",
    "minResources",
    "capability",
    "deserved",
    "allocatedResources",
    "attributes",
];

/// Kinds whose names are vocabulary: resource names and drivers point at them.
const KEPT_NAMES: &[&str] = &["DeviceClass", "CSIDriver"];

/// Labels that tell hardware and platform; planning reads their values, and they identify nobody.
const KEPT_LABELS: &[&str] = &[
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    // What a pod is for its operator: vocabulary, too.
    "ray.io/node-type",
    "training.kubeflow.org/replica-type",
];

/// Labels whose value may be a list `a__b` (on volumes that live in several zones).
const ZONE_LABELS: &[&str] = &[
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// Labels and annotations whose value is a name, even when it looks like a number.
const NAME_VALUES: &[(&str, &str)] = &[
    ("kubernetes.io/hostname", "node"),
    ("beta.kubernetes.io/hostname", "node"),
    ("volume.kubernetes.io/selected-node", "node"),
    ("hami.io/vgpu-node", "node"),
    ("kubernetes.io/metadata.name", "namespace"),
    ("scheduling.k8s.io/group-name", "podgroup"),
    ("scheduling.volcano.sh/group-name", "podgroup"),
    ("scheduling.volcano.sh/queue-name", "queue"),
    ("volcano.sh/queue-name", "queue"),
    ("volcano.sh/job-name", "job"),
    (TASK_SPEC, "task"),
    ("statefulset.kubernetes.io/pod-name", "pod"),
    ("batch.kubernetes.io/job-name", "job"),
    ("job-name", "job"),
    ("volume.beta.kubernetes.io/storage-class", "storageclass"),
];

/// Annotations whose value is one or several drivers.
const KEPT_ANNOTATIONS: &[&str] = &[
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
    MIGRATED_PLUGINS,
];

/// Queues with a meaning of their own: groups without a queue are in `default`, all queues hang under `root`.
const KEPT_QUEUES: &[&str] = &["default", "root"];

/// Kinds without a namespace; others that name none are in `default`.
const CLUSTER_SCOPED: &[&str] = &[
    "Node",
    "Namespace",
    "Queue",
    "ResourceSlice",
    "DeviceClass",
    "DeviceTaintRule",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "VolumeAttachment",
    "PriorityClass",
    "RuntimeClass",
    "HyperNode",
];

/// Writes out what rules would otherwise derive from names: the namespace `default`, and the task of a Volcano Job's pod
/// that only its name `JOB-TASK-INDEX` tells.
pub(super) fn write_out(kind: Kind, fields: &mut Map<String, Value>) {
    if CLUSTER_SCOPED.contains(&kind.name()) {
        return;
    }
    let Some(Value::Object(meta)) = fields.get_mut("metadata") else { return };
    let namespace = meta.entry("namespace").or_insert_with(|| "default".into());
    if namespace.as_str() == Some("") {
        *namespace = "default".into();
    }
    if let (Kind::Pod, Some(task)) = (kind, task_in_name(meta)) {
        let annotations = meta.entry("annotations").or_insert_with(|| Map::new().into());
        if let Value::Object(annotations) = annotations {
            annotations.insert(TASK_SPEC.to_owned(), task.into());
        }
    }
}

fn task_in_name(meta: &Map<String, Value>) -> Option<String> {
    let marked = |map: &str| meta.get(map).is_some_and(|m| m.get(TASK_SPEC).is_some());
    let owner = meta.get("ownerReferences")?.as_array()?.iter().find(|o| {
        let text = |key: &str| o.get(key).and_then(Value::as_str).unwrap_or_default();
        text("kind") == "Job" && group_of(text("apiVersion")) == Kind::VolcanoJob.group()
    })?;
    let (name, job) = (meta.get("name")?.as_str()?, owner.get("name")?.as_str()?);
    let (task, _) = name.strip_prefix(job)?.strip_prefix('-')?.rsplit_once('-')?;
    (!marked("labels") && !marked("annotations")).then(|| task.to_owned())
}

/// Walks all strings of an object of this kind.
pub(super) fn object(kind: Kind, fields: &mut Map<String, Value>, visit: &mut dyn Visit) {
    let name = kind.name();
    let word = name.to_ascii_lowercase();
    let mut walk = Walk { kind: name, word: &word, visit };
    for (field, value) in fields {
        walk.value(field, value, "");
    }
}

struct Walk<'a> {
    kind: &'a str,
    /// The kind in lower case: what `metadata.name` names.
    word: &'a str,
    visit: &'a mut dyn Visit,
}

impl Walk<'_> {
    /// A value under `field` of an object that is itself under `parent`.
    fn value(&mut self, field: &str, value: &mut Value, parent: &str) {
        match value {
            Value::String(text) => self.field(field, text, parent),
            // What is a map under this name elsewhere is a list of objects here (`requests` of a device claim).
            Value::Array(items) => items.iter_mut().for_each(|item| match item {
                Value::Object(map) => self.fields(field, map),
                other => self.value(field, other, parent),
            }),
            Value::Object(map) => self.map(field, map),
            _ => {}
        }
    }

    fn map(&mut self, field: &str, map: &mut Map<String, Value>) {
        match field {
            "labels" | "matchLabels" | "nodeSelector" => {
                for (key, value) in map {
                    match value {
                        Value::String(text) => self.label(key, text),
                        other => self.value(key, other, field),
                    }
                }
            }
            "annotations" => {
                for (key, value) in map {
                    if let Value::String(text) = value {
                        self.annotation(key, text);
                    }
                }
            }
            // Task names are keys here.
            "minTaskMember" => {
                let tasks = std::mem::take(map);
                map.extend(tasks.into_iter().map(|(mut task, least)| {
                    self.visit.string(&mut task, Class::Name("task"));
                    (task, least)
                }));
            }
            kept if KEPT_MAPS.contains(&kept) => {}
            "resource" => {}
            _ => self.fields(field, map),
        }
    }

    /// An ordinary object. One with `key` and values is a requirement, a taint or a toleration.
    fn fields(&mut self, parent: &str, map: &mut Map<String, Value>) {
        let key = map.get("key").and_then(Value::as_str).map(str::to_owned);
        let owner = map.get("kind").and_then(Value::as_str).map(str::to_ascii_lowercase);
        for (field, value) in map {
            match (field.as_str(), value) {
                ("key", Value::String(_)) if key.is_some() => {}
                ("value", Value::String(text)) => self.label(key.as_deref().unwrap_or_default(), text),
                ("values", Value::Array(texts)) if key.is_some() => {
                    for text in texts {
                        if let Value::String(text) = text {
                            self.label(key.as_deref().unwrap_or_default(), text);
                        }
                    }
                }
                // References carry the kind of what they name.
                ("name", Value::String(text)) if owner.is_some() => {
                    self.name(text, owner.as_deref().unwrap_or_default());
                }
                (field, value) => self.value(field, value, parent),
            }
        }
    }

    fn field(&mut self, field: &str, text: &mut String, parent: &str) {
        match field {
            "uid" | "shareID" => self.visit.string(text, Class::Uid),
            "name" if parent == "metadata" && KEPT_NAMES.contains(&self.kind) => {}
            "name" if parent == "metadata" => {
                if !(self.kind == "Queue" && KEPT_QUEUES.contains(&text.as_str())) {
                    let word = self.word;
                    self.name(text, word);
                }
            }
            // Gates are API vocabulary; drivers are named in resource names and classes.
            "name" if parent == "schedulingGates" || (parent == "drivers" && self.kind == "CSINode") => {}
            "queue" | "parent" if KEPT_QUEUES.contains(&text.as_str()) => {}
            // A wildcard address conflicts with every other.
            "hostIP" if matches!(text.as_str(), "0.0.0.0" | "::") => {}
            kept if KEPT_FIELDS.contains(&kept) => {}
            "nodeName" | "nominatedNodeName" => self.name(text, "node"),
            "namespace" | "namespaces" => self.name(text, "namespace"),
            "queue" | "parent" => self.name(text, "queue"),
            "name" => self.name(text, parent.strip_suffix('s').unwrap_or(parent)),
            other => self.name(text, other.strip_suffix("Name").unwrap_or(other)),
        }
    }

    fn label(&mut self, key: &str, text: &mut String) {
        if KEPT_LABELS.contains(&key) {
            return;
        }
        if let Some((_, word)) = NAME_VALUES.iter().find(|(name, _)| *name == key) {
            self.name(text, word);
        } else if key == "metadata.name" {
            self.name(text, "node");
        } else if ZONE_LABELS.contains(&key) {
            self.parts(text, "__", "zone");
        } else if !is_plain_value(text) {
            self.visit.string(text, Class::Name("value"));
        }
    }

    fn annotation(&mut self, key: &str, text: &mut String) {
        if KEPT_ANNOTATIONS.contains(&key) {
            return;
        }
        if let Some((_, word)) = NAME_VALUES.iter().find(|(name, _)| *name == key) {
            self.name(text, word);
        } else if !is_plain_value(text) && !is_amount(text) {
            self.visit.string(text, Class::Name("value"));
        }
    }

    /// A name, or several joined by slashes: names hold none themselves.
    fn name(&mut self, text: &mut String, word: &str) {
        self.parts(text, "/", word);
    }

    fn parts(&mut self, text: &mut String, separator: &str, word: &str) {
        let word: String =
            word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let parts = text.split(separator).map(|part| {
            let mut part = part.to_owned();
            self.visit.string(&mut part, Class::Name(&word));
            part
        });
        *text = parts.collect::<Vec<_>>().join(separator);
    }
}

/// Integers (for `Gt` and `Lt`) and booleans (opt-outs) are read as what they are.
fn is_plain_value(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    integer || matches!(text, "" | "true" | "false" | "yes" | "no")
}

/// Amounts, durations and percentages: digits with a short unit.
fn is_amount(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    rest.len() < text.len()
        && (rest == "%" || (rest.len() <= 2 && rest.bytes().all(|b| b.is_ascii_alphabetic())))
}
