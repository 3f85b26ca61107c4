//! Scheduling semantics: one file per Filter plugin, one evaluator, planned and transition states with undo.
//!
//! May import: snapshot
