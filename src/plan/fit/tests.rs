//! Places for gangs and the bounds on them.

use super::*;
use crate::plan::testing::CARDS;
use crate::snapshot::build::wanted::Wanted;
use crate::snapshot::read::read_all;
use crate::snapshot::{BuildOptions, Builder};

/// A cluster with the pods of a YAML file asked about.
fn asked(cluster: &str, file: &str) -> Snapshot {
    let mut builder = Builder::new(BuildOptions::default());
    read_all(cluster.as_bytes(), "cluster.yaml", &mut builder).unwrap();
    read_all(file.as_bytes(), "job.yaml", &mut Wanted::new(&mut builder, None)).unwrap();
    builder.finish().unwrap()
}

fn node(name: &str, rack: &str, cards: u32, cpu: u32) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{rack: {rack}}}}}, status: {{allocatable: \
         {{cpu: {cpu}, pods: 110, {CARDS}: {cards}}}, conditions: [{{type: Ready, status: 'True'}}]}}}}\n"
    )
}

/// A pod that nobody moves.
fn pod(name: &str, node: &str, cards: u32) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeName: {node}, containers: \
         [{{name: a, resources: {{requests: {{{CARDS}: {cards}}}}}}}]}}, status: {{phase: Running}}}}\n"
    )
}

/// A pod that may move, of a PodGroup of its name.
fn mover(name: &str, node: &str, cards: u32) -> String {
    format!(
        "---\n{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {{name: {name}}}, spec: \
         {{minMember: 1}}}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, annotations: \
         {{scheduling.k8s.io/group-name: {name}}}, ownerReferences: [{{apiVersion: batch.volcano.sh/v1alpha1, kind: \
         Job, name: {name}, controller: true}}]}}, spec: {{schedulerName: volcano, nodeName: {node}, containers: \
         [{{name: a, resources: {{requests: {{{CARDS}: {cards}}}}}}}]}}, status: {{phase: Running}}}}\n"
    )
}

fn task(name: &str, replicas: u32, requests: &str, more: &str) -> String {
    format!(
        "  - name: {name}\n    replicas: {replicas}\n    template: {{metadata: {{labels: {{app: train}}}}, spec: {{{more} \
         containers: [{{name: a, resources: {{requests: {{{requests}}}}}}}]}}}}\n"
    )
}

fn job(tasks: &[String]) -> String {
    format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: train, namespace: team}}\nspec:\n  tasks:\n{}",
        tasks.concat()
    )
}

fn question(snapshot: &Snapshot) -> Question<'_> {
    Question::new(snapshot, &Request::for_resource(CARDS)).unwrap()
}

fn names(snapshot: &Snapshot, seats: &Seats) -> Vec<(String, String)> {
    let name = |&(pod, node): &(PodIdx, NodeIdx)| {
        (snapshot.text(snapshot.pod(pod).name).to_owned(), snapshot.node_name(node).to_owned())
    };
    let mut names: Vec<_> = seats.seated.iter().map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn large_pods_choose_before_small_ones_whatever_the_order_of_the_tasks() {
    // The small pod would take four of the eight cards that only the large one needs.
    let cluster = [node("n1", "a", 8, 64), node("n2", "a", 4, 64)].concat();
    let small = task("small", 1, &format!("{CARDS}: 4"), "");
    let large = task("large", 1, &format!("{CARDS}: 8"), "");
    for tasks in [[small.clone(), large.clone()], [large, small]] {
        let snapshot = asked(&cluster, &job(&tasks));
        let seats = question(&snapshot).seats(None);
        let expected = [("train-large-0", "n1"), ("train-small-0", "n2")];
        assert_eq!(names(&snapshot, &seats), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}

#[test]
fn a_task_that_asks_for_cpu_leaves_the_node_that_the_cards_need() {
    // By cards first the worker takes n1, the fullest, and the master finds cpu nowhere.
    let cluster = [node("n1", "a", 2, 64), node("n2", "a", 4, 8)].concat();
    let tasks = [task("worker", 1, &format!("{CARDS}: 2, cpu: 8"), ""), task("master", 1, "cpu: 60", "")];
    let snapshot = asked(&cluster, &job(&tasks));
    let seats = question(&snapshot).seats(None);
    assert!(seats.standing.is_empty(), "{seats:?}");
}

#[test]
fn pods_that_name_their_node_fit_no_other_whatever_their_scheduler() {
    let cluster = [node("n1", "a", 8, 64), node("n2", "a", 8, 64), pod("p", "n2", 6)].concat();
    let seated = |more: &str| {
        let snapshot = asked(&cluster, &job(&[task("worker", 2, &format!("{CARDS}: 2"), more)]));
        let question = question(&snapshot);
        assert_eq!(
            question.noticed().len(),
            usize::from(more.contains("nodeName")),
            "{:?}",
            question.noticed()
        );
        names(&snapshot, &question.seats(None)).into_iter().map(|(_, node)| node).collect::<Vec<_>>()
    };
    assert_eq!(seated(""), ["n2", "n1"]);
    for scheduler in ["volcano", "default-scheduler"] {
        assert_eq!(seated(&format!("schedulerName: {scheduler}, nodeName: n2,")), ["n2"]);
        assert!(seated(&format!("schedulerName: {scheduler}, nodeName: gone,")).is_empty());
    }
}

#[test]
fn pods_that_have_to_share_a_rack_find_the_one_that_holds_them_all() {
    let near = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: \
                {matchLabels: {app: train}}, topologyKey: rack}]}},";
    // The fullest node is in a rack that has no room for three.
    let cluster =
        [node("a1", "a", 8, 64), pod("filler", "a1", 4), node("b1", "b", 8, 64), node("b2", "b", 8, 64)]
            .concat();
    let snapshot = asked(&cluster, &job(&[task("worker", 3, &format!("{CARDS}: 4"), near)]));
    let seats = question(&snapshot).seats(None);
    assert!(seats.standing.is_empty(), "{seats:?}");
    assert!(names(&snapshot, &seats).iter().all(|(_, node)| node.starts_with('b')));
}

