//! Which devices are in use, and where claims stand.
//!
//! Live claims hold their devices. In the *transition* picture (the default) they go on doing so when their pods
//! leave: the scheduler sees the claim until it is released. In the *planned* picture ([`Devices::release`]) a claim
//! lets go of its devices with its last pod. A planned pod takes the devices that the scheduler would take; giving
//! them back, and undoing that, is exact: every step of a planned pod is in a log of its own.
//!
//! May import: snapshot, filter

use std::borrow::Cow;
use std::sync::Arc;

use crate::filter::kube::dynamic_resources::claims::resolve;
use crate::filter::kube::dynamic_resources::extended::{self, Delegated};
use crate::filter::kube::dynamic_resources::search::{Ground, Stop, Taken, allocate};
use crate::filter::kube::dynamic_resources::selectors::Selectors;
use crate::filter::state::{Change, Incoming, Tenant};
use crate::snapshot::Snapshot;
use crate::snapshot::model::dra::{Allocation, ClaimSpec};
use crate::snapshot::model::{ClaimIdx, DeviceIdx, NodeIdx, PodIdx, Sym};

/// Where a claim stands after the changes so far.
#[derive(Clone, Copy, Debug)]
pub enum Standing<'a> {
    /// Not allocated.
    Free,
    /// As the object says.
    Allocated(&'a Allocation),
    /// Allocated by a planned pod, on this node.
    Planned(NodeIdx),
}

/// A planned pod and the devices it took.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    tenant: Tenant,
    node: NodeIdx,
    /// Claims of the snapshot that it consumes.
    consumes: Vec<ClaimIdx>,
    /// Devices of claims that are its own.
    own: Vec<Taken>,
}

/// An allocation that a planned pod made for a claim of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Planned {
    node: NodeIdx,
    devices: Vec<Taken>,
}

/// A step of a planned pod.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// It came, as the last of [`Devices::placed`], and made the allocations of these claims.
    Came(Vec<ClaimIdx>),
    /// It left its position; these allocations went with it.
    Left(usize, Placed, Vec<(ClaimIdx, Planned)>),
    /// A pod left that was not known.
    Nothing,
}

/// The counter.
#[derive(Clone, Debug)]
pub struct Devices {
    selectors: Arc<Selectors>,
    /// Claims that hold each device.
    used: Vec<u32>,
    /// Pods that consume each claim: live and planned ones.
    pods: Vec<u32>,
    /// Live pods among them at the start.
    at_first: Vec<u32>,
    /// Allocations that planned pods made.
    planned: Vec<Option<Planned>>,
    placed: Vec<Placed>,
    log: Vec<Step>,
    releases: bool,
}

impl PartialEq for Devices {
    fn eq(&self, other: &Self) -> bool {
        self.used == other.used
            && self.pods == other.pods
            && self.planned == other.planned
            && self.placed == other.placed
            && self.releases == other.releases
    }
}

impl Devices {
    /// Live claims hold their devices; no pod has arrived yet.
    pub fn new(snapshot: &Snapshot) -> Self {
        let dra = &snapshot.dra;
        let mut used = vec![0; dra.device_count];
        let allocations = dra.claims.iter().filter_map(|claim| claim.allocation.as_ref());
        for device in allocations.flat_map(|a| a.devices.iter()).filter(|d| d.uses) {
            used[device.device.at()] += 1;
        }
        Self {
            selectors: Arc::new(Selectors::new(snapshot)),
            used,
            pods: vec![0; dra.claims.len()],
            at_first: dra
                .claims
                .iter()
                .map(|claim| u32::try_from(claim.pods.len()).unwrap_or(u32::MAX))
                .collect(),
            planned: vec![None; dra.claims.len()],
            placed: Vec::new(),
            log: Vec::new(),
            releases: false,
        }
    }

    /// From now on claims let go of their devices with their last pod. To be called before any change.
    pub fn release(&mut self) {
        self.releases = true;
    }

    /// Whether a claim holds the device.
    pub fn is_used(&self, device: DeviceIdx) -> bool {
        self.used[device.at()] > 0
    }

