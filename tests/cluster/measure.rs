//! Time and memory of processes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a command to its end: its standard output, how long it took, and the most memory it had, as far as that was seen.
pub fn measured(command: &mut Command) -> (String, Duration, u64) {
    let since = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || std::io::read_to_string(&mut out).unwrap());
    let mut most = 0;
    let status = loop {
        most = most.max(peak(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = since.elapsed();
    assert!(status.success(), "{status}");
    (reading.join().unwrap(), took, most)
}

/// The most memory that a process has had, in bytes; 0 when it is gone.
pub fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
