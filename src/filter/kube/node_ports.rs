//! `NodePorts`: a host port has one holder per address (rulebook 1.6).
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::snapshot::model::pod::HostPort;
use crate::snapshot::model::{SpecIdx, Sym};

/// The address that stands for all.
const ANY: &str = "0.0.0.0";

/// The plugin.
#[derive(Debug)]
pub struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> PluginName {
        PluginName::NodePorts
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        !state.snapshot().spec(spec).host_ports.is_empty()
    }

    /// Ports collide from both sides.
    fn may_turn(&self, _state: &State<'_>, _spec: SpecIdx) -> bool {
        false
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let wanted = &context.spec().host_ports;
        if wanted.is_empty() {
            return PreFilter::Skip;
        }
        let (snapshot, held) = (context.snapshot(), &context.state.counters.ports);
        let any = snapshot.symbols.find(ANY);
        PreFilter::check(move |at: Visit<'_>| {
            let guests = at.guests.iter().flat_map(|g| snapshot.spec(g.spec).host_ports.iter().copied());
            for other in held.held(at.node).chain(guests) {
                if wanted.iter().any(|&port| conflict(port, other, any)) {
                    let detail = Detail::PortTaken { port: other.port };
                    return Err(Failure { plugin: PluginName::NodePorts, code: Code::Unschedulable, detail });
                }
            }
            Ok(())
        })
    }
}

fn conflict(a: HostPort, b: HostPort, any: Option<Sym>) -> bool {
    a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || Some(a.ip) == any || Some(b.ip) == any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{Expect, Fail, Pass, node, pod, table, terminating};

    fn ports(ports: &str, more: &str) -> String {
        format!("{more}containers: [{{name: c, ports: [{{{ports}}}]}}]")
    }

    fn line<'a>(
        number: &'a str,
        wanted: &str,
        held: &str,
        expected: Expect,
    ) -> (&'a str, Vec<String>, String, &'a str, Expect) {
        let other = pod("other", "", &ports(held, "nodeName: n1, "));
        (number, vec![node("n1", "", ""), other], pod("new", "", &ports(wanted, "")), "n1", expected)
    }

    #[test]
    fn ports_as_in_the_rulebook() {
        let any = "containerPort: 80, hostPort: 8080";
        let at = |ip: &str| format!("{any}, hostIP: '{ip}'");
        let mut terminates = line("P4", any, any, Fail);
        terminates.1[1] = terminating(&terminates.1[1]);
        let network = pod("new", "", &ports("containerPort: 9000", "hostNetwork: true, "));
        let holder = pod("other", "", &ports("containerPort: 9000, hostPort: 9000", "nodeName: n1, "));
        let lines = [
            line("P1", any, &at("127.0.0.1"), Fail),
            line("P2", &at("10.0.0.1"), &at("10.0.0.2"), Pass),
            line("P3", &format!("{any}, protocol: UDP"), any, Pass),
            terminates,
            ("P5", vec![node("n1", "", ""), holder], network, "n1", Fail),
            line("no wildcard for IPv6", &at("::"), &at("10.0.0.2"), Pass),
            line("an empty protocol is TCP", &format!("{any}, protocol: TCP"), any, Fail),
        ];
        table(PluginName::NodePorts, &lines);
    }
}
