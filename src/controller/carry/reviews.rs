//! Questions about rights. Not allowed is an answer like a refusal of the request itself.
//!
//! May import: execute

use serde_json::json;

use super::{Carrier, JSON};
use crate::execute::command::Right;
use crate::execute::{Answer, Creator, Refusal};

impl Carrier {
    /// Asks whether this process, or whoever created the run, has a right in a namespace.
    pub(super) async fn review(
        &self,
        reign: i32,
        namespace: &str,
        right: Right,
        of: Option<&Creator>,
    ) -> Answer {
        let (resource, subresource) = right.resource.split_once('/').unwrap_or((right.resource, ""));
        let asked = json!({"namespace": namespace, "verb": right.verb, "group": right.group,
                           "resource": resource, "subresource": subresource});
        let (kind, spec) = match of {
            None => ("SelfSubjectAccessReview", json!({"resourceAttributes": asked})),
            Some(who) => {
                let spec = json!({"resourceAttributes": asked, "user": who.username, "groups": who.groups});
                ("SubjectAccessReview", spec)
            }
        };
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        let what = match of {
            None => "create selfsubjectaccessreviews",
            Some(_) => "create subjectaccessreviews",
        };
        let answer = match self.send(reign, "POST", &path, Some((JSON, body)), what).await {
            Ok(answer) => answer,
            // A server that tells nobody about their own rights says no when it comes to it.
            Err(Answer::Refused(Refusal { code: 403, .. })) if of.is_none() => return Answer::Done,
            Err(answer) => return answer,
        };
        if answer["status"]["allowed"] == true {
            return Answer::Done;
        }
        let words = answer["status"]["reason"].as_str().filter(|reason| !reason.is_empty());
        let message = words.unwrap_or("no role allows it").to_owned();
        Answer::Refused(Refusal { code: 403, message, ..Refusal::default() })
    }
}
