//! Logs of the long-running roles: lines of JSON on standard error.
//!
//! May import: cli

use tracing_subscriber::EnvFilter;

use super::Verbosity;

/// Switches logging on for this process; `filter` is what `RUST_LOG` says, if it says anything, and wins over the
/// verbosity. Spans are part of every line, so that all lines of a run can be found by its name or UID.
pub fn start(verbosity: Verbosity, filter: Option<&str>) {
    // The client tells of every request that gets no answer, which whoever asked does once.
    let level = match verbosity {
        Verbosity::Quiet => "warn,kube_client=off",
        Verbosity::Normal => "info,kube_client=off",
        Verbosity::Verbose => "kubectl_repack=debug,info",
    };
    let filter = EnvFilter::new(filter.unwrap_or(level));
    // Fails only where logging is on already, and then it is.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}
