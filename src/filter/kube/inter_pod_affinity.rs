//! `InterPodAffinity`: required terms of the incoming pod, and anti-affinity of the pods that are there
//! (rulebook 1.7).
//!
//! May import: snapshot, filter

pub use crate::filter::counters::affinity::NamespaceFault;

use crate::filter::counters::affinity::{Affinity, ListIdx, TermIdx};
use crate::filter::plugin::{Check, Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::SpecIdx;

/// The plugin of one version of the library.
#[derive(Debug)]
pub struct InterPodAffinity(pub NamespaceFault);

impl Plugin for InterPodAffinity {
    fn name(&self) -> PluginName {
        PluginName::InterPodAffinity
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let pods = &state.counters.affinity;
        !pods.repels(spec, self.0).is_empty()
            || !pods.repelled(spec).is_empty()
            || pods.attracts(spec, self.0).is_some()
    }

    /// Anti-affinity is asked for from both sides, where both see the same terms; mates may leave.
    fn may_turn(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let pods = &state.counters.affinity;
        let seen_by_others = pods.repels(spec, NamespaceFault::Fixed);
        pods.attracts(spec, self.0).is_some() || pods.repels(spec, self.0) != seen_by_others
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let pods = &context.state.counters.affinity;
        let spec = context.incoming.spec;
        let check = Terms {
            pods,
            spec,
            attracts: pods.attracts(spec, self.0),
            repels: pods.repels(spec, self.0),
            repelled: pods.repelled(spec),
        };
        let alone = check.attracts.is_none() && check.repels.is_empty();
        if alone && !check.repelled.iter().any(|&term| pods.is_owned(term)) {
            return PreFilter::Skip;
        }
        PreFilter::Check(Box::new(check))
    }
}

struct Terms<'a> {
    pods: &'a Affinity,
    spec: SpecIdx,
    attracts: Option<ListIdx>,
    repels: &'a [TermIdx],
    repelled: &'a [TermIdx],
}

impl Check for Terms<'_> {
    fn check(&self, at: Visit<'_>) -> Result<(), Failure> {
        if let Some(list) = self.attracts {
            self.attraction(list, at)?;
        }
        let pods = self.pods;
        let fail =
            |detail| Err(Failure { plugin: PluginName::InterPodAffinity, code: Code::Unschedulable, detail });
        for &term in self.repels {
            if let Some(domain) = pods.domain(term, at.node) {
                let guest = at.guests.iter().any(|g| pods.repelled(g.spec).contains(&term));
                if guest || pods.selects_in(term, domain) {
                    return fail(Detail::AntiAffinity);
                }
            }
        }
        for &term in self.repelled {
            if let Some(domain) = pods.domain(term, at.node) {
                let guest = at.guests.iter().any(|g| pods.has(g.spec, term));
                if guest || pods.is_owned_in(term, domain) {
                    return fail(Detail::AntiAffinityOfOther);
                }
            }
        }
        Ok(())
    }
}

