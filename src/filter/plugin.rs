//! The shape of a Filter plugin.
//!
//! A plugin is asked in two steps, as in the scheduler. [`Plugin::pre_filter`] looks once at the pod and the cluster
//! as a whole; it stays out, refuses all nodes, or returns a [`Check`], which then is asked node by node. Whatever
//! is the same for all nodes (claims of the pod, the least-filled domain) belongs into the check, computed once.
//!
//! Rules that look at nothing but the pod's [`NodeRules`] and fixed properties of one node also implement
//! [`Plugin::on_class`]: their answers are kept per pair of classes.
//!
//! May import: snapshot, filter

use super::state::{Incoming, State, Tenant};
use super::verdict::{Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{Node, NodeIdx, NodeRules, PodSpec, SpecIdx, Sym};

/// What a plugin looks at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The cluster after the changes so far.
    pub state: &'a State<'a>,
    /// The pod to place.
    pub incoming: Incoming,
}

impl<'a> Context<'a> {
    /// The snapshot.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.state.snapshot()
    }

    /// The spec of the pod to place.
    pub fn spec(&self) -> &'a PodSpec {
        self.snapshot().spec(self.incoming.spec)
    }

    /// The rules on single nodes of the pod to place.
    pub fn node_rules(&self) -> &'a NodeRules {
        &self.snapshot().node_rules[self.spec().node_rules.at()]
    }
}

/// One node as it is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The node.
    pub node: NodeIdx,
    /// Pods that are not there yet but are counted as if they were: nominated to this node with a priority that is
    /// not lower (rulebook 1.15). Every plugin that counts pods counts them too. Empty in the second pass.
    pub guests: &'a [Tenant],
}

impl Visit<'_> {
    /// The node as it is, without pods nominated to it.
    pub const fn plain(node: NodeIdx) -> Self {
        Self { node, guests: &[] }
    }
}

/// A plugin's answer for one pod, node by node. Closures over a [`Visit`] are checks.
pub trait Check {
    /// Looks at one node.
    fn check(&self, at: Visit<'_>) -> Result<(), Failure>;
}

impl<F: Fn(Visit<'_>) -> Result<(), Failure>> Check for F {
    fn check(&self, at: Visit<'_>) -> Result<(), Failure> {
        self(at)
    }
}

/// What a plugin says before it looks at any node.
pub enum PreFilter<'a> {
    /// Nothing to check for this pod: the plugin stays out, even when nominated pods are counted.
    Skip,
    /// No node is possible.
    Reject(Failure),
    /// Ask node by node.
    Check(Box<dyn Check + 'a>),
    /// Only nodes of these names are possible; the plugin refuses all others. They need not exist.
    Only(Vec<Sym>, Box<dyn Check + 'a>),
}

impl<'a> PreFilter<'a> {
    /// Asks node by node with a closure.
    pub fn check(check: impl Fn(Visit<'_>) -> Result<(), Failure> + 'a) -> Self {
        Self::Check(Box::new(check))
    }
}

/// A Filter.
pub trait Plugin: Sync {
    /// Its name.
    fn name(&self) -> PluginName;

    /// Looks at the pod and the cluster as a whole.
    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a>;

    /// True when [`Plugin::pre_filter`] may do anything but skip for pods of this spec, whoever stands where. Must
    /// not depend on what was applied to the state. Pods that concern only the class rules and the comparison of
    /// amounts take the fast path.
    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool;

    /// True when what others do can make this plugin refuse a pod of this spec where it stands, although it asked them
    /// about it when they came. Like [`Plugin::concerns`] it must not depend on what was applied to the state.
    fn may_turn(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        self.concerns(state, spec)
    }

    /// The rule as a function of the pod's node rules and one node's fixed properties: those that
    /// [`classify_nodes`](crate::snapshot::classes::classify_nodes) keeps apart. `None` for plugins that look at
    /// more; such a plugin decides nothing here.
    fn on_class(&self) -> Option<ClassRule> {
        None
    }
}

/// A rule on single nodes, the same for all pods of equal rules and all nodes of a class.
pub type ClassRule = fn(&Snapshot, &NodeRules, &Node) -> Result<(), Failure>;
