//! Pseudonyms for names, UIDs and label values, consistent over a whole snapshot.
//!
//! **Promise**: a plan made from the anonymised file is the same plan up to renaming. Therefore
//! - equal strings get equal pseudonyms wherever they stand (one mapping for all names and values), so references
//!   hold: owner, group and claim names, host name labels, selectors, tolerations;
//! - pseudonyms sort like the strings they replace, because ties are broken by name: `a000017-node` is the string of
//!   rank 17, and what follows the rank only helps the reader;
//! - composed names stay composed: `podgroup-UID`, `POD-VOLUME` of generic ephemeral volumes, `REQUEST/SUBREQUEST`,
//!   zone lists `a__b`; pods keep their ordinal;
//! - what a rule would read out of a name is written out: the task of a Volcano Job's pod.
//!
//! **Kept** ([`walk`] has the list): keys of labels and annotations, resource names, drivers, device classes and device
//! attributes (CEL expressions name them), scheduler names, amounts, times, enumerations, and label values that are
//! integers or booleans or tell hardware (`kubernetes.io/arch`, `…/os`, `…/instance-type`). Every string that is not on
//! that list is replaced.
//!
//! May import: snapshot

#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use self::walk::{Class, Visit};
use super::write::Item;

/// Groups that Volcano makes for pods without one.
const VIRTUAL_GROUP: &str = "podgroup-";

/// Replaces names in `items`; two passes, because ranks need all strings first.
pub(super) fn anonymize(items: &mut [Item]) {
    let mut strings = Strings::default();
    for item in items.iter() {
        let Some((_, mut fields)) = fields_of(item) else { continue };
        walk::write_out(item.kind, &mut fields);
        strings.note_composed(item, &fields);
        walk::object(item.kind, &mut fields, &mut strings);
    }
    let mut pseudonyms = strings.rank();
    for item in items {
        let Some((api_version, mut fields)) = fields_of(item) else { continue };
        walk::write_out(item.kind, &mut fields);
        walk::object(item.kind, &mut fields, &mut pseudonyms);
        *item = Item::new(item.kind, &api_version, &fields);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `apiVersion` and the other fields of an item, as the writer made it.
fn fields_of(item: &Item) -> Option<(String, Map<String, Value>)> {
    let mut fields: Map<String, Value> = serde_json::from_str(&item.json).ok()?;
    fields.remove("kind");
    let api_version = fields.remove("apiVersion")?.as_str()?.to_owned();
    Some((api_version, fields))
}

/// First pass: all strings to replace.
#[derive(Default)]
struct Strings {
    /// Each with the strongest hint at what it names.
    names: FxHashMap<String, Hint>,
    uids: BTreeSet<String>,
    /// Claim names of generic ephemeral volumes → pod, volume.
    composed: FxHashMap<String, (String, String)>,
}

/// What a string names, for the reader; the strongest use wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hint(u8, String);

impl Hint {
    fn new(word: &str) -> Self {
        let strength =
            ["pod", "node", "namespace", "podgroup", "queue", "job"].iter().position(|w| *w == word);
        let weak = if word == "value" { 200 } else { 100 };
        Self(strength.and_then(|s| u8::try_from(s).ok()).unwrap_or(weak), word.to_owned())
    }
}

impl Visit for Strings {
    fn string(&mut self, text: &mut String, class: Class<'_>) {
        match (class, text.strip_prefix(VIRTUAL_GROUP)) {
            (_, _) if text.is_empty() => {}
            (Class::Uid, _) => _ = self.uids.insert(text.clone()),
            (Class::Name(_), Some(uid)) => _ = self.uids.insert(uid.to_owned()),
            (Class::Name(word), None) => {
                let hint = Hint::new(word);
                match self.names.get_mut(text.as_str()) {
                    Some(known) if *known <= hint => {}
                    Some(known) => *known = hint,
                    None => _ = self.names.insert(text.clone(), hint),
                }
            }
        }
    }
}

impl Strings {
    fn note_composed(&mut self, item: &Item, fields: &Map<String, Value>) {
        let volumes = fields.get("spec").and_then(|spec| spec.get("volumes")?.as_array());
        for volume in volumes.into_iter().flatten().filter(|volume| volume.get("ephemeral").is_some()) {
            if let Some(name) = volume.get("name").and_then(Value::as_str) {
                self.composed.insert(format!("{}-{name}", item.name), (item.name.clone(), name.to_owned()));
            }
        }
    }

    fn rank(mut self) -> Pseudonyms {
        for composed in self.composed.keys() {
            self.names.remove(composed);
        }
        let names: BTreeMap<String, Hint> = self.names.into_iter().collect();
        let width = names.len().max(self.uids.len()).to_string().len();
        let ranked = names.into_iter().enumerate().map(|(rank, (name, Hint(_, word)))| {
            // Names of virtual groups keep their prefix; the others stay on the same side of them.
            let side = if *name < *VIRTUAL_GROUP { 'a' } else { 'x' };
            // StatefulSets update by ordinal.
            let ordinal = name.rsplit_once('-').map(|(_, n)| n).filter(|n| word == "pod" && is_number(n));
            let ordinal = ordinal.map(|n| format!("-{n}")).unwrap_or_default();
            let pseudonym = format!("{side}{rank:0width$}-{word}{ordinal}");
            (name, pseudonym)
        });
        let uids = self.uids.into_iter().enumerate();
        Pseudonyms {
            names: ranked.collect(),
            uids: uids.map(|(rank, uid)| (uid, format!("uid-{rank:0width$}"))).collect(),
            composed: self.composed,
        }
    }
}

/// Second pass: string → pseudonym.
struct Pseudonyms {
    names: FxHashMap<String, String>,
    uids: FxHashMap<String, String>,
    composed: FxHashMap<String, (String, String)>,
}

impl Pseudonyms {
    fn name(&self, text: &str) -> String {
        if let Some(uid) = text.strip_prefix(VIRTUAL_GROUP) {
            return format!("{VIRTUAL_GROUP}{}", self.uid(uid));
        }
        match self.composed.get(text) {
            Some((pod, volume)) => format!("{}-{}", self.name(pod), self.name(volume)),
            // The first pass walked the same strings, so each is known; an unknown one must not leak all the same.
            None => self.names.get(text).cloned().unwrap_or_default(),
        }
    }

    fn uid(&self, uid: &str) -> String {
        self.uids.get(uid).cloned().unwrap_or_default()
    }
}

impl Visit for Pseudonyms {
    fn string(&mut self, text: &mut String, class: Class<'_>) {
        if !text.is_empty() {
            *text = if matches!(class, Class::Uid) { self.uid(text) } else { self.name(text) };
        }
    }
}
