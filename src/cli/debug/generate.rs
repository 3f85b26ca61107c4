//! `debug generate --nodes N --seed S`: a fragmented cluster of any size, for benches of growth.
//!
//! Equal nodes of 8 cards and Volcano jobs whose pods were spread at random. The proportions are invented, in round
//! numbers: of 100 jobs 57 are one pod of 1 card, 5 one pod of 2, 13 one pod of 4, 7 one pod of 8; 12 have 2 to 12
//! pods of 1 card, 4 have 2 pods of 2 or 4, 2 have 2 pods of 8. Jobs come until 80 % of the cards are taken, every
//! second one ends, and others come until 60 % are taken: what is left is full of holes, and nine nodes of ten are
//! occupied. Every fifth gang needs only half of its pods.
//!
//! Objects are written one by one; equal arguments give equal bytes.
//!
//! May import: cli

use std::io::{self, Write};

use crate::cli::error::CliError;
use crate::cli::output::Out;

/// The resource of the generated nodes.
pub const RESOURCE: &str = "example.com/npu";

const CARDS: u32 = 8;
const CREATED: &str = "2026-01-01T00:00:00Z";
/// Random nodes that are tried before looking at all of them in turn.
const TRIES: usize = 40;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The high bits, scaled to the limit: no division, and a bias far below one in a million.
        let scaled = (u128::from(z) * limit as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }
}

struct Job {
    cards: u32,
    /// Cpu per card in milli, memory per card in mebibytes.
    cpu: u32,
    memory: u32,
    least: usize,
    nodes: Vec<usize>,
}

struct Cluster {
    free: Vec<u32>,
    taken: usize,
    jobs: Vec<Job>,
}

/// Prints the cluster.
pub fn run(nodes: usize, seed: u64, out: &mut Out) -> Result<(), CliError> {
    let mut bytes = Vec::new();
    write(nodes, seed, &mut bytes)?;
    out.data(&String::from_utf8_lossy(&bytes));
    Ok(())
}

/// Writes the cluster as one JSON List: nodes, PodGroups, pods.
///
/// # Errors
/// Those of the writer.
pub fn write(nodes: usize, seed: u64, out: &mut dyn Write) -> io::Result<()> {
    let cluster = place(nodes, &mut Random(seed));
    out.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")?;
    for node in 0..nodes {
        if node > 0 {
            out.write_all(b",")?;
        }
        write_node(node, out)?;
    }
    for (number, job) in cluster.jobs.iter().enumerate() {
        write_job(number, job, out)?;
    }
    out.write_all(b"\n]}\n")
}

fn place(nodes: usize, random: &mut Random) -> Cluster {
    let mut cluster = Cluster { free: vec![CARDS; nodes], taken: 0, jobs: Vec::new() };
    cluster.fill(80, random);
    for job in std::mem::take(&mut cluster.jobs) {
        if random.below(2) == 0 {
            cluster.release(&job);
        } else {
            cluster.jobs.push(job);
        }
    }
    cluster.fill(60, random);
    cluster
}

impl Cluster {
    fn fill(&mut self, per_cent: usize, random: &mut Random) {
        let goal = self.free.len() * CARDS as usize * per_cent / 100;
        let mut misses = 0;
        while self.taken < goal && misses < 1_000 {
            let (pods, cards) = draw(random);
            let mut job = Job {
                cards,
                cpu: [12_000, 16_000, 20_000, 22_000][random.below(4)],
                memory: [81_920, 131_072, 163_840, 188_416][random.below(4)],
                least: if random.below(5) == 0 { pods.div_ceil(2) } else { pods },
                nodes: Vec::new(),
            };
            while job.nodes.len() < pods
                && let Some(node) = self.node_for(cards, random)
            {
                self.free[node] -= cards;
                self.taken += cards as usize;
                job.nodes.push(node);
            }
            if job.nodes.len() == pods {
                self.jobs.push(job);
            } else {
                self.release(&job);
                misses += 1;
            }
        }
    }

    fn release(&mut self, job: &Job) {
        for &node in &job.nodes {
            self.free[node] += job.cards;
            self.taken -= job.cards as usize;
        }
    }

    fn node_for(&self, cards: u32, random: &mut Random) -> Option<usize> {
        let nodes = self.free.len();
        let fits = |node: &usize| self.free[*node] >= cards;
        let tried = (0..TRIES).map(|_| random.below(nodes.max(1))).filter(|&n| n < nodes).find(fits);
        tried.or_else(|| {
            let start = random.below(nodes.max(1));
            (start..nodes).chain(0..start).find(fits)
        })
    }
}

/// Pods of a job and cards of each.
fn draw(random: &mut Random) -> (usize, u32) {
    match random.below(100) {
        0..57 => (1, 1),
        57..62 => (1, 2),
        62..75 => (1, 4),
        75..82 => (1, 8),
        82..94 => (2 + random.below(11), 1),
        94..98 => (2, 2 << random.below(2)),
        _ => (2, 8),
    }
}

