//! From the workloads of a file to the pods that they would create, as pods that are only asked about.
//!
//! Each pod is read like a live one ([`Builder::candidate`]), with the labels that its controller will put on it.
//! Claims, claim templates and the like in the file come into the cluster with them. All pods of a file are one gang.
//!
//! May import: snapshot

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Builder;
use crate::snapshot::names;
use crate::snapshot::read::{InputError, Origin, Sink};
use crate::snapshot::view::basic::{MetaView, Text};
use crate::snapshot::view::cluster::PodGroupView;
use crate::snapshot::view::object::{Kind, Object};
use crate::snapshot::view::pod::{PodStatusView, PodView};
use crate::snapshot::view::workload::{JobView, ReplicasView, TaskView, VolcanoJobView};

/// The workloads whose pods are known, for messages.
pub const WORKLOADS: &str =
    "Pod, Job, Deployment, StatefulSet, ReplicaSet, ReplicationController and Volcano's Job";

/// More pods are not looked at.
pub const MOST_PODS: usize = 65_535;

/// Pods of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Kind of the workload.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The task of a Volcano Job, else empty.
    pub task: String,
    /// `namespace/name` of the pods that are asked about.
    pub pods: Vec<String>,
    /// How many the workload creates: those beyond a gang's minimum are not asked about.
    pub of: usize,
}

/// Takes the objects of a file that says what is to be started.
#[derive(Debug)]
pub struct Wanted<'b> {
    builder: &'b mut Builder,
    replicas: Option<usize>,
    /// What is asked about.
    pub parts: Vec<Part>,
    /// Objects of kinds that no rule reads, per kind.
    pub skipped: BTreeMap<String, u64>,
    /// Objects so far.
    objects: usize,
}

impl<'b> Wanted<'b> {
    /// Nothing yet. `replicas` takes the place of the number that the workload says, which then has one template.
    pub fn new(builder: &'b mut Builder, replicas: Option<usize>) -> Self {
        Self { builder, replicas, parts: Vec::new(), skipped: BTreeMap::new(), objects: 0 }
    }

    /// The name of the object being read; manifests for `kubectl create` may leave it to the server.
    fn name_of(&self, meta: &MetaView<'_>) -> String {
        if meta.name.is_empty() { format!("unnamed-{}", self.objects) } else { meta.name.to_string() }
    }

    /// Asks about one pod, or `replicas` like it. A pod that was bound is asked about as before it was.
    ///
    /// # Errors
    /// See [`Builder::candidate`].
    pub fn pod(&mut self, view: &PodView<'_>) -> Result<(), InputError> {
        let mut pod = view.clone();
        if !pod.metadata.uid.is_empty() {
            pod.spec.node_name = Text::default();
        }
        let MetaView { name, namespace, labels, annotations, .. } = std::mem::take(&mut pod.metadata);
        let meta = MetaView { name, namespace, ..MetaView::default() };
        pod.metadata = MetaView { labels, annotations, ..MetaView::default() };
        pod.status = PodStatusView::default();
        let name = self.name_of(&meta);
        let made = Made { kind: Kind::Pod, meta: &meta, name: &name, task: "", group: None };
        self.add(made, pod, 1, 1, &[])
    }

    fn replicas_object(&mut self, kind: Kind, view: &ReplicasView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let count = count(kind, meta, "spec.replicas", view.spec.replicas.unwrap_or(1))?;
        let name = self.name_of(meta);
        let made = Made { kind, meta, name: &name, task: "", group: None };
        let pod = template(made, "spec.template", view.spec.template.as_deref())?;
        let labels = match kind {
            // A rollout is a template of its own.
            Kind::Deployment => vec![("pod-template-hash", "asked".to_owned())],
            _ => Vec::new(),
        };
        self.add(made, pod, count, count, &labels)
    }

    fn job(&mut self, view: &JobView<'_>) -> Result<(), InputError> {
        let meta = &view.metadata;
        let at_once = count(Kind::Job, meta, "spec.parallelism", view.spec.parallelism.unwrap_or(1))?;
        let all = match view.spec.completions {
            Some(completions) => count(Kind::Job, meta, "spec.completions", completions)?,
            None => at_once,
        };
        let name = self.name_of(meta);
        let made = Made { kind: Kind::Job, meta, name: &name, task: "", group: None };
        let pod = template(made, "spec.template", view.spec.template.as_deref())?;
        let labels = vec![("job-name", name.clone()), ("batch.kubernetes.io/job-name", name.clone())];
        self.add(made, pod, at_once.min(all), at_once.min(all), &labels)
    }

