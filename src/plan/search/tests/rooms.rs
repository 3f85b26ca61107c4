use super::super::improve::Random;
use super::super::rooms::Rooms;
use super::{Parts, Task, labelled, mixed, pinned, resized};
use crate::plan::testing::Cluster;

fn rooms<'a>(parts: &Parts<'a, '_, '_>) -> Rooms<'a> {
    Rooms::new(parts.field, parts.demands, parts.state)
}

/// Where the pods of a candidate go, by name.
fn places(parts: &Parts<'_, '_, '_>, rooms: &Rooms<'_>, node: &str) -> Vec<String> {
    let snapshot = parts.field.problem.snapshot;
    let told = |(pod, node)| format!("{} {}", snapshot.pod_name(pod), snapshot.node_name(node));
    rooms.places(parts.at(node)).map(told).collect()
}

fn all_places(parts: &Parts<'_, '_, '_>, rooms: &Rooms<'_>) -> Vec<String> {
    let snapshot = parts.field.problem.snapshot;
    let nodes = parts.field.candidates.iter().map(|&node| snapshot.node_name(node));
    nodes.flat_map(|node| places(parts, rooms, node)).collect()
}

fn cluster(nodes: usize, pods: &[&str]) -> Cluster {
    pods.iter().fold(Cluster::new().nodes(nodes, 8), |cluster, pod| cluster.pod(pod))
}

#[test]
fn a_pod_goes_where_it_leaves_least() {
    let pods = ["a/p n1 2 p", "a/q n2 1 q", "a/r n3 5 r", "a/s n4 7 s"];
    Task::of(cluster(4, &pods)).look(|parts| {
        let mut rooms = rooms(&parts);
        assert!(rooms.empty(parts.at("n1")));
        assert_eq!(places(&parts, &rooms, "n1"), ["p n3"]);
    });
    // Sizes decide, not shares: three cards are free on the large node, too, and the name comes after.
    let large = resized(cluster(4, &["a/p n1 2 p", "a/q n2 5 q", "a/r n3 14 r", "a/s n4 7 s"]), "n3", "16");
    Task::of(large).look(|parts| {
        let mut rooms = rooms(&parts);
        assert!(rooms.empty(parts.at("n1")));
        assert_eq!(places(&parts, &rooms, "n1"), ["p n3"]);
    });
}

#[test]
fn guests_of_a_node_that_is_emptied_go_on_to_another() {
    let pods = ["a/p n1 1 p", "a/q n2 5 q", "a/r n3 2 r", "a/s n4 1 s"];
    Task::of(cluster(4, &pods)).look(|parts| {
        let mut rooms = rooms(&parts);
        assert!(rooms.empty(parts.at("n1")));
        assert_eq!(places(&parts, &rooms, "n1"), ["p n2"]);
        assert!(rooms.empty(parts.at("n2")));
        assert_eq!(places(&parts, &rooms, "n2"), ["q n3"]);
        assert_eq!(places(&parts, &rooms, "n1"), ["p n3"]);
        assert_eq!(rooms.neighbours(parts.at("n1")), [parts.at("n2")]);
        // What comes back to n2 leaves its guests where they are.
        rooms.refill(parts.at("n2"));
        assert_eq!(places(&parts, &rooms, "n2"), [""; 0]);
        assert_eq!(places(&parts, &rooms, "n1"), ["p n3"]);
    });
}

#[test]
fn a_smaller_guest_makes_room_for_a_pod_that_fits_nowhere_else() {
    // Three cards go to n3 first, which they leave fullest; the pod of four is accepted only there.
    let pods = ["a/p n1 3 p", "a/t n2 2 t", "a/r n3 4 r", "a/s n4 3 s"];
    let mut all = labelled(cluster(4, &pods), "n2", "own", "x");
    all = labelled(all, "n3", "own", "x");
    all = pinned(all, "a/q n2 4 q", "own", "x");
    Task::of(all).look(|parts| {
        let mut rooms = rooms(&parts);
        assert!(rooms.empty(parts.at("n1")));
        assert_eq!(places(&parts, &rooms, "n1"), ["p n3"]);
        assert!(rooms.empty(parts.at("n2")));
        assert_eq!(all_places(&parts, &rooms), ["p n4", "q n3", "t n4"]);
    });
}

