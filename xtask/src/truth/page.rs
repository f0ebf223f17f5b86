//! What was found, as lines and as a page.

use std::fmt::Write as _;

use super::judge::Verdict;
use super::{Judged, Measured, Truths};
use crate::page::{NONE, list, or_none, table, verbatim};

pub(super) fn lines(one: &Measured) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for judged in &one.figures {
        let [expected, found, deviation] = shown(judged);
        let (name, verdict) = (name(judged), judged.verdict.word());
        let _ = writeln!(
            text,
            "  {name:28} expected {expected:>11}  found {found:>11}  {deviation:>12}  {verdict}"
        );
    }
    if let Some(why) = &one.failed {
        let _ = writeln!(text, "  nothing was measured: {why}");
    }
    let _ = writeln!(text, "  the machine: {}", one.noise.said());
    text
}

/// `p99_ns` is a field's name; its unit is in the value.
fn name(judged: &Judged) -> String {
    judged.figure.name.replace("_ns", "")
}

fn shown(judged: &Judged) -> [String; 3] {
    let figure = &judged.figure;
    let found = figure.found.map_or_else(|| "none".to_owned(), |found| figure.unit.show(found));
    [figure.unit.show(figure.expected), found, judged.deviation.clone().unwrap_or_else(|| NONE.to_owned())]
}

pub(super) fn summary(measured: &[Measured]) -> String {
    let count = |verdict| {
        measured.iter().flat_map(|one| &one.figures).filter(|judged| judged.verdict == verdict).count()
    };
    let words =
        [Verdict::Within, Verdict::Off, Verdict::TooNoisy].map(|v| format!("{} {}", count(v), v.word()));
    let failed = measured.iter().filter(|one| one.failed.is_some()).count();
    let failed = if failed > 0 { format!(", {failed} not measured") } else { String::new() };
    format!("{}{failed}", words.join(", "))
}

pub(super) fn page(truths: &Truths) -> String {
    let mut page = format!(
        "# Known answers, {}\n\n{}.\n\nWritten by `cargo xtask truth --store`: the release binary against truths that are \
         known by construction or by theory, on\nreal sockets of this machine. Where something else on the machine may have \
         moved a figure, that is said in place of a\nverdict: by `prony doctor` before and after each known answer, by the same \
         limits meanwhile (5 % of a core by other programs, 1 %\nstolen), and by the verdict `host_noisy` of the loads. The \
         tests hold the same truths in a simulated world, exactly.\n\n**{}.**\n\n{}\n",
        truths.date,
        crate::page::host(&truths.host),
        summary(&truths.answers),
        doctors(truths),
    );
    let mut rows = Vec::new();
    for one in &truths.answers {
        rows.extend(one.figures.iter().map(|judged| {
            let ([expected, found, deviation], figure) = (shown(judged), &judged.figure);
            let within = [figure.low, figure.high].map(|value| figure.unit.show(value)).join(" to ");
            let verdict = match judged.verdict {
                Verdict::Off => "**off**",
                other => other.word(),
            };
            [one.title.to_owned(), name(judged), expected, within, found, deviation, verdict.to_owned()]
        }));
        rows.extend(one.failed.as_ref().map(|why| {
            let why = format!("nothing was measured: {}", why.replace(['|', '\n'], " "));
            let mut row = [const { String::new() }; 7];
            (row[0], row[1]) = (one.title.to_owned(), why);
            row
        }));
    }
    let heads = "known answer | figure | expected | still within | found | deviation | verdict";
    page.push_str(&table(heads, "---|---|---|---|---|---|---", rows));
    page.push_str("\nWhy each is known, and what the machine did beside it:\n\n");
    let why = |one: &Measured| format!("{}: {}. The machine: {}.", one.title, one.why, one.noise.said());
    page.push_str(&list(truths.answers.iter().map(why)));
    let commands = |one: &Measured| format!("# {}\n{}", one.name, one.commands.join("\n"));
    page + "\n" + &verbatim(&truths.answers.iter().map(commands).collect::<Vec<_>>())
}

fn doctors(truths: &Truths) -> String {
    let mut text = String::new();
    for (when, doctor) in [("before", &truths.doctor_before), ("after", &truths.doctor_after)] {
        let measured = &doctor["measured"];
        let micros = |name: &str| or_none(measured[name].as_f64(), |ns| format!("{:.0} µs", ns / 1e3));
        let noise = or_none(measured["aa_noise_percent"].as_f64(), |p| format!("±{p:.1} %"));
        let why = doctor["not_measured"].as_str().map_or_else(String::new, |why| format!(" ({why})"));
        let _ = writeln!(
            text,
            "- `prony doctor` {when}{why}: A/A noise {noise}, floor {}, send lag {}.",
            micros("floor_p50_ns"),
            micros("send_lag_p50_ns")
        );
    }
    text
}

#[cfg(test)]
pub(super) fn without_a_doctor(answers: Vec<Measured>) -> Truths {
    let none = || serde_json::Value::Null;
    Truths {
        schema: super::SCHEMA,
        date: "2026-11-23".to_owned(),
        quick: false,
        host: none(),
        doctor_before: none(),
        doctor_after: none(),
        answers,
    }
}
