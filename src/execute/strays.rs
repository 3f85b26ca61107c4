//! What runs left behind that no longer work: gates that hold pods for ever, leases that keep groups from others.
//!
//! Found at the start of a leader and again and again: a process may die between two requests of a clean-up, and a pod
//! may pass the webhook just before that stops.
//!
//! May import: api, snapshot

use super::barrier::lease_of;
use super::claim::gated_pods;
use super::command::{Command, GroupRef};
use super::seen::Sight;
use crate::snapshot::model::{GroupIdx, GroupOrigin};

/// The requests that tidy up, gates first.
pub fn strays(sight: &Sight<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    for seen in gated_pods(sight).filter(|seen| !(sight.works)(&seen.gate_owner)) {
        if seen.terminating {
            continue;
        }
        if !seen.nominated.is_empty() {
            commands.push(Command::Nominate { pod: seen.at.clone(), node: None });
        }
        commands.push(Command::Ungate(seen.at));
    }
    for (at, group) in sight.snapshot.groups.iter().enumerate() {
        let lease = lease_of(sight.snapshot, GroupIdx::new(at));
        if group.origin != GroupOrigin::Object || lease.is_none_or(|lease| (sight.works)(lease)) {
            continue;
        }
        let group = GroupRef {
            namespace: sight.snapshot.namespace_name(group.namespace).to_owned(),
            name: sight.snapshot.text(group.name).to_owned(),
            uid: sight.snapshot.text(group.uid).to_owned(),
        };
        commands.push(Command::Lease { group, held: false });
    }
    commands
}