#[test]
fn a_node_whose_pod_has_no_receiver_is_not_emptied_and_nothing_changes() {
    let mut all = labelled(cluster(3, &["a/q n2 1 q", "a/r n3 1 r", "a/s n1 1 s"]), "n1", "own", "n1");
    all = pinned(all, "a/p n1 1 p", "own", "n1");
    Task::of(all).look(|parts| {
        let mut rooms = rooms(&parts);
        assert!(rooms.empty(parts.at("n2")));
        let before = all_places(&parts, &rooms);
        assert!(!rooms.empty(parts.at("n1")));
        assert_eq!(all_places(&parts, &rooms), before);
        // n1 still receives.
        assert!(rooms.empty(parts.at("n3")));
        assert_eq!(rooms.places(parts.at("n3")).count(), 1);
    });
}

#[test]
fn emptied_at_once_the_nodes_whose_pods_find_no_room_are_told() {
    let pods = ["a/p n1 5 p", "a/q n2 5 q", "a/r n3 2 r"];
    Task::of(cluster(3, &pods)).look(|parts| {
        let mut rooms = rooms(&parts);
        // One of the two fits on n3.
        let stuck = rooms.empty_all(&[parts.at("n1"), parts.at("n2")]);
        assert_eq!(stuck.len(), 1);
        for at in [parts.at("n1"), parts.at("n2")] {
            rooms.refill(at);
        }
        assert_eq!(all_places(&parts, &rooms), [""; 0]);
        assert!(
            rooms.empty_all(&[parts.at("n1"), parts.at("n3")]).is_empty() || rooms.places(0).count() == 0
        );
    });
}

#[test]
fn whatever_was_tried_is_taken_back_exactly() {
    Task::of(mixed()).look(|parts| {
        let count = parts.field.len();
        let mut random = Random(7);
        let mut rooms = rooms(&parts);
        let mut emptied: Vec<usize> = Vec::new();
        let attempt = |rooms: &mut Rooms<'_>, emptied: &mut Vec<usize>, random: &mut Random| {
            let at = random.below(count);
            if let Some(found) = emptied.iter().position(|&other| other == at) {
                emptied.remove(found);
                rooms.refill(at);
            } else if rooms.empty(at) {
                emptied.push(at);
            }
        };
        for _ in 0..300 {
            rooms.commit();
            let before = all_places(&parts, &rooms);
            let kept = emptied.clone();
            for _ in 0..random.below(6) {
                attempt(&mut rooms, &mut emptied, &mut random);
            }
            rooms.repack(&emptied, &mut random);
            rooms.undo(0);
            emptied = kept;
            assert_eq!(all_places(&parts, &rooms), before);
            attempt(&mut rooms, &mut emptied, &mut random);
            within(&parts, &rooms, &emptied);
        }
    });
}

/// Every pod of an emptied node is placed, on a node that stays and has room for all its guests.
fn within(parts: &Parts<'_, '_, '_>, rooms: &Rooms<'_>, emptied: &[usize]) {
    let problem = parts.field.problem;
    let mut cards: Vec<i64> = problem.nodes.iter().map(|node| node.free).collect();
    for at in 0..parts.field.len() {
        let placed: Vec<_> = rooms.places(at).collect();
        let expected = if emptied.contains(&at) { parts.demands.of_candidate[at].len() } else { 0 };
        assert_eq!(placed.len(), expected);
        for (pod, node) in placed {
            assert!(!emptied.iter().any(|&other| parts.field.candidates[other] == node));
            cards[node.at()] -= problem.need_of(pod);
        }
    }
    assert!(cards.iter().all(|&left| left >= 0), "{cards:?}");
}

#[test]
fn placed_anew_everything_still_has_its_room() {
    Task::of(mixed()).look(|parts| {
        let mut random = Random(3);
        let mut rooms = rooms(&parts);
        let emptied: Vec<usize> = (0..parts.field.len()).filter(|&at| rooms.empty(at)).collect();
        assert!(emptied.len() >= 2);
        for _ in 0..50 {
            rooms.repack(&emptied, &mut random);
            within(&parts, &rooms, &emptied);
        }
    });
}
