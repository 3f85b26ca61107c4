//! kubectl, and any other program, run as a user of the cluster.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::{Cluster, tools};

impl Cluster {
    /// A program that finds the cluster, its kubectl and nothing of the developer's own: `KUBECONFIG`, `HOME`, `PATH`.
    pub fn command(&self, user: &str, program: impl AsRef<OsStr>) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.tools.folder().to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("HOME", &self.folder)
            .env("KUBECONFIG", self.kubeconfig(user))
            .stdin(Stdio::null());
        command
    }

    /// Runs kubectl; the arguments are separated by blanks.
    pub fn kubectl(&self, user: &str, arguments: &str) -> Output {
        let words = arguments.split_whitespace();
        self.command(user, self.tools.path("kubectl")).args(words).output().unwrap()
    }

    /// What kubectl prints for `admin`.
    ///
    /// # Panics
    /// When it fails.
    pub fn kubectl_text(&self, arguments: &str) -> String {
        text_of(&format!("kubectl {arguments}"), &self.kubectl("admin", arguments))
    }

    /// Applies YAML as `admin`, server-side. Pods need a namespace that is complete: [`Cluster::namespace`].
    ///
    /// # Panics
    /// When kubectl or the server refuses.
    pub fn apply(&self, yaml: &str) -> String {
        let mut child = self
            .command("admin", self.tools.path("kubectl"))
            .args(["apply", "--server-side", "--force-conflicts", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(yaml.as_bytes()).unwrap();
        text_of("kubectl apply", &child.wait_with_output().unwrap())
    }
}

/// Standard output of a success.
fn text_of(what: &str, done: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !done.status.success() {
        tools::say(&text(&done.stdout));
        panic!("{what}: {}\n{}", done.status, text(&done.stderr));
    }
    text(&done.stdout)
}