    fn volcano_job(&mut self, view: &VolcanoJobView<'_>) -> Result<(), InputError> {
        let (meta, spec) = (&view.metadata, &view.spec);
        let gang = gang(meta, spec.min_available, &spec.tasks)?;
        let group = Group { min_member: gang.iter().map(|task| task.0).sum(), queue: &spec.queue };
        let job = self.name_of(meta);
        let namespace = if meta.namespace.is_empty() { "default" } else { &meta.namespace }.to_owned();
        for (at, (task, (least, all))) in spec.tasks.iter().zip(gang).enumerate() {
            let named = if task.name.is_empty() { format!("default{at}") } else { task.name.to_string() };
            let made = Made { kind: Kind::VolcanoJob, meta, name: &job, task: &named, group: Some(group) };
            let mut pod = template(made, "spec.tasks[].template", task.template.as_deref())?;
            if pod.spec.scheduler_name.is_empty() {
                let own = &*spec.scheduler_name;
                pod.spec.scheduler_name = owned(if own.is_empty() { "volcano" } else { own });
            }
            let queue = if spec.queue.is_empty() { "default" } else { &spec.queue };
            let labels = vec![
                ("volcano.sh/job-name", job.clone()),
                ("volcano.sh/job-namespace", namespace.clone()),
                ("volcano.sh/queue-name", queue.to_owned()),
                (names::TASK_SPEC, named.clone()),
            ];
            self.add(made, pod, least, all, &labels)?;
        }
        Ok(())
    }

    /// Asks about `count` pods like `pod`, of `all` that there will be, with the labels that their controller adds.
    /// Those that differ from pod to pod are left out: no rule reads them, and the pods would be of as many classes.
    fn add(
        &mut self,
        made: Made<'_>,
        mut pod: PodView<'_>,
        count: usize,
        all: usize,
        labels: &[(&'static str, String)],
    ) -> Result<(), InputError> {
        let Made { kind, meta, name, task, .. } = made;
        let fault = |problem: String| InputError::object(kind.name(), &meta.namespace, &meta.name, problem);
        if self.replicas.is_some() && !self.parts.is_empty() {
            return Err(fault(
                "--replicas is the number of pods of one template, and this is one more".to_owned(),
            ));
        }
        let (count, all) = self.replicas.map_or((count, all), |replicas| (replicas, replicas));
        if self.parts.iter().map(|part| part.pods.len()).sum::<usize>().saturating_add(count) > MOST_PODS {
            return Err(fault(format!("asks for {count} pods, and not more than {MOST_PODS} are looked at")));
        }
        let namespace = if meta.namespace.is_empty() { "default" } else { &meta.namespace }.to_owned();
        let base = if task.is_empty() { name.to_owned() } else { format!("{name}-{task}") };
        pod.metadata.namespace = owned(&namespace);
        let added = labels.iter().map(|(key, value)| (Text::from(*key), owned(value)));
        pod.metadata.labels.0.extend(added);
        self.join_group(made, &mut pod, &namespace)?;
        let mut pods = Vec::with_capacity(count);
        for at in 0..count {
            let alone = kind == Kind::Pod && count == 1;
            let pod_name = if alone { base.clone() } else { format!("{base}-{at}") };
            let mut pod = pod.clone();
            pod.metadata.name = owned(&pod_name);
            self.builder.candidate(&pod)?;
            pods.push(format!("{namespace}/{pod_name}"));
        }
        let (name, task) = (name.to_owned(), task.to_owned());
        self.parts.push(Part { kind, namespace, name, task, pods, of: all });
        Ok(())
    }

    /// Volcano makes a PodGroup for the pods, whose queue may limit them. Where no queue was read, none does.
    fn join_group(
        &mut self,
        made: Made<'_>,
        pod: &mut PodView<'_>,
        namespace: &str,
    ) -> Result<(), InputError> {
        let annotations = &mut pod.metadata.annotations.0;
        let named =
            [names::GROUP_NAME, names::GROUP_NAME_VOLCANO].iter().any(|key| annotations.get(key).is_some());
        if named || self.builder.queues.is_empty() || &*pod.spec.scheduler_name != "volcano" {
            return Ok(());
        }
        let name = format!("{} (asked)", made.name);
        let queue = made.group.map_or_else(
            || annotations.get("scheduling.volcano.sh/queue-name").unwrap_or_default().to_owned(),
            |group| group.queue.to_owned(),
        );
        annotations.0.push((Text::from(names::GROUP_NAME), owned(&name)));
        // One for all tasks of a job.
        if self.parts.last().is_some_and(|part| part.name == made.name && part.namespace == namespace) {
            return Ok(());
        }
        let mut group = PodGroupView::default();
        group.metadata.name = owned(&name);
        group.metadata.namespace = owned(namespace);
        group.spec.queue = owned(&queue);
        group.spec.min_member = made.group.and_then(|group| i64::try_from(group.min_member).ok());
        self.builder.pod_group(&group)
    }
}

/// What pods are made of.
#[derive(Clone, Copy)]
struct Made<'m> {
    kind: Kind,
    meta: &'m MetaView<'m>,
    name: &'m str,
    task: &'m str,
    group: Option<Group<'m>>,
}

/// The PodGroup of a Volcano Job.
#[derive(Clone, Copy)]
struct Group<'m> {
    min_member: usize,
    queue: &'m str,
}

