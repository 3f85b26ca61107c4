use super::*;

/// One run of the program: standard output, standard error and the exit code as a text.
fn transcript(line: &str) -> String {
    let (out, captured) = Out::captured();
    let typed: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let exit = carry_out(&typed, out);
    format!("{}---- stderr\n{}---- exit {}\n", captured.stdout(), captured.stderr(), exit.code())
}

#[test]
fn version_names_the_api() {
    let text = transcript("kubectl-repack version -o json");
    assert!(text.contains("\"apiVersion\": \"repack.volcano.sh/v1alpha1\""), "{text}");
    assert!(text.ends_with("---- stderr\n---- exit 0\n"), "{text}");
}

#[test]
fn help_reads_as_kubectl_users_type_it_and_ends_with_the_exit_codes() {
    let text = transcript("/usr/local/bin/kubectl-repack --help");
    assert!(text.contains("Usage: kubectl repack [OPTIONS] <COMMAND>"), "{text}");
    assert!(text.contains("Exit codes:\n  0    done"), "{text}");
    assert!(text.ends_with("---- stderr\n---- exit 0\n"), "{text}");
    let text = transcript("kubectl-repack completion --help");
    assert!(text.contains("Usage: kubectl repack completion [OPTIONS] <SHELL>"), "{text}");
    let text = transcript("./repack version --help");
    assert!(text.contains("Usage: repack version"), "{text}");
}

#[test]
fn every_shell_has_its_script() {
    for (shell, mark) in [
        ("bash", "complete -F _kubectl__repack"),
        ("zsh", "#compdef kubectl-repack"),
        ("fish", "complete -c kubectl-repack"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let text = transcript(&format!("kubectl-repack completion {shell}"));
        assert!(text.contains(mark) && text.contains("version"), "{shell}: {text}");
        assert!(text.ends_with("---- stderr\n---- exit 0\n"), "{shell}");
    }
}

#[test]
fn colour_follows_its_flag_also_where_nothing_could_be_parsed() {
    let typed = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(color_typed(&typed("x --color never nonsense")), ColorChoice::Never);
    assert_eq!(color_typed(&typed("x --color=always")), ColorChoice::Always);
    assert_eq!(color_typed(&typed("x --color")), ColorChoice::Auto);
}

/// The script has to work in the shell and not only to exist: bash completes a flag's values of a command.
#[cfg(unix)]
#[test]
fn bash_completes_what_the_script_promises() {
    let (out, captured) = Out::captured();
    carry_out(&["kubectl-repack", "completion", "bash"].map(OsString::from), out);
    let ask = |words: &str, current: &str, before: &str| {
        let script = format!(
            "{}\nCOMP_WORDS=(kubectl-repack {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _kubectl__repack kubectl-repack '{current}' '{before}'; echo \"${{COMPREPLY[*]}}\"",
            captured.stdout()
        );
        let answer = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        String::from_utf8(answer.stdout).unwrap()
    };
    assert_eq!(ask("vers", "vers", "kubectl-repack"), "version\n");
    assert_eq!(ask("version -o ''", "", "-o"), "json yaml\n");
    assert_eq!(ask("completion z", "z", "completion"), "zsh\n");
}
