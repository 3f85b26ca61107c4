//! What is wrong with an input, in one sentence that names the object and the field.
//!
//! May import: (nothing of this crate)

use std::fmt;

/// Where an object stands in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// File name as the user gave it; `-` for standard input.
    pub file: String,
    /// Position of the object in the file, from 1; objects of skipped kinds count.
    pub item: u64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, item {}", self.file, self.item)
    }
}

/// A fault of the input: `Pod default/a: spec.containers[0].resources.requests["nvidia.com/gpu"]: "-1" is
/// negative (pods.json, item 7)`.
///
/// One sentence without a full stop, so that it can be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    /// The object or the file.
    subject: String,
    /// Path of the field, empty when the object as a whole is at fault.
    field: String,
    problem: String,
    origin: Option<Origin>,
}

impl Parts {
    fn sentence(&self) -> String {
        let field = if self.field.is_empty() { String::new() } else { format!(": {}", self.field) };
        let origin = self.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
        format!("{}{field}: {}{origin}", self.subject, self.problem)
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names of the input may hold anything, and it stays one sentence.
        f.write_str(&self.sentence().replace(char::is_control, "?"))
    }
}

impl InputError {
    /// A field of an object is at fault. `field` is a path such as `spec.taints[0].effect`; the namespace is empty
    /// for cluster-scoped kinds.
    pub fn field(
        kind: &str,
        namespace: &str,
        name: &str,
        field: impl Into<String>,
        problem: impl Into<String>,
    ) -> Self {
        Self::new(object_name(kind, namespace, name), field.into(), problem.into())
    }

    /// An object as a whole is at fault, e.g. it stands in the input twice.
    pub fn object(kind: &str, namespace: &str, name: &str, problem: impl Into<String>) -> Self {
        Self::new(object_name(kind, namespace, name), String::new(), problem.into())
    }

    /// A file as a whole is at fault: unreadable, cut off, neither JSON nor YAML.
    pub fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::new(file.to_owned(), String::new(), problem.into())
    }

    /// The same fault with its place in the input, unless it names one already.
    #[must_use]
    pub fn at(mut self, origin: &Origin) -> Self {
        self.0.origin.get_or_insert_with(|| origin.clone());
        self
    }

    /// Where the object stands, if known.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    fn new(subject: String, field: String, problem: String) -> Self {
        Self(Box::new(Parts { subject, field, problem, origin: None }))
    }
}

fn object_name(kind: &str, namespace: &str, name: &str) -> String {
    let name = if name.is_empty() { "(no name)" } else { name };
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_object_field_problem_and_place() {
        let at = Origin { file: "pods.json".to_owned(), item: 7 };
        let path = "spec.containers[0].resources.requests[\"nvidia.com/gpu\"]";
        let error = InputError::field("Pod", "default", "a", path, "\"-1\" is negative").at(&at);
        assert_eq!(
            error.to_string(),
            format!("Pod default/a: {path}: \"-1\" is negative (pods.json, item 7)")
        );
        assert_eq!(
            InputError::object("Node", "", "n1", "is there twice").to_string(),
            "Node n1: is there twice"
        );
        assert_eq!(InputError::file("x.json", "is empty").to_string(), "x.json: is empty");
    }
}
