//! Queue limits: would a re-created pod be let in (rulebook 2.6, 2.7, plugin capacity)?
//!
//! A group that falls below its minimum leaves the queue, and has to be admitted again with its whole minResources
//! beside what is allocated and what other groups wait for (enqueue). So leaving can be free and coming back not.
//! A queue that was read must be Open, and for every dimension that the pod asks for, what the queue and each of its
//! ancestors has allocated plus the request must stay within its capability. Terminating pods are not in the
//! allocated amounts, so a victim's quota is free at once. A queue that was not read is open and unlimited. The
//! fair shares of the proportion plugin depend on all queued work and are not modelled.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::{PodIdx, SpecIdx};

/// The rule.
#[derive(Debug)]
pub struct QueueLimit;

impl Plugin for QueueLimit {
    fn name(&self) -> PluginName {
        PluginName::Queue
    }

    fn concerns(&self, state: &State<'_>, _spec: SpecIdx) -> bool {
        state.counters.queues.any_limits()
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let snapshot = context.snapshot();
        let queues = &context.state.counters.queues;
        let member = context.incoming.pod.or(context.incoming.replaces);
        let Some(start) = member.and_then(|pod| queues.of_pod(snapshot, pod)) else { return PreFilter::Skip };
        let reject = |detail| {
            PreFilter::Reject(Failure { plugin: PluginName::Queue, code: Code::Unschedulable, detail })
        };
        let requests = snapshot.requests(context.spec().volcano_requests);
        for queue in queues.with_ancestors(snapshot, start) {
            let facts = &snapshot.queues[queue];
            if !facts.open {
                let text = format!("queue {} is not open", snapshot.text(facts.name));
                return reject(Detail::Object { text });
            }
            for &(resource, need) in requests.0.iter().filter(|(_, need)| *need > 0) {
                let Some(limit) = queues.limit(queue, resource) else { continue };
                let have = limit - queues.allocated(queue, resource);
                if need > have {
                    return reject(Detail::Insufficient { resource, need, have });
                }
            }
        }
        match context.incoming.replaces.and_then(|victim| readmission(context, victim, start)) {
            Some(detail) => reject(detail),
            None => PreFilter::Skip,
        }
    }
}

/// What the queue lacks to admit the group of a victim again; `None` where it need not, or can.
fn readmission(context: Context<'_>, victim: PodIdx, start: usize) -> Option<Detail> {
    let snapshot = context.snapshot();
    let queues = &context.state.counters.queues;
    let group = snapshot.pod(victim).group?;
    let least = snapshot.groups[group.at()].min_resources.as_ref()?;
    if !queues.falls_out(snapshot, group) {
        return None;
    }
    for queue in queues.with_ancestors(snapshot, start) {
        for &(resource, need) in least.0.iter().filter(|(_, need)| *need > 0) {
            let Some(limit) = queues.limit(queue, resource) else { continue };
            let have = limit - queues.admitted(queue, resource);
            if need > have {
                return Some(Detail::Readmission {
                    queue: snapshot.queues[queue].name,
                    resource,
                    need,
                    have,
                });
            }
        }
    }
    None
}
