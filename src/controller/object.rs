//! A run as the API server stores it, reduced to what its life cycle needs.
//!
//! Whatever stands in the object can be read: a spec or a status of the wrong shape becomes a sentence and no error,
//! so that one odd object never stops the others. The plan of a finished run is dropped: a controller keeps thousands
//! of those.
//!
//! May import: api

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::api::{ConditionStatus, Mode, Phase, RepackRunSpec, RepackRunStatus, names, shape_errors};

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub version: String,
    /// `metadata.generation`
    pub generation: Option<i64>,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the annotation asks to stop.
    pub cancelled: bool,
    /// Whether it has our finalizer.
    pub finalizer: bool,
    /// Whether it has the label of a run with leases and gates out.
    pub active: bool,
    /// `spec.managedBy`
    pub manager: Option<String>,
    /// Plan only, or also move; a word that is neither counts as plan only and makes `spec` a sentence.
    pub mode: Mode,
    /// `spec.ttlSecondsAfterFinished`
    pub ttl_seconds: Option<i64>,
    /// What is asked for, or what is wrong with it.
    pub spec: Result<RepackRunSpec, String>,
    /// How far it is.
    pub recorded: Recorded,
}

/// What the status says.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// There is none.
    Nothing,
    /// The run is not finished.
    Open(Box<RepackRunStatus>),
    /// It is.
    Finished {
        /// `status.completionTime`, if it is a time.
        completed: Option<Timestamp>,
    },
    /// It can not be read, and does not say that the run is finished.
    Unreadable(String),
}

impl Run {
    /// Reads an object. One without a name or UID comes from no API server.
    pub fn of(object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let spec = &object.data["spec"];
        let annotation = metadata.annotations.as_ref().and_then(|all| all.get(names::CANCEL_ANNOTATION));
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            version: metadata.resource_version.clone().unwrap_or_default(),
            generation: metadata.generation,
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            deleting: metadata.deletion_timestamp.is_some(),
            cancelled: annotation.is_some_and(|value| value == "true"),
            finalizer: metadata.finalizers.iter().flatten().any(|name| name == names::FINALIZER),
            active: metadata.labels.iter().flatten().any(|(key, _)| key == names::PLACEMENT_ACTIVE_LABEL),
            manager: spec["managedBy"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
            mode: if spec["mode"] == "Execute" { Mode::Execute } else { Mode::DryRun },
            ttl_seconds: spec["ttlSecondsAfterFinished"].as_i64(),
            spec: read_spec(spec),
            recorded: read_status(&object.data["status"]),
        }
    }
}

fn read_spec(spec: &Value) -> Result<RepackRunSpec, String> {
    serde_json::from_value(spec.clone()).map_err(|fault| {
        let document = json!({"apiVersion": crate::api::API_VERSION, "kind": "RepackRun", "spec": spec});
        let faults: Vec<String> = shape_errors(&document).iter().map(ToString::to_string).collect();
        if faults.is_empty() { format!("spec cannot be read: {fault}") } else { faults.join("; ") }
    })
}

fn read_status(status: &Value) -> Recorded {
    if status.as_object().is_none_or(serde_json::Map::is_empty) {
        return Recorded::Nothing;
    }
    let completed = || status["completionTime"].as_str().and_then(|text| text.parse().ok());
    // Before the whole is read: a status of a newer version may have words that are unknown here.
    let ended = |condition: &Value| {
        matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
    };
    let by_condition = status["conditions"].as_array().is_some_and(|all| all.iter().any(ended));
    if by_condition || matches!(status["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return Recorded::Finished { completed: completed() };
    }
    match serde_json::from_value::<RepackRunStatus>(status.clone()) {
        Ok(read) => Recorded::Open(Box::new(read)),
        Err(fault) => Recorded::Unreadable(fault.to_string()),
    }
}

/// Whether a status says that its run works: the conditions are the authority, the phase speaks where they are silent.
pub fn is_running(status: &RepackRunStatus) -> bool {
    use crate::api::ConditionType::Progressing;
    match status.conditions.iter().find(|condition| condition.kind == Progressing) {
        Some(condition) => condition.status == ConditionStatus::True,
        None => status.phase == Phase::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(object: Value) -> Run {
        Run::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_fresh_run_is_read() {
        let run = run(json!({
            "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "generation": 1,
                         "creationTimestamp": "2026-07-30T10:00:00Z",
                         "annotations": {"repack.volcano.sh/cancel": "true"}},
            "spec": {"mode": "DryRun", "goals": [{"resource": "x.io/npu"}], "ttlSecondsAfterFinished": 5},
        }));
        assert_eq!((run.name.as_str(), run.uid.as_str(), run.version.as_str()), ("a", "u", "7"));
        assert_eq!((run.generation, run.ttl_seconds, run.cancelled), (Some(1), Some(5), true));
        assert_eq!(run.created, "2026-07-30T10:00:00Z".parse().ok());
        assert_eq!(run.spec.unwrap().goals[0].resource, "x.io/npu");
        assert_eq!((run.recorded, run.manager, run.mode), (Recorded::Nothing, None, Mode::DryRun));
    }

    #[test]
    fn what_is_wrong_with_a_spec_is_a_sentence_that_names_the_field() {
        let run = run(json!({
            "metadata": {"name": "a"},
            "spec": {"mode": "Dry", "goals": [{"resource": 5}], "managedBy": "other"},
        }));
        let fault = run.spec.unwrap_err();
        assert!(fault.contains("spec.mode") && fault.contains("spec.goals[0].resource"), "{fault}");
        assert_eq!(run.manager.as_deref(), Some("other"), "read although the rest is not");
    }

    #[test]
    fn a_status_with_words_of_a_newer_version_is_finished_when_it_says_so() {
        let recorded = |status: Value| run(json!({"metadata": {}, "spec": {}, "status": status})).recorded;
        let completed = "2026-07-30T10:00:00Z".parse().ok();
        assert_eq!(
            recorded(json!({
                "phase": "Archived", "completionTime": "2026-07-30T10:00:00Z",
                "conditions": [{"type": "Complete", "status": "True", "reason": "Novel", "message": "m"}],
            })),
            Recorded::Finished { completed }
        );
        assert_eq!(recorded(json!({"phase": "Failed"})), Recorded::Finished { completed: None });
        assert!(matches!(recorded(json!({"phase": "Archived"})), Recorded::Unreadable(_)));
        assert_eq!(recorded(json!({})), Recorded::Nothing);
    }
}
