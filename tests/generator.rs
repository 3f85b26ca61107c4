//! The generator of hard clusters makes valid clusters, and hard ones.

// In a test a panic is the answer, and what it prints is for whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::format_push_string)]

mod support;

use std::collections::BTreeMap;

use kubectl_repack::filter::{Incoming, PluginName, State, explain};
use kubectl_repack::plan::Request;
use kubectl_repack::snapshot::model::{NodeIdx, PodIdx, ResourceIdx, Snapshot};
use support::brute;
use support::generator::{self, CARD, Knobs};
use support::rng::Rng;

#[test]
fn equal_seeds_give_equal_clusters_and_others_differ() {
    let knobs = Knobs::mixed(12);
    let text = |seed| generator::list(&generator::objects(seed, &knobs));
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
}

#[test]
fn streams_of_different_purposes_differ() {
    assert_ne!(Rng::new(1, "nodes").next(), Rng::new(1, "pods").next());
}

#[test]
fn no_node_is_over_its_amounts() {
    for seed in 0..60 {
        let s = generator::snapshot(seed, &Knobs::mixed(12));
        let mut used: BTreeMap<(usize, ResourceIdx), i64> = BTreeMap::new();
        for pod in s.pods.iter().filter(|p| p.stands()) {
            for &(resource, amount) in &s.requests(pod.charged).0 {
                *used.entry((pod.node.unwrap().at(), resource)).or_default() += amount;
            }
        }
        for ((node, resource), sum) in used {
            let limit = s.nodes[node].allocatable[resource.at()];
            assert!(sum <= limit, "seed {seed}: {} of {limit} {}", sum, s.resource_name(resource));
        }
    }
}

fn occupied(s: &Snapshot) -> usize {
    let card = s.resource_named(CARD).unwrap();
    s.pods_on.iter().filter(|pods| pods.iter().any(|&p| s.charged(p, card) > 0)).count()
}

#[test]
fn clusters_are_fragmented() {
    let sparse = (0..200).filter(|&seed| {
        let s = generator::snapshot(seed, &Knobs::tiny(6));
        let card = s.resource_named(CARD).unwrap();
        let held: i64 = (0..s.nodes.len()).flat_map(|n| &s.pods_on[n]).map(|&p| s.charged(p, card)).sum();
        let largest = s.nodes.iter().map(|n| n.allocatable[card.at()]).max().unwrap();
        occupied(&s) > usize::try_from(held.div_euclid(largest) + 1).unwrap()
    });
    assert!(sparse.count() >= 120);
}

/// What a planner is asked in these tests: every scheduler of the generator, nothing held back by its flag.
fn request() -> Request {
    let mut request = Request::for_resource(CARD);
    request.movability.schedulers =
        ["volcano", "default-scheduler", "my-scheduler"].map(str::to_owned).to_vec();
    request.movability.allow_ungrouped = true;
    request
}

#[test]
fn the_best_plan_of_tiny_clusters_is_often_not_trivial() {
    let (mut freed, mut several, mut none) = (0, 0, 0);
    for seed in 0..60 {
        let s = generator::snapshot(seed, &Knobs::tiny(6));
        match brute::best(&s, &request()).plan {
            None => none += 1,
            Some(plan) if plan.freed.len() > 1 => several += 1,
            Some(_) => freed += 1,
        }
    }
    assert!(several >= 10 && freed >= 10 && none >= 5, "several {several}, one {freed}, none {none}");
}

#[test]
fn budgets_bind() {
    let mut bound = 0;
    for seed in 0..40 {
        let s = generator::snapshot(seed, &Knobs::tiny(6));
        let free = brute::best(&s, &request()).plan.map_or(0, |plan| plan.freed.len());
        let mut tight = request();
        tight.budget.pod_groups = Some(1);
        let limited = brute::best(&s, &tight).plan.map_or(0, |plan| plan.freed.len());
        assert!(limited <= free, "seed {seed}");
        bound += usize::from(limited < free);
    }
    assert!(bound >= 4, "{bound} of 40");
}

#[test]
fn every_filter_refuses_somewhere() {
    let mut refusing: BTreeMap<PluginName, usize> = BTreeMap::new();
    for seed in 0..40 {
        let s = generator::snapshot(seed, &Knobs::mixed(10));
        let state = State::live(&s);
        for pod in (0..s.pods.len()).map(PodIdx::new).filter(|&pod| s.pod(pod).stands()) {
            for node in (0..s.nodes.len()).map(NodeIdx::new).filter(|&n| s.pod(pod).node != Some(n)) {
                for failure in explain(&state, Incoming::replacement(&s, pod), node) {
                    *refusing.entry(failure.plugin).or_default() += 1;
                }
            }
        }
    }
    let expected = [
        PluginName::NodeUnschedulable,
        PluginName::TaintToleration,
        PluginName::NodeAffinity,
        PluginName::NodePorts,
        PluginName::NodeResourcesFit,
        PluginName::PodTopologySpread,
        PluginName::InterPodAffinity,
        PluginName::Resources,
    ];
    for plugin in expected {
        assert!(refusing.get(&plugin).copied().unwrap_or(0) >= 20, "{plugin}: {refusing:?}");
    }
}
