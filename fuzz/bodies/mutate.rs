//! Inputs by chance for the bodies, without libFuzzer: the seeds, and seeds cut, joined,
//! and strewn with bytes and words of the target's dictionary. So the stable compiler's
//! tests play a second of each target, and a seed that once failed is played for ever.
//!
//! `PRONY_FUZZ_CASES=1000000` plays more.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Plays every seed and so many inputs made of them; an input that panics is printed.
pub fn play(target: &str, cases: u64, body: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut files: Vec<PathBuf> = fs::read_dir(folder.join("seeds").join(target))
        .expect("the target has seeds")
        .map(|entry| entry.expect("a seed").path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a seed")).collect();
    assert!(seeds.len() >= 3, "{target} has {} seeds", seeds.len());
    let words =
        words(&fs::read_to_string(folder.join(format!("dictionaries/{target}.dict"))).expect("words"));
    seeds.iter().for_each(|seed| named(body, seed));
    let cases = std::env::var("PRONY_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    let mut chance = Chance(1);
    for _ in 0..cases {
        named(body, &mutated(&seeds, &words, &mut chance));
    }
}

fn named(body: fn(&[u8]), input: &[u8]) {
    // What went wrong is said by then; what is missing is with what.
    let played = catch_unwind(AssertUnwindSafe(|| body(input)));
    assert!(played.is_ok(), "the input was b\"{}\"", input.escape_ascii());
}

/// The words of a dictionary in libFuzzer's form: `"word"` a line, with \xNN, \\ and \".
fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let quoted = |line: &str| Some(line.split_once('"')?.1.rsplit_once('"')?.0.to_owned());
    assert!(dictionary.is_ascii(), "libFuzzer reads no other dictionary: write \\xNN");
    let lines = dictionary.lines().filter(|line| !line.starts_with('#'));
    let words: Vec<Vec<u8>> = lines.filter_map(quoted).map(|word| unescaped(&word)).collect();
    assert!(!words.is_empty(), "a dictionary has words");
    words
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("hexadecimal digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("hexadecimal digits"));
                rest = after;
            }
            (b'\\', [escaped, after @ ..]) => {
                bytes.push(*escaped);
                rest = after;
            }
            _ => bytes.push(*byte),
        }
    }
    bytes
}

fn mutated(seeds: &[Vec<u8>], words: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = seeds[chance.below(seeds.len())].clone();
    for _ in 0..=chance.below(6) {
        let at = chance.below(input.len() + 1);
        let to = at + chance.below(input.len() - at + 1).min(chance.below(32));
        match chance.below(8) {
            0 => drop(input.splice(at..to, [])),
            1 => drop(input.splice(at..at, [chance.byte()])),
            2 => drop(input.splice(at..(at + 1).min(input.len()), [chance.byte()])),
            3 => {
                let again = input[at..to].repeat(1 + chance.below(8));
                drop(input.splice(at..at, again));
            }
            4 => {
                let other = &seeds[chance.below(seeds.len())];
                let from = chance.below(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            5 => input.truncate(at),
            _ => drop(input.splice(at..to, words[chance.below(words.len())].iter().copied())),
        }
    }
    input
}

/// SplitMix64, as in the simulation of prony-load.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as usize % n
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}
