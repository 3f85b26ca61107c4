//! `PodTopologySpread`: `DoNotSchedule` constraints (rulebook 1.8).
//!
//! The profile's own default constraints never filter.
//!
//! May import: snapshot, filter

use crate::filter::counters::spread::{ConstraintIdx, SpreadCounts};
use crate::filter::plugin::{Check, Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::SpecIdx;
use crate::snapshot::model::pod::Spread;

/// The plugin.
#[derive(Debug)]
pub struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> PluginName {
        PluginName::PodTopologySpread
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        !state.snapshot().spec(spec).spread.is_empty()
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, spec, counts) = (context.snapshot(), context.spec(), &context.state.counters.spread);
        if spec.spread.is_empty() {
            return PreFilter::Skip;
        }
        let constraints = spec.spread.iter().zip(counts.of_spec(context.incoming.spec));
        let constraints = constraints.map(|(constraint, &class)| Constraint {
            constraint,
            class,
            matches_itself: selects(snapshot, constraint, context.incoming.spec),
        });
        PreFilter::Check(Box::new(Constraints {
            snapshot,
            counts,
            namespace: spec.namespace,
            list: constraints.collect(),
        }))
    }
}

struct Constraint<'a> {
    constraint: &'a Spread,
    class: ConstraintIdx,
    matches_itself: bool,
}

struct Constraints<'a> {
    snapshot: &'a Snapshot,
    counts: &'a SpreadCounts,
    namespace: crate::snapshot::model::Sym,
    list: Vec<Constraint<'a>>,
}

impl Check for Constraints<'_> {
    fn check(&self, at: Visit<'_>) -> Result<(), Failure> {
        for constraint in &self.list {
            self.one(constraint, at)?;
        }
        Ok(())
    }
}

impl Constraints<'_> {
    fn one(&self, of: &Constraint<'_>, at: Visit<'_>) -> Result<(), Failure> {
        let Constraint { constraint, class, matches_itself } = *of;
        let fail = |code, detail| Err(Failure { plugin: PluginName::PodTopologySpread, code, detail });
        let key = constraint.topology_key;
        let Some(domain) = self.counts.domain(class, at.node) else {
            return fail(Code::Unresolvable, Detail::MissingTopologyKey { key });
        };
        let guests = self.guests(constraint, class, at);
        let least = if self.counts.domains(class) < usize::try_from(constraint.min_domains).unwrap_or(0) {
            0
        } else {
            self.counts.least_with(class, domain, guests)
        };
        let here = self.counts.pods(class, domain) + guests + u32::from(matches_itself);
        let (skew, limit) = (i64::from(here) - i64::from(least), i64::from(constraint.max_skew));
        if skew > limit { fail(Code::Unschedulable, Detail::Skew { key, skew, limit }) } else { Ok(()) }
    }

    /// Pods nominated to the node that count. Here, and only here, an empty selector counts every pod and a
    /// terminating pod counts as well.
    fn guests(&self, constraint: &Spread, class: ConstraintIdx, at: Visit<'_>) -> u32 {
        if at.guests.is_empty() || !self.counts.is_eligible(class, at.node) {
            return 0;
        }
        let snapshot = self.snapshot;
        let counts = at.guests.iter().filter(|g| {
            snapshot.spec(g.spec).namespace == self.namespace && selects(snapshot, constraint, g.spec)
        });
        u32::try_from(counts.count()).unwrap_or(u32::MAX)
    }
}

fn selects(snapshot: &Snapshot, constraint: &Spread, spec: SpecIdx) -> bool {
    let labels = &snapshot.spec(spec).labels;
    constraint.selector.as_ref().is_some_and(|s| s.matches(labels, &snapshot.symbols))
}
