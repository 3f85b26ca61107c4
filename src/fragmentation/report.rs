//! The report of fragmentation: fills the document in that tables, metrics and the heat map read.
//!
//! Cost: the optimum aside, a few passes over the nodes and the pods on them per resource.
//!
//! May import: snapshot, fragmentation, api

use super::document::{
    Amount, Cards, FitReport, FragmentationReport, Holder, HoleReport, KIND, NodeCount, NodeReport, PodCount,
    PoolReport, ResourceReport, Special, Summary, Unmovable,
};
use super::holes::Fit;
use super::load::{Closed, Load, NodeLoad};
use super::pools::{self, Totals};
use crate::api::API_VERSION;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, NamespaceIdx, Pod, PodIdx, ResourceIdx};

/// What to report on.
#[derive(Clone, Copy, Default)]
pub struct ReportOptions<'a> {
    /// Resources by name; empty = every extended resource that some pod requests.
    pub resources: &'a [String],
    /// Node label whose values are the pools.
    pub group_by: Option<&'a str>,
    /// Which pods may move, asked once per resource. Not given: nothing is said about it.
    pub movability: Option<&'a dyn Fn(ResourceIdx) -> Movability>,
}

/// Which pods that hold a resource may move, as the planner sees it.
#[derive(Clone, Debug, Default)]
pub struct Movability {
    /// By pod: the code of the reason that it stays for.
    pub refused: Vec<Option<&'static str>>,
    /// The reasons, most cards first.
    pub unmovable: Vec<Unmovable>,
}

impl<'s> FragmentationReport<'s> {
    /// The report of a cluster.
    pub fn new(snapshot: &'s Snapshot, options: &ReportOptions<'_>) -> Self {
        let used = resources_in_use(snapshot);
        let mut names: Vec<String> = options.resources.to_vec();
        if names.is_empty() {
            names.extend(used.iter().map(|&r| snapshot.resource_name(r).to_owned()));
        }
        names.sort_unstable();
        names.dedup();
        let is_unused = |r: &ResourceIdx| {
            let provided = snapshot.nodes.iter().any(|node| node.allocatable[r.at()] > 0);
            provided && !used.contains(r) && !names.iter().any(|name| name == snapshot.resource_name(*r))
        };
        let unused_resources = snapshot.extended_resources().into_iter().filter(is_unused);
        let unused_resources = unused_resources.map(|r| snapshot.resource_name(r)).collect();
        let resources = names.into_iter().map(|name| ResourceReport::new(snapshot, name, options)).collect();
        let group_by = options.group_by.map(str::to_owned);
        Self { api_version: API_VERSION, kind: KIND, group_by, resources, unused_resources }
    }
}

/// Extended resources that some pod requests that is not finished, by name.
pub fn resources_in_use(snapshot: &Snapshot) -> Vec<ResourceIdx> {
    let mut requested = vec![false; snapshot.resources.len()];
    for pod in snapshot.pods.iter().filter(|pod| !pod.phase.is_finished()) {
        for &(resource, amount) in &snapshot.requests(pod.charged).0 {
            requested[resource.at()] |= amount > 0;
        }
    }
    let mut resources = snapshot.extended_resources();
    resources.retain(|r| requested[r.at()]);
    resources
}

impl<'s> ResourceReport<'s> {
    fn new(snapshot: &'s Snapshot, name: String, options: &ReportOptions<'_>) -> Self {
        let Some(resource) = snapshot.resource_named(&name) else { return Self::unknown(name) };
        let load = Load::live(snapshot, resource);
        let movability = options.movability.map(|ask| ask(resource)).unwrap_or_default();
        let totals = pools::cluster(snapshot, &load);
        let note = match (totals.rate.providing, totals.rate.occupied) {
            (0, _) => Some("no node provides it"),
            (_, 0) => Some("no pod on these nodes holds any"),
            _ => None,
        };
        let pools = options.group_by.map(|label| pools::by_label(snapshot, &load, label)).unwrap_or_default();
        Self {
            resource: name,
            note,
            summary: Summary::new(&totals),
            waiting: waiting(snapshot, resource),
            special: special(snapshot, &load),
            nodes: node_reports(snapshot, &load, options.group_by, &movability.refused),
            unmovable: movability.unmovable,
            pools: pools
                .into_iter()
                .map(|pool| PoolReport { name: pool.name, summary: Summary::new(&pool.totals) })
                .collect(),
        }
    }

    /// A name that neither a node nor a pod of the input has.
    fn unknown(name: String) -> Self {
        Self {
            resource: name,
            note: Some("no node provides it and no pod requests it"),
            summary: Summary::new(&Totals::default()),
            waiting: Amount::default(),
            special: Special::default(),
            unmovable: Vec::new(),
            pools: Vec::new(),
            nodes: Vec::new(),
        }
    }
}

impl Summary {
    fn new(totals: &Totals) -> Self {
        let rate = &totals.rate;
        let fit = |fit: &Fit| FitReport { cards: fit.size, pods: fit.pods };
        let holes = totals.holes.histogram.iter();
        Self {
            nodes: rate.providing,
            occupied_nodes: rate.occupied,
            emptying_nodes: totals.emptying,
            closed_nodes: totals.closed,
            optimal_occupied_nodes: rate.optimum,
            optimum_exact: rate.optimum_exact,
            frag_percent: rate.percent(),
            frag_exact: rate.exact(),
            cards: Cards {
                total: totals.total,
                used: totals.used,
                free: totals.free,
                free_on_closed_nodes: totals.free_closed,
            },
            holes: holes.map(|hole| HoleReport { free: hole.free, nodes: hole.nodes }).collect(),
            fits: totals.holes.fits.iter().map(fit).collect(),
            largest_job: totals.holes.largest_job.as_ref().map(fit),
        }
    }
}

