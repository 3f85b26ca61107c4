//! Which volumes the unbound claims of a pod get on a node (rulebook 1.10).
//!
//! What does not depend on the node is worked out once: the claims' [`Wants`]. [`choose`] then answers per node, and
//! says which PV each claim takes or that one is made, so that planned pods use each PV once.
//!
//! May import: snapshot, filter

use super::{Claim, Holder, Trouble};
use crate::filter::counters::bindings::Bindings;
use crate::snapshot::Snapshot;
use crate::snapshot::model::storage::{Pv, PvSource, Pvc, StorageClass};
use crate::snapshot::model::{NodeIdx, PvIdx, PvcIdx, Sym};

/// What an unbound claim gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This PV.
    Volume(PvIdx),
    /// A new PV, made for this node; nobody knows yet which other nodes can reach it.
    Made(NodeIdx),
}

/// The claims of a pod, sorted by how they are bound. Holds what is the same for all nodes.
#[derive(Debug, Default)]
pub struct Wants<'a> {
    /// Claims bound to a PV, by name where its object is missing.
    bound: Vec<(PvcIdx, Option<PvIdx>)>,
    /// Claims with a node selected for provisioning.
    selected: Vec<(Want<'a>, Sym)>,
    /// Claims to find a PV for, smallest first.
    open: Vec<Want<'a>>,
    /// Claims that an earlier planned pod chose a PV for.
    pub shared: Vec<(Claim, Choice)>,
    /// A claim that nobody can foresee the place of.
    unknown: Option<PvcIdx>,
}

#[derive(Debug)]
struct Want<'a> {
    claim: Claim,
    pvc: &'a Pvc,
    class: &'a StorageClass,
    /// PVs reserved for this claim.
    reserved: Vec<PvIdx>,
    /// Free PVs that would do as far as nodes do not matter, smallest first.
    fitting: Vec<PvIdx>,
}

/// Why a pod can go nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hopeless {
    /// There is no claim to look at.
    Trouble(Trouble),
    /// The claim's volume is gone for good.
    Lost(PvcIdx),
    /// The claim is being deleted.
    Deleting(PvcIdx),
    /// The claim must be bound before a pod that uses it is placed, and is not.
    Unbound(PvcIdx),
}

/// Why a pod can not go to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The PV of a bound claim does not exist.
    NoVolume(PvcIdx),
    /// The PV of a bound claim can not be reached from the node.
    Unreachable(PvIdx),
    /// The claim is to be provisioned for another node.
    OtherNode(PvcIdx),
    /// No PV is free for the claim, and none can be made for the node.
    NothingFree(PvcIdx),
    /// The driver has no room for the claim near the node.
    NoRoom(PvcIdx),
    /// Where the claim's volume can be reached from is not known.
    Unknown(PvcIdx),
}

impl<'a> Wants<'a> {
    /// Sorts the claims of a pod. `None` when it has none.
    pub fn of(
        snapshot: &'a Snapshot,
        bindings: &Bindings,
        holder: &Holder<'_>,
    ) -> Result<Option<Self>, Hopeless> {
        let storage = &snapshot.storage;
        let mut claims = Vec::new();
        for volume in &holder.spec.volumes {
            let Some(claim) = holder.claim(snapshot, volume) else { continue };
            let claim = claim.map_err(Hopeless::Trouble)?;
            if let Claim::Pvc(pvc) = claim {
                if storage.pvc(pvc).lost {
                    return Err(Hopeless::Lost(pvc));
                }
                if storage.pvc(pvc).deleting {
                    return Err(Hopeless::Deleting(pvc));
                }
            }
            claims.push(claim);
        }
        if claims.is_empty() {
            return Ok(None);
        }
        let mut wants = Self::default();
        for claim in claims {
            wants.add(snapshot, bindings, claim)?;
        }
        // The sort keeps claims of one size in the order of the pod's volumes.
        wants.open.sort_by_key(|want| want.pvc.bytes.unwrap_or(0));
        Ok(Some(wants))
    }

    fn add(&mut self, snapshot: &'a Snapshot, bindings: &Bindings, claim: Claim) -> Result<(), Hopeless> {
        let storage = &snapshot.storage;
        let index = claim.like();
        let pvc = storage.pvc(index);
        let fresh = matches!(claim, Claim::Fresh(_));
        if !fresh && pvc.is_fully_bound() {
            self.bound.push((index, pvc.pv));
            return Ok(());
        }
        let class = pvc.class.map(|class| storage.class(class));
        let Some(class) = class.filter(|c| c.delayed && (fresh || pvc.pv_name == Sym::EMPTY)) else {
            if !fresh {
                return Err(Hopeless::Unbound(index));
            }
            self.add_at_once(snapshot, index);
            return Ok(());
        };
        let mut want = Want { claim, pvc, class, reserved: Vec::new(), fitting: Vec::new() };
        match bindings.choice(claim) {
            Some(choice @ Choice::Volume(pv)) => {
                self.bound.push((index, Some(pv)));
                self.shared.push((claim, choice));
            }
            Some(Choice::Made(node)) => self.selected.push((want, snapshot.node(node).name)),
            None => {
                if let Some(node) = pvc.selected_node.filter(|_| !fresh) {
                    self.selected.push((want, node));
                } else {
                    want.search(snapshot);
                    self.open.push(want);
                }
            }
        }
        Ok(())
    }

