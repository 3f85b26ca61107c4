//! Kubernetes quantities, exact: parsing, comparison, sum and difference.
//!
//! Unit: billionths of one. Anything finer is rounded away from zero, as Kubernetes does.
//!
//! May import: (nothing of this crate)

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Digits that Kubernetes keeps in its quick form.
const QUICK_DIGITS: usize = 18;
const NANOS: i128 = 1_000_000_000;

/// A quantity. Equality and order are by value; `1Gi` equals `1024Mi`.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    /// Value and decimal exponent, where Kubernetes holds the number so. `isInteger` asks this form, not the value:
    /// `1000m` and `1.5Gi` count as no integers there, and so they do here.
    quick: Option<(i64, i32)>,
}

/// Why a text is no quantity here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a quantity in Kubernetes either.
    #[error("not a quantity")]
    Invalid,
    /// A quantity, but beyond about 10²⁹.
    #[error("the quantity is out of range")]
    Range,
}

impl Quantity {
    /// Parses decimal, decimal-exponent and binary quantities (`1.5`, `200k`, `1e3`, `40Gi`, `100m`).
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(QuantityError::Invalid),
        };
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::Invalid);
        }
        let (base, exponent) = suffix_of(suffix).ok_or(QuantityError::Invalid)?;
        let whole = whole.trim_start_matches('0');
        let all: String = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            return Ok(Self { nanos: 0, quick: Some((0, 0)) });
        }
        let places = i32::try_from(fraction.len()).map_err(|_| QuantityError::Range)?;
        let magnitude = if base == 2 {
            let size = 1_i128.checked_shl(exponent.unsigned_abs()).ok_or(QuantityError::Range)?;
            // Kubernetes caps binary quantities at the largest 64-bit integer.
            let capped = i128::from(i64::MAX) * NANOS;
            scaled(significant, size, -places).map_or(capped, |nanos| nanos.min(capped))
        } else {
            scaled(significant, 1, exponent.saturating_sub(places)).ok_or(QuantityError::Range)?
        };
        let sign = if negative { -1 } else { 1 };
        let quick = quick_form(whole.len().max(1), fraction.len(), &all, base, exponent)
            .map(|(value, scale)| (value * i64::from(sign), scale));
        Ok(Self { nanos: magnitude * i128::from(sign), quick })
    }

    /// A whole number.
    pub fn from_integer(value: i64) -> Self {
        Self { nanos: i128::from(value) * NANOS, quick: Some((value, 0)) }
    }

    /// −1, 0 or 1.
    pub fn sign(self) -> i64 {
        i64::try_from(self.nanos.signum()).unwrap_or_default()
    }

    /// The sum; none when out of range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let nanos = self.nanos.checked_add(other.nanos)?;
        Some(Self { nanos, quick: combine(self.quick, other.quick, i64::checked_add) })
    }

    /// The difference; none when out of range.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let nanos = self.nanos.checked_sub(other.nanos)?;
        Some(Self { nanos, quick: combine(self.quick, other.quick, i64::checked_sub) })
    }

    /// The value as an integer where Kubernetes' `asInteger` gives one.
    pub fn as_integer(self) -> Option<i64> {
        let (value, scale) = self.quick?;
        10_i64.checked_pow(u32::try_from(scale).ok()?)?.checked_mul(value)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Base and exponent of a suffix.
fn suffix_of(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "" => (10, 0),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            (10, exponent.parse().ok()?)
        }
    })
}

/// `digits` × `factor` × 10^`exponent` in billionths, rounded up; none when out of range.
fn scaled(digits: &str, factor: i128, exponent: i32) -> Option<i128> {
    let exponent = exponent.checked_add(9)?;
    // Trailing zeros only make the number look larger than it is.
    let short = digits.trim_end_matches('0');
    let exponent = exponent.checked_add(i32::try_from(digits.len() - short.len()).ok()?)?;
    let power = |n: u32| 10_i128.checked_pow(n);
    match (short.parse::<i128>(), u32::try_from(exponent)) {
        (Ok(value), Ok(exponent)) => value.checked_mul(factor)?.checked_mul(power(exponent)?),
        (Ok(value), Err(_)) => {
            let value = value.checked_mul(factor)?;
            let Some(divisor) = power(exponent.unsigned_abs()) else { return Some(1) };
            Some(value / divisor + i128::from(value % divisor != 0))
        }
        (Err(_), _) => None,
    }
}

