//! Examples of the rulebook, and what the recorded verdicts hardly touch.

use crate::filter::kube::testing::{
    Expect, Pass, Unresolvable, candidate, cluster, node, says, table, terminating, with_status,
};
use crate::filter::volumes::testing::*;
use crate::filter::{Code, Incoming, PluginName, Prepared, SchedulerRules, State, Verdict};
use crate::snapshot::Snapshot;
use crate::snapshot::model::PodIdx;

const PLUGIN: PluginName = PluginName::VolumeBinding;

/// Nodes n1 in zone a and n2 in zone b, then these objects.
fn with_nodes(objects: &[String]) -> Vec<String> {
    let nodes = [node("n1", "host: n1, zone: a", ""), node("n2", "host: n2, zone: b", "")];
    nodes.into_iter().chain(objects.iter().cloned()).collect()
}

/// Asks about a pod `new` that uses `claims`, on n1 and n2.
fn ask(what: &str, objects: &[String], claims: &[&str], on_n1: Expect, on_n2: Expect) {
    let snapshot = cluster(&with_nodes(objects), &user("new", "", claims));
    let state = State::live(&snapshot);
    for (node, expected) in [("n1", on_n1), ("n2", on_n2)] {
        assert_eq!(says(&state, PLUGIN, candidate(&snapshot), node), expected, "{what} on {node}");
    }
}

fn named(snapshot: &Snapshot, name: &str) -> PodIdx {
    (0..snapshot.pods.len()).map(PodIdx::new).find(|&pod| snapshot.pod_name(pod) == name).unwrap()
}

fn local(name: &str, size: &str, node: &str) -> String {
    volume(name, size, "local", &only("host", node))
}

#[test]
fn v1_v2_v7_one_claim_one_node() {
    let selected = annotated(&claim("c", "1Gi", "fast", ""), "volume.kubernetes.io/selected-node: n1");
    let lines = [
        ("V1", vec![local("pv", "1Gi", "n1"), bound("c", "pv", "local")], Pass),
        ("V2", vec![delayed("fast", "csi.x", ""), selected], Pass),
        ("V7", vec![immediate("fast", "csi.x"), claim("c", "1Gi", "fast", "")], Unresolvable),
    ];
    for (number, objects, on_n1) in lines {
        ask(number, &objects, &["c"], on_n1, Unresolvable);
    }
}

#[test]
fn f23_a_pod_with_a_volume_of_one_node_or_zone_stays_there() {
    ask("node", &[local("pv", "1Gi", "n2"), bound("c", "pv", "local")], &["c"], Unresolvable, Pass);
    let zonal = volume("pv", "1Gi", "zonal", &only("zone", "a"));
    ask("zone", &[zonal, bound("c", "pv", "zonal")], &["c"], Pass, Unresolvable);
    ask("missing volume", &[bound("c", "gone", "local")], &["c"], Unresolvable, Unresolvable);
    ask("missing claim", &[], &["c"], Unresolvable, Unresolvable);
}

#[test]
fn requirements_of_a_volume_on_fields_of_the_node_are_not_asked() {
    let by_name = "{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}";
    let zone_a = "matchExpressions: [{key: zone, operator: In, values: [a]}]";
    let reach = |terms: &str| format!("nodeAffinity: {{required: {{nodeSelectorTerms: [{terms}]}}}}");
    let objects = |terms: &str| [volume("pv", "1Gi", "local", &reach(terms)), bound("c", "pv", "local")];
    ask("a name alone", &objects(by_name), &["c"], Pass, Pass);
    let both = by_name.replace("]}]}", &format!("]}}], {zone_a}}}"));
    ask("a name and a zone", &objects(&both), &["c"], Pass, Unresolvable);
    ask("an empty term", &objects("{}"), &["c"], Unresolvable, Unresolvable);
}

