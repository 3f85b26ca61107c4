//! The envelope of our own snapshot file.
//!
//! ```json
//! {"apiVersion": "repack.volcano.sh/v1alpha1", "kind": "Snapshot", "version": 1,
//!  "takenAt": "2026-01-01T00:00:00Z",
//!  "leftOut": [{"kind": "ConfigMap", "count": 12, "reason": "no rule reads this kind"}],
//!  "items": [{"apiVersion": "v1", "kind": "Node", …}, …]}
//! ```
//!
//! Every item is an ordinary API object reduced to the fields that planning reads, so the file is read like any
//! `List`. `version` counts changes of this envelope that an older reader would misread.
//!
//! May import: snapshot

use serde::{Deserialize, Serialize};

use super::error::InputError;

/// `apiVersion` of a snapshot file.
pub const API_VERSION: &str = "repack.volcano.sh/v1alpha1";
/// `kind` of a snapshot file.
pub const KIND: &str = "Snapshot";
/// The newest envelope this program reads, and the one it writes.
pub const VERSION: u64 = 1;

/// Something that a snapshot file lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// Kind of the objects.
    pub kind: String,
    /// How many there were, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Why they are missing.
    pub reason: String,
}

/// What stands in the file beside the items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Header {
    /// Version of the envelope.
    pub version: u64,
    /// When the objects were read, RFC 3339; absent when the writer was not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<String>,
    /// Names were replaced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anonymized: bool,
    /// What is missing.
    pub left_out: Vec<LeftOut>,
}

impl Header {
    /// Refuses an envelope that this program does not know.
    pub fn check(&self, file: &str) -> Result<(), InputError> {
        if self.version == 0 {
            return Err(InputError::file(file, "snapshot without a version"));
        }
        if self.version > VERSION {
            let problem = format!(
                "snapshot of version {}, which this program is too old for (it reads up to {VERSION})",
                self.version
            );
            return Err(InputError::file(file, problem));
        }
        Ok(())
    }
}
