//! Resource names and amounts: from maps of texts to indexed integers.
//!
//! May import: snapshot

use rustc_hash::FxHashMap;

use crate::snapshot::model::{Requests, ResourceIdx, Sym, Symbols};
use crate::snapshot::quantity::{Quantity, QuantityError};
use crate::snapshot::read::InputError;
use crate::snapshot::request::Amounts;
use crate::snapshot::view::basic::Pairs;

/// All resource names met so far.
#[derive(Debug)]
pub struct Resources {
    names: Vec<Sym>,
    index: FxHashMap<Box<str>, ResourceIdx>,
}

/// Which object and field an amount stands in, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl Place<'_> {
    /// An error about one field of the object.
    pub fn error(&self, field: impl Into<String>, problem: impl Into<String>) -> InputError {
        InputError::field(self.kind, self.namespace, self.name, field, problem)
    }
}

impl Resources {
    /// The four fixed names.
    pub fn new(symbols: &mut Symbols) -> Self {
        let mut resources = Self { names: Vec::new(), index: FxHashMap::default() };
        for name in ["cpu", "memory", "ephemeral-storage", "pods"] {
            resources.intern(name, symbols);
        }
        resources
    }

    /// The index of a name, made when new.
    pub fn intern(&mut self, name: &str, symbols: &mut Symbols) -> ResourceIdx {
        if let Some(&resource) = self.index.get(name) {
            return resource;
        }
        let resource = ResourceIdx::new(self.names.len());
        self.names.push(symbols.intern(name));
        self.index.insert(name.into(), resource);
        resource
    }

    /// All names by index.
    pub fn names(&self) -> &[Sym] {
        &self.names
    }

    /// All names by index.
    pub fn into_names(self) -> Vec<Sym> {
        self.names
    }

    /// How many names there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Reads a resource map. Extended resources (names with a slash) come in whole, non-negative numbers.
    pub fn amounts(
        &mut self,
        pairs: &Pairs<'_>,
        symbols: &mut Symbols,
        place: Place<'_>,
        field: impl Fn() -> String,
    ) -> Result<Amounts, InputError> {
        let mut amounts = Amounts::with_capacity(pairs.len());
        for (name, text) in pairs.iter() {
            let fault = |problem: String| {
                place.error(format!("{}[\"{}\"]", field(), &**name), format!("\"{}\" {problem}", &**text))
            };
            let quantity = Quantity::parse(text).map_err(|e| match e {
                QuantityError::Syntax => fault("is not a quantity".to_owned()),
                QuantityError::Overflow => fault("is too large".to_owned()),
            })?;
            if quantity < Quantity::ZERO {
                return Err(fault("is negative".to_owned()));
            }
            let resource = self.intern(name, symbols);
            if name.contains('/') && !quantity.is_whole() {
                return Err(fault("is not a whole number".to_owned()));
            }
            match amounts.iter_mut().find(|(r, _)| *r == resource) {
                Some((_, have)) => *have = quantity,
                None => amounts.push((resource, quantity)),
            }
        }
        Ok(amounts)
    }
}

/// kube's units: cpu in milli, everything else whole, rounded up; zeros are left out.
pub fn kube_units(amounts: &Amounts) -> Requests {
    let mut units: Vec<_> = amounts
        .iter()
        .filter(|(_, q)| *q != Quantity::ZERO)
        .map(|&(r, q)| (r, if r == ResourceIdx::CPU { q.ceil_milli() } else { q.ceil_units() }))
        .collect();
    units.sort_unstable();
    Requests(units.into_boxed_slice())
}

/// Brings one quantity up to Volcano's unit (rulebook 2.3): memory to bytes, everything else to thousandths.
pub fn volcano_round(resource: ResourceIdx, quantity: Quantity) -> Quantity {
    if resource == ResourceIdx::MEMORY {
        Quantity::units(quantity.ceil_units())
    } else {
        Quantity(i128::from(quantity.ceil_milli()) * 1_000_000)
    }
}

/// Volcano's units: memory in bytes, everything else in thousandths; zeros that are written down stay.
/// Names that are neither standard nor have a slash are dropped.
pub fn volcano_units(amounts: &Amounts, is_known: impl Fn(ResourceIdx) -> bool) -> Requests {
    let mut units: Vec<_> = amounts
        .iter()
        .filter(|&&(r, _)| is_known(r))
        .map(|&(r, q)| (r, if r == ResourceIdx::MEMORY { q.ceil_units() } else { q.ceil_milli() }))
        .collect();
    units.sort_unstable();
    Requests(units.into_boxed_slice())
}

/// Names that Volcano keeps (rulebook 2.3).
pub fn volcano_knows(name: &str) -> bool {
    name.contains('/')
        || matches!(name, "cpu" | "memory" | "pods" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}
