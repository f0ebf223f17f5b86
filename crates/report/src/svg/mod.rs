//! Plots as SVG: within a page, whose style they take, or as files with a style of their own. Their width is that of a
//! phone, from which they grow: text stays readable where the whole is scaled.

mod scale;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::format;
use crate::page::shell::escape;
use scale::Axis;
pub(crate) use scale::Scale;

/// The classes of lines and texts, and their colours, light and dark.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Units of the view box, of which a phone shows nine tenths of a pixel each.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 230.0;
/// Left of a chart, where the labels of its axis are, and the room at its other sides.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// A bar with its gap; a row of the legend.
const ROW: f64 = 22.0;
/// Characters of a label before it is cut, and the room that they take.
const LABEL_MAX: usize = 22;
const LABEL: f64 = 138.0;
const VALUE: f64 = 92.0;
/// Points of a line that are drawn: each has a pixel.
const POINTS_MAX: usize = 800;
pub(crate) const DOTS_MAX: usize = 120;
pub(crate) const LINES_MAX: usize = 6;

pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) said: String,
    pub(crate) drawn: Drawn,
}

pub(crate) enum Drawn {
    Bars(Vec<Bar>),
    Chart(Chart),
}

pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) shown: String,
    pub(crate) point: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

pub(crate) struct Chart {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) lines: Vec<Line>,
    pub(crate) marks: Vec<f64>,
}

#[derive(Default)]
pub(crate) struct Line {
    /// In the legend; one without a name is not in it.
    pub(crate) name: String,
    /// Which of [`LINES_MAX`] styles.
    pub(crate) style: usize,
    pub(crate) points: Vec<(f64, f64)>,
    /// Place, low, high.
    pub(crate) whiskers: Vec<(f64, f64, f64)>,
    pub(crate) dots: bool,
}

impl Line {
    pub(crate) fn new(name: &str, style: usize) -> Line {
        Line { name: name.to_owned(), style: style % LINES_MAX, ..Line::default() }
    }
}

impl Plot {
    pub(crate) fn is_empty(&self) -> bool {
        match &self.drawn {
            Drawn::Bars(bars) => bars.is_empty(),
            Drawn::Chart(chart) => chart.axes().is_none(),
        }
    }
}

pub(crate) fn inline(plot: &Plot) -> String {
    svg(plot, "", "")
}

pub(crate) fn standalone(plot: &Plot) -> String {
    svg(plot, " xmlns=\"http://www.w3.org/2000/svg\"", &format!("<style>{STYLE}</style>")) + "\n"
}

fn svg(plot: &Plot, namespace: &str, style: &str) -> String {
    let (height, drawn) = match &plot.drawn {
        Drawn::Bars(bars) => draw_bars(bars),
        Drawn::Chart(chart) => chart.axes().map_or((0.0, String::new()), |axes| draw_chart(chart, &axes)),
    };
    let (title, said) = (escape(&plot.title), escape(&plot.said));
    format!(
        "<svg{namespace} class=\"plot\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title}. {said}\">\
         <title>{title}</title><desc>{said}</desc>{style}{drawn}</svg>"
    )
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), said: &str) {
    let _ = write!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(said)); // a String takes all
}

fn path(out: &mut String, class: &str, d: &str) {
    if !d.is_empty() {
        let _ = write!(out, "<path class=\"{class}\" d=\"{d}\"/>"); // a String takes all
    }
}

/// From 0, so that a bar twice as long is twice as much.
fn draw_bars(bars: &[Bar]) -> (f64, String) {
    let ends = bars.iter().flat_map(|bar| [Some(bar.point), bar.interval.map(|(_, high)| high)]);
    let most = ends.flatten().filter(|end| end.is_finite()).fold(0.0, f64::max);
    let room = WIDTH - LABEL - VALUE;
    let place = |value: f64| if most > 0.0 { LABEL + (value / most).clamp(0.0, 1.0) * room } else { LABEL };
    let mut out = String::new();
    for (nth, bar) in bars.iter().enumerate() {
        let top = nth as f64 * ROW;
        let middle = top + ROW / 2.0;
        text(&mut out, "end", (LABEL - 6.0, middle + 4.0), &format::truncate_middle(&bar.label, LABEL_MAX));
        let long = (place(bar.point) - LABEL).max(0.0);
        let (y, thick) = (top + 4.0, ROW - 8.0);
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{LABEL}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{thick}\"/>"
        );
        if let Some((low, high)) = bar.interval {
            let (from, to) = (place(low), place(high));
            let (above, below) = (middle - 4.0, middle + 4.0);
            let ends = format!("M{from:.1} {above}V{below}M{to:.1} {above}V{below}");
            path(&mut out, "whisker", &format!("M{from:.1} {middle}H{to:.1}{ends}"));
        }
        text(&mut out, "value", (WIDTH - VALUE + 4.0, middle + 4.0), &bar.shown);
    }
    (bars.len() as f64 * ROW, out)
}

