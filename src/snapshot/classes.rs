//! Classes of nodes: nodes that no selector, toleration or feature rule of this cluster can tell apart.
//!
//! Only labels that some pod's selector or affinity names count, so thousands of nodes with distinct host names
//! usually form a handful of classes, and a rule on single nodes is evaluated once per pair of classes.
//!
//! May import: snapshot

use rustc_hash::{FxHashMap, FxHashSet};

use super::model::{NodeClass, NodeClassIdx, NodeIdx, Snapshot, Sym, Taint};

/// What rules on single nodes can see of a node.
#[derive(PartialEq, Eq, Hash)]
struct Visible {
    labels: Vec<(Sym, Sym)>,
    taints: Box<[Taint]>,
    unschedulable: bool,
    features: Box<[Sym]>,
    /// The name, where some rule names this node.
    name: Option<Sym>,
}

/// Puts every node into a class.
pub fn classify_nodes(snapshot: &mut Snapshot) {
    let mut keys: FxHashSet<Sym> = FxHashSet::default();
    let mut names: FxHashSet<Sym> = FxHashSet::default();
    let mut features: FxHashSet<Sym> = FxHashSet::default();
    for rules in &snapshot.node_rules {
        keys.extend(rules.node_selector.iter().map(|&(key, _)| key));
        features.extend(&rules.features);
        names.insert(rules.node_name);
        for term in rules.affinity.iter().flat_map(|a| &a.0) {
            keys.extend(term.labels.iter().map(|r| r.key));
            names.extend(term.fields.iter().flat_map(|r| &r.values));
        }
    }
    let mut index: FxHashMap<Visible, NodeClassIdx> = FxHashMap::default();
    let mut classes: Vec<NodeClass> = Vec::new();
    for (at, node) in snapshot.nodes.iter_mut().enumerate() {
        let visible = Visible {
            labels: node.labels.pairs().iter().filter(|(key, _)| keys.contains(key)).copied().collect(),
            taints: node.taints.clone(),
            unschedulable: node.unschedulable,
            features: node.features.iter().filter(|f| features.contains(f)).copied().collect(),
            name: names.contains(&node.name).then_some(node.name),
        };
        let class = *index.entry(visible).or_insert_with(|| {
            classes.push(NodeClass { representative: NodeIdx::new(at), nodes: Vec::new() });
            NodeClassIdx::new(classes.len() - 1)
        });
        classes[class.at()].nodes.push(NodeIdx::new(at));
        node.class = class;
    }
    snapshot.node_classes = classes;
}
