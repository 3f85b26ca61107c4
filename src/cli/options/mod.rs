//! What a command line means: typed arguments become plain values with all defaults filled in.
//!
//! The engine is called with these and never sees clap. A run's wishes become a `RepackRunSpec`, the same value that a
//! file or a policy holds; from it and the movability options [`PlanOptions::request_for`] makes the planner's
//! request, as every other front does.
//!
//! May import: cli, api, plan

mod movability;
mod plan;
mod view;

pub use movability::movability;
pub use plan::PlanOptions;
pub use view::{Glyphs, View};