#[test]
fn a_claim_that_is_not_usable_rejects_the_pod_everywhere() {
    let (class, pv) = (delayed("fast", "csi.x", ""), volume("pv", "1Gi", "fast", ""));
    let fine = bound("c", "pv", "fast");
    let lost = with_status(&fine, "phase: Lost");
    ask("fine", &[class.clone(), pv.clone(), fine.clone()], &["c"], Pass, Pass);
    for (what, bad) in [
        ("lost", lost),
        ("deleting", terminating(&fine)),
        ("half bound", claim("c", "1Gi", "fast", "volumeName: pv")),
        ("no class", claim("c", "1Gi", "''", "")),
        ("unknown class", claim("c", "1Gi", "other", "")),
    ] {
        ask(what, &[class.clone(), pv.clone(), bad], &["c"], Unresolvable, Unresolvable);
    }
}

#[test]
fn one_pv_wanted_by_two_claims_serves_one() {
    let claims = [by_hand("local"), claim("c", "1Gi", "local", ""), claim("d", "1Gi", "local", "")];
    let with = |pvs: &[String]| [&claims[..], pvs].concat();
    ask("one PV", &with(&[local("p1", "1Gi", "n1")]), &["c", "d"], Unresolvable, Unresolvable);
    let two = [local("p1", "1Gi", "n1"), local("p2", "1Gi", "n1")];
    ask("two PVs", &with(&two), &["c", "d"], Pass, Unresolvable);
    ask("one claim", &with(&two[..1]), &["d"], Pass, Unresolvable);
}

#[test]
fn claims_are_served_by_ascending_size_even_where_another_order_would_do() {
    let fast = "selector: {matchLabels: {speed: fast}}";
    let quick = with_meta(&local("a", "10Gi", "n1"), "labels: {speed: fast}");
    let objects = |big: &str, small: &str| {
        [
            by_hand("local"),
            quick.clone(),
            local("b", "10Gi", "n1"),
            claim("picky", big, "local", fast),
            claim("any", small, "local", ""),
        ]
    };
    // The small claim comes first and takes `a`, the first of two equal PVs; the picky one is left without.
    ask("small first", &objects("8Gi", "3Gi"), &["picky", "any"], Unresolvable, Unresolvable);
    ask("picky first", &objects("2Gi", "3Gi"), &["any", "picky"], Pass, Unresolvable);
}

#[test]
fn the_smallest_fitting_pv_wins() {
    let objects = with_nodes(&[
        by_hand("local"),
        local("big", "10Gi", "n1"),
        local("small", "5Gi", "n1"),
        local("tiny", "1Gi", "n1"),
        claim("three", "3Gi", "local", ""),
        claim("eight", "8Gi", "local", ""),
        user("first", "", &["three"]),
    ]);
    let snapshot = cluster(&objects, &user("new", "", &["eight"]));
    let mut state = State::live(&snapshot);
    state.place(Incoming::pending(&snapshot, named(&snapshot, "first")), snapshot.node_named("n1").unwrap());
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Pass, "the big one is still free");
}

#[test]
fn what_a_pv_must_have_to_be_chosen() {
    let try_one = |what: &str, pv: String, spec: &str, expected: Expect| {
        let objects = [by_hand("local"), pv, claim("c", "2Gi", "local", spec)];
        ask(what, &objects, &["c"], expected, Unresolvable);
    };
    let pv = local("pv", "2Gi", "n1");
    let labelled = with_meta(&pv, "labels: {speed: fast}");
    try_one("equal size", pv.clone(), "", Pass);
    try_one("too small", local("pv", "1Gi", "n1"), "", Unresolvable);
    try_one("released", pv.replace("Available", "Released"), "", Unresolvable);
    try_one("deleting", terminating(&pv), "", Unresolvable);
    try_one("block volume", pv.replace("spec: {", "spec: {volumeMode: Block, "), "", Unresolvable);
    try_one("both block", pv.replace("spec: {", "spec: {volumeMode: Block, "), "volumeMode: Block", Pass);
    try_one("attributes class", pv.clone(), "volumeAttributesClassName: gold", Unresolvable);
    try_one("selector matches", labelled.clone(), "selector: {matchLabels: {speed: fast}}", Pass);
    let slow = "selector: {matchExpressions: [{key: speed, operator: NotIn, values: [fast]}]}";
    try_one("selector refuses", labelled, slow, Unresolvable);
    try_one("selector on absent label", pv.clone(), slow, Pass);
    let many = claim("c", "2Gi", "local", "").replace("[ReadWriteOnce]", "[ReadWriteOnce, ReadWriteMany]");
    ask("modes", &[by_hand("local"), pv.clone(), many.clone()], &["c"], Unresolvable, Unresolvable);
    let wide = pv.replace("[ReadWriteOnce]", "[ReadWriteMany, ReadOnlyMany, ReadWriteOnce]");
    ask("more modes", &[by_hand("local"), wide, many], &["c"], Pass, Unresolvable);
}

