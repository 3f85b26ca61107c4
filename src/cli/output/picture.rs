//! The card picture: a line per node, a letter per card.
//!
//! A lower-case letter is a pod group whose pods may move, `#` a card that can not move, `.` a free one. The caller
//! gives every node; order, folding of equal idle nodes, counting of full ones and cutting are done here, so that
//! `report`, `dryrun` and `explain` show the same thing the same way. Order: nodes that would be freed, nodes that
//! would receive, the other nodes with a hole, idle ones; by name within each.
//!
//! May import: cli

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Table, printable};
use crate::cli::options::Glyphs;

/// A line has this many glyphs at most; wider nodes are written as runs (`12a 4b 48. x64`).
const WIDEST: u64 = 16;
/// Above this many lines a histogram of holes and the most useful lines are shown instead.
const MOST_ROWS: usize = 40;
/// How many lines are left then.
const USEFUL_ROWS: usize = 20;
/// What the 27th and every later pod group is drawn with.
const FURTHER_GROUP: char = '*';

/// Everything a picture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The resource whose cards are drawn.
    pub resource: String,
    /// The numbers of the first line.
    pub totals: Totals,
    /// Nodes that provide the resource, in any order.
    pub rows: Vec<Row>,
    /// Nodes that provide it too and are not among the rows.
    pub hidden: u64,
}

/// The numbers of the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Nodes that provide the resource.
    pub nodes: u64,
    /// Nodes in use.
    pub occupied: u64,
    /// The fewest nodes that could hold the load.
    pub optimum: u64,
    /// False when the optimum is only a lower bound, shown as `14+`.
    pub optimum_exact: bool,
    /// The rate with one decimal and without the sign: `5.0`.
    pub rate: String,
    /// Cards free on all nodes.
    pub free_cards: u64,
    /// The largest job that fits now: replicas and cards of each.
    pub largest_job: Option<(u64, u64)>,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub node: String,
    /// The pool it is counted in when there are too many nodes to draw; may be empty.
    pub pool: String,
    /// Cards it has.
    pub capacity: u64,
    /// Who holds cards, in the order to draw them.
    pub blocks: Vec<Block>,
    /// Free cards that a pod could use; may be less than what is drawn free.
    pub hole: u64,
    /// Whether nothing new is scheduled here.
    pub cordoned: bool,
    /// Where each group's pods would go when the node is freed; empty when it is not.
    pub moves: Vec<(String, String)>,
    /// Cards it would receive.
    pub receives: u64,
    /// Anything else to say: `kept (DaemonSet pod holds 1 card)`.
    pub note: String,
}

/// Cards of one holder on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Who holds them.
    pub holder: Holder,
    /// How many.
    pub cards: u64,
}

/// Who holds cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Pods of this group (`namespace/name`), which may move.
    Group(String),
    /// Something that can not move.
    Unmovable,
}

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Letters that may be used.
    pub glyphs: Glyphs,
    /// Every row, and the legend.
    pub wide: bool,
    /// Only the first line.
    pub summary: bool,
    /// Whether the header line of the rows is written.
    pub headers: bool,
}

/// Which letter stands for which group; keep one over several pictures to keep the letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letters {
    known: BTreeMap<String, char>,
    order: Vec<String>,
}

impl Letters {
    /// The letter of this group, a new one at its first appearance.
    pub fn of(&mut self, group: &str) -> char {
        if let Some(letter) = self.known.get(group) {
            return *letter;
        }
        let letter = ('a'..='z').nth(self.order.len()).unwrap_or(FURTHER_GROUP);
        self.known.insert(group.to_owned(), letter);
        self.order.push(group.to_owned());
        letter
    }

    /// The legend as a table, in the order of appearance.
    pub fn legend(&self) -> Table {
        let mut table = Table::new(["letter", "podgroup"]);
        for group in &self.order {
            table.row([self.known[group].to_string(), group.clone()]);
        }
        table
    }
}

impl Row {
    fn used(&self) -> u64 {
        self.blocks.iter().map(|block| block.cards).sum()
    }

    fn takes_part(&self) -> bool {
        !self.moves.is_empty() || self.receives > 0
    }

    fn is_idle(&self) -> bool {
        self.blocks.is_empty() && !self.takes_part()
    }

    /// Which part of the picture it stands in: freed, receiving, others, idle.
    fn place(&self) -> u8 {
        match (self.moves.is_empty(), self.receives, self.is_idle()) {
            (false, _, _) => 0,
            (true, 1.., _) => 1,
            (true, 0, false) => 2,
            (true, 0, true) => 3,
        }
    }

    /// Idle nodes of which one line can stand for all.
    fn is_alike(&self, other: &Self) -> bool {
        (self.capacity, self.hole, self.cordoned, &self.note)
            == (other.capacity, other.hole, other.cordoned, &other.note)
    }

    fn cards(&self, letters: &mut Letters) -> String {
        let mut runs: Vec<(char, u64)> = Vec::new();
        let free = self.capacity.saturating_sub(self.used());
        for block in &self.blocks {
            let letter = match &block.holder {
                Holder::Group(group) => letters.of(group),
                Holder::Unmovable => '#',
            };
            runs.push((letter, block.cards));
        }
        runs.push(('.', free));
        runs.retain(|(_, cards)| *cards > 0);
        if self.capacity.max(self.used()) <= WIDEST {
            return runs.iter().flat_map(|(letter, cards)| (0..*cards).map(|_| *letter)).collect();
        }
        let mut text = String::new();
        for (letter, cards) in runs {
            let _ = write!(text, "{cards}{letter} ");
        }
        let _ = write!(text, "x{}", self.capacity);
        text
    }

