//! The effective request of a pod: one function for every caller.
//!
//! kube-scheduler's arithmetic is component-helpers `resource` (rulebook 1.1); for a pod that stands on a node it
//! changed in 1.37. Volcano has its own (rulebook 2.3). Quantities of one pod are summed exactly and rounded up once
//! for kube, container by container for Volcano.
//!
//! May import: snapshot

use super::model::ResourceIdx;
use super::quantity::Quantity;

/// Amounts of one container or one step of the sum; short, unsorted, no resource twice.
pub type Amounts = Vec<(ResourceIdx, Quantity)>;

/// A container as far as requests go.
#[derive(Clone, Debug, Default)]
pub struct Container {
    /// An init container.
    pub init: bool,
    /// Restarts always: an init container that is a sidecar.
    pub sidecar: bool,
    /// Requests of the spec (limits where the request is missing).
    pub spec: Amounts,
    /// `status.allocatedResources`.
    pub allocated: Option<Amounts>,
    /// `status.resources.requests`; `Some` when the status has `resources`, empty when those name no requests.
    pub actual: Option<Amounts>,
}

/// A pod as far as requests go.
#[derive(Clone, Debug, Default)]
pub struct PodResources {
    /// Containers, init containers first, each kind in order.
    pub containers: Vec<Container>,
    /// `spec.resources.requests`, supported names only.
    pub level: Option<Amounts>,
    /// Pod-level `status.allocatedResources`.
    pub level_allocated: Option<Amounts>,
    /// Pod-level `status.resources.requests`; `Some` when the status has `resources`, empty when those name no requests.
    pub level_actual: Option<Amounts>,
    /// Resources that pod-level requests do not exist for; the status of the pod may name them all the same.
    pub not_of_level: Vec<ResourceIdx>,
    /// `spec.overhead`.
    pub overhead: Amounts,
    /// Condition `PodResizePending` with reason `Infeasible`.
    pub infeasible: bool,
}

fn add(to: &mut Amounts, from: &[(ResourceIdx, Quantity)]) {
    for &(resource, amount) in from {
        match to.iter_mut().find(|(r, _)| *r == resource) {
            Some((_, have)) => *have += amount,
            None => to.push((resource, amount)),
        }
    }
}

fn raise(to: &mut Amounts, from: &[(ResourceIdx, Quantity)]) {
    for &(resource, amount) in from {
        match to.iter_mut().find(|(r, _)| *r == resource) {
            Some((_, have)) => *have = amount.max(*have),
            None => to.push((resource, amount)),
        }
    }
}

fn replace(to: &mut Amounts, from: &[(ResourceIdx, Quantity)]) {
    for &(resource, amount) in from {
        match to.iter_mut().find(|(r, _)| *r == resource) {
            Some((_, have)) => *have = amount,
            None => to.push((resource, amount)),
        }
    }
}

/// Steps 1–3 of rulebook 1.1: app containers and sidecars add up, init containers peak one after another.
fn total<'a>(
    containers: &'a [Container],
    of: impl Fn(&'a Container) -> std::borrow::Cow<'a, Amounts>,
) -> Amounts {
    if let [only] = containers
        && !only.init
    {
        return of(only).into_owned();
    }
    let mut sum = Amounts::new();
    let mut running_sidecars = Amounts::new();
    let mut peak = Amounts::new();
    for container in containers {
        let request = of(container);
        if !container.init || container.sidecar {
            add(&mut sum, &request);
        }
        if container.init {
            let mut candidate = running_sidecars.clone();
            add(&mut candidate, &request);
            raise(&mut peak, &candidate);
            if container.sidecar {
                running_sidecars = candidate;
            }
        }
    }
    raise(&mut sum, &peak);
    sum
}

use std::borrow::Cow;

impl PodResources {
    /// What a new pod of this spec asks for.
    pub fn of_new_pod(&self) -> Amounts {
        let mut sum = total(&self.containers, |c| Cow::Borrowed(&c.spec));
        if let Some(level) = &self.level {
            replace(&mut sum, level);
        }
        add(&mut sum, &self.overhead);
        sum
    }

    /// True when no status can make the charge differ from the request of a new pod.
    pub fn is_plain(&self) -> bool {
        self.level_allocated.is_none()
            && self.level_actual.is_none()
            && !self.infeasible
            && self.containers.iter().all(|c| c.allocated.is_none() && c.actual.is_none())
    }

