//! Puts pools together, finds consumers, and maps extended resources to classes.
//!
//! May import: snapshot

use rustc_hash::{FxHashMap, FxHashSet};

use super::BuildOptions;
use super::dra::{Draft, DraftClass, DraftSlice};
use crate::snapshot::model::dra::{Device, Dra, Pool, PoolState, Reach, same_object};
use crate::snapshot::model::{ClaimIdx, Node, Pod, PodIdx, PodSpec, ResourceIdx, Sym, Symbols};
use crate::snapshot::read::InputError;

/// Prefix of the extended resource that every class serves by itself.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";
/// First minor version that serves extended resources through device classes by default (gate `DRAExtendedResource`).
const EXTENDED_SINCE: u32 = 36;

/// What the rest of the model has by now.
pub(super) struct Parts<'a> {
    pub options: BuildOptions,
    pub symbols: &'a Symbols,
    pub nodes: &'a [Node],
    pub pods: &'a [Pod],
    pub specs: &'a [PodSpec],
    pub resources: &'a [Sym],
}

/// Makes the model's part of it.
pub(super) fn finish(mut draft: Draft, parts: &Parts<'_>) -> Result<Dra, InputError> {
    let text = |sym| parts.symbols.text(sym);
    draft.slices.sort_by(|a, b| text(a.name).cmp(text(b.name)));
    draft.classes.sort_by(|a, b| text(a.class.name).cmp(text(b.class.name)));
    draft.claims.sort_by(|a, b| (text(a.namespace), text(a.name)).cmp(&(text(b.namespace), text(b.name))));
    draft.templates.sort_by(|a, b| (text(a.namespace), text(a.name)).cmp(&(text(b.namespace), text(b.name))));
    if parts.options.refuse_duplicates {
        refuse_twins(&draft, parts.symbols)?;
    }
    apply_taint_rules(&mut draft);
    for device in &mut draft.devices {
        device.attributes.sort_by(|a, b| text(a.0).cmp(text(b.0)));
        device.capacity.sort_by(|a, b| text(a.0).cmp(text(b.0)));
    }
    let mut dra = Dra {
        pools: pools(&draft.slices, &draft.devices, parts),
        extended: extended(&draft.classes, parts),
        device_count: draft.ids.len(),
        devices: draft.devices,
        classes: draft.classes.into_iter().map(|c| c.class).collect(),
        specs: draft.specs.into_values(),
        claims: draft.claims,
        templates: draft.templates,
        unknown_taint_rule: draft.unknown_taint_rule,
        ..Dra::default()
    };
    let key = |namespace, name, at| ((namespace, name), at);
    let claims = dra.claims.iter().enumerate();
    dra.claim_index = claims.map(|(at, c)| key(c.namespace, c.name, ClaimIdx::new(at))).collect();
    dra.template_index = numbered(&dra.templates).map(|(at, t)| ((t.namespace, t.name), at)).collect();
    dra.class_index = numbered(&dra.classes).map(|(at, c)| (c.name, at)).collect();
    find_consumers(&mut dra, parts);
    Ok(dra)
}

fn numbered<T>(values: &[T]) -> impl Iterator<Item = (u32, &T)> {
    (0_u32..).zip(values)
}

fn refuse_twins(draft: &Draft, symbols: &Symbols) -> Result<(), InputError> {
    let text = |sym| symbols.text(sym);
    let error = |kind: &str, namespace, name| {
        Err(InputError::object(kind, text(namespace), text(name), "is in the input twice"))
    };
    for pair in draft.slices.windows(2) {
        if pair[0].name == pair[1].name {
            return error("ResourceSlice", Sym::EMPTY, pair[0].name);
        }
    }
    for pair in draft.classes.windows(2) {
        if pair[0].class.name == pair[1].class.name {
            return error("DeviceClass", Sym::EMPTY, pair[0].class.name);
        }
    }
    for pair in draft.claims.windows(2) {
        if (pair[0].namespace, pair[0].name) == (pair[1].namespace, pair[1].name) {
            return error("ResourceClaim", pair[0].namespace, pair[0].name);
        }
    }
    for pair in draft.templates.windows(2) {
        if (pair[0].namespace, pair[0].name) == (pair[1].namespace, pair[1].name) {
            return error("ResourceClaimTemplate", pair[0].namespace, pair[0].name);
        }
    }
    Ok(())
}

