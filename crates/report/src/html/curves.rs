//! Latency by percentile, several overlaid. The horizontal axis is HdrHistogram's:
//! equal steps for 90, 99, 99.9 %, since what differs between servers is the tail.

use super::svg::{Layout, Plot, Scale, color, escape};
use crate::format;

/// One curve.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// The colour, which is also what the legend's buttons toggle.
    pub(super) k: usize,
    /// Its name.
    pub(super) name: String,
    /// Quantile from 0 to below 1, and nanoseconds.
    pub(super) points: Vec<(f64, f64)>,
}

/// Where a quantile stands, in decades: 0.9 at 1, 0.99 at 2.
fn decades(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

const TICKS: [(f64, &str); 8] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
    (0.999999, "99.9999 %"),
];

/// The plot, for one layout; empty when no curve has two points.
pub(super) fn plot(curves: &[Curve], title: &str, layout: Layout) -> String {
    let curves: Vec<Curve> = curves.iter().map(drawable).filter(|c| c.points.len() > 1).collect();
    if curves.is_empty() {
        return String::new();
    }
    let (size, margins, y_ticks) = match layout {
        Layout::Wide => ((1040.0, 430.0), [28.0, 160.0, 46.0, 66.0], 9),
        Layout::Narrow => ((380.0, 330.0), [28.0, 12.0, 46.0, 52.0], 8),
    };
    let mut plot = Plot::new(layout.class(), size, margins, title, &description(&curves));
    let all = || curves.iter().flat_map(|c| c.points.iter());
    let longest = all().map(|(q, _)| decades(*q)).fold(1.0, f64::max);
    let scale = Scale::log(all().map(|(_, ns)| *ns));
    let ticks: Vec<_> = TICKS
        .iter()
        .filter(|(q, _)| decades(*q) <= longest + 1e-6)
        // 50 % stands a third of a decade from 0 %: too near on a phone.
        .filter(|(q, _)| layout == Layout::Wide || *q != 0.0)
        .map(|(q, label)| (decades(*q) / longest, (*label).to_owned()))
        .collect();
    plot.x_axis(&ticks);
    let ticks: Vec<_> =
        scale.ticks(y_ticks).iter().map(|t| (scale.place(*t), format::axis_duration(*t))).collect();
    plot.y_axis(&ticks);
    plot.text("axis", (plot.left, plot.top - 12.0), "start", "latency, log scale");
    plot.text("axis", (plot.right, plot.bottom + 36.0), "end", "share of requests answered within it");
    for curve in &curves {
        let points: Vec<_> = curve
            .points
            .iter()
            .map(|(q, ns)| Some((plot.x(decades(*q) / longest), plot.y(scale.place(*ns)))))
            .collect();
        plot.raw(&format!(
            "<g class=\"curve {}\" data-k=\"{}\"><title>{}</title>",
            color(curve.k),
            curve.k,
            { escape(&sentence(curve)) }
        ));
        plot.path("hit", &points);
        plot.path("line", &points);
        plot.raw("</g>");
    }
    if layout == Layout::Wide {
        end_labels(&mut plot, &curves, longest, scale);
    }
    plot.finish()
}

/// Points that can be drawn: a quantile of 1 stands at infinity, and zero has no logarithm.
fn drawable(curve: &Curve) -> Curve {
    let fits =
        |(q, ns): &&(f64, f64)| (0.0..1.0).contains(q) && ns.is_finite() && *ns > 0.0 && decades(*q) <= 6.0;
    Curve { points: curve.points.iter().filter(fits).copied().collect(), ..curve.clone() }
}

/// Names at the curves' ends, pushed apart where they would overlap.
fn end_labels(plot: &mut Plot, curves: &[Curve], longest: f64, scale: Scale) {
    const LINE: f64 = 16.0;
    let mut ends: Vec<(f64, f64, &Curve)> = curves
        .iter()
        .filter_map(|c| {
            c.points.last().map(|(q, ns)| (plot.x(decades(*q) / longest), plot.y(scale.place(*ns)), c))
        })
        .collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    if ends.len() as f64 * LINE > plot.bottom - plot.top {
        return; // the legend names them
    }
    let mut places: Vec<f64> = ends.iter().map(|e| e.1).collect();
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + LINE);
    }
    // What was pushed out at the bottom pushes the others up again.
    let mut limit = plot.bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LINE;
    }
    for ((x, y, curve), place) in ends.iter().zip(places) {
        plot.raw(&format!("<g class=\"tag {}\" data-k=\"{}\">", color(curve.k), curve.k));
        let right = plot.right;
        // Dotted, as it is no part of the curve.
        plot.line("leader", (x + 2.0, *y), (right + 12.0, place));
        plot.text("label", (right + 17.0, place + 4.5), "start", &format::truncate(&curve.name, 16));
        plot.raw("</g>");
    }
}

/// `hyper: p50 0.58 ms, p99 0.99 ms`.
fn sentence(curve: &Curve) -> String {
    let at = |quantile: f64| curve.points.iter().find(|(q, _)| *q >= quantile - 1e-9).map(|(_, ns)| *ns);
    let said: Vec<String> = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")]
        .into_iter()
        .filter_map(|(q, name)| Some(format!("{name} {}", format::duration(at(q)?))))
        .collect();
    format!("{}: {}", curve.name, said.join(", "))
}

fn description(curves: &[Curve]) -> String {
    curves.iter().map(sentence).collect::<Vec<_>>().join("; ")
}
