//! `VolumeRestrictions`: inline disks that two pods of a node can not share, and claims for a single pod
//! (rulebook 1.9).
//!
//! A claim that is used blocks every node until its pod is gone, so a replacement of the same name waits for its
//! predecessor: fine in the planned state, a failure while the victim terminates.
//!
//! May import: snapshot, filter

use crate::filter::counters::exclusive::exclusive_claims;
use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::Trouble;
use crate::snapshot::model::pod::{Disk, Volume};
use crate::snapshot::model::{PvcIdx, SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> PluginName {
        PluginName::VolumeRestrictions
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        let volumes = &state.snapshot().spec(spec).volumes;
        volumes.iter().any(|v| matches!(v, Volume::Claim(_) | Volume::Disk(..)))
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        let (snapshot, spec) = (context.snapshot(), context.spec());
        for volume in &spec.volumes {
            let Volume::Claim(name) = *volume else { continue };
            if snapshot.storage.pvc_named(spec.namespace, name).is_none() {
                let text = Trouble::Missing(name).text(snapshot, spec.namespace);
                return PreFilter::Reject(fail(Code::Unresolvable, Detail::Object { text }));
            }
        }
        let claims: Vec<PvcIdx> = exclusive_claims(snapshot, spec).collect();
        let disks = spec.volumes.iter().any(|v| matches!(v, Volume::Disk(..)));
        let users = |pvc: PvcIdx| context.state.counters.exclusive.users(pvc);
        let taken = claims.iter().copied().find(|&pvc| !users(pvc).is_empty());
        // Nominated pods do not wake the plugin up.
        if !disks && taken.is_none() {
            return PreFilter::Skip;
        }
        PreFilter::check(move |at| check(context, &claims, taken, at))
    }
}

fn fail(code: Code, detail: Detail) -> Failure {
    Failure { plugin: PluginName::VolumeRestrictions, code, detail }
}

fn check(
    context: Context<'_>,
    claims: &[PvcIdx],
    taken: Option<PvcIdx>,
    at: Visit<'_>,
) -> Result<(), Failure> {
    let (snapshot, mine) = (context.snapshot(), &context.spec().volumes);
    let in_use = |by| Err(fail(Code::Unschedulable, Detail::VolumeInUse { by }));
    for tenant in context.state.tenants(at.node).iter().chain(at.guests) {
        let theirs = &snapshot.spec(tenant.spec).volumes;
        if mine.iter().any(|one| theirs.iter().any(|other| clash(one, other))) {
            return in_use(tenant.pod.or(tenant.replaces));
        }
    }
    if let Some(pvc) = taken {
        return in_use(context.state.counters.exclusive.users(pvc).first().copied().flatten());
    }
    for guest in at.guests {
        // Here the scheduler compares the names alone: a claim of that name in another namespace counts as well.
        let is_mine = |name: &Sym| claims.iter().any(|&pvc| snapshot.storage.pvc(pvc).name == *name);
        let theirs = &snapshot.spec(guest.spec).volumes;
        if theirs.iter().any(|v| matches!(v, Volume::Claim(name) if is_mine(name))) {
            return in_use(guest.pod);
        }
    }
    Ok(())
}

