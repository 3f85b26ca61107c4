//! Pods that attract and repel each other, counted per domain.
//!
//! Equal required terms are one; so are equal lists of affinity terms, because a pod counts for them only if it
//! matches the whole list. Which specs a term selects is fixed, so a change touches only the terms of its spec.
//!
//! May import: snapshot, filter

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::selection::{Doubt, Selection};
use super::topology::{Domain, KeyIdx, Topology};
use crate::filter::state::Change;
use crate::snapshot::Snapshot;
use crate::snapshot::model::intern::Distinct;
use crate::snapshot::model::pod::PodTerm;
use crate::snapshot::model::{Labels, NodeIdx, PodSpec, Selector, SpecIdx};

/// A required anti-affinity term.
pub type TermIdx = u32;
/// A list of required affinity terms.
pub type ListIdx = u32;

/// Whether terms of the incoming pod take a `namespaceSelector` that accepts a namespace without labels for one that
/// accepts every namespace: a fault of kube's library up to 1.36 (rulebook 1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceFault {
    /// Fixed, since 1.37.
    Fixed,
    /// As up to 1.36.
    Present,
}

/// The terms of one spec, by number.
#[derive(Debug, Default)]
struct OfSpec {
    /// Anti-affinity terms it has.
    repels: Vec<TermIdx>,
    /// The same as asked for an incoming pod under [`NamespaceFault::Present`]; `None` when no different.
    repels_faulty: Option<Vec<TermIdx>>,
    /// Anti-affinity terms, of whatever pod, that select it.
    repelled: Vec<TermIdx>,
    /// Its list of affinity terms.
    attracts: Option<ListIdx>,
    /// The same under [`NamespaceFault::Present`].
    attracts_faulty: Option<ListIdx>,
    /// Lists of affinity terms all of whose terms select it.
    attracted: Vec<ListIdx>,
}

/// What no change touches.
#[derive(Debug)]
struct Terms {
    topology: Arc<Topology>,
    of_spec: Vec<OfSpec>,
    /// Topology key per anti-affinity term.
    keys: Vec<KeyIdx>,
    /// Topology keys per list of affinity terms, in the order of the terms.
    list_keys: Vec<Vec<KeyIdx>>,
}

/// Pods per domain; domains without any are absent.
type PerDomain = FxHashMap<Domain, u32>;

/// The counters.
#[derive(Clone, Debug)]
pub struct Affinity {
    terms: Arc<Terms>,
    /// Per anti-affinity term: pods that have it.
    owners: Vec<PerDomain>,
    /// Per anti-affinity term: pods that it selects.
    selected: Vec<PerDomain>,
    /// Per list of affinity terms, per term: pods that the whole list selects.
    together: Vec<Vec<PerDomain>>,
}

impl PartialEq for Affinity {
    fn eq(&self, other: &Self) -> bool {
        self.owners == other.owners && self.selected == other.selected && self.together == other.together
    }
}

impl Affinity {
    /// Counters of an empty cluster.
    pub fn new(snapshot: &Snapshot, topology: &Arc<Topology>, selection: &Selection<'_>) -> Self {
        let terms = Terms::new(snapshot, topology, selection);
        let empty = vec![PerDomain::default(); terms.keys.len()];
        Self {
            owners: empty.clone(),
            selected: empty,
            together: terms.list_keys.iter().map(|keys| vec![PerDomain::default(); keys.len()]).collect(),
            terms: Arc::new(terms),
        }
    }

    /// Takes in one change.
    pub fn apply(&mut self, change: &Change) {
        let Terms { topology, of_spec, keys, list_keys } = &*self.terms;
        let of = &of_spec[change.tenant.spec.at()];
        let count = |to: &mut PerDomain, key: KeyIdx| {
            if let Some(domain) = topology.domain(key, change.node) {
                shift(to, domain, change.arrives);
            }
        };
        for &term in &of.repels {
            count(&mut self.owners[term as usize], keys[term as usize]);
        }
        for &term in &of.repelled {
            count(&mut self.selected[term as usize], keys[term as usize]);
        }
        for &list in &of.attracted {
            for (to, &key) in self.together[list as usize].iter_mut().zip(&list_keys[list as usize]) {
                count(to, key);
            }
        }
    }

    /// True when pods of this spec are counted at all.
    pub fn counts(&self, spec: SpecIdx) -> bool {
        let of = &self.terms.of_spec[spec.at()];
        !(of.repels.is_empty() && of.repelled.is_empty() && of.attracted.is_empty())
    }

    /// Anti-affinity terms of an incoming pod.
    pub fn repels(&self, spec: SpecIdx, fault: NamespaceFault) -> &[TermIdx] {
        let of = &self.terms.of_spec[spec.at()];
        match (&of.repels_faulty, fault) {
            (Some(faulty), NamespaceFault::Present) => faulty,
            _ => &of.repels,
        }
    }

    /// Anti-affinity terms, of whatever pod of the snapshot, that select pods of this spec.
    pub fn repelled(&self, spec: SpecIdx) -> &[TermIdx] {
        &self.terms.of_spec[spec.at()].repelled
    }

    /// The affinity terms of an incoming pod.
    pub fn attracts(&self, spec: SpecIdx, fault: NamespaceFault) -> Option<ListIdx> {
        let of = &self.terms.of_spec[spec.at()];
        match fault {
            NamespaceFault::Fixed => of.attracts,
            NamespaceFault::Present => of.attracts_faulty,
        }
    }

