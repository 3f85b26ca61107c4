//! Resolves references in name order and numbers everything.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::workload::{DraftWorkload, WorkloadIndex, controller_kind};
use super::{
    Builder, DraftBudget, DraftGroup, DraftPod, OwnerKey, dra_finish, implied_group, replacement, totals,
};
use crate::snapshot::classes;
use crate::snapshot::model::{
    Budget, BudgetIdx, GroupIdx, GroupOrigin, Namespace, NamespaceIdx, Node, NodeIdx, Owner, OwnerIdx,
    OwnerObject, Pod, PodGroup, PodIdx, PodSpec, Snapshot, SpecIdx, Sym, Symbols, Workload,
};
use crate::snapshot::read::InputError;

/// Makes the model.
pub fn finish(mut builder: Builder) -> Result<Snapshot, InputError> {
    let nodes = number_nodes(&mut builder)?;
    let node_index: FxHashMap<Sym, NodeIdx> =
        nodes.iter().enumerate().map(|(at, n)| (n.name, NodeIdx::new(at))).collect();
    let mut workloads = std::mem::take(&mut builder.workloads);
    let workload_index = WorkloadIndex::new(&mut workloads, &builder.symbols);
    let (namespaces, namespace_index) = number_namespaces(&mut builder, &workloads);
    let mut pods = std::mem::take(&mut builder.pods);
    sort_pods(&mut pods, &builder.symbols, &namespace_index);
    if builder.options.refuse_duplicates {
        refuse_twins(&pods, &builder.symbols)?;
    }
    let owner_index = number_owners(&builder, &pods, &workloads);
    let (mut groups, group_of) = number_groups(&mut builder, &pods, &namespace_index, &owner_index)?;
    let mut owners: Vec<Owner> = Vec::with_capacity(owner_index.len());
    for key in &owner_index.keys {
        let known = controller_kind(key, &builder.symbols);
        owners.push(Owner {
            api_version: key.api_version,
            kind: key.kind,
            namespace: namespace_index[&key.namespace],
            name: key.name,
            uid: key.uid,
            known,
            object: workload_index.find(known, key, &workloads, &builder),
            pods: Vec::new(),
            groups: Vec::new(),
        });
    }
    for (at, group) in groups.iter().enumerate() {
        if let Some(owner) = group.owner {
            owners[owner.at()].groups.push(GroupIdx::new(at));
        }
    }
    for (draft, group) in pods.iter_mut().zip(group_of) {
        let pod = &mut draft.pod;
        pod.namespace = namespace_index[&draft.namespace];
        pod.nominated = node_index.get(&draft.nominated).copied();
        pod.owner = draft.owner.map(|key| owner_index.index[&key]);
        pod.group = group;
        if !draft.candidate {
            bind(pod, draft.namespace, draft.node_name, &node_index, &builder)?;
        }
    }
    let (place, pods_on) = number_pods(&pods, nodes.len());
    let mut candidates = Vec::new();
    for (draft, &index) in pods.iter().zip(&place) {
        if draft.candidate {
            candidates.push(index);
        }
        if let Some(owner) = draft.pod.owner {
            owners[owner.at()].pods.push(index);
        }
        if let Some(group) = draft.pod.group {
            groups[group.at()].pods.push(index);
        }
    }
    candidates.sort_unstable();
    let pods = in_place(pods, &place);
    let (mut model, overheads): (Vec<Pod>, Vec<_>) =
        pods.into_iter().map(|draft| (draft.pod, draft.overhead)).unzip();
    let workload_of = |pod: &Pod| match owners[pod.owner?.at()].object {
        OwnerObject::Present(at) => Some(at.at()),
        _ => None,
    };
    replacement::resolve(&mut builder, &overheads, &mut model, workload_of, &workloads);
    let workloads = workloads.into_iter().map(|draft| Workload {
        namespace: namespace_index[&draft.namespace],
        owner: draft.owner.map(|key| owner_index.index[&key]),
        ..draft.workload
    });
    let workloads = workloads.collect();
    let specs = number_specs(builder.specs.into_values(), &mut model);
    let budgets = number_budgets(builder.budgets, &namespace_index, &mut model, &specs, &builder.symbols);
    let resources = builder.resources.into_names();
    let parts = dra_finish::Parts {
        options: builder.options,
        symbols: &builder.symbols,
        nodes: &nodes,
        pods: &model,
        specs: &specs,
        resources: &resources,
    };
    let dra = dra_finish::finish(builder.dra, &parts)?;
    let mut queues = builder.queues;
    queues.sort_by(|a, b| builder.symbols.text(a.name).cmp(builder.symbols.text(b.name)));
    let storage = builder.storage.finish(&nodes, &builder.symbols, builder.options)?;
    let mut snapshot = Snapshot {
        kinds_listed: builder.kinds_listed.into_iter().collect(),
        resources,
        nodes,
        node_classes: Vec::new(),
        pods: model,
        specs,
        node_rules: builder.node_rules.into_values(),
        requests: builder.requests.into_values(),
        namespaces,
        groups,
        owners,
        workloads,
        queues,
        budgets,
        dra,
        storage,
        pods_on,
        candidates,
        symbols: builder.symbols,
    };
    totals::refuse_overflow(&snapshot)?;
    classes::classify_nodes(&mut snapshot);
    Ok(snapshot)
}

