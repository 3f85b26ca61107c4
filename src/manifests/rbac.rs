//! Who may do what: the controller's rights, and two roles for the people who use the plugin.
//!
//! Least rights, one rule per need. The kinds that planning reads come from the table of
//! [`snapshot::view::object`](crate::snapshot::view::object), so that a role can not lag behind it. No role may read a
//! secret or act for another user.
//!
//! May import: api, snapshot, execute

use serde_json::{Value, json};

use super::crd::REPACK_RUNS;
use super::{CONTROLLER, EVENTS_NAMESPACE, NAMESPACE, labels};
use crate::api::GROUP;
use crate::api::names::{CONTROLLER_LEASE, WEBHOOKS};
use crate::execute::command::{EVICTS, RIGHTS};
use crate::snapshot::view::object::Kind;

/// Reads clusters and runs: `report`, `dryrun --local`, `explain`, `fit`, `snapshot`, `status`, `doctor`.
pub const READER: &str = "kubectl-repack-reader";
/// Creates runs of mode DryRun and follows them.
pub const RUNNER: &str = "kubectl-repack-runner";
/// Creates runs of any mode, follows and cancels them.
pub const OPERATOR: &str = "kubectl-repack-operator";
/// Has pods moved: whoever creates an Execute run is asked for this right in the namespaces of its victims.
pub const EVICTOR: &str = "kubectl-repack-evictor";

/// The controller's account and everything it may do.
pub fn controller() -> Vec<Value> {
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": CONTROLLER, "namespace": NAMESPACE, "labels": labels()},
    });
    // Whatever is read is followed by a watch; nothing is asked for by itself but the lease.
    let mut everywhere = reads(&["list", "watch"]);
    everywhere.extend([
        // Runs are followed, and deleted when their ttlSecondsAfterFinished is over.
        rule(GROUP, &[REPACK_RUNS], &["list", "watch", "delete"]),
        rule(GROUP, &["repackruns/status"], &["update"]),
        // Whether the definition is ours: only then runs are answered.
        definition(&["list", "watch"]),
    ]);
    let lease = vec![
        // The name of what does not exist yet can not be a condition.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        named(rule("coordination.k8s.io", &["leases"], &["get", "update"]), CONTROLLER_LEASE),
    ];
    let events = vec![rule("", &["events"], &["create"])];
    let leader = format!("{CONTROLLER}-leader");
    let recorder = format!("{CONTROLLER}-events");
    vec![
        account,
        role("ClusterRole", CONTROLLER, None, &everywhere),
        binding("ClusterRole", CONTROLLER, None),
        role("Role", &leader, Some(NAMESPACE), &lease),
        binding("Role", &leader, Some(NAMESPACE)),
        // Events about objects without a namespace stand in this one.
        role("Role", &recorder, Some(EVENTS_NAMESPACE), &events),
        binding("Role", &recorder, Some(EVENTS_NAMESPACE)),
    ]
}

/// What the controller may do besides to carry out runs of mode Execute: one rule per command. Without these roles it
/// plans, and an Execute run fails before it evicts anything.
pub fn executor() -> Vec<Value> {
    let name = format!("{CONTROLLER}-execute");
    let mut rules: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for right in RIGHTS {
        match rules
            .iter_mut()
            .find(|(group, resource, _)| (*group, *resource) == (right.group, right.resource))
        {
            Some((_, _, verbs)) => verbs.push(right.verb),
            None => rules.push((right.group, right.resource, vec![right.verb])),
        }
    }
    let mut rules: Vec<Value> =
        rules.iter().map(|(group, resource, verbs)| rule(group, &[resource], verbs)).collect();
    // The webhooks are made by the controller, which knows their certificate.
    let webhooks =
        |verbs: &[&str]| rule("admissionregistration.k8s.io", &["mutatingwebhookconfigurations"], verbs);
    rules.extend([webhooks(&["create"]), named(webhooks(&["get", "patch"]), WEBHOOKS)]);
    let lease = vec![named(rule("coordination.k8s.io", &["leases"], &["patch"]), CONTROLLER_LEASE)];
    vec![
        role("ClusterRole", &name, None, &rules),
        binding("ClusterRole", &name, None),
        role("Role", &name, Some(NAMESPACE), &lease),
        binding("Role", &name, Some(NAMESPACE)),
    ]
}

/// What a process that carries one run out has: the controller's rights, and to create runs of any mode, follow and cancel
/// them.
pub fn once(account: &str) -> Vec<Value> {
    let execute = format!("{CONTROLLER}-execute");
    let everywhere = [CONTROLLER, &execute, OPERATOR];
    let (leader, recorder) = (format!("{CONTROLLER}-leader"), format!("{CONTROLLER}-events"));
    let within = [(&leader, NAMESPACE), (&execute, NAMESPACE), (&recorder, EVENTS_NAMESPACE)];
    let mut bindings: Vec<Value> = everywhere
        .iter()
        .map(|role| gives("ClusterRole", role, (&role.replace(CONTROLLER, account), None), account))
        .collect();
    bindings.extend(within.iter().map(|(role, namespace)| {
        gives("Role", role, (&role.replace(CONTROLLER, account), Some(namespace)), account)
    }));
    bindings
}

