//! Selectors, affinities, spread constraints and volumes of a pod spec.
//!
//! May import: snapshot

use super::Builder;
use super::cluster::effect;
use crate::snapshot::model::pod::{
    ClaimSource, Disk, HostPort, PodClaim, PodTerm, Spread, Toleration, TolerationOp, Volume,
    merge_label_keys,
};
use crate::snapshot::model::selector::{NodeTerm, is_label_value};
use crate::snapshot::model::{Labels, NodeRules, NodeSelector, Op, Requirement, Selector, Sym};
use crate::snapshot::view::basic::{LabelSelectorView, NodeSelectorView, RequirementView, Text};
use crate::snapshot::view::pod::{
    DiskView, PodAffinityTermView, PodSpecView, PodView, SpreadView, TolerationView, VolumeView,
};

/// Feature that a restart rule with action `RestartAllContainers` needs (rulebook 1.14).
const RESTART_ALL: &str = "RestartAllContainersOnContainerExits";

fn operator(text: &str) -> Op {
    match text {
        "In" => Op::In,
        "NotIn" => Op::NotIn,
        "Exists" => Op::Exists,
        "DoesNotExist" => Op::DoesNotExist,
        "Gt" => Op::Gt,
        "Lt" => Op::Lt,
        _ => Op::Invalid,
    }
}

