//! What a source said, beside what was measured here.

use prony_analysis::conclusions::{Judged, Judgement};
use prony_analysis::experiment::ExperimentAnalysis;

use super::{Ink, TerminalOptions, push_wrapped};
use crate::format;
use crate::words;

/// Columns of the judgement and ours.
const TAIL_WIDTH: usize = 21;
/// Columns of the published figure at least.
const THERE_WIDTH: usize = 9;

/// The source's conclusions, judged, and how far its order agrees with ours. Nothing without a source.
pub(super) fn published(out: &mut String, analysis: &ExperimentAnalysis, options: &TerminalOptions) {
    let Some(published) = &analysis.published else { return };
    let ink = options.ink();
    let width = options.width();
    out.push('\n');
    let said = format!("{} said", format::printable(&published.source));
    let there = published.conclusions.iter().map(|judged| words::judged_there(judged).chars().count());
    let there = there.max().unwrap_or(0).max(THERE_WIDTH);
    let room = width.saturating_sub(there + TAIL_WIDTH + 1).max(20);
    out.push_str(&ink.dim(&format!(
        " {:<room$} {:>there$}  {:<9} {}",
        format::truncate(&said, room),
        "there",
        "",
        "here"
    )));
    out.push('\n');
    for judged in &published.conclusions {
        conclusion(out, judged, (room, there), width, ink);
    }
    for agreement in &published.agreement {
        push_wrapped(out, " ", &words::agreement(agreement), width, str::to_owned);
    }
    for doubt in &published.doubts {
        let text = format!("{}: {}", format::printable(&doubt.candidate), format::printable(&doubt.reason));
        push_wrapped(out, " doubt  ", &text, width, |line| ink.dim(line));
    }
    push_wrapped(out, " there  ", &format::printable(&published.method), width, |line| ink.dim(line));
    if let Some(facts) = words::facts(published) {
        push_wrapped(out, " facts  ", &facts, width, |line| ink.dim(line));
    }
    if let Some(missing) = words::not_here(published) {
        push_wrapped(out, " not measured here  ", &missing, width, |line| ink.dim(line));
    }
}

fn conclusion(out: &mut String, judged: &Judged, (room, column): (usize, usize), width: usize, ink: Ink) {
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
        let there = words::judged_there(judged);
        let here = words::judged_here(judged);
        out.push_str(format!(" {line:<room$} {there:>column$}  {word} {here}").trim_end());
        out.push('\n');
    }
    if let Some(why) = words::judged_why(judged) {
        push_wrapped(out, "   ", &why, width, |line| ink.dim(line));
    }
}
