//! What holds how many cards, and the flag that would lift most.
//!
//! May import: snapshot, plan

use std::collections::BTreeMap;

use super::Movability;
use crate::plan::reason::{Code, Detail};
use crate::plan::request::Request;
use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupOrigin, PodIdx, ResourceIdx, Sym};

/// Pods and cards that one code holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The code.
    pub code: Code,
    /// Pods.
    pub pods: u64,
    /// Their cards.
    pub cards: i64,
    /// The flags or the action that would lift it.
    pub remedy: Option<String>,
}

impl Movability {
    /// Codes by the cards they hold, most first. Codes of pods that hold no node back are left out.
    pub fn summary(&self, snapshot: &Snapshot, resource: ResourceIdx, request: &Request) -> Vec<Held> {
        let mut sums: BTreeMap<Code, (u64, i64)> = BTreeMap::new();
        for pod in (0..snapshot.pods.len()).map(PodIdx::new).filter(|&pod| self.blocks(pod)) {
            if let Some(reason) = self.reason(pod) {
                let sum = sums.entry(reason.code).or_default();
                sum.0 += 1;
                sum.1 += snapshot.charged(pod, resource);
            }
        }
        let mut held: Vec<Held> = sums
            .into_iter()
            .map(|(code, (pods, cards))| Held {
                code,
                pods,
                cards,
                remedy: self.remedy(code, snapshot, request),
            })
            .collect();
        held.sort_by(|a, b| (b.cards, a.code).cmp(&(a.cards, b.code)));
        held
    }

    fn remedy(&self, code: Code, snapshot: &Snapshot, request: &Request) -> Option<String> {
        if code != Code::SchedulerNotEnabled {
            return code.remedy().map(str::to_owned);
        }
        // The flag replaces the list, so schedulers that are enabled and in use are named as well; and where one of
        // the new ones has no PodGroups its pods need the second flag too.
        let mut schedulers: BTreeMap<&str, bool> = BTreeMap::new();
        for (at, pod) in snapshot.pods.iter().enumerate().filter(|(_, pod)| pod.stands()) {
            match self.reasons[at] {
                None => {
                    let scheduler: Sym = snapshot.spec(pod.replacement_spec()).scheduler;
                    schedulers.entry(snapshot.text(scheduler)).or_default();
                }
                Some(reason) if reason.code == Code::SchedulerNotEnabled => {
                    let Detail::Text(name) = reason.detail else { continue };
                    let lone =
                        pod.group.is_some_and(|g| snapshot.groups[g.at()].origin == GroupOrigin::Virtual);
                    let name = snapshot.text(name);
                    *schedulers.entry(name).or_default() |= lone && !request.movability.has_pod_groups(name);
                }
                Some(_) => {}
            }
        }
        let names: Vec<&str> = schedulers.keys().copied().collect();
        let mut remedy = format!("--schedulers {}", names.join(","));
        if !request.movability.allow_ungrouped && schedulers.values().any(|&lone| lone) {
            remedy.push_str(" --allow-ungrouped");
        }
        Some(remedy)
    }
}