fn apply_taint_rules(draft: &mut Draft) {
    if draft.taint_rules.is_empty() {
        return;
    }
    let mut keys = vec![(Sym::EMPTY, Sym::EMPTY, Sym::EMPTY); draft.ids.len()];
    for (&key, id) in &draft.ids {
        keys[id.at()] = key;
    }
    for device in &mut draft.devices {
        let (driver, pool, name) = keys[device.id.at()];
        for rule in &draft.taint_rules {
            let agrees = |wanted: Option<Sym>, own| wanted.is_none_or(|wanted| wanted == own);
            if agrees(rule.driver, driver) && agrees(rule.pool, pool) && agrees(rule.device, name) {
                device.taints.push(rule.taint);
            }
        }
    }
}

/// Pools per node (rulebook 1.13): of each pool the slices that reach the node, in the newest generation.
fn pools(slices: &[DraftSlice], devices: &[Device], parts: &Parts<'_>) -> Vec<Vec<Pool>> {
    if slices.is_empty() {
        return Vec::new();
    }
    let mut local: FxHashMap<Sym, Vec<usize>> = FxHashMap::default();
    let mut shared: Vec<usize> = Vec::new();
    let mut by_pool: FxHashMap<(Sym, Sym), Vec<usize>> = FxHashMap::default();
    for (at, slice) in slices.iter().enumerate() {
        by_pool.entry((slice.driver, slice.pool)).or_default().push(at);
        match slice.reach {
            Reach::Node(name) => local.entry(name).or_default().push(at),
            Reach::Nowhere => {}
            Reach::All | Reach::Selector(_) | Reach::PerDevice => shared.push(at),
        }
    }
    let of_node = |node: &Node| {
        let near = shared.iter().filter(|&&at| {
            let slice = &slices[at];
            match slice.reach {
                Reach::PerDevice => {
                    devices[slice.devices.clone()].iter().any(|d| reaches(&d.reach, node, parts.symbols))
                }
                _ => reaches(&slice.reach, node, parts.symbols),
            }
        });
        let mut groups: Vec<((Sym, Sym), Vec<usize>)> = Vec::new();
        for &at in local.get(&node.name).into_iter().flatten().chain(near) {
            let key = (slices[at].driver, slices[at].pool);
            match groups.iter_mut().find(|(own, _)| *own == key) {
                Some((_, members)) => members.push(at),
                None => groups.push((key, vec![at])),
            }
        }
        let mut pools: Vec<(bool, Pool)> = groups
            .iter()
            .filter_map(|(key, members)| pool(*key, members, &by_pool[key], slices, devices))
            .collect();
        let text = |sym| parts.symbols.text(sym);
        // Pools with devices that have to be waited for come last.
        pools.sort_by(|(late_a, a), (late_b, b)| {
            let key = |p: &Pool| (text(p.driver), text(p.name));
            late_a.cmp(late_b).then_with(|| key(a).cmp(&key(b)))
        });
        pools.into_iter().map(|(_, pool)| pool).collect()
    };
    parts.nodes.iter().map(of_node).collect()
}

/// Whether something can be used on a node.
pub fn reaches(reach: &Reach, node: &Node, symbols: &Symbols) -> bool {
    match reach {
        Reach::Node(name) => *name == node.name,
        Reach::All => true,
        Reach::Selector(selector) => selector.matches(Some(node.name), &node.labels, symbols),
        Reach::Nowhere | Reach::PerDevice => false,
    }
}

