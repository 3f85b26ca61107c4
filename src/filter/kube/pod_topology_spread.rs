//! `PodTopologySpread`: `DoNotSchedule` constraints (rulebook 1.8).
//!
//! The profile's own default constraints never filter.
//!
//! May import: snapshot, filter

use crate::filter::counters::spread::{ConstraintIdx, SpreadCounts};
use crate::filter::plugin::{Check, Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::Snapshot;
use crate::snapshot::model::SpecIdx;
use crate::snapshot::model::pod::Spread;

/// The plugin.
#[derive(Debug)]
pub struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> PluginName {
        PluginName::PodTopologySpread
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        !state.snapshot().spec(spec).spread.is_empty()
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, spec, counts) = (context.snapshot(), context.spec(), &context.state.counters.spread);
        if spec.spread.is_empty() {
            return PreFilter::Skip;
        }
        let constraints = spec.spread.iter().zip(counts.of_spec(context.incoming.spec));
        let constraints = constraints.map(|(constraint, &class)| Constraint {
            constraint,
            class,
            matches_itself: selects(snapshot, constraint, context.incoming.spec),
        });
        PreFilter::Check(Box::new(Constraints {
            snapshot,
            counts,
            namespace: spec.namespace,
            list: constraints.collect(),
        }))
    }
}

struct Constraint<'a> {
    constraint: &'a Spread,
    class: ConstraintIdx,
    matches_itself: bool,
}

struct Constraints<'a> {
    snapshot: &'a Snapshot,
    counts: &'a SpreadCounts,
    namespace: crate::snapshot::model::Sym,
    list: Vec<Constraint<'a>>,
}

impl Check for Constraints<'_> {
    fn check(&self, at: Visit<'_>) -> Result<(), Failure> {
        for constraint in &self.list {
            self.one(constraint, at)?;
        }
        Ok(())
    }
}

impl Constraints<'_> {
    fn one(&self, of: &Constraint<'_>, at: Visit<'_>) -> Result<(), Failure> {
        let Constraint { constraint, class, matches_itself } = *of;
        let fail = |code, detail| Err(Failure { plugin: PluginName::PodTopologySpread, code, detail });
        let key = constraint.topology_key;
        let Some(domain) = self.counts.domain(class, at.node) else {
            return fail(Code::Unresolvable, Detail::MissingTopologyKey { key });
        };
        let guests = self.guests(constraint, class, at);
        let least = if self.counts.domains(class) < usize::try_from(constraint.min_domains).unwrap_or(0) {
            0
        } else {
            self.counts.least_with(class, domain, guests)
        };
        let here = self.counts.pods(class, domain) + guests + u32::from(matches_itself);
        let (skew, limit) = (i64::from(here) - i64::from(least), i64::from(constraint.max_skew));
        if skew > limit { fail(Code::Unschedulable, Detail::Skew { key, skew, limit }) } else { Ok(()) }
    }

    /// Pods nominated to the node that count. Here, and only here, an empty selector counts every pod and a
    /// terminating pod counts as well.
    fn guests(&self, constraint: &Spread, class: ConstraintIdx, at: Visit<'_>) -> u32 {
        if at.guests.is_empty() || !self.counts.is_eligible(class, at.node) {
            return 0;
        }
        let snapshot = self.snapshot;
        let counts = at.guests.iter().filter(|g| {
            snapshot.spec(g.spec).namespace == self.namespace && selects(snapshot, constraint, g.spec)
        });
        u32::try_from(counts.count()).unwrap_or(u32::MAX)
    }
}

