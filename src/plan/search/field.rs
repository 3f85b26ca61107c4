//! What Search looks up about the candidates: what emptying each one disturbs.
//!
//! Candidates are addressed by *position*, in name order. Pods that are recreated alone are disturbed by their own
//! node only, so their sums are fixed per candidate; members of units may be disturbed through several nodes and are
//! kept apart.
//!
//! May import: snapshot, plan

use rustc_hash::{FxHashMap, FxHashSet};

use crate::plan::disruption::{Disruption, Load};
use crate::plan::problem::{Cap, Problem, Role};
use crate::snapshot::model::{GroupIdx, NodeIdx, OwnerIdx, PodIdx};

/// What emptying one candidate disturbs.
#[derive(Clone, Debug, Default)]
pub(super) struct Burden {
    /// Pods that only this candidate disturbs, by group in order.
    pub loads: Vec<(GroupIdx, Load)>,
    /// What those pods take of each cap.
    pub caps: Vec<i64>,
    /// Pods that other candidates may disturb as well, by index.
    pub shared: Vec<PodIdx>,
    /// Evictions of owners whose retries are limited; a unit counts once.
    pub retries: Vec<(OwnerIdx, i64)>,
    /// Cards of the victims on the node.
    pub cards: i64,
}

/// All candidates of a task.
#[derive(Debug)]
pub(super) struct Field<'p, 's> {
    /// The task.
    pub problem: &'p Problem<'s>,
    /// Candidates by name.
    pub candidates: Vec<NodeIdx>,
    /// Position of the candidate that every choice has to contain.
    pub must: Option<usize>,
    /// Their burdens.
    pub burdens: Vec<Burden>,
    /// By position: emptying this candidate alone is within every budget, what restarts along included.
    pub affordable: Vec<bool>,
    /// Positions of the candidates that disturb a group, by group.
    pub of_group: Vec<Vec<u32>>,
    /// Pods that are in the unit of some victim with others.
    pub entangled: FxHashSet<PodIdx>,
    /// Nothing moves yet.
    pub undisturbed: Disruption,
    /// By cap and number of candidates: what those that take least of it take together.
    pub least_of_caps: Vec<Vec<i64>>,
    /// By number of candidates: the cost of moving what those with the cheapest cards and pods move.
    pub least_moves: Vec<i64>,
}

