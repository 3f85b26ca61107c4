//! Pods and pod templates.
//!
//! May import: snapshot

use super::resources::{Place, kube_units, volcano_knows, volcano_round, volcano_units};
use super::{Builder, DraftPod};
use crate::snapshot::model::pod::{ContainerRole, PodDetails};
use crate::snapshot::model::{
    Labels, NamespaceIdx, NodeRulesIdx, Phase, Pod, PodSpec, Requests, RequestsIdx, ResourceIdx, SpecIdx, Sym,
};
use crate::snapshot::names;
use crate::snapshot::quantity::Quantity;
use crate::snapshot::read::InputError;
use crate::snapshot::request::{Amounts, Container, PodResources};
use crate::snapshot::view::basic::Pairs;
use crate::snapshot::view::pod::{ContainerView, PodView, ResourcesView};

/// Annotations that name the group of a pod, the stronger one first.
const GROUP_NAMES: [&str; 2] = [names::GROUP_NAME, names::GROUP_NAME_VOLCANO];

/// First minor version whose scheduler compares totals instead of containers when a pod is resized.
const TOTALS_COMPARED_SINCE: u32 = 37;

impl Builder {
    pub(super) fn draft_pod(&mut self, view: &PodView<'_>, candidate: bool) -> Result<(), InputError> {
        let meta = &view.metadata;
        let place = Place { kind: "Pod", namespace: &meta.namespace, name: &meta.name };
        if meta.name.is_empty() {
            return Err(place.error("metadata.name", "is missing"));
        }
        let namespace = self.namespace_of(&meta.namespace);
        let resources = self.pod_resources(view, place)?;
        let phase = match &*view.status.phase {
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            "Pending" | "" => Phase::Pending,
            _ => Phase::Unknown,
        };
        // A pod that is bound names its node as a fact; a rule only remains where the pod was made with it, which
        // a bound pod no longer tells.
        let wish = if candidate { &*view.spec.node_name } else { "" };
        let spec = self.spec(view, namespace, wish, &resources, false);
        let (charged, charged_volcano) = if resources.is_plain() {
            let plain = &self.specs.values()[spec.at()];
            (plain.requests, plain.volcano_requests)
        } else {
            let kube = if self.options.kubernetes_minor >= TOTALS_COMPARED_SINCE {
                resources.charged()
            } else {
                resources.charged_until_1_36()
            };
            let volcano = resources.volcano_charged(volcano_round);
            (self.kube_requests(&kube), self.volcano_requests(&volcano))
        };
        let owner = self.owner_key(namespace, &meta.owner_references);
        // What names the group is told by `Pod::group`.
        let others = meta.annotations.iter().filter(|(key, _)| !GROUP_NAMES.contains(&&**key));
        let annotations =
            Labels::new(others.map(|(k, v)| (self.symbols.intern(k), self.symbols.intern(v))).collect());
        let group_name = GROUP_NAMES
            .iter()
            .find_map(|key| meta.annotations.get(key).filter(|v| !v.is_empty()))
            .map_or(Sym::EMPTY, |name| self.symbols.intern(name));
        let claim_names = view.status.resource_claim_statuses.iter().map(|s| {
            let claim = s.resource_claim_name.as_deref().unwrap_or_default();
            (self.symbols.intern(&s.name), self.symbols.intern(claim))
        });
        let rare = PodDetails { budgets: Box::default(), annotations, claim_names: claim_names.collect() };
        let pod = Pod {
            name: self.symbols.intern(&meta.name),
            namespace: NamespaceIdx::UNSET,
            uid: self.symbols.intern(&meta.uid),
            spec,
            charged,
            charged_volcano,
            node: None,
            lost: false,
            phase,
            terminating: meta.deletion_timestamp.is_some(),
            nominated: None,
            ready: view.status.conditions.iter().any(|c| &*c.kind == "Ready" && &*c.status == "True"),
            created: created(meta.creation_timestamp.as_deref()),
            owner: None,
            group: None,
            replacement: None,
            template: None,
            mirror: meta.annotations.get(names::MIRROR).is_some()
                || meta.owner_references.iter().any(|r| &*r.kind == "Node"),
            rare: (rare != PodDetails::default()).then(|| Box::new(rare)),
        };
        let node_name = self.symbols.intern(&view.spec.node_name);
        let nominated = self.symbols.intern(&view.status.nominated_node_name);
        let overhead = resources.overhead;
        self.pods.push(DraftPod {
            pod,
            namespace,
            node_name,
            nominated,
            owner,
            group_name,
            overhead,
            candidate,
        });
        Ok(())
    }

