//! Text to tokens, literals decoded.
//!
//! May import: (nothing of this crate)

use super::Error;

/// One token. A number's minus sign is a token of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Int(u64),
    Uint(u64),
    Double(f64),
    Str(String),
    Mark(&'static str),
    End,
}

/// Longer marks first, so that `<=` is not read as `<`.
const MARKS: [&str; 28] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "!",
    "-", "+", "*", "/", "%", "<", ">", "`", "=",
];

/// All tokens with the byte where each starts; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, Error> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space();
        let start = lexer.at;
        let token = lexer.next()?;
        let end = token == Token::End;
        tokens.push((start, token));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn error(&self, what: &str) -> Error {
        Error::Compile(format!("{what} at byte {}", self.at))
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, accept: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| accept(*byte)).count();
        self.at += length;
        &rest[..length]
    }

    fn next(&mut self) -> Result<Token<'t>, Error> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let Some(&first) = bytes.first() else { return Ok(Token::End) };
        let second_is_digit = bytes.get(1).is_some_and(u8::is_ascii_digit);
        if first.is_ascii_digit() || (first == b'.' && second_is_digit) {
            return self.number();
        }
        if let Some(prefix) = string_prefix(bytes) {
            let marks = &bytes[..prefix];
            if marks.iter().any(|mark| matches!(mark, b'b' | b'B')) {
                return Err(Error::Unsupported("bytes literals".to_owned()));
            }
            self.at += prefix;
            return self.string(prefix > 0);
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            return Ok(Token::Name(self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_')));
        }
        match MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
            Some("`") => Err(Error::Unsupported("quoted field names".to_owned())),
            Some("=") | None => Err(self.error("unexpected character")),
            Some(mark) => {
                self.at += mark.len();
                Ok(Token::Mark(mark))
            }
        }
    }

    fn number(&mut self) -> Result<Token<'t>, Error> {
        let rest = self.rest();
        if let Some(tail) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            self.at += rest.len() - tail.len();
            let digits = self.take(|byte| byte.is_ascii_hexdigit());
            let value = u64::from_str_radix(digits, 16).map_err(|_| self.error("malformed number"))?;
            return self.finish_integer(value);
        }
        let start = self.at;
        self.take(|byte| byte.is_ascii_digit());
        let mut double = false;
        let bytes = self.rest().as_bytes();
        if bytes.first() == Some(&b'.') && bytes.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.take(|byte| byte.is_ascii_digit());
            double = true;
        }
        let bytes = self.rest().as_bytes();
        if matches!(bytes.first(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
            if bytes.get(1 + sign).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + sign;
                self.take(|byte| byte.is_ascii_digit());
                double = true;
            }
        }
        let text = &self.text[start..self.at];
        if double {
            let value = text.parse().map_err(|_| self.error("malformed number"))?;
            return self.finish_number(Token::Double(value));
        }
        let value = text.parse().map_err(|_| self.error("number out of range"))?;
        self.finish_integer(value)
    }

    fn finish_integer(&mut self, value: u64) -> Result<Token<'t>, Error> {
        if self.rest().starts_with(['u', 'U']) {
            self.at += 1;
            return self.finish_number(Token::Uint(value));
        }
        self.finish_number(Token::Int(value))
    }

    fn finish_number(&self, token: Token<'t>) -> Result<Token<'t>, Error> {
        if self.rest().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return Err(self.error("malformed number"));
        }
        Ok(token)
    }

    fn string(&mut self, raw: bool) -> Result<Token<'t>, Error> {
        let rest = self.rest();
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
        let quote = quote.ok_or_else(|| self.error("expected a string"))?;
        self.at += quote.len();
        let mut decoded = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.at += quote.len();
                return Ok(Token::Str(decoded));
            }
            let Some(character) = rest.chars().next() else { return Err(self.error("unterminated string")) };
            if quote.len() == 1 && matches!(character, '\n' | '\r') {
                return Err(self.error("newline in a string"));
            }
            self.at += character.len_utf8();
            if character == '\\' && !raw {
                decoded.push(self.escape()?);
            } else {
                decoded.push(character);
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let rest = self.rest();
        let first = rest.chars().next().ok_or_else(|| self.error("unterminated string"))?;
        self.at += first.len_utf8();
        let (digits, radix) = match first {
            'a' => return Ok('\u{7}'),
            'b' => return Ok('\u{8}'),
            'f' => return Ok('\u{c}'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\u{b}'),
            '\\' | '?' | '"' | '\'' | '`' => return Ok(first),
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => return Err(self.error("unknown escape")),
        };
        let text = self.rest().get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let character = text.and_then(|text| u32::from_str_radix(text, radix).ok()).and_then(char::from_u32);
        self.at += if character.is_some() { digits } else { 0 };
        character.ok_or_else(|| self.error("malformed escape"))
    }
}

/// Length of the prefix letters when a string starts here.
fn string_prefix(bytes: &[u8]) -> Option<usize> {
    let letters = bytes.iter().take(2).take_while(|b| matches!(b, b'r' | b'R' | b'b' | b'B')).count();
    matches!(bytes.get(letters), Some(b'"' | b'\'')).then_some(letters)
}
