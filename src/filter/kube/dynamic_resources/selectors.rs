//! CEL selectors of classes and requests, compiled once, with their answers per device.
//!
//! An answer depends on the snapshot alone, so all states of a snapshot share it. Answers are worked out when first
//! asked for; threads may ask at the same time and find the same.
//!
//! May import: snapshot, filter

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use rustc_hash::FxHashMap;

use crate::filter::cel;
use crate::snapshot::Snapshot;
use crate::snapshot::model::dra::{AttributeValue, Device};
use crate::snapshot::model::{Sym, Symbols};

const UNASKED: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;
/// The error is worked out again when it is asked for again: it ends the search anyway.
const FAILS: u8 = 3;

/// All selectors of a snapshot.
#[derive(Debug, Default)]
pub(in crate::filter) struct Selectors {
    index: FxHashMap<Sym, Selector>,
    devices: usize,
}

#[derive(Debug)]
struct Selector {
    program: Result<cel::Program, cel::Error>,
    answers: OnceLock<Box<[AtomicU8]>>,
}

impl Selectors {
    /// Compiles every selector that a class, claim or template has.
    pub fn new(snapshot: &Snapshot) -> Self {
        let dra = &snapshot.dra;
        let of_classes = dra.classes.iter().flat_map(|class| class.selectors.iter());
        let alternatives = dra.specs.iter().flat_map(|spec| &spec.requests).flat_map(|r| &r.alternatives);
        let mut index = FxHashMap::default();
        for &expression in of_classes.chain(alternatives.flat_map(|a| &a.selectors)).flatten() {
            index.entry(expression).or_insert_with(|| Selector {
                program: cel::Program::compile(snapshot.text(expression)),
                answers: OnceLock::new(),
            });
        }
        Self { index, devices: dra.devices.len() }
    }

    /// Whether an expression selects the device at a position of the model.
    pub fn matches(&self, snapshot: &Snapshot, expression: Sym, device: u32) -> Result<bool, cel::Error> {
        let missing = || cel::Error::Unsupported("a selector that was not compiled".to_owned());
        let selector = self.index.get(&expression).ok_or_else(missing)?;
        let program = selector.program.as_ref().map_err(Clone::clone)?;
        let answers =
            selector.answers.get_or_init(|| (0..self.devices).map(|_| AtomicU8::new(UNASKED)).collect());
        let answer = &answers[device as usize];
        match answer.load(Ordering::Relaxed) {
            NO => return Ok(false),
            YES => return Ok(true),
            _ => {}
        }
        let facts = facts(&snapshot.symbols, &snapshot.dra.devices[device as usize]);
        let outcome = program.matches(&facts);
        let found = match outcome {
            Ok(true) => YES,
            Ok(false) => NO,
            Err(_) => FAILS,
        };
        answer.store(found, Ordering::Relaxed);
        outcome
    }
}

/// The device as expressions see it.
fn facts(symbols: &Symbols, device: &Device) -> cel::Device {
    let text = |sym: Sym| -> Box<str> { symbols.text(sym).into() };
    let texts = |syms: &[Sym]| syms.iter().map(|&sym| text(sym)).collect();
    let mut facts = cel::Device::new(symbols.text(device.driver), device.multiple);
    for (name, value) in &device.attributes {
        let name = symbols.text(*name);
        let attribute = match value {
            AttributeValue::Int(value) => cel::Attribute::Int(*value),
            AttributeValue::Bool(value) => cel::Attribute::Bool(*value),
            AttributeValue::Text(value) => cel::Attribute::String(text(*value)),
            AttributeValue::Version(value) => cel::Attribute::Version(text(*value)),
            AttributeValue::Ints(values) => cel::Attribute::Ints(values.to_vec()),
            AttributeValue::Bools(values) => cel::Attribute::Bools(values.to_vec()),
            AttributeValue::Texts(values) => cel::Attribute::Strings(texts(values)),
            AttributeValue::Versions(values) => cel::Attribute::Versions(texts(values)),
            AttributeValue::Unknown => {
                facts.refuse(&format!("attribute {name}: unsupported attribute value"));
                continue;
            }
        };
        facts.set_attribute(name, attribute);
    }
    for &(name, value) in &device.capacity {
        let name = symbols.text(name);
        match cel::Quantity::parse(symbols.text(value)) {
            Ok(quantity) => facts.set_capacity(name, quantity),
            Err(error) => facts.refuse(&format!("capacity {name}: {error}")),
        }
    }
    facts
}
