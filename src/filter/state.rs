//! Who stands where: the live cluster, changed move by move, with exact undo.
//!
//! A state starts as the snapshot and changes only through [`State::apply`]. Counters of plugins see every change
//! with a sign (+1 arrives, −1 leaves), so undoing a change is applying it with the other sign and restores every
//! counter exactly.
//!
//! May import: snapshot, filter

use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PodIdx, RequestsIdx, SpecIdx, Sym};

use super::counters::Counters;

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
        Self { spec: p.spec, pod: None, replaces: Some(victim), name: p.name }
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
pub struct Checkpoint(usize);

/// The cluster after some changes.
#[derive(Debug)]
pub struct State<'s> {
    snapshot: &'s Snapshot,
    tenants: Vec<Vec<Tenant>>,
    journal: Vec<Change>,
    pub(super) counters: Counters,
}

impl<'s> State<'s> {
    /// The live cluster.
    pub fn live(snapshot: &'s Snapshot) -> Self {
        let mut state = Self {
            snapshot,
            tenants: vec![Vec::new(); snapshot.nodes.len()],
            journal: Vec::new(),
            counters: Counters::new(snapshot),
        };
        for (at, pods) in snapshot.pods_on.iter().enumerate() {
            for &pod in pods {
                state.change(Change {
                    tenant: Tenant::live(snapshot, pod),
                    node: NodeIdx::new(at),
                    arrives: true,
                });
            }
        }
        state
    }

    /// The snapshot below.
    pub const fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Who stands on a node.
    pub fn tenants(&self, node: NodeIdx) -> &[Tenant] {
        &self.tenants[node.at()]
    }

    /// Makes a change and remembers it.
    pub fn apply(&mut self, change: Change) {
        self.change(change);
        self.journal.push(change);
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

    /// Remembers the present.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.journal.len())
    }

    /// Goes back to a checkpoint, exactly.
    pub fn rollback(&mut self, to: Checkpoint) {
        while self.journal.len() > to.0 {
            if let Some(change) = self.journal.pop() {
                self.change(Change { arrives: !change.arrives, ..change });
            }
        }
    }

    fn find(&self, pod: PodIdx) -> Option<(NodeIdx, Tenant)> {
        let node = self.snapshot.pod(pod).node?;
        let tenant = self.tenants[node.at()].iter().find(|t| t.pod == Some(pod))?;
        Some((node, *tenant))
    }

    fn change(&mut self, change: Change) {
        let here = &mut self.tenants[change.node.at()];
        if change.arrives {
            here.push(change.tenant);
        } else if let Some(at) = here.iter().rposition(|t| *t == change.tenant) {
            here.remove(at);
        }
        self.counters.apply(self.snapshot, &change);
    }
}
