//! Faults of the API server, of the watches, of the webhook, of clocks and of the process itself.

use jiff::SignedDuration;

use super::super::mixed;
use super::{ends, guide, once, refused, relocations, run, spec, two_nodes};
use crate::api::{EvictionPhase, Reason};
use crate::execute::Command;
use crate::execute::testing::{Fault, Trouble, World, drive, fresh};

/// Whatever is asked goes wrong twice; in the end everything is as planned.
fn strikes_twice(trouble: Trouble) {
    let mut world = guide("Job");
    world.strike = Some((2, trouble));
    run(&mut world, &mut |_, _| {});
    for asked in [
        "get repackruns",
        "update repackruns/status",
        "patch repackruns",
        "patch podgroups",
        "set the namespaces",
        "create pods (dry run)",
        "get pods",
        "create pods/eviction",
        "patch pods/status",
        "patch pods a/",
        "list pods",
        "patch leases",
    ] {
        assert!(world.struck.keys().any(|struck| struck.starts_with(asked)), "{asked}: {:?}", world.struck);
    }
    ends(&mut world, Reason::ExecutionCompleted, &["w-w-0", "w-w-1"], &["w n2 n3"]);
}

#[test]
fn answer_409() {
    strikes_twice(Trouble::Refused(refused(409)));
}

#[test]
fn answer_500() {
    strikes_twice(Trouble::Refused(refused(500)));
}

#[test]
fn answer_504() {
    strikes_twice(Trouble::Refused(refused(504)));
}

#[test]
fn timeout_before_and_after_the_server_acted() {
    strikes_twice(Trouble::Lost);
    strikes_twice(Trouble::AnswerLost);
}

/// Milliseconds between the attempts to evict a pod that is refused twice.
fn pauses(retry_after: Option<u64>) -> Vec<i128> {
    let mut refusal = refused(429);
    refusal.retry_after = retry_after;
    let mut world = guide("StatefulSet");
    world.strike = Some((2, Trouble::Refused(refusal)));
    let mut at = Vec::new();
    run(&mut world, &mut |world, command| {
        if matches!(command, Command::Evict { pod, .. } if pod.name == "w-0") {
            at.push(world.now);
        }
    });
    ends(&mut world, Reason::ExecutionCompleted, &["w-0", "w-1"], &["w n2 n3"]);
    at.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_millis()).collect()
}

#[test]
fn answer_429_with_retry_after() {
    let pauses = pauses(Some(15));
    assert!(pauses.len() == 2 && pauses.iter().all(|pause| *pause >= 15_000), "{pauses:?}");
}

#[test]
fn answer_429_without_retry_after() {
    let pauses = pauses(None);
    assert_eq!(pauses.len(), 2);
    // Twice as long each time, a fifth more or less, and what reading the pod takes.
    assert!((1_600..8_000).contains(&pauses[0]) && pauses[1] > pauses[0], "{pauses:?}");
    strikes_twice(Trouble::Refused(refused(429)));
}

#[test]
fn stale_cache() {
    for lag in [50, 300, 2_000] {
        let mut world = mixed();
        world.lag = SignedDuration::from_millis(lag);
        run(&mut world, &mut |_, _| {});
        let all = relocations(&world).into_iter();
        let mut victims: Vec<String> =
            all.filter(|r| r.eviction.phase == EvictionPhase::Accepted).map(|r| r.victim_pod_name).collect();
        victims.sort_unstable();
        let victims: Vec<&str> = victims.iter().map(String::as_str).collect();
        let standing = world.standing();
        let freed = |line: &String| !["n1", "n2", "-"].iter().any(|part| line.contains(part));
        assert!(standing.iter().all(freed), "{standing:?}");
        let standing: Vec<&str> = standing.iter().map(String::as_str).collect();
        ends(&mut world, Reason::ExecutionCompleted, &victims, &standing);
    }
}

/// The cache stands still for a minute in the middle of the run.
#[test]
fn watch_that_drops_for_a_minute() {
    let mut world = guide("StatefulSet");
    let mut since = None;
    run(&mut world, &mut |world, command| {
        if matches!(command, Command::Evict { .. }) && since.is_none() {
            since = Some(world.now);
            world.lag = SignedDuration::from_mins(1);
        }
        if since.is_some_and(|since| world.now > since + SignedDuration::from_mins(1)) {
            world.lag = SignedDuration::ZERO;
        }
    });
    ends(&mut world, Reason::ExecutionCompleted, &["w-0", "w-1"], &["w n2 n3"]);
}