    /// What kube-scheduler from 1.37 on charges for the pod where it stands: three totals, then the larger.
    pub fn charged(&self) -> Amounts {
        let none = Amounts::new;
        let spec = |c: &Container| if self.infeasible { none() } else { c.spec.clone() };
        let allocated = |c: &Container| c.allocated.clone().unwrap_or_else(|| spec(c));
        // `resources` of a status need not name requests: those of a container without any are empty, for instance.
        let named = |actual: &Option<Amounts>| actual.clone().filter(|amounts| !amounts.is_empty());
        let actual = |c: &Container| named(&c.actual).unwrap_or_else(|| allocated(c));
        let mut sum = total(&self.containers, |c| Cow::Owned(spec(c)));
        if let (Some(level_allocated), Some(level_actual)) =
            (&self.level_allocated, &named(&self.level_actual))
        {
            raise(&mut sum, level_allocated);
            raise(&mut sum, level_actual);
        } else {
            raise(&mut sum, &total(&self.containers, |c| Cow::Owned(allocated(c))));
            raise(&mut sum, &total(&self.containers, |c| Cow::Owned(actual(c))));
        }
        self.charge_level(&mut sum);
        add(&mut sum, &self.overhead);
        sum
    }

    /// What kube-scheduler up to 1.36 charges: the larger value per container, then the total.
    pub fn charged_until_1_36(&self) -> Amounts {
        let mut sum = total(&self.containers, |c| self.resized(c));
        self.charge_level(&mut sum);
        add(&mut sum, &self.overhead);
        sum
    }

