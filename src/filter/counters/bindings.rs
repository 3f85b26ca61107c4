//! What the unbound claims of planned pods get: PVs, each used once, or new volumes.
//!
//! Live pods that stand on a node take nothing: their claims are bound, or will be without the scheduler. The choice
//! of a planned pod depends on what was free when it arrived, so it is remembered with the pod, and undoing a change
//! brings back what was remembered instead of choosing again.
//!
//! May import: snapshot, filter

use rustc_hash::FxHashMap;

use crate::filter::state::{Change, Tenant};
use crate::filter::volumes::binding::{Choice, Wants, choose};
use crate::filter::volumes::{Claim, Holder, has_claims};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{NodeIdx, PvIdx};

/// A planned pod with claims, and what those that were unbound get.
#[derive(Clone, Debug, PartialEq)]
struct Placed {
    tenant: Tenant,
    node: NodeIdx,
    choices: Box<[(Claim, Choice)]>,
}

/// A change, as it must be undone.
#[derive(Clone, Debug)]
enum Done {
    /// The last of `placed` came.
    Came,
    /// This one left from there.
    Left(usize, Placed),
    /// Nobody left.
    Nothing,
}

/// Choices of planned pods.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Claims of planned pods that were unbound, with the number of planned pods that use them.
    chosen: FxHashMap<Claim, (Choice, u32)>,
    /// PVs among the choices.
    taken: FxHashMap<PvIdx, u32>,
    placed: Vec<Placed>,
    log: Vec<Done>,
}

impl PartialEq for Bindings {
    /// The log is no part of the present.
    fn eq(&self, other: &Self) -> bool {
        self.chosen == other.chosen && self.taken == other.taken && self.placed == other.placed
    }
}

impl Bindings {
    /// Nothing chosen.
    pub fn new(_snapshot: &Snapshot) -> Self {
        Self::default()
    }

    /// What a claim gets for a planned pod.
    pub fn choice(&self, claim: Claim) -> Option<Choice> {
        self.chosen.get(&claim).map(|&(choice, _)| choice)
    }

    /// True when a planned pod's claim gets this PV.
    pub fn is_taken(&self, pv: PvIdx) -> bool {
        self.taken.contains_key(&pv)
    }

    /// Takes in one change. `undoes`: it takes back the latest change that was not taken back yet.
    pub fn apply(&mut self, snapshot: &Snapshot, change: &Change, undoes: bool) {
        let Change { tenant, node, arrives } = *change;
        let stands = tenant.pod.is_some_and(|pod| snapshot.pod(pod).stands());
        if stands || !has_claims(snapshot.spec(tenant.spec)) {
            return;
        }
        if undoes {
            self.undo();
        } else if arrives {
            let choices = self.choices(snapshot, &tenant, node);
            self.count(&choices, true);
            self.placed.push(Placed { tenant, node, choices });
            self.log.push(Done::Came);
        } else if let Some(at) = self.placed.iter().rposition(|p| p.tenant == tenant && p.node == node) {
            let placed = self.placed.remove(at);
            self.count(&placed.choices, false);
            self.log.push(Done::Left(at, placed));
        } else {
            self.log.push(Done::Nothing);
        }
    }

    fn undo(&mut self) {
        match self.log.pop() {
            Some(Done::Came) => {
                if let Some(placed) = self.placed.pop() {
                    self.count(&placed.choices, false);
                }
            }
            Some(Done::Left(at, placed)) => {
                self.count(&placed.choices, true);
                self.placed.insert(at, placed);
            }
            Some(Done::Nothing) | None => {}
        }
    }

    /// What the claims of a pod get that comes to a node; nothing where it does not fit.
    fn choices(&self, snapshot: &Snapshot, tenant: &Tenant, node: NodeIdx) -> Box<[(Claim, Choice)]> {
        let Ok(Some(wants)) = Wants::of(snapshot, self, &Holder::tenant(snapshot, tenant)) else {
            return Box::default();
        };
        match choose(snapshot, self, &wants, node) {
            Ok(choices) => choices.into_iter().chain(wants.shared).collect(),
            Err(_) => Box::default(),
        }
    }

