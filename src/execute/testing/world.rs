//! The objects of the cluster, and how a test writes them down.
//!
//! May import: api, snapshot, plan, execute

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::api::{RepackRunSpec, RepackRunStatus};
use crate::execute::command::{Refusal, RunSeen};
use crate::execute::seen::{Seen, Sight};
use crate::execute::{Creator, Orders, RunRef};
use crate::plan::Request;
use crate::snapshot::read::read_all;
use crate::snapshot::view::object::Kind;
use crate::snapshot::{BuildOptions, Builder, Snapshot};

/// The resource of these clusters.
pub const CARDS: &str = "x.io/npu";

type Objects = BTreeMap<(String, String), Value>;

/// Everything that the API server holds, besides the run.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub nodes: Objects,
    pub pods: Objects,
    pub groups: Objects,
    pub owners: Objects,
    pub budgets: Objects,
}

/// What happens to a request instead of what should.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The server refuses.
    Refused(Refusal),
    /// It never arrives.
    Lost,
    /// It is carried out and the answer gets lost.
    AnswerLost,
}

/// A cluster.
#[derive(Clone)]
pub struct World {
    pub now: Timestamp,
    pub store: Rc<Store>,
    /// What a cache knew, by time: it lags by [`World::lag`].
    past: VecDeque<(Timestamp, Rc<Store>)>,
    pub lag: SignedDuration,
    pub run: Option<RunSeen>,
    pub webhooks: Vec<String>,
    /// The webhook answers; if not, pods pass as they are.
    pub webhook_up: bool,
    /// Evictions of these pods are refused, by name.
    pub refusals: BTreeMap<String, Refusal>,
    /// Who created the run, where that matters.
    pub creator: Option<Creator>,
    /// Who may not do what: user and resource.
    pub denied: BTreeSet<(String, String)>,
    /// Whatever is asked, so many times this happens instead.
    pub strike: Option<(u32, Trouble)>,
    /// How often each request was struck, by what it does.
    pub struck: BTreeMap<String, u32>,
    /// How far the clock of whoever executes is off.
    pub clock_off: SignedDuration,
    /// The status of a run that is gone.
    pub last: Option<RepackRunStatus>,
    /// Seconds that a victim needs to end.
    pub ends_after: i64,
    /// The scheduler fills empty nodes first, and clears nominations that fail.
    pub anchor: Option<Timestamp>,
    pub evictions: BTreeMap<String, u32>,
    pub requests: Vec<String>,
    pub(super) serial: u32,
    /// When terminating pods are gone, by UID.
    pub(super) gone_at: BTreeMap<String, Timestamp>,
    /// When the scheduler looks next.
    pub(super) next_cycle: Timestamp,
}

