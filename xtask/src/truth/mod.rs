//! `cargo xtask truth [--store] [--quick] [--only NAMES]`: known answers on real sockets, as a benchmark. The release
//! binary is held against them as its users run it. What else the machine does is looked at before, during and after
//! each, and where it may have moved a figure, that is said in place of a verdict.

mod answers;
mod arrivals;
mod judge;
mod model;
pub(crate) mod noise;
mod page;
mod runs;

use std::path::Path;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::Value;

use answers::{ANSWERS, Answer};
use judge::{Figure, Verdict};
use noise::Noise;
use prony_host::Beside;
use runs::Runs;

use crate::files;
use crate::page::date;

/// The format's name; another number is another format.
const SCHEMA: &str = "prony.truth/1";

#[derive(Debug, Parser, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Keep the results, of all known answers at full length, in docs/benchmarks/
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    store: bool,
    /// Shorter loads and coarser searches
    #[arg(long)]
    quick: bool,
    /// Only these known answers
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(ANSWERS.map(|answer| answer.name)))]
    only: Vec<String>,
}

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

#[derive(Debug, Serialize)]
struct Truths {
    schema: &'static str,
    date: String,
    quick: bool,
    /// As `prony doctor` tells it, and what of that is kept.
    host: Value,
    doctor_before: Value,
    doctor_after: Value,
    answers: Vec<Measured>,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let prony = if asked.store { crate::own_prony(root) } else { crate::prony(root) }?;
    let folder = root.join("target/truth");
    files::make(&folder)?;
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
        let name = format!("truth-{}", truths.date);
        crate::page::store(root, &name, &page::page(&truths), Some(&json))?;
    }
    println!("{}", page::summary(&truths.answers));
    judged(&truths.answers)
}

fn measure(runs: &Runs, answer: &Answer, before: Vec<String>) -> Result<Measured, String> {
    println!("{}: {}", answer.name, answer.title);
    let begun = Beside::read();
    let outcome = (answer.measure)(runs);
    let mut meanwhile = noise::since(&begun);
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

#[cfg(test)]
mod tests;