#[test]
fn a_pv_reserved_for_a_claim_is_its_only_choice_and_nobody_elses() {
    let reserved = |node: &str, claim: &str| {
        let claim = format!("claimRef: {{namespace: default, name: {claim}}}, {}", only("host", node));
        volume("own", "5Gi", "local", &claim)
    };
    let objects =
        |own: String| [by_hand("local"), claim("c", "2Gi", "local", ""), own, local("free", "2Gi", "n1")];
    ask("here", &objects(reserved("n2", "c")), &["c"], Unresolvable, Pass);
    ask("for another", &objects(reserved("n2", "d")), &["c"], Pass, Unresolvable);
    let old = reserved("n2", "c").replace("name: c}", "name: c, uid: older}");
    ask("for a claim of that name before", &objects(old), &["c"], Pass, Unresolvable);
    // Where the reserved PV can not be reached a class that makes volumes still can help out.
    let made = [delayed("local", "csi.x", ""), claim("c", "2Gi", "local", ""), reserved("n2", "c")];
    ask("made", &made, &["c"], Pass, Pass);
}

#[test]
fn volumes_are_made_only_in_allowed_topologies() {
    let topology = "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, c]}]}, \
                    {matchLabelExpressions: [{key: zone, values: [d]}, {key: host, values: [n2]}]}]";
    let c = claim("c", "1Gi", "fast", "");
    ask("terms", &[delayed("fast", "csi.x", topology), c.clone()], &["c"], Pass, Unresolvable);
    let empty = "allowedTopologies: [{matchLabelExpressions: []}]";
    ask("empty term", &[delayed("fast", "csi.x", empty), c.clone()], &["c"], Unresolvable, Unresolvable);
    ask("everywhere", &[delayed("fast", "csi.x", ""), c.clone()], &["c"], Pass, Pass);
    ask("nobody makes any", &[by_hand("fast"), c], &["c"], Unresolvable, Unresolvable);
}

#[test]
fn drivers_that_publish_free_storage_are_believed() {
    let capacity = |fields: &str| {
        format!(
            "{{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {{namespace: x, name: cap}}, \
             storageClassName: fast, nodeTopology: {{matchLabels: {{zone: a}}}}{fields}}}"
        )
    };
    let driver = csi_driver("csi.x", "storageCapacity: true");
    let base = [delayed("fast", "csi.x", ""), claim("c", "5Gi", "fast", ""), driver];
    for (what, fields, on_n1) in [
        ("enough", ", capacity: 5Gi", Pass),
        ("too little", ", capacity: 4Gi", Unresolvable),
        (
            "largest volume counts more than the sum",
            ", capacity: 100Gi, maximumVolumeSize: 4Gi",
            Unresolvable,
        ),
        ("largest volume is enough", ", capacity: 1Gi, maximumVolumeSize: 5Gi", Pass),
        ("not said", "", Unresolvable),
    ] {
        ask(what, &[&base[..], &[capacity(fields)]].concat(), &["c"], on_n1, Unresolvable);
    }
    ask("nothing published", &base, &["c"], Unresolvable, Unresolvable);
    ask("driver does not publish", &base[..2], &["c"], Pass, Pass);
    let other = capacity(", capacity: 9Gi").replace("fast", "slow");
    ask("other class", &[&base[..], &[other]].concat(), &["c"], Unresolvable, Unresolvable);
    // A selected node does not spare the claim the check.
    let selected = annotated(&base[1], "volume.kubernetes.io/selected-node: n1");
    ask("selected", &[base[0].clone(), selected, base[2].clone()], &["c"], Unresolvable, Unresolvable);
}

