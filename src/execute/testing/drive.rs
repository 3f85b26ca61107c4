//! Drives an execution over the cluster, with a fault at one request if asked for.
//!
//! May import: api, plan, execute

use std::rc::Rc;

use jiff::SignedDuration;

use super::world::{World, orders, request, run};
use crate::api::{RepackRunSpec, RepackRunStatus};
use crate::execute::command::RunSeen;
use crate::execute::strays::strays;
use crate::execute::{Answer, Command, Execution, Next, begin};
use crate::plan::make;
use crate::plan::status::dry_run_status;

/// What goes wrong at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before it is sent.
    DiesBefore,
    /// The process dies after it was carried out, before the answer.
    DiesAfter,
    /// The answer gets lost, after it was carried out.
    AnswerLost,
    /// The request gets lost.
    RequestLost,
}

/// How an execution went.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Requests sent.
    pub requests: usize,
    /// Processes that took part.
    pub lives: usize,
    /// Pods that were at a gate when the run had ended, before anybody looked for strays.
    pub gated_at_end: usize,
    /// Groups with a lease at that time.
    pub leased_at_end: usize,
}

/// Most requests of a test: beyond them something goes round in circles.
const MOST_REQUESTS: usize = 5_000;

/// Plans, and stores the run as the controller does right after that. Holds the pods that were there.
pub fn fresh(world: &mut World, spec: &RepackRunSpec) {
    let now = world.now;
    world.settle();
    let orders = orders(spec);
    let snapshot = world.snapshot();
    let planned = make(&snapshot, &request()).unwrap();
    assert!(!planned.plan.is_empty(), "there is no plan");
    let mut status = dry_run_status(&snapshot, &planned);
    status.phase = crate::api::Phase::Running;
    status.start_time = Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let status =
        world.look(|sight| begin(status, &snapshot, &planned.plan, &orders, |pod| sight.seen(pod), now));
    world.run = Some(RunSeen {
        uid: run().uid,
        status: Some(status),
        deleting: false,
        cancelled: false,
        finalizer: false,
        active: false,
    });
}

/// Drives the run to its end. `at` is the request at which the fault happens; `meanwhile` is called before each request
/// and may change the cluster.
pub fn drive(
    world: &mut World,
    spec: &RepackRunSpec,
    fault: Option<(usize, Fault)>,
    meanwhile: &mut dyn FnMut(&mut World, &Command),
) -> Walk {
    let take_up = |world: &World| {
        let seen = world.run.clone()?;
        let mut orders = orders(spec);
        orders.creator.clone_from(&world.creator);
        Some(Execution::new(run(), orders, seen).unwrap())
    };
    let mut walk = Walk { requests: 0, lives: 1, ..Walk::default() };
    let mut execution = take_up(world).unwrap();
    let (mut last, mut idle) = (Rc::clone(&world.store), 1);
    loop {
        let now = world.clock();
        if let Some(run) = world.run.clone() {
            execution.observe(&run);
        }
        let next = world.look(|sight| {
            execution.know(sight);
            execution.next(sight, now)
        });
        match next {
            Next::Finished => break,
            Next::Wait(at) => {
                // The watch tells of changes within a tenth of a second; where nothing changes, nobody looks so often.
                idle = if Rc::ptr_eq(&last, &world.store) { (idle + 1).min(20) } else { 1 };
                last = Rc::clone(&world.store);
                let soon = now + SignedDuration::from_millis(100 * idle);
                let at = at.map_or(soon, |at| at.clamp(now + SignedDuration::from_millis(1), soon));
                world.advance(at - world.clock_off);
                let since = world.now.duration_since("2026-07-30T10:00:00Z".parse().unwrap());
                assert!(since < SignedDuration::from_hours(4), "hangs: {:#?}", world.status());
            }
            Next::Do(command) => {
                meanwhile(world, &command);
                let here = fault.filter(|(at, _)| *at == walk.requests).map(|(_, fault)| fault);
                walk.requests += 1;
                assert!(walk.requests < MOST_REQUESTS, "goes round in circles: {:#?}", world.requests);
                let answer = match here {
                    Some(Fault::DiesBefore) => None,
                    Some(Fault::DiesAfter) => {
                        world.send(&command);
                        None
                    }
                    Some(Fault::AnswerLost) => {
                        world.send(&command);
                        Some(Answer::Lost("no answer within 5 s".to_owned()))
                    }
                    Some(Fault::RequestLost) => Some(Answer::Lost("connection refused".to_owned())),
                    None => Some(world.send(&command)),
                };
                world.advance(world.now + SignedDuration::from_millis(5));
                if let Some(answer) = answer {
                    execution.answered(&command, answer, world.clock());
                } else {
                    // Another process leads once the lease has run out.
                    world.advance(world.now + SignedDuration::from_secs(20));
                    walk.lives += 1;
                    tidy_strays(world);
                    let Some(next) = take_up(world) else { break };
                    execution = next;
                }
            }
        }
    }
    let at_gate =
        |pod: &&serde_json::Value| pod["spec"]["schedulingGates"].as_array().is_some_and(|g| !g.is_empty());
    walk.gated_at_end = world.store.pods.values().filter(at_gate).count();
    let leased = |group: &&serde_json::Value| {
        group["metadata"]["annotations"]["repack.volcano.sh/placement-lease"].is_string()
    };
    walk.leased_at_end = world.store.groups.values().filter(leased).count();
    // Whoever leads looks for strays again and again.
    for _ in 0..3 {
        world.advance(world.now + SignedDuration::from_secs(60));
        tidy_strays(world);
    }
    world.advance(world.now + SignedDuration::from_secs(60));
    walk
}

fn tidy_strays(world: &mut World) {
    for command in world.look(strays) {
        world.send(&command);
    }
}

/// Nothing is left of the run, and no pod was evicted twice.
pub fn check_clean(world: &mut World) {
    assert!(world.webhooks.is_empty(), "namespaces of the webhook are left");
    for (uid, times) in &world.evictions {
        assert_eq!(*times, 1, "{uid} was evicted {times} times");
    }
    for (key, pod) in &world.store.pods {
        let gates = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        assert!(!gates, "{key:?} is left at the gate");
        let pending = pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
        let nominated = pod["status"]["nominatedNodeName"].as_str().is_some();
        assert!(!(pending && nominated), "{key:?} is left nominated");
    }
    for (key, group) in &world.store.groups {
        let lease = &group["metadata"]["annotations"]["repack.volcano.sh/placement-lease"];
        assert!(lease.is_null(), "{key:?} is left leased");
    }
    if let Some(run) = &world.run {
        assert!(!run.finalizer && !run.active, "label or finalizer is left");
        let status: &RepackRunStatus = run.status.as_ref().unwrap();
        let ended = matches!(status.phase, crate::api::Phase::Succeeded | crate::api::Phase::Failed);
        assert!(ended, "the run has not ended");
    }
}
