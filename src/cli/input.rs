//! Opens what the command line names: files, and `-` for standard input.
//!
//! May import: cli, api, snapshot

use std::io::Read;
use std::path::Path;

use super::error::CliError;
use crate::api::RepackRun;
use crate::snapshot::read::beyond_limits;

/// A run's file is written by a person; anything larger than this is some other file.
const LARGEST_RUN_FILE: u64 = 8 * 1024 * 1024;

/// How a path is named in messages.
pub fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Whether the path means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a `RepackRun` file, YAML or JSON, and checks every rule of the contract.
///
/// # Errors
/// A file that can not be read, is no YAML, or breaks a rule; all faults of the last kind at once.
pub fn read_run(path: &Path) -> Result<RepackRun, CliError> {
    let name = shown(path);
    let mut text = String::new();
    let read = if is_stdin(path) {
        std::io::stdin().take(LARGEST_RUN_FILE + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST_RUN_FILE + 1).read_to_string(&mut text))
    };
    read.map_err(|fault| CliError::failure(format!("cannot read {name}")).because(fault))?;
    if text.len() as u64 > LARGEST_RUN_FILE {
        return Err(CliError::failure(format!("{name} is too large for a RepackRun"))
            .hint("a cluster's state is given with --snapshot FILE"));
    }
    parse_run(&text, &name)
}

/// Reads a run from its text; `name` says where it came from.
fn parse_run(text: &str, name: &str) -> Result<RepackRun, CliError> {
    let document: serde_json::Value = serde_saphyr::from_str(text).map_err(|fault| {
        CliError::failure(format!("cannot read {name} as YAML")).because(anyhow::anyhow!(one_line(&fault)))
    })?;
    RepackRun::from_document(document)
        .map_err(|faults| CliError::faults(format!("cannot use {name} as a RepackRun"), faults))
}

/// The reader's message without its drawing of the place and its advice to programmers.
fn one_line(fault: &serde_saphyr::Error) -> String {
    if let Some(sentence) = beyond_limits(fault) {
        return sentence.to_owned();
    }
    let text = fault.to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    [", set ", "; use "]
        .iter()
        .fold(line, |line, advice| line.split(advice).next().unwrap_or(line))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_json_are_the_same_run() {
        let yaml = "apiVersion: repack.volcano.sh/v1alpha1\nkind: RepackRun\nmetadata:\n  name: x\n  labels: {a: \"true\"}\n\
                    spec:\n  # a comment\n  mode: DryRun\n  goals:\n    - resource: a.b/c\n";
        let run = parse_run(yaml, "run.yaml").unwrap();
        assert_eq!(run.spec.goals[0].resource, "a.b/c");
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(parse_run(&json, "run.json").unwrap(), run);
    }

    #[test]
    fn a_file_that_is_something_else_is_one_clear_error() {
        let fault = |text: &str| parse_run(text, "run.yaml").unwrap_err().to_string();
        insta::assert_snapshot!(fault("kind: Pod\napiVersion: v1\nspec: {mode: DryRun}\n"), @r#"
        cannot use run.yaml as a RepackRun: apiVersion must be repack.volcano.sh/v1alpha1, not "v1"
          and kind must be RepackRun, not "Pod"
        "#);
        insta::assert_snapshot!(fault(""), @"cannot use run.yaml as a RepackRun: the document must be a mapping, not empty");
        insta::assert_snapshot!(
            fault("mode: DryRun\nmode: Execute\n"),
            @"cannot read run.yaml as YAML: line 2 column 1: duplicate mapping key: mode"
        );
        insta::assert_snapshot!(
            fault("mode: DryRun\n---\nmode: DryRun\n"),
            @"cannot read run.yaml as YAML: line 3 column 1: multiple YAML documents detected"
        );
        let bomb: String = (1..12)
            .map(|level| format!("a{level}: &a{level} [{}]\n", format!("*a{}, ", level - 1).repeat(9)))
            .collect();
        insta::assert_snapshot!(
            fault(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{bomb}")),
            @"cannot read run.yaml as YAML: it holds too much, or its aliases expand to too much"
        );
        insta::assert_snapshot!(fault("a: [1"), @"cannot read run.yaml as YAML: line 1 column 4: unclosed bracket '['");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_run(Path::new("no/such/run.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read no/such/run.yaml: No such file or directory (os error 2)");
        assert_eq!(error.exit().code(), 1);
    }
}
