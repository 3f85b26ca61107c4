//! The running programs of a cluster: started in order, ended in the opposite order, never left behind.
//!
//! A watcher process (`sh`) holds the other end of a pipe. It is told the id of every program that is started; when
//! the pipe closes, because this process ended in whatever way, it ends them. So neither a killed test run nor a
//! cluster in a `static`, which is never dropped, leaves anything behind, and nothing has to be polled. Every program is in a
//! process group of its own: an interrupt from the keyboard reaches this process only, and the order holds.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Reads ids until the pipe closes, the newest first in its list, and kills them. `done` is the orderly end.
const WATCHER: &str = r#"
pids=
while read -r word; do
  [ "$word" = done ] && exit 0
  pids="$word $pids"
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
"#;

/// What a failure shows of each log.
const LAST_LINES: usize = 12;

struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// What it was started with.
    command: Command,
}

/// Programs in the order of their start. Dropping it ends them.
pub struct Processes {
    watcher: Child,
    list: Vec<Process>,
    logs: PathBuf,
}

impl Processes {
    /// Starts the watcher; logs go to the folder.
    pub fn new(logs: &Path) -> Result<Self, String> {
        fs::create_dir_all(logs).map_err(|error| format!("{}: {error}", logs.display()))?;
        let watcher = Command::new("sh")
            .args(["-c", WATCHER])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        Ok(Self { watcher, list: Vec::new(), logs: logs.to_owned() })
    }

    /// Starts a program; both its outputs go to `NAME.log`.
    pub fn start(&mut self, name: &'static str, command: &mut Command) -> Result<(), String> {
        let path = self.logs.join(format!("{name}.log"));
        let log = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let again = copy(command);
        let both = log.try_clone().map_err(|error| format!("{}: {error}", path.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("starting {name}: {error}"))?;
        self.tell(&child.id().to_string());
        self.list.push(Process { name, child, log: path, command: again });
        Ok(())
    }

    /// Kills a program and starts it again as it was started; its log begins anew. It keeps its place in the order.
    pub fn restart(&mut self, name: &'static str) -> Result<(), String> {
        let at = self.list.iter().position(|process| process.name == name);
        let at = at.ok_or_else(|| format!("no program {name}"))?;
        let mut old = self.list.remove(at);
        old.child.kill().map_err(|error| format!("ending {name}: {error}"))?;
        old.child.wait().map_err(|error| format!("ending {name}: {error}"))?;
        self.start(name, &mut old.command)?;
        let new = self.list.pop().ok_or_else(|| format!("no program {name}"))?;
        self.list.insert(at, new);
        Ok(())
    }

    /// Says which program has ended by itself and what it said last.
    pub fn ended(&mut self) -> Option<String> {
        self.list.iter_mut().find_map(|process| {
            let status = process.child.try_wait().ok().flatten()?;
            Some(format!("{} ended ({status}):\n{}", process.name, last_lines(&process.log)))
        })
    }

    /// Name and process id of every program, in the order in which they are to be ended.
    pub fn ids(&self) -> Vec<(&'static str, u32)> {
        self.list.iter().rev().map(|process| (process.name, process.child.id())).collect()
    }

    /// The last lines of every log.
    pub fn last_words(&self) -> String {
        self.list.iter().map(|process| format!("-- {}\n{}", process.name, last_lines(&process.log))).collect()
    }

    /// Leaves everything running after this process. The ids are the caller's to keep.
    pub fn leave(mut self) -> Vec<(&'static str, u32)> {
        let ids = self.ids();
        self.list.clear();
        ids
    }

    /// Ends everything: the last started first, so that no program spends time on a server that is gone. What they
    /// would write on an orderly end is of no use, so they are killed.
    fn stop(&mut self) {
        while let Some(mut process) = self.list.pop() {
            // A program that has ended already can not be killed, and that is all that can go wrong here.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
        self.tell("done");
        let _ = self.watcher.wait();
    }

    fn tell(&mut self, word: &str) {
        if let Some(pipe) = self.watcher.stdin.as_mut() {
            // A watcher that is gone can not help; the orderly end does not need it.
            let _ = writeln!(pipe, "{word}");
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The same command once more, without what its outputs are tied to.
fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(key, value),
            None => copy.env_remove(key),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    copy
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LAST_LINES)..];
    shown.iter().map(|line| format!("   {line}\n")).collect()
}

/// True while a process with this id runs. One that has ended but was not waited for, which happens under a first
/// process that adopts children and never looks after them, does not.
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    !is_zombie && sh(r#"kill -0 "$1" 2>/dev/null"#, pid)
}

/// Ends a process by its id.
pub fn end(pid: u32) -> bool {
    sh(r#"kill -9 "$1" 2>/dev/null"#, pid)
}

/// The shell's own `kill`: the program of that name is not on every machine.
fn sh(script: &str, pid: u32) -> bool {
    let done = Command::new("sh").args(["-c", script, "sh", &pid.to_string()]).status();
    done.is_ok_and(|status| status.success())
}
