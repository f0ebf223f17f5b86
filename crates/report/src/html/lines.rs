//! A figure over the window: one line a trial, from zero.

use super::svg::{Plot, Scale, color, escape};

/// Seconds and the figure; `None` where there is no figure.
pub(super) type Points = Vec<Option<(f64, f64)>>;

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The colour, which is also what the legend's buttons toggle.
    pub(super) k: usize,
    /// Its name, shown when it is pointed at.
    pub(super) name: String,
    /// What it goes through.
    pub(super) points: Points,
    /// Drawn faint: it does not count.
    pub(super) void: bool,
}

/// The most points a line is drawn with; more are averaged in equal parts.
const POINTS_MAX: usize = 150;

/// The plot of a figure; empty when no line has two points. `label` writes a
/// figure with its unit, for the axis.
pub(super) fn plot(lines: &[Line], heading: &str, label: impl Fn(f64) -> String) -> String {
    let points = |line: &Line| line.points.iter().flatten().count();
    if lines.iter().all(|line| points(line) < 2) {
        return String::new();
    }
    let all = || lines.iter().flat_map(|l| l.points.iter().flatten());
    let description =
        format!("{} over the seconds of the window", super::count_of(lines.len(), "trial", "trials"));
    let mut plot = Plot::new("series", (460.0, 210.0), [30.0, 14.0, 28.0, 58.0], heading, &description);
    let (xs, ys) = (all().map(|p| p.0), Scale::from_zero(all().map(|p| p.1), 4));
    let seconds = xs.filter(|x| x.is_finite()).fold(0.0, f64::max).max(1e-3);
    let span = Scale::Linear { high: seconds };
    let ticks: Vec<_> = span
        .ticks(6)
        .iter()
        .map(|t| (span.place(*t), format!("{} s", (t * 1000.0).round() / 1000.0)))
        .collect();
    plot.x_axis(&ticks);
    let ticks: Vec<_> = ys.ticks(4).iter().map(|t| (ys.place(*t), label(*t))).collect();
    plot.y_axis(&ticks);
    plot.text("heading", (2.0, 14.0), "start", heading);
    for line in lines {
        let points: Vec<_> = thinned(&line.points)
            .into_iter()
            .map(|p| p.map(|(x, y)| (plot.x(span.place(x)), plot.y(ys.place(y)))))
            .collect();
        let void = if line.void { " void" } else { "" };
        let name = escape(&line.name);
        plot.raw(&format!(
            "<g class=\"curve{void} {}\" data-k=\"{}\"><title>{name}</title>",
            color(line.k),
            line.k
        ));
        plot.path("line thin", &points);
        plot.raw("</g>");
    }
    plot.finish()
}

/// At most [`POINTS_MAX`] points: the means of equal runs of them. For the eye; no figure is taken from it.
fn thinned(points: &[Option<(f64, f64)>]) -> Points {
    let run = points.len().div_ceil(POINTS_MAX).max(1);
    if run == 1 {
        return points.to_vec();
    }
    let mean = |part: &[Option<(f64, f64)>]| {
        let some: Vec<_> = part.iter().flatten().collect();
        let n = some.len() as f64;
        (!some.is_empty())
            .then(|| (some.iter().map(|p| p.0).sum::<f64>() / n, some.iter().map(|p| p.1).sum::<f64>() / n))
    };
    points.chunks(run).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_samples_is_drawn_with_few_points() {
        let points: Vec<_> = (0..86_400).map(|i| Some((f64::from(i), 1.0))).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS_MAX && thin.len() > POINTS_MAX / 2);
        assert!(thin.iter().flatten().all(|p| p.1 == 1.0));
    }

    #[test]
    fn one_point_is_no_line() {
        let line = Line { k: 0, name: "a".into(), points: vec![Some((0.0, 1.0))], void: false };
        assert_eq!(plot(&[line], "req/s", |v| v.to_string()), "");
    }
}
