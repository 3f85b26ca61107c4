//! The `RepackRun` types of `repack.volcano.sh/v1alpha1` and the names that stand on other objects.
//!
//! Plain serde structs: JSON field order is the order of the struct fields, which is the order of the API
//! contract. Cards and other amounts are whole numbers (`i64`), percentages whole percent (`i32`). Status lists
//! are always written, spec fields only when they were given. Checking a document a person wrote takes two
//! steps: [`RepackRun::from_document`] refuses unknown names and wrong types, [`RepackRun::validate`] refuses
//! values outside the rules; both name the field.
//!
//! May import: (nothing of this crate)

mod amount;
mod document;
mod limits;
mod meta;
pub mod names;
mod rate;
mod reason;
mod run;
mod schema;
mod selector;
mod status;
mod suggest;
mod validate;

pub use document::shape_errors;
pub use meta::{Condition, ConditionStatus, ObjectMeta};
pub use rate::{ExactRate, one_decimal, whole_percent};
pub use reason::{ConditionType, Phase, Reason};
pub use run::{
    Algorithm, DEFAULT_EFFORT, DEFAULT_WEIGHTS, Eviction, Execution, Goal, MAX_WEIGHT, MaxPerRun, Mode,
    NetworkTopology, ObjectSelection, OnBlockedPdb, Planner, RepackRun, RepackRunSpec, Scope, ScopeRule,
    TopologyMode, Weights,
};
pub use selector::{LabelSelector, Operator, Requirement, SelectorSyntaxError};
pub use status::{
    Benefit, BenefitStep, Disruption, EvictionPhase, EvictionState, MovedPod, Owner, PlacementPhase,
    PlacementState, Plan, PlanMove, PlanSummary, Relocation, RepackRunStatus, ReservedRoom, ResolvedScope,
    RunResult, TakenNode, Taker, UnmovableCount,
};
pub use suggest::nearest;
pub use validate::FieldError;

/// The API group of every kind of this product.
pub const GROUP: &str = "repack.volcano.sh";
/// The only version served.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of every object of the group.
pub const API_VERSION: &str = "repack.volcano.sh/v1alpha1";
