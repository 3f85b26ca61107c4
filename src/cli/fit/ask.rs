//! What is asked about: pods that flags describe, or the workloads of a file.
//!
//! May import: cli, api, snapshot

use std::path::Path;

use crate::cli::args::fit::FitArgs;
use crate::cli::error::CliError;
use crate::cli::output::Out;
use crate::cli::{input, planning, source};
use crate::snapshot::Builder;
use crate::snapshot::build::wanted::{Part, WORKLOADS, Wanted};
use crate::snapshot::read::read_all;
use crate::snapshot::view::pod::PodView;

/// Puts the pods into the cluster, as pods that are only asked about; names the resource where `named` does not.
///
/// # Errors
/// A file that can not be read or holds no pods; amounts that are none.
pub fn ask(
    args: &FitArgs,
    named: Option<&str>,
    builder: &mut Builder,
    out: &mut Out,
) -> Result<(Vec<Part>, String), CliError> {
    if let Some(name) = named {
        let mut known: Vec<&str> = builder.named_resources().collect();
        known.sort_unstable();
        if !known.contains(&name) {
            return Err(planning::no_such_resource(name, &known));
        }
    }
    let replicas = args.replicas.map(usize::from);
    let Some(file) = &args.filename else {
        let name = named.map_or_else(|| only(&builder.requested()), |name| Ok(name.to_owned()))?;
        return Ok((of_flags(args, replicas, &name, builder)?, name));
    };
    let in_use = builder.requested();
    let parts = of_file(file, replicas, builder, out)?;
    let name = match named {
        Some(name) => name.to_owned(),
        None => resource_of_file(builder, &in_use)?,
    };
    Ok((parts, name))
}

fn of_file(
    file: &Path,
    replicas: Option<usize>,
    builder: &mut Builder,
    out: &mut Out,
) -> Result<Vec<Part>, CliError> {
    let name = input::shown(file);
    let mut wanted = Wanted::new(builder, replicas);
    source::open(file, "cannot ask about this", |reader, name| read_all(reader, name, &mut wanted))?;
    let kinds: Vec<String> = wanted.skipped.keys().cloned().collect();
    if wanted.parts.is_empty() {
        let holds = if kinds.is_empty() { String::new() } else { format!(", only {}", kinds.join(", ")) };
        return Err(CliError::failure(format!("{name} holds no workload{holds}"))
            .hint(format!("workloads whose pods are known: {WORKLOADS}")));
    }
    if wanted.parts.iter().all(|part| part.pods.is_empty()) {
        let hint = "--replicas N asks about N pods of a single template";
        return Err(CliError::failure(format!("the workloads of {name} want no pods")).hint(hint));
    }
    if !kinds.is_empty() {
        out.detail(format!("Skipped what no rule reads: {}.", kinds.join(", ")));
    }
    let mut parts = wanted.parts;
    parts.retain(|part| !part.pods.is_empty());
    Ok(parts)
}

/// The resource of the pods; of pods that ask for none, the one that other pods ask for.
fn resource_of_file(builder: &Builder, in_use: &[String]) -> Result<String, CliError> {
    let asked = builder.requested_by_candidates();
    match &*asked {
        [] => only(in_use),
        [one] => Ok(one.clone()),
        several => {
            Err(CliError::usage(format!("its pods ask for several resources: {}", several.join(", ")))
                .hint(format!("name the one to free nodes of: -r {}", several[0])))
        }
    }
}

/// The extended resource, where the pods of the input ask for a single one.
fn only(in_use: &[String]) -> Result<String, CliError> {
    match in_use {
        [only] => Ok(only.clone()),
        [] => Err(CliError::usage("no pod requests an extended resource").hint("name one: -r RESOURCE")),
        several => Err(CliError::usage(format!("several resources are in use: {}", several.join(", ")))
            .hint(format!("name one: -r {}", several[0]))),
    }
}

/// Pods that are all alike.
fn of_flags(
    args: &FitArgs,
    replicas: Option<usize>,
    resource: &str,
    builder: &mut Builder,
) -> Result<Vec<Part>, CliError> {
    let mut requests = serde_json::Map::new();
    requests.insert(resource.to_owned(), args.cards.unwrap_or(0).to_string().into());
    for (name, amount) in [("cpu", &args.cpu), ("memory", &args.memory)] {
        if let Some(amount) = amount {
            requests.insert(name.to_owned(), amount.clone().into());
        }
    }
    let mut pod = serde_json::json!({
        "metadata": {"name": "fit", "namespace": "default"},
        "spec": {
            "schedulerName": args.scheduler.as_deref().unwrap_or("volcano"),
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        },
    });
    if let Some(selector) = &args.selector {
        if !selector.match_expressions.is_empty() {
            return Err(CliError::usage("--selector of fit takes KEY=VALUE only"));
        }
        pod["spec"]["nodeSelector"] = serde_json::json!(selector.match_labels);
    }
    let pod = pod.to_string();
    let failed = |fault: anyhow::Error| CliError::usage("cannot use this job").because(fault);
    let view: PodView<'_> = serde_json::from_str(&pod).map_err(|fault| failed(fault.into()))?;
    let mut wanted = Wanted::new(builder, replicas);
    wanted.pod(&view).map_err(|fault| failed(fault.into()))?;
    Ok(wanted.parts)
}
