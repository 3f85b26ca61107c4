//! The one door through which anything is printed, and one file per output format.
//!
//! Data goes to standard output, everything else to standard error. Data is held back until the command has
//! succeeded, so that a failing command prints nothing there. Colour is only ever a repetition of what a word or
//! letter already says, and is taken out when the receiver or `NO_COLOR` does not want it.
//!
//! May import: cli

mod json;
pub mod log;
pub mod picture;
mod table;
mod yaml;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

pub use json::json;
pub use table::Table;
pub use yaml::yaml;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// An amount of at least 0 in tenths, such as a cost, with one decimal.
pub fn tenths(amount: i64) -> String {
    format!("{}.{}", amount / 10, amount % 10)
}

type Sink = Box<dyn Write + Send>;

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// Also status and hints.
    #[default]
    Normal,
    /// Also what was read.
    Verbose,
}

/// The door.
pub struct Out {
    held: Vec<u8>,
    stdout: AutoStream<Sink>,
    stderr: AutoStream<Sink>,
    verbosity: Verbosity,
}

impl Out {
    /// The process's own streams; `Auto` asks the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
    pub fn process(color: ColorChoice, verbosity: Verbosity) -> Self {
        let choose = |automatic: ColorChoice| if color == ColorChoice::Auto { automatic } else { color };
        Self {
            held: Vec::new(),
            stdout: AutoStream::new(Box::new(io::stdout()), choose(AutoStream::choice(&io::stdout()))),
            stderr: AutoStream::new(Box::new(io::stderr()), choose(AutoStream::choice(&io::stderr()))),
            verbosity,
        }
    }

    /// Changes how much is said and in which colour, once the command line is understood.
    #[must_use]
    pub fn with(self, color: ColorChoice, verbosity: Verbosity) -> Self {
        let recolor = |stream: AutoStream<Sink>| {
            let choice = if color == ColorChoice::Auto { stream.current_choice() } else { color };
            AutoStream::new(stream.into_inner(), choice)
        };
        Self { held: self.held, stdout: recolor(self.stdout), stderr: recolor(self.stderr), verbosity }
    }

    /// Holds data back for standard output; a line feed at the end is the caller's.
    pub fn data(&mut self, text: &str) {
        self.held.extend_from_slice(text.as_bytes());
    }

    /// Whether a person looks at standard output.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Empties the terminal for the next drawing. Not a colour, so it goes past what takes colours out.
    pub fn clear(&mut self) {
        // A terminal that is gone is told of by the drawing.
        let _ = self.stdout.flush();
        let _ = io::stdout().write_all(b"\x1b[2J\x1b[H");
    }

    /// Writes what was held back; for the end of a command that succeeded.
    ///
    /// # Errors
    /// Those of the stream, a closed pipe among them.
    pub fn finish(&mut self) -> io::Result<()> {
        self.stdout.write_all(&self.held)?;
        self.held.clear();
        self.stdout.flush()
    }

    /// A sentence about what was done or found; not with `--quiet`.
    pub fn status(&mut self, sentence: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(&format!("{}\n", printable(&sentence.to_string())));
        }
    }

    /// Something to try next; not with `--quiet`.
    pub fn hint(&mut self, hint: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.error_hint(&hint.to_string());
        }
    }

    /// How much is said.
    pub const fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// What was read; only with `--verbose`.
    pub fn detail(&mut self, sentence: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.say(&format!("{}\n", printable(&sentence.to_string())));
        }
    }

    /// Something a person should know although the command goes on.
    pub fn warning(&mut self, sentence: impl Display) {
        let sentence = printable(&sentence.to_string());
        self.say(&format!("{WARNING}Warning:{WARNING:#} {sentence}\n"));
    }

    /// Why the command failed; [`CliError::report`](super::error::CliError::report) is its only caller.
    pub(super) fn error(&mut self, sentence: &str) {
        self.say(&format!("{ERROR}error:{ERROR:#} {}\n", printable_lines(sentence)));
    }

    /// A hint that belongs to an error and is printed even with `--quiet`.
    pub(super) fn error_hint(&mut self, hint: &str) {
        self.say(&format!("{HINT}hint:{HINT:#} {}\n", printable(hint)));
    }

    /// Text that is laid out already, for standard error.
    pub(super) fn say(&mut self, text: &str) {
        // Standard error has no other place to complain to.
        let _ = self.stderr.write_all(text.as_bytes()).and_then(|()| self.stderr.flush());
    }

    /// A door whose two sides can be read back, without colour.
    #[cfg(test)]
    pub fn captured() -> (Self, capture::Captured) {
        let captured = capture::Captured::default();
        let out = Self {
            held: Vec::new(),
            stdout: AutoStream::new(Box::new(captured.out.clone()), ColorChoice::Never),
            stderr: AutoStream::new(Box::new(captured.err.clone()), ColorChoice::Never),
            verbosity: Verbosity::Normal,
        };
        (out, captured)
    }
}

/// Several lines of [`printable`] text.
pub(super) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Control characters of foreign text (names from a file) would reach the terminal; each becomes `?`. The door does it
/// for everything on standard error, tables and texts do it for themselves.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
pub(super) mod capture {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    pub struct Side(Arc<Mutex<Vec<u8>>>);

    impl Write for Side {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a captured door printed.
    #[derive(Clone, Default)]
    pub struct Captured {
        pub(super) out: Side,
        pub(super) err: Side,
    }

    impl Captured {
        pub fn stdout(&self) -> String {
            String::from_utf8(self.out.0.lock().unwrap().clone()).unwrap()
        }

        pub fn stderr(&self) -> String {
            String::from_utf8(self.err.0.lock().unwrap().clone()).unwrap()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_held_back_until_the_command_has_succeeded() {
        let (mut out, captured) = Out::captured();
        out.data("NAME\n");
        out.status("read 1 node.");
        assert_eq!(captured.stdout(), "");
        out.finish().unwrap();
        assert_eq!((captured.stdout().as_str(), captured.stderr().as_str()), ("NAME\n", "read 1 node.\n"));
    }

    #[test]
    fn quiet_leaves_warnings_and_errors() {
        let (out, captured) = Out::captured();
        let mut out = out.with(ColorChoice::Auto, Verbosity::Quiet);
        out.status("status");
        out.hint("hint");
        out.detail("detail");
        out.warning("two nodes are not ready.");
        assert_eq!(captured.stderr(), "Warning: two nodes are not ready.\n");
    }

    #[test]
    fn colour_is_there_on_demand_and_nowhere_else() {
        let (out, captured) = Out::captured();
        out.with(ColorChoice::Always, Verbosity::Normal).warning("w");
        assert!(captured.stderr().contains("\u{1b}["), "{:?}", captured.stderr());
        let (mut out, captured) = Out::captured();
        out.warning("w");
        assert_eq!(captured.stderr(), "Warning: w\n");
    }

    #[test]
    fn control_characters_of_names_do_not_reach_the_terminal() {
        assert_eq!(printable("npu\u{1b}[2J-01\n"), "npu?[2J-01?");
    }
}
