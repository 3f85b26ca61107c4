//! The label selector of Kubernetes, its command-line spelling, and what it matches.
//!
//! Semantics of apimachinery: all parts have to hold; `NotIn` also holds where the key is absent; the empty
//! selector matches everything.
//!
//! May import: api

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_EXPRESSIONS, MAX_LABELS, MAX_QUALIFIED, MAX_VALUES};
use super::schema::{self, LabelValue};

/// Selects objects by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Keys with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, LabelValue>")]
    #[schemars(extend("maxProperties" = MAX_LABELS, "x-kubernetes-validations" = schema::MATCH_LABELS))]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements that all have to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_EXPRESSIONS))]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement on one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = schema::REQUIREMENT))]
pub struct Requirement {
    /// The label's key.
    #[schemars(length(max = MAX_QUALIFIED), extend("x-kubernetes-validations" = [schema::LABEL_KEY]))]
    pub key: String,
    /// How `values` is read.
    pub operator: Operator,
    /// At least one for `In` and `NotIn`, none for the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LabelValue>", length(max = MAX_VALUES))]
    #[schemars(extend("x-kubernetes-validations" = [schema::LABEL_VALUES]))]
    pub values: Vec<String>,
}

/// The relation between a key and the values of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The value is one of them.
    In,
    /// The value is none of them, or the key is absent.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
}

impl LabelSelector {
    /// Whether an object whose labels `label` looks up is selected.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.match_labels.iter().all(|(key, value)| label(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|known| known == value));
        match self.operator {
            Operator::In => listed(),
            Operator::NotIn => !listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

/// Why a selector text can not be read; displays as half a sentence that names the part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorSyntaxError(String);

/// The command-line spelling: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
///
/// The empty text is refused although the empty selector exists: it is what an unset shell variable looks like.
impl FromStr for LabelSelector {
    type Err = SelectorSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut selector = Self::default();
        for part in split_outside_parentheses(text)? {
            match part_of(part.trim())? {
                Part::Equal(key, value) => match selector.match_labels.insert(key, value.clone()) {
                    Some(before) if before != value => {
                        return Err(SelectorSyntaxError(format!(
                            "it wants {before:?} and {value:?} for the same key, which no object can have"
                        )));
                    }
                    _ => {}
                },
                Part::Other(requirement) => selector.match_expressions.push(requirement),
            }
        }
        Ok(selector)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        let expressions = self.match_expressions.iter().map(|r| match r.operator {
            Operator::In => format!("{} in ({})", r.key, r.values.join(",")),
            Operator::NotIn => format!("{} notin ({})", r.key, r.values.join(",")),
            Operator::Exists => r.key.clone(),
            Operator::DoesNotExist => format!("!{}", r.key),
        });
        f.write_str(&labels.chain(expressions).collect::<Vec<_>>().join(","))
    }
}

enum Part {
    Equal(String, String),
    Other(Requirement),
}

fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, SelectorSyntaxError> {
    if text.trim().is_empty() {
        return Err(SelectorSyntaxError("it is empty".to_owned()));
    }
    let (mut parts, mut start, mut open) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' if !open => open = true,
            ')' if open => open = false,
            '(' | ')' => return Err(SelectorSyntaxError("its parentheses do not pair".to_owned())),
            ',' if !open => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err(SelectorSyntaxError("a ')' is missing".to_owned()));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn part_of(part: &str) -> Result<Part, SelectorSyntaxError> {
    let requirement =
        |key: &str, operator, values: Vec<String>| -> Result<Requirement, SelectorSyntaxError> {
            Ok(Requirement { key: key_of(key, part)?, operator, values })
        };
    if let Some(list) = part.strip_suffix(')') {
        let (head, list) = list.split_once('(').unwrap_or((list, ""));
        let words: Vec<&str> = head.split_whitespace().collect();
        let operator = match words.get(1) {
            Some(&"in") => Operator::In,
            Some(&"notin") => Operator::NotIn,
            _ => return Err(SelectorSyntaxError(format!("{part:?} needs 'in' or 'notin' before its list"))),
        };
        if words.len() != 2 {
            return Err(SelectorSyntaxError(format!("{part:?} is not KEY in (VALUE,…)")));
        }
        let values = list.split(',').map(|value| value_of(value, part)).collect::<Result<_, _>>()?;
        return Ok(Part::Other(requirement(words[0], operator, values)?));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Part::Other(requirement(key, Operator::NotIn, vec![value_of(value, part)?])?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Part::Equal(key_of(key, part)?, value_of(value, part)?));
    }
    match part.strip_prefix('!') {
        Some(key) => Ok(Part::Other(requirement(key, Operator::DoesNotExist, Vec::new())?)),
        None => Ok(Part::Other(requirement(part, Operator::Exists, Vec::new())?)),
    }
}

fn key_of(key: &str, part: &str) -> Result<String, SelectorSyntaxError> {
    let key = key.trim();
    match super::validate::label_key_fault(key) {
        None => Ok(key.to_owned()),
        Some(_) if key == part => Err(SelectorSyntaxError(format!("{key:?} is not a label key"))),
        Some(_) => Err(SelectorSyntaxError(format!("{key:?} in {part:?} is not a label key"))),
    }
}

fn value_of(value: &str, part: &str) -> Result<String, SelectorSyntaxError> {
    let value = value.trim();
    match super::validate::label_value_fault(value) {
        None => Ok(value.to_owned()),
        Some(_) => Err(SelectorSyntaxError(format!("{value:?} in {part:?} is not a label value"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let selector: LabelSelector = selector.parse().unwrap();
        selector.matches(|key| labels.get(key).map(String::as_str))
    }

    #[test]
    fn every_form_of_the_command_line_is_read_and_written_back() {
        let text = "a=b,example.com/c=d,e in (f,g),h notin (i),j,!k";
        let selector: LabelSelector = text.parse().unwrap();
        assert_eq!(selector.to_string(), text);
        assert_eq!("a == b , e in ( f , g )".parse::<LabelSelector>().unwrap().to_string(), "a=b,e in (f,g)");
    }

    #[test]
    fn absent_keys_match_what_kubernetes_says() {
        assert!(matches("a!=b", &[]));
        assert!(matches("a notin (b,c)", &[("x", "y")]));
        assert!(!matches("a in (b)", &[]));
        assert!(matches("!a", &[]) && !matches("!a", &[("a", "")]));
        assert!(matches("a", &[("a", "")]) && !matches("a", &[]));
        assert!(!matches("a=b,c=d", &[("a", "b")]));
        assert!(LabelSelector::default().matches(|_| None));
    }

    #[test]
    fn faulty_text_is_refused_with_the_part_that_is_wrong() {
        let fault = |text: &str| text.parse::<LabelSelector>().unwrap_err().to_string();
        insta::assert_snapshot!(fault(""), @"it is empty");
        insta::assert_snapshot!(fault("a in (b"), @"a ')' is missing");
        insta::assert_snapshot!(fault("a of (b)"), @r#""a of (b)" needs 'in' or 'notin' before its list"#);
        insta::assert_snapshot!(fault("a=b=c"), @r#""b=c" in "a=b=c" is not a label value"#);
        insta::assert_snapshot!(fault("a=1,,b"), @r#""" is not a label key"#);
        insta::assert_snapshot!(fault("a=1,a=2"), @r#"it wants "1" and "2" for the same key, which no object can have"#);
        insta::assert_snapshot!(fault("x > 3"), @r#""x > 3" is not a label key"#);
    }
}
