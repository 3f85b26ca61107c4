//! Scheduling semantics: one file per Filter plugin, one evaluator, planned and transition states with undo.
//!
//! [`state::State`] says who stands where; a [`plugin::Plugin`] answers for one pod and one node; a rule set (kube,
//! Volcano) is an ordered list of plugins. The rulebook is upstream's behaviour, proven by recorded verdicts of the
//! real schedulers (`tests/fixtures/oracle`).
//!
//! May import: snapshot

pub mod cel;
mod counters;
pub mod evaluate;
pub mod kube;
pub mod oracle;
pub mod plugin;
#[cfg(test)]
mod properties;
pub mod rules;
pub mod state;
mod tables;
pub mod verdict;
pub mod volcano;
mod volumes;
mod words;

pub use evaluate::{Prepared, evaluate, explain};
pub use plugin::{Check, Context, Plugin, PreFilter, Visit};
pub use rules::{RuleSet, SchedulerRules, Schedulers};
pub use state::{Change, Checkpoint, Incoming, State, Tenant};
pub use verdict::{Code, Detail, Failure, PluginName, Verdict};
