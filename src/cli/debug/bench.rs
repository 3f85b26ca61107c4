//! `kubectl repack debug bench`: how long each step takes on a cluster file, and what Drain comes to.
//!
//! One line per budget setting. Times are wall-clock on this machine, memory is the peak of the process so far, so
//! one file per call gives the peak of that file.
//!
//! May import: api, cli, snapshot, fragmentation, plan

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::api::Algorithm;
use crate::cli::error::CliError;
use crate::cli::output::{Out, Table};
use crate::fragmentation::{FragmentationReport, ReportOptions};
use crate::plan::request::{Budget, Request};
use crate::plan::{Planned, make};
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder, Snapshot};

/// Budgets of the reference results: PodGroups and cards.
const BUDGETS: [Option<(u64, u64)>; 5] = [None, Some((2, 8)), Some((2, 64)), Some((10, 8)), Some((10, 64))];

/// Measures every file.
pub fn run(files: &[PathBuf], search: bool, out: &mut Out) -> Result<(), CliError> {
    let mut table = Table::new([
        "file", "mb", "nodes", "pods", "load", "report", "budget", "plan", "freed", "cost", "at least",
        "peak mb",
    ]);
    for path in files {
        measure(path, search, &mut table)?;
    }
    out.data(&table.render(true));
    Ok(())
}

fn measure(path: &Path, search: bool, table: &mut Table) -> Result<(), CliError> {
    let started = Instant::now();
    let (snapshot, bytes) = load(path)?;
    let load = started.elapsed();
    let started = Instant::now();
    let options = ReportOptions { resources: &[], group_by: None, movability: None };
    let report = FragmentationReport::new(&snapshot, &options);
    let report_time = started.elapsed();
    let resource =
        report.resources.first().map(|r| r.resource.clone()).ok_or_else(|| {
            CliError::failure(format!("{}: no extended resource is in use", path.display()))
        })?;
    for budget in BUDGETS {
        let mut request = Request::for_resource(&resource);
        if search {
            request.algorithm = Algorithm::Search;
        }
        if let Some((groups, cards)) = budget {
            request.budget =
                Budget { pod_groups: Some(groups), resources: BTreeMap::from([(resource.clone(), cards)]) };
        }
        let started = Instant::now();
        let Planned { plan, report } =
            make(&snapshot, &request).map_err(|fault| CliError::failure(format!("cannot plan: {fault}")))?;
        let planning = started.elapsed();
        let cost = plan.disruption.cost(request.weights.array());
        table.row([
            path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            format!("{}.{}", bytes / 1_000_000, bytes / 100_000 % 10),
            snapshot.nodes.len().to_string(),
            snapshot.pods.len().to_string(),
            seconds(load),
            seconds(report_time),
            budget.map_or_else(|| "none".to_owned(), |(groups, cards)| format!("{groups}/{cards}")),
            seconds(planning),
            format!("{}/{}", plan.freed.len(), report.upper_bound),
            format!("{}.{}", cost / 10, cost % 10),
            format!("{}.{}", report.least_cost / 10, report.least_cost % 10),
            peak_megabytes(),
        ]);
    }
    Ok(())
}

fn load(path: &Path) -> Result<(Snapshot, u64), CliError> {
    let attempt = format!("cannot read {}", path.display());
    let file = File::open(path).map_err(|fault| CliError::failure(&attempt).because(fault))?;
    let mut builder = Builder::new(BuildOptions::default());
    let stats = read_all(file, &path.display().to_string(), &mut builder)
        .map_err(|fault| CliError::failure(&attempt).because(fault))?;
    let snapshot = builder.finish().map_err(|fault| CliError::failure(attempt).because(fault))?;
    Ok((snapshot, stats.bytes))
}

fn seconds(time: std::time::Duration) -> String {
    format!("{:.3}s", time.as_secs_f64())
}

/// The largest resident size of this process so far, where the system tells it.
fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or_else(|| "unknown".to_owned(), |kilobytes| (kilobytes / 1024).to_string())
}
