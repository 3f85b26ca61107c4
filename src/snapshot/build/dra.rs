//! Slices, classes, claims and templates: from views to the model.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use super::Builder;
use super::pod::created;
use super::resources::Place;
use crate::snapshot::model::dra::{
    Allocated, Allocation, Alternative, Amount, AttributeValue, Claim, ClaimSpec, ClaimTemplate, Constraint,
    ConstraintKind, Device, DeviceClass, DeviceRequest, DeviceTaint, DeviceToleration, Reach,
};
use crate::snapshot::model::intern::Distinct;
use crate::snapshot::model::{ClaimSpecIdx, DeviceIdx, Sym};
use crate::snapshot::names;
use crate::snapshot::read::InputError;
use crate::snapshot::view::basic::{List, MetaView, NodeSelectorView, Text};
use crate::snapshot::view::cluster::TaintView;
use crate::snapshot::view::dra::{
    AllocationView, AttributeView, ClaimSpecView, ClaimTemplateView, ClaimView, ConstraintView,
    DeviceClassView, DeviceSelectorView, DeviceTaintRuleView, DeviceView, RequestView, SliceView,
};
use crate::snapshot::view::pod::TolerationView;

/// Since then `distinctAttribute` compares a device with all others, those of its own request included.
const ALL_DISTINCT_SINCE: u32 = 37;

/// A slice before pools are put together.
#[derive(Debug)]
pub(super) struct DraftSlice {
    pub name: Sym,
    pub driver: Sym,
    pub pool: Sym,
    pub generation: i64,
    pub count: i64,
    pub reach: Reach,
    /// Positions in [`Draft::devices`].
    pub devices: std::ops::Range<usize>,
}

/// A class and what decides between classes that serve the same extended resource.
#[derive(Debug)]
pub(super) struct DraftClass {
    pub class: DeviceClass,
    pub serves: Option<Sym>,
    pub created: i64,
}

/// A taint rule; an absent part of the selector is not compared.
#[derive(Debug)]
pub(super) struct DraftTaintRule {
    pub driver: Option<Sym>,
    pub pool: Option<Sym>,
    pub device: Option<Sym>,
    pub taint: DeviceTaint,
}

/// Everything of `resource.k8s.io` before references are resolved.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub slices: Vec<DraftSlice>,
    pub devices: Vec<Device>,
    /// Driver, pool, name → device.
    pub ids: FxHashMap<(Sym, Sym, Sym), DeviceIdx>,
    pub classes: Vec<DraftClass>,
    pub specs: Distinct<ClaimSpec>,
    pub claims: Vec<Claim>,
    pub templates: Vec<ClaimTemplate>,
    pub taint_rules: Vec<DraftTaintRule>,
    pub unknown_taint_rule: Option<Sym>,
}

impl Builder {
    pub(super) fn resource_slice(&mut self, view: &SliceView<'_>) -> Result<(), InputError> {
        named("ResourceSlice", &view.metadata)?;
        let spec = &view.spec;
        let driver = self.symbols.intern(&spec.driver);
        let pool = self.symbols.intern(&spec.pool.name);
        let reach = if spec.per_device_node_selection == Some(true) {
            Reach::PerDevice
        } else {
            self.reach(spec.node_name.as_ref(), spec.all_nodes, spec.node_selector.as_ref())
        };
        let first = self.dra.devices.len();
        for device in spec.devices.iter() {
            let mut device = self.device(device, driver, pool);
            if !matches!(reach, Reach::PerDevice) {
                device.reach = Reach::All;
            }
            self.dra.devices.push(device);
        }
        let name = self.symbols.intern(&view.metadata.name);
        self.dra.slices.push(DraftSlice {
            name,
            driver,
            pool,
            generation: spec.pool.generation,
            count: spec.pool.resource_slice_count,
            reach,
            devices: first..self.dra.devices.len(),
        });
        Ok(())
    }

    fn device_id(&mut self, driver: Sym, pool: Sym, name: &str) -> DeviceIdx {
        let name = self.symbols.intern(name);
        let next = DeviceIdx::new(self.dra.ids.len());
        *self.dra.ids.entry((driver, pool, name)).or_insert(next)
    }

    fn device(&mut self, view: &DeviceView<'_>, driver: Sym, pool: Sym) -> Device {
        let id = self.device_id(driver, pool, &view.name);
        let body = view.basic.as_deref().unwrap_or(view);
        let attributes = body.attributes.iter().flatten();
        let attributes =
            attributes.map(|(name, value)| (self.symbols.intern(name), self.attribute(value))).collect();
        let capacity = body.capacity.iter().flatten();
        let capacity =
            capacity.map(|(n, c)| (self.symbols.intern(n), self.symbols.intern(&c.value))).collect();
        Device {
            id,
            driver,
            attributes,
            capacity,
            taints: body.taints.iter().filter_map(|taint| self.device_taint(taint)).collect(),
            multiple: body.allow_multiple_allocations == Some(true),
            counters: !body.consumes_counters.is_empty(),
            conditional: !body.binding_conditions.is_empty(),
            reach: self.reach(body.node_name.as_ref(), body.all_nodes, body.node_selector.as_ref()),
        }
    }