/// Every window and the deadline are over at once: the one pod that was evicted may go anywhere, and nobody else is.
#[test]
fn clock_that_jumps_ahead() {
    let mut world = guide("StatefulSet");
    let nominates = |_: &World, command: &Command| matches!(command, Command::Nominate { .. });
    once(&mut world, nominates, |world| world.clock_off = SignedDuration::from_hours(2));
    ends(&mut world, Reason::ExecutionTimedOut, &["w-0"], &["w n1 n1"]);
}

/// What was to be tried again in two seconds is not tried again in two hours.
#[test]
fn clock_that_jumps_back() {
    let mut world = guide("StatefulSet");
    world.strike = Some((1, Trouble::Refused(refused(500))));
    let begun = world.now;
    let mut evicts = 0;
    run(&mut world, &mut |world, command| {
        if evicts == 1 {
            world.clock_off = SignedDuration::from_hours(-2);
        }
        evicts += u32::from(matches!(command, Command::Evict { .. }));
    });
    let completed = world.requests.len();
    assert!(completed > 0 && evicts > 2, "the first was refused");
    assert!(world.now.duration_since(begun) < SignedDuration::from_mins(30), "{}", world.now);
    ends(&mut world, Reason::ExecutionCompleted, &["w-0", "w-1"], &["w n2 n3"]);
}

#[test]
fn webhook_down_before_the_run() {
    let mut world = guide("StatefulSet");
    world.webhook_up = false;
    run(&mut world, &mut |_, _| {});
    ends(&mut world, Reason::ExecutionPreparationFailed, &[], &["w n1 n1"]);
    // Volcano's runs go on; where the replacement comes back to the node, nobody else is evicted.
    let mut world = guide("Job");
    world.webhook_up = false;
    run(&mut world, &mut |_, _| {});
    ends(&mut world, Reason::BenefitNotRealized, &["w-w-0"], &["w n1 n1"]);
}

/// The first replacement comes ungated and goes back to where it was: nobody else is evicted.
#[test]
fn webhook_down_in_the_middle() {
    let mut world = two_nodes();
    let evicts = |_: &World, command: &Command| matches!(command, Command::Evict { .. });
    once(&mut world, evicts, |world| world.webhook_up = false);
    assert!(world.status().message.contains("would not be held at a gate"), "{}", world.status().message);
    ends(&mut world, Reason::BenefitNotRealized, &["w-0"], &["w n1", "x n2"]);
}

/// The webhook gates again when it is asked about: the second node is freed.
#[test]
fn webhook_down_for_a_while() {
    let mut world = two_nodes();
    let mut down = None;
    run(&mut world, &mut |world, command| {
        if matches!(command, Command::Evict { .. }) && down.is_none() {
            down = Some(world.now);
            world.webhook_up = false;
        }
        if down.is_some_and(|down| world.now > down + SignedDuration::from_secs(3)) {
            world.webhook_up = true;
        }
    });
    assert_eq!(world.status().result.as_ref().unwrap().freed_nodes, ["n2"]);
    ends(&mut world, Reason::BenefitNotRealized, &["w-0", "x-0"], &["w n1", "x n4"]);
}

/// No other replica serves the webhook: what is created meanwhile is not gated. It is recognised all the same, and what it
/// spoiled is said; its mates on the node are left in peace.
#[test]
fn process_killed_that_serves_the_webhook() {
    let mut world = guide("StatefulSet");
    fresh(&mut world, &spec());
    let (mut at, mut first) = (0, None);
    drive(&mut world.clone(), &spec(), None, &mut |_, command| {
        if matches!(command, Command::Evict { .. }) && first.is_none() {
            first = Some(at);
        }
        at += 1;
    });
    let mut killed = false;
    drive(&mut world, &spec(), Some((first.unwrap(), Fault::DiesAfter)), &mut |world, command| {
        world.webhook_up = killed || !matches!(command, Command::Evict { .. });
        killed |= !world.webhook_up;
    });
    let first = relocations(&world).remove(0);
    assert_eq!(first.placement.actual_node_name.as_deref(), Some("n1"));
    assert!(world.status().message.contains("w-0"), "{}", world.status().message);
    ends(&mut world, Reason::BenefitNotRealized, &["w-0"], &["w n1 n1"]);
}
