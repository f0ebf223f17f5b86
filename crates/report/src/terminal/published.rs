//! What a source published, beside what was measured.

use prony_analysis::conclusions::{Judged, Judgement};
use prony_analysis::experiment::ExperimentAnalysis;

use super::{Ink, TerminalOptions, push_wrapped};
use crate::format;
use crate::words;

/// Columns of the judgement and the measured figure.
const TAIL_WIDTH: usize = 21;
/// Columns of the published figure at least.
const PUBLISHED_WIDTH: usize = 9;

/// The source's claims, judged, and how far its ranking agrees with the measured one. Nothing without a source.
pub(super) fn published(out: &mut String, analysis: &ExperimentAnalysis, options: &TerminalOptions) {
    let Some(published) = &analysis.published else { return };
    let ink = options.ink();
    let width = options.width();
    out.push('\n');
    let title = format!("{} claims", format::printable(&published.source));
    let column = published.conclusions.iter().map(|judged| words::judged_published(judged).chars().count());
    let column = column.max().unwrap_or(0).max(PUBLISHED_WIDTH);
    let room = width.saturating_sub(column + TAIL_WIDTH + 1).max(20);
    out.push_str(&ink.dim(&format!(
        " {:<room$} {:>column$}  {:<9} {}",
        format::truncate(&title, room),
        "published",
        "",
        "measured"
    )));
    out.push('\n');
    for judged in &published.conclusions {
        claim(out, judged, (room, column), width, ink);
    }
    for agreement in &published.agreement {
        push_wrapped(out, " ", &words::agreement(agreement), width, str::to_owned);
    }
    for doubt in &published.doubts {
        let text = format!("{}: {}", format::printable(&doubt.candidate), format::printable(&doubt.reason));
        push_wrapped(out, " doubtful  ", &text, width, |line| ink.dim(line));
    }
    push_wrapped(out, " method  ", &format::printable(&published.method), width, |line| ink.dim(line));
    if let Some(facts) = words::facts(published) {
        push_wrapped(out, " facts  ", &facts, width, |line| ink.dim(line));
    }
    if let Some(missing) = words::not_measured(published) {
        push_wrapped(out, " not measured here  ", &missing, width, |line| ink.dim(line));
    }
}

fn claim(out: &mut String, judged: &Judged, (room, column): (usize, usize), width: usize, ink: Ink) {
    let lines = format::wrap(&format::printable(&judged.text), room);
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push_str(&format!("   {line}\n"));
            continue;
        }
        let word = format!("{:<9}", judged.judgement.word());
        let word = match judged.judgement {
            Judgement::Holds => ink.good(&word),
            Judgement::Fails => ink.bad(&word),
            Judgement::Undecided => ink.warn(&word),
        };
        let published = words::judged_published(judged);
        let measured = words::judged_measured(judged);
        out.push_str(format!(" {line:<room$} {published:>column$}  {word} {measured}").trim_end());
        out.push('\n');
    }
    if let Some(why) = words::judged_why(judged) {
        push_wrapped(out, "   ", &why, width, |line| ink.dim(line));
    }
}
