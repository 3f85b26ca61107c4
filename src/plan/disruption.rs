//! What moving pods costs their groups: an incremental account with exact undo.
//!
//! Per group: running members (phase Running and not terminating, with or without cards, and Succeeded ones),
//! slack = how many of them may be missing before the group falls below its minimum. Up to the slack a move damages
//! the cards it moves; beyond it the group is breached and all its cards are damaged. The sums over a plan need no
//! normalisation; weights are tenths.
//!
//! Units: pods and cards. Invariant: totals are a function of the loads alone, so adding and removing in any order
//! restores them.
//!
//! May import: snapshot, plan

use crate::snapshot::Snapshot;
use crate::snapshot::model::{GroupIdx, Phase, PodIdx, ResourceIdx};

use super::request::Weights;
use super::types::Dimensions;

/// What a group is before anything moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFacts {
    /// Members that run or have succeeded.
    pub running: i64,
    /// `minMember`.
    pub min_available: i64,
    /// Members that may be missing: `max(running − minAvailable, 0)`.
    pub slack: i64,
    /// Cards of all members that stand and are not terminating.
    pub cards: i64,
}

/// What moves of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Moved pods, cascades included.
    pub pods: i64,
    /// Their cards.
    pub cards: i64,
}

/// What the cost of a group is made of, in few bytes: groups are met in any order, as the pods of a node come.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    cards: i64,
    moved_cards: i64,
    /// Pods of one group are far fewer than 2^31.
    slack: i32,
    moved_pods: i32,
}

impl Account {
    /// Disruption of the group under its load and `more`.
    fn cost(&self, more: Load) -> Dimensions {
        let load =
            Load { pods: i64::from(self.moved_pods) + more.pods, cards: self.moved_cards + more.cards };
        if load.pods == 0 {
            return Dimensions::default();
        }
        let breached = load.pods > i64::from(self.slack);
        Dimensions {
            affected_groups: 1,
            breached_groups: i64::from(breached),
            damaged_cards: if breached { self.cards } else { load.cards },
            moved_cards: load.cards,
            moved_pods: load.pods,
        }
    }
}

/// A number of pods of one group.
fn few(pods: i64) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}

/// The disruption of a growing and shrinking set of moves. O(groups + pods) to make, O(1) per change.
#[derive(Clone, Debug)]
pub struct Disruption {
    facts: Vec<GroupFacts>,
    accounts: Vec<Account>,
    /// Group and cards of every pod.
    pods: Vec<(Option<GroupIdx>, i64)>,
    totals: Dimensions,
}

impl Disruption {
    /// Nothing moves yet.
    pub fn new(snapshot: &Snapshot, resource: ResourceIdx) -> Self {
        let mut facts = vec![GroupFacts::default(); snapshot.groups.len()];
        let mut pods = Vec::with_capacity(snapshot.pods.len());
        for (at, pod) in snapshot.pods.iter().enumerate() {
            let cards = snapshot.charged(PodIdx::new(at), resource);
            pods.push((pod.group, cards));
            let Some(group) = pod.group else { continue };
            let facts = &mut facts[group.at()];
            let runs = pod.stands() && pod.phase == Phase::Running && !pod.terminating;
            facts.running += i64::from(runs || pod.phase == Phase::Succeeded);
            if pod.stands() && !pod.terminating {
                facts.cards += cards;
            }
        }
        for (facts, group) in facts.iter_mut().zip(&snapshot.groups) {
            facts.min_available = group.min_member;
            facts.slack = (facts.running - facts.min_available).max(0);
        }
        let account = |facts: &GroupFacts| Account {
            cards: facts.cards,
            slack: few(facts.slack),
            ..Account::default()
        };
        let accounts = facts.iter().map(account).collect();
        Self { facts, accounts, pods, totals: Dimensions::default() }
    }

    /// A pod moves.
    pub fn add(&mut self, pod: PodIdx) {
        self.change(pod, 1);
    }

    /// Takes an [`Disruption::add`] of that pod back.
    pub fn remove(&mut self, pod: PodIdx) {
        self.change(pod, -1);
    }

    fn change(&mut self, pod: PodIdx, sign: i64) {
        let (group, cards) = self.pods[pod.at()];
        let load = Load { pods: sign, cards: sign * cards };
        match group {
            Some(group) => self.add_load(group, load),
            None => self.totals = self.totals + lone(load),
        }
    }

    /// Moves `load` more of a group; a negative load takes moves back.
    pub fn add_load(&mut self, group: GroupIdx, load: Load) {
        self.totals = self.totals + self.step(group, load);
        let mine = &mut self.accounts[group.at()];
        mine.moved_pods += few(load.pods);
        mine.moved_cards += load.cards;
    }

    /// What `load` more of a group would change in the totals.
    pub fn step(&self, group: GroupIdx, load: Load) -> Dimensions {
        let account = &self.accounts[group.at()];
        account.cost(load) - account.cost(Load::default())
    }

    /// What moving `loads` as well would change in the totals. Each group at most once, as [`Disruption::loads_of`]
    /// gives them.
    pub fn delta(&self, loads: &[(GroupIdx, Load)]) -> Dimensions {
        loads.iter().fold(Dimensions::default(), |sum, &(group, load)| sum + self.step(group, load))
    }