    fn count(&mut self, choices: &[(Claim, Choice)], arrives: bool) {
        for &(claim, choice) in choices {
            if arrives {
                self.chosen.entry(claim).or_insert((choice, 0)).1 += 1;
            } else if let Some(entry) = self.chosen.get_mut(&claim) {
                entry.1 -= 1;
                if entry.1 == 0 {
                    self.chosen.remove(&claim);
                }
            }
            let Choice::Volume(pv) = choice else { continue };
            if arrives {
                *self.taken.entry(pv).or_default() += 1;
            } else if let Some(users) = self.taken.get_mut(&pv) {
                *users -= 1;
                if *users == 0 {
                    self.taken.remove(&pv);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::filter::kube::testing::{cluster, node};
    use crate::filter::volumes::testing::{by_hand, claim, delayed, only, user, volume};
    use crate::filter::{Change, Incoming, State, Tenant};
    use crate::snapshot::Snapshot;
    use crate::snapshot::model::{NodeIdx, PodIdx};

    /// Two nodes, a class of local volumes and one that makes them, six pods that share claims.
    fn snapshot() -> Snapshot {
        let mut objects = vec![by_hand("local"), delayed("made", "csi.x", "")];
        for n in ["n1", "n2"] {
            objects.push(node(n, &format!("host: {n}"), ""));
            for (pv, size) in [("small", "1Gi"), ("middle", "2Gi"), ("large", "4Gi")] {
                objects.push(volume(&format!("{pv}-{n}"), size, "local", &only("host", n)));
            }
        }
        objects.extend([
            claim("a", "1Gi", "local", ""),
            claim("b", "2Gi", "local", ""),
            claim("c", "1Gi", "local", ""),
            claim("m", "1Gi", "made", ""),
        ]);
        for (at, claims) in [&["a"][..], &["b"], &["c", "b"], &["a", "m"], &["m"]].into_iter().enumerate() {
            objects.push(user(&format!("p{at}"), "", claims));
        }
        cluster(&objects, &user("p9", "", &["c", "a"]))
    }

    fn step(state: &mut State<'_>, draw: &mut u64) {
        let mut below = |limit: u64| {
            *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((*draw >> 33) % limit).unwrap()
        };
        let snapshot = state.snapshot();
        let incoming = Incoming::pending(snapshot, PodIdx::new(below(6)));
        let node = NodeIdx::new(below(2));
        if below(3) == 0 {
            state.apply(Change { tenant: Tenant::bound(snapshot, incoming), node, arrives: false });
        } else {
            state.place(incoming, node);
        }
    }

    #[test]
    fn choices_undo_exactly_and_no_pv_serves_two_claims() {
        let snapshot = snapshot();
        for seed in 0..300 {
            let (mut state, mut draw) = (State::live(&snapshot), seed);
            let start = state.clone();
            let begin = state.checkpoint();
            for _ in 0..seed % 9 {
                step(&mut state, &mut draw);
            }
            let (then, point) = (state.clone(), state.checkpoint());
            for _ in 0..12 {
                step(&mut state, &mut draw);
                let bindings = &state.counters.bindings;
                let mut volumes: Vec<_> = bindings
                    .chosen
                    .values()
                    .filter_map(|(choice, _)| match choice {
                        super::Choice::Volume(pv) => Some(*pv),
                        super::Choice::Made(_) => None,
                    })
                    .collect();
                volumes.sort_unstable();
                let all = volumes.len();
                volumes.dedup();
                assert_eq!((volumes.len(), bindings.taken.len()), (all, all), "seed {seed}");
            }
            state.rollback(point);
            assert!(state.counters == then.counters, "seed {seed}");
            state.rollback(begin);
            assert!(state.counters == start.counters, "seed {seed}");
        }
    }
}
