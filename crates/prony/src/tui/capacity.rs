//! A search for the highest sustained rate: its state and its screen. Pure.

use std::time::Duration;

use prony_lab::capacity::{CapacityEvent, CapacityPlan};
use prony_load::Snapshot;
use prony_model::capacity::Probe;
use prony_report::format;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::bench::News;
use super::load::{Asked, LoadState};
use super::load_view;
use super::paper::{Paper, Theme};

/// Below so many rows of the load's own there is no room for its plots.
const PLOTS_MIN: usize = 11;

/// A search, as far as it has come.
#[derive(Debug, Clone)]
pub(crate) struct CapacityState {
    load: LoadState,
    slo: String,
    phase: &'static str,
    /// What is left at most, when the probe began.
    left: Option<Duration>,
    /// Whether a probe runs: loads between them are to drain, or to begin.
    probing: bool,
    probes: Vec<Probe>,
    news: Vec<News>,
}

impl CapacityState {
    /// A search that has not begun.
    pub(crate) fn of(plan: &CapacityPlan) -> CapacityState {
        let slo: Vec<String> = plan.slos.iter().map(ToString::to_string).collect();
        let slo = if slo.is_empty() { "no backlog".to_owned() } else { slo.join(", ") };
        CapacityState {
            load: LoadState::of(&plan.load),
            slo,
            phase: "",
            left: None,
            probing: false,
            probes: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Takes in what happened.
    pub(crate) fn hear(&mut self, event: &CapacityEvent<'_>) {
        match event {
            CapacityEvent::Begins { rate_per_s, phase, left } => {
                (self.phase, self.left, self.probing) = (*phase, Some(*left), true);
                self.load_anew(Asked::Rate(*rate_per_s));
            }
            CapacityEvent::Load { snapshot, load_time } => {
                if snapshot.elapsed_ns < self.load.now.elapsed_ns {
                    // A load between two probes has no rate that is asked for.
                    self.load_anew(if self.probing { self.load.asked.clone() } else { Asked::Nothing });
                }
                self.load.total_ns = u64::try_from(load_time.as_nanos()).ok();
                self.load.take(snapshot);
            }
            CapacityEvent::Ended(probe) => {
                self.probing = false;
                let mark = if probe.sustained { "✓" } else { "✗" };
                let text = format!("{mark} {:>9}/s  {}", format::rate(probe.rate_per_s), probe.why);
                self.news.push(News { text, stays: false });
                self.probes.push((*probe).clone());
            }
        }
    }

    fn load_anew(&mut self, asked: Asked) {
        self.load.asked = asked;
        self.load.now = Snapshot::default();
        self.load.timeline = Default::default();
    }

    /// What was said since this was last called.
    pub(crate) fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// What is left at most.
    fn left_ns(&self) -> Option<u64> {
        let left = u64::try_from(self.left?.as_nanos()).unwrap_or(u64::MAX);
        Some(left.saturating_sub(self.load.now.elapsed_ns))
    }

    /// The search in a line.
    pub(super) fn line(&self) -> String {
        let left =
            self.left_ns().map_or(String::new(), |ns| format!(" · at most {} left", format::elapsed(ns)));
        let phase = if self.probing { self.phase } else { "between two probes" };
        format!("{phase}{left} · {}", self.load.line())
    }

    /// The highest rate that was sustained, and the lowest that was not.
    fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let of = |sustained: bool| {
            self.probes.iter().filter(move |probe| probe.sustained == sustained).map(|probe| probe.rate_per_s)
        };
        (of(true).reduce(f64::max), of(false).reduce(f64::min))
    }
}

/// The whole screen of a search.
pub(super) fn draw(search: &CapacityState, paper: &mut Paper<'_>, notes: &[String], foot: &str) {
    let left = search.left_ns().map_or(String::new(), |ns| format!("at most {} left", format::elapsed(ns)));
    let title = Line::styled(search.load.title.clone(), Theme::strong());
    paper.ends(title, Line::styled(left, Theme::strong()));
    paper.ends(bracket(search, paper.theme), Line::styled(search.slo.clone(), Theme::dim()));
    if paper.height() >= 18 {
        paper.skip();
    }
    let below = notes.len() + 1;
    // Probes and the load share what is left; the load's plots come first.
    let room = paper.left().saturating_sub(below);
    let of_probes = (search.probes.len() + 2).min(room.saturating_sub(PLOTS_MIN + 1)).max(room.min(3));
    probes(search, paper, of_probes);
    let rate =
        search.load.asked.rate_at(0).map_or(String::new(), |rate| format!(" at {}/s", format::rate(rate)));
    let phase = match search.probing {
        true => search.phase,
        false if search.probes.is_empty() => "what a closed load carries",
        false => "between two probes",
    };
    let mut now = vec![Span::styled("▶ ", paper.theme.rate()), Span::styled(phase, Theme::strong())];
    if search.probing {
        now.push(Span::raw(rate));
    }
    let total = search.load.total_ns.map_or(String::new(), |ns| format!(" of {}", format::seconds(ns)));
    let passed = format!("{}{total}", format::seconds(search.load.now.elapsed_ns));
    paper.ends(Line::from(now), Line::styled(passed, Theme::dim()));
    if paper.left().saturating_sub(below) >= PLOTS_MIN - 2 {
        load_view::body(&search.load, paper, below);
    } else {
        load_view::rate(&search.load, paper);
        let rows = paper.left().saturating_sub(below);
        let facts = load_view::facts(&search.load, paper.theme, paper.width());
        facts.into_iter().take(rows).for_each(|line| paper.line(line));
    }
    load_view::feet(paper, notes, foot);
}

fn bracket(search: &CapacityState, theme: Theme) -> Line<'static> {
    let (sustained, failed) = search.bracket();
    let rate =
        |value: Option<f64>| value.map_or("–".to_owned(), |rate| format!("{}/s", format::rate(rate)));
    Line::from(vec![
        Span::styled("carries ", Theme::dim()),
        Span::styled(rate(sustained), theme.good().patch(Theme::strong())),
        Span::styled(" · not ", Theme::dim()),
        Span::styled(rate(failed), if failed.is_some() { theme.bad() } else { Style::new() }),
    ])
}

/// The last probes, each with a bar as long as its rate.
fn probes(search: &CapacityState, paper: &mut Paper<'_>, rows: usize) {
    let theme = paper.theme;
    let shown = &search.probes[search.probes.len().saturating_sub(rows.saturating_sub(1))..];
    let highest = search.probes.iter().map(|probe| probe.rate_per_s).fold(0.0, f64::max);
    let bar = (paper.width() / 4).min(30);
    for probe in shown {
        let (mark, style) = if probe.sustained { ("✓ ", theme.good()) } else { ("✗ ", theme.bad()) };
        let length = ((probe.rate_per_s / highest * bar as f64).round() as usize).clamp(1, bar.max(1));
        let p99 = probe.p99_ns.map_or("–".to_owned(), |ns| format::duration(ns as f64));
        let mut spans = vec![
            Span::styled(mark, style),
            Span::raw(format!("{:>10}/s ", format::rate(probe.rate_per_s))),
            Span::styled(format!("{:<bar$} ", "▬".repeat(length)), style),
        ];
        if paper.width() >= 60 {
            spans.push(Span::styled(format!("p99 {p99:>8}  "), Theme::dim()));
        }
        spans.push(Span::raw(format::printable(&probe.why)));
        paper.line(super::paper::cut(Line::from(spans), paper.width()));
    }
    if !shown.is_empty() && rows > shown.len() {
        paper.skip();
    }
}
