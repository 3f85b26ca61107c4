//! `matchAttribute` and `distinctAttribute`, device by device.
//!
//! May import: snapshot, filter

use crate::snapshot::Snapshot;
use crate::snapshot::model::Sym;
use crate::snapshot::model::dra::{AttributeValue, Constraint, ConstraintKind, Device};

use super::search::Stop;

/// A constraint and the devices it has seen.
pub(super) struct Watch<'a> {
    constraint: &'a Constraint,
    devices: usize,
    /// Match: the common value. Distinct: the values of all devices, with their requests, the latest last. Distinct
    /// from the latest: one value per request, forgotten when any device of the request is given back, so that two
    /// devices of *one* request may be equal; this is kept as it was in the scheduler.
    values: Vec<(Sym, &'a AttributeValue)>,
}

impl<'a> Watch<'a> {
    pub fn new(constraint: &'a Constraint) -> Self {
        Self { constraint, devices: 0, values: Vec::new() }
    }

    fn concerns(&self, request: Sym, sub: Sym) -> bool {
        let requests = &self.constraint.requests;
        requests.is_empty() || requests.iter().any(|&(r, s)| r == request && (s == Sym::EMPTY || s == sub))
    }

    /// Takes a device if the constraint allows it.
    pub fn add(
        &mut self,
        snapshot: &'a Snapshot,
        request: Sym,
        sub: Sym,
        device: &'a Device,
    ) -> Result<bool, Stop> {
        if !self.concerns(request, sub) {
            return Ok(true);
        }
        let (name, same) = match self.constraint.kind {
            ConstraintKind::Match(name) => (name, true),
            ConstraintKind::Distinct(name) | ConstraintKind::DistinctFromLatest(name) => (name, false),
            ConstraintKind::Unknown => return Err(Stop::Error("a claim has an empty constraint".to_owned())),
        };
        let Some(value) = lookup(snapshot, device, name) else { return Ok(false) };
        match value {
            AttributeValue::Int(_)
            | AttributeValue::Bool(_)
            | AttributeValue::Text(_)
            | AttributeValue::Version(_) => {}
            AttributeValue::Unknown => return Ok(self.devices == 0),
            _ => return Err(Stop::Unknown("constraints on attributes with several values".to_owned())),
        }
        if self.devices == 0 {
            self.values.clear();
        } else if same {
            if self.values.first().is_some_and(|&(_, common)| common != value) {
                return Ok(false);
            }
        } else if self.values.iter().any(|&(_, other)| other == value) {
            return Ok(false);
        }
        self.devices += 1;
        match self.constraint.kind {
            ConstraintKind::Distinct(_) => self.values.push((request, value)),
            ConstraintKind::DistinctFromLatest(_) => {
                self.values.retain(|&(own, _)| own != request);
                self.values.push((request, value));
            }
            _ if self.values.is_empty() => self.values.push((request, value)),
            _ => {}
        }
        Ok(true)
    }

    /// Gives back a device that was taken.
    pub fn remove(&mut self, request: Sym, sub: Sym) {
        if !self.concerns(request, sub) {
            return;
        }
        self.devices = self.devices.saturating_sub(1);
        match self.constraint.kind {
            // Devices are given back in the opposite order.
            ConstraintKind::Distinct(_) => drop(self.values.pop()),
            ConstraintKind::DistinctFromLatest(_) => self.values.retain(|&(own, _)| own != request),
            _ => {}
        }
    }
}

/// The attribute `domain/name`: under its full name, or under the bare name when the domain is the driver's.
fn lookup<'a>(snapshot: &Snapshot, device: &'a Device, full: Sym) -> Option<&'a AttributeValue> {
    let named = |name: Sym| device.attributes.iter().find(|(own, _)| *own == name).map(|(_, value)| value);
    named(full).or_else(|| {
        let (domain, name) = snapshot.text(full).split_once('/')?;
        (domain == snapshot.text(device.driver))
            .then(|| snapshot.symbols.find(name))
            .flatten()
            .and_then(named)
    })
}
