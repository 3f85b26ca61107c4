//! Amounts of a resource as a person writes them: `8` or `"8"`, as Kubernetes' own lists of resources have them.
//!
//! Devices are whole; a suffix or a fraction is refused.
//!
//! May import: (nothing of this crate)

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A whole number, at least 0 in the API; the text form is read as the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(i64);

/// The number that a text stands for: digits only, 18 at most, so that it fits 64 bits.
pub fn whole(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

impl JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "minimum": 0,
            "pattern": "^[0-9]{1,18}$",
        })
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        Ok(Amount(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        i64::try_from(number).map(Amount).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        whole(text)
            .map(Amount)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &"a whole number"))
    }
}

/// Reads resources with their amounts.
pub fn amounts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, i64>, D::Error> {
    let read = BTreeMap::<String, Amount>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|(resource, amount)| (resource, amount.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_an_amount_and_quantities_with_suffix_are_not() {
        assert_eq!(whole("8"), Some(8));
        assert_eq!(whole("999999999999999999"), Some(999_999_999_999_999_999));
        for text in ["", "8k", "-1", "1.5", "1e3", "1000000000000000000"] {
            assert_eq!(whole(text), None, "{text:?}");
        }
    }
}
