//! What a command fails with, and the one function that turns it into text and an exit code.
//!
//! An error says what was attempted on which object, then the chain of causes, then what to try next. Errors of the
//! library are mapped to it at the edge; nothing below the command line prints.
//!
//! May import: cli, api

use std::error::Error as StdError;
use std::fmt;

use super::exit::Exit;
use super::output::{Out, printable};
use crate::api::FieldError;

/// What went wrong, as far as the exit code is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line: exit code 2.
    Usage,
    /// The input, a file, the machine: exit code 1.
    Failure,
    /// Standard output was closed by its reader, which is no error.
    BrokenPipe,
}

/// A failed command.
#[derive(Debug)]
pub struct CliError {
    kind: Kind,
    attempt: String,
    cause: Option<anyhow::Error>,
    hints: Vec<String>,
}

impl CliError {
    /// Something wrong with the command line, in one sentence without a full stop.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, attempt: sentence.into(), cause: None, hints: Vec::new() }
    }

    /// A failed attempt: `cannot read run.yaml`.
    pub fn failure(attempt: impl Into<String>) -> Self {
        Self { kind: Kind::Failure, attempt: attempt.into(), cause: None, hints: Vec::new() }
    }

    /// A failed attempt with everything that is wrong in a document: one line per fault, then each hint
    /// once.
    pub fn faults(attempt: impl Into<String>, faults: Vec<FieldError>) -> Self {
        let mut error = Self::failure(attempt);
        let mut lines = Vec::new();
        for fault in faults {
            lines.push(fault.to_string());
            if let Some(hint) = fault.hint
                && !error.hints.contains(&hint)
            {
                error.hints.push(hint);
            }
        }
        if !lines.is_empty() {
            error.cause = Some(anyhow::anyhow!(lines.join(NEXT_FAULT)));
        }
        error
    }

    /// The same error with what caused it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<anyhow::Error>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same error with one more thing to try, best a command that can be copied.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The exit code's meaning of this error.
    pub const fn exit(&self) -> Exit {
        match self.kind {
            Kind::Usage => Exit::Usage,
            Kind::Failure => Exit::Error,
            Kind::BrokenPipe => Exit::Done,
        }
    }

    /// Prints the error and its hints to standard error and says how the process ends.
    pub fn report(&self, out: &mut Out) -> Exit {
        if self.kind != Kind::BrokenPipe {
            out.error(&self.to_string());
            for hint in &self.hints {
                out.error_hint(hint);
            }
        }
        self.exit()
    }
}

/// Between the faults of a document, which stand in lines of their own.
const NEXT_FAULT: &str = "\n  and ";

/// One line: the attempt, then each cause after a colon. A cause that repeats the end of the line is left out.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.attempt.clone();
        if let Some(cause) = &self.cause {
            for cause in cause.chain() {
                // What a file says can not begin a line of its own.
                let cause = cause.to_string();
                let parts: Vec<String> = cause.trim_end().split(NEXT_FAULT).map(printable).collect();
                let cause = parts.join(NEXT_FAULT);
                if !cause.is_empty() && !line.ends_with(&cause) {
                    line.push_str(": ");
                    line.push_str(&cause);
                }
            }
        }
        f.write_str(&line)
    }
}

impl StdError for CliError {}

/// Writing output failed: quiet when the reader is gone.
impl From<std::io::Error> for CliError {
    fn from(fault: std::io::Error) -> Self {
        let kind =
            if fault.kind() == std::io::ErrorKind::BrokenPipe { Kind::BrokenPipe } else { Kind::Failure };
        let attempt = "cannot write the output".to_owned();
        Self { kind, attempt, cause: Some(fault.into()), hints: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_causes_stands_in_one_line() {
        let cause = anyhow::anyhow!("no such file").context("cannot open it");
        let error = CliError::failure("cannot read run.yaml").because(cause);
        assert_eq!(error.to_string(), "cannot read run.yaml: cannot open it: no such file");
        assert_eq!(error.exit(), Exit::Error);
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let (mut out, captured) = Out::captured();
        let gone = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(CliError::from(gone).report(&mut out), Exit::Done);
        assert_eq!(captured.stderr(), "");
    }

    #[test]
    fn all_faults_of_a_document_are_told() {
        let (mut out, captured) = Out::captured();
        let mut first = FieldError::new("spec", "has no field \"goal\"");
        first.hint = Some("did you mean goals?".to_owned());
        let faults = vec![first, FieldError::new("spec.mode", "is missing")];
        assert_eq!(CliError::faults("cannot use run.yaml", faults).report(&mut out), Exit::Error);
        insta::assert_snapshot!(captured.stderr(), @r#"
        error: cannot use run.yaml: spec has no field "goal"
          and spec.mode is missing
        hint: did you mean goals?
        "#);
    }

    #[test]
    fn hints_are_lines_of_their_own() {
        let (mut out, captured) = Out::captured();
        let error = CliError::usage("no resource given").hint("kubectl repack report");
        assert_eq!(error.report(&mut out), Exit::Usage);
        assert_eq!(captured.stderr(), "error: no resource given\nhint: kubectl repack report\n");
    }
}
