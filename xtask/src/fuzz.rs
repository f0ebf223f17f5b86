//! Runs the fuzz targets of fuzz/ with cargo-fuzz, one after the other.

use std::path::Path;
use std::process::Command;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::{files, programs};

/// Each target, and the longest input worth its time.
const TARGETS: [(&str, u32); 16] = [
    // More than the longest head, so that the limit of 256 KiB is reached.
    ("response", 300_000),
    // A frame has 16 KiB at most, a header block 256 KiB.
    ("http2", 20_000),
    ("frames", 20_000),
    // Some sixteen blocks.
    ("hpack", 4_096),
    ("plan", 4_096),
    ("recipe", 4_096),
    ("run_log", 16_384),
    ("histogram", 4_096),
    ("published", 4_096),
    ("targets", 4_096),
    ("values", 4_096),
    ("replay", 4_096),
    // Its head may have 8 KiB, 64 headers and a path of 1 KiB.
    ("page_request", 10_240),
    // Choices of what to change: all that are taken of an input.
    ("views", 1_024),
    // Four bytes a piece.
    ("fragments", 512),
    ("cgroup", 4_096),
];
/// An input that takes longer is a finding.
const INPUT_S: u32 = 10;
/// More resident memory is a finding, sanitizer included,
const MEMORY_MB: u32 = 1024;
/// and so is a single allocation of more: no input may make a reader ask for much.
const ALLOCATION_MB: u32 = 64;

#[derive(Parser)]
pub(crate) struct Asked {
    /// How long each runs
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Only these
    #[arg(value_parser = PossibleValuesParser::new(TARGETS.map(|(name, _)| name)))]
    targets: Vec<String>,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let Asked { seconds, targets } = asked;
    let compiler = Compiler::found().ok_or(
        "cargo-fuzz is not installed: cargo install cargo-fuzz. \
         (PRONY_FUZZ_CASES=1000000 cargo test any_ plays the same bodies without it.)",
    )?;
    println!("fuzz: {}", compiler.describe());
    let mut found = Vec::new();
    for (name, length) in TARGETS {
        if !targets.is_empty() && !targets.iter().any(|target| target == name) {
            continue;
        }
        println!("fuzz: {name} for {seconds} s");
        if !fuzz(root, compiler, name, length, *seconds)? {
            found.push(name);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} found something: the inputs are under fuzz/artifacts/; mend it, and keep each as a seed under fuzz/seeds/",
        found.join(", ")
    ))
}

/// What compiles the targets: sanitizers are unstable options of the compiler.
#[derive(Debug, Clone, Copy)]
enum Compiler {
    Nightly,
    /// The stable one, told to take unstable options, where no nightly is installed.
    Bootstrap,
}

impl Compiler {
    fn found() -> Option<Compiler> {
        [Compiler::Nightly, Compiler::Bootstrap].into_iter().find(|compiler| {
            programs::output(compiler.fuzz().arg("--version")).is_ok_and(|version| version.status.success())
        })
    }

    fn fuzz(self) -> Command {
        let mut command = Command::new("cargo");
        match self {
            Compiler::Nightly => command.args(["+nightly", "fuzz"]),
            Compiler::Bootstrap => command.arg("fuzz").env("RUSTC_BOOTSTRAP", "1"),
        };
        command
    }

    fn describe(self) -> &'static str {
        match self {
            Compiler::Nightly => "with the nightly compiler",
            Compiler::Bootstrap => "no nightly compiler: the stable one, with RUSTC_BOOTSTRAP=1",
        }
    }
}

/// Whether a target found nothing. What it learns goes to fuzz/corpus/, which git ignores.
fn fuzz(root: &Path, compiler: Compiler, name: &str, length: u32, seconds: u64) -> Result<bool, String> {
    let corpus = format!("fuzz/corpus/{name}");
    files::make(&root.join(&corpus))?;
    let status = compiler
        .fuzz()
        .args(["run", name, &corpus, &format!("fuzz/seeds/{name}"), "--"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={length}"))
        .arg(format!("-dict=fuzz/dictionaries/{name}.dict"))
        .arg(format!("-timeout={INPUT_S}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-malloc_limit_mb={ALLOCATION_MB}"))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo fuzz could not be run: {e}"))?;
    let findings = files::list(&root.join(format!("fuzz/artifacts/{name}")));
    if !status.success() && findings.is_ok_and(|findings| findings.is_empty()) {
        return Err(format!("{name} could not be run: see above"));
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read() {
        let read = |line: &str| {
            Asked::try_parse_from(["fuzz"].into_iter().chain(line.split_whitespace()))
                .map(|asked| (asked.seconds, asked.targets.join(" ")))
        };
        assert_eq!(read("").unwrap(), (120, String::new()));
        assert_eq!(read("plan --seconds 5 response").unwrap(), (5, "plan response".to_owned()));
        for wrong in ["--seconds", "--seconds 0", "--seconds x", "nothing"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_target_has_its_files() {
        let fuzz = super::super::root().join("fuzz");
        let manifest = files::read(&fuzz.join("Cargo.toml")).unwrap();
        for (name, _) in TARGETS {
            for file in ["fuzz_targets/NAME.rs", "bodies/NAME.rs", "dictionaries/NAME.dict", "seeds/NAME"] {
                assert!(fuzz.join(file.replace("NAME", name)).exists(), "{file} of {name}");
            }
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        }
    }
}
