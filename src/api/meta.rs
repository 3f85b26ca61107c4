//! The parts of Kubernetes' object metadata and conditions that a run uses.
//!
//! May import: api

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionType, Reason};

/// Metadata of a run. Fields of the real type that are not here are read past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name; absent in output that was planned without a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Beginning of a name that the server completes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<String>,
    /// Labels, for finding runs again; they never decide what a run may touch.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The server's identity of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Counts changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Changes with every write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<String>,
    /// RFC 3339; there once the object is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
}

/// A condition's three-valued state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It can not be said.
    Unknown,
}

/// One condition of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which condition.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Its state.
    pub status: ConditionStatus,
    /// The generation of the spec this was said about; absent without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// RFC 3339; absent in output that was planned without a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// The one word.
    pub reason: Reason,
    /// The sentence; never empty.
    pub message: String,
}
