//! Snapshot files: nothing leaks, nothing that planning reads is lost, equal clusters give equal bytes.

use super::*;
use crate::snapshot::read::{Origin, Sink, read_all};
use crate::snapshot::view::object::Object;

const EVERYTHING: &str = include_str!("../../tests/fixtures/snapshot/everything.yaml");

fn written(inputs: &[&str], anonymize: bool) -> String {
    let mut writer = SnapshotWriter::default();
    for input in inputs {
        writer.read(input.as_bytes(), "in").unwrap();
    }
    if anonymize {
        writer.anonymize();
    }
    let mut file = Vec::new();
    writer.write(&mut file, None).unwrap();
    String::from_utf8(file).unwrap()
}

/// All views of an input as text, sorted.
fn views(input: &str) -> Vec<String> {
    struct Views(Vec<String>);
    impl Sink for Views {
        fn object(&mut self, object: Object<'_>, _: &Origin) -> Result<(), InputError> {
            if object.kind().is_some() {
                self.0.push(format!("{object:?}").replace("Owned", "Borrowed"));
            }
            Ok(())
        }
    }
    let mut views = Views(Vec::new());
    read_all(input.as_bytes(), "in", &mut views).unwrap();
    views.0.sort();
    views.0
}

#[test]
fn secrets_commands_and_foreign_annotations_never_enter_a_snapshot() {
    for anonymize in [false, true] {
        let file = written(&[EVERYTHING], anonymize);
        let leak = file.lines().find(|line| line.contains("LEAK"));
        assert_eq!(leak, None);
        for word in ["\"env\"", "\"image\"", "\"command\"", "\"args\"", "last-applied", "managedFields"] {
            assert!(!file.contains(word), "{word}");
        }
    }
}

#[test]
fn the_reduced_file_gives_the_same_views_as_the_original() {
    assert_eq!(views(&written(&[EVERYTHING], false)), views(EVERYTHING));
}

#[test]
fn reducing_again_changes_nothing() {
    let once = written(&[EVERYTHING], false);
    assert_eq!(written(&[&once], false), once);
    let pseudonyms = written(&[EVERYTHING], true);
    assert_eq!(written(&[&pseudonyms], false), pseudonyms);
}

#[test]
fn order_and_format_of_the_input_do_not_show() {
    let once = written(&[EVERYTHING], false);
    let mut documents: Vec<String> =
        once.lines().filter(|l| l.starts_with("{\"")).map(|l| l.trim_end_matches(',').to_owned()).collect();
    documents.reverse();
    let secret = "apiVersion: v1\nkind: Secret\n";
    assert_eq!(written(&[&documents.join("\n"), secret], false), once);
}

#[test]
fn the_envelope_says_what_is_missing_and_when_it_was_taken() {
    let mut writer = SnapshotWriter::default();
    writer.read(&b"kind: Secret\napiVersion: v1\n"[..], "in").unwrap();
    writer.left_out(LeftOut { kind: "Job".into(), count: None, reason: "listing is forbidden".into() });
    let mut file = Vec::new();
    writer.write(&mut file, Some("2026-01-01T00:00:00Z")).unwrap();
    let file = String::from_utf8(file).unwrap();
    insta::assert_snapshot!(file, @r#"
    {
    "apiVersion":"repack.volcano.sh/v1alpha1",
    "kind":"Snapshot",
    "version":1,
    "takenAt":"2026-01-01T00:00:00Z",
    "leftOut":[{"kind":"Job","reason":"listing is forbidden"},{"kind":"Secret","count":1,"reason":"no rule reads this kind"}],
    "items":[
    ]
    }
    "#);
    assert_eq!(written(&[&file], false), file);
}

#[test]
fn a_pod_is_reduced_to_what_scheduling_reads() {
    let file = written(&[EVERYTHING], false);
    let pod = file.lines().find(|line| line.contains("\"name\":\"web-1\"")).unwrap();
    insta::assert_snapshot!(pod, @r#"{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"scheduling.k8s.io/group-name":"podgroup-5b6f5f66-0000-4000-8000-000000000012"},"labels":{"app":"serve","apps.kubernetes.io/pod-index":"1"},"name":"web-1","namespace":"team-a","ownerReferences":[{"apiVersion":"apps/v1","controller":true,"kind":"StatefulSet","name":"web","uid":"5b6f5f66-0000-4000-8000-000000000012"}],"uid":"5b6f5f66-0000-4000-8000-000000000011"},"spec":{"containers":[{"name":"main","resources":{"requests":{"nvidia.com/gpu":"1"}}}],"nodeName":"worker-b"},"status":{"phase":"Running"}},"#);
}
