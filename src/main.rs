//! Parses, dispatches and ends with the exit code; nothing else lives here.
fn main() {}