#[test]
fn v8_a_same_name_pod_waits_for_the_old_ephemeral_claim() {
    let volumes = "{name: scratch, ephemeral: {}}";
    let old = owned_by(&claim("web-0-scratch", "1Gi", "fast", ""), "web-0-uid");
    let objects = with_nodes(&[delayed("fast", "csi.x", ""), old, with_volumes("web-0", "n1", volumes)]);
    let newcomer = with_volumes("web-0", "", volumes).replace("web-0-uid", "another");
    let snapshot = cluster(&objects, &newcomer);
    let mut state = State::live(&snapshot);
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n2"), Unresolvable, "not its claim");
    let victim = snapshot.pods_on[0][0];
    let same_name = Incoming::replacement(&snapshot, victim);
    let new_name = Incoming { name: crate::snapshot::model::Sym::EMPTY, ..same_name };
    assert_eq!(says(&state, PLUGIN, same_name, "n2"), Unresolvable, "transition: the name is taken");
    assert_eq!(says(&state, PLUGIN, new_name, "n2"), Pass, "a claim of another name is made");
    state.terminate(victim);
    assert_eq!(says(&state, PLUGIN, same_name, "n2"), Unresolvable, "transition: still there");
    state.remove(victim);
    assert_eq!(says(&state, PLUGIN, same_name, "n2"), Pass, "planned: the victim is gone");
}

#[test]
fn the_new_claim_of_a_replacement_is_not_tied_to_the_old_volume() {
    let volumes = "{name: scratch, ephemeral: {}}";
    let old = owned_by(&bound("web-0-scratch", "pv", "fast"), "web-0-uid");
    let ask = |class: String, pv: String| {
        let objects = with_nodes(&[class, pv, old.clone(), with_volumes("web-0", "n1", volumes)]);
        let snapshot = cluster(&objects, &user("new", "", &[]));
        let mut state = State::live(&snapshot);
        let victim = snapshot.pods_on[0][0];
        state.remove(victim);
        let prepared =
            Prepared::with_rules(&state, SchedulerRules::Kube, Incoming::replacement(&snapshot, victim));
        match prepared.verdict(snapshot.node_named("n2").unwrap()) {
            Verdict::Fail(failure) => Some((failure.plugin, failure.code)),
            _ => None,
        }
    };
    let (tied, loose) = (volume("pv", "1Gi", "fast", &only("host", "n1")), volume("pv", "1Gi", "fast", ""));
    assert_eq!(ask(delayed("fast", "csi.x", ""), tied.clone()), None, "made where the pod goes");
    assert_eq!(ask(immediate("fast", "csi.x"), loose), None, "volumes of that class are tied to no place");
    assert_eq!(
        ask(immediate("fast", "csi.x"), tied),
        Some((PLUGIN, Code::Unknown)),
        "nobody knows the place"
    );
}

#[test]
fn v9_a_pv_chosen_for_a_planned_pod_is_taken_for_the_next() {
    let objects = with_nodes(&[
        by_hand("local"),
        local("p1", "1Gi", "n1"),
        claim("c", "1Gi", "local", ""),
        claim("d", "1Gi", "local", ""),
        user("first", "", &["c"]),
    ]);
    let snapshot = cluster(&objects, &user("new", "", &["d"]));
    let (mut state, n1) = (State::live(&snapshot), snapshot.node_named("n1").unwrap());
    let first = Incoming::pending(&snapshot, named(&snapshot, "first"));
    let before = state.checkpoint();
    state.place(first, n1);
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Unresolvable);
    state.rollback(before);
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Pass);
}

