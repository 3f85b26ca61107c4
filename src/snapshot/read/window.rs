//! A moving window of valid UTF-8 over a byte stream, so that an input is read in blocks and never held whole.
//!
//! Invariants: `text[pos..]` is what has been read and not yet used; `carry` holds the first bytes of a character
//! that the last block cut in two (at most three). The window grows only when one value is larger than it.
//!
//! May import: snapshot

use std::io::Read;

use super::error::InputError;

/// Bytes asked for at a time: large enough that the value cut off at the end, which is parsed twice, does not count,
/// small enough to stay in the second-level cache.
const BLOCK: usize = 1 << 20;

/// The window.
pub(super) struct Window<R> {
    reader: R,
    text: String,
    pos: usize,
    carry: Vec<u8>,
    ended: bool,
    /// Lines and bytes that the window has left behind, for messages.
    lines_before: u64,
    bytes_before: u64,
    /// Bytes since the last line break that was left behind.
    column_before: u64,
}

/// Why the stream could not be read on.
pub(super) enum Fault {
    /// The reader failed.
    Io(std::io::Error),
    /// A byte sequence that is no UTF-8.
    NotText,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            text: String::new(),
            pos: 0,
            carry: Vec::new(),
            ended: false,
            lines_before: 0,
            bytes_before: 0,
            column_before: 0,
        }
    }

    /// What has been read and not yet used.
    pub(super) fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    /// True when `rest` reaches to the end of the input.
    pub(super) const fn ended(&self) -> bool {
        self.ended
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes_before + self.text.len() as u64
    }

    /// Marks `n` bytes of `rest` as used; `n` must end at a character boundary.
    pub(super) fn advance(&mut self, n: usize) {
        self.pos += n;
    }

    /// Drops what was used and reads another block, or as much as is waiting if that is more.
    pub(super) fn fill(&mut self) -> Result<(), Fault> {
        self.forget();
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let waiting = bytes.len();
        bytes.append(&mut self.carry);
        let want = BLOCK.max(waiting) as u64;
        let got = self.reader.by_ref().take(want).read_to_end(&mut bytes).map_err(Fault::Io)?;
        self.ended = (got as u64) < want;
        let broken = match String::from_utf8(bytes) {
            Ok(text) => {
                self.text = text;
                return Ok(());
            }
            Err(broken) => broken,
        };
        let error = broken.utf8_error();
        let mut bytes = broken.into_bytes();
        let rest = bytes.split_off(error.valid_up_to());
        self.text = String::from_utf8(bytes).unwrap_or_default();
        if error.error_len().is_none() && !self.ended {
            self.carry = rest;
            return Ok(());
        }
        self.pos = self.text.len();
        Err(Fault::NotText)
    }

    /// The next byte that is no blank, without using it; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            let rest = &self.text.as_bytes()[self.pos..];
            if let Some(blanks) = rest.iter().position(|b| !matches!(b, b' ' | b'\n' | b'\r' | b'\t')) {
                self.pos += blanks;
                return Ok(Some(rest[blanks]));
            }
            self.pos = self.text.len();
            if self.ended {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Reads everything into the window. For formats that cannot be read in pieces.
    pub(super) fn fill_whole(&mut self) -> Result<(), Fault> {
        while !self.ended {
            self.fill()?;
        }
        Ok(())
    }

    /// A file error at `offset` bytes into `rest`.
    pub(super) fn error(&self, file: &str, offset: usize, problem: &str) -> InputError {
        let end = (self.pos + offset).min(self.text.len());
        let seen = &self.text.as_bytes()[..end];
        let line = self.lines_before + count_lines(seen) + 1;
        let column = match seen.iter().rposition(|&b| b == b'\n') {
            Some(at) => (seen.len() - at) as u64,
            None => self.column_before + seen.len() as u64 + 1,
        };
        InputError::file(file, format!("line {line}, column {column}: {problem}"))
    }

    /// The sentence for a stream that could not be read on.
    pub(super) fn fault(&self, file: &str, fault: &Fault) -> InputError {
        match fault {
            Fault::NotText => self.error(file, 0, "is not UTF-8 text"),
            Fault::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                InputError::file(file, "is cut off (the compressed stream ends too early)")
            }
            Fault::Io(error) => InputError::file(file, format!("cannot be read: {error}")),
        }
    }

    fn forget(&mut self) {
        let used = &self.text.as_bytes()[..self.pos];
        let lines = count_lines(used);
        self.lines_before += lines;
        // Large files often are a single line, so the search for a line break is worth avoiding.
        let last_break = if lines > 0 { used.iter().rposition(|&b| b == b'\n') } else { None };
        self.column_before = match last_break {
            Some(at) => (used.len() - at - 1) as u64,
            None => self.column_before + used.len() as u64,
        };
        self.bytes_before += used.len() as u64;
        self.text.drain(..self.pos);
        self.pos = 0;
    }
}

/// Number of line breaks. Blocks of less than 256 bytes keep the sums in bytes, which compilers vectorise.
fn count_lines(bytes: &[u8]) -> u64 {
    bytes.chunks(192).map(|c| u64::from(c.iter().map(|&b| u8::from(b == b'\n')).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, the worst case for characters cut in two.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            match (self.0.split_first(), buf.first_mut()) {
                (Some((&byte, rest)), Some(slot)) => {
                    *slot = byte;
                    self.0 = rest;
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn characters_cut_by_a_block_are_whole_again() {
        let text = format!("{}é{}", "a".repeat(BLOCK - 1), "b".repeat(BLOCK));
        let mut window = Window::new(Drip(text.as_bytes()));
        let mut seen = String::new();
        while !window.ended() {
            assert!(window.fill().is_ok());
            seen.push_str(window.rest());
            window.advance(window.rest().len());
        }
        assert_eq!(seen, text);
    }

    #[test]
    fn a_cut_off_character_at_the_end_is_an_error_with_its_place() {
        let mut window = Window::new(&b"ab\ncd\xc3"[..]);
        let fault = window.fill().unwrap_err();
        assert_eq!(window.fault("x", &fault).to_string(), "x: line 2, column 3: is not UTF-8 text");
    }

    #[test]
    fn lines_are_counted_across_blocks() {
        let text = "1234567\n".repeat(BLOCK / 4);
        let mut window = Window::new(text.as_bytes());
        assert!(window.fill().is_ok());
        window.advance(window.rest().len());
        assert!(window.fill().is_ok());
        let error = window.error("x", 12, "is odd").to_string();
        assert_eq!(error, format!("x: line {}, column 5: is odd", BLOCK / 8 + 2));
    }
}
