//! Throughput by candidate: a dot, its 95 % interval as a whisker, and the
//! trials behind it as faint dots. Dots and not bars, because a bar hides its
//! interval; from zero all the same, so that twice as far is twice as much.
//! Beside a server that is ten times as fast the whisker of a slow one is
//! narrower than its dot, so a second panel draws every row once more around
//! its own point, in percent.

use std::fmt::Write;

use prony_analysis::experiment::{PlanAnalysis, Row};
use prony_record::Estimate;

use super::svg::{Layout, Margins, Plot, Scale, color, escape};
use crate::{format, words};

/// Where things stand, in pixels of the drawing.
struct Geometry {
    width: f64,
    row_height: f64,
    margins: Margins,
    /// The second panel's edges.
    spread: (f64, f64),
    x_ticks: usize,
}

impl Geometry {
    fn of(layout: Layout) -> Geometry {
        match layout {
            Layout::Wide => Geometry {
                width: 1040.0,
                row_height: 30.0,
                margins: [30.0, 446.0, 40.0, 186.0],
                spread: (656.0, 868.0),
                x_ticks: 5,
            },
            Layout::Narrow => Geometry {
                width: 380.0,
                row_height: 46.0,
                margins: [30.0, 164.0, 40.0, 8.0],
                spread: (256.0, 362.0),
                x_ticks: 3,
            },
        }
    }
}

/// The plot, for one layout. `colors` gives each row's colour.
pub(super) fn plot(plan: &PlanAnalysis, baseline: Option<&str>, colors: &[usize], layout: Layout) -> String {
    let geometry = Geometry::of(layout);
    let margins = geometry.margins;
    let height = margins[0] + plan.rows.len() as f64 * geometry.row_height + margins[2];
    let title = format!("Requests per second by candidate, {}", plan.describe);
    let mut plot = Plot::new(layout.class(), (geometry.width, height), margins, &title, &description(plan));
    let scale = Scale::from_zero(plan.rows.iter().flat_map(extent), geometry.x_ticks);
    let ticks: Vec<_> =
        scale.ticks(geometry.x_ticks).iter().map(|t| (scale.place(*t), format::si(*t))).collect();
    plot.x_axis(&ticks);
    plot.text("axis", (plot.right, plot.bottom + 34.0), "end", "requests per second");
    let spread = Spread::of(plan, geometry.spread);
    spread.axis(&mut plot, layout);
    if let Some(row) = plan.rows.iter().find(|r| Some(r.candidate.as_str()) == baseline) {
        mark_baseline(&mut plot, row, scale);
    }
    for (i, (row, k)) in plan.rows.iter().zip(colors).enumerate() {
        let middle = plot.top + (i as f64 + 0.5) * geometry.row_height;
        let summary = escape(&format!("{}: {} req/s", row.candidate, figure(row)));
        plot.raw(&format!("<g class=\"row {}\" data-k=\"{k}\"><title>{summary}</title>", color(*k)));
        let y = write_names(&mut plot, row, middle, layout);
        plot.line("rail", (plot.left, y), (plot.right, y));
        draw_row(&mut plot, row, scale, y);
        spread.draw(&mut plot, row, y);
        plot.raw("</g>");
    }
    plot.finish()
}

/// The figures that the axis must hold.
fn extent(row: &Row) -> Vec<f64> {
    let mut values = row.per_trial_requests_per_s.clone();
    if let Some(e) = &row.requests_per_s {
        values.extend([Some(e.point), e.ci_high].into_iter().flatten());
    }
    values
}

fn mark_baseline(plot: &mut Plot, row: &Row, scale: Scale) {
    let Some(e) = &row.requests_per_s else { return };
    let x = plot.x(scale.place(e.point));
    plot.line("base", (x, plot.top - 6.0), (x, plot.bottom));
    let label = format!("baseline {}", format::truncate(&row.candidate, 18));
    let anchor = if x > (plot.left + plot.right) / 2.0 { "end" } else { "start" };
    plot.text("note", (x, plot.top - 12.0), anchor, &label);
}

/// The label and the figure; the answer is the height at which the marks belong.
fn write_names(plot: &mut Plot, row: &Row, middle: f64, layout: Layout) -> f64 {
    match layout {
        Layout::Wide => {
            plot.text(
                "label",
                (plot.left - 14.0, middle + 4.5),
                "end",
                &format::truncate(&row.candidate, 19),
            );
            plot.text("value", (plot.width - 2.0, middle + 4.5), "end", &figure(row));
            middle
        }
        Layout::Narrow => {
            plot.text("label", (plot.left, middle - 5.0), "start", &format::truncate(&row.candidate, 26));
            plot.text("value", (plot.width - 10.0, middle - 5.0), "end", &figure(row));
            middle + 11.0
        }
    }
}

