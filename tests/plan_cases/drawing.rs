//! Drawings: from text to pods per node, and back.

use kubectl_repack::plan::Plan;
use kubectl_repack::snapshot::Snapshot;
use kubectl_repack::snapshot::model::{NodeIdx, PodIdx, ResourceIdx};

use crate::world::letter_of;

/// Wider nodes are written as runs.
const WIDEST: i64 = 16;

/// One line: a node and its runs of equal glyphs.
pub struct Line {
    /// The node.
    pub node: String,
    /// Glyph and how many cards.
    pub runs: Vec<(char, u64)>,
}

impl Line {
    /// Reads `n1  aaab....`; a number repeats the glyph after it. No glyphs at all is a node without cards.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let node = words.next().ok_or("a drawn line needs a node")?.to_owned();
        let mut runs: Vec<(char, u64)> = Vec::new();
        let mut digits = String::new();
        for glyph in words.flat_map(str::chars) {
            match glyph {
                '0'..='9' => digits.push(glyph),
                'a'..='z' | '#' | '.' => {
                    let count =
                        if digits.is_empty() { 1 } else { digits.parse().map_err(|_| "too many cards")? };
                    digits.clear();
                    match runs.last_mut() {
                        Some((last, cards)) if *last == glyph => *cards += count,
                        _ => runs.push((glyph, count)),
                    }
                }
                other => return Err(format!("{other:?} is no glyph")),
            }
        }
        if digits.is_empty() { Ok(Self { node, runs }) } else { Err(format!("{digits} repeats nothing")) }
    }
}

/// The cluster after a plan: a line per node that provides the resource, in the order of the drawing.
pub fn after(snapshot: &Snapshot, resource: ResourceIdx, nodes: &[String], plan: &Plan) -> String {
    let width = nodes.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for name in nodes {
        let Some(node) = snapshot.node_named(name) else { continue };
        let cards = snapshot.node(node).allocatable[resource.at()];
        if cards == 0 {
            continue;
        }
        let freed = if plan.freed.contains(&node) { "  <- freed" } else { "" };
        text.push_str(&format!(
            "  {name:width$}  {}{freed}\n",
            glyphs(snapshot, resource, node, cards, plan)
        ));
    }
    text
}

fn glyphs(snapshot: &Snapshot, resource: ResourceIdx, node: NodeIdx, cards: i64, plan: &Plan) -> String {
    let moves = |pod: PodIdx| plan.moves.iter().find(|m| m.pod == pod);
    let standing = snapshot.pods_on[node.at()].iter().copied();
    let stays = standing.filter(|&pod| moves(pod).is_none_or(|m| m.to == node));
    let arrives = plan.moves.iter().filter(|m| m.to == node && m.from != node).map(|m| m.pod);
    let mut runs: Vec<(String, i64)> = Vec::new();
    for pod in stays.chain(arrives) {
        let amount = snapshot.charged(pod, resource);
        if amount > 0 {
            let letter = letter_of(snapshot.pod_name(pod));
            match runs.last_mut() {
                Some((last, cards)) if last == letter => *cards += amount,
                _ => runs.push((letter.to_owned(), amount)),
            }
        }
    }
    let used: i64 = runs.iter().map(|run| run.1).sum();
    runs.push((".".to_owned(), (cards - used).max(0)));
    let draw = |(glyph, count): &(String, i64)| match (*count, cards > WIDEST) {
        (0, _) => String::new(),
        (count, true) => format!("{count}{glyph}"),
        (count, false) => glyph.repeat(usize::try_from(count).unwrap_or(0)),
    };
    runs.iter().map(draw).collect()
}