impl<'p, 's> Field<'p, 's> {
    pub fn new(problem: &'p Problem<'s>) -> Self {
        let is_candidate =
            |node: &NodeIdx| matches!(problem.node(*node).role, Role::Candidate | Role::OnlyCandidate);
        let candidates: Vec<NodeIdx> =
            (0..problem.nodes.len()).map(NodeIdx::new).filter(is_candidate).collect();
        let must = problem.must.and_then(|must| candidates.iter().position(|&node| node == must));
        let undisturbed = Disruption::new(problem.snapshot, problem.resource);
        let entangled = entangled(problem, &candidates);
        let mut of_group = vec![Vec::new(); problem.snapshot.groups.len()];
        let (mut burdens, mut affordable) = (Vec::with_capacity(candidates.len()), Vec::new());
        for (at, &node) in candidates.iter().enumerate() {
            let burden = burden(problem, &undisturbed, &entangled, node);
            let shared = burden.shared.iter().filter_map(|&pod| problem.snapshot.pod(pod).group);
            let mut groups: Vec<GroupIdx> = burden.loads.iter().map(|l| l.0).chain(shared).collect();
            groups.sort_unstable();
            groups.dedup();
            let groups_of_burden = groups.len();
            for group in groups {
                of_group[group.at()].push(u32::try_from(at).unwrap_or(u32::MAX));
            }
            affordable.push(is_affordable(problem, &burden, groups_of_burden));
            burdens.push(burden);
        }
        let least_of_caps =
            (0..problem.caps.len()).map(|cap| least_sums(burdens.iter().map(|b| b.caps[cap]))).collect();
        let [.., per_card, per_pod] = problem.weights;
        let moves = |b: &Burden| -> i64 {
            b.loads.iter().map(|(_, load)| per_card * load.cards + per_pod * load.pods).sum()
        };
        let least_moves = least_sums(burdens.iter().map(moves));
        Self {
            problem,
            candidates,
            must,
            burdens,
            affordable,
            of_group,
            entangled,
            undisturbed,
            least_of_caps,
            least_moves,
        }
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// No choice may leave this candidate out.
    pub fn is_must(&self, at: usize) -> bool {
        self.must == Some(at)
    }

    /// Groups that emptying a candidate disturbs, in order.
    pub fn groups(&self, at: usize) -> Vec<GroupIdx> {
        let burden = &self.burdens[at];
        let shared = burden.shared.iter().filter_map(|&pod| self.problem.snapshot.pod(pod).group);
        let mut groups: Vec<GroupIdx> = burden.loads.iter().map(|l| l.0).chain(shared).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

fn is_affordable(problem: &Problem<'_>, burden: &Burden, groups: usize) -> bool {
    let many = |most: i64| i64::try_from(groups).is_ok_and(|groups| groups > most);
    let within = |(cap, alone): (&Cap, &i64)| {
        let charged = |&pod: &PodIdx| problem.snapshot.charged(pod, cap.resource);
        alone + burden.shared.iter().map(charged).sum::<i64>() <= cap.most
    };
    let tolerated = |&(owner, more): &(OwnerIdx, i64)| {
        problem.evictions_tolerated(owner).is_none_or(|limit| more <= limit)
    };
    !problem.max_groups.is_some_and(many)
        && problem.caps.iter().zip(&burden.caps).all(within)
        && burden.retries.iter().all(tolerated)
}

/// Sums of the n smallest amounts, by n.
fn least_sums(amounts: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut amounts: Vec<i64> = amounts.collect();
    amounts.sort_unstable();
    let mut sums = vec![0];
    for amount in amounts {
        sums.push(sums[sums.len() - 1] + amount);
    }
    sums
}

/// Pods that are in the unit of some victim with others.
fn entangled(problem: &Problem<'_>, candidates: &[NodeIdx]) -> FxHashSet<PodIdx> {
    let victims = candidates.iter().flat_map(|&node| &problem.node(node).victims);
    victims.filter_map(|&pod| problem.unit_of(pod)).flatten().copied().collect()
}

fn burden(
    problem: &Problem<'_>,
    account: &Disruption,
    entangled: &FxHashSet<PodIdx>,
    node: NodeIdx,
) -> Burden {
    let facts = problem.node(node);
    let mut alone = Vec::new();
    let mut shared = Vec::new();
    let mut retries: FxHashMap<OwnerIdx, i64> = FxHashMap::default();
    let mut taken_along: Vec<PodIdx> = Vec::new();
    for &victim in &facts.victims {
        if entangled.contains(&victim) {
            match problem.unit_of(victim) {
                Some(unit) => shared.extend(unit),
                None => shared.push(victim),
            }
        } else {
            alone.push(victim);
        }
        if !taken_along.contains(&victim)
            && let Some(owner) = problem.snapshot.pod(victim).owner
            && problem.evictions_tolerated(owner).is_some()
        {
            *retries.entry(owner).or_default() += 1;
            taken_along.extend(problem.unit_of(victim).unwrap_or_default());
        }
    }
    shared.sort_unstable();
    shared.dedup();
    let charged = |resource| alone.iter().map(|&pod| problem.snapshot.charged(pod, resource)).sum();
    let caps = problem.caps.iter().map(|cap| charged(cap.resource)).collect();
    let mut retries: Vec<(OwnerIdx, i64)> = retries.into_iter().collect();
    retries.sort_unstable();
    Burden {
        loads: account.loads_of(alone),
        caps,
        shared,
        retries,
        cards: facts.victims.iter().map(|&pod| problem.cards(pod)).sum(),
    }
}
