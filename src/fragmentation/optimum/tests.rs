use proptest::prelude::*;

use super::*;

type Classes = &'static [(i64, u64)];

fn items(classes: &[(i64, u64)]) -> Vec<ItemClass> {
    classes.iter().map(|&(size, count)| ItemClass { size, count }).collect()
}

fn bins(classes: &[(i64, u64)]) -> Vec<BinClass> {
    classes.iter().map(|&(capacity, count)| BinClass { capacity, count }).collect()
}

fn solve(pods: &[(i64, u64)], nodes: &[(i64, u64)], occupied: u64) -> Optimum {
    optimum(&items(pods), &bins(nodes), occupied, DEFAULT_EFFORT)
}

fn exact(nodes: u64) -> Optimum {
    Optimum { nodes, exact: true }
}

#[test]
fn f14_three_five_card_pods_need_three_nodes() {
    assert_eq!(solve(&[(5, 3)], &[(8, 4)], 3), exact(3));
    // Also where the current placement does not already settle it.
    assert_eq!(solve(&[(5, 3)], &[(8, 400)], 400), exact(3));
}

#[test]
fn f14_nine_one_card_pods_on_nodes_of_8_8_4_need_two() {
    assert_eq!(solve(&[(1, 9)], &[(4, 1), (8, 2)], 3), exact(2));
}

#[test]
fn nothing_requested_needs_no_node() {
    assert_eq!(solve(&[], &[(8, 4)], 0), exact(0));
    assert_eq!(solve(&[(0, 7), (-2, 1), (4, 0)], &[(8, 4)], 3), exact(0));
}

#[test]
fn a_full_cluster_is_its_own_optimum() {
    assert_eq!(solve(&[(8, 100)], &[(8, 100)], 100), exact(100));
}

#[test]
fn the_largest_nodes_are_used_first() {
    // 16 + 16 hold what six of the eight small nodes hold now.
    assert_eq!(solve(&[(4, 8)], &[(8, 6), (16, 2)], 6), exact(2));
    // A node of two cards can not hold a pod of four, however many there are.
    assert_eq!(solve(&[(4, 2)], &[(2, 1_000), (5, 3)], 3), exact(2));
}

#[test]
fn a_node_used_beyond_its_allocatable_counts_with_what_it_holds() {
    // One node shrank to 4 cards under a pod of 8: its capacity is max(allocatable, used).
    assert_eq!(solve(&[(8, 2)], &[(8, 2), (4, 5)], 2), exact(2));
}

#[test]
fn capacities_that_are_no_multiple_of_a_size_keep_the_closed_form() {
    // Slots of 4 on nodes of 7, 10 and 13: 1, 2 and 3; four pods of 4 need the two largest, the ones fit beside.
    let nodes = [(7, 5), (10, 1), (13, 1)];
    assert_eq!(optimum(&items(&[(4, 4), (1, 7)]), &bins(&nodes), 7, 0), exact(2));
    assert_eq!(optimum(&items(&[(4, 4), (1, 8)]), &bins(&nodes), 7, 0), exact(3));
}

#[test]
fn odd_sizes_without_fillers_are_exact() {
    // On 16 cards: 5+5+6, 3+6+7, 3+3+5+5. The volume bound alone would say 4.
    assert_eq!(solve(&[(7, 8)], &[(16, 9)], 9), exact(4));
    assert_eq!(solve(&[(7, 5), (6, 5), (3, 5)], &[(16, 9)], 9), exact(5));
    assert_eq!(solve(&[(9, 4), (5, 4)], &[(16, 9)], 9), exact(4));
}

#[test]
fn an_optimum_above_the_bound_of_the_relaxation_is_proven() {
    // 202 cards on nodes of 34: six nodes would have room for two more, and the relaxation fills them.
    let pods = [(7, 3), (11, 3), (12, 2), (13, 3), (17, 5)];
    let load = Load::new(&items(&pods), &bins(&[(34, 16)]), 16);
    let work = &mut Work::new(u64::MAX);
    let mut patterns = Patterns::new(&load, work).unwrap();
    assert_eq!(relaxation::bound(&load, &mut patterns, work), Some(6));
    let one_by_one = [7, 7, 7, 11, 11, 11, 12, 12, 13, 13, 13, 17, 17, 17, 17, 17];
    assert_eq!(fewest_by_trying_everything(&one_by_one, &[34; 7]), Some(7));
    assert_eq!(solve(&pods, &[(34, 16)], 16), exact(7));
    // A search over some of the patterns proves nothing above the bound.
    patterns.complete = false;
    assert_eq!(integer::optimum(&load, &patterns, 6, work), None);
}