fn waiting(snapshot: &Snapshot, resource: ResourceIdx) -> Amount {
    let waits = |pod: &&Pod| pod.node.is_none() && !pod.lost && !pod.terminating && !pod.phase.is_finished();
    let amounts = snapshot.pods.iter().filter(waits).map(|pod| snapshot.requests(pod.charged).get(resource));
    amounts.filter(|&cards| cards > 0).fold(Amount::default(), |sum, cards| Amount {
        pods: sum.pods + 1,
        cards: sum.cards.saturating_add(cards),
    })
}

fn special<'s>(snapshot: &'s Snapshot, load: &Load) -> Special<'s> {
    let count = |node: &NodeLoad| NodeCount {
        name: snapshot.node_name(node.node),
        pods: node.pods,
        used: node.used,
        free: node.free(),
    };
    let mut special = Special::default();
    for node in load.providing() {
        let closed = Closed::of(snapshot, node.node);
        for (applies, list) in [
            (closed.not_ready, &mut special.not_ready),
            (closed.cordoned, &mut special.cordoned),
            (closed.leaving, &mut special.leaving),
            (node.is_emptying(), &mut special.emptying),
        ] {
            if applies {
                list.push(count(node));
            }
        }
    }
    special.not_providing = load.not_providing().map(count).collect();
    let lost = snapshot.pods.iter().filter(|pod| pod.lost && !pod.phase.is_finished());
    let lost = lost.map(|pod| PodCount {
        namespace: snapshot.namespace_name(pod.namespace),
        name: snapshot.text(pod.name),
        cards: snapshot.requests(pod.charged).get(load.resource),
    });
    special.lost_pods = lost.filter(|pod| pod.cards > 0).collect();
    special
}

fn node_reports<'s>(
    snapshot: &'s Snapshot,
    load: &Load,
    group_by: Option<&str>,
    refused: &[Option<&'static str>],
) -> Vec<NodeReport<'s>> {
    let mut nodes: Vec<&NodeLoad> = load.providing().chain(load.not_providing()).collect();
    nodes.sort_unstable_by_key(|node| node.node);
    let columns = Columns::new(snapshot, load.resource, refused);
    let report = |node: &NodeLoad| NodeReport {
        name: snapshot.node_name(node.node),
        pool: group_by.map(|label| pools::of_node(snapshot, label, node.node)),
        allocatable: node.allocatable,
        used: node.used,
        free: node.free(),
        states: states(Closed::of(snapshot, node.node), node),
        holders: columns.holders(&snapshot.pods_on[node.node.at()]),
    };
    nodes.into_iter().map(report).collect()
}

fn states(closed: Closed, node: &NodeLoad) -> Vec<&'static str> {
    let all = [
        ("Emptying", node.is_emptying()),
        ("NotReady", closed.not_ready),
        ("Cordoned", closed.cordoned),
        ("Leaving", closed.leaving),
        ("NotProviding", !node.provides()),
    ];
    all.into_iter().filter(|&(_, applies)| applies).map(|(state, _)| state).collect()
}

/// What is asked of every pod, close together: nodes hold pods of all namespaces, so that each look at a pod itself is
/// a look somewhere else in memory.
struct Columns<'s, 'a> {
    snapshot: &'s Snapshot,
    /// Cards, namespace and group, by pod.
    pods: Vec<(i64, NamespaceIdx, Option<GroupIdx>)>,
    /// By group.
    names: Vec<&'s str>,
    refused: &'a [Option<&'static str>],
}

impl<'s, 'a> Columns<'s, 'a> {
    fn new(snapshot: &'s Snapshot, resource: ResourceIdx, refused: &'a [Option<&'static str>]) -> Self {
        let pods = snapshot.pods.iter();
        let pods = pods
            .map(|pod| (snapshot.requests(pod.charged).get(resource), pod.namespace, pod.group))
            .collect();
        let names = snapshot.groups.iter().map(|group| snapshot.text(group.name)).collect();
        Self { snapshot, pods, names, refused }
    }

    /// Groups, and pods without one, by namespace and name; apart where some may move and some not.
    fn holders(&self, standing: &[PodIdx]) -> Vec<Holder<'s>> {
        type Key = (Option<GroupIdx>, Option<PodIdx>, Option<&'static str>);
        let mut held: Vec<(Key, PodIdx, i64)> = Vec::with_capacity(standing.len());
        for &pod in standing {
            let (cards, _, group) = self.pods[pod.at()];
            if cards > 0 {
                let refused = self.refused.get(pod.at()).copied().flatten();
                held.push(((group, group.is_none().then_some(pod), refused), pod, cards));
            }
        }
        let snapshot = self.snapshot;
        let namespace = |pod: PodIdx| self.pods[pod.at()].1;
        if held.len() > 1 {
            held.sort_by_cached_key(|&(key, pod, _)| (namespace(pod), key));
        }
        let holder = |same: &[(Key, PodIdx, i64)]| {
            let ((group, alone, refused), first, _) = same[0];
            Holder {
                namespace: snapshot.namespace_name(namespace(first)),
                pod_group: group.map(|group| self.names[group.at()]),
                pod: alone.map(|pod| snapshot.pod_name(pod)),
                pods: u64::try_from(same.len()).unwrap_or(u64::MAX),
                cards: same.iter().fold(0, |sum: i64, &(_, _, cards)| sum.saturating_add(cards)),
                refused,
            }
        };
        held.chunk_by(|a, b| a.0 == b.0).map(holder).collect()
    }
}