    /// The class of a pod or template. `node_name` is the node that the pod itself asks for.
    pub(super) fn spec(
        &mut self,
        view: &PodView<'_>,
        namespace: Sym,
        node_name: &str,
        resources: &PodResources,
        template: bool,
    ) -> SpecIdx {
        let labels = self.labels(&view.metadata.labels);
        let rules = self.rules(&view.spec, node_name);
        let affinity = view.spec.affinity.as_deref();
        let mut terms = |which: Option<&crate::snapshot::view::pod::PodAffinityView<'_>>| -> Box<[_]> {
            which
                .iter()
                .flat_map(|a| a.required.iter())
                .map(|t| self.pod_term(t, namespace, &labels, template))
                .collect()
        };
        let attract = terms(affinity.and_then(|a| a.pod_affinity.as_ref()));
        let repel = terms(affinity.and_then(|a| a.pod_anti_affinity.as_ref()));
        let hard = view
            .spec
            .topology_spread_constraints
            .iter()
            .filter(|s| &*s.when_unsatisfiable == "DoNotSchedule");
        let spread = hard.map(|s| self.spread(s, &labels)).collect();
        let gates = view.spec.scheduling_gates.iter().map(|g| self.symbols.intern(&g.name)).collect();
        let kube = resources.of_new_pod();
        let volcano = resources.volcano_of_new_pod(volcano_round);
        let spec = PodSpec {
            namespace,
            labels,
            scheduler: match &*view.spec.scheduler_name {
                "" => self.known.default_scheduler,
                name => self.symbols.intern(name),
            },
            priority: view.spec.priority.unwrap_or(0),
            node_rules: NodeRulesIdx::new(self.node_rules.intern(rules)),
            requests: self.kube_requests(&kube),
            volcano_requests: self.volcano_requests(&volcano),
            container_extended: self.container_extended(resources),
            host_ports: self.host_ports(&view.spec),
            affinity: attract,
            anti_affinity: repel,
            spread,
            volumes: self.volumes(&view.spec),
            claims: self.pod_claims(view),
            gates,
            native_group: view.spec.scheduling_group.is_some() || view.spec.workload_ref.is_some(),
        };
        SpecIdx::new(self.specs.intern(spec))
    }

    fn kube_requests(&mut self, amounts: &Amounts) -> RequestsIdx {
        RequestsIdx::new(self.requests.intern(kube_units(amounts)))
    }

    fn volcano_requests(&mut self, amounts: &Amounts) -> RequestsIdx {
        let units = {
            let names = self.resources.names();
            volcano_units(amounts, |r| volcano_knows(self.symbols.text(names[r.at()])))
        };
        RequestsIdx::new(self.requests.intern(units))
    }

    /// Extended resources container by container, zeros left out; empty when only one kind of pod asks for none.
    fn container_extended(&self, resources: &PodResources) -> Box<[(ContainerRole, Requests)]> {
        let names = self.resources.names();
        let extended =
            |r: ResourceIdx| r > ResourceIdx::PODS && self.symbols.text(names[r.at()]).contains('/');
        let per_container = resources.containers.iter().map(|c| {
            let mut amounts: Vec<_> = c
                .spec
                .iter()
                .filter(|&&(r, q)| extended(r) && q > Quantity::ZERO)
                .map(|&(r, q)| (r, q.ceil_units()))
                .collect();
            amounts.sort_unstable();
            let role = match (c.sidecar, c.init) {
                (true, _) => ContainerRole::Sidecar,
                (false, true) => ContainerRole::Init,
                (false, false) => ContainerRole::App,
            };
            (role, Requests(amounts.into_boxed_slice()))
        });
        per_container.collect()
    }

    /// Reads all amounts of a pod.
    pub(super) fn pod_resources(
        &mut self,
        view: &PodView<'_>,
        place: Place<'_>,
    ) -> Result<PodResources, InputError> {
        let (spec, status) = (&view.spec, &view.status);
        let mut containers = Vec::with_capacity(spec.containers.len() + spec.init_containers.len());
        for (init, list) in [(true, &spec.init_containers), (false, &spec.containers)] {
            for (at, container) in list.iter().enumerate() {
                let field = if init { "spec.initContainers" } else { "spec.containers" };
                let mut read = self.container(container, place, || format!("{field}[{at}]"))?;
                read.init = init;
                read.sidecar = init && &*container.restart_policy == "Always";
                let statuses =
                    if init { &status.init_container_statuses } else { &status.container_statuses };
                if let Some(seen) = statuses.iter().find(|s| s.name == container.name) {
                    read.allocated = self.optional(seen.allocated_resources.as_ref(), place)?;
                    read.actual = self.optional(seen.resources.as_ref().map(|r| &r.requests), place)?;
                }
                containers.push(read);
            }
        }
        let level_allocated = self.optional(status.allocated_resources.as_ref(), place)?;
        let level_actual = self.optional(status.resources.as_ref().map(|r| &r.requests), place)?;
        let mut level = match &spec.resources {
            Some(r) if !(r.requests.is_empty() && r.limits.is_empty()) => {
                Some(self.with_limits(r, place, || "spec.resources".to_owned())?)
            }
            _ => None,
        };
        let is_of_level = |resource: ResourceIdx| {
            resource == ResourceIdx::CPU
                || resource == ResourceIdx::MEMORY
                || self.symbols.text(self.resources.names()[resource.at()]).starts_with("hugepages-")
        };
        if let Some(level) = &mut level {
            level.retain(|&(resource, _)| is_of_level(resource));
        }
        let seen = level_allocated.iter().chain(&level_actual).flatten().map(|&(resource, _)| resource);
        let not_of_level = seen.filter(|&resource| !is_of_level(resource)).collect();
        Ok(PodResources {
            containers,
            level,
            level_allocated,
            level_actual,
            not_of_level,
            overhead: self
                .resources
                .amounts(&spec.overhead, &mut self.symbols, place, || "spec.overhead".to_owned())?,
            infeasible: status
                .conditions
                .iter()
                .any(|c| &*c.kind == "PodResizePending" && &*c.reason == "Infeasible"),
        })
    }

    fn container(
        &mut self,
        view: &ContainerView<'_>,
        place: Place<'_>,
        field: impl Fn() -> String,
    ) -> Result<Container, InputError> {
        let spec = self.with_limits(&view.resources, place, || format!("{}.resources", field()))?;
        Ok(Container { spec, ..Container::default() })
    }

    /// Requests, and limits where the request is missing: the default that admission gives.
    fn with_limits(
        &mut self,
        view: &ResourcesView<'_>,
        place: Place<'_>,
        field: impl Fn() -> String,
    ) -> Result<Amounts, InputError> {
        let symbols = &mut self.symbols;
        let mut amounts =
            self.resources.amounts(&view.requests, symbols, place, || format!("{}.requests", field()))?;
        if view.limits.iter().any(|(name, _)| view.requests.get(name).is_none()) {
            let limits =
                self.resources.amounts(&view.limits, symbols, place, || format!("{}.limits", field()))?;
            for (resource, amount) in limits {
                if !amounts.iter().any(|&(r, _)| r == resource) {
                    amounts.push((resource, amount));
                }
            }
        }
        Ok(amounts)
    }

    fn optional(
        &mut self,
        pairs: Option<&Pairs<'_>>,
        place: Place<'_>,
    ) -> Result<Option<Amounts>, InputError> {
        pairs.map(|p| self.resources.amounts(p, &mut self.symbols, place, || "status".to_owned())).transpose()
    }
}

/// Seconds since 1970 of an RFC 3339 time; 0 when absent or unreadable (ages then are unknown, never negative).
pub(super) fn created(text: Option<&str>) -> u32 {
    text.and_then(|t| t.parse::<jiff::Timestamp>().ok())
        .map_or(0, |t| u32::try_from(t.as_second()).unwrap_or(0))
}
