//! Who stands where: the live cluster, changed move by move, with exact undo.
//!
//! A state starts as the snapshot and changes only through [`State::apply`]. Counters of plugins see every change
//! with a sign (+1 arrives, −1 leaves), so undoing a change is applying it with the other sign and restores every
//! counter exactly, and the order of the pods on a node as well.
//!
//! May import: snapshot, filter

use std::sync::Arc;

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, RequestsIdx, ResourceIdx, SpecIdx, Sym};

use super::counters::Counters;
use super::rules::{SchedulerRules, Schedulers};
use super::tables::Tables;
use super::volcano;

/// A pod about to be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incoming {
    /// Its class.
    pub spec: SpecIdx,
    /// The live object, when it is one of the snapshot: it never counts against itself.
    pub pod: Option<PodIdx>,
    /// The victim that it replaces: owner, claims of the same name and group come from there.
    pub replaces: Option<PodIdx>,
    /// Its name; `EMPTY` when its controller will choose a random one.
    pub name: Sym,
}

impl Incoming {
    /// A live pod that is not bound.
    pub fn pending(snapshot: &Snapshot, pod: PodIdx) -> Self {
        let p = snapshot.pod(pod);
        Self { spec: p.spec, pod: Some(pod), replaces: None, name: p.name }
    }

    /// The pod that a controller will make after `victim` is evicted.
    pub fn replacement(snapshot: &Snapshot, victim: PodIdx) -> Self {
        let p = snapshot.pod(victim);
        Self { spec: p.replacement_spec(), pod: None, replaces: Some(victim), name: p.name }
    }
}

/// A pod that stands on a node, live or planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// Its class.
    pub spec: SpecIdx,
    /// What kube charges for it.
    pub charged: RequestsIdx,
    /// What Volcano charges for it.
    pub charged_volcano: RequestsIdx,
    /// The live object, if it is one.
    pub pod: Option<PodIdx>,
    /// The victim, if it is a planned replacement.
    pub replaces: Option<PodIdx>,
    /// Has a deletionTimestamp: still holds its room, no longer counts for spread.
    pub terminating: bool,
}

impl Tenant {
    /// A live pod where it stands.
    pub fn live(snapshot: &Snapshot, pod: PodIdx) -> Self {
        let p = snapshot.pod(pod);
        Self {
            spec: p.spec,
            charged: p.charged,
            charged_volcano: p.charged_volcano,
            pod: Some(pod),
            replaces: None,
            terminating: p.terminating,
        }
    }

    /// A pod that has just been bound.
    pub fn bound(snapshot: &Snapshot, incoming: Incoming) -> Self {
        let spec = snapshot.spec(incoming.spec);
        Self {
            spec: incoming.spec,
            charged: spec.requests,
            charged_volcano: spec.volcano_requests,
            pod: incoming.pod,
            replaces: incoming.replaces,
            terminating: false,
        }
    }
}

/// One step of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Who.
    pub tenant: Tenant,
    /// Where.
    pub node: NodeIdx,
    /// Arrives or leaves.
    pub arrives: bool,
}

/// A place in the journal to come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    here: usize,
    as_volcano: usize,
}

/// A change that was made, and where among the pods of its node.
#[derive(Clone, Copy, Debug)]
struct Done {
    change: Change,
    at: usize,
}

/// The cluster after some changes.
#[derive(Clone, Debug)]
pub struct State<'s> {
    snapshot: &'s Snapshot,
    tables: Arc<Tables>,
    tenants: Vec<Vec<Tenant>>,
    /// Pods nominated to each node that stand nowhere yet, by index.
    nominees: Vec<Vec<PodIdx>>,
    /// How many of them there are.
    waiting: usize,
    /// The cluster as Volcano sees it, where it differs: without the pods that its cache refuses.
    as_volcano: Option<Box<State<'s>>>,
    journal: Vec<Done>,
    pub(super) counters: Counters,
}

impl<'s> State<'s> {
    /// The live cluster, with the usual scheduler names.
    pub fn live(snapshot: &'s Snapshot) -> Self {
        Self::with_schedulers(snapshot, &Schedulers::default())
    }

