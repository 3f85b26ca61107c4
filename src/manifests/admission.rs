//! Who may create runs that move pods, and that nobody lies about who did: a policy that the API server decides by itself.
//!
//! May import: api

use serde_json::{Value, json};

use super::crd::REPACK_RUNS;
use super::labels;
use crate::api::names::{CREATOR_ANNOTATION, CREATOR_GROUPS_ANNOTATION};
use crate::api::{GROUP, VERSION};

/// Name of the policy and of its binding.
const NAME: &str = "kubectl-repack-execute";

/// The policy: mode Execute takes the verb `execute` on repackruns.
pub fn execute() -> Vec<Value> {
    let metadata = json!({"name": NAME, "labels": labels()});
    // Who created a run: what the webhook notes on it, or nobody knows. It is true, and stays.
    let noted = |object: &str, name: &str| format!("{object}.metadata.?annotations['{name}'].orValue('')");
    let (who, groups) = (CREATOR_ANNOTATION, CREATOR_GROUPS_ANNOTATION);
    let true_note = format!(
        "request.operation != 'CREATE' || ({who} == '' && {groups} == '') || ({who} == request.userInfo.username && \
         {groups} == request.userInfo.?groups.orValue([]).join('\\n'))",
        who = noted("object", who),
        groups = noted("object", groups),
    );
    let same_note = format!(
        "request.operation != 'UPDATE' || ({} == {} && {} == {})",
        noted("object", who),
        noted("oldObject", who),
        noted("object", groups),
        noted("oldObject", groups),
    );
    let allowed = format!("authorizer.group('{GROUP}').resource('{REPACK_RUNS}').check('execute').allowed()");
    vec![
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [GROUP],
                    "apiVersions": [VERSION],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": [REPACK_RUNS],
                }]},
                "validations": [
                    {
                        "expression":
                            format!("request.operation != 'CREATE' || object.spec.mode != 'Execute' || {allowed}"),
                        "message": "spec.mode Execute moves pods: it takes the verb execute on repackruns",
                        "reason": "Forbidden",
                    },
                    {
                        "expression": true_note,
                        "message": format!("annotation {who} names somebody else than whoever creates the run"),
                        "reason": "Forbidden",
                    },
                    {
                        "expression": same_note,
                        "message": format!("annotations {who} and {groups} never change"),
                        "reason": "Forbidden",
                    },
                ],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": NAME, "validationActions": ["Deny"]},
        }),
    ]
}
