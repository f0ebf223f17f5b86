//! Throughput by candidate: a dot, its 95 % interval as a whisker, and the
//! trials behind it as faint dots. Dots and not bars, because a bar hides
//! its interval; from zero all the same, so that twice as far is twice as much.

use std::fmt::Write;

use prony_analysis::experiment::{PlanAnalysis, Row};

use super::svg::{Layout, Plot, Scale, color, escape};
use crate::{format, words};

/// The plot, for one layout. `colors` gives each row's colour.
pub(super) fn plot(plan: &PlanAnalysis, baseline: Option<&str>, colors: &[usize], layout: Layout) -> String {
    let rows = plan.rows.len() as f64;
    let (row_height, width, margins) = match layout {
        Layout::Wide => (30.0, 1040.0, [26.0, 178.0, 40.0, 190.0]),
        Layout::Narrow => (44.0, 380.0, [26.0, 14.0, 40.0, 14.0]),
    };
    let height = margins[0] + rows * row_height + margins[2];
    let title = format!("Requests per second by candidate, {}", plan.describe);
    let mut plot = Plot::new(layout.class(), (width, height), margins, &title, &description(plan));
    let tick_count = if layout == Layout::Wide { 6 } else { 4 };
    let scale = Scale::from_zero(plan.rows.iter().flat_map(extent), tick_count);
    let ticks: Vec<_> = scale.ticks(tick_count).iter().map(|t| (scale.place(*t), format::si(*t))).collect();
    plot.x_axis(&ticks);
    plot.text("axis", (plot.right, plot.bottom + 34.0), "end", "requests per second");
    if let Some(row) = plan.rows.iter().find(|r| Some(r.candidate.as_str()) == baseline) {
        mark_baseline(&mut plot, row, scale, layout);
    }
    for (i, (row, k)) in plan.rows.iter().zip(colors).enumerate() {
        let y = plot.top + (i as f64 + 0.5) * row_height;
        draw_row(&mut plot, row, *k, scale, y, layout);
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

fn mark_baseline(plot: &mut Plot, row: &Row, scale: Scale, layout: Layout) {
    let Some(e) = &row.requests_per_s else { return };
    let x = plot.x(scale.place(e.point));
    plot.line("base", (x, plot.top - 6.0), (x, plot.bottom));
    let longest = if layout == Layout::Wide { 40 } else { 24 };
    let label = format!("baseline {}", format::truncate(&row.candidate, longest));
    let anchor = if x > (plot.left + plot.right) / 2.0 { "end" } else { "start" };
    plot.text("note", (x, plot.top - 12.0), anchor, &label);
}

fn draw_row(plot: &mut Plot, row: &Row, k: usize, scale: Scale, y: f64, layout: Layout) {
    let figure = figure(row);
    let summary = format!("{}: {figure} req/s", row.candidate);
    plot.raw(&format!("<g class=\"row {}\" data-k=\"{k}\"><title>{}</title>", color(k), escape(&summary)));
    let y = match layout {
        Layout::Wide => {
            let label = format::truncate(&row.candidate, 25);
            plot.text("label", (plot.left - 14.0, y + 4.5), "end", &label);
            plot.text("value", (plot.width - 2.0, y + 4.5), "end", &figure);
            y
        }
        Layout::Narrow => {
            plot.text("label", (plot.left, y - 5.0), "start", &format::truncate(&row.candidate, 26));
            plot.text("value", (plot.right, y - 5.0), "end", &figure);
            y + 10.0
        }
    };
    plot.line("rail", (plot.left, y), (plot.right, y));
    for trial in row.per_trial_requests_per_s.iter().filter(|v| v.is_finite()) {
        let x = plot.x(scale.place(*trial));
        plot.raw(&format!("<circle class=\"one\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>"));
    }
    if let Some(e) = &row.requests_per_s {
        if let (Some(low), Some(high)) = (e.ci_low, e.ci_high) {
            let (a, b) = (plot.x(scale.place(low)), plot.x(scale.place(high)));
            let (top, bottom) = (y - 7.0, y + 7.0);
            plot.raw(&format!(
                "<path class=\"whisker\" d=\"M{a:.1} {top:.1}V{bottom:.1}M{a:.1} {y:.1}H{b:.1}M{b:.1} {top:.1}V{bottom:.1}\"/>"
            ));
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
    plot.raw("</g>");
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