fn draw_row(plot: &mut Plot, row: &Row, scale: Scale, y: f64) {
    for trial in row.per_trial_requests_per_s.iter().filter(|v| v.is_finite()) {
        let x = plot.x(scale.place(*trial));
        plot.raw(&format!("<circle class=\"one\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>"));
    }
    let Some(e) = &row.requests_per_s else { return };
    if let (Some(low), Some(high)) = (e.ci_low, e.ci_high) {
        let (from, to) = (plot.x(scale.place(low)), plot.x(scale.place(high)));
        whisker(plot, "whisker", (from, to), y, 7.0);
    }
    let x = plot.x(scale.place(e.point));
    if row.lower_bound {
        // An arrow: at least so much.
        let (from, to) = (x + 9.0, x + 20.0);
        plot.raw(&format!(
            "<path class=\"more\" d=\"M{from:.1} {y:.1}H{to:.1}m-4.5 -4.5l4.5 4.5l-4.5 4.5\"/>"
        ));
    }
    let hollow = if row.lower_bound { " hollow" } else { "" };
    plot.raw(&format!("<circle class=\"mark{hollow}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"));
}

/// A line with caps as long as `cap` to each side.
fn whisker(plot: &mut Plot, class: &str, (from, to): (f64, f64), y: f64, cap: f64) {
    let (top, bottom) = (y - cap, y + cap);
    plot.raw(&format!(
        "<path class=\"{class}\" d=\"M{from:.1} {top:.1}V{bottom:.1}M{from:.1} {y:.1}H{to:.1}M{to:.1} {top:.1}V{bottom:.1}\"/>"
    ));
}

/// The second panel: intervals and trials around each row's own point.
struct Spread {
    left: f64,
    right: f64,
    /// The share of the point at the panel's edges.
    most: f64,
}

impl Spread {
    fn of(plan: &PlanAnalysis, (left, right): (f64, f64)) -> Spread {
        let shares = plan.rows.iter().flat_map(|row| {
            let point = row.requests_per_s.as_ref().map_or(f64::NAN, |e| e.point);
            let ends = row.requests_per_s.iter().flat_map(|e| [e.ci_low, e.ci_high]).flatten();
            let all: Vec<f64> = ends.chain(row.per_trial_requests_per_s.iter().copied()).collect();
            all.into_iter().map(move |v| (v / point - 1.0).abs())
        });
        let Scale::Linear { high: most } = Scale::from_zero(shares, 2) else {
            return Spread { left, right, most: 1.0 };
        };
        Spread { left, right, most }
    }

    fn x(&self, share: f64) -> f64 {
        let middle = (self.left + self.right) / 2.0;
        middle + (share / self.most).clamp(-1.0, 1.0) * (self.right - self.left) / 2.0
    }

    fn axis(&self, plot: &mut Plot, layout: Layout) {
        // The outer labels lean inwards: the left one stands beside the first panel's last.
        for (share, sign, anchor) in [(-1.0, "−", "start"), (0.0, "", "middle"), (1.0, "+", "end")] {
            let x = self.x(share * self.most);
            plot.line("grid", (x, plot.top), (x, plot.bottom));
            let text = match sign {
                "" => "0".to_owned(),
                sign => format!("{sign}{} %", format::si(self.most * 100.0)),
            };
            plot.text("tick", (x, plot.bottom + 17.0), anchor, &text);
        }
        let middle = self.x(0.0);
        let heading = if layout == Layout::Wide { "each around its own point" } else { "around its point" };
        plot.text("note", (middle, plot.top - 12.0), "middle", heading);
    }

    fn draw(&self, plot: &mut Plot, row: &Row, y: f64) {
        let Some(Estimate { point, ci_low, ci_high, .. }) = &row.requests_per_s else { return };
        if *point == 0.0 {
            return;
        }
        plot.line("rail", (self.left, y), (self.right, y));
        let share = |v: f64| v / point - 1.0;
        for trial in row.per_trial_requests_per_s.iter().filter(|v| v.is_finite()) {
            let x = self.x(share(*trial));
            plot.raw(&format!("<circle class=\"near\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
        }
        if let (Some(low), Some(high)) = (ci_low, ci_high) {
            whisker(plot, "zoomed", (self.x(share(*low)), self.x(share(*high))), y, 6.0);
        }
    }
}

/// `≥ 81,240 ±0.9 %`, or `no figure`.
fn figure(row: &Row) -> String {
    match &row.requests_per_s {
        Some(e) => {
            let pm = words::plus_minus(e).map(|pm| format!("  {pm}")).unwrap_or_default();
            format!("{}{pm}", words::row_rate(row))
        }
        None => "no figure".to_owned(),
    }
}

fn description(plan: &PlanAnalysis) -> String {
    let mut text = "Dots with 95 % intervals, best first: ".to_owned();
    for (i, row) in plan.rows.iter().enumerate() {
        let separator = if i == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{} {}", row.candidate, figure(row));
    }
    text
}