    /// The live cluster.
    pub fn with_schedulers(snapshot: &'s Snapshot, schedulers: &Schedulers) -> Self {
        let nominees = nominees(snapshot);
        let mut state = Self {
            snapshot,
            tables: Arc::new(Tables::new(snapshot, schedulers)),
            tenants: snapshot.pods_on.iter().map(|pods| Vec::with_capacity(pods.len())).collect(),
            waiting: nominees.iter().map(Vec::len).sum(),
            nominees,
            as_volcano: None,
            journal: Vec::new(),
            counters: Counters::new(snapshot),
        };
        // Pod by pod, not node by node: pods are the larger part of memory, and this way it is read in order. On each
        // node they come in the same order.
        for (at, pod) in snapshot.pods.iter().enumerate() {
            if let (Some(node), true) = (pod.node, pod.stands()) {
                let tenant = Tenant::live(snapshot, PodIdx::new(at));
                state.change(Change { tenant, node, arrives: true }, None);
            }
        }
        state
    }

    /// From now on a claim lets go of its devices with its last pod: the *planned* picture (rulebook 0.2, 1.13). Without
    /// it the claims of pods that left hold on, as the scheduler sees it until they are released. Before any change.
    pub fn release_claims(&mut self) {
        self.counters.devices.release();
    }

    /// The live cluster of an input that has every object there is. Only then is a pod whose claim is not among the
    /// objects one that Volcano does not see; else its claims may just not have been written down.
    pub fn of_complete_input(snapshot: &'s Snapshot, schedulers: &Schedulers) -> Self {
        let mut state = Self::with_schedulers(snapshot, schedulers);
        let pods = state.tenants.iter().flatten();
        if pods.into_iter().any(|tenant| volcano::is_refused(snapshot, tenant)) {
            let mut seen = state.clone();
            for (at, tenants) in state.tenants.iter().enumerate() {
                for &tenant in tenants.iter().filter(|t| volcano::is_refused(snapshot, t)) {
                    seen.change(Change { tenant, node: NodeIdx::new(at), arrives: false }, None);
                }
            }
            state.as_volcano = Some(Box::new(seen));
        }
        state
    }

    /// The cluster as the scheduler of these rules sees it.
    pub(super) fn seen_by(&self, rules: SchedulerRules) -> &Self {
        match (&self.as_volcano, rules) {
            (Some(seen), SchedulerRules::Volcano) => seen,
            _ => self,
        }
    }

    /// The snapshot below.
    pub const fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// What never changes with the state.
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Whose rules pods of this spec follow; `None` for a scheduler that nobody declared.
    pub fn rules_of(&self, spec: SpecIdx) -> Option<SchedulerRules> {
        self.tables.rules_of(spec)
    }

    /// True when what others do may turn a rule against a pod of this spec that passed and stands. Where Volcano does
    /// not see every pod, those that it places do not ask all others.
    pub fn may_turn(&self, spec: SpecIdx) -> bool {
        let rules = self.rules_of(spec).unwrap_or(SchedulerRules::Kube);
        let seen = self.seen_by(rules);
        let blind = self.as_volcano.is_some() && !self.tables.is_plain(seen, rules, spec);
        blind || self.tables.may_turn(seen, rules, spec)
    }

    /// Who stands on a node.
    pub fn tenants(&self, node: NodeIdx) -> &[Tenant] {
        &self.tenants[node.at()]
    }

    /// What a node has left of a resource as a scheduler of these rules counts, in its units (Volcano: thousandths of
    /// everything but memory); negative where more is in use than there is.
    pub fn left(&self, rules: SchedulerRules, node: NodeIdx, resource: ResourceIdx) -> i64 {
        let amounts = &self.seen_by(rules).counters.amounts;
        match rules {
            SchedulerRules::Volcano => amounts.idle(node)[resource.at()],
            SchedulerRules::Kube | SchedulerRules::Hami => amounts.free(node)[resource.at()],
        }
    }

    /// Pods that a node can still take; negative where it holds too many.
    pub fn slots(&self, node: NodeIdx) -> i64 {
        self.counters.amounts.slots(node)
    }

    /// Pods nominated to a node that stand nowhere yet, whatever their scheduler and priority.
    pub fn nominees(&self, node: NodeIdx) -> &[PodIdx] {
        &self.nominees[node.at()]
    }

    /// True when some pod is nominated to the node and stands nowhere yet.
    pub(super) fn has_nominees(&self, node: NodeIdx) -> bool {
        self.waiting > 0 && !self.nominees[node.at()].is_empty()
    }

    /// Makes a change and remembers it. A change that lets a pod leave that is not there does nothing.
    pub fn apply(&mut self, change: Change) {
        if let Some(at) = self.change(change, None) {
            self.journal.push(Done { change, at });
        }
        if let Some(seen) = &mut self.as_volcano
            && !volcano::is_refused(self.snapshot, &change.tenant)
        {
            seen.apply(change);
        }
    }