    fn state(&self, arrow: &str, alike: u64, letters: &mut Letters) -> String {
        let mut parts = Vec::new();
        if !self.moves.is_empty() {
            let moves: Vec<String> = self
                .moves
                .iter()
                .map(|(group, target)| format!("{} {arrow} {}", letters.of(group), printable(target)))
                .collect();
            parts.push(format!("would be freed: {}", moves.join(", ")));
        }
        if self.is_idle() {
            parts.push("idle".to_owned());
        }
        if !self.note.is_empty() {
            parts.push(self.note.clone());
        }
        if self.receives > 0 {
            parts.push(format!("receives {}", counted(self.receives, "card")));
        }
        if self.cordoned {
            parts.push("cordoned".to_owned());
        }
        if alike > 0 {
            parts.push(format!("like {alike} more"));
        }
        if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
    }
}

impl Picture {
    /// The picture as text; every line ends with a line feed. `letters` keeps its letters from picture to picture.
    pub fn draw(&self, drawing: Drawing, letters: &mut Letters) -> String {
        let mut text = self.first_line();
        if drawing.summary {
            return text;
        }
        let (mut rows, full) = self.lines_of_nodes(drawing.wide);
        let mut left_out = Vec::new();
        if !drawing.wide && rows.len() > MOST_ROWS {
            rows.sort_by_key(|(row, _)| (row.place(), Reverse(row.hole), &row.node));
            left_out = rows.split_off(USEFUL_ROWS);
            text.push_str(&self.histogram(drawing.headers));
            text.push('\n');
        }
        let arrow = if drawing.glyphs == Glyphs::Ascii { "->" } else { "→" };
        let mut table = Table::new(["node", "cards", "hole", "state"]);
        for (row, alike) in rows {
            let cards = row.cards(letters);
            table.row([row.node.clone(), cards, row.hole.to_string(), row.state(arrow, alike, letters)]);
        }
        if !table.is_empty() {
            text.push_str(&table.render(drawing.headers));
        }
        if !left_out.is_empty() {
            let dots = if drawing.glyphs == Glyphs::Ascii { "..." } else { "…" };
            let nodes: u64 = left_out.iter().map(|(_, alike)| alike + 1).sum();
            let _ = writeln!(text, "{dots} and {nodes} more (-o wide)");
        }
        text.push_str(&self.last_line(&full, drawing.wide, letters));
        if drawing.wide && !letters.order.is_empty() {
            text.push('\n');
            text.push_str(&letters.legend().render(drawing.headers));
        }
        text
    }

    fn first_line(&self) -> String {
        let totals = &self.totals;
        let mut line = format!(
            "{}   {}, {} occupied, optimum {}{}, rate {}%   {} free",
            printable(&self.resource),
            counted(totals.nodes, "node"),
            totals.occupied,
            totals.optimum,
            if totals.optimum_exact { "" } else { "+" },
            totals.rate,
            counted(totals.free_cards, "card"),
        );
        match totals.largest_job {
            Some((replicas, cards)) => {
                let _ = writeln!(line, ", largest job now {replicas}x{cards}");
            }
            None => line.push('\n'),
        }
        line
    }

    /// The nodes to draw, each with how many idle ones are alike it, and the full ones that are only counted. With
    /// `all` every node is drawn.
    fn lines_of_nodes(&self, all: bool) -> (Vec<(&Row, u64)>, Vec<&Row>) {
        let mut full = Vec::new();
        let mut lines: Vec<(&Row, u64)> = Vec::new();
        let mut sorted: Vec<&Row> = self.rows.iter().collect();
        sorted.sort_by_key(|row| (row.place(), &row.node));
        for row in sorted {
            if !all && row.hole == 0 && !row.takes_part() && !row.is_idle() {
                full.push(row);
                continue;
            }
            let alike = |line: &&mut (&Row, u64)| line.0.is_idle() && line.0.is_alike(row);
            match lines.iter_mut().rev().take_while(|_| !all && row.is_idle()).find(alike) {
                Some(line) => line.1 += 1,
                None => lines.push((row, 0)),
            }
        }
        (lines, full)
    }

    /// How many nodes have a hole of each size, per pool where there are pools.
    fn histogram(&self, headers: bool) -> String {
        let mut counts: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        for row in &self.rows {
            *counts.entry((row.pool.as_str(), row.hole)).or_default() += 1;
        }
        let pools = self.rows.iter().any(|row| !row.pool.is_empty());
        let mut table =
            if pools { Table::new(["pool", "hole", "nodes"]) } else { Table::new(["hole", "nodes"]) };
        for ((pool, hole), nodes) in counts {
            let pool = pools.then(|| pool.to_owned());
            table.row(pool.into_iter().chain([hole.to_string(), nodes.to_string()]));
        }
        table.render(headers)
    }

    fn last_line(&self, full: &[&Row], wide: bool, letters: &Letters) -> String {
        let cordoned = full.iter().filter(|row| row.cordoned).count();
        let mut line = String::new();
        if !wide {
            let _ = write!(line, "+ {}", counted(full.len() as u64, "full node"));
            if cordoned > 0 {
                let _ = write!(line, " ({cordoned} cordoned)");
            }
            line.push_str(", ");
        }
        let legend = if wide { "below" } else { "with -o wide" };
        let hidden = self.hidden;
        let further = if letters.known.values().any(|&letter| letter == FURTHER_GROUP) {
            format!("    {FURTHER_GROUP} = any further pod group")
        } else {
            String::new()
        };
        let _ = writeln!(
            line,
            "{hidden} hidden    letters = pod groups (legend {legend}){further}    # = cannot move"
        );
        line
    }
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
