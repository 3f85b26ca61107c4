//! D3, the planned picture, exact undo.

use proptest::prelude::*;

use super::*;
use crate::filter::counters::devices::Standing;
use crate::filter::{Change, Tenant};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{ClaimIdx, DeviceIdx, NodeIdx, PodIdx};

/// Two nodes of two devices; `v` on n1 has a claim of a template with one device there, `w` shares a named claim.
fn planned_cluster() -> Snapshot {
    let devices = [device("d0", 0, "small"), device("d1", 0, "small")];
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let template = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {namespace: default, name: t}, \
                    spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: card, count: 1}}]}}}}";
    let made = claim("v-dev-x", &request("r", 1, ""), "", &allocated("n1", &["d0"], &["v"])).replace(
        "name: v-dev-x}",
        "name: v-dev-x, ownerReferences: [{kind: Pod, name: v, uid: \"\", controller: true}]}",
    );
    let v = pod("v", "", "nodeName: n1, resourceClaims: [{name: dev, resourceClaimTemplateName: t}]");
    let v = format!(
        "{}, status: {{resourceClaimStatuses: [{{name: dev, resourceClaimName: v-dev-x}}]}}}}",
        &v[..v.len() - 1]
    );
    let objects = vec![
        node("n1", "", ""),
        node("n2", "", ""),
        CLASS.to_owned(),
        slice("n1", &devices),
        slice("n2", &devices),
        template.to_owned(),
        made,
        claim("shared", &request("r", 1, ""), "", &allocated("n1", &["d1"], &["w1", "w2"])),
        claim("waiting", &request("r", 2, ""), "", ""),
        v,
        wants("w1", &["shared"], ", nodeName: n1"),
        wants("w2", &["shared"], ", nodeName: n1"),
    ];
    cluster(&objects, &wants("p", &["waiting"], ""))
}

fn named(snapshot: &Snapshot, name: &str) -> PodIdx {
    PodIdx::new((0..snapshot.pods.len()).find(|&at| snapshot.pod_name(PodIdx::new(at)) == name).unwrap())
}

#[test]
fn d3_devices_of_a_victim_are_free_in_the_planned_picture_and_used_in_transition() {
    let snapshot = planned_cluster();
    let (v, w1, w2, p) =
        (named(&snapshot, "v"), named(&snapshot, "w1"), named(&snapshot, "w2"), candidate(&snapshot));
    for (planned, alone, both) in [(false, FINAL, FINAL), (true, FINAL, PASS)] {
        let mut state = State::live(&snapshot);
        if planned {
            state.release_claims();
        }
        assert_eq!(says_for(&state, p, "n1"), FINAL);
        state.remove(v);
        assert_eq!(says_for(&state, p, "n1"), alone, "the shared claim still holds one");
        state.remove(w1);
        assert_eq!(says_for(&state, p, "n1"), alone);
        state.remove(w2);
        assert_eq!(says_for(&state, p, "n1"), both, "planned: {planned}");
    }
}

#[test]
fn replacements_get_new_claims_of_their_template_and_keep_to_named_ones() {
    let snapshot = planned_cluster();
    let replace = |name: &str| Incoming::replacement(&snapshot, named(&snapshot, name));
    let n2 = snapshot.node_named("n2").unwrap();
    let mut state = State::live(&snapshot);
    state.release_claims();
    assert_eq!(says_for(&state, replace("v"), "n2"), PASS);
    assert_eq!(says_for(&state, replace("w1"), "n2"), FINAL, "the claim is allocated on n1");
    state.place(replace("v"), n2);
    assert_eq!(says_for(&state, candidate(&snapshot), "n2"), FINAL, "one of two is taken");
    state.remove(named(&snapshot, "w1"));
    state.remove(named(&snapshot, "w2"));
    assert_eq!(says_for(&state, replace("w1"), "n2"), PASS, "both pods of the claim are gone");
    state.place(replace("w1"), n2);
    assert_eq!(says_for(&state, replace("w2"), "n2"), PASS, "the claim is there now");
    assert_eq!(says_for(&state, replace("w2"), "n1"), FINAL);
    assert_eq!(says_for(&state, replace("v"), "n2"), FINAL, "both devices are taken");
}

fn used(state: &State<'_>) -> Vec<bool> {
    let dra = &state.snapshot().dra;
    (0..dra.device_count).map(|at| state.counters.devices.is_used(DeviceIdx::new(at))).collect()
}

#[derive(Clone, Debug)]
enum Move {
    Remove(usize),
    Terminate(usize),
    Replace(usize, usize),
    Pending(usize),
    Unplace(usize),
    Checkpoint,
    Rollback,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        (0..3_usize).prop_map(Move::Remove),
        (0..3_usize).prop_map(Move::Terminate),
        (0..3_usize, 0..2_usize).prop_map(|(who, to)| Move::Replace(who, to)),
        (0..2_usize).prop_map(Move::Pending),
        (0..4_usize).prop_map(Move::Unplace),
        Just(Move::Checkpoint),
        Just(Move::Rollback),
    ];
    prop::collection::vec(one, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn going_back_restores_every_device_and_claim(moves in moves(), planned in any::<bool>()) {
        let snapshot = planned_cluster();
        let live = ["v", "w1", "w2"].map(|name| named(&snapshot, name));
        let mut state = State::live(&snapshot);
        if planned {
            state.release_claims();
        }
        let mut marks = vec![(state.checkpoint(), state.counters.clone(), used(&state))];
        let mut placed: Vec<Change> = Vec::new();
        for step in &moves {
            let arrival = match *step {
                Move::Replace(who, to) => Some((Incoming::replacement(&snapshot, live[who]), to)),
                Move::Pending(to) => Some((candidate(&snapshot), to)),
                _ => None,
            };
            if let Some((incoming, to)) = arrival {
                let tenant = Tenant::bound(&snapshot, incoming);
                placed.push(Change { tenant, node: NodeIdx::new(to), arrives: true });
                state.place(incoming, NodeIdx::new(to));
            }
            match *step {
                Move::Remove(who) => state.remove(live[who]),
                Move::Terminate(who) => state.terminate(live[who]),
                Move::Unplace(at) => {
                    if let Some(&change) = placed.get(at) {
                        state.apply(Change { arrives: false, ..change });
                    }
                }
                Move::Checkpoint => marks.push((state.checkpoint(), state.counters.clone(), used(&state))),
                Move::Rollback if marks.len() > 1 => {
                    let (mark, counters, devices) = marks.pop().unwrap();
                    state.rollback(mark);
                    prop_assert!(state.counters == counters);
                    prop_assert_eq!(used(&state), devices);
                }
                _ => {}
            }
        }
        for (mark, counters, devices) in marks.into_iter().rev() {
            state.rollback(mark);
            prop_assert!(state.counters == counters);
            prop_assert_eq!(used(&state), devices);
        }
        prop_assert!(matches!(
            state.counters.devices.standing(&snapshot, ClaimIdx::new(0)),
            Standing::Allocated(_)
        ));
    }
}
