//! Pseudonyms are consistent, keep order and tell nothing.

use serde_json::Value;

use crate::snapshot::write::SnapshotWriter;
use crate::snapshot::{BuildOptions, Builder, Snapshot, read::read_all};

const EVERYTHING: &str = include_str!("../../../tests/fixtures/snapshot/everything.yaml");

fn written(input: &str, anonymize: bool) -> String {
    let mut writer = SnapshotWriter::default();
    writer.read(input.as_bytes(), "in").unwrap();
    if anonymize {
        writer.anonymize();
    }
    let mut file = Vec::new();
    writer.write(&mut file, None).unwrap();
    String::from_utf8(file).unwrap()
}

fn items(file: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap();
    file["items"].as_array().unwrap().clone()
}

fn model(input: &str) -> Snapshot {
    let mut builder = Builder::new(BuildOptions::default());
    read_all(input.as_bytes(), "in", &mut builder).unwrap();
    builder.finish().unwrap()
}

#[test]
fn no_name_of_the_original_is_left() {
    let file = written(EVERYTHING, true);
    for name in [
        "worker",
        "train-",
        "\"train\"",
        "team-",
        "team\":\"v",
        "\"vision\"",
        "\"speech\"",
        "research",
        "\"gold\"",
        "zone-1",
        "5b6f5f66",
        "\"web\"",
        "data-claim",
        "pv-1",
        "\"fast\"",
        "vol-77",
        "slice-1",
        "nic-0",
        "nic-claim",
        "r0",
        "s0",
        "scratch",
        "cache",
        "\"main\"",
        "10.1.2.3",
        "no-namespace",
    ] {
        let line = file.lines().find(|line| line.contains(name));
        assert_eq!(line, None, "{name}");
    }
}

#[test]
fn what_planning_reads_as_such_stays() {
    let file = written(EVERYTHING, true);
    for kept in [
        "\"kubernetes.io/arch\":\"amd64\"",
        "\"node.kubernetes.io/instance-type\":\"ecs.gn7i\"",
        "\"rack\":\"12\"",
        "\"operator\":\"Gt\",\"values\":[\"5\"]",
        "\"nvidia.com/gpu\":\"8\"",
        "\"schedulerName\":\"volcano\"",
        "\"queue\":\"default\"",
        "\"minAvailable\":\"50%\"",
        "disk.csi.example.com",
        "\"topologyKey\":\"kubernetes.io/hostname\"",
        "nic.example.com",
        "model == \\\"cx7\\\"",
        "WaitForFirstConsumer",
        "\"bind-completed\":\"yes\"",
        "\"action\":\"RestartTask\"",
        "ReadWriteOnce",
    ] {
        let kept = kept.trim_start_matches("\"bind-completed\":");
        assert!(file.contains(kept), "{kept}");
    }
}