impl Chart {
    /// The axes over all that is drawn; `None` where nothing is.
    fn axes(&self) -> Option<(Axis, Axis)> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let ends = self.lines.iter().flat_map(|line| &line.whiskers).flat_map(|(_, low, high)| [*low, *high]);
        let x = self.x.over(points().map(|p| p.0))?;
        let y = self.y.over(points().map(|p| p.1).chain(ends))?;
        Some((x, y))
    }
}

fn draw_chart(chart: &Chart, (x, y): &(Axis, Axis)) -> (f64, String) {
    let base = TOP + HEIGHT - BOTTOM;
    let across = |value: f64| x.place(value).map(|share| LEFT + share * (WIDTH - LEFT - RIGHT));
    let up = |value: f64| y.place(value).map(|share| base - share * (base - TOP));
    let mut out = String::new();
    for (value, label) in y.ticks() {
        let Some(at) = up(value) else { continue };
        path(&mut out, "grid", &format!("M{LEFT} {at:.1}H{:.1}", WIDTH - RIGHT));
        text(&mut out, "end", (LEFT - 6.0, at + 4.0), &label);
    }
    for (value, label) in x.ticks() {
        let Some(at) = across(value) else { continue };
        path(&mut out, "grid", &format!("M{at:.1} {TOP}V{base:.1}"));
        // A label at the edge stays within the picture.
        let class = if at > WIDTH - 50.0 { "end" } else { "middle" };
        text(&mut out, class, (at, base + 16.0), &label);
    }
    for mark in chart.marks.iter().filter_map(|mark| across(*mark)) {
        path(&mut out, "mark", &format!("M{mark:.1} {TOP}V{base:.1}"));
    }
    for line in &chart.lines {
        let style = line.style;
        let thin = line.points.len().div_ceil(POINTS_MAX).max(1);
        let places = line.points.iter().step_by(thin).filter_map(|(a, b)| Some((across(*a)?, up(*b)?)));
        let places: Vec<(f64, f64)> = places.collect();
        let mut d = String::new();
        for (nth, (a, b)) in places.iter().enumerate() {
            let _ = write!(d, "{}{a:.1} {b:.1}", if nth == 0 { 'M' } else { 'L' }); // a String takes all
        }
        path(&mut out, &format!("line l{style}"), &d);
        let whiskers = line.whiskers.iter();
        let whiskers = whiskers.filter_map(|(at, low, high)| Some((across(*at)?, up(*low)?, up(*high)?)));
        let d: String = whiskers.map(|(at, low, high)| format!("M{at:.1} {low:.1}V{high:.1}")).collect();
        path(&mut out, "whisker", &d);
        for (a, b) in places.iter().filter(|_| line.dots && line.points.len() <= DOTS_MAX) {
            let _ = write!(out, "<circle class=\"d{style}\" cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"2.6\"/>"); // a String takes all
        }
    }
    legend(&mut out, chart, TOP + HEIGHT + 8.0)
}

/// Two names a row, each behind a piece of its line.
fn legend(out: &mut String, chart: &Chart, top: f64) -> (f64, String) {
    let named: Vec<&Line> = chart.lines.iter().filter(|line| !line.name.is_empty()).collect();
    for (nth, line) in named.iter().enumerate() {
        let (left, y) = (8.0 + (nth % 2) as f64 * WIDTH / 2.0, top + (nth / 2) as f64 * ROW);
        path(out, &format!("line l{}", line.style), &format!("M{left} {y}h26"));
        text(out, "value", (left + 32.0, y + 4.0), &format::truncate_middle(&line.name, LABEL_MAX));
    }
    (top + named.len().div_ceil(2) as f64 * ROW, std::mem::take(out))
}
