//! Thresholds and whether they were met.

use prony_model::slo::{Decision, SloRecord};

use super::{Ink, TerminalOptions, push_wrapped};
use crate::format;

/// A line per threshold: its decision, the threshold, what was measured, and what would decide it.
pub fn thresholds(slos: &[SloRecord], options: &TerminalOptions) -> String {
    let mut out = String::new();
    push(&mut out, slos, options.width(), options.ink());
    out
}

pub(super) fn push(out: &mut String, slos: &[SloRecord], width: usize, ink: Ink) {
    let longest = slos.iter().map(|slo| slo.slo.chars().count()).max().unwrap_or(0).min(24);
    for slo in slos {
        let word = format!("{:<9}", slo.decision);
        let word = match slo.decision {
            Decision::Met => ink.good(&word),
            Decision::Missed => ink.bad(&word),
            Decision::Undecided => ink.warn(&word),
        };
        let name = format::printable(&slo.slo);
        let text = format!("{name:<longest$}  {}", format::printable(&slo.seen));
        // The word is written by itself, so that colour never counts in the layout.
        let mut lines = String::new();
        push_wrapped(&mut lines, &" ".repeat(12), &text, width, str::to_owned);
        out.push_str(&format!(" {word}  {}", lines.trim_start()));
        if let Some(what) = &slo.to_decide {
            let what = format!("to decide it: {}", format::printable(what));
            push_wrapped(out, "   → ", &what, width, str::to_owned);
        }
    }
}
