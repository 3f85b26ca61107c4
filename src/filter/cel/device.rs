//! What an expression sees of a device: `device.driver`, `.attributes`, `.capacity`, `.allowMultipleAllocations`.
//!
//! May import: (nothing of this crate)

use std::collections::BTreeMap;

use super::quantity::Quantity;
use super::version::Version;

/// A device attribute. The list forms exist since Kubernetes 1.36.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// `int`
    Int(i64),
    /// `bool`
    Bool(bool),
    /// `string`
    String(Box<str>),
    /// `version`, semantic version 2.0.0, as written; see [`Device::set_attribute`].
    Version(Box<str>),
    /// `ints`
    Ints(Vec<i64>),
    /// `bools`
    Bools(Vec<bool>),
    /// `strings`
    Strings(Vec<Box<str>>),
    /// `versions`
    Versions(Vec<Box<str>>),
}

pub(super) type Names<T> = BTreeMap<Box<str>, T>;

/// One device, ready to be asked about. Domains and names are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device {
    driver: Box<str>,
    multiple: bool,
    attributes: Names<Names<Attribute>>,
    capacity: Names<Names<Quantity>>,
    invalid: Option<Box<str>>,
}

impl Device {
    /// A device of `driver` without attributes. `allow_multiple_allocations` is false when absent in the object.
    pub fn new(driver: &str, allow_multiple_allocations: bool) -> Self {
        Self {
            driver: driver.into(),
            multiple: allow_multiple_allocations,
            attributes: Names::new(),
            capacity: Names::new(),
            invalid: None,
        }
    }

    /// Adds an attribute. `name` is `domain/id`, or `id` alone for the driver's own domain. A version that does not
    /// parse makes every expression fail for this device, as in kube-scheduler.
    pub fn set_attribute(&mut self, name: &str, attribute: Attribute) {
        let versions = match &attribute {
            Attribute::Version(text) => std::slice::from_ref(text),
            Attribute::Versions(texts) => texts,
            _ => &[],
        };
        if versions.iter().any(|text| Version::parse(text).is_none()) {
            self.refuse(&format!("attribute {name}: not a semantic version"));
        }
        let (domain, id) = self.split(name);
        self.attributes.entry(domain).or_default().insert(id, attribute);
    }

    /// Marks the device as one that no expression can be evaluated for (an attribute of an unknown type, for instance).
    pub fn refuse(&mut self, reason: &str) {
        self.invalid.get_or_insert_with(|| reason.into());
    }

    /// Adds a capacity; names as for attributes.
    pub fn set_capacity(&mut self, name: &str, quantity: Quantity) {
        let (domain, id) = self.split(name);
        self.capacity.entry(domain).or_default().insert(id, quantity);
    }

    /// The attribute `domain/id`, as constraints name it. None as well for a name without a domain.
    pub fn attribute(&self, qualified: &str) -> Option<&Attribute> {
        let (domain, id) = qualified.split_once('/')?;
        self.attributes.get(domain)?.get(id)
    }

    /// The driver's name.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Whether several claims may hold the device at once.
    pub fn allows_multiple_allocations(&self) -> bool {
        self.multiple
    }

    pub(super) fn attributes(&self) -> &Names<Names<Attribute>> {
        &self.attributes
    }

    pub(super) fn capacity(&self) -> &Names<Names<Quantity>> {
        &self.capacity
    }

    pub(super) fn invalid(&self) -> Option<&str> {
        self.invalid.as_deref()
    }

    fn split(&self, name: &str) -> (Box<str>, Box<str>) {
        match name.split_once('/') {
            Some((domain, id)) => (domain.into(), id.into()),
            None => (self.driver.clone(), name.into()),
        }
    }
}
