//! The table of runs, with the columns that `kubectl get repackruns` has.
//!
//! May import: cli, api

use serde::Serialize;

use crate::api::{API_VERSION, ConditionStatus, ConditionType, GROUP, Mode, RepackRun};
use crate::cli::args::groups::Format;
use crate::cli::error::CliError;
use crate::cli::options::View;
use crate::cli::output::{Table, json, yaml};

/// All runs in the asked format.
pub(super) fn list(runs: &[RepackRun], view: &View, now: jiff::Timestamp) -> Result<String, CliError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct List<'r> {
        api_version: &'static str,
        kind: &'static str,
        items: &'r [RepackRun],
    }
    let document = List { api_version: API_VERSION, kind: "RepackRunList", items: runs };
    let written = match view.format {
        Format::Json => json(&document),
        Format::Yaml => yaml(&document),
        Format::Name => Ok(runs.iter().map(|run| format!("{}\n", resource_name(run))).collect()),
        Format::Table | Format::Wide => {
            let mut table = table(runs, view.format == Format::Wide, now);
            if let Some(column) = &view.sort_by {
                table.sort_by(column)?;
            }
            Ok(table.render(view.headers && !table.is_empty()))
        }
    };
    written.map_err(|fault| CliError::failure("cannot write the runs").because(fault))
}

fn table(runs: &[RepackRun], wide: bool, now: jiff::Timestamp) -> Table {
    let mut headers = vec!["name", "mode", "resource", "phase", "plan-freed", "actual-freed", "age"];
    if wide {
        headers.extend(["frag-before", "frag-after", "reason"]);
    }
    let mut table = Table::with_headers(headers);
    for run in runs {
        let status = run.status.as_ref();
        let summary = status.and_then(|status| Some(&status.plan.as_ref()?.summary));
        let mut row = vec![
            name(run).to_owned(),
            mode(run).to_owned(),
            run.spec.goals.first().map(|goal| goal.resource.clone()).unwrap_or_default(),
            status.map(|status| format!("{:?}", status.phase)).unwrap_or_default(),
            summary.map(|summary| summary.freed_node_count.to_string()).unwrap_or_default(),
            status
                .and_then(|s| s.result.as_ref())
                .map(|r| r.freed_node_count.to_string())
                .unwrap_or_default(),
            age(run.metadata.creation_timestamp.as_deref(), now),
        ];
        if wide {
            row.extend([
                summary.map(|summary| summary.frag_before_percent.to_string()).unwrap_or_default(),
                summary.map(|summary| summary.frag_after_percent.to_string()).unwrap_or_default(),
                reason(run).unwrap_or_default().to_owned(),
            ]);
        }
        table.row(row);
    }
    table
}

/// Name of a run; empty for one that the server has not named.
pub(super) fn name(run: &RepackRun) -> &str {
    run.metadata.name.as_deref().unwrap_or_default()
}

/// As `-o name` prints it.
pub(super) fn resource_name(run: &RepackRun) -> String {
    format!("repackrun.{GROUP}/{}", name(run))
}

/// `DryRun` or `Execute`.
pub(super) const fn mode(run: &RepackRun) -> &'static str {
    match run.spec.mode {
        Mode::DryRun => "DryRun",
        Mode::Execute => "Execute",
    }
}

/// The reason of the condition that says where the run is.
pub(super) fn reason(run: &RepackRun) -> Option<&'static str> {
    let conditions = &run.status.as_ref()?.conditions;
    let ended = |c: &&crate::api::Condition| {
        c.kind != ConditionType::Progressing && c.status == ConditionStatus::True
    };
    let condition = conditions.iter().find(ended).or_else(|| conditions.first())?;
    Some(condition.reason.as_str())
}

/// Time since then as kubectl writes it: two units at most, the smaller one only while it matters.
pub(super) fn age(since: Option<&str>, now: jiff::Timestamp) -> String {
    let Some(since) = since.and_then(|text| text.parse::<jiff::Timestamp>().ok()) else {
        return String::new();
    };
    duration(now.as_second() - since.as_second())
}

pub(super) fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, smaller: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{smaller}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_kubectl_writes_them() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (3_600, "60m"),
            (12_300, "3h25m"),
            (90_000, "25h"),
            (445_000, "5d3h"),
            (8_640_000, "100d"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }
}
