//! Mutated inputs never make the readers or the quantity parser panic, and never make them eat memory.
//!
//! `cargo test` runs a fixed number of rounds; `FUZZ_SECONDS=600 cargo test --release --test fuzz` (or `make fuzz`) goes on
//! for that long. Every run with the same number of rounds does the same: the generator is seeded. An input that fails is
//! written to `target/fuzz/` and named in the message; once the fault is repaired it belongs into `tests/fuzz/corpus/`.

// In a test a panic is the answer, and what it prints is for whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::format_push_string)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kubectl_repack::snapshot::quantity::Quantity;
use kubectl_repack::snapshot::read::{InputError, Origin, Sink, read_all};
use kubectl_repack::snapshot::view::object::Object;
use kubectl_repack::snapshot::write::SnapshotWriter;
use kubectl_repack::snapshot::{BuildOptions, Builder};

/// Rounds of a plain test run.
const ROUNDS: u64 = 1_500;
/// A mutated input stays below this, so that depth and size bombs come from structure, not from sheer length.
const LARGEST: usize = 64 * 1024;
/// Peak memory of the whole run, in MiB.
const MEMORY: u64 = 1_024;

/// Pieces that parsers treat specially.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "9223372036854775808",
    "-9223372036854775809",
    "1.5",
    "{}",
    "[]",
    "\"\"",
    "\n---\n",
    "\n- ",
    "  ",
    "\t",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "|\n",
    ">-\n",
    "# ",
    "%YAML 1.2\n",
    "...\n",
    "\u{feff}",
    "é",
    "\u{0}",
    "apiVersion",
    "kind",
    "metadata",
    "items",
    "spec",
    "status",
    "\"kind\":\"PodList\"",
    "\"kind\":\"List\"",
    "\"kind\":\"Snapshot\",\"version\":1",
    "\"apiVersion\":\"v1\"",
    "podgroup-",
    "__",
    "/",
    "99999999999999999999",
    "16Ei",
    "1n",
    "-0",
    "0x10",
    "1_000",
    "2026-01-01T00:00:00Z",
];

/// Xorshift: the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n.max(1) as u64).unwrap()
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let longest = if self.below(4) == 0 { len - start } else { (len - start).min(40) };
        start..start + self.below(longest + 1)
    }
}

/// One to four changes to one of the seeds.
fn mutate(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(4) {
        let range = dice.range(input.len());
        match dice.below(8) {
            0 => input.truncate(range.start),
            1 => drop(input.drain(range)),
            2 => {
                let piece = input[range.clone()].to_vec();
                let times = if dice.below(50) == 0 { 20_000 } else { 1 + dice.below(3) };
                let piece: Vec<u8> = piece.into_iter().take(12).collect::<Vec<_>>().repeat(times);
                input.splice(range.end..range.end, piece);
            }
            3 => {
                if let Some(byte) = input.get_mut(range.start) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                let piece = other[dice.range(other.len())].to_vec();
                input.splice(range, piece);
            }
            5 => {
                let word = WORDS[dice.below(WORDS.len())].as_bytes();
                let times = if dice.below(20) == 0 { 5_000 } else { 1 };
                input.splice(range.start..range.start, word.repeat(times));
            }
            6 => {
                // A value of another kind in place of a scalar.
                let word = WORDS[dice.below(WORDS.len())].as_bytes();
                input.splice(scalar_at(&input, range.start), word.iter().copied());
            }
            _ => {
                let word = WORDS[dice.below(WORDS.len())].as_bytes();
                input.splice(range, word.iter().copied());
            }
        }
        input.truncate(LARGEST);
    }
    input
}

/// The letters and digits around a position.
fn scalar_at(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let plain = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'-' || **b == b'.';
    let start = at - input[..at].iter().rev().take_while(plain).count();
    start..at + input[at..].iter().take_while(plain).count()
}

/// The kept corpus and the fixtures, as they are and as a snapshot file.
fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = ["tests/fuzz/corpus", "tests/fixtures/snapshot", "examples"]
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for seed in seeds.clone() {
        let mut writer = SnapshotWriter::default();
        if writer.read(&seed[..], "seed").is_ok() {
            let mut file = Vec::new();
            writer.write(&mut file, None).unwrap();
            // Single objects are changed in depth where a whole file is not.
            let lines = file.split(|b| *b == b'\n').filter(|line| line.starts_with(b"{\""));
            let objects: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
            seeds.extend(objects);
            seeds.push(file);
        }
    }
    seeds
}