#[test]
fn references_hold_after_renaming() {
    let items = items(&written(EVERYTHING, true));
    let find = |kind: &str| -> Vec<&Value> { items.iter().filter(|i| i["kind"] == kind).collect() };
    let (nodes, pods) = (find("Node"), find("Pod"));
    let node_b = nodes.iter().find(|n| n["metadata"]["labels"]["rack"] == "12").unwrap();
    let name_b = &node_b["metadata"]["name"];
    assert_eq!(&node_b["metadata"]["labels"]["kubernetes.io/hostname"], name_b);
    let train = pods.iter().find(|p| p["spec"]["schedulerName"] == "volcano").unwrap();
    assert_eq!(&train["spec"]["nodeName"], name_b);
    let term = &train["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        [0];
    assert_eq!(&term["matchFields"][0]["values"][0], name_b);
    assert_eq!(&find("CSINode")[0]["metadata"]["name"], name_b);
    assert_eq!(&find("ResourceSlice")[0]["spec"]["pool"]["name"], name_b);
    assert_eq!(&find("VolumeAttachment")[0]["spec"]["nodeName"], name_b);
    assert_eq!(train["spec"]["tolerations"][0]["value"], node_b["spec"]["taints"][0]["value"]);
    assert_eq!(train["spec"]["nodeSelector"]["tier"], node_b["metadata"]["labels"]["tier"]);
    let group = find("PodGroup")[0];
    assert_eq!(train["metadata"]["annotations"]["scheduling.k8s.io/group-name"], group["metadata"]["name"]);
    assert_eq!(
        train["metadata"]["ownerReferences"][0]["uid"],
        group["metadata"]["ownerReferences"][0]["uid"]
    );
    let task = &train["metadata"]["annotations"]["volcano.sh/task-spec"];
    assert!(group["spec"]["minTaskMember"].get(task.as_str().unwrap()).is_some());
    let claims = find("PersistentVolumeClaim");
    let bound = claims.iter().find(|c| c["spec"].get("volumeName").is_some()).unwrap();
    assert_eq!(train["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], bound["metadata"]["name"]);
    let volume = find("PersistentVolume")[0];
    assert_eq!(volume["spec"]["claimRef"]["name"], bound["metadata"]["name"]);
    assert_eq!(volume["metadata"]["name"], bound["spec"]["volumeName"]);
    let zones = volume["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().unwrap();
    assert!(zones.split("__").any(|z| *z == node_b["metadata"]["labels"]["topology.kubernetes.io/zone"]));
    let volumes = train["spec"]["volumes"].as_array().unwrap();
    let cache = volumes.iter().find(|v| v.get("ephemeral").is_some()).unwrap();
    let composed =
        format!("{}-{}", train["metadata"]["name"].as_str().unwrap(), cache["name"].as_str().unwrap());
    assert!(claims.iter().any(|c| c["metadata"]["name"] == composed.as_str()));
    let web = pods.iter().find(|p| p["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet").unwrap();
    let uid = web["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap();
    assert_eq!(
        web["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
        format!("podgroup-{uid}").as_str()
    );
    assert!(web["metadata"]["name"].as_str().unwrap().ends_with("-1"));
    let claim = find("ResourceClaim")[0];
    assert_eq!(claim["status"]["reservedFor"][0]["name"], train["metadata"]["name"]);
}

/// Indices of the model follow names, so equal indices mean that order and references survived.
#[test]
fn the_model_of_the_anonymised_file_is_the_same_up_to_names() {
    let (plain, hidden) = (model(&written(EVERYTHING, false)), model(&written(EVERYTHING, true)));
    let shape = |s: &Snapshot| {
        let pods = s
            .pods
            .iter()
            .map(|p| (p.node, p.group, p.spec, p.charged, p.namespace, p.owner, p.phase))
            .collect::<Vec<_>>();
        let nodes =
            s.nodes.iter().map(|n| (n.class, n.allocatable.clone(), n.unschedulable)).collect::<Vec<_>>();
        let groups = s
            .groups
            .iter()
            .map(|g| (g.namespace, g.min_member, g.owner, g.pods.clone(), g.origin))
            .collect::<Vec<_>>();
        (pods, nodes, groups)
    };
    assert_eq!(shape(&hidden), shape(&plain));
}

#[test]
fn pseudonyms_sort_like_the_names_they_replace() {
    let names = [
        "a",
        "ab",
        "alpha-10",
        "alpha-9",
        "b",
        "podgroup",
        "podgroup-",
        "podgroup-x",
        "podgroupie",
        "q",
        "zz",
    ];
    let pods: String = names
        .iter()
        .map(|n| format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: \"{n}\"}}\n"))
        .collect();
    let order = |file: &str| -> Vec<String> {
        items(file).iter().map(|i| i["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(order(&written(&pods, false)), names);
    // The writer sorts by name: the anonymised file must list the pods in the order of their old names.
    let mut writer = SnapshotWriter::default();
    writer.read(pods.as_bytes(), "in").unwrap();
    writer.anonymize();
    let hidden = order(&written(&pods, true));
    let mut sorted = hidden.clone();
    sorted.sort();
    assert_eq!(hidden, sorted);
    assert_eq!(hidden.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    assert!(hidden[2].ends_with("-10") && hidden[3].ends_with("-9"), "{hidden:?}");
}