fn number_nodes(builder: &mut Builder) -> Result<Vec<Node>, InputError> {
    let mut nodes = std::mem::take(&mut builder.nodes);
    let symbols = &builder.symbols;
    nodes.sort_by_cached_key(|n| symbols.sort_key(n.name));
    for pair in nodes.windows(2) {
        if pair[0].name == pair[1].name {
            return Err(InputError::object("Node", "", symbols.text(pair[0].name), "is in the input twice"));
        }
    }
    let width = builder.resources.count();
    for node in &mut nodes {
        let mut allocatable = std::mem::take(&mut node.allocatable).into_vec();
        allocatable.resize(width, 0);
        node.allocatable = allocatable.into_boxed_slice();
    }
    Ok(nodes)
}

fn number_namespaces(
    builder: &mut Builder,
    workloads: &[DraftWorkload],
) -> (Vec<Namespace>, FxHashMap<Sym, NamespaceIdx>) {
    let read = std::mem::take(&mut builder.namespaces);
    let mut names: Vec<Sym> = read.keys().copied().collect();
    names.extend(builder.pods.iter().map(|p| p.namespace));
    names.extend(builder.groups.iter().map(|g| g.namespace));
    names.extend(builder.budgets.iter().map(|b| b.namespace));
    names.extend(workloads.iter().map(|w| w.namespace));
    names.sort_unstable();
    names.dedup();
    names.sort_by(|&a, &b| builder.symbols.text(a).cmp(builder.symbols.text(b)));
    let mut namespaces = Vec::with_capacity(names.len());
    for &name in &names {
        let object = read.get(&name);
        namespaces.push(Namespace {
            name,
            labels: builder.namespace_labels(name, object),
            annotations: object.map(|n| n.annotations.clone()).unwrap_or_default(),
            read: object.is_some(),
        });
    }
    let index = names.iter().enumerate().map(|(at, &name)| (name, NamespaceIdx::new(at))).collect();
    (namespaces, index)
}

/// By namespace, name and UID. Keys are made once: comparing texts through symbols misses the cache every time.
fn sort_pods(pods: &mut [DraftPod], symbols: &Symbols, namespaces: &FxHashMap<Sym, NamespaceIdx>) {
    pods.sort_by_cached_key(|p| {
        (namespaces[&p.namespace], symbols.sort_key(p.pod.name), symbols.text(p.pod.uid))
    });
}

/// The index of each pod, and those that stand on each node: node by node, since most of what is asked of many pods is
/// asked node by node, and then those that stand nowhere.
fn number_pods(pods: &[DraftPod], nodes: usize) -> (Vec<PodIdx>, Vec<Vec<PodIdx>>) {
    let standing = |draft: &DraftPod| draft.pod.node.filter(|_| draft.pod.stands());
    let mut pods_on: Vec<Vec<PodIdx>> = vec![Vec::new(); nodes];
    let mut place = vec![PodIdx::UNSET; pods.len()];
    let mut next = vec![0; nodes + 1];
    for draft in pods {
        if let Some(node) = standing(draft) {
            next[node.at() + 1] += 1;
        }
    }
    for at in 0..nodes {
        pods_on[at].reserve_exact(next[at + 1]);
        next[at + 1] += next[at];
    }
    for (draft, place) in pods.iter().zip(&mut place) {
        let node = standing(draft);
        let next = &mut next[node.map_or(nodes, NodeIdx::at)];
        *place = PodIdx::new(*next);
        *next += 1;
        if let Some(node) = node {
            pods_on[node.at()].push(*place);
        }
    }
    (place, pods_on)
}

