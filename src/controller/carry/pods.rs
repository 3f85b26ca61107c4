//! Requests about pods: the list, the probe, evictions, gates.
//!
//! May import: api, execute, controller

use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{Carrier, JSON, PATCH, done};
use crate::api::names::{GATE_OWNER_ANNOTATION, PLACEMENT_GATE};
use crate::execute::admission::PROBE_ANNOTATION;
use crate::execute::{Answer, PodRef, RunRef, Seen};

impl Carrier {
    /// All pods at one moment, page by page.
    ///
    /// # Errors
    /// What came instead of the list.
    pub async fn pods(&self, reign: i32) -> Result<Vec<DynamicObject>, Answer> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/api/v1/pods?limit=500&continue={next}");
            let page = self.send(reign, "GET", &path, None, "list pods").await?;
            for item in page["items"].as_array().into_iter().flatten() {
                let pod = serde_json::from_value(item.clone());
                all.push(pod.map_err(|fault| Answer::Lost(format!("a pod cannot be read: {fault}")))?);
            }
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => token.clone_into(&mut next),
                None => return Ok(all),
            }
        }
    }

    pub(super) async fn probe(&self, reign: i32, run: &RunRef, namespace: &str) -> Answer {
        let small = json!({"cpu": "1m", "memory": "1Mi"});
        // Passes the strictest profile of pod security, and quotas that want limits.
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"generateName": "repack-probe-", "namespace": namespace,
                         "annotations": {PROBE_ANNOTATION: run.tag()}},
            "spec": {
                "restartPolicy": "Never",
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65_532, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "probe", "image": "probe", "resources": {"requests": small, "limits": small},
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
            },
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods?dryRun=All");
        match self.send(reign, "POST", &path, Some((JSON, pod)), "create pods").await {
            Ok(pod) => Answer::Pod(Some(Box::new(Seen::of(&pod)))),
            Err(answer) => answer,
        }
    }

    pub(super) async fn evict(&self, reign: i32, pod: &PodRef, grace: Option<i64>) -> Answer {
        let mut options = json!({"preconditions": {"uid": pod.uid}});
        if let Some(grace) = grace {
            options["gracePeriodSeconds"] = json!(grace);
        }
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"namespace": pod.namespace, "name": pod.name}, "deleteOptions": options});
        let body = Some((JSON, eviction));
        let answer =
            self.send(reign, "POST", &pod_path(pod, "/eviction"), body, "create pods/eviction").await;
        let answer = done(answer);
        self.metrics.evicted(matches!(answer, Answer::Done));
        answer
    }

    /// Removes our gate, wherever it stands among others, and the note who put it there.
    pub(super) async fn ungate(&self, reign: i32, pod: &PodRef) -> Answer {
        let found = match self.send(reign, "GET", &pod_path(pod, ""), None, "get pods").await {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        let gates = found["spec"]["schedulingGates"].as_array().cloned().unwrap_or_default();
        let Some(at) = gates.iter().position(|gate| gate["name"] == PLACEMENT_GATE) else {
            return Answer::Done;
        };
        let mut operations = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": pod.uid}),
            json!({"op": "test", "path": format!("/spec/schedulingGates/{at}/name"), "value": PLACEMENT_GATE}),
            json!({"op": "remove", "path": format!("/spec/schedulingGates/{at}")}),
        ];
        if found["metadata"]["annotations"][GATE_OWNER_ANNOTATION].is_string() {
            let key = GATE_OWNER_ANNOTATION.replace('/', "~1");
            operations.push(json!({"op": "remove", "path": format!("/metadata/annotations/{key}")}));
        }
        let body = Some((PATCH, Value::from(operations)));
        done(self.send(reign, "PATCH", &pod_path(pod, ""), body, "patch pods").await)
    }
}

pub(super) fn pod_path(pod: &PodRef, sub: &str) -> String {
    format!("/api/v1/namespaces/{}/pods/{}{sub}", pod.namespace, pod.name)
}
