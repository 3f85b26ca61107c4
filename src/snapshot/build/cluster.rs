//! Nodes, namespaces, groups, queues and budgets.
//!
//! May import: snapshot

use super::resources::{Place, kube_units, volcano_knows, volcano_units};
use super::{Builder, DraftBudget, DraftGroup, DraftNamespace};
use crate::snapshot::model::{
    Budget, BudgetStatus, Effect, GroupOrigin, Labels, NamespaceIdx, Node, NodeClassIdx, PodGroup, Queue,
    Ready, Requests, ResourceIdx, Sym, Taint,
};
use crate::snapshot::read::InputError;
use crate::snapshot::view::basic::Pairs;
use crate::snapshot::view::cluster::{
    BudgetView, NamespaceView, NodeView, PodGroupView, QueueView, TaintView,
};

/// Namespaces are numbered at the end.
const UNNUMBERED: NamespaceIdx = NamespaceIdx::UNSET;

pub(super) fn effect(text: &str) -> Effect {
    match text {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Other,
    }
}

impl Builder {
    pub(super) fn taint(&mut self, view: &TaintView<'_>) -> Taint {
        Taint {
            key: self.symbols.intern(&view.key),
            value: self.symbols.intern(&view.value),
            effect: effect(&view.effect),
        }
    }

    pub(super) fn node(&mut self, view: &NodeView<'_>) -> Result<(), InputError> {
        let place = Place { kind: "Node", namespace: "", name: &view.metadata.name };
        if view.metadata.name.is_empty() {
            return Err(place.error("metadata.name", "is missing"));
        }
        let amounts = self.resources.amounts(&view.status.allocatable, &mut self.symbols, place, || {
            "status.allocatable".to_owned()
        })?;
        let mut named: Vec<ResourceIdx> = amounts.iter().map(|&(resource, _)| resource).collect();
        named.sort_unstable();
        let mut allocatable = vec![0; self.resources.count()];
        for &(resource, amount) in &kube_units(&amounts).0 {
            allocatable[resource.at()] = amount;
        }
        let ready = view.status.conditions.iter().any(|c| &*c.kind == "Ready" && &*c.status == "True");
        let oversubscription = ["volcano.sh/oversubscription-cpu", "volcano.sh/oversubscription-memory"]
            .map(|key| view.metadata.annotations.get(key).and_then(|v| v.parse().ok()).unwrap_or(0));
        let mut features: Vec<Sym> =
            view.status.declared_features.iter().map(|f| self.symbols.intern(f)).collect();
        features.sort_unstable();
        features.dedup();
        let taints = view.spec.taints.iter().map(|t| self.taint(t)).collect();
        let node = Node {
            name: self.symbols.intern(&view.metadata.name),
            uid: self.symbols.intern(&view.metadata.uid),
            labels: self.labels(&view.metadata.labels),
            taints,
            unschedulable: view.spec.unschedulable == Some(true),
            ready: if ready { Ready::Yes } else { Ready::No },
            deleting: view.metadata.deletion_timestamp.is_some(),
            features: features.into_boxed_slice(),
            allocatable: allocatable.into_boxed_slice(),
            named: named.into_boxed_slice(),
            oversubscription,
            class: NodeClassIdx::new(0),
        };
        self.nodes.push(node);
        Ok(())
    }

    pub(super) fn namespace(&mut self, view: &NamespaceView<'_>) {
        let name = self.symbols.intern(&view.metadata.name);
        let labels = self.labels(&view.metadata.labels);
        let annotations = self.labels(&view.metadata.annotations);
        self.namespaces.insert(name, DraftNamespace { labels, annotations });
    }

