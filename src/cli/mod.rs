//! The command line: one file per command, one door for output, one table of exit codes.
//!
//! A command line goes through `args` (what was typed) and `options` (what it means) to the command's own file,
//! which calls the engine and prints through `output`.
//!
//! May import: api, controller, engine, live, manifests, snapshot, fragmentation, filter, plan, verify

pub mod args;
mod cluster;
mod complete;
mod completion;
mod controller;
mod debug;
mod doctor;
mod dryrun;
pub mod error;
mod execute;
pub mod exit;
mod explain;
mod fit;
mod generate;
mod in_process;
pub mod input;
mod once;
pub mod options;
pub mod output;
mod planning;
mod report;
mod skew;
mod snapshot;
mod source;
mod status;
mod version;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use args::{Cli, ColorWhen, Command};
use error::CliError;
use exit::Exit;
use output::{Out, Verbosity};

/// Runs the program on the process's arguments and streams.
pub fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let out = Out::process(color_typed(&typed), Verbosity::Normal);
    ExitCode::from(carry_out(&typed, out).code())
}

fn carry_out(typed: &[OsString], mut out: Out) -> Exit {
    match parse(typed) {
        Ok(cli) => {
            let mut out = out.with(color(cli.common.color), verbosity(cli.common));
            run(&cli, &mut out)
        }
        Err(refusal) => refuse(&refusal, &mut out),
    }
}

/// Every command in one place; what it printed is let out only when it succeeded.
fn run(cli: &Cli, out: &mut Out) -> Exit {
    let cluster = &cli.cluster;
    let result = match &cli.command {
        Command::Report(args) => report::run(args, cluster, out),
        Command::Completion(args) => completion::run(*args, out),
        Command::Complete(args) => {
            complete::run(args, out);
            Ok(())
        }
        Command::Controller(args) => controller::run(args, cluster, out),
        Command::Debug(args) => debug::run(args, out),
        Command::Dryrun(args) => return ended(dryrun::run(args, cluster, out), out),
        Command::Execute(args) => return ended(execute::run(args, cluster, out), out),
        Command::Cancel(args) => return ended(execute::cancel(args, cluster, out), out),
        Command::Run(args) => return ended(once::run(args, cluster, out), out),
        Command::Status(args) => return ended(status::run(args, cluster, out), out),
        Command::Doctor(args) => return ended(doctor::run(args, cluster, out), out),
        Command::Explain(args) => explain::run(args, cluster, out),
        Command::Fit(args) => return ended(fit::run(args, cluster, out), out),
        Command::Generate(args) => generate::run(args, out),
        Command::Snapshot(args) => snapshot::run(args, cluster, out),
        Command::Version(args) => version::run(*args, out),
    };
    ended(result.map(|()| Exit::Done), out)
}

fn ended(result: Result<Exit, CliError>, out: &mut Out) -> Exit {
    match result.and_then(|exit| out.finish().map_err(CliError::from).map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) => error.report(out),
    }
}

/// Parses with the usage lines in the name the program was called by.
fn parse(typed: &[OsString]) -> Result<Cli, clap::Error> {
    let command = Cli::command().bin_name(called_as(typed.first()));
    Cli::from_arg_matches(&command.try_get_matches_from(typed)?)
}

/// kubectl runs the plugin as `kubectl-repack`, but people type `kubectl repack`.
fn called_as(program: Option<&OsString>) -> String {
    let stem = program.and_then(|program| Path::new(program).file_stem()).map(|stem| stem.to_string_lossy());
    match stem {
        None => "kubectl repack".to_owned(),
        Some(stem) => match stem.strip_prefix("kubectl-") {
            // kubectl maps an underscore in a file name to a dash in the command.
            Some(command) => format!("kubectl {}", command.replace('-', " ").replace('_', "-")),
            None => stem.into_owned(),
        },
    }
}

/// Help and version go to standard output and are no failure; everything else is a usage error.
fn refuse(refusal: &clap::Error, out: &mut Out) -> Exit {
    let text = refusal.render().ansi().to_string();
    match refusal.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            out.data(&text);
            match out.finish() {
                Ok(()) => Exit::Done,
                Err(fault) => CliError::from(fault).report(out),
            }
        }
        // Without any word the list of commands is the answer, on standard error because nothing was done.
        _ => {
            out.say(&text);
            Exit::Usage
        }
    }
}

/// `--color` as typed, for what is printed before or instead of parsing.
fn color_typed(typed: &[OsString]) -> ColorChoice {
    let words: Vec<_> = typed.iter().map(|word| word.to_string_lossy()).collect();
    let value = words.iter().enumerate().find_map(|(i, word)| match word.as_ref() {
        "--color" => words.get(i + 1).map(AsRef::as_ref),
        word => word.strip_prefix("--color="),
    });
    match value {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

fn color(when: ColorWhen) -> ColorChoice {
    match when {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    }
}

fn verbosity(common: args::CommonArgs) -> Verbosity {
    match (common.quiet, common.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, false) => Verbosity::Normal,
        (false, true) => Verbosity::Verbose,
    }
}

#[cfg(test)]
mod tests;
