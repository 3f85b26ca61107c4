//! Finds devices for all unallocated claims of a pod on one node, or shows that there are none.
//!
//! The order is the scheduler's: claims, requests, alternatives in turn, and for each the pools by driver and name, the
//! slices by name, the devices as listed; the first complete solution is taken. So the devices a planned pod gets are
//! those that the scheduler would take, and an error that the scheduler meets on the way is met here. Where no
//! constraint ties devices together a request that runs short is not tried again with other devices: they can only be
//! fewer.
//!
//! May import: snapshot, filter

use std::borrow::Cow;

use super::constraints::Watch;
use super::selectors::Selectors;
use crate::filter::cel;
use crate::snapshot::Snapshot;
use crate::snapshot::build::reaches;
use crate::snapshot::model::dra::{
    Alternative, Amount, ClaimSpec, ConstraintKind, Device, DeviceRequest, Pool, PoolState,
};
use crate::snapshot::model::{DeviceIdx, NodeIdx, Sym};

/// Devices of one claim at most, by the API.
const MAX_PER_CLAIM: usize = 32;
/// Devices looked at before giving up. The scheduler gives up after ten seconds.
const MAX_VISITS: usize = 500_000;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::filter) enum Stop {
    /// The scheduler ends the cycle with an error.
    Error(String),
    /// Something is not modelled.
    Unknown(String),
}

/// A device taken, and whether it counts as used.
pub(in crate::filter) type Taken = (DeviceIdx, bool);

/// What the search needs to know.
#[derive(Clone, Copy)]
pub(in crate::filter) struct Ground<'a> {
    pub snapshot: &'a Snapshot,
    pub selectors: &'a Selectors,
    /// Claims that hold each device.
    pub used: &'a [u32],
    pub node: NodeIdx,
}

/// How a part of the search ended without an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Found,
    /// The request could be met, what follows could not.
    Failed,
    /// The request itself ran out of devices.
    Short,
    /// The claim would get more devices than a claim may have.
    TooMany,
}

/// Where the search stands.
#[derive(Clone, Copy)]
struct Cursor {
    claim: usize,
    request: usize,
    alternative: usize,
    device: usize,
}

/// Where to go on in the pools: pool and position in it.
type Place = (usize, usize);

struct Search<'a> {
    ground: Ground<'a>,
    pools: &'a [Pool],
    claims: &'a [Cow<'a, ClaimSpec>],
    watches: Vec<Vec<Watch<'a>>>,
    /// Per claim and request: the devices of each alternative in mode "all".
    all: Vec<Vec<Vec<Option<Vec<u32>>>>>,
    /// Devices taken so far, per claim.
    taken: Vec<Vec<Taken>>,
    visits: usize,
}