/// Calls `check` on mutated inputs until the rounds or the seconds are over.
fn fuzz(name: &str, seed: u64, mut check: impl FnMut(&[u8]), mut next: impl FnMut(&mut Dice) -> Vec<u8>) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().map(|s| s.parse().expect("FUZZ_SECONDS is a number"));
    let end = seconds.map(|s: u64| Instant::now() + Duration::from_secs(s));
    let mut dice = Dice(seed);
    let mut rounds = 0;
    while end.map_or(rounds < ROUNDS, |end| Instant::now() < end) {
        let input = next(&mut dice);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&input))) {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
            fs::create_dir_all(&folder).unwrap();
            let file = folder.join(format!("{name}-{rounds}"));
            fs::write(&file, &input).unwrap();
            eprintln!("round {rounds}: the input is in {}", file.display());
            std::panic::resume_unwind(panic);
        }
        rounds += 1;
    }
    println!("{name}: {rounds} rounds");
}

/// An error must be one sentence.
fn one_sentence(error: &InputError) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 1_000_000 && !text.trim_end().contains('\n'), "{text:?}");
}

struct Count(u64);

impl Sink for Count {
    fn object(&mut self, _: Object<'_>, _: &Origin) -> Result<(), InputError> {
        self.0 += 1;
        Ok(())
    }
}

/// Peak memory of this process in MiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

#[test]
fn fuzz_reader_and_model() {
    let seeds = seeds();
    let check = |input: &[u8]| {
        let mut builder =
            Builder::new(BuildOptions { refuse_unknown_nodes: false, ..BuildOptions::default() });
        match read_all(input, "in", &mut builder) {
            Err(error) => one_sentence(&error),
            Ok(_) => {
                if let Err(error) = builder.finish() {
                    one_sentence(&error);
                }
            }
        }
    };
    for seed in &seeds {
        check(seed);
    }
    fuzz("reader", 0x9e37_79b9_7f4a_7c15, check, |dice| mutate(dice, &seeds));
    assert!(peak_memory().is_none_or(|peak| peak < MEMORY), "{:?} MiB", peak_memory());
}

#[test]
fn fuzz_snapshot_writer() {
    let seeds = seeds();
    let check = |input: &[u8]| {
        for anonymize in [false, true] {
            let mut writer = SnapshotWriter::default();
            if let Err(error) = writer.read(input, "in") {
                return one_sentence(&error);
            }
            if anonymize {
                writer.anonymize();
            }
            let objects = writer.stats().objects;
            let mut file = Vec::new();
            writer.write(&mut file, None).unwrap();
            let mut count = Count(0);
            let stats = read_all(&file[..], "out", &mut count).unwrap();
            assert_eq!((stats.objects, count.0), (objects, objects), "what was written is read again");
            let mut again = SnapshotWriter::default();
            again.read(&file[..], "out").unwrap();
            let mut twice = Vec::new();
            again.write(&mut twice, None).unwrap();
            assert!(twice == file, "writing again changes nothing");
        }
    };
    fuzz("writer", 0xd1b5_4a32_d192_ed03, check, |dice| mutate(dice, &seeds));
}

#[test]
fn fuzz_quantities() {
    const PIECES: &[&str] = &[
        "0",
        "1",
        "9",
        "00",
        "12",
        "999999999",
        "9223372036854775807",
        "170141183460469231731687303715884105727",
        ".",
        "-",
        "+",
        "e",
        "E",
        "n",
        "u",
        "m",
        "k",
        "M",
        "G",
        "T",
        "P",
        "Ki",
        "Mi",
        "Gi",
        "Ti",
        "Pi",
        "Ei",
        "i",
        " ",
        "é",
        "e9",
        "e-9",
        "e18",
        "e-18",
        "e99",
    ];
    let check = |input: &[u8]| {
        let text = std::str::from_utf8(input).unwrap();
        let Ok(quantity) = Quantity::parse(text) else { return };
        let (units, milli) = (quantity.ceil_units(), quantity.ceil_milli());
        assert!(i128::from(units) * 1_000_000_000 >= quantity.0, "{text}");
        assert!(milli == i64::MAX || i128::from(milli) * 1_000_000 >= quantity.0, "{text}");
        assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity), "{text}");
        let unsigned = text.trim_start_matches(['+', '-']);
        if !text.starts_with('-') {
            assert_eq!(Quantity::parse(&format!("-{unsigned}")).map(|q| q.0), Ok(-quantity.0), "{text}");
        }
    };
    fuzz("quantity", 0x2545_f491_4f6c_dd1d, check, |dice| {
        let pieces = 1 + dice.below(6);
        (0..pieces).flat_map(|_| PIECES[dice.below(PIECES.len())].bytes()).collect()
    });
}
