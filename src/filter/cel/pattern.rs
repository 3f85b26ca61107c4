//! Regular expressions of `matches`: RE2's language as far as it means the same to our engine.
//!
//! Both engines search without backtracking. Only ASCII patterns and texts are taken (there a byte is a character and
//! `\d` means the ten digits, as in RE2), and spellings that the two read differently are refused.
//!
//! May import: (nothing of this crate)

use regex_automata::Input;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self};
use regex_automata::util::syntax;

use super::Error;

/// Bytes of compiled pattern allowed; larger ones are unsupported.
const SIZE_LIMIT: usize = 1 << 20;
/// Spellings with another meaning in RE2, or none.
const DIFFERENT: [&str; 10] = ["&&", "--", "~~", "\\<", "\\>", "\\b{", "{,", "(?x", "(?u", "(?R"];

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    engine: PikeVM,
}

impl Pattern {
    pub(super) fn compile(text: &str) -> Result<Self, Error> {
        let refuse = || Error::Unsupported(format!("the regular expression {text:?}"));
        if !text.is_ascii() || text.len() > 512 || DIFFERENT.iter().any(|part| text.contains(part)) {
            return Err(refuse());
        }
        if nested_class(text) {
            return Err(refuse());
        }
        let engine = PikeVM::builder()
            .syntax(syntax::Config::new().unicode(false).utf8(false).nest_limit(50))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_LIMIT)))
            .build(text)
            .map_err(|_| refuse())?;
        Ok(Self { engine })
    }

    /// Whether the pattern is found anywhere in the text.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, Error> {
        if !text.is_ascii() {
            return Err(Error::Unsupported("a regular expression on text outside ASCII".to_owned()));
        }
        Ok(self.engine.is_match(&mut self.engine.create_cache(), Input::new(text)))
    }
}

/// A bracket inside a bracket is a plain character in RE2 and a nested class here; `[[:alpha:]]` is the same in both.
fn nested_class(text: &str) -> bool {
    let mut inside = false;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' if inside && !text[at..].starts_with("[:") => return true,
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_search_and_anchors_bind() {
        for (pattern, text, expected) in [
            ("a100", "nvidia a100 80gb", true),
            ("^.*a100.*$", "nvidia a100 80gb", true),
            ("^a100", "nvidia a100", false),
            ("^(A100|H100)$", "H100", true),
            ("^(A100|H100)$", "H1000", false),
            ("(?i)h100", "NVIDIA h100", true),
            (r"\d+gb", "80gb", true),
            ("[[:alpha:]]+-[0-9]{3}", "card-001", true),
            ("", "", true),
        ] {
            assert_eq!(Pattern::compile(pattern).unwrap().is_match(text), Ok(expected), "{pattern} {text}");
        }
    }

    #[test]
    fn what_the_engines_read_differently_is_unsupported() {
        for pattern in ["[a&&b]", "[[a]b]", r"\<a", "a{,3}", "(", "ü", r"\pN"] {
            assert!(matches!(Pattern::compile(pattern), Err(Error::Unsupported(_))), "{pattern}");
        }
        assert!(Pattern::compile("a").unwrap().is_match("ä").is_err());
    }
}
