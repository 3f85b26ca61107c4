//! From a seed to a draft: nodes, workloads placed one by one where they fit, then what time does to a cluster.

use std::collections::BTreeMap;

use super::draft::{
    BudgetDraft, Draft, Kind, Mark, NodeDraft, PodDraft, PodState, Policy, Shape, Task, Workload,
};
use super::knobs::Knobs;
use crate::support::rng::Rng;

const NAMESPACES: [&str; 3] = ["team-a", "team-b", "team-c"];
const MODELS: [&str; 2] = ["m910b", "m310p"];
const TAINTS: [&str; 2] = ["dedicated", "slow"];

/// The draft of a cluster.
pub fn draft(seed: u64, knobs: &Knobs) -> Draft {
    let mut draft = Draft { nodes: nodes(&mut Rng::new(seed, "nodes"), knobs), ..Draft::default() };
    fill(&mut draft, &mut Rng::new(seed, "workloads"), knobs);
    end_some(&mut draft, &mut Rng::new(seed, "ended"), knobs);
    age(&mut draft, &mut Rng::new(seed, "states"), knobs);
    wait(&mut draft, &mut Rng::new(seed, "waiting"), knobs);
    mark(&mut draft, &mut Rng::new(seed, "marks"), knobs);
    budgets(&mut draft, &mut Rng::new(seed, "budgets"), knobs);
    draft
}

fn nodes(rng: &mut Rng, knobs: &Knobs) -> Vec<NodeDraft> {
    let zones = knobs.nodes.clamp(2, 6).div_ceil(2);
    (0..knobs.nodes)
        .map(|at| {
            let cards = *rng.pick(&knobs.node_cards);
            let mut labels = BTreeMap::new();
            labels.insert("kubernetes.io/hostname", format!("n{at:04}"));
            if !rng.chance(4) {
                labels.insert("topology.kubernetes.io/zone", format!("z{}", at % zones));
            }
            labels.insert("example.com/rack", format!("r{}", at / 4));
            labels.insert("example.com/model", (*rng.pick(&MODELS)).to_owned());
            NodeDraft {
                name: format!("n{at:04}"),
                cards,
                second: if rng.chance(70) { 4 } else { 0 },
                cpu: 4_000 + cards * 8_000,
                memory: 8_192 + cards * 32_768,
                labels,
                taint: rng.chance(knobs.taints).then(|| *rng.pick(&TAINTS)),
                cordoned: false,
                ready: true,
                leaving: false,
            }
        })
        .collect()
}

fn fill(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    for at in 0..knobs.daemon_sets {
        daemon_set(draft, rng, at);
    }
    let total: u32 = draft.nodes.iter().map(|n| n.cards).sum();
    let mut misses = 0;
    while misses < 40 {
        let taken: u32 = draft.holding().map(|(_, s)| s.cards).sum();
        if taken * 100 >= total * knobs.fill {
            break;
        }
        let number = draft.workloads.len();
        let workload = workload(draft, rng, knobs, number);
        if !place(draft, rng, knobs, workload) {
            misses += 1;
        }
    }
}

/// One card-less pod per node; every third set takes a card where one is left.
fn daemon_set(draft: &mut Draft, rng: &mut Rng, at: usize) {
    let cards = u32::from(rng.chance(33));
    let shape = Shape { app: format!("agent-{at}"), cards, cpu: 100, memory: 128, ..Shape::default() };
    let workload = draft.workloads.len();
    draft.workloads.push(plain_workload(Kind::DaemonSet, "team-a", format!("agent-{at}"), shape.clone()));
    for node in 0..draft.nodes.len() {
        if draft.fits(node, &shape) && (cards == 0 || rng.chance(30)) {
            let pod =
                PodDraft { workload, task: 0, ordinal: node, node, state: PodState::Running, mark: None };
            draft.pods.push(pod);
        }
    }
}

fn plain_workload(kind: Kind, namespace: &'static str, name: String, shape: Shape) -> Workload {
    Workload {
        kind,
        namespace,
        name,
        scheduler: "volcano",
        tasks: vec![Task { name: "main".to_owned(), shape }],
        min_member: 1,
        policy: Policy::None,
        owner_mark: None,
        group_mark: None,
        labels: BTreeMap::new(),
        ended: false,
    }
}

