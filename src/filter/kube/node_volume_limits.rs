//! `NodeVolumeLimits`: how many volumes of a CSI driver can be attached to a node (rulebook 1.12).
//!
//! Volumes of a planned pod whose claim is unbound count for the class's provisioner, as they do in the scheduler
//! until the claim is bound. `VolumeAttachments` are as the input says: a volume that a victim leaves behind stays
//! attached to its node.
//!
//! May import: snapshot, filter

use crate::filter::counters::attached::uses;
use crate::filter::plugin::{Context, Plugin, PreFilter, Visit};
use crate::filter::state::State;
use crate::filter::verdict::{Code, Detail, Failure, PluginName};
use crate::filter::volumes::attach::{Attachable, VolumeId, attachables};
use crate::filter::volumes::{Holder, Trouble};
use crate::snapshot::model::pod::{Disk, Volume};
use crate::snapshot::model::{SpecIdx, Sym};

/// The plugin.
#[derive(Debug)]
pub struct NodeVolumeLimits {
    /// Drivers can demand that nodes without them are refused (`preventPodSchedulingIfMissing`). Clusters before 1.37
    /// have none that do.
    pub strict_drivers: bool,
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> PluginName {
        PluginName::NodeVolumeLimits
    }

    fn concerns(&self, state: &State<'_>, spec: SpecIdx) -> bool {
        state.snapshot().spec(spec).volumes.iter().any(|volume| {
            matches!(
                volume,
                Volume::Claim(_) | Volume::Ephemeral(_) | Volume::Disk(Disk::Gce(_) | Disk::Aws(_), _)
            )
        })
    }

    fn pre_filter<'a>(&self, context: Context<'a>) -> PreFilter<'a> {
        if !self.concerns(context.state, context.incoming.spec) {
            return PreFilter::Skip;
        }
        let holder = Holder::incoming(context);
        let strict_drivers = self.strict_drivers;
        PreFilter::check(move |at| check(context, &holder, strict_drivers, at))
    }
}

fn fail(code: Code, detail: Detail) -> Failure {
    Failure { plugin: PluginName::NodeVolumeLimits, code, detail }
}