    /// A new claim of a class that does not wait for a pod is bound before the pod is placed. Where its volume can be
    /// reached from is guessed from the predecessor's volume: if that one was tied to no place, the next one is not.
    fn add_at_once(&mut self, snapshot: &Snapshot, like: PvcIdx) {
        let before = snapshot.storage.pvc(like).pv.map(|pv| snapshot.storage.pv(pv));
        if !before.is_some_and(|pv| pv.affinity.is_none() && pv.zones.is_empty()) {
            self.unknown.get_or_insert(like);
        }
    }
}

impl Want<'_> {
    /// Finds the PVs that would do as far as nodes do not matter.
    fn search(&mut self, snapshot: &Snapshot) {
        let pvc = self.pvc;
        let bytes = pvc.bytes.unwrap_or(0);
        for &index in &self.class.volumes {
            let pv = snapshot.storage.pv(index);
            if pv.bytes < bytes
                || pv.block != pvc.block
                || pv.attributes_class != pvc.attributes_class
                || pv.deleting
            {
                continue;
            }
            if let Some(claim) = &pv.claim {
                if matches!(self.claim, Claim::Pvc(_)) && claim.means(pvc) {
                    self.reserved.push(index);
                }
            } else if pv.available && pv.modes.covers(pvc.modes) && selects(snapshot, pvc, pv) {
                self.fitting.push(index);
            }
        }
    }

    /// The PV for this claim on a node: one reserved for it or none, else the smallest that fits.
    fn find(&self, snapshot: &Snapshot, node: NodeIdx, free: impl Fn(PvIdx) -> bool) -> Option<PvIdx> {
        let reaches = |pv: PvIdx| reach(snapshot, pv, node, false);
        if let Some(&pv) = self.reserved.iter().find(|&&pv| free(pv)) {
            return reaches(pv).then_some(pv);
        }
        self.fitting.iter().copied().find(|&pv| free(pv) && reaches(pv))
    }

    fn can_be_made(&self, snapshot: &Snapshot, node: NodeIdx) -> Result<(), Misfit> {
        let (labels, symbols) = (&snapshot.node(node).labels, &snapshot.symbols);
        if !self.class.provisions || !self.class.reaches(labels, symbols) {
            return Err(Misfit::NothingFree(self.claim.like()));
        }
        if !self.class.has_room(self.pvc.bytes, labels, symbols) {
            return Err(Misfit::NoRoom(self.claim.like()));
        }
        Ok(())
    }
}

fn selects(snapshot: &Snapshot, pvc: &Pvc, pv: &Pv) -> bool {
    pvc.selector.as_ref().is_none_or(|selector| selector.matches(&pv.labels, &snapshot.symbols))
}

/// True when a PV can be reached from a node. `bound`: the volume is in use, so a driver may have taken it over.
fn reach(snapshot: &Snapshot, pv: PvIdx, node: NodeIdx, bound: bool) -> bool {
    let pv = snapshot.storage.pv(pv);
    let affinity = match pv.source {
        PvSource::InTree { kind, .. } if bound && snapshot.storage.node(node).migrated.contains(&kind) => {
            &pv.migrated_affinity
        }
        _ => &pv.affinity,
    };
    let labels = &snapshot.node(node).labels;
    // The scheduler hands over the labels without the node's name: requirements on fields are not asked.
    affinity.as_ref().is_none_or(|a| a.matches(None, labels, &snapshot.symbols))
}

/// What every unbound claim gets on a node, or why the pod can not go there.
pub fn choose(
    snapshot: &Snapshot,
    bindings: &Bindings,
    wants: &Wants<'_>,
    node: NodeIdx,
) -> Result<Vec<(Claim, Choice)>, Misfit> {
    for &(pvc, pv) in &wants.bound {
        let pv = pv.ok_or(Misfit::NoVolume(pvc))?;
        if !reach(snapshot, pv, node, true) {
            return Err(Misfit::Unreachable(pv));
        }
    }
    let name = snapshot.node(node).name;
    if let Some((want, _)) = wants.selected.iter().find(|&&(_, selected)| selected != name) {
        return Err(Misfit::OtherNode(want.claim.like()));
    }
    let mut choices: Vec<(Claim, Choice)> = Vec::with_capacity(wants.open.len() + wants.selected.len());
    let mut to_make: Vec<&Want<'_>> = wants.selected.iter().map(|(want, _)| want).collect();
    for want in &wants.open {
        let free =
            |pv| !bindings.is_taken(pv) && !choices.iter().any(|&(_, choice)| choice == Choice::Volume(pv));
        match want.find(snapshot, node, free) {
            Some(pv) => choices.push((want.claim, Choice::Volume(pv))),
            None => to_make.push(want),
        }
    }
    for want in to_make {
        want.can_be_made(snapshot, node)?;
        choices.push((want.claim, Choice::Made(node)));
    }
    wants.unknown.map_or(Ok(choices), |pvc| Err(Misfit::Unknown(pvc)))
}