#[test]
fn pods_that_repel_each_other_are_bounded_by_domains() {
    let away = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: \
                {matchLabels: {app: train}}, topologyKey: rack}]}},";
    let cluster = [node("a1", "a", 8, 64), node("a2", "a", 8, 64), node("b1", "b", 8, 64)].concat();
    let snapshot = asked(&cluster, &job(&[task("worker", 3, &format!("{CARDS}: 1"), away)]));
    let question = question(&snapshot);
    assert_eq!(question.seats(None).seated.len(), 2);
    let room = question.room();
    assert_eq!(room.fewest(), None);
    assert_eq!(room.limit(9).most, 2);
}

#[test]
fn the_bound_counts_the_large_pods_of_a_mixed_gang_apart() {
    // One of the nodes holds eight cards more, whatever the small pod does.
    let cluster = [
        node("n1", "a", 8, 64),
        node("n2", "a", 8, 64),
        pod("p", "n2", 4),
        node("n3", "a", 8, 64),
        pod("q", "n3", 4),
        node("n4", "a", 8, 64),
        pod("r", "n4", 4),
    ]
    .concat();
    let tasks = [task("small", 1, &format!("{CARDS}: 1"), ""), task("large", 2, &format!("{CARDS}: 8"), "")];
    let snapshot = asked(&cluster, &job(&tasks));
    let limit = question(&snapshot).room().limit(usize::MAX);
    assert_eq!(limit.most, 2);
    assert_eq!(limit.shortage, Some(Shortage::Places { need: 2, have: 1, emptied: 0 }));
    assert_eq!(limit.shortage.map(Shortage::code), Some("TooFewNodes"));
}

#[test]
fn the_bound_says_how_many_nodes_have_to_be_emptied_at_least() {
    let two = |at: usize| {
        [node(&format!("n{at}"), "a", 8, 64), mover(&format!("p{at}"), &format!("n{at}"), 2)].concat()
    };
    let cluster: String = (1..=6).map(two).collect();
    let snapshot = asked(&cluster, &job(&[task("worker", 3, &format!("{CARDS}: 8"), "")]));
    let room = question(&snapshot).room();
    assert_eq!((room.fewest(), room.limit(2).most, room.limit(3).shortage), (Some(3), 2, None));
}

#[test]
fn nodes_that_hold_more_are_tried_apart_where_pods_have_to_share_one() {
    let near = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: \
                {matchLabels: {app: train}}, topologyKey: rack}]}},";
    let cluster =
        [node("small", "a", 1, 8), mover("m", "small", 1), node("large", "b", 8, 8), mover("n", "large", 1)];
    let file = job(&[task("worker", 4, &format!("{CARDS}: 2"), near)]);
    let snapshot = asked(&cluster.concat(), &file);
    let sets = question(&snapshot).room().worth_emptying(1);
    let names = |set: &Vec<NodeIdx>| set.iter().map(|&n| snapshot.node_name(n)).collect::<Vec<_>>();
    assert_eq!(sets.iter().map(names).collect::<Vec<_>>(), [vec!["large", "small"], vec!["large"]]);
}

#[test]
fn whoever_waits_for_the_room_comes_first_unless_the_priority_of_those_asked_about_is_higher() {
    // Emptying n1 makes room for eight cards once.
    let waiting = format!(
        "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: waits}}, spec: {{schedulerName: volcano, priority: 5, \
         containers: [{{name: a, resources: {{requests: {{{CARDS}: 8}}}}}}]}}, status: {{phase: Pending}}}}\n"
    );
    let two =
        [node("n1", "a", 8, 64), mover("m", "n1", 1), node("n2", "a", 4, 64), mover("n", "n2", 1)].concat();
    let seated = |cluster: &str, priority: &str| {
        let snapshot = asked(cluster, &job(&[task("worker", 1, &format!("{CARDS}: 8"), priority)]));
        let mut request = Request::for_resource(CARDS);
        request.max_freed_nodes = Some(1);
        let planned = crate::plan::make(&snapshot, &request).unwrap();
        assert_eq!(planned.plan.freed.iter().map(|&n| snapshot.node_name(n)).collect::<Vec<_>>(), ["n1"]);
        question(&snapshot).seats(Some(&planned.plan)).seated.len()
    };
    // n2 is too small to take part: only n1 gives anything.
    let kept = two.replace(
        "name: n, annotations",
        "name: n, labels: {repack.volcano.sh/protected: 'true'}, annotations",
    );
    assert_eq!(seated(&kept, ""), 1);
    assert_eq!(seated(&[&*kept, &*waiting].concat(), ""), 0);
    assert_eq!(seated(&[&*kept, &*waiting].concat(), "priority: 5,"), 0);
    assert_eq!(seated(&[&*kept, &*waiting].concat(), "priority: 6,"), 1);
}
