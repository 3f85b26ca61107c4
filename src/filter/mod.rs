//! Scheduling semantics: one file per Filter plugin, one evaluator, planned and transition states with undo.
//!
//! [`state::State`] says who stands where; a [`plugin::Plugin`] answers for one pod and one node; a rule set (kube,
//! Volcano) is an ordered list of plugins. The rulebook is upstream's behaviour, proven by recorded verdicts of the
//! real schedulers (`tests/fixtures/oracle`).
//!
//! May import: snapshot

pub mod cel;
mod counters;
pub mod plugin;
pub mod state;
pub mod verdict;

pub use plugin::{Context, Plugin, PreFilter};
pub use state::{Incoming, State, Tenant};
pub use verdict::{Code, Detail, Failure, PluginName, Verdict};
