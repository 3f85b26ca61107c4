//! What may stand in place of the last word of a command line, in the form in which kubectl asks for it.
//!
//! One candidate per line, a tab and what it is; then a line `:N` that says whether the shell may offer files as well.
//! The candidates come from the tree of commands.
//!
//! May import: cli

use clap::{Arg, Command, CommandFactory};

use super::args::Cli;
use super::args::complete::CompleteArgs;
use super::output::Out;

/// The shell offers files where there are no candidates.
const FILES: &str = ":0";
/// It does not.
const NO_FILES: &str = ":4";

/// Prints the candidates.
pub fn run(args: &CompleteArgs, out: &mut Out) {
    let words: Vec<String> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (candidates, files) = candidates(&words);
    for (word, about) in candidates {
        out.data(&if about.is_empty() { format!("{word}\n") } else { format!("{word}\t{about}\n") });
    }
    out.data(&format!("{}\n", if files { FILES } else { NO_FILES }));
}

/// Candidates that begin as the last word does, each with its meaning, and whether files may be meant.
fn candidates(words: &[String]) -> (Vec<(String, String)>, bool) {
    let mut root = Cli::command();
    root.build();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let mut command = &root;
    let mut wanted: Option<&Arg> = None;
    let mut positionals = 0;
    for word in before {
        match wanted.take() {
            // This word is the value of the flag before it.
            Some(_) => {}
            None if word.starts_with('-') => wanted = flag(command, word).filter(|arg| takes_value(arg)),
            None => match command.find_subcommand(word) {
                Some(sub) => (command, positionals) = (sub, 0),
                None => positionals += 1,
            },
        }
    }
    if let Some(arg) = wanted {
        return values(arg, "", last);
    }
    if let Some((name, value)) = last.split_once('=').filter(|_| last.starts_with("--")) {
        return match flag(command, name) {
            Some(arg) => values(arg, &format!("{name}="), value),
            None => (Vec::new(), false),
        };
    }
    if last.starts_with('-') {
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let named = flags.filter_map(|arg| Some((format!("--{}", arg.get_long()?), about(arg.get_help()))));
        return (named.filter(|(name, _)| name.starts_with(last)).collect(), false);
    }
    let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut found: Vec<(String, String)> = subs
        .map(|sub| (sub.get_name().to_owned(), about(sub.get_about())))
        .filter(|(name, _)| name.starts_with(last))
        .collect();
    let (more, files) =
        command.get_positionals().nth(positionals).map_or((Vec::new(), false), |arg| values(arg, "", last));
    found.extend(more);
    (found, files)
}

/// The flag that a word without its value names.
fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        // Only the last of several short flags can have a value.
        None => arg.get_short().is_some() && arg.get_short() == word.chars().next_back(),
    };
    command.get_arguments().find(is_it)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// The words that an argument knows; where it knows none its value may be a file.
fn values(arg: &Arg, prefix: &str, begun: &str) -> (Vec<(String, String)>, bool) {
    let known = arg.get_possible_values();
    let free = known.is_empty();
    let candidates = known
        .into_iter()
        .filter(|value| !value.is_hide_set() && value.get_name().starts_with(begun))
        .map(|value| (format!("{prefix}{}", value.get_name()), about(value.get_help())))
        .collect();
    (candidates, free)
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(|text| text.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[&str]) -> (Vec<String>, bool) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (candidates, files) = candidates(&words);
        (candidates.into_iter().map(|(word, _)| word).collect(), files)
    }

    #[test]
    fn commands_flags_and_values_are_offered_where_they_may_stand() {
        assert_eq!(ask(&["ver"]), (vec!["version".to_owned()], false));
        assert_eq!(ask(&["version", "-o", ""]), (vec!["json".to_owned(), "yaml".to_owned()], false));
        assert_eq!(ask(&["version", "--output=j"]), (vec!["--output=json".to_owned()], false));
        assert_eq!(ask(&["completion", "z"]), (vec!["zsh".to_owned()], false));
        let (flags, _) = ask(&["dryrun", "--col"]);
        assert_eq!(flags, ["--color"]);
    }

    #[test]
    fn hidden_commands_are_not_offered_and_free_values_may_be_files() {
        let (commands, _) = ask(&[""]);
        assert!(commands.contains(&"dryrun".to_owned()));
        for hidden in ["debug", "generate", "__complete"] {
            assert!(!commands.contains(&hidden.to_owned()), "{hidden}");
        }
        assert_eq!(ask(&["dryrun", "--snapshot", ""]), (Vec::new(), true));
    }
}
