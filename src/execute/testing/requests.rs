//! The API server's side of each command.
//!
//! May import: api, execute

use serde_json::{Value, json};

use super::actors::patch;
use super::world::{Trouble, World, run};
use crate::api::names::{PLACEMENT_GATE, PLACEMENT_LEASE_ANNOTATION};
use crate::execute::admission::{Expected, PROBE_ANNOTATION};
use crate::execute::seen::Seen;
use crate::execute::{Answer, Command, PodRef, Refusal};

fn refused(code: u16, message: &str) -> Answer {
    Answer::Refused(Refusal { code, message: message.to_owned(), ..Refusal::default() })
}

impl World {
    /// Carries out a command and answers, unless something is to go wrong.
    pub fn send(&mut self, command: &Command) -> Answer {
        if matches!(command, Command::Tell { .. }) {
            return Answer::Done;
        }
        self.requests.push(command.what());
        let Some((times, trouble)) = self.strike.clone() else { return self.carry_out(command) };
        let struck = self.struck.entry(command.what()).or_default();
        if *struck >= times {
            return self.carry_out(command);
        }
        *struck += 1;
        match trouble {
            Trouble::Refused(refusal) => Answer::Refused(refusal),
            Trouble::Lost => Answer::Lost("connection refused".to_owned()),
            Trouble::AnswerLost => {
                self.carry_out(command);
                Answer::Lost("no answer within 5 s".to_owned())
            }
        }
    }

    fn carry_out(&mut self, command: &Command) -> Answer {
        match command {
            Command::ReadRun => Answer::Run(self.run.clone().map(Box::new)),
            Command::WriteStatus(status) => self.on_run(|run| run.status = Some((**status).clone())),
            Command::Finalizer(on) => {
                let answer = self.on_run(|run| run.finalizer = *on);
                if self.run.as_ref().is_some_and(|run| run.deleting && !run.finalizer) {
                    self.last = self.run.take().and_then(|run| run.status);
                }
                answer
            }
            Command::ActiveLabel(on) => self.on_run(|run| run.active = *on),
            Command::Lease { group, held } => {
                let key = (group.namespace.clone(), group.name.clone());
                let same =
                    self.store.groups.get(&key).map(|found| found["metadata"]["uid"] == group.uid.as_str());
                match same {
                    None => return refused(404, "not found"),
                    Some(false) => return refused(422, "the UID is immutable"),
                    Some(true) => {}
                }
                self.change(|store| {
                    let annotations = &mut store.groups.get_mut(&key).unwrap()["metadata"]["annotations"];
                    if *held {
                        annotations[PLACEMENT_LEASE_ANNOTATION] = json!(run().tag());
                    } else if let Some(all) = annotations.as_object_mut() {
                        all.remove(PLACEMENT_LEASE_ANNOTATION);
                    }
                });
                Answer::Done
            }
            Command::Webhooks { namespaces } => {
                self.webhooks.clone_from(namespaces);
                Answer::Done
            }
            Command::Review { right, of, .. } => {
                let who = of.as_ref().map_or("the controller", |who| who.username.as_str());
                let denied = (who.to_owned(), right.resource.to_owned());
                if self.denied.contains(&denied) { refused(403, "not allowed") } else { Answer::Done }
            }
            Command::Probe { namespace } => self.probe(namespace),
            Command::ReadPod(pod) => {
                let found = self.store.pods.get(&(pod.namespace.clone(), pod.name.clone()));
                Answer::Pod(found.map(|pod| Box::new(Seen::of(pod))))
            }
            Command::Evict { pod, .. } => self.evict(pod),
            Command::Nominate { pod, node } => {
                let node = node.clone();
                self.on_pod(pod, |found| found["status"]["nominatedNodeName"] = json!(node))
            }
            Command::Ungate(pod) => self.ungate(pod),
            Command::ListPods => Answer::Cluster(Box::new(self.snapshot())),
            Command::Anchor(time) => {
                self.anchor = Some(*time);
                Answer::Done
            }
            Command::Tell { .. } => Answer::Done,
        }
    }

    fn on_run(&mut self, change: impl FnOnce(&mut crate::execute::command::RunSeen)) -> Answer {
        match &mut self.run {
            Some(run) => {
                change(run);
                Answer::Done
            }
            None => refused(404, "not found"),
        }
    }

    fn on_pod(&mut self, pod: &PodRef, change: impl FnOnce(&mut Value)) -> Answer {
        let key = (pod.namespace.clone(), pod.name.clone());
        match self.store.pods.get(&key).map(|found| found["metadata"]["uid"] == pod.uid.as_str()) {
            None => refused(404, "not found"),
            Some(false) => refused(422, "the UID is immutable"),
            Some(true) => {
                self.change(|store| change(store.pods.get_mut(&key).unwrap()));
                Answer::Done
            }
        }
    }

    fn probe(&self, namespace: &str) -> Answer {
        let tag = run().tag();
        let annotations = json!({PROBE_ANNOTATION: tag});
        let mut pod = json!({"metadata": {"namespace": namespace, "annotations": annotations}, "spec": {}});
        let status = self.run.as_ref().and_then(|run| run.status.clone());
        if self.webhook_up
            && self.webhooks.iter().any(|listed| listed == namespace)
            && let Some(expected) = status.and_then(|status| Expected::of(&run(), &status))
        {
            let changes = expected.patch_pod(namespace, &pod);
            patch(&mut pod, &changes);
        }
        Answer::Pod(Some(Box::new(Seen::of(&pod))))
    }

    fn evict(&mut self, pod: &PodRef) -> Answer {
        if let Some(refusal) = self.refusals.get(&pod.name) {
            return Answer::Refused(refusal.clone());
        }
        let key = (pod.namespace.clone(), pod.name.clone());
        match self.store.pods.get(&key) {
            None => refused(404, "not found"),
            Some(found) if found["metadata"]["uid"] != pod.uid.as_str() => refused(409, "the UID differs"),
            Some(found) => {
                if found["metadata"]["deletionTimestamp"].is_null() {
                    *self.evictions.entry(pod.uid.clone()).or_default() += 1;
                }
                self.terminate(&pod.namespace, &pod.name);
                Answer::Done
            }
        }
    }

    fn ungate(&mut self, pod: &PodRef) -> Answer {
        let key = (pod.namespace.clone(), pod.name.clone());
        let gated = self.store.pods.get(&key).is_some_and(|found| Seen::of(found).is_gated());
        if !gated {
            return refused(if self.store.pods.contains_key(&key) { 422 } else { 404 }, "no such gate");
        }
        self.on_pod(pod, |found| {
            found["spec"]["schedulingGates"]
                .as_array_mut()
                .unwrap()
                .retain(|gate| gate["name"] != PLACEMENT_GATE);
            if let Some(all) = found["metadata"]["annotations"].as_object_mut() {
                all.remove(crate::api::names::GATE_OWNER_ANNOTATION);
            }
        })
    }
}
