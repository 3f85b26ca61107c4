//! Whose rules a pod follows, by the name of its scheduler.
//!
//! May import: snapshot, filter

use super::plugin::Plugin;
use super::verdict::PluginName;
use super::{kube, state::State, volcano};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, SpecIdx, Sym};

/// Rules of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchedulerRules {
    /// kube-scheduler with its default profile.
    Kube,
    /// Volcano.
    Volcano,
    /// HAMi's extender behind kube-scheduler: kube's rules for everything but the devices.
    Hami,
}

impl SchedulerRules {
    /// The name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kube => "kube",
            Self::Volcano => "volcano",
            Self::Hami => "hami",
        }
    }

    /// The rules of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Kube, Self::Volcano, Self::Hami].into_iter().find(|rules| rules.as_str() == name)
    }

    /// The plugins behind the rules.
    pub const fn set(self) -> &'static RuleSet {
        match self {
            // HAMi's extender only adds rules on devices; they are not modelled here.
            Self::Kube | Self::Hami => &kube::RULES,
            Self::Volcano => &volcano::RULES,
        }
    }
}

/// An ordered list of plugins and how the scheduler goes through it.
pub struct RuleSet {
    /// Plugins in the order in which the scheduler asks; the first that refuses is reported.
    pub plugins: &'static [&'static dyn Plugin],
    /// Pods nominated to a node count there in a pass of their own (rulebook 1.15).
    pub nominations: bool,
    /// A plugin that names the possible nodes beforehand spares the others from being asked; if not, each plugin
    /// refuses them itself.
    pub narrows: bool,
    /// The plugin that compares amounts and counts pods. Its answer for pods that concern no other plugin is
    /// [`RuleSet::has_room`].
    pub amounts: &'static [PluginName],
    /// Plugins from here on refuse only for now: the scheduler promises the node and waits ([`super::Verdict::Wait`]).
    pub waits_from: usize,
    /// The fast comparison of amounts: false only where the scheduler would not bind the pod now, and exact for pods
    /// that concern no plugin but the class rules and [`RuleSet::amounts`].
    pub has_room: fn(&State<'_>, SpecIdx, NodeIdx) -> bool,
}

impl std::fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.plugins.iter().map(|p| p.name())).finish()
    }
}

impl RuleSet {
    /// True when only class rules and amounts decide about pods of this spec, in whatever state.
    pub fn is_plain(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        self.plugins.iter().all(|&p| self.decides(p) || !p.concerns(state, spec))
    }

    /// True when a pod of this spec that passed may be refused where it stands once others have moved.
    pub fn may_turn(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        self.plugins.iter().any(|&p| !self.decides(p) && p.may_turn(state, spec))
    }

    /// Class rules and amounts.
    fn decides(&self, plugin: &dyn Plugin) -> bool {
        plugin.on_class().is_some() || self.amounts.contains(&plugin.name())
    }
}

/// Which scheduler names follow which rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedulers(Vec<(String, SchedulerRules)>);

impl Default for Schedulers {
    fn default() -> Self {
        let names = [
            ("default-scheduler", SchedulerRules::Kube),
            ("volcano", SchedulerRules::Volcano),
            ("hami-scheduler", SchedulerRules::Hami),
        ];
        Self(names.map(|(name, rules)| (name.to_owned(), rules)).to_vec())
    }
}

impl Schedulers {
    /// Adds a name or changes its rules.
    pub fn set(&mut self, name: &str, rules: SchedulerRules) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = rules,
            None => self.0.push((name.to_owned(), rules)),
        }
    }

    /// Rules of a scheduler; `None` for a name that nobody declared.
    pub fn rules_of(&self, name: &str) -> Option<SchedulerRules> {
        self.0.iter().find(|(n, _)| n == name).map(|&(_, rules)| rules)
    }

    /// The names that occur in a snapshot, as symbols.
    pub(super) fn in_snapshot(&self, snapshot: &Snapshot) -> Vec<(Sym, SchedulerRules)> {
        self.0.iter().filter_map(|(name, rules)| Some((snapshot.symbols.find(name)?, *rules))).collect()
    }
}