    /// Where a claim stands.
    pub fn standing<'a>(&self, snapshot: &'a Snapshot, claim: ClaimIdx) -> Standing<'a> {
        if let Some(planned) = &self.planned[claim.at()] {
            return Standing::Planned(planned.node);
        }
        match &snapshot.dra.claim(claim).allocation {
            Some(allocation) if !self.is_released(claim) => Standing::Allocated(allocation),
            _ => Standing::Free,
        }
    }

    /// The live allocation is gone with the last pod.
    fn is_released(&self, claim: ClaimIdx) -> bool {
        self.releases && self.at_first[claim.at()] > 0 && self.pods[claim.at()] == 0
            || self.releases && self.planned[claim.at()].is_some()
    }

    /// Devices for claims on a node, as the scheduler would choose them.
    pub(in crate::filter) fn allocate(
        &self,
        snapshot: &Snapshot,
        node: NodeIdx,
        claims: &[Cow<'_, ClaimSpec>],
    ) -> Result<Option<Vec<Vec<Taken>>>, Stop> {
        allocate(Ground { snapshot, selectors: &self.selectors, used: &self.used, node }, claims)
    }

    /// Takes in one change.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change) {
        if snapshot.dra.is_empty() && snapshot.dra.templates.is_empty() {
            return;
        }
        if let Some(pod) = stands(snapshot, &change.tenant) {
            self.live(snapshot, pod, change.arrives);
        } else if is_concerned(snapshot, &change.tenant) {
            let step =
                if change.arrives { self.come(snapshot, change) } else { self.leave(snapshot, change) };
            self.log.push(step);
        }
    }

    /// Takes back the latest change that is not yet taken back; `change` is its opposite.
    pub fn undo(&mut self, snapshot: &Snapshot, change: &Change) {
        if snapshot.dra.is_empty() && snapshot.dra.templates.is_empty() {
            return;
        }
        if let Some(pod) = stands(snapshot, &change.tenant) {
            self.live(snapshot, pod, change.arrives);
        } else if is_concerned(snapshot, &change.tenant) {
            match self.log.pop() {
                Some(Step::Came(made)) => {
                    if let Some(placed) = self.placed.pop() {
                        self.drop_own(snapshot, &placed);
                    }
                    for claim in made {
                        self.drop_planned(claim);
                    }
                }
                Some(Step::Left(at, placed, gone)) => {
                    for (claim, planned) in gone {
                        self.take(&planned.devices);
                        self.planned[claim.at()] = Some(planned);
                    }
                    self.take(&placed.own);
                    for &claim in &placed.consumes {
                        self.count(snapshot, claim, true);
                    }
                    self.placed.insert(at, placed);
                }
                Some(Step::Nothing) | None => {}
            }
        }
    }

    /// A live pod comes or goes: its claims gain or lose a consumer.
    fn live(&mut self, snapshot: &Snapshot, pod: PodIdx, arrives: bool) {
        for &claim in snapshot.dra.claims_of.get(&pod).into_iter().flatten() {
            self.count(snapshot, claim, arrives);
        }
    }

    /// A claim gains or loses a consumer; its live devices come free with the last one.
    fn count(&mut self, snapshot: &Snapshot, claim: ClaimIdx, arrives: bool) {
        let before = self.is_released(claim);
        let count = &mut self.pods[claim.at()];
        *count = if arrives { *count + 1 } else { count.saturating_sub(1) };
        let after = self.is_released(claim);
        if before == after {
            return;
        }
        let allocation = snapshot.dra.claim(claim).allocation.iter();
        for device in allocation.flat_map(|a| a.devices.iter()).filter(|d| d.uses) {
            let used = &mut self.used[device.device.at()];
            *used = if after { used.saturating_sub(1) } else { *used + 1 };
        }
    }

    /// A planned pod comes and takes devices. Where there are none it takes nothing: whoever places a pod that does
    /// not fit gets a state that counts too little, as with amounts.
    fn come(&mut self, snapshot: &Snapshot, change: &Change) -> Step {
        let Change { tenant, node, .. } = *change;
        let incoming =
            Incoming { spec: tenant.spec, pod: tenant.pod, replaces: tenant.replaces, name: Sym::EMPTY };
        let mut placed = Placed { tenant, node, consumes: Vec::new(), own: Vec::new() };
        let mut made = Vec::new();
        if let Ok(claims) = resolve(snapshot, self, incoming, true) {
            let mut wanted: Vec<_> = claims.fresh.iter().map(|(_, spec)| Cow::Borrowed(&**spec)).collect();
            let spec = snapshot.spec(tenant.spec);
            if extended::wants(snapshot, spec)
                && let Delegated::Claim(generated) = extended::delegated(snapshot, spec, node)
            {
                wanted.push(Cow::Owned(generated));
            }
            placed.consumes.clone_from(&claims.there);
            if let Ok(Some(taken)) = self.allocate(snapshot, node, &wanted) {
                for (at, devices) in taken.into_iter().enumerate() {
                    self.take(&devices);
                    match claims.fresh.get(at).and_then(|(claim, _)| *claim) {
                        Some(claim) => {
                            self.planned[claim.at()] = Some(Planned { node, devices });
                            made.push(claim);
                        }
                        None => placed.own.extend(devices),
                    }
                }
            }
        }
        for &claim in &placed.consumes {
            self.count(snapshot, claim, true);
        }
        self.placed.push(placed);
        Step::Came(made)
    }

    fn leave(&mut self, snapshot: &Snapshot, change: &Change) -> Step {
        let same = |p: &Placed| p.tenant == change.tenant && p.node == change.node;
        let Some(at) = self.placed.iter().rposition(same) else { return Step::Nothing };
        let placed = self.placed.remove(at);
        self.drop_own(snapshot, &placed);
        let mut gone = Vec::new();
        for &claim in &placed.consumes {
            if self.pods[claim.at()] == 0
                && let Some(planned) = self.drop_planned(claim)
            {
                gone.push((claim, planned));
            }
        }
        Step::Left(at, placed, gone)
    }

    fn drop_own(&mut self, snapshot: &Snapshot, placed: &Placed) {
        self.give_back(&placed.own);
        for &claim in &placed.consumes {
            self.count(snapshot, claim, false);
        }
    }

    fn drop_planned(&mut self, claim: ClaimIdx) -> Option<Planned> {
        let planned = self.planned[claim.at()].take()?;
        self.give_back(&planned.devices);
        Some(planned)
    }

    fn take(&mut self, devices: &[Taken]) {
        for (device, _) in devices.iter().filter(|(_, uses)| *uses) {
            self.used[device.at()] += 1;
        }
    }

    fn give_back(&mut self, devices: &[Taken]) {
        for (device, _) in devices.iter().filter(|(_, uses)| *uses) {
            let used = &mut self.used[device.at()];
            *used = used.saturating_sub(1);
        }
    }
}

/// The live pod, if it stood on a node from the start: its claims are allocated.
fn stands(snapshot: &Snapshot, tenant: &Tenant) -> Option<PodIdx> {
    tenant.pod.filter(|&pod| snapshot.pod(pod).stands())
}

/// Whether devices matter to a pod of this spec.
fn is_concerned(snapshot: &Snapshot, tenant: &Tenant) -> bool {
    let spec = snapshot.spec(tenant.spec);
    !spec.claims.is_empty() || extended::wants(snapshot, spec)
}
