//! Which classes of pods a selector selects, found through their labels and not by trying all.
//!
//! May import: snapshot, filter

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use crate::snapshot::Snapshot;
use crate::snapshot::model::pod::PodTerm;
use crate::snapshot::model::{NamespaceIdx, Op, PodSpec, Selector, SpecIdx, Sym};

/// What a namespace is taken for whose object was not read, where a selector asks for its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Selected: pods there may be the ones to keep away from.
    Selected,
    /// Not selected: nobody knows that pods there are the ones to be near to.
    NotSelected,
}

/// Specs by label.
pub struct Selection<'s> {
    snapshot: &'s Snapshot,
    /// Made when the first selector comes: a cluster of many jobs has as many classes, and often no selector.
    by_label: OnceCell<FxHashMap<(Sym, Sym), Vec<SpecIdx>>>,
    namespaces: FxHashMap<Sym, NamespaceIdx>,
}

impl<'s> Selection<'s> {
    /// The specs of a snapshot.
    pub fn new(snapshot: &'s Snapshot) -> Self {
        let namespaces = snapshot.namespaces.iter().enumerate();
        let namespaces = namespaces.map(|(at, n)| (n.name, NamespaceIdx::new(at))).collect();
        Self { snapshot, by_label: OnceCell::new(), namespaces }
    }

    fn with_label(&self, label: (Sym, Sym)) -> Option<&Vec<SpecIdx>> {
        let index = self.by_label.get_or_init(|| {
            let mut by_label: FxHashMap<(Sym, Sym), Vec<SpecIdx>> = FxHashMap::default();
            for (at, spec) in self.snapshot.specs.iter().enumerate() {
                for &pair in spec.labels.pairs() {
                    by_label.entry(pair).or_default().push(SpecIdx::new(at));
                }
            }
            by_label
        });
        index.get(&label)
    }

    /// Specs that a pod (anti-)affinity term selects, in order. A term without selector selects none.
    pub fn of_term(&self, term: &PodTerm, doubt: Doubt) -> Vec<SpecIdx> {
        let Some(selector) = &term.selector else { return Vec::new() };
        self.specs(selector, |spec| self.in_scope(term, spec.namespace, doubt))
    }

    /// Specs of one namespace that a selector selects, in order.
    pub fn in_namespace(&self, selector: &Selector, namespace: Sym) -> Vec<SpecIdx> {
        self.specs(selector, |spec| spec.namespace == namespace)
    }

    fn in_scope(&self, term: &PodTerm, namespace: Sym, doubt: Doubt) -> bool {
        term.namespaces.contains(&namespace)
            || term.namespace_selector.as_ref().is_some_and(|selector| {
                self.namespaces.get(&namespace).is_some_and(|&at| {
                    let namespace = &self.snapshot.namespaces[at.at()];
                    namespace.selected(selector, &self.snapshot.symbols).unwrap_or(doubt == Doubt::Selected)
                })
            })
    }

    fn specs(&self, selector: &Selector, in_scope: impl Fn(&PodSpec) -> bool) -> Vec<SpecIdx> {
        let snapshot = self.snapshot;
        let selected = |&spec: &SpecIdx| {
            let spec = snapshot.spec(spec);
            in_scope(spec) && selector.matches(&spec.labels, &snapshot.symbols)
        };
        let lists = |key: Sym, values: &[Sym]| -> Vec<&Vec<SpecIdx>> {
            values.iter().filter_map(|&value| self.with_label((key, value))).collect()
        };
        // The requirement that leaves the fewest specs to try.
        let narrow = selector.0.iter().filter(|r| r.op == Op::In).map(|r| lists(r.key, &r.values));
        match narrow.min_by_key(|lists| lists.iter().map(|l| l.len()).sum::<usize>()) {
            Some(lists) => {
                let mut specs: Vec<SpecIdx> = lists.into_iter().flatten().copied().filter(selected).collect();
                specs.sort_unstable();
                specs.dedup();
                specs
            }
            None => (0..snapshot.specs.len()).map(SpecIdx::new).filter(selected).collect(),
        }
    }
}