/// The pods in the order of their index.
fn in_place(pods: Vec<DraftPod>, place: &[PodIdx]) -> Vec<DraftPod> {
    let mut order = vec![0; pods.len()];
    for (from, to) in place.iter().enumerate() {
        order[to.at()] = from;
    }
    let mut pods: Vec<Option<DraftPod>> = pods.into_iter().map(Some).collect();
    order.into_iter().filter_map(|from| pods[from].take()).collect()
}

fn refuse_twins(pods: &[DraftPod], symbols: &Symbols) -> Result<(), InputError> {
    for pair in pods.windows(2) {
        // A pod that is only asked about may be one that is there already.
        let same_side = pair[0].candidate == pair[1].candidate;
        if same_side && pair[0].namespace == pair[1].namespace && pair[0].pod.name == pair[1].pod.name {
            let (namespace, name) = (symbols.text(pair[0].namespace), symbols.text(pair[0].pod.name));
            return Err(InputError::object("Pod", namespace, name, "is in the input twice"));
        }
    }
    Ok(())
}

/// Owners in order of namespace, kind, name, UID.
struct OwnerIndex {
    keys: Vec<OwnerKey>,
    index: FxHashMap<OwnerKey, OwnerIdx>,
}

impl OwnerIndex {
    fn len(&self) -> usize {
        self.keys.len()
    }
}

fn number_owners(builder: &Builder, pods: &[DraftPod], workloads: &[DraftWorkload]) -> OwnerIndex {
    let mut index: FxHashMap<OwnerKey, OwnerIdx> = FxHashMap::default();
    let named = pods
        .iter()
        .filter_map(|p| p.owner)
        .chain(builder.groups.iter().filter_map(|g| g.owner))
        .chain(workloads.iter().filter_map(|w| w.owner));
    for key in named {
        index.insert(key, OwnerIdx::new(0));
    }
    let mut keys: Vec<OwnerKey> = index.keys().copied().collect();
    let text = |sym| builder.symbols.text(sym);
    keys.sort_by_cached_key(|k| {
        let name = builder.symbols.sort_key(k.name);
        (text(k.namespace), text(k.kind), name, text(k.uid), text(k.api_version))
    });
    for (at, key) in keys.iter().enumerate() {
        index.insert(*key, OwnerIdx::new(at));
    }
    OwnerIndex { keys, index }
}

/// Groups: the objects, those that pods name without an object, and virtual ones made of controlling owners.
fn number_groups(
    builder: &mut Builder,
    pods: &[DraftPod],
    namespace_index: &FxHashMap<Sym, NamespaceIdx>,
    owners: &OwnerIndex,
) -> Result<(Vec<PodGroup>, Vec<Option<GroupIdx>>), InputError> {
    let mut drafts: Vec<DraftGroup> = std::mem::take(&mut builder.groups);
    let mut by_name: FxHashMap<(Sym, Sym), usize> = FxHashMap::default();
    for (at, draft) in drafts.iter().enumerate() {
        if by_name.insert((draft.namespace, draft.group.name), at).is_some()
            && builder.options.refuse_duplicates
        {
            let (namespace, name) =
                (builder.symbols.text(draft.namespace), builder.symbols.text(draft.group.name));
            return Err(InputError::object("PodGroup", namespace, name, "is in the input twice"));
        }
    }
    let mut draft_of: Vec<Option<usize>> = Vec::with_capacity(pods.len());
    for pod in pods {
        let (name, origin) = match (pod.group_name, pod.owner) {
            (Sym::EMPTY, None) => {
                draft_of.push(None);
                continue;
            }
            (Sym::EMPTY, Some(owner)) => {
                // The name that Volcano's pg-controller gives (rulebook 2.12).
                let id = if owner.uid == Sym::EMPTY { owner.name } else { owner.uid };
                let name = format!("podgroup-{}", builder.symbols.text(id));
                (builder.symbols.intern(&name), GroupOrigin::Virtual)
            }
            (name, _) => (name, GroupOrigin::Missing),
        };
        let at = *by_name.entry((pod.namespace, name)).or_insert_with(|| {
            let group =
                implied_group(namespace_index[&pod.namespace], name, builder.known.default_queue, origin);
            drafts.push(DraftGroup { group, namespace: pod.namespace, owner: pod.owner });
            drafts.len() - 1
        });
        draft_of.push(Some(at));
    }
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by_cached_key(|&at| {
        (namespace_index[&drafts[at].namespace], builder.symbols.sort_key(drafts[at].group.name))
    });
    let mut place = vec![GroupIdx::new(0); drafts.len()];
    let mut groups = Vec::with_capacity(drafts.len());
    let mut drafts: Vec<Option<DraftGroup>> = drafts.into_iter().map(Some).collect();
    for from in order {
        let Some(DraftGroup { mut group, namespace, owner }) = drafts[from].take() else { continue };
        place[from] = GroupIdx::new(groups.len());
        group.namespace = namespace_index[&namespace];
        group.owner = owner.map(|key| owners.index[&key]);
        groups.push(group);
    }
    Ok((groups, draft_of.into_iter().map(|at| at.map(|at| place[at])).collect()))
}

