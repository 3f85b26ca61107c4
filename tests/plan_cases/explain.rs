//! `explain n1`, and the words of `plan`: why the node stays, and for each pod on it what the receivers say. Equal
//! answers are told once, by the receiver that comes closest.

use kubectl_repack::filter::SchedulerRules;
use kubectl_repack::plan::explain::{Answer, Explainer, PodExplanation, Refusal};
use kubectl_repack::plan::{Request, make};
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::snapshot::model::NodeIdx;

use crate::Outcome;
use crate::plan::request;
use crate::text::Command;
use crate::world::World;

/// Runs the command.
pub fn run(command: &Command, world: &mut World) -> Outcome {
    let mut args = command.args();
    let name = args.word("the node")?;
    let request = request(&mut args)?;
    args.done()?;
    let snapshot = world.snapshot()?;
    let node = snapshot.node_named(&name).ok_or_else(|| format!("there is no node {name:?}"))?;
    let planned = make(&snapshot, &request)?;
    let explanation = Explainer::new(&snapshot, &request, planned)?.node(node);
    let mut text = match (&explanation.kept, explanation.freed) {
        (_, true) => format!("{name}: would be freed\n"),
        (Some(why), _) => format!("{name}: {}: {}\n", why.code(), why.sentence(&snapshot)),
        (None, false) => format!("{name}: holds none of the resource\n"),
    };
    text.extend(explanation.pods.iter().map(|pod| line(&snapshot, &request, pod)));
    Ok(text)
}

fn line(snapshot: &Snapshot, request: &Request, pod: &PodExplanation) -> String {
    let rules = request.movability.rules_of(snapshot.text(snapshot.spec_of(pod.pod).scheduler));
    let answer = match &pod.answer {
        Answer::HoldsNothing => "holds nothing".to_owned(),
        Answer::Terminating => "is terminating".to_owned(),
        Answer::Finished => "has ended".to_owned(),
        Answer::Waits(None) => "waits for a node".to_owned(),
        Answer::Waits(Some(node)) => format!("has its room on {}", snapshot.node_name(*node)),
        Answer::MayNotMove(reason) => reason.sentence(snapshot),
        Answer::Moves(to) => format!("goes to {}", snapshot.node_name(*to)),
        Answer::Fits(nodes) => format!("fits {}", names(snapshot, nodes)),
        Answer::NothingLeft { alone, first } => {
            let first: Vec<String> = first
                .iter()
                .map(|&(pod, to)| format!("{} on {}", snapshot.pod_name(pod), snapshot.node_name(to)))
                .collect();
            format!("fits {} alone, nothing is left after {}", names(snapshot, alone), first.join(", "))
        }
        Answer::Withheld(nodes) => format!("fits {}, kept for a waiting gang", names(snapshot, nodes)),
        Answer::Nowhere(refusals) if refusals.is_empty() => "there is no receiver".to_owned(),
        Answer::Nowhere(_) => "fits nowhere".to_owned(),
    };
    let mut text = format!("  {}: {answer}\n", snapshot.pod_name(pod.pod));
    let nowhere: &[Refusal] = if let Answer::Nowhere(refusals) = &pod.answer { refusals } else { &[] };
    text.extend(nowhere.iter().chain(&pod.refusals).map(|refusal| refused(snapshot, rules, refusal)));
    text
}

fn refused(snapshot: &Snapshot, rules: SchedulerRules, refusal: &Refusal) -> String {
    let (nodes, failure) = (names(snapshot, &refusal.nodes), &refusal.failure);
    format!("    {nodes}: {}: {}\n", failure.plugin, failure.sentence(snapshot, rules))
}

fn names(snapshot: &Snapshot, nodes: &[NodeIdx]) -> String {
    let names: Vec<&str> = nodes.iter().map(|&node| snapshot.node_name(node)).collect();
    names.join(" ")
}