#[test]
fn where_patterns_are_too_many_to_list_the_useful_ones_are_generated() {
    let sizes = [2, 3, 9, 10, 11, 12, 14, 15, 19, 25, 28, 29, 35, 39, 44, 47, 52];
    let counts = [27, 27, 22, 28, 23, 27, 22, 24, 35, 51, 26, 26, 26, 34, 20, 25, 19];
    let pods: Vec<(i64, u64)> = sizes.into_iter().zip(counts).collect();
    let load = Load::new(&items(&pods), &bins(&[(100, 200)]), 200);
    assert!(!Patterns::new(&load, &mut Work::new(u64::MAX)).unwrap().complete);
    // 10,559 units: 105.59 full nodes.
    assert_eq!(solve(&pods, &[(100, 200)], 200), exact(106));
}

#[test]
fn bench_loads_reach_their_proven_optimum() {
    // Pods and nodes of benchmark clusters, counted by cards, and one of 10,000 equal nodes; the values are their
    // card-only optima.
    let cases: [(Classes, Classes, u64, u64); 4] = [
        (&[(1, 24), (2, 26), (3, 58), (5, 46), (6, 46), (7, 41)], &[(8, 75), (16, 75)], 123, 66),
        (&[(1, 295), (2, 6)], &[(1, 2), (2, 43), (4, 4), (8, 51)], 93, 39),
        (&[(1, 3667), (2, 14), (8, 4)], &[(1, 24), (2, 518), (4, 54), (8, 617)], 1_142, 466),
        (&[(1, 20_000), (2, 1_000), (4, 3_000), (8, 1_750)], &[(8, 10_000)], 9_000, 6_000),
    ];
    for (pods, nodes, occupied, expected) in cases {
        assert_eq!(solve(pods, nodes, occupied), exact(expected), "{pods:?}");
    }
}

#[test]
fn ten_thousand_nodes_one_class_each_are_merged_and_exact() {
    let nodes: Vec<(i64, u64)> = (0..10_000).map(|index| (if index % 2 == 0 { 8 } else { 16 }, 1)).collect();
    let pods: Vec<(i64, u64)> = (0..30_000).map(|index| ([3, 5, 6, 7, 2, 1][index % 6], 1)).collect();
    // 5,000 × (3 + 5 + 6 + 7 + 2 + 1) = 120,000 cards = 5,000 × 16 + 5,000 × 8: every node would be full.
    assert_eq!(solve(&pods, &nodes, 10_000), exact(10_000));
    // Two thirds of it fill all nodes of 16.
    assert_eq!(solve(&pods[..20_000], &nodes, 9_000), exact(5_000));
}

#[test]
fn sizes_beyond_any_effort_give_a_lower_bound_at_once() {
    let pods: Vec<(i64, u64)> = (0..5_000).map(|index| (1_000_003 + 7_919 * index, 3)).collect();
    let answer = optimum(&items(&pods), &bins(&[(81_920_000, 20_000)]), 15_000, DEFAULT_EFFORT);
    let total: u64 = pods.iter().map(|&(size, _)| 3 * size.unsigned_abs()).sum();
    assert!(answer.nodes >= total.div_ceil(81_920_000) && answer.nodes <= 15_000, "{answer:?}");
}

#[test]
fn without_effort_the_bound_is_still_sound_and_says_so() {
    let answer = optimum(&items(&[(7, 8), (5, 3)]), &bins(&[(16, 9)]), 9, 0);
    assert_eq!(answer, Optimum { nodes: 5, exact: false });
}

#[test]
fn huge_numbers_neither_overflow_nor_panic() {
    let big = i64::MAX;
    assert_eq!(solve(&[(big, u64::MAX)], &[(big, u64::MAX)], u64::MAX), exact(u64::MAX));
    assert_eq!(solve(&[(1, u64::MAX)], &[(big, u64::MAX)], u64::MAX), exact(3));
    let answer = solve(&[(big, 3), (big - 1, u64::MAX), (2, 9)], &[(big, u64::MAX), (7, 7)], u64::MAX);
    assert!(answer.nodes >= u64::MAX - 9, "{answer:?}");
    assert_eq!(solve(&[(3, 1)], &[(i64::MIN, 5), (-1, 1), (8, 1)], 1), exact(1));
}

#[test]
fn items_that_do_not_fit_at_all_give_the_occupied_count_inexact() {
    assert_eq!(solve(&[(9, 1)], &[(8, 4)], 3), Optimum { nodes: 3, exact: false });
    assert_eq!(solve(&[(4, 3)], &[(8, 1)], 1), Optimum { nodes: 1, exact: false });
}