/// Devices for each claim, or none when they are not all to be had.
pub(in crate::filter) fn allocate(
    ground: Ground<'_>,
    claims: &[Cow<'_, ClaimSpec>],
) -> Result<Option<Vec<Vec<Taken>>>, Stop> {
    let dra = &ground.snapshot.dra;
    if let Some(rule) = dra.unknown_taint_rule {
        return Err(Stop::Unknown(format!("device taint rule {}", ground.snapshot.text(rule))));
    }
    let watches = claims.iter().map(|claim| claim.constraints.iter().map(Watch::new).collect()).collect();
    let mut search = Search {
        ground,
        pools: dra.pools_of(ground.node),
        claims,
        watches,
        all: Vec::with_capacity(claims.len()),
        taken: vec![Vec::new(); claims.len()],
        visits: 0,
    };
    search.survey()?;
    let start = Cursor { claim: 0, request: 0, alternative: 0, device: 0 };
    Ok((search.step(start, false, (0, 0))? == Step::Found).then_some(search.taken))
}

impl<'a> Search<'a> {
    fn device(&self, position: u32) -> &'a Device {
        &self.ground.snapshot.dra.devices[position as usize]
    }

    fn requests(&self, claim: usize) -> &'a [DeviceRequest] {
        &self.claims[claim].requests
    }

    /// Checks all requests beforehand and finds out what "all devices" are.
    fn survey(&mut self) -> Result<(), Stop> {
        for claim in self.claims {
            let mut least = 0_usize;
            let mut of_claim = Vec::with_capacity(claim.requests.len());
            for request in &claim.requests {
                let mut of_request = Vec::with_capacity(request.alternatives.len());
                let mut least_here = usize::MAX;
                for alternative in &request.alternatives {
                    let all = self.survey_alternative(alternative)?;
                    let count = match (&all, alternative.amount) {
                        (Some(all), _) => all.len(),
                        (None, Amount::Count(count)) => usize::try_from(count).unwrap_or(0),
                        (None, _) => 0,
                    };
                    least_here = least_here.min(count);
                    of_request.push(all);
                }
                if of_request.is_empty() {
                    return Err(Stop::Error("a request of an unknown kind".to_owned()));
                }
                least = least.saturating_add(least_here);
                of_claim.push(of_request);
            }
            if least > MAX_PER_CLAIM {
                return Err(Stop::Error(format!("a claim for {least} devices, more than {MAX_PER_CLAIM}")));
            }
            if claim.constraints.iter().any(|c| c.kind == ConstraintKind::Unknown) {
                return Err(Stop::Error("a claim has an empty constraint".to_owned()));
            }
            self.all.push(of_claim);
        }
        Ok(())
    }

    fn survey_alternative(&mut self, alternative: &Alternative) -> Result<Option<Vec<u32>>, Stop> {
        let snapshot = self.ground.snapshot;
        if alternative.selectors.contains(&None) {
            return Err(Stop::Error("a selector of an unknown kind".to_owned()));
        }
        if snapshot.dra.class_named(alternative.class).is_none() {
            return Err(Stop::Error(format!("no device class {:?}", snapshot.text(alternative.class))));
        }
        if alternative.capacity {
            return Err(Stop::Unknown("requests for a part of a device's capacity".to_owned()));
        }
        match alternative.amount {
            Amount::Count(_) => Ok(None),
            Amount::Unknown => Err(Stop::Error("an unknown allocation mode".to_owned())),
            Amount::All => {
                let mut all = Vec::new();
                for pool in self.pools {
                    if pool.state != PoolState::Complete {
                        let name = snapshot.text(pool.name);
                        return Err(Stop::Error(format!(
                            "all devices of pool {name}, which is incomplete or invalid"
                        )));
                    }
                    for &position in &pool.devices {
                        if self.selectable(alternative, position)? {
                            all.push(position);
                        }
                    }
                }
                Ok(Some(all))
            }
        }
    }

    /// Whether class, request and reach allow the device.
    fn selectable(&mut self, alternative: &Alternative, position: u32) -> Result<bool, Stop> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(Stop::Unknown("a search over too many combinations of devices".to_owned()));
        }
        let Ground { snapshot, selectors, node, .. } = self.ground;
        let class = snapshot.dra.class_named(alternative.class);
        let of_class = class.iter().flat_map(|class| class.selectors.iter());
        for selector in of_class.chain(&alternative.selectors) {
            let Some(expression) = *selector else {
                return Err(Stop::Error("a selector of an unknown kind".to_owned()));
            };
            match selectors.matches(snapshot, expression, position) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error @ cel::Error::Runtime(_)) => return Err(Stop::Error(error.to_string())),
                Err(error) => return Err(Stop::Unknown(error.to_string())),
            }
        }
        Ok(reaches(&self.device(position).reach, snapshot.node(node), &snapshot.symbols))
    }

    fn in_use(&self, device: DeviceIdx, claim: usize, admin: bool) -> bool {
        let here = |taken: &[Taken]| taken.iter().any(|&(own, _)| own == device);
        if admin {
            here(&self.taken[claim])
        } else {
            self.ground.used[device.at()] > 0 || self.taken.iter().any(|taken| here(taken))
        }
    }

    /// Everything from `at` on. `inside` tells that the alternative is settled.
    fn step(&mut self, at: Cursor, inside: bool, from: Place) -> Result<Step, Stop> {
        if at.claim == self.claims.len() {
            return Ok(Step::Found);
        }
        let Some(request) = self.requests(at.claim).get(at.request) else {
            let next = Cursor { claim: at.claim + 1, request: 0, alternative: 0, device: 0 };
            // Another claim may need fewer devices when this one is met otherwise.
            let step = self.step(next, false, (0, 0))?;
            return Ok(if step == Step::Found { step } else { Step::Failed });
        };
        if !inside && request.alternatives.len() > 1 {
            return self.first_available(at, request);
        }
        let alternative = &request.alternatives[at.alternative];
        let all = self.all[at.claim][at.request][at.alternative].as_ref().map(Vec::len);
        let wanted = match (all, alternative.amount) {
            // "All" needs at least one.
            (Some(0), _) => return Ok(Step::Short),
            (Some(all), _) => all,
            (None, Amount::Count(count)) => usize::try_from(count).unwrap_or(0),
            (None, _) => 0,
        };
        if at.device >= wanted {
            let next = Cursor { request: at.request + 1, alternative: 0, device: 0, ..at };
            let step = self.step(next, false, (0, 0))?;
            return Ok(if step == Step::Short { Step::Failed } else { step });
        }
        if self.taken[at.claim].len() + wanted - at.device > MAX_PER_CLAIM {
            return Ok(Step::TooMany);
        }
        if all.is_some() { self.next_of_all(at, request) } else { self.next_of_any(at, request, from) }
    }

    fn first_available(&mut self, at: Cursor, request: &'a DeviceRequest) -> Result<Step, Stop> {
        let mut too_many = true;
        for alternative in 0..request.alternatives.len() {
            match self.step(Cursor { alternative, ..at }, true, (0, 0))? {
                Step::Found => return Ok(Step::Found),
                Step::TooMany => {}
                Step::Failed | Step::Short => too_many = false,
            }
        }
        Ok(if too_many { Step::TooMany } else { Step::Failed })
    }

    /// The next of "all devices"; they are fixed, so there is nothing to choose.
    fn next_of_all(&mut self, at: Cursor, request: &'a DeviceRequest) -> Result<Step, Stop> {
        let devices = self.all[at.claim][at.request][at.alternative].as_deref().unwrap_or_default();
        let position = devices[at.device];
        if !self.take(at, request, position, true)? {
            return Ok(Step::Short);
        }
        let step = self.step(Cursor { device: at.device + 1, ..at }, true, (0, 0))?;
        if step != Step::Found {
            self.give_back(at, request);
        }
        Ok(step)
    }

    fn next_of_any(&mut self, at: Cursor, request: &'a DeviceRequest, from: Place) -> Result<Step, Stop> {
        let alternative = &request.alternatives[at.alternative];
        let free_choice = self.claims[at.claim].constraints.is_empty();
        let mut outcome = Step::Short;
        let pools = self.pools;
        for (pool_at, pool) in pools.iter().enumerate().skip(from.0) {
            if pool.state != PoolState::Complete {
                continue;
            }
            let first = if pool_at == from.0 { from.1 } else { 0 };
            for (device_at, &position) in pool.devices.iter().enumerate().skip(first) {
                if self.in_use(self.device(position).id, at.claim, alternative.admin)
                    || !self.selectable(alternative, position)?
                    || !self.take(at, request, position, false)?
                {
                    continue;
                }
                let next = Cursor { device: at.device + 1, ..at };
                let step = self.step(next, true, (pool_at, device_at + 1))?;
                if step == Step::Found {
                    return Ok(step);
                }
                self.give_back(at, request);
                match step {
                    Step::TooMany => return Ok(step),
                    Step::Short if free_choice => return Ok(step),
                    Step::Short | Step::Found => {}
                    Step::Failed => outcome = Step::Failed,
                }
            }
        }
        Ok(outcome)
    }

    /// Takes a selectable device if it is free, tolerated and within the constraints. `must` tells that no other
    /// device will do.
    fn take(
        &mut self,
        at: Cursor,
        request: &'a DeviceRequest,
        position: u32,
        must: bool,
    ) -> Result<bool, Stop> {
        let snapshot = self.ground.snapshot;
        let alternative = &request.alternatives[at.alternative];
        let device = self.device(position);
        if device.multiple {
            return Err(Stop::Unknown("devices that several claims may hold".to_owned()));
        }
        if self.in_use(device.id, at.claim, alternative.admin) {
            return Ok(false);
        }
        if device.counters {
            return Err(Stop::Unknown("devices that draw on shared counters".to_owned()));
        }
        let tolerated = |taint| alternative.tolerations.iter().any(|toleration| toleration.tolerates(taint));
        if !device.taints.iter().all(tolerated) {
            return Ok(false);
        }
        let watches = &mut self.watches[at.claim];
        for done in 0..watches.len() {
            if !watches[done].add(snapshot, request.name, alternative.name, device)? {
                if must {
                    return Err(Stop::Error(
                        "a constraint that keeps \"all devices\" from being taken".to_owned(),
                    ));
                }
                for watch in &mut watches[..done] {
                    watch.remove(request.name, alternative.name);
                }
                return Ok(false);
            }
        }
        self.taken[at.claim].push((device.id, !alternative.admin));
        Ok(true)
    }

    fn give_back(&mut self, at: Cursor, request: &'a DeviceRequest) {
        let sub: Sym = request.alternatives[at.alternative].name;
        for watch in &mut self.watches[at.claim] {
            watch.remove(request.name, sub);
        }
        self.taken[at.claim].pop();
    }
}
