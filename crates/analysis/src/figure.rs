//! What is known of a figure. Every figure is an entry of `figure/table.rs`.

use std::fmt;
use std::ops::Deref;

use prony_model::server::ServerSamples;
use prony_model::trial::{Outcome, PERCENTILES, Trial};
use prony_model::unit::Unit;
use prony_stats::CONFIDENCE;
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::numbers::real;

mod table;

pub(crate) use table::FIGURES;

#[derive(Debug)]
pub struct Entry {
    /// Its name in claims, conditions of `--fail-if` and `history --figure`.
    pub name: &'static str,
    /// Its field in a row of `prony.analysis/1` and its column in CSV.
    pub field: &'static str,
    pub title: &'static str,
    pub explain: &'static str,
    /// Its name with its unit, above a column of a comparison and of a Markdown table.
    pub head: &'static str,
    pub terminal_column: Option<(&'static str, usize)>,
    /// Whether the terminal's table of a trial has a column of it, of a percentile.
    pub in_trial: bool,
    pub in_markdown: bool,
    pub unit: Unit,
    pub more_is_better: bool,
    pub better_and_worse: [&'static str; 2],
    /// The smallest difference that matters unless somebody says otherwise, as a share: within it, two are equivalent.
    pub smallest_difference: f64,
    pub over_trials: OverTrials,
    pub ranked: bool,
    /// Whether `prony history` follows it: it is above 0, and no other figure's reciprocal.
    pub in_history: bool,
    /// What verdicts that affect it call it: `throughput`, `response`; empty where none does.
    pub affected_as: &'static str,
    /// Its family in OpenMetrics after `prony_trial_`, with its base unit; empty of what is a quantile of a summary there.
    pub metric: &'static str,
    /// The same figure of a published source, and how many of our units are one of theirs.
    pub published: Option<(&'static str, f64)>,
    of_trial: fn(&Trial, Option<&ServerSamples>) -> Option<FigureValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTrials {
    /// The geometric mean, with Student's interval on logarithms.
    GeometricMean,
    /// The mean, with Student's interval: of figures that may be 0 or below.
    Mean,
    /// The highest, without an interval: what a server needs is what it needed once.
    Highest,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figure(usize);

impl Figure {
    pub const THROUGHPUT: Figure = Figure::known("throughput");
    pub const P50: Figure = Figure::known("p50");
    pub(crate) const MEAN: Figure = Figure::known("mean");
    pub(crate) const FAILED_SHARE: Figure = Figure::known("failed_share");
    pub const P99: Figure = Figure::known("p99");
    pub const FIRST_BYTE_P99: Figure = Figure::known("first_byte_p99");
    pub const CPU_PER_REQUEST: Figure = Figure::known("cpu");
    pub const REQUESTS_PER_CPU: Figure = Figure::known("requests_per_cpu_s");
    pub const MEMORY: Figure = Figure::known("memory");
    pub const MEMORY_GROWTH: Figure = Figure::known("memory_growth");
    pub const STARTUP: Figure = Figure::known("startup");
    /// Completed requests per second that meet every response time of `--slo`: the last of those that are ranked.
    pub const GOODPUT: Figure = Figure::known("goodput");
    pub const INTERRUPTS: Figure = Figure::known("interrupts");

    /// The figure of a name that the table has; else it does not compile.
    const fn known(name: &str) -> Figure {
        let mut i = 0;
        while !same(FIGURES[i].name, name) {
            i += 1;
        }
        Figure(i)
    }

    /// Every figure, in the order of a view.
    pub fn all() -> impl Iterator<Item = Figure> {
        (0..FIGURES.len()).map(Figure)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }

    pub fn ranked() -> impl Iterator<Item = Figure> {
        Figure::all().filter(|figure| figure.ranked)
    }

    pub fn is_column(self) -> bool {
        self.in_markdown || self.terminal_column.is_some()
    }

    pub fn named(name: &str) -> Option<Figure> {
        Figure::all().find(|figure| figure.name == name)
    }

    /// The quantile of response times that it is: 0.99 of p99; `None` of what is no percentile.
    pub fn quantile(self) -> Option<f64> {
        PERCENTILES.iter().find(|(field, _)| *field == self.field).map(|(_, quantile)| *quantile)
    }

    /// The figure of a trial, and whether it is only known to be at least that: a throughput that the client limited, a
    /// percentile among requests unanswered, a response under overload. `None` where the trial lacks it.
    pub fn of_trial(self, trial: &Trial, server: Option<&ServerSamples>) -> Option<FigureValue> {
        let known = match self.quantile() {
            Some(_) => percentile_of(trial, self.field)?,
            None => (self.of_trial)(trial, server)?,
        };
        // A response under overload grows with the window's length.
        let grows = self.affected_as == "response" && trial.outcome == Outcome::Overloaded;
        Some(FigureValue { at_least: known.at_least || grows, ..known })
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl Deref for Figure {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &FIGURES[self.0]
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureValue {
    pub value: f64,
    pub at_least: bool,
}

/// A percentile of response by its field, or what it is longer than.
fn percentile_of(trial: &Trial, field: &str) -> Option<FigureValue> {
    let response = &trial.latency.response;
    let at_least = |than: &u64| FigureValue { value: real(*than), at_least: true };
    match response.percentile(field) {
        Some(value) => Some(FigureValue { value: real(value), at_least: false }),
        None => response.censored_at_ns.get(field).map(at_least),
    }
}

/// The Theil–Sen slope in bytes per second: a garbage collector's saw teeth do not bend it as they would least squares.
pub(crate) fn memory_growth(server: &ServerSamples) -> Option<f64> {
    let samples = server.columns.at_ns.iter().zip(&server.columns.rss_bytes);
    let in_window: Vec<(f64, f64)> =
        samples.filter_map(|(at, rss)| Some((real(u64::try_from(*at).ok()?) / 1e9, real(*rss)))).collect();
    let step = in_window.len().div_ceil(POINTS_MAX).max(1);
    let thinned: Vec<(f64, f64)> = in_window.into_iter().step_by(step).collect();
    theil_sen(&thinned, CONFIDENCE).map(|slope| slope.point)
}