    pub(super) fn pod_group(&mut self, view: &PodGroupView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let place = Place { kind: "PodGroup", namespace: &meta.namespace, name: &meta.name };
        if meta.name.is_empty() {
            return Err(place.error("metadata.name", "is missing"));
        }
        let min_member = view.spec.min_member.unwrap_or(0);
        if min_member < 0 {
            return Err(place.error("spec.minMember", format!("{min_member} is negative")));
        }
        let namespace = self.namespace_of(&meta.namespace);
        let owner = self.owner_key(namespace, &meta.owner_references);
        let queue = match &*view.spec.queue {
            "" => self.known.default_queue,
            name => self.symbols.intern(name),
        };
        let least = &view.spec.min_resources;
        let min_resources = if least.is_empty() {
            None
        } else {
            Some(self.volcano_amounts(place, least, "spec.minResources")?)
        };
        let tasks = view.spec.min_task_member.iter().flatten();
        let min_task_member = tasks.map(|(task, &least)| (self.symbols.intern(task), least)).collect();
        let topology =
            view.spec.network_topology.as_ref().filter(|t| &*t.mode == "hard" || t.mode.is_empty());
        let group = PodGroup {
            namespace: UNNUMBERED,
            name: self.symbols.intern(&meta.name),
            uid: self.symbols.intern(&meta.uid),
            labels: self.labels(&meta.labels),
            annotations: self.labels(&meta.annotations),
            owner: None,
            min_member,
            min_task_member,
            min_resources,
            queue,
            phase: self.symbols.intern(&view.status.phase),
            hard_tier: topology.map(|t| t.highest_tier_allowed.unwrap_or(1)),
            origin: GroupOrigin::Object,
            pods: Vec::new(),
        };
        self.groups.push(DraftGroup { group, namespace, owner });
        Ok(())
    }

    pub(super) fn queue(&mut self, view: &QueueView<'_>) -> Result<(), InputError> {
        let name = self.symbols.intern(&view.metadata.name);
        let place = Place { kind: "Queue", namespace: "", name: &view.metadata.name };
        let spec = &view.spec;
        let queue = Queue {
            name,
            open: matches!(&*view.status.state, "" | "Open"),
            capability: self.volcano_amounts(place, &spec.capability, "spec.capability")?,
            deserved: self.volcano_amounts(place, &spec.deserved, "spec.deserved")?,
            guarantee: self.volcano_amounts(place, &spec.guarantee.resource, "spec.guarantee.resource")?,
            parent: self.symbols.intern(&spec.parent),
            weight: spec.weight.unwrap_or(1),
        };
        self.queues.push(queue);
        Ok(())
    }

    /// Amounts of an object of Volcano, in its units.
    fn volcano_amounts(
        &mut self,
        place: Place<'_>,
        pairs: &Pairs<'_>,
        field: &str,
    ) -> Result<Requests, InputError> {
        let amounts = self.resources.amounts(pairs, &mut self.symbols, place, || field.to_owned())?;
        let known: Vec<_> = pairs
            .iter()
            .map(|(n, _)| (self.resources.intern(n, &mut self.symbols), volcano_knows(n)))
            .collect();
        Ok(volcano_units(&amounts, |r| known.iter().any(|&(k, keep)| k == r && keep)))
    }

    pub(super) fn budget(&mut self, view: &BudgetView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let place = Place { kind: "PodDisruptionBudget", namespace: &meta.namespace, name: &meta.name };
        if meta.name.is_empty() {
            return Err(place.error("metadata.name", "is missing"));
        }
        let namespace = self.namespace_of(&meta.namespace);
        let status = view.status.as_ref().map(|s| BudgetStatus {
            disruptions_allowed: s.disruptions_allowed,
            current_healthy: s.current_healthy,
            desired_healthy: s.desired_healthy,
            expected_pods: s.expected_pods,
            sync_failed: s.conditions.iter().any(|c| {
                &*c.kind == "DisruptionAllowed" && &*c.status == "False" && &*c.reason == "SyncFailed"
            }),
            stale: matches!((s.observed_generation, meta.generation), (Some(seen), Some(now)) if seen < now),
        });
        let budget = Budget {
            namespace: UNNUMBERED,
            name: self.symbols.intern(&meta.name),
            selector: view.spec.selector.as_ref().map(|s| self.selector(s)),
            min_available: view.spec.min_available.as_ref().map(|t| self.symbols.intern(t)),
            max_unavailable: view.spec.max_unavailable.as_ref().map(|t| self.symbols.intern(t)),
            always_allow_unhealthy: &*view.spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
            status,
            pods: Vec::new(),
        };
        self.budgets.push(DraftBudget { budget, namespace });
        Ok(())
    }

    /// Labels that every namespace has, whether its object was read or not.
    pub(super) fn namespace_labels(&mut self, name: Sym, read: Option<&DraftNamespace>) -> Labels {
        let key = self.symbols.intern("kubernetes.io/metadata.name");
        let mut pairs = vec![(key, name)];
        pairs.extend(read.iter().flat_map(|n| n.labels.pairs().iter().copied()));
        Labels::new(pairs)
    }
}