#[test]
fn undoing_brings_back_the_choice_that_was_made_not_the_one_of_now() {
    let objects = with_nodes(&[
        by_hand("local"),
        local("p1", "1Gi", "n1"),
        local("p2", "5Gi", "n1"),
        claim("c", "1Gi", "local", ""),
        claim("d", "1Gi", "local", ""),
        user("first", "", &["c"]),
        user("second", "", &["d"]),
        claim("e", "5Gi", "local", ""),
    ]);
    let snapshot = cluster(&objects, &user("new", "", &["e"]));
    let (mut state, n1) = (State::live(&snapshot), snapshot.node_named("n1").unwrap());
    let pending = |name| Incoming::pending(&snapshot, named(&snapshot, name));
    let leaves = |state: &mut State<'_>, name| {
        let tenant = crate::filter::Tenant::bound(&snapshot, pending(name));
        state.apply(crate::filter::Change { tenant, node: n1, arrives: false });
    };
    state.place(pending("first"), n1);
    state.place(pending("second"), n1);
    leaves(&mut state, "first");
    let (then, point) = (state.clone(), state.checkpoint());
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Unresolvable, "the second holds p2");
    leaves(&mut state, "second");
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Pass);
    state.rollback(point);
    assert!(state.counters == then.counters);
    assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Unresolvable, "p2 again, though p1 is free");
}

#[test]
fn a_claim_that_a_planned_pod_gets_bound_ties_those_who_share_it() {
    let shared = |class: String, pvs: &[String]| {
        let base = [class, claim("c", "1Gi", "k", ""), user("first", "", &["c"])];
        cluster(&with_nodes(&[&base[..], pvs].concat()), &user("new", "", &["c"]))
    };
    for snapshot in [
        shared(delayed("k", "csi.x", ""), &[]),
        shared(
            by_hand("k"),
            &[volume("p1", "1Gi", "k", &only("host", "n1")), volume("p2", "1Gi", "k", &only("host", "n2"))],
        ),
    ] {
        let (mut state, n1) = (State::live(&snapshot), snapshot.node_named("n1").unwrap());
        let on = |state: &State<'_>| ["n1", "n2"].map(|node| says(state, PLUGIN, candidate(&snapshot), node));
        assert_eq!(on(&state), [Pass, Pass]);
        state.place(Incoming::pending(&snapshot, named(&snapshot, "first")), n1);
        assert_eq!(on(&state), [Pass, Unresolvable]);
    }
}

#[test]
fn in_tree_volumes_are_reached_by_the_labels_of_their_driver_where_it_serves_them() {
    let disk =
        |affinity: &str| volume("pv", "1Gi", "gce", &format!("gcePersistentDisk: {{pdName: d}}, {affinity}"));
    let affine = disk(&only("failure-domain.beta.kubernetes.io/zone", "a"));
    let labelled = with_meta(&disk("volumeMode: Filesystem"), "labels: {topology.kubernetes.io/zone: a__c}");
    let no_zone = "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: \
                   [{key: topology.kubernetes.io/zone, operator: DoesNotExist}]}]}}";
    let elsewhere = with_meta(&disk(no_zone), "labels: {topology.kubernetes.io/zone: a}");
    let migrated = annotated(
        &csi_node("n1", "pd.csi.storage.gke.io", None),
        "storage.alpha.kubernetes.io/migrated-plugins: 'kubernetes.io/aws-ebs,kubernetes.io/gce-pd'",
    );
    let nodes = |labels: &str| [node("n1", labels, ""), bound("c", "pv", "gce")];
    let line = |what, labels: &str, more: &[&String], expected| {
        let more: Vec<String> = more.iter().map(|&object| object.clone()).collect();
        (what, [&nodes(labels)[..], &more].concat(), user("new", "", &["c"]), "n1", expected)
    };
    let driver_label = "topology.gke.io/zone: a";
    table(
        PLUGIN,
        &[
            line("old label, not migrated", "failure-domain.beta.kubernetes.io/zone: a", &[&affine], Pass),
            line("driver label, not migrated", driver_label, &[&affine], Unresolvable),
            line("driver label, migrated", driver_label, &[&affine, &migrated], Pass),
            line("other zone", "topology.gke.io/zone: b", &[&affine, &migrated], Unresolvable),
            line("zone of the volume's labels", "topology.gke.io/zone: c", &[&labelled, &migrated], Pass),
            line("outside of them", "topology.gke.io/zone: b", &[&labelled, &migrated], Unresolvable),
            line("no zone is no name of one", driver_label, &[&elsewhere, &migrated], Pass),
            line("so the labels count", "x: y", &[&elsewhere, &migrated], Unresolvable),
            line("labels count only for the driver", "x: y", &[&labelled], Pass),
        ],
    );
}