fn workload(draft: &Draft, rng: &mut Rng, knobs: &Knobs, number: usize) -> Workload {
    let kind = if rng.chance(knobs.volcano_jobs) {
        Kind::VolcanoJob
    } else if rng.chance(knobs.unowned * 2) {
        *rng.pick(&[Kind::Bare, Kind::Custom])
    } else {
        *rng.pick(&[Kind::Deployment, Kind::Deployment, Kind::StatefulSet, Kind::BatchJob])
    };
    let name = format!("w{number:03}");
    let tasks = if kind == Kind::VolcanoJob && rng.chance(25) { 2 } else { 1 };
    let tasks: Vec<Task> = (0..tasks)
        .map(|at| Task { name: format!("t{at}"), shape: shape(draft, rng, knobs, &name) })
        .collect();
    let scheduler = if kind != Kind::VolcanoJob && rng.chance(knobs.other_schedulers * 2) {
        *rng.pick(&["default-scheduler", "my-scheduler"])
    } else {
        "volcano"
    };
    let policy = if kind == Kind::VolcanoJob && rng.chance(knobs.policies) {
        let action = *rng.pick(&["RestartTask", "RestartJob", "RestartPod", "RestartTask", "AbortJob"]);
        Policy::Evicted(action, rng.chance(50))
    } else {
        Policy::None
    };
    let mut labels = BTreeMap::new();
    labels.insert("team", (*rng.pick(&["red", "blue", "green"])).to_owned());
    let namespace = *rng.pick(&NAMESPACES);
    Workload { scheduler, tasks, policy, labels, ..plain_workload(kind, namespace, name, Shape::default()) }
}

fn shape(draft: &Draft, rng: &mut Rng, knobs: &Knobs, app: &str) -> Shape {
    let cards = if rng.chance(knobs.cardless) { 0 } else { *rng.pick(&knobs.pod_cards) };
    let mut shape = Shape {
        app: app.to_owned(),
        cards,
        cpu: 500 + cards * u32::try_from(rng.between(2, 9)).unwrap() * 1_000,
        memory: 512 + cards * u32::try_from(rng.between(8, 36)).unwrap() * 1_024,
        ..Shape::default()
    };
    if rng.chance(knobs.second_resource) {
        shape.second = 1;
    }
    if rng.chance(knobs.selectors) {
        match rng.below(3) {
            0 => shape.selector = Some(("example.com/model", (*rng.pick(&MODELS)).to_owned())),
            1 => shape.one_of = Some(("topology.kubernetes.io/zone", vec!["z0".into(), "z1".into()])),
            _ => shape.one_of = Some(("example.com/rack", vec!["r0".into(), "r2".into()])),
        }
    }
    let keys = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"];
    let other = |rng: &mut Rng| match draft.workloads.as_slice() {
        [] => app.to_owned(),
        all => rng.pick(all).tasks[0].shape.app.clone(),
    };
    if rng.chance(knobs.anti_affinity) {
        let (whom, key) =
            if rng.chance(60) { (app.to_owned(), keys[0]) } else { (other(rng), *rng.pick(&keys)) };
        shape.away = Some((whom, key));
    }
    if rng.chance(knobs.affinity) {
        shape.near = Some((other(rng), *rng.pick(&keys[1..])));
    }
    if rng.chance(knobs.spread) {
        shape.spread = Some((*rng.pick(&keys[1..]), u32::try_from(rng.between(1, 2)).unwrap()));
    }
    if rng.chance(knobs.host_ports) {
        shape.port = Some(*rng.pick(&[8_080, 9_090]));
    }
    if rng.chance(knobs.taints * 3) {
        shape.tolerates = Some(*rng.pick(&TAINTS));
    }
    shape.host_path = rng.chance(knobs.managed);
    shape.kueue = rng.chance(knobs.managed);
    shape.priority = *rng.pick(&[0, 0, 0, 100]);
    shape
}

/// Puts all pods of a workload on nodes; a gang that does not fit as a whole is dropped.
fn place(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs, workload: Workload) -> bool {
    let at = draft.workloads.len();
    let before = draft.pods.len();
    let bare = matches!(workload.kind, Kind::Bare);
    let gang = workload.kind == Kind::VolcanoJob;
    let tasks = workload.tasks.clone();
    draft.workloads.push(workload);
    for (task, Task { shape, .. }) in tasks.iter().enumerate() {
        let replicas = if bare { 1 } else { rng.between(1, knobs.replicas) };
        for ordinal in 0..replicas {
            let fitting: Vec<usize> = (0..draft.nodes.len()).filter(|&n| draft.fits(n, shape)).collect();
            if fitting.is_empty() {
                if gang {
                    draft.pods.truncate(before);
                }
                break;
            }
            // Spreading is what makes fragments: mostly the emptier of two random nodes.
            let (a, b) = (*rng.pick(&fitting), *rng.pick(&fitting));
            let free = |n: usize| draft.nodes[n].cards - draft.cards_used(n);
            let node = if rng.chance(70) && free(b) > free(a) { b } else { a };
            let pod = PodDraft { workload: at, task, ordinal, node, state: PodState::Running, mark: None };
            draft.pods.push(pod);
        }
    }
    let placed = draft.pods.len() - before;
    if placed == 0 {
        draft.workloads.pop();
        return false;
    }
    draft.workloads[at].min_member =
        if gang { *rng.pick(&[placed, placed, 1, placed.div_ceil(2)]) } else { 1 };
    true
}

