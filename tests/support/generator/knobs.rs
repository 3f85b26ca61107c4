//! How often each feature appears. All numbers are per cent unless they say otherwise.

/// What a generated cluster has in it.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Number of nodes.
    pub nodes: usize,
    /// Cards of a node; one is picked per node.
    pub node_cards: Vec<u32>,
    /// Cards of a pod; one is picked per task.
    pub pod_cards: Vec<u32>,
    /// Cards taken before workloads end.
    pub fill: u32,
    /// Workloads that have ended since.
    pub ended: u32,
    /// Most replicas of a task.
    pub replicas: usize,
    /// Workloads that are Volcano jobs; the others are Deployments, `StatefulSets` and batch Jobs.
    pub volcano_jobs: u32,
    /// Bare pods, and pods of an owner of an unknown kind.
    pub unowned: u32,
    /// `DaemonSets` in the whole cluster (a number).
    pub daemon_sets: usize,
    /// Workloads of another scheduler than Volcano.
    pub other_schedulers: u32,
    /// Tasks with a node selector or node affinity.
    pub selectors: u32,
    /// Tasks whose pods keep away from each other or from another application.
    pub anti_affinity: u32,
    /// Tasks whose pods want to be near another application.
    pub affinity: u32,
    /// Tasks spread evenly over zones or racks.
    pub spread: u32,
    /// Tasks with a host port.
    pub host_ports: u32,
    /// Tainted nodes.
    pub taints: u32,
    /// Tasks without cards.
    pub cardless: u32,
    /// Tasks that also use the second resource.
    pub second_resource: u32,
    /// Volcano jobs that restart more than the evicted pod, or end.
    pub policies: u32,
    /// Opt-outs, on pods, groups, owners.
    pub protected: u32,
    /// Pods with host paths or a Kueue queue.
    pub managed: u32,
    /// Workloads with a disruption budget.
    pub budgets: u32,
    /// Pods that are terminating.
    pub terminating: u32,
    /// Workloads some of whose pods wait for a node. None unless asked for.
    pub waiting: u32,
    /// Finished pods beside a workload's own.
    pub finished: u32,
    /// Pods that are bound and not started.
    pub starting: u32,
    /// Cordoned nodes.
    pub cordoned: u32,
    /// Nodes that are not ready.
    pub not_ready: u32,
    /// Nodes that an autoscaler is about to remove.
    pub leaving: u32,
}

impl Knobs {
    /// Equal nodes and movable pods without constraints: only amounts matter.
    pub fn plain(nodes: usize) -> Self {
        Self {
            nodes,
            node_cards: vec![8],
            pod_cards: vec![1, 1, 2, 4],
            fill: 85,
            ended: 40,
            replicas: 4,
            volcano_jobs: 100,
            unowned: 0,
            daemon_sets: 0,
            other_schedulers: 0,
            selectors: 0,
            anti_affinity: 0,
            affinity: 0,
            spread: 0,
            host_ports: 0,
            taints: 0,
            cardless: 0,
            second_resource: 0,
            policies: 0,
            protected: 0,
            managed: 0,
            budgets: 0,
            terminating: 0,
            waiting: 0,
            finished: 0,
            starting: 0,
            cordoned: 0,
            not_ready: 0,
            leaving: 0,
        }
    }

    /// Small enough for exhaustive search: nodes of two to four cards, few pods, every feature now and then.
    pub fn tiny(nodes: usize) -> Self {
        Self {
            node_cards: vec![4, 4, 4, 2],
            pod_cards: vec![1, 1, 1, 2, 2, 3],
            replicas: 3,
            ended: 50,
            unowned: 1,
            daemon_sets: 0,
            budgets: 8,
            cordoned: 3,
            not_ready: 2,
            leaving: 1,
            managed: 1,
            protected: 1,
            ..Self::mixed(nodes)
        }
    }

    /// Every feature, at rates at which nodes can still be freed.
    pub fn mixed(nodes: usize) -> Self {
        Self {
            nodes,
            node_cards: vec![8, 8, 8, 8, 4, 2, 16, 1],
            pod_cards: vec![1, 1, 1, 2, 2, 3, 4, 5, 8],
            fill: 85,
            ended: 40,
            replicas: 4,
            volcano_jobs: 60,
            unowned: 3,
            daemon_sets: 1,
            other_schedulers: 12,
            selectors: 20,
            anti_affinity: 12,
            affinity: 6,
            spread: 12,
            host_ports: 8,
            taints: 12,
            cardless: 12,
            second_resource: 15,
            policies: 25,
            protected: 3,
            managed: 3,
            budgets: 15,
            terminating: 4,
            waiting: 0,
            finished: 6,
            starting: 4,
            cordoned: 6,
            not_ready: 4,
            leaving: 3,
        }
    }
}
