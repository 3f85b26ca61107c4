//! The answers for tiny clusters against those of trying everything.

use std::fmt::Write as _;

use super::*;
use crate::plan::testing::CARDS;
use crate::snapshot::build::wanted::Wanted;
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder};

/// Cards of the nodes, and what stands on each: cards and whether it may move.
#[derive(Clone, Debug)]
struct Tiny {
    cards: Vec<i64>,
    pods: Vec<Vec<(i64, bool)>>,
    /// Cards of the pods that are asked about, most first.
    gang: Vec<i64>,
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn tiny(&mut self) -> Tiny {
        let nodes = 2 + self.below(4);
        let cards: Vec<i64> = (0..nodes).map(|_| [4, 8, 8, 8][self.pick(4)]).collect();
        let mut pods = Vec::new();
        for &all in &cards {
            let (mut left, mut here) = (all, Vec::new());
            for _ in 0..self.below(5) {
                let size = [1, 1, 2, 2, 3, 4][self.pick(6)];
                if size <= left {
                    left -= size;
                    here.push((size, self.below(12) > 0));
                }
            }
            pods.push(here);
        }
        let (first, second) = (1 + self.below(3), self.below(3));
        let size = |draw: &mut Self| [1, 2, 3, 4, 4, 6, 8, 8][draw.pick(8)];
        let (one, other) = (size(self), size(self));
        let mut gang: Vec<i64> = (0..first).map(|_| one).collect();
        gang.extend((0..second).map(|_| other));
        gang.sort_unstable_by_key(|&cards| -cards);
        Tiny { cards, pods, gang }
    }

    fn pick(&mut self, limit: u64) -> usize {
        usize::try_from(self.below(limit)).unwrap()
    }
}

impl Tiny {
    fn snapshot(&self) -> Snapshot {
        let mut text = String::new();
        for (at, cards) in self.cards.iter().enumerate() {
            let _ = write!(
                text,
                "---\n{{apiVersion: v1, kind: Node, metadata: {{name: n{at}}}, status: {{allocatable: {{cpu: 64, pods: 110, \
                 {CARDS}: {cards}}}, conditions: [{{type: Ready, status: 'True'}}]}}}}\n"
            );
            for (number, (cards, movable)) in self.pods[at].iter().enumerate() {
                let (name, owner) = (format!("p{at}-{number}"), if *movable { "true" } else { "false" });
                let _ = write!(
                    text,
                    "---\n{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {{name: {name}}}, spec: \
                     {{minMember: 1}}}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, annotations: \
                     {{scheduling.k8s.io/group-name: {name}}}, ownerReferences: [{{apiVersion: \
                     batch.volcano.sh/v1alpha1, kind: Job, name: {name}, controller: {owner}}}]}}, spec: \
                     {{schedulerName: volcano, nodeName: n{at}, containers: [{{name: a, resources: {{requests: \
                     {{{CARDS}: {cards}}}}}}}]}}, status: {{phase: Running}}}}\n"
                );
            }
        }
        let mut builder = Builder::new(BuildOptions::default());
        read_all(text.as_bytes(), "cluster.yaml", &mut builder).unwrap();
        let task = |(at, same): (usize, &[i64])| {
            format!(
                "  - {{name: t{at}, replicas: {}, template: {{spec: {{containers: [{{name: a, resources: {{requests: \
                 {{{CARDS}: {}}}}}}}]}}}}}}\n",
                same.len(),
                same[0]
            )
        };
        let tasks: String = self.gang.chunk_by(|a, b| a == b).enumerate().map(task).collect();
        let job = format!(
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: asked}}\nspec:\n  tasks:\n{tasks}"
        );
        read_all(job.as_bytes(), "job.yaml", &mut Wanted::new(&mut builder, None)).unwrap();
        builder.finish().unwrap()
    }

    /// The fewest nodes to empty for all to fit, by trying everything.
    fn fewest(&self) -> Option<u32> {
        let nodes = self.cards.len();
        let may_go = |at: usize| !self.pods[at].is_empty() && self.pods[at].iter().all(|pod| pod.1);
        let mut sets: Vec<u32> = (0..1 << nodes).collect();
        sets.retain(|set| (0..nodes).all(|at| set >> at & 1 == 0 || may_go(at)));
        sets.sort_unstable_by_key(|set| set.count_ones());
        let works = |set: &u32| {
            let emptied = |at: usize| set >> at & 1 == 1;
            let used = |at: usize| self.pods[at].iter().map(|pod| pod.0).sum::<i64>();
            let free: Vec<i64> =
                (0..nodes).map(|at| self.cards[at] - if emptied(at) { 0 } else { used(at) }).collect();
            let victims = (0..nodes).filter(|&at| emptied(at)).flat_map(|at| &self.pods[at]);
            let receives: Vec<bool> =
                (0..nodes).map(|at| !emptied(at) && !self.pods[at].is_empty()).collect();
            let mut pods: Vec<(i64, bool)> = victims.map(|pod| (pod.0, false)).collect();
            pods.extend(self.gang.iter().map(|&cards| (cards, true)));
            pack(&pods, &free, &receives)
        };
        sets.iter().find(|set| works(set)).map(|set| set.count_ones())
    }

    /// The cluster after a plan, with the moves checked by counting.
    fn after(&self, snapshot: &Snapshot, planned: &Planned) -> Self {
        let mut after = self.clone();
        for m in &planned.plan.moves {
            let name = snapshot.pod_name(m.pod).strip_prefix('p').unwrap();
            let (from, number) = name.split_once('-').unwrap();
            let pod = self.pods[from.parse::<usize>().unwrap()][number.parse::<usize>().unwrap()];
            let from = &mut after.pods[m.from.at()];
            let at = from.iter().position(|other| *other == pod).unwrap();
            from.remove(at);
            assert!(pod.1 && !self.pods[m.to.at()].is_empty(), "{self:?}: {m:?}");
            after.pods[m.to.at()].push(pod);
        }
        for (cards, pods) in after.cards.iter().zip(&after.pods) {
            assert!(pods.iter().map(|pod| pod.0).sum::<i64>() <= *cards, "{self:?}");
        }
        assert!(planned.plan.freed.iter().all(|node| after.pods[node.at()].is_empty()), "{self:?}");
        after
    }
}

