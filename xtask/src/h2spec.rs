//! `cargo xtask h2spec`: the cases of h2specd, the client side of h2spec, played against `prony load --http2`. h2specd
//! (github.com/summerwind/h2spec) breaks a rule of RFC 9113 or uses one of its freedoms on a port for each case, and
//! judges what the client sends back. Its version is pinned in xtask/h2spec/go.mod and go.sum; Go builds it into
//! target/.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs;

/// The fewest cases that are known to exist: fewer were not all.
const CASES_MIN: u32 = 57;
/// Ports are looked for from here on, below those that the kernel gives to clients.
const PORTS_FROM: u16 = 20_000;
const PORTS: u16 = 100;
const TRIES: u16 = 80;
/// A request of each case, on a connection that stays open behind its answer: what a case sends next must meet it open.
const LOAD: &str = "load --http2 -t 1 -c 1 -p 1 --rate 2 -d 500ms --warmup 0s --timeout 1s";

#[derive(Debug, PartialEq, Eq)]
struct Summary {
    cases: u32,
    passed: u32,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let prony = crate::prony(root)?;
    let h2specd = match build(root) {
        Ok(path) => path,
        Err(why) => {
            println!("skipped h2spec: {why}");
            return Ok(());
        }
    };
    let from = free_ports().ok_or("no hundred free ports in a row above 20,000: end what listens there")?;
    let client = format!("{} {LOAD}", prony.display());
    let mut play = Command::new(&h2specd);
    play.args(["--from-port", &from.to_string(), "--timeout", "1", "--exec", &client]);
    let text = programs::trimmed(&programs::output(&mut play)?.stdout);
    let summary = summary(&text).ok_or_else(|| format!("h2specd did not finish:\n{text}"))?;
    if summary.passed < summary.cases || summary.cases < CASES_MIN {
        return Err(format!("h2specd objects, or left cases out:\n{}", objections(&text)));
    }
    println!("ok h2spec: {} of {} cases", summary.passed, summary.cases);
    Ok(())
}

/// Builds h2specd where it is not built; the reason where that cannot be.
fn build(root: &Path) -> Result<PathBuf, String> {
    let path = root.join("target/h2specd");
    if path.exists() {
        return Ok(path);
    }
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(&path).arg("github.com/summerwind/h2spec/cmd/h2specd");
    programs::text(go.current_dir(root.join("xtask/h2spec"))).map(|_| path)
}

/// The first of [`PORTS`] ports in a row on which nobody listens.
fn free_ports() -> Option<u16> {
    let starts = (0..TRIES).map(|i| PORTS_FROM + i * PORTS);
    starts.into_iter().find(|from| {
        let held: Result<Vec<_>, _> =
            (*from..from + PORTS).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
        held.is_ok()
    })
}

/// From "57 tests, 57 passed, 0 skipped, 0 failed".
fn summary(text: &str) -> Option<Summary> {
    let line = text.lines().rev().find(|line| line.contains(" tests, "))?;
    let mut counts = line.split(", ").map(|part| part.split(' ').next()?.parse().ok());
    let (cases, passed) = (counts.next()??, counts.next()??);
    Some(Summary { cases, passed })
}

/// The cases that did not pass, each with the lines behind it that say why.
fn objections(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.contains('×')).peekable();
    let mut said: Vec<&str> = lines.by_ref().take_while(|line| !line.contains("Finished in")).collect();
    said.retain(|line| !line.contains('✔') && !line.trim().is_empty());
    said.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_counts_is_read() {
        let text = "Finished in 1.1 seconds\n57 tests, 55 passed, 0 skipped, 2 failed\naccept tcp: closed\n";
        assert_eq!(summary(text), Some(Summary { cases: 57, passed: 55 }));
        assert_eq!(summary("Finished"), None);
    }

    #[test]
    fn objections_are_the_lines_of_what_failed() {
        let text = "✔ 1: a\n × 2: b\n   -> must\n ✔ 3: c\nFinished in 1 seconds\n2 tests";
        assert_eq!(objections(text), " × 2: b\n   -> must");
    }
}