impl World {
    /// Nodes `n1`, `n2`, … with 8 cards each.
    pub fn new(nodes: usize) -> Self {
        let now: Timestamp = "2026-07-30T10:00:00Z".parse().unwrap();
        let mut world = Self {
            now,
            store: Rc::default(),
            past: VecDeque::new(),
            lag: SignedDuration::ZERO,
            run: None,
            webhooks: Vec::new(),
            webhook_up: true,
            refusals: BTreeMap::new(),
            creator: None,
            denied: BTreeSet::new(),
            strike: None,
            struck: BTreeMap::new(),
            clock_off: SignedDuration::ZERO,
            last: None,
            ends_after: 1,
            anchor: None,
            evictions: BTreeMap::new(),
            requests: Vec::new(),
            serial: 0,
            gone_at: BTreeMap::new(),
            next_cycle: now,
        };
        for at in 1..=nodes {
            let name = format!("n{at}");
            let node = json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", CARDS: "8"},
                           "conditions": [{"type": "Ready", "status": "True"}]}});
            world.change(|store| store.nodes.insert((String::new(), name), node));
        }
        world
    }

    pub fn change<T>(&mut self, change: impl FnOnce(&mut Store) -> T) -> T {
        let done = change(Rc::make_mut(&mut self.store));
        self.past.push_back((self.now, Rc::clone(&self.store)));
        done
    }

    /// A cache knows everything that is there now.
    pub fn settle(&mut self) {
        self.past = VecDeque::from([(self.now, Rc::clone(&self.store))]);
    }

    pub fn uid(&mut self, what: &str) -> String {
        self.serial += 1;
        format!("{what}-{:04}", self.serial)
    }

    /// A workload `KIND NAME MIN` and its group in namespace `a`; pods are `NAME-0 …` on the nodes given, each with so
    /// many cards. Kinds: `ReplicaSet`, `StatefulSet` (both of kube-scheduler, no group), `Job` (of Volcano).
    pub fn workload(
        &mut self,
        kind: &str,
        name: &str,
        cards: u32,
        nodes: &[&str],
        more: &Value,
    ) -> &mut Self {
        let uid = self.uid("owner");
        let volcano = kind == "Job";
        let api = if volcano { "batch.volcano.sh/v1alpha1" } else { "apps/v1" };
        let scheduler = if volcano { "volcano" } else { "default-scheduler" };
        let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"schedulerName": scheduler,
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "c", "resources": {"requests": {CARDS: cards.to_string()}}}]}});
        let mut spec = if volcano {
            json!({"minAvailable": nodes.len(), "tasks": [{"name": "w", "replicas": nodes.len(), "template": template}]})
        } else {
            json!({"replicas": nodes.len(), "template": template, "selector": {"matchLabels": {"app": name}}})
        };
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let minimum = spec["minAvailable"].clone();
        let owner = json!({"apiVersion": api, "kind": kind,
            "metadata": {"namespace": "a", "name": name, "uid": uid}, "spec": spec});
        let key = ("a".to_owned(), name.to_owned());
        self.change(|store| store.owners.insert(key.clone(), owner.clone()));
        if volcano {
            let group = super::actors::group(&owner, &self.uid("group"), &minimum);
            let key = ("a".to_owned(), format!("{name}-{uid}"));
            self.change(|store| store.groups.insert(key, group));
        }
        for (at, node) in nodes.iter().enumerate() {
            let mut pod = super::actors::pod_of(&owner, at, &self.uid("pod"));
            if !node.is_empty() {
                pod["spec"]["nodeName"] = json!(node);
                pod["status"] =
                    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
            }
            pod["metadata"]["creationTimestamp"] = json!("2026-07-29T10:00:00Z");
            self.put_pod(pod);
        }
        self
    }

    pub fn put_pod(&mut self, pod: Value) {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap().to_owned();
        let key = (text("namespace"), text("name"));
        self.change(|store| store.pods.insert(key, pod));
    }

    /// Pods that stay where they are.
    pub fn fixed(&mut self, node: &str, cards: u32) -> &mut Self {
        let uid = self.uid("pod");
        self.put_pod(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "a", "name": format!("fixed-{node}"), "uid": uid,
                         "creationTimestamp": "2026-07-29T10:00:00Z"},
            "spec": {"nodeName": node, "schedulerName": "default-scheduler",
                     "containers": [{"name": "c", "resources": {"requests": {CARDS: cards.to_string()}}}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}));
        self
    }

    fn model(store: &Store) -> Snapshot {
        let all = [&store.nodes, &store.pods, &store.groups, &store.owners, &store.budgets];
        let items: Vec<&Value> = all.into_iter().flat_map(|objects| objects.values()).collect();
        let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let mut builder = Builder::new(BuildOptions::default());
        builder.of_cluster();
        for kind in [Kind::ReplicaSet, Kind::StatefulSet, Kind::VolcanoJob] {
            builder.kind_listed(kind);
        }
        read_all(text.as_bytes(), "world", &mut builder).unwrap();
        builder.finish().unwrap()
    }

    /// The cluster as it is.
    pub fn snapshot(&self) -> Snapshot {
        Self::model(&self.store)
    }

    /// The cluster as a cache has it.
    pub fn seen(&mut self) -> (Snapshot, Rc<Store>) {
        let until = self.now - self.lag;
        while self.past.len() > 1 && self.past[1].0 <= until {
            self.past.pop_front();
        }
        let store = self.past.front().map_or_else(|| Rc::clone(&self.store), |(_, store)| Rc::clone(store));
        (Self::model(&store), store)
    }

    /// Calls with what a cache says.
    pub fn look<T>(&mut self, see: impl FnOnce(&Sight<'_>) -> T) -> T {
        let tag = run().tag();
        let works = self
            .run
            .as_ref()
            .is_some_and(|run| run.status.as_ref().is_some_and(|s| s.phase == crate::api::Phase::Running));
        let (snapshot, store) = self.seen();
        let pod = |namespace: &str, name: &str| {
            store.pods.get(&(namespace.to_owned(), name.to_owned())).map(Seen::of)
        };
        see(&Sight { snapshot: &snapshot, pod: &pod, works: &|other| works && other == tag })
    }

    pub fn status(&self) -> &RepackRunStatus {
        self.run.as_ref().map_or(&self.last, |run| &run.status).as_ref().unwrap()
    }

    /// The time that whoever executes reads.
    pub fn clock(&self) -> Timestamp {
        self.now + self.clock_off
    }
}

/// The run of these tests.
pub fn run() -> RunRef {
    RunRef { name: "run".to_owned(), uid: "run-uid".to_owned() }
}

/// What a run of these tests asks for, with everything movable.
pub fn request() -> Request {
    let mut request = Request::for_resource(CARDS);
    request.movability.schedulers = vec!["volcano".to_owned(), "default-scheduler".to_owned()];
    request.movability.allow_ungrouped = true;
    request
}

/// How it is to be carried out.
pub fn orders(spec: &RepackRunSpec) -> Orders {
    Orders::of(spec, CARDS, &request().movability)
}
