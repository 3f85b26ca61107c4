//! The three spellings of a fragmentation rate: the exact fraction, whole percent, and percent with one decimal.
//!
//! May import: (nothing of this crate)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An exact rate: `excess` of `providing` nodes are occupied beyond the optimum.
///
/// Thresholds compare these fractions; the whole percent of the API is rounded from them. At 1,000 nodes two freed
/// nodes round away in whole percent, so the JSON also has this value, under `…Exact`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExactRate {
    /// Occupied nodes minus optimum, never negative.
    pub excess: i64,
    /// Nodes that provide the resource; 0 means that the rate is 0.
    pub providing: i64,
    /// Percent with one decimal, half up, as tables show it: `16.7`.
    pub percent: String,
}

impl ExactRate {
    /// The rate `excess / providing` with its text.
    pub fn new(excess: i64, providing: i64) -> Self {
        Self { excess, providing, percent: one_decimal(excess, providing) }
    }

    /// Whole percent, half up.
    pub fn whole_percent(&self) -> i32 {
        whole_percent(self.excess, self.providing)
    }
}

/// `part / whole` in whole percent, rounded half up; 0 when `whole` is 0. Negative input counts as 0.
pub fn whole_percent(part: i64, whole: i64) -> i32 {
    i32::try_from(scaled(part, whole, 100)).unwrap_or(i32::MAX)
}

/// `part / whole` in percent with one decimal, rounded half up: `16.7`; `0.0` when `whole` is 0.
pub fn one_decimal(part: i64, whole: i64) -> String {
    let tenths = scaled(part, whole, 1000);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// `part * scale / whole`, half up, in 128 bits so that no amount a cluster can hold overflows.
fn scaled(part: i64, whole: i64, scale: i128) -> i128 {
    if whole <= 0 || part <= 0 {
        return 0;
    }
    let (part, whole) = (i128::from(part), i128::from(whole));
    (2 * part * scale + whole) / (2 * whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_rounded_half_up_from_the_exact_fraction() {
        assert_eq!(whole_percent(3, 20), 15);
        assert_eq!(whole_percent(1, 3), 33);
        assert_eq!(whole_percent(1, 8), 13); // 12.5
        assert_eq!(whole_percent(1, 200), 1); // 0.5
        assert_eq!(whole_percent(1, 201), 0);
        assert_eq!(whole_percent(0, 0), 0);
    }

    #[test]
    fn two_nodes_of_a_thousand_are_visible_with_one_decimal() {
        assert_eq!(one_decimal(2, 1000), "0.2");
        assert_eq!(one_decimal(1, 6), "16.7");
        assert_eq!(one_decimal(20, 20), "100.0");
        assert_eq!(one_decimal(5, 0), "0.0");
    }
}
