//! `VolumeBinding`: claims, their volumes, and nodes that can reach them (rulebook 1.10).
//!
//! All refusals are final for the node or the pod. PVs that planned pods' claims get are used up; what drivers say
//! about their free storage is not counted down, here as in the scheduler. A claim that a planned pod has provisioned
//! on a node is not used on another one, since nobody knows where the new volume can be reached from.
//!
//! May import: snapshot, filter

use crate::filter::plugin::{Context, Plugin, PreFilter};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::binding::{Hopeless, Misfit, Wants, choose};
use crate::filter::volumes::{Holder, has_claims};
use crate::snapshot::Snapshot;
use crate::snapshot::model::{PvcIdx, SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct VolumeBinding;

impl Plugin for VolumeBinding {
    fn name(&self) -> PluginName {
        PluginName::VolumeBinding
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        has_claims(state.snapshot().spec(spec))
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        if !has_claims(context.spec()) {
            return PreFilter::Skip;
        }
        let snapshot = context.snapshot();
        let bindings = &context.state.counters.bindings;
        match Wants::of(snapshot, bindings, &Holder::incoming(context)) {
            Ok(None) => PreFilter::Skip,
            Err(hopeless) => PreFilter::Reject(rejection(snapshot, context.spec().namespace, hopeless)),
            Ok(Some(wants)) => PreFilter::check(move |at| {
                choose(snapshot, bindings, &wants, at.node)
                    .map(drop)
                    .map_err(|misfit| refusal(snapshot, misfit))
            }),
        }
    }
}

fn fail(code: Code, text: String) -> Failure {
    let detail = match code {
        Code::Unknown => Detail::NotModelled { text },
        _ => Detail::Object { text },
    };
    Failure { plugin: PluginName::VolumeBinding, code, detail }
}

fn claim(snapshot: &Snapshot, pvc: PvcIdx) -> String {
    let pvc = snapshot.storage.pvc(pvc);
    format!("PersistentVolumeClaim {}/{}", snapshot.text(pvc.namespace), snapshot.text(pvc.name))
}

fn rejection(snapshot: &Snapshot, namespace: Sym, hopeless: Hopeless) -> Failure {
    let text = match hopeless {
        Hopeless::Trouble(trouble) => trouble.text(snapshot, namespace),
        Hopeless::Lost(pvc) => format!("the volume of {} is lost", claim(snapshot, pvc)),
        Hopeless::Deleting(pvc) => format!("{} is being deleted", claim(snapshot, pvc)),
        Hopeless::Unbound(pvc) => {
            format!("{} is not bound and does not wait for a pod", claim(snapshot, pvc))
        }
    };
    fail(Code::Unresolvable, text)
}

fn refusal(snapshot: &Snapshot, misfit: Misfit) -> Failure {
    let claim = |pvc| claim(snapshot, pvc);
    let text = match misfit {
        Misfit::NoVolume(pvc) => format!("the volume of {} does not exist", claim(pvc)),
        Misfit::Unreachable(pv) => {
            let name = snapshot.text(snapshot.storage.pv(pv).name);
            format!("PersistentVolume {name} can not be reached from the node")
        }
        Misfit::OtherNode(pvc) => format!("{} is being provisioned for another node", claim(pvc)),
        Misfit::NothingFree(pvc) => format!("no volume is free for {} and none can be made here", claim(pvc)),
        Misfit::NoRoom(pvc) => format!("the driver has no room for {} here", claim(pvc)),
        Misfit::Unknown(pvc) => {
            let text = format!("where the volume of {} will be reachable from", claim(pvc));
            return fail(Code::Unknown, text);
        }
    };
    fail(Code::Unresolvable, text)
}

#[cfg(test)]
mod tests;