fn selects(snapshot: &Snapshot, constraint: &Spread, spec: SpecIdx) -> bool {
    let labels = &snapshot.spec(spec).labels;
    constraint.selector.as_ref().is_some_and(|s| s.matches(labels, &snapshot.symbols))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Incoming;
    use crate::filter::kube::testing::{
        Expect, Fail, Pass, Unresolvable, cluster, node, pod, says, table, terminating,
    };

    const NAME: PluginName = PluginName::PodTopologySpread;

    /// Node of that name in a zone, in rack r and pool x.
    fn in_zone(name: &str, zone: &str, spec: &str) -> String {
        node(name, &format!("zone: {zone}, rack: r, pool: x"), spec)
    }

    fn zones() -> Vec<String> {
        vec![in_zone("a", "a", ""), in_zone("b", "b", "")]
    }

    fn spread(keys: &[&str], more: &str) -> String {
        let one = |key: &&str| {
            format!(
                "{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, \
                 labelSelector: {{matchLabels: {{app: web}}}}{more}}}"
            )
        };
        format!("topologySpreadConstraints: [{}]", keys.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    /// So many pods of the app on each node.
    fn web(counts: &[(&str, usize)]) -> Vec<String> {
        let of = |&(node, count): &(&str, usize)| {
            (0..count)
                .map(|n| pod(&format!("{node}-{n}"), "app: web", &format!("nodeName: {node}")))
                .collect::<Vec<_>>()
        };
        counts.iter().flat_map(of).collect()
    }

    fn line<'a>(
        number: &'a str,
        objects: &[Vec<String>],
        labels: &str,
        spec: &str,
        node: &'a str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        (number, objects.concat(), pod("new", labels, spec), node, expected)
    }

    #[test]
    fn spread_as_in_the_rulebook() {
        let zone = spread(&["zone"], "");
        let app = "app: web";
        let tainted = in_zone("c", "c", "taints: [{key: t, effect: NoSchedule}]");
        let other_pool = node("c", "zone: c, rack: r, pool: y", "");
        let terminates = vec![terminating(&pod("leaving", app, "nodeName: a"))];
        let no_zone = vec![node("bare", "", "")];
        let no_rack = vec![node("d", "zone: a", "")];
        let honor = spread(&["zone"], ", nodeTaintsPolicy: Honor");
        let anyway = zone.replace("DoNotSchedule", "ScheduleAnyway");
        let in_pool = format!("nodeSelector: {{pool: x}}, {zone}");
        let ignore =
            format!("nodeSelector: {{pool: x}}, {}", spread(&["zone"], ", nodeAffinityPolicy: Ignore"));
        let two_keys = spread(&["zone", "rack"], "");
        let everything = zone.replace("{matchLabels: {app: web}}", "{}");
        let lines = [
            line("S1", &[zones(), web(&[("a", 2), ("b", 1)])], app, &zone, "a", Fail),
            line("S1", &[zones(), web(&[("a", 2), ("b", 1)])], app, &zone, "b", Pass),
            line(
                "S2",
                &[zones(), web(&[("a", 1), ("b", 1)])],
                app,
                &spread(&["zone"], ", minDomains: 3"),
                "a",
                Fail,
            ),
            line(
                "S2, enough",
                &[zones(), web(&[("a", 1), ("b", 1)])],
                app,
                &spread(&["zone"], ", minDomains: 2"),
                "a",
                Pass,
            ),
            line("S3", &[zones(), no_zone], app, &zone, "bare", Unresolvable),
            line("S4", &[zones(), web(&[("a", 1)])], "", &zone, "a", Pass),
            line("S4, itself", &[zones(), web(&[("a", 1)])], app, &zone, "a", Fail),
            line("S5", &[zones(), web(&[("a", 1), ("b", 1)]), terminates], app, &zone, "a", Pass),
            line("S6", &[zones(), web(&[("a", 1), ("b", 1)]), vec![tainted.clone()]], app, &zone, "a", Fail),
            line("S6", &[zones(), web(&[("a", 1), ("b", 1)]), vec![tainted]], app, &honor, "a", Pass),
            line(
                "S7",
                &[zones(), web(&[("a", 1), ("b", 1)]), vec![other_pool.clone()]],
                app,
                &in_pool,
                "a",
                Pass,
            ),
            line(
                "S7, policy Ignore",
                &[zones(), web(&[("a", 1), ("b", 1)]), vec![other_pool]],
                app,
                &ignore,
                "a",
                Fail,
            ),
            line("S8", &[zones(), no_rack.clone()], app, &two_keys, "d", Unresolvable),
            line(
                "S8, not counted",
                &[zones(), no_rack, web(&[("d", 5), ("a", 0)])],
                app,
                &two_keys,
                "a",
                Pass,
            ),
            line("S10", &[zones(), web(&[("a", 9)])], app, &anyway, "a", Pass),
            line(
                "an empty selector counts only itself",
                &[zones(), web(&[("a", 9)])],
                "",
                &everything,
                "a",
                Pass,
            ),
        ];
        table(NAME, &lines);
    }

    #[test]
    fn s9_the_victim_stops_counting_where_it_was() {
        let zone = spread(&["zone"], "");
        let of = |name: &str, node: &str| pod(name, "app: web", &format!("nodeName: {node}, {zone}"));
        let objects = [zones(), vec![of("a0", "a"), of("a1", "a"), of("b0", "b"), of("b1", "b")]].concat();
        let snapshot = cluster(&objects, &pod("other", "", ""));
        let victim = snapshot.pods_on[0][0];
        let incoming = Incoming::replacement(&snapshot, victim);
        for terminates in [true, false] {
            let mut state = State::live(&snapshot);
            if terminates {
                state.terminate(victim);
            } else {
                state.remove(victim);
            }
            assert_eq!(says(&state, NAME, incoming, "b"), Fail);
            assert_eq!(says(&state, NAME, incoming, "a"), Pass);
        }
    }

    #[test]
    fn a_nominated_pod_counts_in_its_domain_and_may_raise_the_least() {
        let zone = spread(&["zone"], "");
        let nominated = |labels: &str| {
            crate::filter::kube::testing::with_status(
                &pod("nominated", labels, ""),
                "phase: Pending, nominatedNodeName: b",
            )
        };
        // b holds the least: with the nominated pod there it is 1 + 1 + 1 − 2 = 1.
        let lines = [
            line(
                "least",
                &[zones(), web(&[("a", 2), ("b", 1)]), vec![nominated("app: web")]],
                "app: web",
                &zone,
                "b",
                Pass,
            ),
            line(
                "over",
                &[zones(), web(&[("a", 1), ("b", 1)]), vec![nominated("app: web")]],
                "app: web",
                &zone,
                "b",
                Fail,
            ),
            line(
                "other app",
                &[zones(), web(&[("a", 1), ("b", 1)]), vec![nominated("app: x")]],
                "app: web",
                &zone,
                "b",
                Pass,
            ),
        ];
        table(NAME, &lines);
    }
}
