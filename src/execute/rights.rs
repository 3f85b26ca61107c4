//! Who may do what: asked before anything is prepared, so that a missing right is known before the first eviction, and
//! of whoever created the run once more before each node.
//!
//! May import: api

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{Answer, Command, EVICTS, MOVES, Refusal};
use super::machine::{Execution, Next, wait_of, words};
use crate::api::Reason;
use crate::api::names::{CREATOR_ANNOTATION, CREATOR_GROUPS_ANNOTATION};

/// Who created a run, as the API server named them to the webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Creator {
    /// Name of the user.
    pub username: String,
    /// Their groups.
    pub groups: Vec<String>,
}

impl Creator {
    /// What the annotations of a run say; none: nobody noted it.
    pub fn noted<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let username = annotation(CREATOR_ANNOTATION)?.to_owned();
        let groups = annotation(CREATOR_GROUPS_ANNOTATION).unwrap_or_default();
        let groups = groups.split('\n').filter(|group| !group.is_empty()).map(str::to_owned).collect();
        Some(Self { username, groups })
    }

    /// The annotations that say so, as a JSON patch of an object.
    pub fn note(&self, object: &Value) -> Vec<Value> {
        let mut all = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        all.insert(CREATOR_ANNOTATION.to_owned(), json!(self.username));
        all.insert(CREATOR_GROUPS_ANNOTATION.to_owned(), json!(self.groups.join("\n")));
        vec![json!({"op": "add", "path": "/metadata/annotations", "value": all})]
    }
}

impl Execution {
    /// The questions that the preparation begins with.
    pub(super) fn reviews(&self, namespaces: &BTreeSet<String>) -> Vec<Command> {
        let of = |namespace: &String| {
            let own = MOVES.map(|right| Command::Review { namespace: namespace.clone(), right, of: None });
            own.into_iter().chain(self.review_of_creator(namespace))
        };
        namespaces.iter().flat_map(of).collect()
    }

    fn review_of_creator(&self, namespace: &str) -> Option<Command> {
        let of = Some(Box::new(self.orders.creator.clone()?));
        Some(Command::Review { namespace: namespace.to_owned(), right: EVICTS, of })
    }

    /// Whether the evictions of a node may begin: whoever created the run may still evict its pods. If that is not known
    /// yet it is asked next.
    pub(super) fn is_trusted(&mut self, step: &str) -> bool {
        if self.orders.creator.is_none() || self.memory.trusted.contains(step) {
            return true;
        }
        if self.memory.in_question.is_none() {
            let all = self.relocations().iter().zip(&self.facts);
            let namespaces = all.filter(|(_, facts)| facts.step == step).map(|(r, _)| r.namespace.clone());
            self.memory.in_question = Some((step.to_owned(), namespaces.collect()));
        }
        false
    }

    /// The next question about the node that is to be emptied.
    pub(super) fn review(&mut self, now: Timestamp) -> Option<Next> {
        let (step, namespaces) = self.memory.in_question.as_ref()?;
        if self.memory.stop.is_some() {
            return None;
        }
        if let Some(namespace) = namespaces.first() {
            let command = self.review_of_creator(namespace)?;
            return Some(self.when_due("review", command, now));
        }
        self.memory.trusted.insert(step.clone());
        self.memory.in_question = None;
        Some(Next::Wait(Some(now)))
    }

    /// What the server said of whoever created the run.
    pub(super) fn reviewed(&mut self, command: &Command, answer: &Answer, now: Timestamp) {
        let Command::Review { namespace, .. } = command else { return };
        match answer {
            Answer::Done => {
                self.memory.worked("review");
                if let Some((_, namespaces)) = &mut self.memory.in_question {
                    namespaces.remove(namespace);
                }
            }
            Answer::Refused(Refusal { code: 403, .. }) => {
                let why = format!("cannot {}: {}", command.what(), words(answer));
                self.memory.stop = Some((Reason::ExecutionInterrupted, why));
            }
            answer => {
                self.memory.again("review", wait_of(answer), now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::RepackRunSpec;
    use crate::execute::testing::{World, check_clean, drive, fresh};

    /// Two nodes to empty, one pod each.
    fn world() -> World {
        let mut world = World::new(4);
        world
            .workload("ReplicaSet", "a", 1, &["n1"], &json!({}))
            .workload("ReplicaSet", "b", 2, &["n2"], &json!({}))
            .fixed("n3", 5)
            .fixed("n4", 5);
        world.creator = Some(Creator { username: "alice".to_owned(), groups: Vec::new() });
        world
    }

    fn deny(world: &mut World, who: &str, resource: &str) {
        world.denied.insert((who.to_owned(), resource.to_owned()));
    }

    fn end(world: &World) -> (Reason, String) {
        let status = world.status();
        (status.conditions.last().unwrap().reason, status.message.clone())
    }

    #[test]
    fn what_is_noted_on_a_run_is_read_back() {
        let groups = vec!["system:masters".to_owned(), "a, b".to_owned()];
        let who = Creator { username: "alice".to_owned(), groups };
        let changes = who.note(&json!({"metadata": {"annotations": {"mine": "1"}}}));
        let annotations = changes[0]["value"].as_object().unwrap();
        assert_eq!(annotations["mine"], "1");
        let noted = |name: &str| annotations.get(name).and_then(Value::as_str);
        assert_eq!(Creator::noted(noted), Some(who));
        assert_eq!(Creator::noted(|_| None), None);
    }

    #[test]
    fn a_right_that_is_missing_is_known_before_the_first_eviction() {
        let own = [("the controller", MOVES[0]), ("the controller", MOVES[1]), ("the controller", MOVES[2])];
        for (who, right) in own.into_iter().chain([("alice", EVICTS)]) {
            let mut world = world();
            deny(&mut world, who, right.resource);
            let spec = RepackRunSpec::default();
            fresh(&mut world, &spec);
            drive(&mut world, &spec, None, &mut |_, _| {});
            let (reason, message) = end(&world);
            assert_eq!(reason, Reason::ExecutionPreparationFailed, "{message}");
            assert!(message.contains(right.resource), "{message}");
            assert!(who != "alice" || message.contains("for alice"), "{message}");
            assert!(world.evictions.is_empty() && world.webhooks.is_empty(), "{:?}", world.requests);
            check_clean(&mut world);
        }
    }

    #[test]
    fn a_right_that_is_taken_from_the_creator_stops_the_run_before_the_next_node() {
        let mut world = world();
        let spec = RepackRunSpec::default();
        fresh(&mut world, &spec);
        drive(&mut world, &spec, None, &mut |world, command| {
            if matches!(command, Command::Evict { .. }) {
                deny(world, "alice", EVICTS.resource);
            }
        });
        let (reason, message) = end(&world);
        assert_eq!(reason, Reason::ExecutionInterrupted, "{message}");
        assert!(message.contains("pods/eviction") && message.contains("for alice"), "{message}");
        assert_eq!(world.evictions.len(), 1, "the node that was begun is finished and no other");
        check_clean(&mut world);
    }
}
