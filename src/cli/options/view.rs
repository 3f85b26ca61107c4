//! How a result is shown.
//!
//! May import: cli

use crate::cli::args::groups::{Format, ViewArgs};

/// Which letters drawings may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Arrows and dots of Unicode.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// How a result is shown, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The format.
    pub format: Format,
    /// Totals only.
    pub summary: bool,
    /// Whether tables have header lines.
    pub headers: bool,
    /// Column to sort by.
    pub sort_by: Option<String>,
    /// Letters for drawings.
    pub glyphs: Glyphs,
}

impl View {
    /// Fills the defaults in. `locale` looks an environment variable up; it decides whether Unicode can be shown.
    pub fn resolve(args: &ViewArgs, locale: impl Fn(&str) -> Option<String>) -> Self {
        let glyphs = if args.ascii || !speaks_utf8(locale) { Glyphs::Ascii } else { Glyphs::Unicode };
        Self {
            format: args.output.unwrap_or_default(),
            summary: args.summary,
            headers: !args.no_headers,
            sort_by: args.sort_by.clone(),
            glyphs,
        }
    }
}

/// The rule of POSIX: the first of the three variables that is set and not empty names the character set.
fn speaks_utf8(locale: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| locale(name).filter(|value| !value.is_empty()))
        .is_some_and(|value| {
            let value = value.to_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glyphs(variables: &[(&str, &str)], ascii: bool) -> Glyphs {
        let args = ViewArgs { ascii, ..ViewArgs::default() };
        let look = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        View::resolve(&args, look).glyphs
    }

    #[test]
    fn unicode_needs_a_locale_that_names_it() {
        assert_eq!(glyphs(&[("LANG", "zh_CN.UTF-8")], false), Glyphs::Unicode);
        assert_eq!(glyphs(&[("LC_ALL", "C"), ("LANG", "en_US.utf8")], false), Glyphs::Ascii);
        assert_eq!(glyphs(&[("LC_ALL", ""), ("LANG", "en_US.utf8")], false), Glyphs::Unicode);
        assert_eq!(glyphs(&[], false), Glyphs::Ascii);
        assert_eq!(glyphs(&[("LANG", "en_US.UTF-8")], true), Glyphs::Ascii);
    }
}
