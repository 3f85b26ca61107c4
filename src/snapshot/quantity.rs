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
        if (value / NANO).unsigned_abs() > i64::MAX.unsigned_abs().into() {
            return Err(QuantityError::Overflow);
        }
        Ok(Self(value))
    }

    /// digits × numerator / denominator in nano-units, rounded up.
    fn scaled(
        whole: &[u8],
        fraction: &[u8],
        numerator: i128,
        denominator: i128,
    ) -> Result<i128, QuantityError> {
        let mut digits: i128 = 0;
        let mut divisor: i128 = denominator;
        let mut inexact = false;
        for (&b, after_point) in whole.iter().map(|b| (b, false)).chain(fraction.iter().map(|b| (b, true))) {
            let d = i128::from(b - b'0');
            if after_point && divisor >= 1_000_000_000_000_000_000 {
                inexact |= d != 0;
                continue;
            }
            digits = digits.checked_mul(10).and_then(|v| v.checked_add(d)).ok_or(QuantityError::Overflow)?;
            if after_point {
                divisor *= 10;
            }
        }
        let product =
            digits.checked_mul(numerator).and_then(|v| v.checked_mul(NANO)).ok_or(QuantityError::Overflow)?;
        let (quotient, remainder) = (product / divisor, product % divisor);
        Ok(quotient + i128::from(remainder != 0 || inexact))
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
    fn what_is_no_quantity_is_refused() {
        for text in ["", "m", "1 ", "1.2.3", "0x10", "1Kib", "1mi", "e3", "1e", "--1", "NaN"] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Syntax), "{text}");
        }
        for text in ["99999999999999999999", "1e19", "16Ei", "10E1000"] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::Overflow), "{text}");
        }
    }

    #[test]
    fn two_memory_requests_of_one_and_a_half_bytes_are_three_bytes() {
        let half = Quantity::parse("1500m").unwrap();
        assert_eq!((half + half).ceil_units(), 3);
    }
}
