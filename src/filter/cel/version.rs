//! Semantic versions 2.0.0: strict parsing, precedence, and the tolerant form `semver(text, true)`.
//!
//! May import: (nothing of this crate)

use std::cmp::Ordering;

/// A version. Build metadata is checked and then forgotten: it takes no part in any comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
    pre: Vec<Identifier>,
}

/// A part of the pre-release; numbers sort before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(Box<str>),
}

impl Version {
    /// Strict: three numbers without leading zeros, optional pre-release and build metadata.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, build) = split_off(text, '+');
        let (core, pre) = split_off(text, '-');
        if !build.is_none_or(|build| build.split('.').all(is_identifier)) {
            return None;
        }
        let mut numbers = core.split('.').map(number);
        let version = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
            pre: pre.map_or(Some(Vec::new()), |pre| pre.split('.').map(identifier).collect())?,
        };
        numbers.next().is_none().then_some(version)
    }

    /// Tolerant: a leading `v`, leading zeros and missing minor or patch numbers are forgiven.
    pub fn parse_tolerant(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(trim_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (false, false) => self.pre.cmp(&other.pre),
            // A release comes after its own pre-releases.
            (own, others) => own.cmp(&others),
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) { None } else { text.parse().ok() }
}

fn identifier(text: &str) -> Option<Identifier> {
    if !is_identifier(text) {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Identifier::Number);
    }
    Some(Identifier::Word(text.into()))
}

fn trim_zeros(part: &str) -> String {
    let trimmed = part.trim_start_matches('0');
    if part.len() < 2 {
        part.to_owned()
    } else if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        trimmed.to_owned()
    } else {
        format!("0{trimmed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn precedence_follows_the_example_of_the_standard() {
        let order = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0-0",
            "2.0.0",
        ];
        for pair in order.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("1.0.0+a"), version("1.0.0+b"));
    }

    #[test]
    fn strict_parsing_refuses_what_the_tolerant_form_forgives() {
        for text in ["v1.0.0", "1.0", "01.1.1", "1", "1.01.1"] {
            assert!(Version::parse(text).is_none(), "{text}");
            assert!(Version::parse_tolerant(text).is_some(), "{text}");
        }
        for text in
            ["", "Three", "200K", "Mi", "1.0.0-", "1.0.0+", "1.0.0-01", "1.0-alpha", "1.0.0 ", "1.2.3.4"]
        {
            assert!(Version::parse(text).is_none() && Version::parse_tolerant(text).is_none(), "{text}");
        }
        assert_eq!(Version::parse_tolerant("v01.02"), Version::parse("1.2.0"));
        assert!(version("1.0.0-0a.x-y").pre.len() == 2);
    }
}
