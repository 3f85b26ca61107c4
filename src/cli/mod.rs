//! The command line: one file per command, one door for output, one table of exit codes.
//!
//! May import: api, snapshot, fragmentation, filter, plan