/// The quick form that Kubernetes' parser chooses, if it does.
fn quick_form(whole: usize, fraction: usize, all: &str, base: u32, exponent: i32) -> Option<(i64, i32)> {
    let value = || if all.is_empty() { Some(0) } else { all.parse::<i64>().ok() };
    if base == 10 {
        let scale = exponent.checked_sub(i32::try_from(fraction).ok()?)?;
        (whole + fraction <= QUICK_DIGITS && scale >= -9).then(value).flatten().map(|value| (value, scale))
    } else {
        let binary = usize::try_from(exponent).ok()?;
        let fits = fraction == 0 && whole + binary * 3 / 10 < 15;
        let factor = 1_i64.checked_shl(u32::try_from(exponent).ok()?)?;
        fits.then(value).flatten()?.checked_mul(factor).map(|value| (value, 0))
    }
}

/// Adds or subtracts two quick forms at the finer of their scales; none when that overflows.
fn combine(
    left: Option<(i64, i32)>,
    right: Option<(i64, i32)>,
    operation: impl Fn(i64, i64) -> Option<i64>,
) -> Option<(i64, i32)> {
    let ((left, left_scale), (right, right_scale)) = (left?, right?);
    let scale = match (left, right) {
        (_, 0) => left_scale,
        (0, _) => right_scale,
        _ => left_scale.min(right_scale),
    };
    let align = |value: i64, from: i32| match value {
        0 => Some(0),
        _ => 10_i64.checked_pow(u32::try_from(from.checked_sub(scale)?).ok()?)?.checked_mul(value),
    };
    Some((operation(align(left, left_scale)?, align(right, right_scale)?)?, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn values_compare_across_notations() {
        for (left, right, order) in [
            ("200M", "0.2G", Ordering::Equal),
            ("50M", "50Mi", Ordering::Less),
            ("50Mi", "50M", Ordering::Greater),
            ("1Gi", "1024Mi", Ordering::Equal),
            ("1e3", "1k", Ordering::Equal),
            ("1E3", "1k", Ordering::Equal),
            ("1E", "1000P", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("+5", "5", Ordering::Equal),
            ("100m", "0.1", Ordering::Equal),
            ("0.1n", "1n", Ordering::Equal),
            (".5", "500m", Ordering::Equal),
            ("1.", "1", Ordering::Equal),
            ("16Ei", "9223372036854775807", Ordering::Equal),
            ("10E", "9223372036854775807", Ordering::Greater),
            ("1e-30", "1n", Ordering::Equal),
            ("-1e-30", "-1n", Ordering::Equal),
        ] {
            assert_eq!(q(left).cmp(&q(right)), order, "{left} {right}");
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        for text in [
            "", "Three", "Mi", "200K", "1,3G", "1 ", " 1", "1.2.3", "--1", "1ei", "1e", "1Gib", "mm", ".",
            "-",
        ] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Invalid), "{text:?}");
        }
        assert_eq!(Quantity::parse("1e40"), Err(QuantityError::Range));
        assert_eq!(Quantity::parse("9999999999999999999999999999999999999G"), Err(QuantityError::Range));
    }

    #[test]
    fn integers_are_judged_by_notation_as_in_kubernetes() {
        assert_eq!(q("50k").as_integer(), Some(50_000));
        assert_eq!(q("50000000G").as_integer(), Some(50_000_000_000_000_000));
        assert_eq!(q("40Gi").as_integer(), Some(42_949_672_960));
        assert_eq!(q("10E").as_integer(), None);
        assert_eq!(q("1.5Gi").as_integer(), None);
        assert_eq!(q("1000m").as_integer(), None);
        assert_eq!(q("0").as_integer(), Some(0));
        assert_eq!(q("1234567890123456789").as_integer(), None);
    }

    #[test]
    fn sums_stay_exact() {
        let sum = q("50k").checked_add(Quantity::from_integer(20)).unwrap();
        let back = sum.checked_sub(q("100k")).unwrap().checked_sub(Quantity::from_integer(-50_000)).unwrap();
        assert_eq!((sum, back), (q("50020"), q("20")));
        assert_eq!(back.as_integer(), Some(20));
        assert_eq!(q("1n").checked_add(q("1Ei")).unwrap().checked_sub(q("1Ei")), Some(q("1n")));
        assert_eq!(q("-3").sign() + q("0").sign() + q("7").sign(), 0);
    }
}
