//! What a source published, beside what was measured.

use prony_analysis::conclusions::{JudgedConclusion, Judgement};
use prony_analysis::experiment::ExperimentAnalysis;

use super::lines::{Ink, Lines};
use crate::{document, format, words};

const TAIL_WIDTH: usize = 21;
/// Columns of the published figure at least.
const PUBLISHED_WIDTH: usize = 9;

/// The source's claims, judged, and how far its ranking agrees with the measured one. Nothing without a source.
pub(super) fn published(out: &mut Lines, analysis: &ExperimentAnalysis) {
    let Some(published) = &analysis.published else { return };
    out.line("");
    let title = format!("{} claims", format::printable(&published.source));
    let column = published.conclusions.iter().map(|judged| words::judged_published(judged).chars().count());
    let column = column.max().unwrap_or(0).max(PUBLISHED_WIDTH);
    let room = out.width.saturating_sub(column + TAIL_WIDTH + 1).max(20);
    let title = format::truncate(&title, room);
    let head = format!(" {title:<room$} {:>column$}  {:<9} measured", "published", "");
    out.line(&out.paint(Ink::DIM, &head));
    for group in published.conclusions.chunk_by(|a, b| a.by == b.by) {
        out.line(&out.paint(Ink::DIM, &format!(" {}", group[0].by)));
        group.iter().for_each(|judged| claim(out, judged, room, column));
    }
    out.blocks(&document::source_notes(published));
}

fn claim(out: &mut Lines, judged: &JudgedConclusion, room: usize, column: usize) {
    let lines = format::wrap(&format::printable(&judged.text), room);
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.line(&format!("   {line}"));
            continue;
        }
        let ink = match judged.judgement {
            Judgement::Holds => Ink::GOOD,
            Judgement::Fails => Ink::BAD,
            Judgement::Undecided | Judgement::Unjudged => Ink::WARN,
        };
        let word = out.paint(ink, &format!("{:<9}", words::loud(judged.judgement)));
        let published = words::judged_published(judged);
        let measured = words::judged_measured(judged);
        out.line(format!(" {line:<room$} {published:>column$}  {word} {measured}").trim_end());
    }
    if let Some(why) = words::judged_why(judged) {
        out.wrapped("   ", &why, Ink::DIM);
    }
}
