//! Thresholds and whether they were met.

use prony_model::slo::{Decision, SloRecord};

use super::lines::{Ink, Lines, TerminalOptions};

/// A line per threshold: its decision, the threshold, what was measured, and what would decide it.
pub fn thresholds(slos: &[SloRecord], options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    push(&mut out, slos);
    out.text
}

/// A line for each figure that somebody's threshold or condition names and that was not there to be judged.
pub fn not_judged(said: &[String], options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    said.iter().for_each(|why| out.wrapped("NOT JUDGED  ", why, Ink::BAD));
    out.text
}

pub(super) fn push(out: &mut Lines, slos: &[SloRecord]) {
    let longest = slos.iter().map(|slo| slo.slo.chars().count()).max().unwrap_or(0).min(24);
    for slo in slos {
        let ink = match slo.decision {
            Decision::Met => Ink::GOOD,
            Decision::Missed => Ink::BAD,
            Decision::Undecided => Ink::WARN,
        };
        let lead = format!(" {:<9}  ", slo.decision);
        let begins = out.text.len();
        out.wrapped(&lead, &format!("{:<longest$}  {}", slo.slo, slo.seen), Ink::PLAIN);
        // Painted afterwards, so that colour never counts in the layout.
        let painted = format!(" {}  ", out.paint(ink, &lead[1..10]));
        out.text.replace_range(begins..begins + lead.len(), &painted);
        if let Some(what) = &slo.to_decide {
            out.wrapped("   → ", &format!("to decide it: {what}"), Ink::PLAIN);
        }
    }
}
