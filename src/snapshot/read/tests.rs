//! The reader on whole inputs: formats, orders of keys, lists, faults.

use std::fmt::Write as _;

use std::io::{Read, Write};

use super::*;

/// Notes every object as its view in text.
#[derive(Default)]
struct Notes {
    views: Vec<String>,
    names: Vec<String>,
}

impl Sink for Notes {
    fn object(&mut self, object: Object<'_>, _: &Origin) -> Result<(), InputError> {
        if let (Some(kind), Some(meta)) = (object.kind(), object.metadata()) {
            self.names.push(format!("{} {}/{}", kind.name(), &*meta.namespace, &*meta.name));
            self.views.push(format!("{object:?}").replace("Owned", "Borrowed"));
        }
        Ok(())
    }
}

/// Gives the input in small pieces of changing size.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let n = self.1.min(self.0.len()).min(buf.len());
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn notes(input: impl AsRef<[u8]>) -> (Notes, ReadStats) {
    let mut notes = Notes::default();
    let stats = read_all(Pieces(input.as_ref(), 0), "in", &mut notes).unwrap();
    (notes, stats)
}

fn names(input: impl AsRef<[u8]>) -> Vec<String> {
    notes(input).0.names
}

fn fault(input: impl AsRef<[u8]>) -> String {
    read_all(input.as_ref(), "in", &mut Notes::default()).unwrap_err().to_string()
}

const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}"#;
const POD: &str =
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"p"},"spec":{"nodeName":"n1"}}"#;

