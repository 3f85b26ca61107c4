//! `kubectl repack doctor`: what is missing, all at once, each with its remedy.
//!
//! May import: cli, api, live, snapshot

use serde::Serialize;

use super::args::cluster::ClusterArgs;
use super::args::doctor::DoctorArgs;
use super::args::groups::Format;
use super::error::CliError;
use super::exit::Exit;
use super::options::View;
use super::output::{Out, Table, json, yaml};
use crate::api::names::VOLCANO_ENGINE;
use crate::api::{API_VERSION, GROUP};
use crate::live::checks::{Definition, definition, holder, may, other_engines, version};
use crate::live::served::{Served, catalogue};
use crate::live::{Connected, LiveError, block_on, connect::connect};
use crate::snapshot::view::object::Kind;

/// Servers this program is tested with.
const OLDEST: (u32, u32) = (1, 30);
const NEWEST: (u32, u32) = (1, 37);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum State {
    /// As it should be.
    Ok,
    /// Planning works, something else does not.
    Warning,
    /// Planning does not work.
    Missing,
    /// It could not be found out.
    Unknown,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
struct Check {
    check: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    remedy: String,
}

impl Check {
    fn new(check: &'static str, state: State, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state, found: found.into(), remedy: remedy.into() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    api_version: &'static str,
    kind: &'static str,
    checks: Vec<Check>,
}

/// Prints all checks. Ends with 3 when something that planning needs is missing.
pub fn run(args: &DoctorArgs, cluster: &ClusterArgs, out: &mut Out) -> Result<Exit, CliError> {
    let view = View::resolve(&args.view, |name| std::env::var(name).ok());
    let checks = block_on(async {
        let connected = connect(&cluster.connection()).await?;
        check(&connected, &args.controller_namespace).await
    });
    let checks = checks.map_err(|fault| CliError::failure("cannot ask the cluster").because(fault))?;
    let ready = checks.iter().all(|check| check.state != State::Missing);
    let document = Document { api_version: API_VERSION, kind: "Doctor", checks };
    let text = match view.format {
        Format::Json => json(&document),
        Format::Yaml => yaml(&document),
        Format::Name => Ok(document
            .checks
            .iter()
            .filter(|check| check.state != State::Ok)
            .map(|check| format!("{}\n", check.check))
            .collect()),
        Format::Table | Format::Wide => Ok(table(&document.checks, &view)?),
    };
    out.data(&text.map_err(|fault| CliError::failure("cannot write the checks").because(fault))?);
    Ok(if ready { Exit::Done } else { Exit::NotAchieved })
}

fn table(checks: &[Check], view: &View) -> Result<String, CliError> {
    let mut table = Table::new(["check", "state", "found", "remedy"]);
    for check in checks {
        let state = format!("{:?}", check.state);
        table.row([check.check.to_owned(), state, check.found.clone(), check.remedy.clone()]);
    }
    if let Some(column) = &view.sort_by {
        table.sort_by(column)?;
    }
    Ok(table.render(view.headers))
}

async fn check(connected: &Connected, namespace: &str) -> Result<Vec<Check>, LiveError> {
    let server = version(connected).await?;
    let mut checks = vec![of_version(server)];
    let catalogue = catalogue(connected).await?;
    checks.push(rights_to_read(connected, &catalogue.served).await?);
    for kind in &catalogue.silent {
        let found = format!("the API server of {} does not answer", kind.name());
        checks.push(Check::new("aggregated APIs", State::Unknown, found, "kubectl get apiservices"));
    }
    checks.push(volcano(&catalogue.served));
    checks.push(of_definition(definition(connected).await));
    // Whoever may not read Deployments is told so above.
    for namespace in other_engines(connected).await.unwrap_or_default() {
        let found = format!("Volcano's own engine runs in {namespace} and answers the same runs");
        let remedy = format!("kubectl scale deployment {VOLCANO_ENGINE} -n {namespace} --replicas 0");
        checks.push(Check::new("other engine", State::Warning, found, remedy));
    }
    checks.push(rights_to_run(connected).await?);
    checks.push(of_holder(holder(connected, namespace).await, namespace));
    Ok(checks)
}

fn of_version((major, minor): (u32, u32)) -> Check {
    let found = format!("Kubernetes {major}.{minor}");
    let tested = format!("tested with {}.{} to {}.{}", OLDEST.0, OLDEST.1, NEWEST.0, NEWEST.1);
    if ((major, minor) < OLDEST) || ((major, minor) > NEWEST) {
        Check::new("server version", State::Warning, found, tested)
    } else {
        Check::new("server version", State::Ok, found, "")
    }
}

/// Without nodes and pods there is no plan; without another kind its rules are unknown.
async fn rights_to_read(connected: &Connected, served: &[Served]) -> Result<Check, LiveError> {
    let (mut missing, mut vital) = (Vec::new(), false);
    for served in served {
        if !may(connected, "list", served.kind.group(), &served.plural, None).await? {
            vital |= matches!(served.kind, Kind::Node | Kind::Pod);
            missing.push(served.resource());
        }
    }
    if missing.is_empty() {
        let found = format!("you may list all {} kinds that planning reads here", served.len());
        return Ok(Check::new("rights to read", State::Ok, found, ""));
    }
    let state = if vital { State::Missing } else { State::Warning };
    let found = format!("you may not list {}", missing.join(", "));
    Ok(Check::new("rights to read", state, found, "bind the ClusterRole kubectl-repack-reader of manifests/"))
}

fn volcano(served: &[Served]) -> Check {
    if served.iter().any(|served| served.kind == Kind::PodGroup) {
        return Check::new("PodGroups", State::Ok, "Volcano's PodGroups are served", "");
    }
    let remedy = "plan with --schedulers default-scheduler --allow-ungrouped";
    Check::new("PodGroups", State::Warning, "no PodGroups are served: Volcano is not installed", remedy)
}

fn of_definition(found: Result<Definition, LiveError>) -> Check {
    let install = "kubectl apply -k manifests/; until then dryrun plans on this machine";
    match found {
        Ok(Definition::Ours) => Check::new("RepackRun CRD", State::Ok, "installed", ""),
        Ok(Definition::Absent) => Check::new("RepackRun CRD", State::Warning, "not installed", install),
        Ok(Definition::Foreign(manager)) => {
            let manager = manager.unwrap_or_else(|| "nobody that says so".to_owned());
            let remedy = format!(
                "stop the other engine, then: kubectl label crd repackruns.{GROUP} app.kubernetes.io/managed-by=kubectl-repack --overwrite"
            );
            Check::new("RepackRun CRD", State::Warning, format!("managed by {manager}"), remedy)
        }
        Err(fault) => unknown("RepackRun CRD", &fault),
    }
}

async fn rights_to_run(connected: &Connected) -> Result<Check, LiveError> {
    let mut missing = Vec::new();
    for verb in ["create", "get", "list", "watch"] {
        if !may(connected, verb, GROUP, "repackruns", None).await? {
            missing.push(verb);
        }
    }
    if missing.is_empty() {
        return Ok(Check::new("rights to run", State::Ok, "you may create and follow RepackRuns", ""));
    }
    let found = format!("you may not {} repackruns.{GROUP}", missing.join(", "));
    let remedy = "bind the ClusterRole kubectl-repack-runner of manifests/, or plan with --local";
    Ok(Check::new("rights to run", State::Warning, found, remedy))
}

fn of_holder(found: Result<Option<crate::live::checks::Holder>, LiveError>, namespace: &str) -> Check {
    let remedy = format!("kubectl get pods -n {namespace}; or name it with --controller-namespace");
    match found {
        Ok(Some(holder)) if is_silent(&holder, jiff::Timestamp::now()) => {
            let found = format!("{} leads no more: last heard of at {}", holder.identity, holder.renewed);
            Check::new("controller", State::Warning, found, remedy)
        }
        Ok(Some(holder)) => {
            let ours = env!("CARGO_PKG_VERSION");
            match holder.version.filter(|theirs| theirs != ours) {
                None => Check::new("controller", State::Ok, format!("{} leads", holder.identity), ""),
                Some(theirs) => {
                    let found = format!("{} leads with version {theirs}, this is {ours}", holder.identity);
                    Check::new("controller", State::Warning, found, "use the same version for both")
                }
            }
        }
        Ok(None) => Check::new("controller", State::Warning, format!("none leads in {namespace}"), remedy),
        Err(fault) => unknown("controller", &fault),
    }
}

/// The lease has run out, with as much again for clocks that differ.
fn is_silent(holder: &crate::live::checks::Holder, now: jiff::Timestamp) -> bool {
    let renewed: Option<jiff::Timestamp> = holder.renewed.parse().ok();
    renewed.is_some_and(|renewed| now.duration_since(renewed).as_secs() > 2 * holder.seconds)
}

fn unknown(check: &'static str, fault: &LiveError) -> Check {
    let remedy = if fault.is_missing_right() { "ask someone who may read it" } else { "" };
    Check::new(check, State::Unknown, fault.to_string(), remedy)
}