/// Whether all pods find room, depth first; those that are asked about may go anywhere.
fn pack(pods: &[(i64, bool)], free: &[i64], receives: &[bool]) -> bool {
    let Some((&(cards, anywhere), rest)) = pods.split_first() else { return true };
    (0..free.len()).any(|at| {
        (anywhere || receives[at]) && free[at] >= cards && {
            let mut left = free.to_vec();
            left[at] -= cards;
            pack(rest, &left, receives)
        }
    })
}

#[test]
fn the_answers_for_tiny_clusters_are_those_of_trying_everything() {
    let mut draw = Draw(7);
    let (mut now, mut never, mut after, mut exact, mut missed) = (0, 0, 0, 0, Vec::new());
    let mut drawn = [0; 3];
    while drawn.iter().sum::<usize>() < 400 {
        let tiny = draw.tiny();
        let fewest = tiny.fewest();
        let (kind, most) = match fewest {
            Some(0) => (0, 60),
            Some(_) => (1, 240),
            None => (2, 100),
        };
        if drawn[kind] == most {
            continue;
        }
        drawn[kind] += 1;
        let snapshot = tiny.snapshot();
        match fit(&snapshot, &Request::for_resource(CARDS)).unwrap().answer {
            Answer::Now(_) => {
                assert_eq!(fewest, Some(0), "{tiny:?}");
                now += 1;
            }
            Answer::After { planned, fewest: least, .. } => {
                let freed = planned.plan.freed.len();
                let fewest = fewest.unwrap() as usize;
                assert!(
                    1 <= least && least <= fewest && fewest <= freed,
                    "{tiny:?}: {least} {fewest} {freed}"
                );
                assert_eq!(tiny.after(&snapshot, &planned).fewest(), Some(0), "{tiny:?}");
                after += 1;
                exact += usize::from(freed == fewest);
            }
            Answer::Never { most, .. } => {
                assert_eq!(fewest, None, "{tiny:?}");
                assert!(most < i64::try_from(tiny.gang.len()).unwrap());
                never += 1;
            }
            Answer::NotFound { .. } => {
                assert_ne!(fewest, Some(0), "{tiny:?}");
                missed.extend(fewest.map(|_| tiny));
            }
        }
    }
    assert!(now == 60 && never > 80, "{now} {never}");
    assert!(missed.len() * 100 <= after, "{} of {after} missed, such as {:?}", missed.len(), missed.first());
    assert!(exact * 100 >= after * 99, "{exact} of {after} free as few nodes as possible");
}