/// One pool as a node sees it, and whether it comes last; none when a newer generation has no slice for the node.
fn pool(
    (driver, name): (Sym, Sym),
    near: &[usize],
    all: &[usize],
    slices: &[DraftSlice],
    devices: &[Device],
) -> Option<(bool, Pool)> {
    let generation = near.iter().map(|&at| slices[at].generation).max()?;
    let mut newest: Vec<usize> =
        near.iter().copied().filter(|&at| slices[at].generation == generation).collect();
    newest.sort_unstable();
    let wanted = slices[*newest.first()?].count;
    let is_all = |found: usize| i64::try_from(found) == Ok(wanted);
    if !is_all(newest.len()) {
        if all.iter().any(|&at| slices[at].generation > generation) {
            return None;
        }
        if !is_all(all.iter().filter(|&&at| slices[at].generation == generation).count()) {
            let devices = Box::default();
            return Some((false, Pool { driver, name, state: PoolState::Incomplete, devices }));
        }
    }
    let positions: Vec<usize> = newest.iter().flat_map(|&at| slices[at].devices.clone()).collect();
    let mut seen = FxHashSet::default();
    let unique = positions.iter().all(|&at| seen.insert(devices[at].id));
    let late = unique && positions.iter().any(|&at| devices[at].conditional);
    let state = if unique { PoolState::Complete } else { PoolState::Invalid };
    let devices = positions.into_iter().filter_map(|at| u32::try_from(at).ok()).filter(|_| unique).collect();
    Some((late, Pool { driver, name, state, devices }))
}

/// Which class serves which extended resource: the one that names it (the youngest, then the first by name), or the
/// class whose own name the resource carries.
fn extended(classes: &[DraftClass], parts: &Parts<'_>) -> FxHashMap<ResourceIdx, u32> {
    if parts.options.kubernetes_minor < EXTENDED_SINCE {
        return FxHashMap::default();
    }
    let mut explicit: FxHashMap<Sym, (i64, u32)> = FxHashMap::default();
    let mut implicit: FxHashMap<&str, u32> = FxHashMap::default();
    for (at, class) in numbered(classes) {
        implicit.insert(parts.symbols.text(class.class.name), at);
        if let Some(name) = class.serves {
            let best = explicit.entry(name).or_insert((class.created, at));
            if class.created > best.0 {
                *best = (class.created, at);
            }
        }
    }
    let mut extended = FxHashMap::default();
    for (at, &name) in parts.resources.iter().enumerate() {
        let text = parts.symbols.text(name);
        let class = match (text.strip_prefix(IMPLICIT), explicit.get(&name)) {
            (Some(class), _) => implicit.get(class).copied(),
            (None, Some(&(_, class))) => is_extended(text).then_some(class),
            (None, None) => None,
        };
        if let Some(class) = class {
            extended.insert(ResourceIdx::new(at), class);
        }
    }
    extended
}

/// Names that Kubernetes takes for extended resources: with a domain that is not its own.
pub fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

/// Finds the standing pods among the consumers of claims.
fn find_consumers(dra: &mut Dra, parts: &Parts<'_>) {
    if dra.claims.iter().all(|claim| claim.consumers.is_empty()) {
        return;
    }
    let mut by_name: FxHashMap<(Sym, Sym), Vec<PodIdx>> = FxHashMap::default();
    for (at, pod) in parts.pods.iter().enumerate() {
        if pod.stands() {
            let namespace = parts.specs[pod.spec.at()].namespace;
            by_name.entry((namespace, pod.name)).or_default().push(PodIdx::new(at));
        }
    }
    for (at, claim) in dra.claims.iter_mut().enumerate() {
        for &consumer in &claim.consumers {
            for &pod in by_name.get(&(claim.namespace, consumer.0)).into_iter().flatten() {
                let own = &parts.pods[pod.at()];
                if same_object((own.name, own.uid), consumer) {
                    claim.pods.push(pod);
                    dra.claims_of.entry(pod).or_default().push(ClaimIdx::new(at));
                }
            }
        }
    }
}