/// Every assignment of items to bins, without any argument about which bins are best; `None`: none fits.
fn fewest_by_trying_everything(items: &[i64], bins: &[i64]) -> Option<u64> {
    fn place(items: &[i64], room: &mut [i64], capacities: &[i64], used: u64, best: &mut Option<u64>) {
        if best.is_some_and(|best| used >= best) {
            return;
        }
        let Some((&item, rest)) = items.split_first() else {
            *best = Some(used);
            return;
        };
        for bin in 0..room.len() {
            // Bins in the same state are interchangeable.
            let same = |other: usize| (room[other], capacities[other]) == (room[bin], capacities[bin]);
            if room[bin] >= item && !(0..bin).any(same) {
                let opened = u64::from(room[bin] == capacities[bin]);
                room[bin] -= item;
                place(rest, room, capacities, used + opened, best);
                room[bin] += item;
            }
        }
    }
    let mut items = items.to_vec();
    items.sort_unstable_by_key(|&item| std::cmp::Reverse(item));
    let mut best = None;
    place(&items, &mut bins.to_vec(), bins, 0, &mut best);
    best
}

/// Few sizes and capacities, so that they repeat; and any sizes, so that they do not.
fn small_load() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
    let repeating = (
        prop::collection::vec(prop::sample::select(vec![2_i64, 3, 4, 5, 6, 7]), 1..=10),
        prop::collection::vec(prop::sample::select(vec![4_i64, 7, 8, 10, 16]), 1..=6),
    );
    let chains = (
        prop::collection::vec(prop::sample::select(vec![1_i64, 2, 4, 8]), 1..=11),
        prop::collection::vec(1_i64..=17, 1..=6),
    );
    let any = (prop::collection::vec(1_i64..=30, 1..=9), prop::collection::vec(1_i64..=40, 1..=6));
    prop_oneof![repeating, chains, any]
}

fn ones(amounts: &[i64]) -> Vec<(i64, u64)> {
    amounts.iter().map(|&amount| (amount, 1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn small_loads_are_exact_and_equal_to_trying_everything(
        (pods, nodes) in small_load(),
        slack in 0_u64..4,
    ) {
        let Some(expected) = fewest_by_trying_everything(&pods, &nodes) else {
            let answer = solve(&ones(&pods), &ones(&nodes), nodes.len() as u64);
            prop_assert!(answer.nodes <= nodes.len() as u64);
            return Ok(());
        };
        let occupied = (expected + slack).min(nodes.len() as u64);
        prop_assert_eq!(solve(&ones(&pods), &ones(&nodes), occupied), exact(expected));
    }

    #[test]
    fn with_little_effort_the_answer_is_a_lower_bound_and_exact_means_exact(
        (pods, nodes) in small_load(),
        effort in prop_oneof![0_u64..100, 0_u64..5_000],
    ) {
        let Some(expected) = fewest_by_trying_everything(&pods, &nodes) else { return Ok(()) };
        let answer = optimum(&items(&ones(&pods)), &bins(&ones(&nodes)), nodes.len() as u64, effort);
        prop_assert!(answer.nodes <= expected);
        prop_assert!(!answer.exact || answer.nodes == expected);
    }

    #[test]
    fn the_order_of_the_classes_does_not_matter(
        (pods, nodes) in small_load(),
        effort in 0_u64..20_000,
    ) {
        let turned = |amounts: &[i64]| -> Vec<i64> { amounts.iter().rev().copied().collect() };
        let occupied = nodes.len() as u64;
        let one = optimum(&items(&ones(&pods)), &bins(&ones(&nodes)), occupied, effort);
        let other = optimum(&items(&ones(&turned(&pods))), &bins(&ones(&turned(&nodes))), occupied, effort);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn every_stage_beyond_counting_is_sound_on_its_own((pods, nodes) in small_load()) {
        let Some(expected) = fewest_by_trying_everything(&pods, &nodes) else { return Ok(()) };
        let load = Load::new(&items(&ones(&pods)), &bins(&ones(&nodes)), nodes.len() as u64);
        let work = &mut Work::new(u64::MAX);
        prop_assert!(bound::counting(&load, work).unwrap() <= expected);
        let mut listed = Patterns::new(&load, work).unwrap();
        prop_assert!(listed.complete);
        let relaxed = relaxation::bound(&load, &mut listed, work).unwrap();
        prop_assert!(relaxed <= expected);
        prop_assert_eq!(integer::optimum(&load, &listed, relaxed, work), Some(expected));
        // The patterns that the relaxation asks for give the same bound as all of them.
        let mut generated = Patterns::starting(&load);
        prop_assert_eq!(relaxation::bound(&load, &mut generated, work), Some(relaxed));
        for nodes in 0..expected {
            prop_assert!(!pack::fits(&load, nodes, work));
            prop_assert!(!dive::fits(&load, &listed, nodes, work));
            prop_assert!(!dive::fits(&load, &generated, nodes, work));
        }
    }
}
