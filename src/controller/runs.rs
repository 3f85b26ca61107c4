//! The runs that a watch told of, in the order in which they are worked on.
//!
//! May import: api

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;

use super::object::{Recorded, Run};
use super::run::{Queue, Rules, Step, next};

/// A run and its object; the object only while the run may still be written.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What the life cycle reads.
    pub run: Run,
    /// What a status is written into.
    pub object: Option<DynamicObject>,
    /// The server takes nothing that is written into this version of it.
    pub given_up: bool,
}

/// All runs.
#[derive(Debug, Default)]
pub struct Runs {
    by_name: BTreeMap<String, Entry>,
    /// Names of a list that is arriving: what is not among them at its end is gone.
    arriving: Option<BTreeSet<String>>,
    complete: bool,
}

/// What there is to do.
#[derive(Debug)]
pub enum Work<'a> {
    /// This, now.
    Now(&'a Entry, Step),
    /// Nothing before this, unless a run changes.
    Later(Timestamp),
    /// Nothing, unless a run changes.
    Nothing,
}

impl Runs {
    /// Whether a list has arrived as a whole.
    pub const fn complete(&self) -> bool {
        self.complete
    }

    /// The run of a name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name)
    }

    /// Takes what the watch tells.
    pub fn take(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Init => self.arriving = Some(BTreeSet::new()),
            Event::InitApply(object) => {
                if let (Some(arriving), Some(name)) = (&mut self.arriving, &object.metadata.name) {
                    arriving.insert(name.clone());
                }
                self.keep(object);
            }
            Event::InitDone => {
                if let Some(arriving) = self.arriving.take() {
                    self.by_name.retain(|name, _| arriving.contains(name));
                }
                self.complete = true;
            }
            Event::Apply(object) => self.keep(object),
            Event::Delete(object) => {
                let run = Run::of(&object);
                // A run of the same name may have been made since.
                if self.by_name.get(&run.name).is_some_and(|entry| entry.run.uid == run.uid) {
                    self.by_name.remove(&run.name);
                }
            }
        }
    }

    /// Takes an object unless a newer one of the same run is known: what the server answered to a write arrives
    /// before the watch tells of it.
    pub fn keep(&mut self, object: DynamicObject) {
        let run = Run::of(&object);
        let known = self.by_name.get(&run.name).map(|entry| &entry.run);
        if known.is_some_and(|known| known.uid == run.uid && is_older(&run.version, &known.version)) {
            return;
        }
        let object = (!matches!(run.recorded, Recorded::Finished { .. })).then_some(object);
        // A list may bring the same version again.
        let known = self.by_name.get(&run.name);
        let given_up = known.is_some_and(|known| {
            known.given_up && (&known.run.uid, &known.run.version) == (&run.uid, &run.version)
        });
        self.by_name.insert(run.name.clone(), Entry { run, object, given_up });
    }

    /// Passes over a run until it changes.
    pub fn give_up(&mut self, name: &str, uid: &str) {
        if let Some(entry) = self.by_name.get_mut(name).filter(|entry| entry.run.uid == uid) {
            entry.given_up = true;
        }
    }

    /// Forgets a run that the server says is gone.
    pub fn forget(&mut self, name: &str, uid: &str) {
        if self.by_name.get(name).is_some_and(|entry| entry.run.uid == uid) {
            self.by_name.remove(name);
        }
    }

    /// Runs in the order of their creation, then of their names.
    pub fn in_order(&self) -> Vec<&Entry> {
        let mut all: Vec<&Entry> = self.by_name.values().collect();
        all.sort_by(|a, b| (a.run.created, &a.run.name).cmp(&(b.run.created, &b.run.name)));
        all
    }

    /// The first run with something to do.
    pub fn work(&self, rules: &Rules, queue: &Queue, now: Timestamp) -> Work<'_> {
        let mut earliest: Option<Timestamp> = None;
        for entry in self.in_order().into_iter().filter(|entry| !entry.given_up) {
            match next(&entry.run, rules, queue, now) {
                Step::Leave(_) => {}
                Step::Later(at) => earliest = Some(earliest.map_or(at, |known| known.min(at))),
                step => return Work::Now(entry, step),
            }
        }
        earliest.map_or(Work::Nothing, Work::Later)
    }
}

