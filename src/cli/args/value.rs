//! Readers of single flag values. Their errors are half sentences; clap puts flag and value before them.
//!
//! May import: api, cli

use crate::api::{LabelSelector, RepackRunSpec};

/// Seconds: a whole number (`90`) or whole numbers with units (`90s`, `30m`, `2h`, `1d`, `1h30m`).
pub fn seconds(text: &str) -> Result<i64, String> {
    const WANTED: &str = "it must be seconds or a duration such as 90s, 30m, 2h or 1h30m";
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_err(|_| WANTED.to_owned());
    }
    let mut total: i64 = 0;
    let mut digits = String::new();
    let mut smallest = i64::MAX;
    for letter in text.chars() {
        let unit: i64 = match letter {
            '0'..='9' => {
                digits.push(letter);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(WANTED.to_owned()),
        };
        // Units have to fall, so that "5m2h" or "1h1h" is not read as something nobody means.
        if unit >= smallest {
            return Err(WANTED.to_owned());
        }
        smallest = unit;
        let amount: i64 = digits.parse().map_err(|_| WANTED.to_owned())?;
        total = amount
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| "it is too long".to_owned())?;
        digits.clear();
    }
    if digits.is_empty() { Ok(total) } else { Err(WANTED.to_owned()) }
}

/// Seconds of a lease: long enough to renew it in time, and no longer than anybody would wait for.
pub fn lease(text: &str) -> Result<i64, String> {
    let duration = seconds(text)?;
    if (2..=3600).contains(&duration) { Ok(duration) } else { Err("it must be from 2s to 1h".to_owned()) }
}

/// Percentage points from 0 to 100, with or without `%`.
pub fn percent(text: &str) -> Result<i64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<i64>();
    number
        .ok()
        .filter(|number| (0..=100).contains(number))
        .ok_or_else(|| "it must be a whole number from 0 to 100".to_owned())
}

/// A whole number from 0 up.
pub fn count(text: &str) -> Result<i64, String> {
    text.parse().ok().filter(|n| *n >= 0).ok_or_else(|| "it must be a whole number from 0 up".to_owned())
}

/// A whole number from 1 up.
pub fn positive(text: &str) -> Result<i64, String> {
    text.parse().ok().filter(|n| *n >= 1).ok_or_else(|| "it must be a whole number from 1 up".to_owned())
}

/// An extended resource.
pub fn resource(text: &str) -> Result<String, String> {
    let goal = crate::api::Goal { resource: text.to_owned(), ..Default::default() };
    match (RepackRunSpec { goals: vec![goal], ..Default::default() }).validate() {
        Ok(()) => Ok(text.to_owned()),
        Err(_) => Err("it must be an extended resource such as huawei.com/ascend-1980".to_owned()),
    }
}

/// A label selector.
pub fn selector(text: &str) -> Result<LabelSelector, String> {
    text.parse::<LabelSelector>().map_err(|fault| fault.to_string())
}

/// `namespace/name`.
pub fn namespaced(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() == 2 && parts.iter().all(|part| !part.is_empty()) {
        Ok(text.to_owned())
    } else {
        Err("it must be NAMESPACE/NAME".to_owned())
    }
}

/// A time, RFC 3339.
pub fn time(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| "it must be a time such as 2026-01-31T12:00:00Z".to_owned())
}

/// The name of a scheduler.
pub fn scheduler(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it must name a scheduler".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// `NAME=RULES`: whose Filter rules a scheduler name follows.
pub fn scheduler_rules(text: &str) -> Result<(String, super::groups::Rules), String> {
    use clap::ValueEnum;
    let wanted = || "it must be NAME=kube, NAME=volcano or NAME=hami".to_owned();
    let (name, rules) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wanted)?;
    let rules = super::groups::Rules::from_str(rules, false).map_err(|_| wanted())?;
    Ok((name.to_owned(), rules))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f109_durations_are_seconds_with_or_without_units() {
        let good =
            [("0", 0), ("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86_400), ("1h30m", 5400)];
        for (text, value) in good {
            assert_eq!(seconds(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "-1",
            "m",
            "1.5h",
            "5m2h",
            "1h1h",
            "10 m",
            "1h30",
            "9999999999999999d",
            "99999999999999999999",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn percentages_are_whole_and_at_most_100() {
        assert_eq!((percent("10"), percent("10%"), percent("0")), (Ok(10), Ok(10), Ok(0)));
        assert!(["101", "-1", "5.5", "%", ""].iter().all(|text| percent(text).is_err()));
    }

    #[test]
    fn resources_groups_and_rules_have_their_form() {
        assert!(resource("nvidia.com/gpu").is_ok() && resource("cpu").is_err() && resource("/x").is_err());
        assert!(namespaced("a/b").is_ok() && namespaced("b").is_err() && namespaced("a/b/c").is_err());
        assert!(scheduler_rules("mine=kube").is_ok());
        assert!(["mine", "=kube", "mine=other"].iter().all(|text| scheduler_rules(text).is_err()));
    }
}
