//! `cargo xtask truth [--store] [--quick] [--only NAMES]`: known answers on real sockets, as a benchmark.
//!
//! Tests hold the same truths in a simulated world, where they are exact and no machine matters. Here the release binary
//! is held against them as its users run it. What is found depends on what else the machine does, so that is looked at
//! before, during and after each known answer, and where it may have moved a figure, that is said in place of a verdict.

mod answers;
mod arrivals;
mod judge;
mod model;
pub(crate) mod noise;
mod page;
mod runs;

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use answers::{ANSWERS, Answer};
use judge::{Figure, Verdict};
use noise::{Noise, Reading};
use runs::Runs;

use crate::today::date;

const USAGE: &str = "usage: cargo xtask truth [--store] [--quick] [--only NAME,…]";
/// The format's name; another number is another format.
const SCHEMA: &str = "prony.truth/1";

#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    store: bool,
    quick: bool,
    /// Empty: all.
    only: Vec<String>,
}

/// A figure with what is said of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Judged {
    #[serde(flatten)]
    figure: Figure,
    deviation: Option<String>,
    verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Measured {
    name: &'static str,
    title: &'static str,
    why: &'static str,
    figures: Vec<Judged>,
    /// Where nothing could be measured: what Prony said.
    failed: Option<String>,
    noise: Noise,
    commands: Vec<String>,
}

/// All of them.
#[derive(Debug, Serialize)]
struct Truths {
    schema: &'static str,
    /// UTC, `2026-11-21`.
    date: String,
    quick: bool,
    /// As `prony doctor` tells it, and what of that is kept.
    host: Value,
    doctor_before: Value,
    doctor_after: Value,
    answers: Vec<Measured>,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let asked = read(arguments)?;
    let prony = root.join("target/release/prony");
    if !prony.exists() {
        return Err("target/release/prony is not built: make build".to_owned());
    }
    let folder = root.join("target/truth");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let runs = Runs::new(&prony, &folder, asked.quick);
    let wanted: Vec<&Answer> = ANSWERS
        .iter()
        .filter(|a| asked.only.is_empty() || asked.only.iter().any(|name| name == a.name))
        .collect();
    println!("truth: {} known answers; what the machine is like …", wanted.len());
    let doctor_before = noise::doctor(&prony, &folder, asked.quick)?;
    let mut seen = noise::distorting(&doctor_before);
    let mut measured = Vec::new();
    for answer in wanted {
        let one = measure(&runs, answer, seen)?;
        print!("{}", page::lines(&one));
        seen = one.noise.after.clone();
        measured.push(one);
    }
    let doctor_after = noise::doctor(&prony, &folder, asked.quick)?;
    let host = doctor_before["host"].clone();
    let [doctor_before, doctor_after] = [doctor_before, doctor_after].map(|doctor| noise::kept(&doctor));
    let truths = Truths {
        schema: SCHEMA,
        date: date(),
        quick: asked.quick,
        host,
        doctor_before,
        doctor_after,
        answers: measured,
    };
    if asked.store {
        let json = serde_json::to_string(&truths).map_err(|e| e.to_string())? + "\n";
        let only = asked.only.iter().fold(String::new(), |only, name| only + "-" + name);
        let name = format!("truth-{}{only}", truths.date);
        crate::stored::write(root, &name, &[("md", &page::page(&truths)), ("json", &json)])?;
    }
    println!("{}", page::summary(&truths.answers));
    judged(&truths.answers)
}

/// One known answer, on a machine that was like that before.
fn measure(runs: &Runs, answer: &Answer, before: Vec<String>) -> Result<Measured, String> {
    println!("{}: {}", answer.name, answer.title);
    let begun = Reading::now();
    let outcome = (answer.measure)(runs);
    let mut meanwhile = begun.until(&Reading::now());
    let (commands, said_noisy) = runs.take();
    meanwhile.extend(said_noisy);
    let after = noise::distorting(&noise::doctor(&runs.prony, &runs.folder, true)?);
    Ok(judge_all(answer, outcome, Noise { before, meanwhile, after }, commands))
}

/// What is said of what was found, under that noise.
fn judge_all(
    answer: &Answer,
    outcome: Result<Vec<Figure>, String>,
    noise: Noise,
    commands: Vec<String>,
) -> Measured {
    let quiet = noise.is_quiet();
    let (figures, failed) = match outcome {
        Ok(figures) => (figures, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let judged = |figure: Figure| {
        let (deviation, verdict) = (figure.deviation(), figure.verdict(quiet));
        Judged { figure, deviation, verdict }
    };
    let figures = figures.into_iter().map(judged).collect();
    let Answer { name, title, why, .. } = *answer;
    Measured { name, title, why, figures, failed, noise, commands }
}

/// Whether any figure is off on a quiet machine, or none could be measured on one.
fn judged(measured: &[Measured]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for one in measured {
        let off = one.figures.iter().filter(|judged| judged.verdict == Verdict::Off);
        wrong.extend(off.map(|judged| format!("{}: {} is off", one.name, judged.figure.name)));
        if let Some(why) = one.failed.as_ref().filter(|_| one.noise.is_quiet()) {
            wrong.push(format!("{}: {why}", one.name));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--store" => asked.store = true,
            "--quick" => asked.quick = true,
            "--only" => {
                let names = rest.next().ok_or(USAGE)?;
                asked.only.extend(names.split(',').map(str::to_owned));
            }
            other => return Err(format!("{other:?}: {USAGE}")),
        }
    }
    let known = |name: &&String| ANSWERS.iter().any(|answer| answer.name == name.as_str());
    if let Some(unknown) = asked.only.iter().find(|name| !known(name)) {
        let names: Vec<&str> = ANSWERS.iter().map(|answer| answer.name).collect();
        return Err(format!("there is no known answer {unknown:?}: {}", names.join(", ")));
    }
    if asked.store && (asked.quick || !asked.only.is_empty()) {
        return Err(
            "a result that is kept is of all known answers at full length: leave --quick and --only out"
                .to_owned(),
        );
    }
    Ok(asked)
}

#[cfg(test)]
mod tests;