    /// Per container the larger of spec, allocated and actual, if its status has `resources`; ordinary init
    /// containers count their spec.
    fn resized<'a>(&self, container: &'a Container) -> Cow<'a, Amounts> {
        let Some(actual) = &container.actual else { return Cow::Borrowed(&container.spec) };
        if container.init && !container.sidecar {
            return Cow::Borrowed(&container.spec);
        }
        let mut larger = if self.infeasible { Amounts::new() } else { container.spec.clone() };
        raise(&mut larger, actual);
        raise(&mut larger, container.allocated.as_deref().unwrap_or_default());
        Cow::Owned(larger)
    }

    fn charge_level(&self, sum: &mut Amounts) {
        let Some(level) = &self.level else { return };
        let Some(actual) = &self.level_actual else {
            replace(sum, level);
            return;
        };
        let mut larger = if self.infeasible { Amounts::new() } else { level.clone() };
        raise(&mut larger, actual);
        raise(&mut larger, self.level_allocated.as_deref().unwrap_or_default());
        larger.retain(|(resource, _)| !self.not_of_level.contains(resource));
        replace(sum, &larger);
    }

    /// What Volcano asks for a new pod. `round` brings one quantity up to Volcano's unit.
    pub fn volcano_of_new_pod(&self, round: impl Fn(ResourceIdx, Quantity) -> Quantity) -> Amounts {
        self.volcano(|c| Cow::Borrowed(&c.spec), round)
    }

    /// What Volcano charges for the pod where it stands.
    pub fn volcano_charged(&self, round: impl Fn(ResourceIdx, Quantity) -> Quantity) -> Amounts {
        self.volcano(|c| self.resized(c), round)
    }

    fn volcano<'a>(
        &'a self,
        of: impl Fn(&'a Container) -> Cow<'a, Amounts>,
        round: impl Fn(ResourceIdx, Quantity) -> Quantity,
    ) -> Amounts {
        let up = |amounts: &Amounts| -> Amounts { amounts.iter().map(|&(r, q)| (r, round(r, q))).collect() };
        let mut sum = total(&self.containers, |c| Cow::Owned(up(&of(c))));
        if let Some(level) = &self.level {
            replace(&mut sum, &up(level));
        }
        add(&mut sum, &up(&self.overhead));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: ResourceIdx = ResourceIdx::CPU;
    const CARD: ResourceIdx = ResourceIdx::new(4);

    fn amounts(cpu: i64, card: i64) -> Amounts {
        [(CPU, cpu), (CARD, card)]
            .into_iter()
            .filter(|&(_, n)| n > 0)
            .map(|(r, n)| (r, Quantity::units(n)))
            .collect()
    }

    fn app(cpu: i64, card: i64) -> Container {
        Container { spec: amounts(cpu, card), ..Container::default() }
    }

    fn init(cpu: i64, card: i64) -> Container {
        Container { init: true, ..app(cpu, card) }
    }

    fn sidecar(cpu: i64, card: i64) -> Container {
        Container { sidecar: true, ..init(cpu, card) }
    }

    fn pod(containers: Vec<Container>) -> PodResources {
        PodResources { containers, ..PodResources::default() }
    }

    fn get(amounts: &Amounts, resource: ResourceIdx) -> i64 {
        amounts.iter().find(|(r, _)| *r == resource).map_or(0, |(_, q)| q.ceil_units())
    }

    #[test]
    fn f01_a_finished_init_container_still_reserves() {
        assert_eq!(get(&pod(vec![init(0, 2), app(0, 1)]).charged(), CARD), 2);
    }

    #[test]
    fn f02_a_native_sidecar_adds_to_the_app() {
        assert_eq!(get(&pod(vec![sidecar(0, 1), app(0, 4)]).charged(), CARD), 5);
        assert_eq!(get(&pod(vec![init(0, 1), app(0, 4)]).charged(), CARD), 4);
    }

    #[test]
    fn r5_and_r6_the_place_of_a_sidecar_among_init_containers_matters() {
        assert_eq!(get(&pod(vec![sidecar(1, 0), init(2, 0), app(1, 0)]).of_new_pod(), CPU), 3);
        assert_eq!(get(&pod(vec![init(2, 0), sidecar(1, 0), app(1, 0)]).of_new_pod(), CPU), 2);
    }

    #[test]
    fn f05_pod_level_requests_replace_the_sum_of_what_they_name() {
        let mut p = pod(vec![app(1, 1), app(1, 0)]);
        p.level = Some(amounts(4, 0));
        assert_eq!((get(&p.of_new_pod(), CPU), get(&p.of_new_pod(), CARD)), (4, 1));
    }

    #[test]
    fn f04_overhead_comes_on_top_of_pod_level_requests() {
        let mut p = pod(vec![app(1, 0)]);
        p.level = Some(amounts(4, 0));
        p.overhead = amounts(1, 0);
        assert_eq!(get(&p.of_new_pod(), CPU), 5);
    }

    fn resizing(spec: i64, allocated: i64) -> Container {
        Container {
            allocated: Some(amounts(allocated, 0)),
            actual: Some(amounts(allocated, 0)),
            ..app(spec, 0)
        }
    }

    #[test]
    fn f06_a_resize_is_charged_the_larger_unless_infeasible() {
        assert_eq!(get(&pod(vec![resizing(8, 4)]).charged(), CPU), 8);
        assert_eq!(get(&pod(vec![resizing(2, 6)]).charged(), CPU), 6);
        let infeasible = PodResources { infeasible: true, ..pod(vec![resizing(8, 4)]) };
        assert_eq!(get(&infeasible.charged(), CPU), 4);
        assert_eq!(get(&infeasible.of_new_pod(), CPU), 8);
    }

    #[test]
    fn a_status_whose_resources_name_no_requests_says_what_was_allocated_or_nothing() {
        let silent = |allocated: Option<i64>| Container {
            allocated: allocated.map(|cpu| amounts(cpu, 0)),
            actual: Some(Amounts::new()),
            ..app(2, 0)
        };
        // Each of the three totals counts: the two containers are 2 + 3, never 2 + 0.
        let with = |other: Container| get(&pod(vec![other, resizing(1, 3)]).charged(), CPU);
        assert_eq!((with(silent(None)), with(silent(Some(4)))), (5, 7));
        let mut level = pod(vec![app(2, 0)]);
        level.level_allocated = Some(amounts(1, 0));
        level.level_actual = Some(Amounts::new());
        assert_eq!(
            get(&PodResources { infeasible: true, ..level }.charged(), CPU),
            0,
            "the spec is left out"
        );
    }

    #[test]
    fn the_status_of_a_pod_replaces_only_what_pod_level_requests_may_name() {
        let mut p = pod(vec![app(1, 4)]);
        p.level = Some(amounts(2, 0));
        p.level_allocated = Some(amounts(3, 1));
        p.level_actual = Some(amounts(3, 1));
        p.not_of_level = vec![CARD];
        assert_eq!((get(&p.charged(), CPU), get(&p.charged(), CARD)), (3, 4));
    }

    #[test]
    fn r16b_from_1_37_the_totals_are_compared_not_the_containers() {
        let p = pod(vec![resizing(2, 4), resizing(4, 2)]);
        assert_eq!((get(&p.charged(), CPU), get(&p.charged_until_1_36(), CPU)), (6, 8));
    }

    #[test]
    fn r9b_volcano_rounds_each_container() {
        let byte_and_a_half = Quantity::parse("1500m").unwrap();
        let c = Container { spec: vec![(ResourceIdx::MEMORY, byte_and_a_half)], ..Container::default() };
        let p = pod(vec![c.clone(), c]);
        let up = |_, q: Quantity| Quantity::units(q.ceil_units());
        assert_eq!(get(&p.of_new_pod(), ResourceIdx::MEMORY), 3);
        assert_eq!(get(&p.volcano_of_new_pod(up), ResourceIdx::MEMORY), 4);
    }
}
