//! `InterPodAffinity`: required terms of the incoming pod, and anti-affinity of the pods that are there
//! (rulebook 1.7).
//!
//! May import: snapshot, filter

pub use crate::filter::counters::affinity::NamespaceFault;

use crate::filter::counters::affinity::{Affinity, ListIdx, TermIdx};
use crate::filter::plugin::{Check, Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::SpecIdx;

/// The plugin of one version of the library.
#[derive(Debug)]
pub struct InterPodAffinity(pub NamespaceFault);

impl Plugin for InterPodAffinity {
    fn name(&self) -> PluginName {
        PluginName::InterPodAffinity
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let pods = &state.counters.affinity;
        !pods.repels(spec, self.0).is_empty()
            || !pods.repelled(spec).is_empty()
            || pods.attracts(spec, self.0).is_some()
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let pods = &context.state.counters.affinity;
        let spec = context.incoming.spec;
        let check = Terms {
            pods,
            spec,
            attracts: pods.attracts(spec, self.0),
            repels: pods.repels(spec, self.0),
            repelled: pods.repelled(spec),
        };
        let alone = check.attracts.is_none() && check.repels.is_empty();
        if alone && !check.repelled.iter().any(|&term| pods.is_owned(term)) {
            return PreFilter::Skip;
        }
        PreFilter::Check(Box::new(check))
    }
}

struct Terms<'a> {
    pods: &'a Affinity,
    spec: SpecIdx,
    attracts: Option<ListIdx>,
    repels: &'a [TermIdx],
    repelled: &'a [TermIdx],
}

impl Check for Terms<'_> {
    fn check(&self, at: Visit<'_>) -> Result<(), Failure> {
        if let Some(list) = self.attracts {
            self.attraction(list, at)?;
        }
        let pods = self.pods;
        let fail =
            |detail| Err(Failure { plugin: PluginName::InterPodAffinity, code: Code::Unschedulable, detail });
        for &term in self.repels {
            if let Some(domain) = pods.domain(term, at.node) {
                let guest = at.guests.iter().any(|g| pods.repelled(g.spec).contains(&term));
                if guest || pods.selects_in(term, domain) {
                    return fail(Detail::AntiAffinity);
                }
            }
        }
        for &term in self.repelled {
            if let Some(domain) = pods.domain(term, at.node) {
                let guest = at.guests.iter().any(|g| pods.has(g.spec, term));
                if guest || pods.is_owned_in(term, domain) {
                    return fail(Detail::AntiAffinityOfOther);
                }
            }
        }
        Ok(())
    }
}

impl Terms<'_> {
    fn attraction(&self, list: ListIdx, at: Visit<'_>) -> Result<(), Failure> {
        let fail =
            |detail| Err(Failure { plugin: PluginName::InterPodAffinity, code: Code::Unresolvable, detail });
        // A pod that is counted on this very node is in all its domains.
        let guest = at.guests.iter().any(|g| self.pods.selects_all(list, g.spec));
        let mut met = true;
        for (key, domain, somebody) in self.pods.attraction(list, at.node) {
            if domain.is_none() {
                return fail(Detail::MissingTopologyKey { key: self.pods.topology().name(key) });
            }
            met &= somebody || guest;
        }
        // The first pod of its kind may go anywhere.
        let first = || self.pods.attracts_nobody(list) && self.pods.selects_all(list, self.spec);
        if met || first() { Ok(()) } else { fail(Detail::AffinityUnmet) }
    }
}
