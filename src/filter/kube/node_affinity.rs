//! `NodeAffinity`: the node selector and the required node affinity (rulebook 1.2).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{ClassRule, Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::selector::NodeTerm;
use crate::snapshot::model::{Node, NodeRules, Op, SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> PluginName {
        PluginName::NodeAffinity
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let snapshot = state.snapshot();
        !is_absent(&snapshot.node_rules[snapshot.spec(spec).node_rules.at()])
    }

    fn on_class(&self) -> Option<ClassRule> {
        Some(rule)
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let pod = context.node_rules();
        if is_absent(pod) {
            return PreFilter::Skip;
        }
        match named(pod) {
            None => PreFilter::Check(super::ask_class(context, rule)),
            // Terms that name no node in common: the refusal comes before any node is asked.
            Some(names) if names.is_empty() => PreFilter::Reject(failure()),
            Some(names) => PreFilter::Only(names, super::ask_class(context, rule)),
        }
    }
}

fn is_absent(pod: &NodeRules) -> bool {
    pod.node_selector.is_empty() && pod.affinity.is_none()
}

fn failure() -> Failure {
    Failure { plugin: PluginName::NodeAffinity, code: Code::Unresolvable, detail: Detail::Selector }
}

fn rule(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> Result<(), Failure> {
    if matches(snapshot, pod, node) { Ok(()) } else { Err(failure()) }
}

/// True when selector and affinity accept the node; spread constraints ask for it as well.
pub(in crate::filter) fn matches(snapshot: &Snapshot, pod: &NodeRules, node: &Node) -> bool {
    pod.node_selector.iter().all(|&(key, value)| node.labels.get(key) == Some(value))
        && pod.affinity.as_ref().is_none_or(|a| a.matches(Some(node.name), &node.labels, &snapshot.symbols))
}

/// The nodes that the affinity names, if every term names some: names intersect inside a term, terms unite.
fn named(pod: &NodeRules) -> Option<Vec<Sym>> {
    let terms = &pod.affinity.as_ref()?.0;
    let of_term = |term: &NodeTerm| {
        let mut lists = term.fields.iter().filter(|r| r.op == Op::In).map(|r| &r.values);
        let first = lists.next()?.to_vec();
        Some(lists.fold(first, |left, values| left.into_iter().filter(|n| values.contains(n)).collect()))
    };
    let mut names = terms.iter().map(of_term).collect::<Option<Vec<_>>>()?.concat();
    names.sort_unstable();
    names.dedup();
    (!terms.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Expect, Pass, Unresolvable, node, pod, table};

    fn line<'a>(
        number: &'a str,
        labels: &str,
        spec: &str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        (number, vec![node("n1", labels, "")], pod("new", "", spec), "n1", expected)
    }

    fn terms(terms: &[&str]) -> String {
        let terms: Vec<_> = terms.iter().map(|t| format!("{{{t}}}")).collect();
        format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{}]}}}}}}",
            terms.join(", ")
        )
    }

    fn labels(requirements: &[(&str, &str, &str)]) -> String {
        let list: Vec<_> = requirements
            .iter()
            .map(|(key, op, values)| format!("{{key: {key}, operator: {op}, values: [{values}]}}"))
            .collect();
        format!("matchExpressions: [{}]", list.join(", "))
    }

    #[test]
    fn selectors_as_in_the_rulebook() {
        let zone_a = labels(&[("zone", "In", "a")]);
        let newer = terms(&[&labels(&[("gen", "Gt", "'5'")])]);
        let name = |n: &str| format!("matchFields: [{{key: metadata.name, operator: In, values: [{n}]}}]");
        let lines = [
            line("A1", "zone: b", "nodeSelector: {zone: a}", Unresolvable),
            line("A2", "zone: b, disk: ssd", &terms(&[&zone_a, &labels(&[("disk", "In", "ssd")])]), Pass),
            line(
                "A3",
                "zone: a, disk: hdd",
                &terms(&[&labels(&[("zone", "In", "a"), ("disk", "In", "ssd")])]),
                Unresolvable,
            ),
            line("A4", "", &terms(&[&labels(&[("zone", "NotIn", "a")])]), Pass),
            line("A5", "gen: '6'", &newer, Pass),
            line("A5", "gen: '5'", &newer, Unresolvable),
            line("A5", "gen: '6.0'", &newer, Unresolvable),
            line("A5", "", &newer, Unresolvable),
            line("A6", "zone: a", &terms(&[&labels(&[("gen", "Gt", "'6', '7'")]), &zone_a]), Pass),
            line(
                "bound below 0",
                "gen: '6', zone: a",
                &terms(&[&labels(&[("gen", "Gt", "'-4'")]), &labels(&[("zone", "In", "a, -b")])]),
                Unresolvable,
            ),
            line("A7", "zone: a", &terms(&["", &labels(&[("zone", "In", "b")])]), Unresolvable),
            line(
                "A8",
                "kubernetes.io/hostname: host-1",
                "nodeSelector: {kubernetes.io/hostname: n1}",
                Unresolvable,
            ),
            line("A9", "", &terms(&[&name("n1")]), Pass),
            line("A9, another node", "", &terms(&[&name("n2")]), Unresolvable),
            line(
                "A10",
                "pool: x",
                &format!("nodeSelector: {{pool: x}}, {}", terms(&[&labels(&[("pool", "NotIn", "x")])])),
                Unresolvable,
            ),
            line("no terms", "zone: a", &terms(&[]), Unresolvable),
        ];
        table(PluginName::NodeAffinity, &lines);
    }

    #[test]
    fn names_inside_a_term_intersect_and_terms_unite() {
        let field = |n: &str| format!("{{key: metadata.name, operator: In, values: [{n}]}}");
        let of = |terms_text: &[&str]| {
            let snapshot = crate::filter::kube::testing::cluster(&[], &pod("new", "", &terms(terms_text)));
            let names = named(&snapshot.node_rules[0])?;
            let mut names: Vec<_> = names.into_iter().map(|n| snapshot.text(n).to_owned()).collect();
            names.sort();
            Some(names)
        };
        let (n1, n2) = (field("n1"), field("n2"));
        let (one, two) = (format!("matchFields: [{n1}]"), format!("matchFields: [{n2}]"));
        assert_eq!(of(&[&one, &two]), Some(vec!["n1".to_owned(), "n2".to_owned()]));
        assert_eq!(of(&[&format!("matchFields: [{n1}, {n2}]")]), Some(vec![]));
        assert_eq!(
            of(&[&one, &labels(&[("zone", "In", "a")])]),
            None,
            "a term without a name may be anywhere"
        );
    }
}