fn write_node(node: usize, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "\n{{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{{\"name\":\"node-{node:05}\",\
         \"uid\":\"0000000a-0000-4000-8000-{node:012}\",\"creationTimestamp\":\"{CREATED}\",\"labels\":{{\
         \"kubernetes.io/hostname\":\"node-{node:05}\",\"topology.kubernetes.io/zone\":\"zone-{}\"}}}},\
         \"spec\":{{}},\"status\":{{\"allocatable\":{{\"cpu\":\"192\",\"memory\":\"1536Gi\",\"pods\":\"256\",\
         \"ephemeral-storage\":\"1Ti\",\"{RESOURCE}\":\"{CARDS}\"}},\"conditions\":[{{\"type\":\"Ready\",\
         \"status\":\"True\",\"reason\":\"KubeletReady\"}}]}}}}",
        node % 3
    )
}

fn write_job(number: usize, job: &Job, out: &mut dyn Write) -> io::Result<()> {
    let (namespace, cards) = (format!("team-{}", number % 6), job.cards);
    let owner = format!(
        "[{{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"job-{number:06}\",\
         \"uid\":\"0000000b-0000-4000-8000-{number:012}\",\"controller\":true,\"blockOwnerDeletion\":true}}]"
    );
    write!(
        out,
        ",\n{{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{{\
         \"name\":\"job-{number:06}\",\"namespace\":\"{namespace}\",\
         \"uid\":\"0000000c-0000-4000-8000-{number:012}\",\"ownerReferences\":{owner}}},\"spec\":{{\
         \"minMember\":{},\"queue\":\"default\"}},\"status\":{{\"phase\":\"Running\"}}}}",
        job.least
    )?;
    let requests = format!(
        "{{\"cpu\":\"{}m\",\"memory\":\"{}Mi\",\"{RESOURCE}\":\"{cards}\"}}",
        cards * job.cpu,
        cards * job.memory
    );
    for (at, node) in job.nodes.iter().enumerate() {
        write!(
            out,
            ",\n{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"job-{number:06}-{at}\",\
             \"namespace\":\"{namespace}\",\"uid\":\"0000000d-{at:04}-4000-8000-{number:012}\",\
             \"creationTimestamp\":\"{CREATED}\",\"labels\":{{\"volcano.sh/job-name\":\"job-{number:06}\"}},\
             \"annotations\":{{\"scheduling.k8s.io/group-name\":\"job-{number:06}\"}},\
             \"ownerReferences\":{owner}}},\"spec\":{{\"schedulerName\":\"volcano\",\
             \"nodeName\":\"node-{node:05}\",\"restartPolicy\":\"OnFailure\",\"containers\":[{{\
             \"name\":\"main\",\"image\":\"registry.example/train:1\",\"resources\":{{\"requests\":{requests},\
             \"limits\":{requests}}}}}]}},\"status\":{{\"phase\":\"Running\",\"startTime\":\"{CREATED}\",\
             \"conditions\":[{{\"type\":\"Ready\",\"status\":\"True\"}}]}}}}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::read::read_all;
    use crate::snapshot::{BuildOptions, Builder};

    fn text(nodes: usize, seed: u64) -> Vec<u8> {
        let mut text = Vec::new();
        write(nodes, seed, &mut text).unwrap();
        text
    }

    #[test]
    fn equal_arguments_give_equal_bytes() {
        assert_eq!(text(50, 3), text(50, 3));
        assert_ne!(text(50, 3), text(50, 4));
    }

    #[test]
    fn the_cluster_is_readable_within_its_amounts_and_full_of_holes() {
        let mut builder = Builder::new(BuildOptions::default());
        read_all(text(1_000, 1).as_slice(), "generated.json", &mut builder).unwrap();
        let s = builder.finish().unwrap();
        let card = s.resource_named(RESOURCE).unwrap();
        let used: Vec<i64> =
            s.pods_on.iter().map(|pods| pods.iter().map(|&p| s.charged(p, card)).sum()).collect();
        let (occupied, taken) = (used.iter().filter(|&&u| u > 0).count(), used.iter().sum::<i64>());
        assert!(used.iter().all(|&u| u <= i64::from(CARDS)));
        assert!((4_790..4_900).contains(&taken), "{taken} cards are taken");
        assert!((850..990).contains(&occupied), "{occupied} nodes are occupied");
        let holes = used.iter().filter(|&&u| u > 0 && u < i64::from(CARDS)).count();
        assert!(holes > 500, "{holes} nodes have holes");
    }

    #[test]
    fn a_cluster_without_nodes_is_an_empty_list() {
        assert_eq!(text(0, 1), b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n]}\n");
    }
}
