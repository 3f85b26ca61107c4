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
