//! What kind of object comes next: `apiVersion` and `kind`, found without reading the whole object.
//!
//! API servers and `kubectl` write both keys first, so a look at the first bytes is enough. `kubectl` sorts keys,
//! though, and some kinds have a field that sorts before `apiVersion`: then the object is scanned from its start.
//!
//! May import: snapshot

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::snapshot::view::basic::Text;

/// `apiVersion` and `kind` of an object, as far as they stand before everything else of weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeMeta<'a> {
    pub(super) api_version: Option<Cow<'a, str>>,
    pub(super) kind: Option<Cow<'a, str>>,
    /// The scan met `items` first: a list whose keys are in another order.
    pub(super) items: bool,
}

impl TypeMeta<'_> {
    const fn complete(&self) -> bool {
        self.api_version.is_some() && self.kind.is_some()
    }
}

/// Both keys wherever they are, found the cheap way if possible.
pub(super) fn find(text: &str) -> Result<TypeMeta<'_>, serde_json::Error> {
    peek(text).map_or_else(|| scan(text), Ok)
}

/// Both keys, when they are the first two of the JSON object that `text` starts with.
pub(super) fn peek(text: &str) -> Option<TypeMeta<'_>> {
    let mut meta = TypeMeta::default();
    let mut rest = text.strip_prefix('{')?;
    for _ in 0..2 {
        let (key, after) = plain_string(rest)?;
        let (value, after) = plain_string(blanks(after).strip_prefix(':')?)?;
        match key {
            "apiVersion" => meta.api_version = Some(Cow::Borrowed(value)),
            "kind" => meta.kind = Some(Cow::Borrowed(value)),
            _ => return None,
        }
        if meta.complete() {
            return Some(meta);
        }
        rest = blanks(after).strip_prefix(',')?;
    }
    None
}

/// A string without escapes and what follows it.
fn plain_string(text: &str) -> Option<(&str, &str)> {
    let text = blanks(text).strip_prefix('"')?;
    let end = text.bytes().position(|b| matches!(b, b'"' | b'\\'))?;
    (text.as_bytes()[end] == b'"').then(|| (&text[..end], &text[end + 1..]))
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\n', '\r', '\t'])
}

/// Scans the JSON object that `text` starts with until both keys, or `items`, are found. The error is that of the
/// parser when it gave up before; at the end of a complete object what was found is the answer.
pub(super) fn scan(text: &str) -> Result<TypeMeta<'_>, serde_json::Error> {
    let mut meta = TypeMeta::default();
    let result = Scan(&mut meta).deserialize(&mut serde_json::Deserializer::from_str(text));
    // Leaving the object early is an error for the parser, but not for the scan.
    if meta.complete() || meta.items { Ok(meta) } else { result.map(|()| meta) }
}

struct Scan<'m, 'a>(&'m mut TypeMeta<'a>);

impl<'de> DeserializeSeed<'de> for Scan<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_, 'de> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "apiVersion" => self.0.api_version = Some(map.next_value::<Text<'de>>()?.0),
                "kind" => self.0.kind = Some(map.next_value::<Text<'de>>()?.0),
                "items" => {
                    self.0.items = true;
                    return Ok(());
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.0.complete() {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta<'a>(api_version: &'a str, kind: &'a str) -> TypeMeta<'a> {
        TypeMeta {
            api_version: Some(Cow::Borrowed(api_version)),
            kind: Some(Cow::Borrowed(kind)),
            items: false,
        }
    }

    #[test]
    fn both_keys_in_front_are_found_in_either_order() {
        for text in
            [r#"{"apiVersion":"v1","kind":"Pod","#, "{\n  \"kind\" : \"Pod\",\r\n\t\"apiVersion\": \"v1\""]
        {
            assert_eq!(peek(text), Some(meta("v1", "Pod")));
        }
        for text in
            ["", "{", "{}", r#"{"kind":"Pod""#, r#"{"kind":"P\u006fd","apiVersion":"v1"}"#, r#"{"kind":1"#]
        {
            assert_eq!(peek(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_that_sorts_first_does_not_hide_the_kind() {
        let text =
            r#"{"allowVolumeExpansion":true,"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","x":"#;
        assert_eq!(peek(text), None);
        assert_eq!(scan(text).unwrap(), meta("storage.k8s.io/v1", "StorageClass"));
        assert!(scan(r#"{"apiVersion":"v1","items":[{"#).unwrap().items);
        assert_eq!(scan(r#"{"metadata":{}}"#).unwrap(), TypeMeta::default());
        assert!(scan(r#"{"metadata":{"#).unwrap_err().is_eof());
    }
}
