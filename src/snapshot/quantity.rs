//! Kubernetes quantities as exact integers.
//!
//! Unit: one billionth (nano) of the plain unit, in 128 bits, so every quantity the API server can store is
//! exact and sums never round. Rounding happens once, upwards, when an amount is compared (rulebook 1.1,
//! "Units"). Grammar: apimachinery `resource.Quantity`.
//!
//! May import: (nothing of this crate)

use std::fmt;

/// An exact amount: nano-units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(pub i128);

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not follow the grammar `<sign><digits>[.<digits>]<suffix>`.
    #[error("is not a quantity")]
    Syntax,
    /// The value does not fit 63 bits of whole units.
    #[error("is too large")]
    Overflow,
}

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// Zero of anything.
    pub const ZERO: Self = Self(0);

    /// A whole number of units.
    pub const fn units(n: i64) -> Self {
        Self(n as i128 * NANO)
    }

    /// Reads a quantity such as `8`, `500m`, `1.5Gi`, `5k`, `1e3`.
    ///
    /// Digits beyond nano precision are rounded away from zero, as the API server does.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let bytes = text.as_bytes();
        if let Some(n) = small_integer(bytes) {
            return Ok(Self::units(n));
        }
        let (negative, rest) = match bytes.first() {
            Some(b'-') => (true, &bytes[1..]),
            Some(b'+') => (false, &bytes[1..]),
            _ => (false, bytes),
        };
        let whole_len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (whole, rest) = rest.split_at(whole_len);
        let (fraction, suffix) = match rest.first() {
            Some(b'.') => {
                let len = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
                rest[1..].split_at(len)
            }
            _ => (&rest[..0], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::Syntax);
        }
        let (numerator, denominator) = scale(suffix)?;
        let mut value = Self::scaled(whole, fraction, numerator, denominator)?;
        if negative {
            value = -value;
        }
        // Rounded up, as amounts are compared: a fraction above the largest number has no whole units either.
        if value.unsigned_abs().div_ceil(NANO.unsigned_abs()) > i64::MAX.unsigned_abs().into() {
            return Err(QuantityError::Overflow);
        }
        Ok(Self(value))
    }

    /// whole.fraction × numerator / denominator in nano-units, rounded up. One of numerator and denominator is 1.
    ///
    /// Whole and fraction are scaled apart: together they would need more than 128 bits for `1.33333333333333Ei`.
    fn scaled(
        whole: &[u8],
        fraction: &[u8],
        numerator: i128,
        denominator: i128,
    ) -> Result<i128, QuantityError> {
        let (kept, beyond) = fraction.split_at(fraction.len().min(FRACTION_DIGITS));
        let mut inexact = beyond.iter().any(|&b| b != b'0');
        let mut whole = digits(whole)?;
        let (mut part, mut unit) =
            (digits(kept)?, 10_i128.pow(u32::try_from(kept.len()).unwrap_or_default()));
        // Nano-units per unit of the suffix, or units of the suffix per nano-unit.
        let (up, down) = if denominator <= NANO { (NANO / denominator, 1) } else { (1, denominator / NANO) };
        if numerator > 1 {
            whole = whole.checked_mul(numerator).ok_or(QuantityError::Overflow)?;
            part *= numerator;
            whole = whole.checked_add(part / unit).ok_or(QuantityError::Overflow)?;
            part %= unit;
        }
        let mut value = whole.checked_mul(up).ok_or(QuantityError::Overflow)?;
        part *= up;
        if down > 1 {
            inexact |= value % down != 0;
            value /= down;
            unit = unit.saturating_mul(down);
        }
        inexact |= part % unit != 0;
        value = value.checked_add(part / unit).ok_or(QuantityError::Overflow)?;
        value.checked_add(i128::from(inexact)).ok_or(QuantityError::Overflow)
    }

    /// Whole units, rounded up; saturates at the 64-bit range.
    pub fn ceil_units(self) -> i64 {
        saturate(ceil_div(self.0, NANO))
    }

    /// Thousandths, rounded up; saturates at the 64-bit range.
    pub fn ceil_milli(self) -> i64 {
        saturate(ceil_div(self.0, 1_000_000))
    }

    /// True when the amount is a whole number of units.
    pub const fn is_whole(self) -> bool {
        self.0 % NANO == 0
    }
}

/// Digits after the point that count; nobody writes more.
const FRACTION_DIGITS: usize = 18;

fn digits(digits: &[u8]) -> Result<i128, QuantityError> {
    digits.iter().try_fold(0_i128, |n, b| {
        n.checked_mul(10).and_then(|n| n.checked_add(i128::from(b - b'0'))).ok_or(QuantityError::Overflow)
    })
}