    /// The loads of some pods, by group in order. Pods without a group are left out: they never move.
    pub fn loads_of(&self, pods: impl IntoIterator<Item = PodIdx>) -> Vec<(GroupIdx, Load)> {
        let mut single: Vec<(GroupIdx, i64)> = pods
            .into_iter()
            .filter_map(|pod| {
                let (group, cards) = self.pods[pod.at()];
                Some((group?, cards))
            })
            .collect();
        single.sort_unstable_by_key(|&(group, _)| group);
        let mut loads: Vec<(GroupIdx, Load)> = Vec::new();
        for (group, cards) in single {
            match loads.last_mut() {
                Some((last, load)) if *last == group => {
                    load.pods += 1;
                    load.cards += cards;
                }
                _ => loads.push((group, Load { pods: 1, cards })),
            }
        }
        loads
    }

    /// Disruption of everything added so far.
    pub const fn totals(&self) -> Dimensions {
        self.totals
    }

    /// Weighted disruption of everything added so far, in tenths.
    pub fn cost(&self, weights: &Weights) -> i64 {
        self.totals.cost(weights.array())
    }

    /// What a group is before anything moves.
    pub fn facts(&self, group: GroupIdx) -> &GroupFacts {
        &self.facts[group.at()]
    }

    /// What moves of a group.
    pub fn load(&self, group: GroupIdx) -> Load {
        let account = &self.accounts[group.at()];
        Load { pods: i64::from(account.moved_pods), cards: account.moved_cards }
    }

    /// True when the moves so far take the group below its minimum.
    pub fn is_breached(&self, group: GroupIdx) -> bool {
        self.load(group).pods > self.facts(group).slack
    }
}

/// A pod without a group is a group of its own that has no slack.
fn lone(load: Load) -> Dimensions {
    Dimensions {
        affected_groups: load.pods,
        breached_groups: load.pods,
        damaged_cards: load.cards,
        moved_cards: load.cards,
        moved_pods: load.pods,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::Cluster;

    /// A group of `pods` members of one card each on n1..; `min` as its minimum.
    fn gang(min: u32, phases: &[&str]) -> Snapshot {
        let mut cluster = Cluster::new().nodes(2, 8).group("a/g", min);
        for (at, phase) in phases.iter().enumerate() {
            cluster = cluster.pod(&format!("a/p{at} n1 1 g {phase}"));
        }
        cluster.build()
    }

    fn moved(snapshot: &Snapshot, pods: &[usize]) -> Dimensions {
        let cards = snapshot.resource_named("x.io/npu").unwrap();
        let mut account = Disruption::new(snapshot, cards);
        for &pod in pods {
            account.add(PodIdx::new(pod));
        }
        account.totals()
    }

    #[test]
    fn f34_one_pod_of_a_gang_with_slack_damages_its_own_card_only() {
        let snapshot = gang(1, &["Running"; 11]);
        let one = moved(&snapshot, &[3]);
        assert_eq!(one.array(), [1, 0, 1, 1, 1]);
        assert_eq!(one.cost(Weights::default().array()), 10 + 6 + 3 + 1);
    }

    #[test]
    fn f35_a_restart_of_all_eight_breaches_and_damages_everything() {
        let snapshot = gang(6, &["Running"; 8]);
        assert_eq!(moved(&snapshot, &[0, 1]).array(), [1, 0, 2, 2, 2]);
        assert_eq!(moved(&snapshot, &[0, 1, 2]).array(), [1, 1, 8, 3, 3]);
        assert_eq!(moved(&snapshot, &[0, 1, 2, 3, 4, 5, 6, 7]).array(), [1, 1, 8, 8, 8]);
    }

    #[test]
    fn f40_a_succeeded_member_counts_as_running_but_holds_no_card() {
        let snapshot = gang(4, &["Running", "Running", "Running", "Succeeded"]);
        let cards = snapshot.resource_named("x.io/npu").unwrap();
        let account = Disruption::new(&snapshot, cards);
        let facts = GroupFacts { running: 4, min_available: 4, slack: 0, cards: 3 };
        assert_eq!(*account.facts(GroupIdx::new(0)), facts);
    }

    #[test]
    fn a_group_already_below_its_minimum_has_slack_zero() {
        let snapshot = gang(6, &["Running", "Running"]);
        assert_eq!(moved(&snapshot, &[0]).array(), [1, 1, 2, 1, 1]);
    }

    #[test]
    fn card_less_members_count_as_running_and_pending_ones_do_not() {
        let snapshot =
            Cluster::new().nodes(1, 8).group("a/g", 1).pod("a/p n1 2 g").pod("a/q n1 0 g").pod("a/r - 2 g");
        let snapshot = snapshot.build();
        let cards = snapshot.resource_named("x.io/npu").unwrap();
        let account = Disruption::new(&snapshot, cards);
        assert_eq!(account.facts(GroupIdx::new(0)).running, 2);
        assert_eq!(account.facts(GroupIdx::new(0)).cards, 2);
    }

    #[test]
    fn undo_in_any_order_is_exact_and_delta_agrees_with_adding() {
        let snapshot = gang(3, &["Running"; 5]);
        let cards = snapshot.resource_named("x.io/npu").unwrap();
        let mut account = Disruption::new(&snapshot, cards);
        account.add(PodIdx::new(4));
        let before = account.totals();
        let loads = account.loads_of([PodIdx::new(2), PodIdx::new(0), PodIdx::new(1)]);
        let delta = account.delta(&loads);
        for pod in [2, 0, 1] {
            account.add(PodIdx::new(pod));
        }
        assert_eq!(account.totals(), before + delta);
        assert!(account.is_breached(GroupIdx::new(0)));
        for pod in [0, 2, 1, 4] {
            account.remove(PodIdx::new(pod));
        }
        assert_eq!(account.totals(), Dimensions::default());
    }
}
