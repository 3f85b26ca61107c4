//! Volcano's rules. Not modelled yet: every verdict is Unknown and says so.
//!
//! May import: snapshot, filter

use super::plugin::{Context, Plugin, PreFilter};
use super::rules::RuleSet;
use super::state::State;
use super::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::SpecIdx;

/// The rule set of Volcano.
pub static RULES: RuleSet = RuleSet {
    plugins: &[&NotModelled],
    nominations: false,
    narrows: false,
    amounts: &[],
    waits_from: usize::MAX,
    has_room: |_, _, _| false,
};

struct NotModelled;

impl Plugin for NotModelled {
    fn name(&self) -> PluginName {
        PluginName::Resources
    }

    fn concerns(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        true
    }

    fn pre_filter<'a>(&self, _context: Context<'a>) -> PreFilter<'a> {
        let detail = Detail::NotModelled { text: "Volcano's predicates".to_owned() };
        PreFilter::Reject(Failure { plugin: self.name(), code: Code::Unknown, detail })
    }
}
