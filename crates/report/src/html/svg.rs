//! What the plots share: scales with their ticks, the frame, and text that is safe inside markup.

use std::fmt::Write;

use crate::format;

/// A text from outside as HTML text or attribute value.
pub(super) fn escape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in format::printable(raw).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// For whom a plot is laid out. A wide plot shrunk to a phone has letters of
/// 4 px, so the two that carry the message are drawn twice and CSS shows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Wide,
    Narrow,
}

impl Layout {
    pub(super) const BOTH: [Layout; 2] = [Layout::Wide, Layout::Narrow];

    /// The CSS class that shows the plot on its kind of screen.
    pub(super) fn class(self) -> &'static str {
        match self {
            Layout::Wide => "wide",
            Layout::Narrow => "narrow",
        }
    }
}

/// How a figure becomes a place on an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// From zero to the highest.
    Linear { high: f64 },
    /// Between two positive bounds, by logarithm.
    Log { low: f64, high: f64 },
}

impl Scale {
    /// A linear scale from zero that ends at a round figure at or above the highest value.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>, ticks: usize) -> Scale {
        let high = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let high = if high > 0.0 { high } else { 1.0 };
        let step = round_step(high / ticks.max(1) as f64);
        Scale::Linear { high: (high / step).ceil() * step }
    }

    /// A logarithmic scale around the positive values.
    pub(super) fn log(values: impl Iterator<Item = f64>) -> Scale {
        let positive = values.filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return Scale::Log { low: 1.0, high: 10.0 };
        }
        Scale::Log { low: low / 1.15, high: high * 1.15 }
    }

    /// 0 at the axis' start to 1 at its end, for values within it.
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear { high } => (value / high).clamp(0.0, 1.0),
            Scale::Log { low, high } => ((value.max(low) / low).ln() / (high / low).ln()).clamp(0.0, 1.0),
        }
    }

    /// Round figures along the axis, about so many.
    pub(super) fn ticks(self, about: usize) -> Vec<f64> {
        match self {
            Scale::Linear { high } => {
                let step = round_step(high / about.max(1) as f64);
                let n = (high / step + 1e-9).floor();
                // At most twice `about` of them: the step is chosen so.
                (0..=n.min(100.0) as u32).map(|i| f64::from(i) * step).collect()
            }
            Scale::Log { low, high } => log_ticks(low, high, about),
        }
    }
}

/// The lowest of 1, 2, 2.5, 5 × 10ⁿ that is not under the step.
fn round_step(step: f64) -> f64 {
    let unit = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|f| f * unit >= step * 0.999).unwrap_or(10.0);
    factor * unit
}

/// 1-2-5 ticks within bounds, or decades alone where those would be too many.
fn log_ticks(low: f64, high: f64, about: usize) -> Vec<f64> {
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let within = |factors: &[f64]| -> Vec<f64> {
        let all =
            decades.clone().flat_map(|d| factors.iter().map(move |f| f * 10_f64.powi(d)).collect::<Vec<_>>());
        all.filter(|v| *v >= low && *v <= high).collect()
    };
    let candidates = [within(&[1.0, 2.0, 5.0]), within(&[1.0, 3.0]), within(&[1.0])];
    let fitting = candidates.iter().find(|ticks| ticks.len() <= about && ticks.len() >= 2);
    fitting.unwrap_or(&candidates[0]).clone()
}

/// A plot being drawn.
#[derive(Debug)]
pub(super) struct Plot {
    out: String,
    /// The whole drawing.
    pub(super) width: f64,
    /// The inner area's edges.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// The space around a plot's inner area: top, right, bottom, left.
pub(super) type Margins = [f64; 4];

impl Plot {
    /// Begins a drawing. `title` and `description` are plain text for those who don't see it.
    pub(super) fn new(
        class: &str,
        size: (f64, f64),
        margins: Margins,
        title: &str,
        description: &str,
    ) -> Plot {
        let (width, height) = size;
        let [top, right, bottom, left] = margins;
        let mut out = String::new();
        let (title, description) = (escape(title), escape(description));
        // aria-label and not aria-labelledby: ids would have to be unique over the whole page.
        let _ = write!(
            out,
            "<svg class=\"plot {class}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-label=\"{title}. {description}\"><title>{title}</title><desc>{description}</desc>"
        );
        Plot { out, width, left, right: width - right, top, bottom: height - bottom }
    }

