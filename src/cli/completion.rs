//! `kubectl repack completion`: a script for the shell, made from the tree of commands.
//!
//! May import: cli

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::args::Cli;
use super::args::completion::{CompletionArgs, ShellName};
use super::error::CliError;
use super::output::Out;

/// Prints the script. It completes the binary's own name: kubectl asks another program, `kubectl_complete-repack`.
pub fn run(args: CompletionArgs, out: &mut Out) -> Result<(), CliError> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
        ShellName::PowerShell => Shell::PowerShell,
    };
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "kubectl-repack", &mut script);
    let script = String::from_utf8(script)
        .map_err(|fault| CliError::failure("cannot write the completion script").because(fault))?;
    out.data(&repaired(script, shell));
    Ok(())
}

/// The bash generator spells a dash in the program's name in two ways, so that no command but the top one would be
/// completed; here both become one. A test runs the script in bash and falls when this is no longer needed or enough.
fn repaired(script: String, shell: Shell) -> String {
    if shell == Shell::Bash { script.replace("kubectl__subcmd__repack", "kubectl__repack") } else { script }
}