/// Whether one version of an object was before another. Versions are whole numbers that grow; a server whose versions
/// are something else is believed.
fn is_older(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, uid: &str, version: u32, more: &Value) -> DynamicObject {
        let mut object = json!({
            "apiVersion": "repack.volcano.sh/v1alpha1", "kind": "RepackRun",
            "metadata": {"name": name, "uid": uid, "resourceVersion": version.to_string(),
                         "creationTimestamp": "2026-07-30T10:00:00Z"},
            "spec": {"mode": "DryRun", "goals": [{"resource": "x.io/npu"}]},
        });
        for (key, value) in more.as_object().unwrap() {
            match key.as_str() {
                "created" => object["metadata"]["creationTimestamp"] = value.clone(),
                "mode" | "managedBy" | "ttlSecondsAfterFinished" => object["spec"][key] = value.clone(),
                _ => object[key] = value.clone(),
            }
        }
        serde_json::from_value(object).unwrap()
    }

    fn rules() -> Rules {
        Rules::default()
    }

    fn now() -> Timestamp {
        "2026-07-30T12:00:00Z".parse().unwrap()
    }

    fn first(runs: &Runs) -> Option<String> {
        match runs.work(&rules(), &Queue::default(), now()) {
            Work::Now(entry, _) => Some(entry.run.name.clone()),
            _ => None,
        }
    }

    #[test]
    fn runs_are_worked_on_in_the_order_of_creation_then_of_names_and_others_are_passed_over() {
        let mut runs = Runs::default();
        runs.keep(object("c", "1", 1, &json!({})));
        runs.keep(object("b", "2", 2, &json!({})));
        runs.keep(object("z", "3", 3, &json!({"created": "2026-07-30T09:00:00Z"})));
        runs.keep(object("a", "4", 4, &json!({"created": "2026-07-30T08:00:00Z", "mode": "Execute"})));
        runs.keep(object("a2", "5", 5, &json!({"created": "2026-07-30T08:00:00Z", "managedBy": "other"})));
        let names: Vec<&str> = runs.in_order().iter().map(|entry| entry.run.name.as_str()).collect();
        assert_eq!(names, ["a", "a2", "z", "b", "c"]);
        assert_eq!(first(&runs).as_deref(), Some("z"));
        runs.forget("z", "other");
        assert_eq!(first(&runs).as_deref(), Some("z"), "another run of this name");
        runs.forget("z", "3");
        assert_eq!(first(&runs).as_deref(), Some("b"));
    }

    #[test]
    fn an_old_event_does_not_undo_what_was_written_and_a_new_run_of_the_name_does() {
        let done = json!({"status": {"phase": "Succeeded", "completionTime": "2026-07-30T11:00:00Z"}});
        let mut runs = Runs::default();
        runs.keep(object("a", "1", 9, &done));
        runs.take(Event::Apply(object("a", "1", 8, &json!({}))));
        assert_eq!(first(&runs), None);
        assert!(runs.get("a").unwrap().object.is_none(), "the plan of a finished run is not kept");
        runs.take(Event::Apply(object("a", "2", 10, &json!({}))));
        assert_eq!(first(&runs).as_deref(), Some("a"));
        runs.take(Event::Delete(object("a", "1", 11, &done)));
        assert_eq!(first(&runs).as_deref(), Some("a"), "the older one was deleted");
        runs.take(Event::Delete(object("a", "2", 12, &json!({}))));
        assert_eq!(first(&runs), None);
    }

    #[test]
    fn a_run_that_is_given_up_is_passed_over_until_it_changes() {
        let mut runs = Runs::default();
        runs.keep(object("a", "1", 1, &json!({})));
        runs.keep(object("b", "2", 2, &json!({})));
        runs.give_up("a", "other");
        assert_eq!(first(&runs).as_deref(), Some("a"), "another run of this name");
        runs.give_up("a", "1");
        assert_eq!(first(&runs).as_deref(), Some("b"));
        runs.take(Event::InitApply(object("a", "1", 1, &json!({}))));
        assert_eq!(first(&runs).as_deref(), Some("b"), "the same version from a list");
        runs.take(Event::Apply(object("a", "1", 3, &json!({}))));
        assert_eq!(first(&runs).as_deref(), Some("a"));
    }

    #[test]
    fn a_list_replaces_everything_at_its_end() {
        let mut runs = Runs::default();
        assert!(!runs.complete());
        runs.keep(object("gone", "1", 1, &json!({})));
        runs.take(Event::Init);
        runs.take(Event::InitApply(object("here", "2", 2, &json!({}))));
        assert!(runs.get("gone").is_some() && !runs.complete());
        runs.take(Event::InitDone);
        assert!(runs.get("gone").is_none() && runs.get("here").is_some() && runs.complete());
    }

    #[test]
    fn the_earliest_end_of_a_ttl_is_waited_for() {
        let finished = |ttl: i64| {
            json!({"ttlSecondsAfterFinished": ttl,
                   "status": {"phase": "Succeeded", "completionTime": "2026-07-30T11:59:00Z"}})
        };
        let mut runs = Runs::default();
        runs.keep(object("a", "1", 1, &finished(600)));
        runs.keep(object("b", "2", 2, &finished(90)));
        let Work::Later(at) = runs.work(&rules(), &Queue::default(), now()) else { panic!() };
        assert_eq!(at, "2026-07-30T12:00:30Z".parse().unwrap());
        runs.keep(object("c", "3", 3, &finished(60)));
        let Work::Now(entry, Step::Delete) = runs.work(&rules(), &Queue::default(), now()) else { panic!() };
        assert_eq!(entry.run.name, "c");
    }
}
