//! A search for the highest sustained rate: its state and its screen. Pure.

use std::time::Duration;

use prony_lab::capacity::{CapacityEvent, CapacityPlan};
use prony_load::Snapshot;
use prony_model::capacity::Probe;
use prony_model::units::nanoseconds;
use prony_report::format;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, Theme, cut};
use super::load::{LoadState, Offered};
use super::load_view;
use super::view::{Message, View};

#[derive(Debug, Clone, Default)]
pub(crate) struct CapacityState {
    load: LoadState,
    slo: String,
    phase: &'static str,
    left: Option<Duration>,
    /// Whether a probe runs: the loads between them drain the server, or begin the search.
    probing: bool,
    probes: Vec<Probe>,
    messages: Vec<Message>,
}

impl CapacityState {
    pub(crate) fn of(plan: &CapacityPlan) -> CapacityState {
        let slo: Vec<String> = plan.slos.iter().map(ToString::to_string).collect();
        let slo = if slo.is_empty() { "no growing backlog".to_owned() } else { slo.join(", ") };
        CapacityState { load: LoadState::of(&plan.load), slo, ..CapacityState::default() }
    }

    pub(crate) fn on_event(&mut self, event: &CapacityEvent<'_>) {
        match event {
            CapacityEvent::Begins { rate_per_s, phase, left } => {
                (self.phase, self.left, self.probing) = (*phase, Some(*left), true);
                self.load_anew();
                self.load.offered = Offered::Rate(*rate_per_s);
            }
            CapacityEvent::Load { snapshot, plan } => {
                if snapshot.elapsed_ns < self.load.now.elapsed_ns {
                    self.load_anew();
                }
                self.load.offered = Offered::of(&plan.arrivals);
                self.load.total_ns = Some(nanoseconds(plan.warmup + plan.stop.duration.unwrap_or_default()));
                self.load.take(snapshot);
            }
            CapacityEvent::Ended(probe) => {
                self.probing = false;
                let mark = if probe.sustained { "✓" } else { "✗" };
                let text = format!("{mark} {:>9}/s  {}", format::rate(probe.rate_per_s), probe.why);
                self.messages.push(Message { text, stays: false });
                self.probes.push((*probe).clone());
            }
        }
    }

    fn load_anew(&mut self) {
        self.load.now = Snapshot::default();
        self.load.timeline = Default::default();
    }

    fn left_ns(&self) -> Option<u64> {
        Some(nanoseconds(self.left?).saturating_sub(self.load.now.elapsed_ns))
    }

    /// The highest rate at which a probe passed, and the lowest at which one failed: noise may have them cross.
    fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let of = |sustained: bool| {
            self.probes.iter().filter(move |probe| probe.sustained == sustained).map(|probe| probe.rate_per_s)
        };
        (of(true).reduce(f64::max), of(false).reduce(f64::min))
    }
}

impl View for CapacityState {
    fn draw(&self, _: Duration, canvas: &mut Canvas<'_>) {
        let left = self.left_ns().map_or(String::new(), |ns| format!("at most {} left", format::elapsed(ns)));
        let title = Line::styled(self.load.title.clone(), Theme::strong());
        canvas.ends(title, Line::styled(left, Theme::strong()));
        canvas.ends(bracket(self, canvas.theme), Line::styled(self.slo.clone(), Theme::dim()));
        if canvas.height() >= 18 {
            canvas.skip();
        }
        // Probes and the load share what is left; the load's plots come first.
        let room = canvas.left();
        // The load has a title and a free row above its plots, and one below.
        let of_probes =
            (self.probes.len() + 2).min(room.saturating_sub(load_view::PLOTS_MIN + 3)).max(room.min(3));
        probes(self, canvas, of_probes);
        let rate = self.load.offered.rate_at(0);
        let phase = match self.probing {
            true => self.phase,
            false if self.probes.is_empty() => "closed loop",
            false => "between two probes",
        };
        let mut now = vec![Span::styled("▶ ", canvas.theme.rate()), Span::styled(phase, Theme::strong())];
        if let Some(rate) = rate.filter(|_| self.probing) {
            now.push(Span::raw(format!(" at {}/s", format::rate(rate))));
        }
        canvas.ends(Line::from(now), Line::styled(load_view::passed(&self.load), Theme::dim()));
        load_view::body_or_facts(&self.load, canvas);
    }

    fn line(&self) -> String {
        let left =
            self.left_ns().map_or(String::new(), |ns| format!(" · at most {} left", format::elapsed(ns)));
        let phase = if self.probing { self.phase } else { "between two probes" };
        format!("{phase}{left} · {}", self.load.line())
    }

    fn messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }
}

fn bracket(search: &CapacityState, theme: Theme) -> Line<'static> {
    let (sustained, failed) = search.bracket();
    let rate =
        |value: Option<f64>| value.map_or("–".to_owned(), |rate| format!("{}/s", format::rate(rate)));
    Line::from(vec![
        Span::styled("passed ", Theme::dim()),
        Span::styled(rate(sustained), theme.good().patch(Theme::strong())),
        Span::styled(", failed ", Theme::dim()),
        Span::styled(rate(failed), if failed.is_some() { theme.bad() } else { Style::new() }),
    ])
}

/// The last probes, each with a bar as long as its rate.
fn probes(search: &CapacityState, canvas: &mut Canvas<'_>, rows: usize) {
    let theme = canvas.theme;
    let shown = &search.probes[search.probes.len().saturating_sub(rows.saturating_sub(1))..];
    let highest = search.probes.iter().map(|probe| probe.rate_per_s).fold(0.0, f64::max);
    let bar = (canvas.width() / 4).min(30);
    for probe in shown {
        let (mark, style) = if probe.sustained { ("✓ ", theme.good()) } else { ("✗ ", theme.bad()) };
        let length = ((probe.rate_per_s / highest * bar as f64).round() as usize).clamp(1, bar.max(1));
        let p99 = probe.p99_ns.map_or("–".to_owned(), |ns| format::duration(ns as f64));
        let mut spans = vec![
            Span::styled(mark, style),
            Span::raw(format!("{:>10}/s ", format::rate(probe.rate_per_s))),
            Span::styled(format!("{:<bar$} ", "▬".repeat(length)), style),
        ];
        if canvas.width() >= 60 {
            spans.push(Span::styled(format!("p99 {p99:>8}  "), Theme::dim()));
        }
        spans.push(Span::raw(format::printable(&probe.why)));
        canvas.line(cut(Line::from(spans), canvas.width()));
    }
    if !shown.is_empty() && rows > shown.len() {
        canvas.skip();
    }
}