    fn attribute(&mut self, view: &AttributeView<'_>) -> AttributeValue {
        let mut texts = |texts: &[Text<'_>]| texts.iter().map(|text| self.symbols.intern(text)).collect();
        // The order in which the scheduler looks at the fields.
        if let Some(values) = &view.ints {
            AttributeValue::Ints(values.as_slice().into())
        } else if let Some(values) = &view.bools {
            AttributeValue::Bools(values.as_slice().into())
        } else if let Some(values) = &view.strings {
            AttributeValue::Texts(texts(values))
        } else if let Some(values) = &view.versions {
            AttributeValue::Versions(texts(values))
        } else if let Some(value) = view.int {
            AttributeValue::Int(value)
        } else if let Some(value) = view.bool {
            AttributeValue::Bool(value)
        } else if let Some(value) = &view.string {
            AttributeValue::Text(self.symbols.intern(value))
        } else if let Some(value) = &view.version {
            AttributeValue::Version(self.symbols.intern(value))
        } else {
            AttributeValue::Unknown
        }
    }

    fn device_taint(&mut self, view: &TaintView<'_>) -> Option<DeviceTaint> {
        matches!(&*view.effect, "NoSchedule" | "NoExecute").then(|| DeviceTaint {
            key: self.symbols.intern(&view.key),
            value: self.symbols.intern(&view.value),
            effect: self.symbols.intern(&view.effect),
        })
    }

    fn reach(
        &mut self,
        node: Option<&Text<'_>>,
        all: Option<bool>,
        selector: Option<&NodeSelectorView<'_>>,
    ) -> Reach {
        match (node, all, selector) {
            (Some(name), ..) if !name.is_empty() => Reach::Node(self.symbols.intern(name)),
            (_, Some(true), _) => Reach::All,
            (.., Some(selector)) => Reach::Selector(self.node_selector(selector)),
            _ => Reach::Nowhere,
        }
    }

    pub(super) fn device_class(&mut self, view: &DeviceClassView<'_>) -> Result<(), InputError> {
        named("DeviceClass", &view.metadata)?;
        let class = DeviceClass {
            name: self.symbols.intern(&view.metadata.name),
            selectors: self.device_selectors(&view.spec.selectors),
        };
        let serves = view.spec.extended_resource_name.as_ref().filter(|name| !name.is_empty());
        let serves = serves.map(|name| self.symbols.intern(name));
        let created = i64::from(created(view.metadata.creation_timestamp.as_deref()));
        self.dra.classes.push(DraftClass { class, serves, created });
        Ok(())
    }

    fn device_selectors(&mut self, views: &[DeviceSelectorView<'_>]) -> Box<[Option<Sym>]> {
        views.iter().map(|view| view.cel.as_ref().map(|cel| self.symbols.intern(&cel.expression))).collect()
    }

    pub(super) fn device_taint_rule(&mut self, view: &DeviceTaintRuleView<'_>) -> Result<(), InputError> {
        named("DeviceTaintRule", &view.metadata)?;
        let Some(taint) = self.device_taint(&view.spec.taint) else { return Ok(()) };
        let Some(selector) = &view.spec.device_selector else { return Ok(()) };
        if selector.device_class_name.is_some() || selector.selectors.is_some() {
            self.dra.unknown_taint_rule = Some(self.symbols.intern(&view.metadata.name));
            return Ok(());
        }
        let mut part = |text: &Option<Text<'_>>| text.as_ref().map(|text| self.symbols.intern(text));
        let (driver, pool, device) = (part(&selector.driver), part(&selector.pool), part(&selector.device));
        self.dra.taint_rules.push(DraftTaintRule { driver, pool, device, taint });
        Ok(())
    }

    pub(super) fn resource_claim(&mut self, view: &ClaimView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        named("ResourceClaim", meta)?;
        let owner = meta.owner_references.iter().find(|r| r.controller == Some(true));
        let for_pod = owner.map(|r| (self.symbols.intern(&r.name), self.symbols.intern(&r.uid)));
        let consumers = view.status.reserved_for.iter();
        let consumers =
            consumers.map(|c| (self.symbols.intern(&c.name), self.symbols.intern(&c.uid))).collect();
        let claim = Claim {
            namespace: self.namespace_of(&meta.namespace),
            name: self.symbols.intern(&meta.name),
            for_pod,
            deleting: meta.deletion_timestamp.is_some(),
            extended: meta.annotations.get(names::EXTENDED_CLAIM) == Some("true"),
            spec: self.claim_spec(&view.spec),
            allocation: view.status.allocation.as_ref().map(|a| self.allocation(a)),
            consumers,
            pods: Vec::new(),
        };
        self.dra.claims.push(claim);
        Ok(())
    }

    fn allocation(&mut self, view: &AllocationView<'_>) -> Allocation {
        let results = &view.devices.results;
        let devices = results.iter().map(|result| {
            let (driver, pool) = (self.symbols.intern(&result.driver), self.symbols.intern(&result.pool));
            let uses = result.admin_access != Some(true) && result.share_id.is_none();
            Allocated { device: self.device_id(driver, pool, &result.device), uses }
        });
        let devices = devices.collect();
        Allocation {
            devices,
            nodes: view.node_selector.as_ref().map(|selector| self.node_selector(selector)),
            conditional: results.iter().any(|result| !result.binding_conditions.is_empty()),
        }
    }

    pub(super) fn claim_template(&mut self, view: &ClaimTemplateView<'_>) -> Result<(), InputError> {
        named("ResourceClaimTemplate", &view.metadata)?;
        let template = ClaimTemplate {
            namespace: self.namespace_of(&view.metadata.namespace),
            name: self.symbols.intern(&view.metadata.name),
            spec: self.claim_spec(&view.spec.spec),
        };
        self.dra.templates.push(template);
        Ok(())
    }

    fn claim_spec(&mut self, view: &ClaimSpecView<'_>) -> ClaimSpecIdx {
        let requests = view.devices.requests.iter().map(|request| self.device_request(request)).collect();
        let constraints = view.devices.constraints.iter().map(|c| self.constraint(c)).collect();
        ClaimSpecIdx::new(self.dra.specs.intern(ClaimSpec { requests, constraints }))
    }

    fn device_request(&mut self, view: &RequestView<'_>) -> DeviceRequest {
        let mut alternatives = Vec::new();
        if let Some(body) = &view.exactly {
            alternatives.push(self.alternative("", body));
        } else if !view.first_available.is_empty() {
            for sub in view.first_available.iter() {
                alternatives.push(self.alternative(&sub.name, sub));
            }
        } else if !view.device_class_name.is_empty() {
            alternatives.push(self.alternative("", view));
        }
        DeviceRequest { name: self.symbols.intern(&view.name), alternatives: alternatives.into_boxed_slice() }
    }

    fn alternative(&mut self, name: &str, view: &RequestView<'_>) -> Alternative {
        Alternative {
            name: self.symbols.intern(name),
            class: self.symbols.intern(&view.device_class_name),
            selectors: self.device_selectors(&view.selectors),
            amount: match &*view.allocation_mode {
                "" | "ExactCount" => Amount::Count(view.count.filter(|&count| count != 0).unwrap_or(1)),
                "All" => Amount::All,
                _ => Amount::Unknown,
            },
            admin: view.admin_access == Some(true),
            tolerations: view.tolerations.iter().filter_map(|t| self.device_toleration(t)).collect(),
            capacity: view.capacity.is_some(),
        }
    }

    /// A toleration with an operator that does not exist tolerates nothing and is left out.
    fn device_toleration(&mut self, view: &TolerationView<'_>) -> Option<DeviceToleration> {
        let value = match &*view.operator {
            "" | "Equal" => Some(self.symbols.intern(&view.value)),
            "Exists" => None,
            _ => return None,
        };
        let (key, effect) = (self.symbols.intern(&view.key), self.symbols.intern(&view.effect));
        Some(DeviceToleration { key, value, effect })
    }

    fn constraint(&mut self, view: &ConstraintView<'_>) -> Constraint {
        let mut pairs = |requests: &List<Text<'_>>| {
            let split = |text: &Text<'_>| {
                let (request, sub) = text.split_once('/').unwrap_or((text, ""));
                (self.symbols.intern(request), self.symbols.intern(sub))
            };
            requests.iter().map(split).collect()
        };
        let requests = pairs(&view.requests);
        let kind = match (&view.match_attribute, &view.distinct_attribute) {
            (Some(name), _) => ConstraintKind::Match(self.symbols.intern(name)),
            (None, Some(name)) if self.options.kubernetes_minor >= ALL_DISTINCT_SINCE => {
                ConstraintKind::Distinct(self.symbols.intern(name))
            }
            (None, Some(name)) => ConstraintKind::DistinctFromLatest(self.symbols.intern(name)),
            (None, None) => ConstraintKind::Unknown,
        };
        Constraint { requests, kind }
    }
}

fn named(kind: &str, meta: &MetaView<'_>) -> Result<(), InputError> {
    if meta.name.is_empty() {
        let place = Place { kind, namespace: &meta.namespace, name: &meta.name };
        return Err(place.error("metadata.name", "is missing"));
    }
    Ok(())
}