fn owned(text: &str) -> Text<'static> {
    Text(Cow::Owned(text.to_owned()))
}

fn count(kind: Kind, meta: &MetaView<'_>, field: &str, number: i64) -> Result<usize, InputError> {
    usize::try_from(number).map_err(|_| {
        InputError::field(kind.name(), &meta.namespace, &meta.name, field, format!("{number} is negative"))
    })
}

fn template<'a>(made: Made<'_>, field: &str, view: Option<&PodView<'a>>) -> Result<PodView<'a>, InputError> {
    let Made { kind, meta, .. } = made;
    let Some(view) = view else {
        return Err(InputError::field(kind.name(), &meta.namespace, &meta.name, field, "is missing"));
    };
    let mut pod = view.clone();
    pod.status = PodStatusView::default();
    Ok(pod)
}

/// How many pods of each task have to run at the same time, and how many there are.
///
/// Volcano starts a job once `minAvailable` pods fit, and of each task its own `minAvailable`, which counts only where
/// the sum of those is not more than the job's. What is left of the job's minimum is taken of the tasks in order.
fn gang(
    meta: &MetaView<'_>,
    min_available: Option<i64>,
    tasks: &[TaskView<'_>],
) -> Result<Vec<(usize, usize)>, InputError> {
    let kind = Kind::VolcanoJob;
    let mut gang = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.iter().enumerate() {
        let all = count(kind, meta, &format!("spec.tasks[{at}].replicas"), task.replicas.unwrap_or(0))?;
        let field = format!("spec.tasks[{at}].minAvailable");
        let least = task.min_available.map(|least| count(kind, meta, &field, least)).transpose()?;
        gang.push((least.unwrap_or(all).min(all), all, least.is_some()));
    }
    let sum: usize = gang.iter().map(|task| task.0).sum();
    let job = match min_available {
        Some(least) if least != 0 => count(kind, meta, "spec.minAvailable", least)?,
        _ => sum,
    };
    let all: usize = gang.iter().map(|task| task.1).sum();
    if job > all {
        let problem = format!("{job} is more than the {all} pods of its tasks");
        return Err(InputError::field("Job", &meta.namespace, &meta.name, "spec.minAvailable", problem));
    }
    // Any pods may start the job then. Minimums that are only the default give way first, then all of them.
    let given: usize = gang.iter().filter(|task| task.2).map(|task| task.0).sum();
    let keeps = |given_by_task: bool| if sum <= job { true } else { given <= job && given_by_task };
    let mut least: Vec<usize> = gang.iter().map(|task| if keeps(task.2) { task.0 } else { 0 }).collect();
    let mut open = job - least.iter().sum::<usize>();
    for (least, task) in least.iter_mut().zip(&gang) {
        let more = open.min(task.1 - *least);
        *least += more;
        open -= more;
    }
    Ok(least.into_iter().zip(gang).map(|(least, task)| (least, task.1)).collect())
}

impl Sink for Wanted<'_> {
    fn object(&mut self, object: Object<'_>, origin: &Origin) -> Result<(), InputError> {
        self.objects += 1;
        let refuse = |object: &Object<'_>, problem: &str| {
            let (kind, meta) = (object.kind().map_or("", Kind::name), object.metadata());
            let (namespace, name) = meta.map_or(("", ""), |meta| (&meta.namespace, &meta.name));
            Err(InputError::object(kind, namespace, name, problem))
        };
        let done = match &object {
            Object::Pod(view) => self.pod(view),
            Object::Job(view) => self.job(view),
            Object::VolcanoJob(view) => self.volcano_job(view),
            Object::Deployment(view) => self.replicas_object(Kind::Deployment, view),
            Object::StatefulSet(view) => self.replicas_object(Kind::StatefulSet, view),
            Object::ReplicaSet(view) => self.replicas_object(Kind::ReplicaSet, view),
            Object::ReplicationController(view) => self.replicas_object(Kind::ReplicationController, view),
            Object::Unknown { kind, .. } => {
                *self.skipped.entry(kind.to_string()).or_default() += 1;
                Ok(())
            }
            Object::Node(_) => refuse(&object, "is part of a cluster, which is given with --snapshot"),
            Object::DaemonSet(_)
            | Object::CronJob(_)
            | Object::ModelServing(_)
            | Object::LeaderWorkerSet(_)
            | Object::JobSet(_)
            | Object::RayCluster(_)
            | Object::RayJob(_)
            | Object::RayService(_)
            | Object::PyTorchJob(_)
            | Object::TFJob(_)
            | Object::MPIJob(_)
            | Object::XGBoostJob(_)
            | Object::PaddleJob(_)
            | Object::JAXJob(_)
            | Object::TrainJob(_) => {
                refuse(&object, &format!("is of a kind whose pods are not known here; known are {WORKLOADS}"))
            }
            _ => return self.builder.object(object, origin),
        };
        done.map_err(|fault| fault.at(origin))
    }
}