#[test]
fn lists_single_objects_lines_and_documents_give_the_same_objects() {
    let expected = ["Node /n1", "Pod a/p"];
    for input in [
        format!(r#"{{"apiVersion":"v1","kind":"List","items":[{NODE},{POD}]}}"#),
        format!(
            r#"{{"apiVersion":"v1","items":[{NODE},{POD}],"kind":"List","metadata":{{"resourceVersion":""}}}}"#
        ),
        format!(r#"{{"metadata":{{}},"items":[{NODE}],"kind":"List","apiVersion":"v1"}}{POD}"#),
        format!("\u{feff} {NODE}\n{POD}\n"),
        format!("{NODE}{POD}"),
        format!("[{NODE}, {POD} ]"),
        format!(
            r#"[{{"kind":"List","apiVersion":"v1","items":[{NODE}]}},{{"items":[{POD}],"kind":"List"}}]"#
        ),
        format!("{NODE}\n---\n{POD}\n").replace("{\"apiVersion\"", "# yaml\n{\"apiVersion\""),
    ] {
        assert_eq!(names(&input), expected, "{input}");
    }
}

#[test]
fn items_of_a_typed_list_have_its_kind_wherever_it_stands() {
    let bare = r#"[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]"#;
    for input in [
        format!(r#"{{"kind":"NodeList","apiVersion":"v1","metadata":{{}},"items":{bare}}}"#),
        format!(r#"{{"apiVersion":"v1","items":{bare},"kind":"NodeList","metadata":{{}}}}"#),
        format!(r#"{{"items":{bare},"kind":"NodeList","apiVersion":"v1"}}"#),
        "kind: NodeList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n".to_owned(),
        "apiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\nkind: NodeList\n".to_owned(),
    ] {
        assert_eq!(names(&input), ["Node /a", "Node /b"], "{input}");
    }
    assert_eq!(fault(format!(r#"{{"items":{bare}}}"#)), "in: item 1 has no kind");
    assert_eq!(fault("items:\n- metadata: {name: a}\n"), "in: item 1 has no kind");
}

#[test]
fn yaml_and_json_give_equal_views() {
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","labels":{"x":"1","y":"true"},
        "creationTimestamp":null,"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"priority":7,"hostNetwork":true,
        "containers":[{"name":"c","resources":{"requests":{"cpu":"500m","nvidia.com/gpu":"8"}},
        "ports":[{"hostPort":80}]}],"tolerations":null,"volumes":[{"name":"v","emptyDir":{}}]},"status":{}}"#;
    let yaml = r#"
# comment
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: a
  labels: {x: "1", "y": 'true'}
  creationTimestamp:
  deletionTimestamp: 2026-01-01T00:00:00Z
spec:
  priority: 7
  hostNetwork: true
  containers:
  - name: c
    resources:
      requests:
        cpu: 500m
        nvidia.com/gpu: 8
    ports:
      - hostPort: 80
  tolerations: null
  volumes:
  - name: v
    emptyDir: {}
status:
"#;
    assert_eq!(notes(json).0.views, notes(yaml).0.views);
}

#[test]
fn yaml_documents_are_cut_at_marker_lines() {
    let input = "# first\n---\nkind: Node\napiVersion: v1\nmetadata:\n  name: a\n...\n---\n# nothing\n--- # second\n\
                 kind: Node\napiVersion: v1\nmetadata:\n  name: b\n  annotations:\n    x: |\n      ---\n      y\n---\n";
    assert_eq!(names(input), ["Node /a", "Node /b"]);
    assert_eq!(names(input.replace('\n', "\r\n")), ["Node /a", "Node /b"]);
}

#[test]
fn gzip_is_recognised_by_its_bytes_even_in_several_members() {
    let mut packed = Vec::new();
    for part in [&POD[..20], &POD[20..]] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(part.as_bytes()).unwrap();
        packed.extend(encoder.finish().unwrap());
    }
    assert_eq!(names(&packed), ["Pod a/p"]);
    packed.truncate(packed.len() - 12);
    assert_eq!(fault(&packed), "in: is cut off (the compressed stream ends too early)");
}

#[test]
fn unknown_kinds_are_counted_not_read() {
    let input = r#"{"kind":"List","items":[
        {"apiVersion":"v1","kind":"Secret","data":{"k":"djEK"},"metadata":3},
        {"apiVersion":"v1","data":{"k":"djEK"},"kind":"Secret"},
        {"apiVersion":"metrics.k8s.io/v1beta1","kind":"Pod","metadata":{"name":"m"}},
        {"allow":true,"apiVersion":"x.io/v1","kind":"Other"}]}"#;
    let (notes, stats) = notes(input);
    assert!(notes.names.is_empty());
    let skipped: Vec<_> = stats.skipped.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(skipped, [("Other", 1), ("Pod", 1), ("Secret", 2)]);
    assert_eq!((stats.objects, stats.bytes), (0, input.len() as u64));
}

#[test]
fn an_object_larger_than_the_window_is_read() {
    let filler = "x".repeat(3 << 20);
    let big = POD.replace(
        "\"name\":\"p\"",
        &format!("\"name\":\"p\",\"annotations\":{{\"volcano.sh/x\":\"{filler}\"}}"),
    );
    let (notes, _) = notes(format!("{NODE}{big}{NODE}"));
    assert_eq!(notes.names, ["Node /n1", "Pod a/p", "Node /n1"]);
    assert!(notes.views[1].contains(&filler));
}

#[test]
fn an_input_is_cut_at_every_place_without_a_panic() {
    let input = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{NODE},{POD}],"metadata":{{"x":1}}}}"#);
    for end in 1..input.len() {
        let error = fault(&input[..end]);
        assert!(error.contains("cut off") || error == "in: holds no object", "{end}: {error}");
    }
    assert_eq!(
        fault(&input[..input.find("nodeName").unwrap()]),
        "Pod a/p: is cut off, the input ends inside (in, item 2)"
    );
}

#[test]
fn faults_are_one_sentence_with_the_place() {
    for (input, expected) in [
        ("", "in: is empty"),
        (" \n", "in: is empty"),
        ("# only a comment\n", "in: holds no object"),
        ("[1]", "in: line 1, column 2: expected a JSON object, found `1`"),
        ("{}", "in: item 1 has no kind"),
        ("{\"kind\":\"Pod\"}", "in: item 1 has no apiVersion"),
        ("hello", "in: expected an API object or a list of them, found string \"hello\""),
        ("\u{0}\u{1}", "in: line 1: "),
        (
            "\n{\"kind\":\"List\",\n \"items\": [\n{\"apiVersion\" 1}]}",
            "in: line 4, column 15: expected `:` (item 1)",
        ),
        ("{\"kind\":\"List\";}", "in: line 1, column 15: expected `,` or `}` (item 1)"),
        ("a: 1\nkind: Node\nkind: Pod\n", "in: line 3: duplicate mapping key: kind"),
        ("kind: Node\napiVersion: v1\n---\nkind: [\n", "in: line "),
    ] {
        let error = fault(input);
        assert!(error.starts_with(expected) && !error.contains('\n'), "{input:?}\n  {error}\n  {expected}");
    }
    assert_eq!(fault(b"\xff\xfe{\0}\0"), "in: is UTF-16 text, save it as UTF-8");
    assert_eq!(fault(b"{\"a\":\n\"\xff\"}"), "in: line 2, column 2: is not UTF-8 text");
}