fn check(
    context: Context<'_>,
    holder: &Holder<'_>,
    strict_drivers: bool,
    at: Visit<'_>,
) -> Result<(), Failure> {
    let snapshot = context.snapshot();
    let new = attachables(snapshot, holder, at.node, Err).map_err(|trouble| {
        let code = match trouble {
            Trouble::Missing(_) | Trouble::NotMade(_) => Code::Unresolvable,
            Trouble::NotOwned(_) | Trouble::NameTaken(_) => Code::Error,
        };
        fail(code, Detail::Object { text: trouble.text(snapshot, holder.spec.namespace) })
    })?;
    let here = snapshot.storage.node(at.node);
    let absent = |v: &&Attachable| snapshot.storage.is_strict(v.driver) && here.driver(v.driver).is_none();
    if strict_drivers && let Some(volume) = new.iter().find(absent) {
        let text = format!("CSI driver {} does not run on the node", snapshot.text(volume.driver));
        return Err(fail(Code::Unschedulable, Detail::Object { text }));
    }
    if new.is_empty() || here.drivers.iter().all(|d| d.limit.is_none()) {
        return Ok(());
    }
    let in_use = context.state.counters.attached.on(at.node);
    let mut guests: Vec<Attachable> = Vec::new();
    let mut broken = in_use.broken > 0;
    for guest in at.guests {
        let (volumes, guest_broken) = uses(snapshot, &Holder::tenant(snapshot, guest), at.node);
        guests.extend(volumes);
        broken |= guest_broken;
    }
    if broken {
        let text = "an ephemeral volume of a pod on the node has a claim that is not the pod's".to_owned();
        return Err(fail(Code::Error, Detail::Object { text }));
    }
    guests.retain(|&volume| !in_use.contains(volume));
    guests.sort_unstable();
    guests.dedup();
    let used = |volume| in_use.contains(volume) || guests.contains(&volume);
    let of = |driver: Sym, volumes: &mut dyn Iterator<Item = Attachable>| {
        i64::try_from(volumes.filter(|v| v.driver == driver).count()).unwrap_or(i64::MAX)
    };
    for driver in &here.drivers {
        let Some(limit) = driver.limit else { continue };
        let coming = of(driver.name, &mut new.iter().copied().filter(|&v| !used(v)));
        if coming == 0 {
            continue;
        }
        // Attached although no pod uses it. When the incoming pod does, it counts again as coming.
        let leftovers =
            here.attached.iter().map(|&(driver, handle)| Attachable { driver, id: VolumeId::Handle(handle) });
        let attached = of(driver.name, &mut in_use.volumes())
            + of(driver.name, &mut guests.iter().copied())
            + of(driver.name, &mut leftovers.filter(|&v| !used(v)));
        if attached + coming > limit {
            return Err(fail(Code::Unschedulable, Detail::VolumeLimit { attached, new: coming, limit }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kube::testing::{
        Fail, Pass, Unresolvable, candidate, cluster, node, says, table, with_status,
    };
    use crate::filter::volumes::testing::*;
    use crate::filter::{Incoming, Prepared, SchedulerRules};

    const PLUGIN: PluginName = PluginName::NodeVolumeLimits;

    /// PV and bound claim `v1` to `v9` of driver `d`, as pairs.
    fn volumes(names: &[&str]) -> Vec<String> {
        let pv = |name: &str| volume(name, "1Gi", "x", &csi("d", &format!("h-{name}")));
        names.iter().flat_map(|name| [pv(name), bound(name, name, "x")]).collect()
    }

    fn limited(limit: Option<u32>, objects: &[String]) -> Vec<String> {
        [&[node("n1", "", ""), csi_node("n1", "d", limit)], objects, &volumes(&["v1", "v2", "v3", "v9"])]
            .concat()
    }

    #[test]
    fn volumes_that_pods_share_count_once_and_leftovers_count() {
        let two = [user("p", "n1", &["v1"]), user("q", "n1", &["v2"])];
        let leftover = [user("p", "n1", &["v1"]), attachment("d", "v9", "n1")];
        let used = [user("p", "n1", &["v1"]), attachment("d", "v1", "n1")];
        let elsewhere = [user("p", "n1", &["v1"]), attachment("d", "v9", "n2")];
        let new = |claims: &[&str]| user("new", "", claims);
        let nominated =
            [user("p", "n1", &["v1"]), with_status(&user("q", "", &["v2"]), "nominatedNodeName: n1")];
        table(
            PLUGIN,
            &[
                ("V5", limited(Some(2), &two), new(&["v2"]), "n1", Pass),
                ("one more", limited(Some(2), &two), new(&["v3"]), "n1", Fail),
                ("no count", limited(None, &two), new(&["v3"]), "n1", Pass),
                ("V6", limited(Some(2), &leftover), new(&["v3"]), "n1", Fail),
                ("attached and used", limited(Some(2), &used), new(&["v3"]), "n1", Pass),
                ("attached elsewhere", limited(Some(2), &elsewhere), new(&["v3"]), "n1", Pass),
                // Only attached: counts as attached and once more as coming.
                ("quirk", limited(Some(2), &leftover), new(&["v9"]), "n1", Fail),
                ("quirk fits", limited(Some(3), &leftover), new(&["v9"]), "n1", Pass),
                ("twice in one pod", limited(Some(1), &[]), new(&["v1", "v1"]), "n1", Pass),
                ("nominated", limited(Some(2), &nominated), new(&["v3"]), "n1", Fail),
                ("claim is gone", limited(Some(2), &[]), new(&["v7"]), "n1", Unresolvable),
                ("of a pod there", limited(Some(1), &[user("p", "n1", &["v7"])]), new(&["v3"]), "n1", Pass),
            ],
        );
    }

    #[test]
    fn v5b_a_node_without_the_driver_is_refused_only_if_the_driver_says_so() {
        let line = |what, objects: &[String], expected| {
            let objects = [&[node("n1", "", "")], &*volumes(&["v1"]), objects].concat();
            (what, objects, user("new", "", &["v1"]), "n1", expected)
        };
        let strict = csi_driver("d", "preventPodSchedulingIfMissing: true");
        let lenient = csi_driver("d", "preventPodSchedulingIfMissing: false");
        table(
            PLUGIN,
            &[
                line("V5b no CSINode", &[], Pass),
                line("V5b not in it", &[csi_node("n1", "e", Some(1))], Pass),
                line("lenient", &[lenient], Pass),
                line("no CSINode", std::slice::from_ref(&strict), Fail),
                line("not in it", &[strict.clone(), csi_node("n1", "e", Some(1))], Fail),
                line("there", &[strict, csi_node("n1", "d", Some(1))], Pass),
            ],
        );
    }

    #[test]
    fn v5c_a_local_class_has_no_driver_to_miss() {
        let objects = vec![
            node("n1", "", ""),
            by_hand("local"),
            volume("pv", "1Gi", "local", ""),
            claim("c", "1Gi", "local", ""),
        ];
        table(PLUGIN, &[("V5c", objects, user("new", "", &["c"]), "n1", Pass)]);
    }

    #[test]
    fn unbound_claims_count_for_their_classs_provisioner() {
        let class = delayed("made", "d", "");
        let mine = claim("mine", "1Gi", "made", "");
        let lost = claim("mine", "1Gi", "made", "volumeName: gone");
        let line = |what, objects: &[String], limit, expected| {
            (what, limited(Some(limit), objects), user("new", "", &["v1", "mine"]), "n1", expected)
        };
        let lines = [
            line("two", &[class.clone(), mine.clone()], 1, Fail),
            line("two fit", &[class.clone(), mine.clone()], 2, Pass),
            line("volume is gone", &[class, lost], 1, Fail),
            line("class is gone", &[mine], 1, Pass),
        ];
        table(PLUGIN, &lines);
    }

    #[test]
    fn in_tree_volumes_count_for_the_driver_that_took_them_over_wherever_a_csi_node_is() {
        let line = |what, source: &str, driver: &str, expected| {
            let pv = volume("pv", "1Gi", "x", source);
            let objects =
                vec![node("n1", "", ""), csi_node("n1", driver, Some(0)), pv, bound("c", "pv", "x")];
            (what, objects, user("new", "", &["c"]), "n1", expected)
        };
        let (aws, vsphere) =
            ("awsElasticBlockStore: {volumeID: vol-1}", "vsphereVolume: {volumePath: '[a] b'}");
        let lines = [
            line("AWS", aws, "ebs.csi.aws.com", Fail),
            line("another driver", aws, "d", Pass),
            line("vSphere is left to itself", vsphere, "csi.vsphere.vmware.com", Pass),
        ];
        table(PLUGIN, &lines);
    }

    #[test]
    fn a_foreign_ephemeral_claim_of_a_pod_there_is_an_error() {
        let foreign = owned_by(&bound("p-s", "v1", "x"), "older");
        let objects = limited(Some(9), &[with_volumes("p", "n1", "{name: s, ephemeral: {}}"), foreign]);
        let snapshot = cluster(&objects, &user("new", "", &["v3"]));
        let state = State::live(&snapshot);
        let failures = Prepared::with_rules(&state, SchedulerRules::Kube, candidate(&snapshot))
            .explain(snapshot.node_named("n1").unwrap());
        assert_eq!(failures.iter().map(|f| (f.plugin, f.code)).collect::<Vec<_>>(), [(PLUGIN, Code::Error)]);
    }

    #[test]
    fn volumes_of_planned_replacements_count_and_undo() {
        let victim = user("web-0", "n2", &["v1"]);
        let objects = limited(Some(1), &[node("n2", "", ""), victim]);
        let snapshot = cluster(&objects, &user("new", "", &["v3"]));
        let (mut state, n1) = (State::live(&snapshot), snapshot.node_named("n1").unwrap());
        let victim = snapshot.pods_on[1][0];
        let before = state.checkpoint();
        state.remove(victim);
        state.place(Incoming::replacement(&snapshot, victim), n1);
        assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Fail);
        state.rollback(before);
        assert_eq!(says(&state, PLUGIN, candidate(&snapshot), "n1"), Pass);
    }
}
