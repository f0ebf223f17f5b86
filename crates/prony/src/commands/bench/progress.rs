//! What is shown while a run goes on: a bar for people, lines for logs.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use prony_lab::bench::{BenchEvent, Figures};
use prony_record::run_log::TrialResult;
use prony_record::trial::{Bound, Validity};
use prony_report::format;

use crate::printer::Printer;

/// A bar in steps of a thousandth of a trial, and a line per finished trial.
pub(super) struct Progress<'a> {
    printer: &'a Printer,
    bar: ProgressBar,
    quiet: bool,
    done: u32,
    left: Option<Duration>,
    last: String,
}

const STEPS: u64 = 1_000;

impl<'a> Progress<'a> {
    pub(super) fn new(printer: &'a Printer, quiet: bool) -> Progress<'a> {
        let bar = if quiet || !printer.watched() { ProgressBar::hidden() } else { ProgressBar::new(1) };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {elapsed} gone{prefix}\n{msg}") {
            bar.set_style(style);
        }
        Progress { printer, bar, quiet, done: 0, left: None, last: String::new() }
    }

    pub(super) fn hear(&mut self, event: &BenchEvent<'_>) {
        match event {
            BenchEvent::Begun { log, total, remaining } => {
                self.bar.set_length(u64::from(*remaining) * STEPS);
                let of = if remaining < total { format!(" of {total}") } else { String::new() };
                self.say(&format!("{remaining} trials{of}, recorded in {}", log.display()));
            }
            BenchEvent::Note(event) => {
                self.say(&format!("{}: {}", event.what.replace('_', " "), event.detail));
            }
            BenchEvent::TrialBegins { planned, done, .. } => {
                self.done = *done;
                self.bar.set_position(u64::from(*done) * STEPS);
                self.message(&format!(
                    "{} · {} · block {}",
                    planned.candidate,
                    planned.plan,
                    planned.block + 1
                ));
            }
            BenchEvent::Load { planned, snapshot, load_time } => {
                let whole = u64::try_from(load_time.as_nanos()).unwrap_or(u64::MAX).max(1);
                let part = (snapshot.elapsed_ns.min(whole) as f64 / whole as f64 * STEPS as f64) as u64;
                self.bar.set_position(u64::from(self.done) * STEPS + part.min(STEPS - 1));
                let phase = if snapshot.in_window { "" } else { " · warm-up" };
                self.message(&format!(
                    "{} · {} · block {}{phase} · {} answered",
                    planned.candidate,
                    planned.plan,
                    planned.block + 1,
                    format::thousands(snapshot.completed)
                ));
            }
            BenchEvent::TrialEnded { result, figures, done, remaining, left, .. } => {
                self.done = *done;
                self.left = *left;
                self.bar.set_position(u64::from(*done) * STEPS);
                self.last = line(result, figures.as_ref());
                self.say(&format!("{done:>4}/{remaining}  {}", self.last));
            }
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Plain lines where nobody watches; above the bar where somebody does, only what is no trial.
    fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        if self.bar.is_hidden() {
            self.printer.note(text);
        } else {
            self.bar.println(text);
        }
    }

    fn message(&self, now: &str) {
        if let Some(left) = self.left {
            self.bar.set_prefix(format!(", about {} s left", left.as_secs()));
        }
        self.bar.set_message(now.to_owned());
    }
}

fn line(result: &TrialResult, figures: Option<&Figures>) -> String {
    let who = format!(
        "{} · {} · block {}",
        result.planned.candidate,
        result.planned.plan,
        result.planned.block + 1
    );
    let Some(f) = figures else {
        let why = result.failure.as_deref().unwrap_or("nothing was measured");
        return format!("{who}: {why}");
    };
    let bound = if f.bound == Bound::Lower { "≥ " } else { "" };
    let p99 = f.p99_ns.map_or("–".to_owned(), |ns| format::duration(ns as f64));
    let failed =
        if f.failed > 0 { format!(", {} failed", format::thousands(f.failed)) } else { String::new() };
    let verdict = match f.validity {
        Validity::Valid => "",
        Validity::Suspect => ", SUSPECT",
        Validity::Invalid => ", INVALID",
    };
    format!(
        "{who}: {bound}{} req/s, p99 {p99}{failed}{verdict}",
        format::thousands(f.requests_per_s.round() as u64)
    )
}