    /// True when every term of the list selects pods of this spec.
    pub fn selects_all(&self, list: ListIdx, spec: SpecIdx) -> bool {
        self.terms.of_spec[spec.at()].attracted.contains(&list)
    }

    /// True when a pod of `spec` has the anti-affinity term.
    pub fn has(&self, spec: SpecIdx, term: TermIdx) -> bool {
        self.terms.of_spec[spec.at()].repels.contains(&term)
    }

    /// The node's domain under the key of an anti-affinity term.
    pub fn domain(&self, term: TermIdx, node: NodeIdx) -> Option<Domain> {
        self.terms.topology.domain(self.terms.keys[term as usize], node)
    }

    /// True when some pod that has the term stands in the domain.
    pub fn is_owned_in(&self, term: TermIdx, domain: Domain) -> bool {
        self.owners[term as usize].contains_key(&domain)
    }

    /// True when some pod that has the term stands in some domain.
    pub fn is_owned(&self, term: TermIdx) -> bool {
        !self.owners[term as usize].is_empty()
    }

    /// True when some pod that the term selects stands in the domain.
    pub fn selects_in(&self, term: TermIdx, domain: Domain) -> bool {
        self.selected[term as usize].contains_key(&domain)
    }

    /// Per term of a list of affinity terms: its key, the node's domain, and whether a pod that the whole list
    /// selects stands there.
    pub fn attraction(
        &self,
        list: ListIdx,
        node: NodeIdx,
    ) -> impl Iterator<Item = (KeyIdx, Option<Domain>, bool)> + '_ {
        let keys = &self.terms.list_keys[list as usize];
        self.together[list as usize].iter().zip(keys).map(move |(counts, &key)| {
            let domain = self.terms.topology.domain(key, node);
            (key, domain, domain.is_some_and(|d| counts.contains_key(&d)))
        })
    }

    /// True when no pod that the whole list selects stands in any domain of any of its keys.
    pub fn attracts_nobody(&self, list: ListIdx) -> bool {
        self.together[list as usize].iter().all(FxHashMap::is_empty)
    }

    /// The domains.
    pub fn topology(&self) -> &Topology {
        &self.terms.topology
    }
}

/// One more or one fewer; domains without any are absent, so that equal clusters have equal counters.
fn shift(to: &mut PerDomain, domain: Domain, arrives: bool) {
    if arrives {
        *to.entry(domain).or_default() += 1;
    } else if let Some(count) = to.get_mut(&domain) {
        *count -= 1;
        if *count == 0 {
            to.remove(&domain);
        }
    }
}

impl Terms {
    fn new(snapshot: &Snapshot, topology: &Arc<Topology>, selection: &Selection<'_>) -> Self {
        let mut terms: Distinct<PodTerm> = Distinct::default();
        let mut lists: Distinct<Box<[PodTerm]>> = Distinct::default();
        let number = |at: usize| u32::try_from(at).expect("fewer than 2^32 terms");
        let mut of_spec: Vec<OfSpec> = Vec::with_capacity(snapshot.specs.len());
        for spec in &snapshot.specs {
            let mut of = OfSpec::default();
            let PodSpec { affinity, anti_affinity, .. } = spec;
            let mut intern = |list: &[PodTerm]| -> Vec<TermIdx> {
                list.iter().map(|term| number(terms.intern(term.clone()))).collect()
            };
            of.repels = intern(anti_affinity);
            of.repels_faulty = faulty(anti_affinity, snapshot).map(|list| intern(&list));
            if !affinity.is_empty() {
                of.attracts = Some(number(lists.intern(affinity.clone())));
                of.attracts_faulty = match faulty(affinity, snapshot) {
                    None => of.attracts,
                    Some(list) => Some(number(lists.intern(list))),
                };
            }
            of_spec.push(of);
        }
        for (at, term) in terms.values().iter().enumerate() {
            for spec in selection.of_term(term, Doubt::Selected) {
                of_spec[spec.at()].repelled.push(number(at));
            }
        }
        for (at, list) in lists.values().iter().enumerate() {
            let mut selected = selection.of_term(&list[0], Doubt::NotSelected);
            for term in &list[1..] {
                let also = selection.of_term(term, Doubt::NotSelected);
                selected.retain(|spec| also.binary_search(spec).is_ok());
            }
            for spec in selected {
                of_spec[spec.at()].attracted.push(number(at));
            }
        }
        let key = |term: &PodTerm| topology.key(term.topology_key);
        Self {
            topology: Arc::clone(topology),
            of_spec,
            keys: terms.values().iter().map(key).collect(),
            list_keys: lists.values().iter().map(|list| list.iter().map(key).collect()).collect(),
        }
    }
}

/// The terms as the faulty library reads them; `None` when no different.
fn faulty(list: &[PodTerm], snapshot: &Snapshot) -> Option<Box<[PodTerm]>> {
    let wrong = |term: &PodTerm| {
        let selector = term.namespace_selector.as_ref();
        selector.is_some_and(|s| !s.is_empty() && s.matches(&Labels::default(), &snapshot.symbols))
    };
    if !list.iter().any(wrong) {
        return None;
    }
    let read = |term: &PodTerm| {
        let everywhere = wrong(term).then(Selector::default);
        PodTerm { namespace_selector: everywhere.or_else(|| term.namespace_selector.clone()), ..term.clone() }
    };
    Some(list.iter().map(read).collect())
}
