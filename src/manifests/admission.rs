//! Who may create runs that move pods: a policy that the API server decides by itself.
//!
//! May import: api

use serde_json::{Value, json};

use super::crd::REPACK_RUNS;
use super::labels;
use crate::api::{GROUP, VERSION};

/// Name of the policy and of its binding.
const NAME: &str = "kubectl-repack-execute";

/// The policy: mode Execute takes the verb `execute` on repackruns.
pub fn execute() -> Vec<Value> {
    let metadata = json!({"name": NAME, "labels": labels()});
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
                    "operations": ["CREATE"],
                    "resources": [REPACK_RUNS],
                }]},
                "validations": [{
                    "expression": format!("object.spec.mode != 'Execute' || {allowed}"),
                    "message": "spec.mode Execute moves pods: it takes the verb execute on repackruns",
                    "reason": "Forbidden",
                }],
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
