//! Where CPU time per request grew, in words.

use prony_analysis::profile::{FunctionGrowth, ProfileComparison};
use prony_model::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::format;

const NAME_MAX: usize = 48;
/// Samples without a function's name, as a share, from which it is said what is missing.
const UNNAMED: f64 = 0.2;

/// The functions that grew most.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProfileTable {
    /// The answer in a sentence.
    pub(crate) title: String,
    /// Heads of its columns.
    pub(crate) head: Vec<String>,
    /// A function each.
    pub(crate) rows: Vec<Vec<String>>,
    /// What is to be known of it.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn profile(found: &ProfileComparison) -> ProfileTable {
    let (a, b) = (&found.a, &found.b);
    let grew = found.growth.ci_low.is_some_and(|low| low > 0.0);
    let answer = if grew { "where it grew" } else { "it did not grow for sure" };
    let title = format!(
        "CPU time per request under {}, {} against {}: {answer}, by {} µs (95 %: {})",
        found.plan,
        b.candidate,
        a.candidate,
        microseconds(found.growth.point, true),
        interval(&found.growth)
    );
    let head = ["function", &a.candidate, &b.candidate, "growth, µs", "95 %"].map(str::to_owned).to_vec();
    let mut notes = vec![format!(
        "Sampled by perf in one more trial of each ({} and {}), of which no other figure is made. A function's time is \
         with what it calls; callers that only hand their growth on are left out. Each interval is of that function's \
         samples alone, without what differs between starts.",
        format::count(a.samples, "sample", "samples"),
        format::thousands(b.samples)
    )];
    if !found.kernel {
        notes.push(
            "Without the kernel's part, which only root may sample (or `sysctl kernel.perf_event_paranoid=1`).".to_owned(),
        );
    }
    for side in [a, b].into_iter().filter(|side| 1.0 - side.named > UNNAMED) {
        notes.push(format!(
            "{:.0} % of the samples of {} are in code without names: build it with symbols (-g, and no strip); of \
             libraries install the packages with -dbgsym; Python has names from 3.12 on.",
            (1.0 - side.named) * 100.0,
            side.candidate
        ));
    }
    ProfileTable { title, head, rows: found.functions.iter().map(row).collect(), notes }
}

fn row(of: &FunctionGrowth) -> Vec<String> {
    let a = if of.new && of.a_ns == 0.0 { "new".to_owned() } else { microseconds(of.a_ns, false) };
    let name = format::truncate_middle(&format::printable(&of.function), NAME_MAX);
    vec![name, a, microseconds(of.b_ns, false), microseconds(of.growth.point, true), interval(&of.growth)]
}

fn interval(growth: &Estimate) -> String {
    let ends = growth.ci_low.zip(growth.ci_high);
    ends.map_or(String::new(), |(low, high)| {
        format!("{} to {}", microseconds(low, true), microseconds(high, true))
    })
}

fn microseconds(ns: f64, signed: bool) -> String {
    let us = ns / 1_000.0;
    let sign = if us < 0.0 {
        "−"
    } else if signed && us > 0.0 {
        "+"
    } else {
        ""
    };
    format!("{sign}{}", format::significant(us.abs(), 3))
}