fn small_integer(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 17 {
        return None;
    }
    bytes.iter().try_fold(0_i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

/// The suffix as a fraction (numerator, denominator).
fn scale(suffix: &[u8]) -> Result<(i128, i128), QuantityError> {
    Ok(match suffix {
        b"" => (1, 1),
        b"n" => (1, NANO),
        b"u" => (1, 1_000_000),
        b"m" => (1, 1_000),
        b"k" => (1_000, 1),
        b"M" => (1_000_000, 1),
        b"G" => (NANO, 1),
        b"T" => (1_000_000_000_000, 1),
        b"P" => (1_000_000_000_000_000, 1),
        b"E" => (1_000_000_000_000_000_000, 1),
        b"Ki" => (1 << 10, 1),
        b"Mi" => (1 << 20, 1),
        b"Gi" => (1 << 30, 1),
        b"Ti" => (1 << 40, 1),
        b"Pi" => (1 << 50, 1),
        b"Ei" => (1 << 60, 1),
        [b'e' | b'E', exponent @ ..] if !exponent.is_empty() => {
            let text = std::str::from_utf8(exponent).map_err(|_| QuantityError::Syntax)?;
            let n: i32 = text.parse().map_err(|_| QuantityError::Syntax)?;
            match n {
                0..=18 => (10_i128.pow(n.unsigned_abs()), 1),
                -18..=-1 => (1, 10_i128.pow(n.unsigned_abs())),
                _ => return Err(QuantityError::Overflow),
            }
        }
        _ => return Err(QuantityError::Syntax),
    })
}

const fn ceil_div(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + (value.rem_euclid(by) != 0) as i128
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl std::ops::Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Quantity {
    /// Plain decimal notation: `1.5`, `8`, `0.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = ((self.0 / NANO).unsigned_abs(), (self.0 % NANO).unsigned_abs());
        let sign = if self.0 < 0 { "-" } else { "" };
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{rest:09}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milli(text: &str) -> i64 {
        Quantity::parse(text).unwrap().ceil_milli()
    }

    #[test]
    fn the_largest_number_with_something_after_it_overflows_and_is_told_so() {
        let largest = i128::MAX;
        assert_eq!(Quantity::parse(&format!("{largest}.1n")), Err(QuantityError::Overflow));
    }

    #[test]
    fn suffixes_and_exponents_follow_the_api_server() {
        for (text, expected) in [
            ("8", 8_000),
            ("500m", 500),
            ("100500u", 101),
            ("1.5", 1_500),
            ("5k", 5_000_000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1Ki", 1_024_000),
            (".5", 500),
            ("2.", 2_000),
            ("+3", 3_000),
            ("-3", -3_000),
            ("1n", 1),
        ] {
            assert_eq!(milli(text), expected, "{text}");
        }
        assert_eq!(Quantity::parse("1E").unwrap().ceil_units(), 1_000_000_000_000_000_000);
    }

    #[test]
    fn long_fractions_of_large_units_are_no_overflow() {
        let units = |text: &str| Quantity::parse(text).unwrap().ceil_units();
        assert_eq!(units("1.33333333333333Ei"), 1_537_228_672_809_125_459);
        assert_eq!(units("1000.333333333333333333Gi"), 1_074_099_737_942);
        assert_eq!(units("999999999999.000000000000000001"), 1_000_000_000_000);
        assert_eq!(Quantity::parse("0.0000000001").unwrap(), Quantity(1));
        assert_eq!(Quantity::parse("1.5e-10").unwrap(), Quantity(1));
        assert_eq!(Quantity::parse("15e-10").unwrap(), Quantity(2));
        assert_eq!(Quantity::parse("0.5n").unwrap(), Quantity(1));
        assert_eq!(Quantity::parse("-0.5n").unwrap(), Quantity(-1));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "m", "1 ", "1.2.3", "0x10", "1Kib", "1mi", "e3", "1e", "--1", "NaN"] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Syntax), "{text}");
        }
        for text in [
            "99999999999999999999",
            "1e19",
            "16Ei",
            "10E1000",
            "9223372036854775807.1",
            "-9223372036854775807.1",
        ] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Overflow), "{text}");
        }
    }

    #[test]
    fn two_memory_requests_of_one_and_a_half_bytes_are_three_bytes() {
        let half = Quantity::parse("1500m").unwrap();
        assert_eq!((half + half).ceil_units(), 3);
    }
}
