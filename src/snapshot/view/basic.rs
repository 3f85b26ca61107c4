//! Building blocks of the view types: text that borrows from the input, maps, lists, metadata.
//!
//! A view is the part of an API object that planning needs, as it stands in the input. `null` counts as absent
//! everywhere: templates carry `creationTimestamp: null`, conditions `lastTransitionTime: null`.
//!
//! May import: snapshot

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::snapshot::names;

/// A string of the input, borrowed where the format allows it. Numbers and booleans become their text, `null`
/// becomes the empty string (Kubernetes treats empty and unset alike).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(v)))
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(v.to_owned())))
    }
    fn visit_string<E>(self, v: String) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(v)))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(v.to_string())))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(v.to_string())))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(v.to_string())))
    }
    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(if v { "true" } else { "false" })))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(TextVisitor)
    }
}

/// A list; `null` is the empty list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(List::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                // Most lists of a pod have one entry, and entries are large: room for one, not for four.
                let Some(first) = seq.next_element()? else { return Ok(List::default()) };
                let mut items = Vec::with_capacity(1);
                items.push(first);
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

/// `null` is the default value, for fields whose type does not see to it.
pub fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(d).map(Option::unwrap_or_default)
}

/// A string map (labels, selectors, resource lists) in input order; `null` is the empty map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs<'a>(pub Vec<(Text<'a>, Text<'a>)>);

impl<'a> Deref for Pairs<'a> {
    type Target = [(Text<'a>, Text<'a>)];
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Pairs<'_> {
    /// The value under `key`; the last one wins, as in JSON.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| &**k == key).map(|(_, v)| &**v)
    }
}

/// Which keys of a map are worth keeping.
trait Keep {
    fn keep(key: &str) -> bool;
}

struct PairsVisitor<K>(PhantomData<K>);

impl<'de, K: Keep> Visitor<'de> for PairsVisitor<K> {
    type Value = Pairs<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Pairs::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if K::keep(&key) {
                pairs.push((key, map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Pairs(pairs))
    }
}

struct All;
impl Keep for All {
    fn keep(_: &str) -> bool {
        true
    }
}

struct Listed;
impl Keep for Listed {
    fn keep(key: &str) -> bool {
        names::keeps_annotation(key)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(PairsVisitor::<All>(PhantomData))
    }
}

/// Annotations on the allow-list of [`names::keeps_annotation`]; all others are dropped while reading, so that
/// neither secrets in annotations nor megabytes of `last-applied-configuration` enter the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations<'a>(pub Pairs<'a>);

impl<'a> Deref for Annotations<'a> {
    type Target = Pairs<'a>;
    fn deref(&self) -> &Pairs<'a> {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Annotations<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(PairsVisitor::<Listed>(PhantomData)).map(Annotations)
    }
}

/// `metadata` of any object.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetaView<'a> {
    /// Object name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Namespace, empty for cluster-scoped kinds.
    #[serde(borrow)]
    pub namespace: Text<'a>,
    /// UID, empty in hand-written files.
    #[serde(borrow)]
    pub uid: Text<'a>,
    /// Labels.
    #[serde(borrow)]
    pub labels: Pairs<'a>,
    /// Allow-listed annotations.
    #[serde(borrow)]
    pub annotations: Annotations<'a>,
    /// Owners.
    #[serde(borrow)]
    pub owner_references: List<OwnerRefView<'a>>,
    /// Set while the object is being deleted.
    #[serde(borrow)]
    pub deletion_timestamp: Option<Text<'a>>,
    /// Creation time, RFC 3339.
    #[serde(borrow)]
    pub creation_timestamp: Option<Text<'a>>,
    /// Generation of the spec.
    pub generation: Option<i64>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerRefView<'a> {
    /// Group and version of the owner.
    #[serde(borrow)]
    pub api_version: Text<'a>,
    /// Kind of the owner.
    #[serde(borrow)]
    pub kind: Text<'a>,
    /// Name of the owner.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// UID of the owner.
    #[serde(borrow)]
    pub uid: Text<'a>,
    /// True for the controlling owner.
    pub controller: Option<bool>,
}

/// A label selector.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorView<'a> {
    /// Exact matches, all required.
    #[serde(borrow)]
    pub match_labels: Pairs<'a>,
    /// Requirements, all required.
    #[serde(borrow)]
    pub match_expressions: List<RequirementView<'a>>,
}

/// One requirement of a label or node selector.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequirementView<'a> {
    /// Label key or field path.
    #[serde(borrow)]
    pub key: Text<'a>,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`.
    #[serde(borrow)]
    pub operator: Text<'a>,
    /// Values of the operator.
    #[serde(borrow)]
    pub values: List<Text<'a>>,
}

/// A node selector: terms are alternatives.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorView<'a> {
    /// The alternatives.
    #[serde(borrow)]
    pub node_selector_terms: List<NodeSelectorTermView<'a>>,
}

/// One alternative of a node selector.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTermView<'a> {
    /// Requirements on labels.
    #[serde(borrow)]
    pub match_expressions: List<RequirementView<'a>>,
    /// Requirements on fields (`metadata.name`).
    #[serde(borrow)]
    pub match_fields: List<RequirementView<'a>>,
}