fn end_some(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    for workload in &mut draft.workloads {
        workload.ended = workload.kind != Kind::DaemonSet && rng.chance(knobs.ended);
    }
    let ended: Vec<bool> = draft.workloads.iter().map(|w| w.ended).collect();
    draft.pods.retain(|p| !ended[p.workload]);
}

/// Pods that end, start or have finished; nodes that went down or are about to.
fn age(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    let mut finished = Vec::new();
    for pod in &mut draft.pods {
        if rng.chance(knobs.terminating) {
            pod.state = PodState::Terminating;
        } else if rng.chance(knobs.starting) {
            pod.state = PodState::Starting;
        }
        if rng.chance(knobs.finished) {
            let state = *rng.pick(&[PodState::Succeeded, PodState::Failed]);
            finished.push(PodDraft { ordinal: pod.ordinal + 50, state, ..pod.clone() });
        }
    }
    draft.pods.extend(finished);
    for node in &mut draft.nodes {
        node.cordoned = rng.chance(knobs.cordoned);
        node.ready = !rng.chance(knobs.not_ready);
        node.leaving = rng.chance(knobs.leaving);
    }
}

/// Some pods of a workload lost their nodes, or more pods were asked for than find room.
fn wait(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    for at in 0..draft.workloads.len() {
        let workload = &draft.workloads[at];
        if workload.ended || workload.kind == Kind::DaemonSet || !rng.chance(knobs.waiting) {
            continue;
        }
        let lost = *rng.pick(&[0, 50, 100]);
        let running = |p: &&mut PodDraft| p.workload == at && p.state == PodState::Running;
        for pod in draft.pods.iter_mut().filter(running) {
            if rng.chance(lost) {
                pod.state = PodState::Waiting;
            }
        }
        if let Some(first) = draft.pods.iter().find(|p| p.workload == at && p.ordinal < 20).cloned() {
            let most = *rng.pick(&[0, 4, 12, 40]);
            let more = (0..rng.between(0, most)).map(|n| PodDraft {
                ordinal: n + 100,
                state: PodState::Waiting,
                ..first.clone()
            });
            draft.pods.extend(more);
        }
        if rng.chance(60) {
            draft.workloads[at].min_member = draft.pods.iter().filter(|p| p.workload == at).count();
        }
    }
}

fn mark(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    let marks = [Mark::Label, Mark::Annotation];
    let all = [Mark::Label, Mark::Annotation, Mark::SafeToEvictFalse, Mark::DoNotDisrupt];
    for workload in &mut draft.workloads {
        workload.owner_mark = rng.chance(knobs.protected).then(|| *rng.pick(&marks));
        workload.group_mark = rng.chance(knobs.protected).then(|| *rng.pick(&marks));
    }
    for pod in &mut draft.pods {
        pod.mark = rng.chance(knobs.protected).then(|| *rng.pick(&all));
    }
}

fn budgets(draft: &mut Draft, rng: &mut Rng, knobs: &Knobs) {
    for workload in draft.workloads.iter().filter(|w| !w.ended) {
        if !rng.chance(knobs.budgets) {
            continue;
        }
        let app = workload.tasks[0].shape.app.clone();
        let mine = || draft.holding().filter(|(_, s)| s.app == app);
        let expected = mine().count();
        let healthy = mine().filter(|(p, _)| p.state == PodState::Running).count();
        let desired = match rng.below(5) {
            0 => expected,
            1 => healthy,
            _ => expected.saturating_sub(rng.between(1, 2)),
        };
        let sync_failed = rng.chance(10);
        let allowed = if sync_failed { 0 } else { healthy.saturating_sub(desired) };
        let budget = BudgetDraft {
            namespace: workload.namespace,
            name: format!("{}-pdb", workload.name),
            app,
            expected,
            healthy,
            desired,
            allowed,
            sync_failed,
        };
        if rng.chance(10) {
            draft.budgets.push(BudgetDraft { name: format!("{}-too", budget.name), ..budget.clone() });
        }
        draft.budgets.push(budget);
    }
}