impl Terms<'_> {
    fn attraction(&self, list: ListIdx, at: Visit<'_>) -> Result<(), Failure> {
        let fail =
            |detail| Err(Failure { plugin: PluginName::InterPodAffinity, code: Code::Unresolvable, detail });
        // A pod that is counted on this very node is in all its domains.
        let guest = at.guests.iter().any(|g| self.pods.selects_all(list, g.spec));
        let mut met = true;
        for (key, domain, somebody) in self.pods.attraction(list, at.node) {
            if domain.is_none() {
                return fail(Detail::MissingTopologyKey { key: self.pods.topology().name(key) });
            }
            met &= somebody || guest;
        }
        // The first pod of its kind may go anywhere.
        let first = || self.pods.attracts_nobody(list) && self.pods.selects_all(list, self.spec);
        if met || first() { Ok(()) } else { fail(Detail::AffinityUnmet) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Incoming;
    use crate::filter::kube::testing::{
        Expect, Fail, Pass, Unresolvable, candidate, cluster, node, pod, pod_in, says, table, terminating,
    };

    const NAME: PluginName = PluginName::InterPodAffinity;

    fn nodes() -> Vec<String> {
        let host = |n: &str, zone: &str| node(n, &format!("zone: {zone}, kubernetes.io/hostname: {n}"), "");
        vec![host("a1", "a"), host("a2", "a"), host("b1", "b"), node("bare", "", "")]
    }

    fn term(app: &str, key: &str) -> String {
        format!("{{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {key}}}")
    }

    fn required(kind: &str, terms: &[String]) -> String {
        format!(
            "affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}}",
            terms.join(", ")
        )
    }

    fn attracts(terms: &[String]) -> String {
        required("podAffinity", terms)
    }

    fn repels(terms: &[String]) -> String {
        required("podAntiAffinity", terms)
    }

    fn at(node: &str, name: &str, labels: &str, spec: &str) -> String {
        let comma = if spec.is_empty() { "" } else { ", " };
        pod(name, labels, &format!("nodeName: {node}{comma}{spec}"))
    }

    fn line<'a>(
        number: &'a str,
        others: &[String],
        incoming: String,
        node: &'a str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        (number, [nodes(), others.to_vec()].concat(), incoming, node, expected)
    }

    const HOST: &str = "kubernetes.io/hostname";

    #[test]
    fn affinity_as_in_the_rulebook() {
        let db = term("db", "zone");
        let new = |terms: &[String]| pod("new", "", &attracts(terms));
        let own = || pod("new", "app: db", &attracts(&[term("db", "zone")]));
        let (in_a, in_b) = (at("a1", "db", "app: db", ""), at("b1", "db", "app: db", ""));
        let cache = at("a2", "cache", "app: cache", "");
        let lines = [
            line("I1", std::slice::from_ref(&in_a), new(std::slice::from_ref(&db)), "b1", Unresolvable),
            line("I1, other zone", std::slice::from_ref(&in_a), new(std::slice::from_ref(&db)), "a2", Pass),
            line("I2", &[in_a, cache], new(&[db, term("cache", "zone")]), "a1", Unresolvable),
            line("I3", &[], own(), "a1", Pass),
            line("I4", &[], own(), "bare", Unresolvable),
            line("I5", &[in_b], own(), "a1", Unresolvable),
        ];
        table(NAME, &lines);
    }

    #[test]
    fn anti_affinity_as_in_the_rulebook() {
        let web = |node: &str| at(node, "web", "app: web", "");
        let new = |terms: &[String]| pod("new", "", &repels(terms));
        let everywhere = format!(
            "{{labelSelector: {{matchLabels: {{app: web}}}}, namespaceSelector: {{}}, topologyKey: {HOST}}}"
        );
        let of_revision = format!(
            "{{labelSelector: {{matchLabels: {{app: web}}, matchExpressions: \
             [{{key: pod-template-hash, operator: In, values: [bbb]}}]}}, topologyKey: {HOST}}}"
        );
        let foreign = pod_in("other", "web", "app: web", "nodeName: a1");
        let lines = [
            line("I7", &[web("bare")], new(&[term("web", HOST)]), "bare", Pass),
            line(
                "I8",
                &[at("a1", "lonely", "", &repels(&[term("web", "zone")]))],
                pod("new", "app: web", ""),
                "a2",
                Fail,
            ),
            line(
                "I8, other zone",
                &[at("a1", "lonely", "", &repels(&[term("web", "zone")]))],
                pod("new", "app: web", ""),
                "b1",
                Pass,
            ),
            line(
                "I9",
                &[terminating(&web("a1"))],
                pod("new", "app: web", &repels(&[term("web", "zone")])),
                "a2",
                Fail,
            ),
            line("I10", std::slice::from_ref(&foreign), new(&[everywhere]), "a1", Fail),
            line("I10, own namespace", &[foreign], new(&[term("web", HOST)]), "a1", Pass),
            line("I11", &[web("a1")], new(&[format!("{{topologyKey: {HOST}}}")]), "a1", Pass),
            line(
                "I12",
                &[at("a1", "web", "app: web, pod-template-hash: aaa", "")],
                new(&[of_revision]),
                "a1",
                Pass,
            ),
        ];
        table(NAME, &lines);
    }

    #[test]
    fn i6_the_first_pod_rule_returns_only_when_the_last_pod_is_gone() {
        let only = at("b1", "db", "app: db", &attracts(&[term("db", "zone")]));
        let snapshot = cluster(&[nodes(), vec![only]].concat(), &pod("other", "", ""));
        let victim = snapshot.pods_on[snapshot.node_named("b1").unwrap().at()][0];
        let incoming = Incoming::replacement(&snapshot, victim);
        let mut state = State::live(&snapshot);
        let before = state.checkpoint();
        state.terminate(victim);
        assert_eq!(says(&state, NAME, incoming, "a1"), Unresolvable);
        state.rollback(before);
        state.remove(victim);
        assert_eq!(says(&state, NAME, incoming, "a1"), Pass);
    }

    #[test]
    fn i13_two_planned_replacements_keep_each_other_away() {
        let lonely = |name: &str, node: &str| at(node, name, "app: web", &repels(&[term("web", HOST)]));
        let snapshot =
            cluster(&[nodes(), vec![lonely("x", "a2"), lonely("y", "b1")]].concat(), &pod("other", "", ""));
        let victim = |node: &str| snapshot.pods_on[snapshot.node_named(node).unwrap().at()][0];
        let (x, y) = (victim("a2"), victim("b1"));
        let mut state = State::live(&snapshot);
        state.remove(x);
        state.remove(y);
        let a1 = snapshot.node_named("a1").unwrap();
        assert_eq!(says(&state, NAME, Incoming::replacement(&snapshot, x), "a1"), Pass);
        state.place(Incoming::replacement(&snapshot, x), a1);
        assert_eq!(says(&state, NAME, Incoming::replacement(&snapshot, y), "a1"), Fail);
        assert_eq!(says(&state, NAME, Incoming::replacement(&snapshot, y), "a2"), Pass);
    }

    #[test]
    fn labels_of_a_namespace_that_was_not_read_count_against_the_pod() {
        let team = "{labelSelector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {team: x}}, topologyKey: zone}";
        let terms = [team.to_owned()];
        let read = "{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {team: y}}}".to_owned();
        let web = pod_in("other", "web", "app: web", "nodeName: a1");
        let lonely = at("a1", "lonely", "", &repels(&terms));
        let foreign = pod_in("other", "new", "app: web", "");
        let lines = [
            line("unread", std::slice::from_ref(&web), pod("new", "", &repels(&terms)), "a2", Fail),
            line(
                "unread, other zone",
                std::slice::from_ref(&web),
                pod("new", "", &repels(&terms)),
                "b1",
                Pass,
            ),
            line("read", &[web.clone(), read.clone()], pod("new", "", &repels(&terms)), "a2", Pass),
            line("own, unread", std::slice::from_ref(&lonely), foreign.clone(), "a2", Fail),
            line("own, read", &[lonely, read], foreign, "a2", Pass),
            line("near, unread", &[web], pod("new", "", &attracts(&terms)), "a2", Unresolvable),
        ];
        table(NAME, &lines);
    }

    #[test]
    fn up_to_1_36_a_selector_of_absence_reaches_every_namespace() {
        let not_test = "{labelSelector: {}, namespaceSelector: {matchExpressions: \
                        [{key: stage, operator: NotIn, values: [test]}]}, topologyKey: zone}";
        let namespace =
            "{apiVersion: v1, kind: Namespace, metadata: {name: lab, labels: {stage: test}}}".to_owned();
        let objects = [nodes(), vec![namespace, pod_in("lab", "p", "", "nodeName: a1")]].concat();
        let snapshot = cluster(&objects, &pod("new", "", &repels(&[not_test.to_owned()])));
        let state = State::live(&snapshot);
        let a1 = snapshot.node_named("a1").unwrap();
        let context = Context { state: &state, incoming: candidate(&snapshot) };
        let passes = |fault| match InterPodAffinity(fault).pre_filter(context) {
            PreFilter::Check(check) => check.check(Visit::plain(a1)).is_ok(),
            _ => unreachable!("the pod has a term"),
        };
        assert!(passes(NamespaceFault::Fixed));
        assert!(!passes(NamespaceFault::Present));
    }
}