    /// A live pod is gone from where it stands.
    pub fn remove(&mut self, pod: PodIdx) {
        if let Some((node, tenant)) = self.find(pod) {
            self.apply(Change { tenant, node, arrives: false });
        }
    }

    /// A live pod gets its deletionTimestamp.
    pub fn terminate(&mut self, pod: PodIdx) {
        if let Some((node, tenant)) = self.find(pod) {
            self.apply(Change { tenant, node, arrives: false });
            self.apply(Change { tenant: Tenant { terminating: true, ..tenant }, node, arrives: true });
        }
    }

    /// A pod is bound.
    pub fn place(&mut self, incoming: Incoming, node: NodeIdx) {
        self.apply(Change { tenant: Tenant::bound(self.snapshot, incoming), node, arrives: true });
    }

    /// A pod that was placed is no longer there: the inverse of [`State::place`].
    pub fn unplace(&mut self, incoming: Incoming, node: NodeIdx) {
        self.apply(Change { tenant: Tenant::bound(self.snapshot, incoming), node, arrives: false });
    }

    /// Remembers the present.
    pub fn checkpoint(&self) -> Checkpoint {
        let as_volcano = self.as_volcano.as_ref().map_or(0, |seen| seen.journal.len());
        Checkpoint { here: self.journal.len(), as_volcano }
    }

    /// Goes back to a checkpoint, exactly.
    pub fn rollback(&mut self, to: Checkpoint) {
        if let Some(seen) = &mut self.as_volcano {
            seen.rollback(Checkpoint { here: to.as_volcano, as_volcano: 0 });
        }
        while self.journal.len() > to.here {
            if let Some(Done { change, at }) = self.journal.pop() {
                self.change(Change { arrives: !change.arrives, ..change }, Some(at));
            }
        }
    }

    /// The counters computed from scratch.
    #[cfg(test)]
    pub(super) fn recounted(&self) -> Counters {
        let mut counters = Counters::new(self.snapshot);
        for (at, tenants) in self.tenants.iter().enumerate() {
            for &tenant in tenants {
                counters.apply(
                    self.snapshot,
                    &Change { tenant, node: NodeIdx::new(at), arrives: true },
                    false,
                );
            }
        }
        counters
    }

    fn find(&self, pod: PodIdx) -> Option<(NodeIdx, Tenant)> {
        let node = self.snapshot.pod(pod).node?;
        let tenant = self.tenants[node.at()].iter().find(|t| t.pod == Some(pod))?;
        Some((node, *tenant))
    }

    /// Makes a change and tells where among the pods of its node: at `place` when it undoes another.
    fn change(&mut self, change: Change, place: Option<usize>) -> Option<usize> {
        let here = &mut self.tenants[change.node.at()];
        let at = if change.arrives {
            let at = place.unwrap_or(here.len());
            here.insert(at, change.tenant);
            at
        } else {
            let at = place.or_else(|| here.iter().rposition(|t| *t == change.tenant))?;
            here.remove(at);
            at
        };
        self.counters.apply(self.snapshot, &change, place.is_some());
        if let Some(pod) = change.tenant.pod
            && let Some(node) = self.snapshot.pod(pod).nominated
            && is_nominee(self.snapshot, pod)
        {
            let waiting = &mut self.nominees[node.at()];
            match (waiting.binary_search(&pod), change.arrives) {
                (Ok(at), true) => {
                    waiting.remove(at);
                    self.waiting -= 1;
                }
                (Err(at), false) => {
                    waiting.insert(at, pod);
                    self.waiting += 1;
                }
                _ => {}
            }
        }
        Some(at)
    }
}

/// True for a pod that holds its room on the node it is nominated to: not bound, not finished, and not only asked
/// about. Gated and terminating pods count (rulebook 1.15).
fn is_nominee(snapshot: &Snapshot, pod: PodIdx) -> bool {
    let asked = snapshot.candidates.binary_search(&pod).is_ok();
    let pod = snapshot.pod(pod);
    !asked && pod.nominated.is_some() && pod.node.is_none() && !pod.lost && !pod.phase.is_finished()
}

fn nominees(snapshot: &Snapshot) -> Vec<Vec<PodIdx>> {
    let mut nominees = vec![Vec::new(); snapshot.nodes.len()];
    for at in 0..snapshot.pods.len() {
        let pod = PodIdx::new(at);
        if let Some(node) = snapshot.pod(pod).nominated
            && is_nominee(snapshot, pod)
        {
            nominees[node.at()].push(pod);
        }
    }
    nominees
}