    /// The pixel of a place from 0 to 1 along the bottom.
    pub(super) fn x(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    /// The pixel of a place from 0 to 1 up the side.
    pub(super) fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }

    /// Markup that is safe already.
    pub(super) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// A line between two points.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (from.0, from.1, to.0, to.1);
        let _ = write!(self.out, "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
    }

    /// A text; `anchor` is `start`, `middle` or `end`.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: &str, text: &str) {
        let (x, y) = at;
        let text = escape(text);
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    /// Vertical grid lines with their labels under them.
    pub(super) fn x_axis(&mut self, ticks: &[(f64, String)]) {
        for (place, label) in ticks {
            let x = self.x(*place);
            self.line("grid", (x, self.top), (x, self.bottom));
            // The first and last labels stay inside the drawing.
            let half = label.chars().count() as f64 * 3.5;
            let x = x.clamp(half, self.width - half);
            self.text("tick", (x, self.bottom + 17.0), "middle", label);
        }
    }

    /// Horizontal grid lines with their labels to the left.
    pub(super) fn y_axis(&mut self, ticks: &[(f64, String)]) {
        for (place, label) in ticks {
            let y = self.y(*place);
            self.line("grid", (self.left, y), (self.right, y));
            self.text("tick", (self.left - 8.0, y + 4.0), "end", label);
        }
    }

    /// A line through points; a gap where there is none.
    pub(super) fn path(&mut self, class: &str, points: &[Option<(f64, f64)>]) {
        let mut d = String::new();
        let mut pen_down = false;
        for point in points {
            match point {
                Some((x, y)) => {
                    let _ = write!(d, "{}{x:.1} {y:.1}", if pen_down { 'L' } else { 'M' });
                    pen_down = true;
                }
                None => pen_down = false,
            }
        }
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// The finished drawing.
    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// The classes of a colour: seven that the colour-blind tell apart, then the same dashed, then dotted.
pub(super) fn color(k: usize) -> String {
    match k / 7 % 3 {
        0 => format!("k{}", k % 7),
        dash => format!("k{} d{dash}", k % 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_label_is_text() {
        assert_eq!(escape("<b a=\"x\" c='y'>&\n"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp; ");
    }

    #[test]
    fn a_linear_scale_ends_at_a_round_figure() {
        let scale = Scale::from_zero([81_240.0, f64::NAN].into_iter(), 5);
        assert_eq!(scale, Scale::Linear { high: 100_000.0 });
        assert_eq!(scale.ticks(5), [0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 100_000.0]);
        assert_eq!(scale.place(50_000.0), 0.5);
    }

    #[test]
    fn nothing_to_draw_is_no_fault() {
        assert_eq!(Scale::from_zero(std::iter::empty(), 5).ticks(2), [0.0, 0.5, 1.0]);
        assert_eq!(Scale::log(std::iter::empty()), Scale::Log { low: 1.0, high: 10.0 });
        assert_eq!(Scale::from_zero([0.0].into_iter(), 5).place(0.0), 0.0);
    }

    #[test]
    fn log_ticks_are_round_and_not_too_many() {
        let round = |ticks: Vec<f64>| ticks.iter().map(|t| format!("{t:.0}")).collect::<Vec<_>>().join(" ");
        assert_eq!(round(log_ticks(90.0, 5_500.0, 8)), "100 200 500 1000 2000 5000");
        assert_eq!(round(log_ticks(90.0, 5_500_000.0, 8)), "100 1000 10000 100000 1000000");
    }

    #[test]
    fn a_gap_in_a_series_is_a_gap_in_its_line() {
        let mut plot = Plot::new("t", (10.0, 10.0), [0.0; 4], "a", "b");
        plot.path("p", &[Some((0.0, 1.0)), Some((1.0, 1.0)), None, Some((3.0, 1.0))]);
        assert!(plot.finish().contains("d=\"M0.0 1.0L1.0 1.0M3.0 1.0\""));
    }
}