/// Resolves `spec.nodeName`.
fn bind(
    pod: &mut Pod,
    namespace: Sym,
    node_name: Sym,
    node_index: &FxHashMap<Sym, NodeIdx>,
    builder: &Builder,
) -> Result<(), InputError> {
    if node_name == Sym::EMPTY {
        return Ok(());
    }
    pod.node = node_index.get(&node_name).copied();
    pod.lost = pod.node.is_none();
    if pod.lost && builder.options.refuse_unknown_nodes && !pod.phase.is_finished() {
        let text = |sym| builder.symbols.text(sym);
        let problem = format!("\"{}\" is no node of the input", text(node_name));
        return Err(InputError::field("Pod", text(namespace), text(pod.name), "spec.nodeName", problem));
    }
    Ok(())
}

/// Renumbers classes by their first pod, then those of replacements, so that numbers do not depend on the order of the input.
fn number_specs(specs: Vec<PodSpec>, pods: &mut [Pod]) -> Vec<PodSpec> {
    let mut place: Vec<Option<SpecIdx>> = vec![None; specs.len()];
    let mut order = Vec::with_capacity(specs.len());
    let mut number = |from: SpecIdx| {
        *place[from.at()].get_or_insert_with(|| {
            order.push(from.at());
            SpecIdx::new(order.len() - 1)
        })
    };
    for pod in &mut *pods {
        pod.spec = number(pod.spec);
    }
    for pod in pods {
        pod.replacement = pod.replacement.map(&mut number);
    }
    let mut specs: Vec<Option<PodSpec>> = specs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|from| specs[from].take()).collect()
}

fn number_budgets(
    drafts: Vec<DraftBudget>,
    namespace_index: &FxHashMap<Sym, NamespaceIdx>,
    pods: &mut [Pod],
    specs: &[PodSpec],
    symbols: &Symbols,
) -> Vec<Budget> {
    let mut budgets: Vec<Budget> =
        drafts.into_iter().map(|d| Budget { namespace: namespace_index[&d.namespace], ..d.budget }).collect();
    budgets.sort_by(|a, b| (a.namespace, symbols.text(a.name)).cmp(&(b.namespace, symbols.text(b.name))));
    let mut by_namespace: FxHashMap<NamespaceIdx, Vec<usize>> = FxHashMap::default();
    for (at, budget) in budgets.iter().enumerate() {
        by_namespace.entry(budget.namespace).or_default().push(at);
    }
    if budgets.is_empty() {
        return budgets;
    }
    for (at, pod) in pods.iter_mut().enumerate() {
        let Some(near) = by_namespace.get(&pod.namespace) else { continue };
        let labels = &specs[pod.spec.at()].labels;
        let selects = |&&b: &&usize| budgets[b].selector.as_ref().is_some_and(|s| s.matches(labels, symbols));
        let covering: Vec<usize> = near.iter().filter(selects).copied().collect();
        if pod.phase.is_finished() || pod.lost {
            continue;
        }
        for &budget in &covering {
            budgets[budget].pods.push(PodIdx::new(at));
        }
        if !covering.is_empty() {
            pod.rare.get_or_insert_default().budgets = covering.into_iter().map(BudgetIdx::new).collect();
        }
    }
    budgets
}