#[test]
fn a_field_of_the_wrong_type_is_named_with_its_object() {
    let json = r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"ports":[{"hostPort":"x"}]}]},
        "metadata":{"name":"p","namespace":"a"}}"#;
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec:\n  containers:\n  - ports:\n    - hostPort: x\n";
    let expected =
        "Pod a/p: spec.containers[0].ports[0].hostPort: expected an integer, found string \"x\" (in, item 1)";
    assert_eq!(fault(json), expected);
    assert_eq!(fault(yaml), expected);
    for (field, expected) in [
        (r#""spec":7"#, "Pod a/p: spec: expected an object, found integer `7` (in, item 1)"),
        (
            r#""spec":{"priority":99999999999}"#,
            "Pod a/p: spec.priority: expected an integer, found integer `99999999999` (in, item 1)",
        ),
        (
            r#""spec":{"nodeSelector":{"a.b/c":[]}}"#,
            "Pod a/p: spec.nodeSelector[\"a.b/c\"]: expected a string, found sequence (in, item 1)",
        ),
        (
            r#""spec":{"overhead":"x"}"#,
            "Pod a/p: spec.overhead: expected a map of strings, found string \"x\" (in, item 1)",
        ),
    ] {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"a"}},{field}}}"#
        );
        assert_eq!(fault(json), expected);
    }
}

#[test]
fn nesting_bombs_are_errors() {
    for unit in ["[", "{\"a\":", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":"] {
        let error = fault(unit.repeat(200_000));
        assert!(!error.is_empty());
    }
    let deep = format!("kind: Pod\napiVersion: v1\nspec: {}{}\n", "[".repeat(5000), "]".repeat(5000));
    assert!(fault(deep).starts_with("in: line 3: "));
    let block = (0..5000).map(|depth| " ".repeat(depth) + "a:\n").collect::<String>();
    assert!(fault(block).starts_with("in: line "));
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = format!("*a{}, ", level - 1).repeat(9);
        let _ = writeln!(laughs, "a{level}: &a{level} [{aliases}]");
    }
    let sentence = "in: line 6: it holds too much, or its aliases expand to too much";
    assert_eq!(fault(format!("{laughs}kind: Pod\napiVersion: v1\n")), sentence);
}

#[test]
fn a_yaml_list_of_many_pods_passes_the_budget() {
    let pod = "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p\n    labels: {a: b, c: d, e: f}\n  spec:\n    nodeName: n\n";
    let (notes, _) = notes(format!("apiVersion: v1\nkind: List\nitems:\n{}", pod.repeat(20_000)));
    assert_eq!(notes.names.len(), 20_000);
}

#[test]
fn a_snapshot_of_a_newer_version_is_refused() {
    let file = |version: u64| {
        format!(
            r#"{{"apiVersion":"{API_VERSION}","kind":"Snapshot","version":{version},"takenAt":"2026-01-01T00:00:00Z","leftOut":[{{"kind":"Secret","count":3,"reason":"x"}}],"items":[{NODE}]}}"#
        )
    };
    let (notes, stats) = notes(file(1));
    assert_eq!(notes.names, ["Node /n1"]);
    assert_eq!(stats.taken_at.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert_eq!(stats.left_out, [LeftOut { kind: "Secret".into(), count: Some(3), reason: "x".into() }]);
    assert_eq!(
        fault(file(2)),
        "in: snapshot of version 2, which this program is too old for (it reads up to 1)"
    );
}
