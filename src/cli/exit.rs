//! The one table of exit codes. They never change their meaning; scripts and `podFailurePolicy` match on them.
//!
//! May import: (nothing of this crate)

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked.
    Done,
    /// Something went wrong.
    Error,
    /// The command line can not be understood.
    Usage,
    /// The run ended without the result that was asked for.
    NotAchieved,
    /// The time to wait was over.
    TimedOut,
    /// A person said no.
    Declined,
    /// Stopped by a signal from the keyboard.
    Interrupted,
}

impl Exit {
    /// Every code, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Error,
        Self::Usage,
        Self::NotAchieved,
        Self::TimedOut,
        Self::Declined,
        Self::Interrupted,
    ];

    /// The number the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::NotAchieved => 3,
            Self::TimedOut => 4,
            Self::Declined => 5,
            Self::Interrupted => 130,
        }
    }

    /// What the number tells the caller.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done, also when there was nothing to do",
            Self::Error => "error, faulty file contents included",
            Self::Usage => "the command line is wrong",
            Self::NotAchieved => "the run ended without the wanted result",
            Self::TimedOut => "timed out waiting",
            Self::Declined => "declined at the prompt",
            Self::Interrupted => "interrupted",
        }
    }

    /// The table as `--help` prints it, one code a line.
    pub fn table() -> String {
        let lines = Self::ALL.map(|exit| format!("  {:<5}{}", exit.code(), exit.meaning()));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_the_documented_ones() {
        insta::assert_snapshot!(Exit::table(), @"
          0    done, also when there was nothing to do
          1    error, faulty file contents included
          2    the command line is wrong
          3    the run ended without the wanted result
          4    timed out waiting
          5    declined at the prompt
          130  interrupted
        ");
    }
}