impl Builder {
    fn syms(&mut self, texts: &[Text<'_>]) -> Box<[Sym]> {
        texts.iter().map(|t| self.symbols.intern(t)).collect()
    }

    pub(super) fn requirement(&mut self, view: &RequirementView<'_>) -> Requirement {
        Requirement {
            key: self.symbols.intern(&view.key),
            op: operator(&view.operator),
            values: self.syms(&view.values),
        }
    }

    /// A label selector as requirements; `matchLabels` become `In` with one value.
    pub(super) fn selector(&mut self, view: &LabelSelectorView<'_>) -> Selector {
        let mut requirements: Vec<Requirement> = Vec::new();
        for (key, value) in view.match_labels.iter() {
            let (key, value) = (self.symbols.intern(key), self.symbols.intern(value));
            requirements.push(Requirement { key, op: Op::In, values: Box::new([value]) });
        }
        for expression in view.match_expressions.iter() {
            requirements.push(self.requirement(expression));
        }
        Selector(requirements.into_boxed_slice())
    }

    /// A node selector. A requirement with a value that no label can have (a bound below 0, for instance), a wrong
    /// number of values, a bound that is no integer or an unknown field makes its term match nothing (rulebook 1.2).
    pub(super) fn node_selector(&mut self, view: &NodeSelectorView<'_>) -> NodeSelector {
        let terms = view.node_selector_terms.iter().map(|term| {
            let labels: Box<[Requirement]> =
                term.match_expressions.iter().map(|r| self.requirement(r)).collect();
            let fields: Box<[Requirement]> = term.match_fields.iter().map(|r| self.requirement(r)).collect();
            let wrong_operands = |r: &Requirement| match r.op {
                Op::In | Op::NotIn => r.values.is_empty(),
                Op::Exists | Op::DoesNotExist => !r.values.is_empty(),
                Op::Gt | Op::Lt => match &*r.values {
                    [value] => self.symbols.text(*value).parse::<i64>().is_err(),
                    _ => true,
                },
                Op::Invalid => true,
            };
            let text = |sym: &Sym| self.symbols.text(*sym);
            let broken_label =
                |r: &Requirement| wrong_operands(r) || !r.values.iter().map(text).all(is_label_value);
            let broken_field = |r: &Requirement| {
                self.symbols.text(r.key) != "metadata.name"
                    || !matches!(r.op, Op::In | Op::NotIn)
                    || r.values.len() != 1
            };
            let broken = labels.iter().any(broken_label) || fields.iter().any(broken_field);
            NodeTerm { labels, fields, broken }
        });
        NodeSelector(terms.collect())
    }

    fn toleration(&mut self, view: &TolerationView<'_>) -> Toleration {
        Toleration {
            key: self.symbols.intern(&view.key),
            op: match &*view.operator {
                "" | "Equal" => TolerationOp::Equal,
                "Exists" => TolerationOp::Exists,
                _ => TolerationOp::Other,
            },
            value: self.symbols.intern(&view.value),
            effect: if view.effect.is_empty() { None } else { Some(effect(&view.effect)) },
            finite: view.toleration_seconds.is_some(),
        }
    }

    /// Rules on single nodes. `node_name` is the pod's own wish, empty for a bound pod.
    pub(super) fn rules(&mut self, spec: &PodSpecView<'_>, node_name: &str) -> NodeRules {
        let mut node_selector: Vec<_> = spec
            .node_selector
            .iter()
            .map(|(k, v)| (self.symbols.intern(k), self.symbols.intern(v)))
            .collect();
        node_selector.sort_unstable();
        let required = spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref()?.required.as_ref());
        let restarts_all = |c: &crate::snapshot::view::pod::ContainerView<'_>| {
            c.restart_policy_rules.iter().any(|r| &*r.action == "RestartAllContainers")
        };
        let containers = spec.init_containers.iter().chain(spec.containers.iter());
        let features: Box<[Sym]> = if containers.into_iter().any(restarts_all) {
            Box::new([self.symbols.intern(RESTART_ALL)])
        } else {
            Box::default()
        };
        NodeRules {
            node_name: self.symbols.intern(node_name),
            node_selector: node_selector.into_boxed_slice(),
            affinity: required.map(|s| self.node_selector(s)),
            tolerations: spec.tolerations.iter().map(|t| self.toleration(t)).collect(),
            features,
        }
    }

    /// A pod (anti-)affinity term. The API server merges (mis)matchLabelKeys into live pods; `template` does it
    /// for pods that are not made yet.
    pub(super) fn pod_term(
        &mut self,
        view: &PodAffinityTermView<'_>,
        namespace: Sym,
        labels: &Labels,
        template: bool,
    ) -> PodTerm {
        let mut selector = view.label_selector.as_ref().map(|s| self.selector(s));
        if let Some(Selector(requirements)) = selector.as_mut().filter(|_| template) {
            let mut merged = std::mem::take(requirements).into_vec();
            let (same, other) = (self.syms(&view.match_label_keys), self.syms(&view.mismatch_label_keys));
            merge_label_keys(&mut merged, &same, labels, Op::In);
            merge_label_keys(&mut merged, &other, labels, Op::NotIn);
            *requirements = merged.into_boxed_slice();
        }
        let mut namespaces = self.syms(&view.namespaces).into_vec();
        if namespaces.is_empty() && view.namespace_selector.is_none() {
            namespaces.push(namespace);
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        PodTerm {
            selector,
            namespaces: namespaces.into_boxed_slice(),
            namespace_selector: view.namespace_selector.as_ref().map(|s| self.selector(s)),
            topology_key: self.symbols.intern(&view.topology_key),
        }
    }

    pub(super) fn spread(&mut self, view: &SpreadView<'_>, labels: &Labels) -> Spread {
        let mut selector = view.label_selector.as_ref().map(|s| self.selector(s));
        if let Some(Selector(requirements)) = &mut selector {
            let mut merged = std::mem::take(requirements).into_vec();
            let keys = self.syms(&view.match_label_keys);
            merge_label_keys(&mut merged, &keys, labels, Op::In);
            *requirements = merged.into_boxed_slice();
        }
        Spread {
            max_skew: view.max_skew,
            topology_key: self.symbols.intern(&view.topology_key),
            selector,
            min_domains: view.min_domains.unwrap_or(1),
            honor_affinity: &*view.node_affinity_policy != "Ignore",
            honor_taints: &*view.node_taints_policy == "Honor",
        }
    }

    /// Host ports of app containers and sidecars, normalised and sorted (rulebook 1.6). A template of a
    /// `hostNetwork` pod gets the default that admission would give it.
    pub(super) fn host_ports(&mut self, spec: &PodSpecView<'_>) -> Box<[HostPort]> {
        let sidecars = spec.init_containers.iter().filter(|c| &*c.restart_policy == "Always");
        let mut ports = Vec::new();
        for port in spec.containers.iter().chain(sidecars).flat_map(|c| c.ports.iter()) {
            let mut number = port.host_port.unwrap_or(0);
            if number == 0 && spec.host_network == Some(true) {
                number = port.container_port.unwrap_or(0);
            }
            if number <= 0 {
                continue;
            }
            ports.push(HostPort {
                port: number,
                protocol: match &*port.protocol {
                    "" => self.known.tcp,
                    text => self.symbols.intern(text),
                },
                ip: match &*port.host_ip {
                    "" => self.known.any_address,
                    text => self.symbols.intern(text),
                },
            });
        }
        ports.sort_unstable();
        ports.dedup();
        ports.into_boxed_slice()
    }

    pub(super) fn volumes(&mut self, spec: &PodSpecView<'_>) -> Box<[Volume]> {
        spec.volumes.iter().filter_map(|v| self.volume(v)).collect()
    }

    fn volume(&mut self, view: &VolumeView<'_>) -> Option<Volume> {
        let read_only = |d: &DiskView<'_>| d.read_only == Some(true);
        if let Some(claim) = &view.persistent_volume_claim {
            Some(Volume::Claim(self.symbols.intern(&claim.claim_name)))
        } else if view.ephemeral.is_some() {
            Some(Volume::Ephemeral(self.symbols.intern(&view.name)))
        } else if let Some(d) = &view.gce_persistent_disk {
            Some(Volume::Disk(Disk::Gce(self.symbols.intern(&d.pd_name)), read_only(d)))
        } else if let Some(d) = &view.aws_elastic_block_store {
            Some(Volume::Disk(Disk::Aws(self.symbols.intern(&d.volume_id)), read_only(d)))
        } else if let Some(d) = &view.iscsi {
            Some(Volume::Disk(Disk::Iscsi(self.symbols.intern(&d.iqn)), read_only(d)))
        } else if let Some(d) = &view.rbd {
            let mut monitors = self.syms(&d.monitors).into_vec();
            monitors.sort_unstable();
            let pool = if d.pool.is_empty() { self.known.rbd } else { self.symbols.intern(&d.pool) };
            let image = self.symbols.intern(&d.image);
            Some(Volume::Disk(Disk::Rbd(monitors.into_boxed_slice(), pool, image), read_only(d)))
        } else if view.host_path.is_some() {
            Some(Volume::HostPath)
        } else if view.empty_dir.is_some() {
            Some(Volume::EmptyDir)
        } else {
            None
        }
    }

    pub(super) fn pod_claims(&mut self, view: &PodView<'_>) -> Box<[PodClaim]> {
        let claims = view.spec.resource_claims.iter().filter_map(|claim| {
            let source = match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
                (Some(name), _) if !name.is_empty() => ClaimSource::Named(self.symbols.intern(name)),
                (_, Some(template)) => ClaimSource::Template(self.symbols.intern(template)),
                _ => return None,
            };
            Some(PodClaim { name: self.symbols.intern(&claim.name), source })
        });
        claims.collect()
    }
}