/// Roles for people. Nobody is bound to them here.
pub fn users() -> Vec<Value> {
    let follow = || rule(GROUP, &[REPACK_RUNS], &["get", "list", "watch"]);
    let mut reader = reads(&["get", "list"]);
    // `doctor` asks whose the definition is and whether a controller lives.
    let lease = named(rule("coordination.k8s.io", &["leases"], &["get"]), CONTROLLER_LEASE);
    reader.extend([follow(), definition(&["get"]), lease]);
    // Whether the controller that answers is of the plugin's version.
    let lease = named(rule("coordination.k8s.io", &["leases"], &["get"]), CONTROLLER_LEASE);
    let runner = vec![follow(), rule(GROUP, &[REPACK_RUNS], &["create"]), lease.clone()];
    // `execute` is the verb that the admission policy asks for; `cancel` annotates a run.
    let operator = vec![follow(), rule(GROUP, &[REPACK_RUNS], &["create", "execute", "patch"]), lease];
    vec![
        role("ClusterRole", READER, None, &reader),
        role("ClusterRole", RUNNER, None, &runner),
        role("ClusterRole", OPERATOR, None, &operator),
        // Bound in a namespace it says whose pods an operator moves; bound everywhere, everybody's.
        role("ClusterRole", EVICTOR, None, &[rule(EVICTS.group, &[EVICTS.resource], &[EVICTS.verb])]),
    ]
}

/// The definition of runs, by its name.
fn definition(verbs: &[&str]) -> Value {
    let name = format!("{REPACK_RUNS}.{GROUP}");
    named(rule("apiextensions.k8s.io", &["customresourcedefinitions"], verbs), &name)
}

/// One rule per API group for the kinds that planning reads, in the order of their table.
fn reads(verbs: &[&str]) -> Vec<Value> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for kind in Kind::ALL {
        match groups.iter_mut().find(|(group, _)| *group == kind.group()) {
            Some((_, plurals)) => plurals.push(kind.plural()),
            None => groups.push((kind.group(), vec![kind.plural()])),
        }
    }
    groups.iter().map(|(group, plurals)| rule(group, plurals, verbs)).collect()
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn named(mut rule: Value, name: &str) -> Value {
    rule["resourceNames"] = json!([name]);
    rule
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(name, namespace),
        "rules": rules,
    })
}

/// Gives a role to the controller, within a namespace or everywhere.
fn binding(role: &str, name: &str, namespace: Option<&str>) -> Value {
    gives(role, name, (name, namespace), CONTROLLER)
}

/// A binding of this name and namespace.
fn gives(kind: &str, role: &str, (name, namespace): (&str, Option<&str>), account: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{kind}Binding"),
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    })
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    let mut metadata = json!({"name": name, "labels": labels()});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Vec<Value> {
        controller()
            .into_iter()
            .chain(executor())
            .chain(users())
            .flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default())
            .collect()
    }

    fn words<'a>(rule: &'a Value, part: &str) -> Vec<&'a str> {
        rule[part].as_array().into_iter().flatten().map(|word| word.as_str().unwrap()).collect()
    }

    #[test]
    fn nothing_is_allowed_by_a_star_no_secret_is_read_and_nobody_is_impersonated() {
        for rule in rules() {
            for part in ["apiGroups", "resources", "verbs"] {
                let words = words(&rule, part);
                assert!(!words.is_empty() && !words.contains(&"*"), "{rule}");
            }
            for word in ["secrets", "configmaps", "users", "serviceaccounts", "impersonate"] {
                assert!(!rule.to_string().contains(&format!("{word:?}")), "{rule}");
            }
        }
    }

    #[test]
    fn the_controller_writes_runs_their_status_one_lease_and_events_and_nothing_else() {
        let writes = ["create", "update", "patch", "delete", "deletecollection"];
        let mut found: Vec<String> = controller()
            .iter()
            .flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default())
            .filter(|rule| words(rule, "verbs").iter().any(|verb| writes.contains(verb)))
            .map(|rule| words(&rule, "resources").join(","))
            .collect();
        found.dedup();
        assert_eq!(found, ["repackruns", "repackruns/status", "leases", "events"]);
    }

    #[test]
    fn execution_evicts_patches_and_probes_and_deletes_nothing() {
        let all = executor();
        let rules = all.iter().flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default());
        for rule in rules {
            for verb in words(&rule, "verbs") {
                assert!(!verb.starts_with("delete"), "{rule}");
            }
        }
        let evicts = json!({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]});
        assert!(all[0]["rules"].as_array().unwrap().contains(&evicts));
    }

    #[test]
    fn every_kind_that_planning_reads_is_in_the_roles_that_read_clusters() {
        for (role, verbs) in
            [(controller().remove(1), &["list", "watch"]), (users().remove(0), &["get", "list"])]
        {
            for kind in Kind::ALL {
                let allowed = role["rules"].as_array().unwrap().iter().any(|rule| {
                    words(rule, "apiGroups") == [kind.group()]
                        && words(rule, "resources").contains(&kind.plural())
                        && words(rule, "verbs") == verbs
                });
                assert!(allowed, "{} may not read {}", role["metadata"]["name"], kind.plural());
            }
        }
    }
}