/// True when a node can not mount both. Read-only mounts of one disk get along, except on AWS.
fn clash(one: &Volume, other: &Volume) -> bool {
    let (Volume::Disk(a, a_only_reads), Volume::Disk(b, b_only_reads)) = (one, other) else { return false };
    match (a, b) {
        (Disk::Aws(a), Disk::Aws(b)) => a == b,
        (Disk::Gce(a), Disk::Gce(b)) | (Disk::Iscsi(a), Disk::Iscsi(b)) => {
            a == b && !(*a_only_reads && *b_only_reads)
        }
        (Disk::Rbd(monitors, pool, image), Disk::Rbd(others, other_pool, other_image)) => {
            (pool, image) == (other_pool, other_image)
                && monitors.iter().any(|m| others.contains(m))
                && !(*a_only_reads && *b_only_reads)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Incoming;
    use crate::filter::kube::testing::{
        Expect, Fail, Pass, Unresolvable, candidate, cluster, node, says, table, terminating, with_status,
    };
    use crate::filter::volumes::testing::{bound, user, with_volumes};

    const PLUGIN: PluginName = PluginName::VolumeRestrictions;

    fn once_per_pod(name: &str) -> String {
        bound(name, "pv", "x").replace("[ReadWriteOnce]", "[ReadWriteOncePod]")
    }

    #[test]
    fn v3_a_claim_for_a_single_pod_blocks_every_node_until_its_pod_is_gone() {
        let holder = terminating(&user("web-0", "n1", &["c"]));
        let objects = [node("n1", "", ""), node("n2", "", ""), once_per_pod("c"), holder];
        let snapshot = cluster(&objects, &user("new", "", &["c"]));
        let mut state = State::live(&snapshot);
        let on = |state: &State<'_>, who| ["n1", "n2"].map(|node| says(state, PLUGIN, who, node));
        assert_eq!(on(&state, candidate(&snapshot)), [Fail, Fail]);
        let victim = snapshot.pods_on[0][0];
        let replacement = Incoming::replacement(&snapshot, victim);
        assert_eq!(on(&state, replacement), [Fail, Fail], "transition");
        state.remove(victim);
        assert_eq!(on(&state, replacement), [Pass, Pass], "planned");
        state.place(replacement, snapshot.node_named("n2").unwrap());
        assert_eq!(on(&state, candidate(&snapshot)), [Fail, Fail], "the replacement uses it now");
    }

    #[test]
    fn claims_of_other_modes_are_shared_and_missing_ones_are_hopeless() {
        let on_n1 =
            |objects: &[String]| [&[node("n1", "", ""), user("other", "n1", &["c"])], objects].concat();
        let new = || user("new", "", &["c"]);
        table(
            PLUGIN,
            &[
                ("ReadWriteOnce", on_n1(&[bound("c", "pv", "x")]), new(), "n1", Pass),
                ("missing", on_n1(&[]), new(), "n1", Unresolvable),
                (
                    "finished",
                    vec![
                        node("n1", "", ""),
                        with_status(&user("other", "n1", &["c"]), "phase: Failed"),
                        once_per_pod("c"),
                    ],
                    new(),
                    "n1",
                    Pass,
                ),
            ],
        );
    }

    #[test]
    fn nominated_users_block_only_where_a_disk_keeps_the_plugin_awake() {
        let nominated = with_status(&user("other", "", &["c"]), "nominatedNodeName: n1");
        let objects = vec![node("n1", "", ""), node("n2", "", ""), once_per_pod("c"), nominated.clone()];
        let namesake = nominated.replace("namespace: default", "namespace: elsewhere");
        let of_others = vec![node("n1", "", ""), node("n2", "", ""), once_per_pod("c"), namesake];
        let disk = "{name: c, persistentVolumeClaim: {claimName: c}}, {name: d, iscsi: {iqn: i}}";
        let awake = || with_volumes("new", "", disk);
        table(
            PLUGIN,
            &[
                ("asleep", objects.clone(), user("new", "", &["c"]), "n1", Pass),
                ("awake", objects.clone(), awake(), "n1", Fail),
                ("awake elsewhere", objects, awake(), "n2", Pass),
                ("awake, a claim of that name in another namespace", of_others, awake(), "n1", Fail),
            ],
        );
    }

    #[test]
    fn inline_disks_that_a_node_can_not_mount_twice() {
        let line = |what: &'static str, mine: &str, theirs: &str, expected: Expect| {
            let volumes = |disk: &str| format!("{{name: d, {disk}}}");
            let other = with_volumes("other", "n1", &volumes(theirs));
            (what, vec![node("n1", "", ""), other], with_volumes("new", "", &volumes(mine)), "n1", expected)
        };
        let gce = |more: &str| format!("gcePersistentDisk: {{pdName: a{more}}}");
        let aws = |id: &str| format!("awsElasticBlockStore: {{volumeID: {id}, readOnly: true}}");
        let iscsi = |iqn: &str, more: &str| format!("iscsi: {{iqn: {iqn}, targetPortal: p, lun: 0{more}}}");
        let rbd = |monitors: &str, more: &str| format!("rbd: {{monitors: [{monitors}], image: i{more}}}");
        let reads = ", readOnly: true";
        table(
            PLUGIN,
            &[
                line("GCE", &gce(""), &gce(reads), Fail),
                line("GCE, both read", &gce(reads), &gce(reads), Pass),
                line("AWS even if both read", &aws("v"), &aws("v"), Fail),
                line("AWS, others", &aws("v"), &aws("w"), Pass),
                line("iSCSI", &iscsi("q", ""), &iscsi("q", ""), Fail),
                line("iSCSI, both read", &iscsi("q", reads), &iscsi("q", reads), Pass),
                line("iSCSI, others", &iscsi("q", ""), &iscsi("r", ""), Pass),
                line("RBD, one monitor in common", &rbd("m1, m2", ""), &rbd("m2, m3", ""), Fail),
                line("RBD, the default pool", &rbd("m1", ""), &rbd("m1", ", pool: rbd"), Fail),
                line("RBD, both read", &rbd("m1", reads), &rbd("m1", reads), Pass),
                line("RBD, other monitors", &rbd("m1", ""), &rbd("m2", ""), Pass),
                line("RBD, other pool", &rbd("m1", ""), &rbd("m1", ", pool: x"), Pass),
                line(
                    "RBD, other image",
                    &rbd("m1", ""),
                    &rbd("m1", "").replace("image: i", "image: j"),
                    Pass,
                ),
                line("different kinds", &gce(""), &aws("a"), Pass),
            ],
        );
    }
}
