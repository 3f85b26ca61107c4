//! Turns a parser's error into one sentence that names object and field.
//!
//! Runs only after an error, so it may read the object again for its name.
//!
//! May import: snapshot

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::error::InputError;
use super::inspect::WrongType;
use crate::snapshot::view::basic::Text;
use crate::snapshot::view::object::Kind;

/// Namespace and name of an object, as far as they can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Name {
    /// Reads both from an object of any format, even one that is cut off.
    pub(super) fn of<'de, D: Deserializer<'de>>(object: D) -> Self {
        let mut name = Self::default();
        // Whatever comes before the fault has been noted; the fault itself is known already.
        let _ = ObjectName(&mut name).deserialize(object).is_err();
        name
    }
}

/// The sentence for a field of the wrong type.
pub(super) fn wrong_type(kind: Kind, name: &Name, fault: &WrongType) -> InputError {
    let problem = plain(&fault.problem);
    if fault.path.is_empty() {
        InputError::object(kind.name(), &name.namespace, &name.name, problem)
    } else {
        InputError::field(kind.name(), &name.namespace, &name.name, fault.path.clone(), problem)
    }
}

/// Rewords serde's `invalid type: string "a", expected i32 at line 1 column 2`.
pub(super) fn plain(problem: &str) -> String {
    let problem = problem.rfind(" at line ").map_or(problem, |at| &problem[..at]);
    let found = problem.strip_prefix("invalid type: ").or_else(|| problem.strip_prefix("invalid value: "));
    let Some((found, expected)) = found.and_then(|f| f.rsplit_once(", expected ")) else {
        return problem.to_owned();
    };
    let expected = match expected {
        "i32" | "i64" | "u64" => "an integer",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

struct ObjectName<'n>(&'n mut Name);
struct Metadata<'n>(&'n mut Name);

impl<'de> DeserializeSeed<'de> for ObjectName<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectName<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if &*key == "metadata" {
                map.next_value_seed(Metadata(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Metadata<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metadata<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match &*key {
                "name" => self.0.name = map.next_value::<Text<'de>>()?.0.into_owned(),
                "namespace" => self.0.namespace = map.next_value::<Text<'de>>()?.0.into_owned(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
