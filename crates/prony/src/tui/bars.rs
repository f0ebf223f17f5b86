//! Plots made of block characters: columns of eighths, as high as several
//! rows. Pure: values in, lines of characters out.

use prony_load::live_summary::{COARSE_BUCKETS, CoarseHistogram};

/// An eighth more with each.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of a height in rows, the highest row first; `top` is at the upper edge. Values over nothing show an eighth.
pub(super) fn columns(values: &[Option<f64>], top: f64, rows: u16) -> Vec<String> {
    let eighths: Vec<usize> = values
        .iter()
        .map(|value| match value {
            Some(value) if top > 0.0 && *value > 0.0 => {
                let all = usize::from(rows) * 8;
                // At most `all`: the share is at most 1.
                (((value / top).min(1.0) * all as f64).round() as usize).clamp(1, all)
            }
            _ => 0,
        })
        .collect();
    (0..usize::from(rows))
        .rev()
        .map(|row| eighths.iter().map(|filled| EIGHTHS[filled.saturating_sub(row * 8).min(8)]).collect())
        .collect()
}

/// A round value at or above this one, for an axis' upper end: 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten.
pub(super) fn round_up(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    // A hair above a step is the step: logarithms of floats are not exact.
    steps.into_iter().map(|step| step * power).find(|top| *top >= value * 0.999_999).unwrap_or(value)
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Distribution {
    /// Requests in each column; a bucket that has several columns counts in each.
    pub(super) values: Vec<f64>,
    /// Where columns begin in nanoseconds, and where the last one ends: one more than there are columns.
    pub(super) edges_ns: Vec<u64>,
}

/// The share of requests left out at each end, so that a straggler does not press the body into a few columns.
const TAIL: f64 = 0.001;
/// At least so many buckets are shown: an octave.
const BUCKETS_MIN: usize = 16;

/// A shape in at most so many columns; `None` where it is empty or there is no room.
pub(super) fn distribution(shape: &CoarseHistogram, width: usize) -> Option<Distribution> {
    let total: u64 = shape.counts.iter().sum();
    if total == 0 || width == 0 {
        return None;
    }
    let left_out = (total as f64 * TAIL) as u64;
    let mut first = first_after(shape, 0..COARSE_BUCKETS, left_out)?;
    let mut last = first_after(shape, (0..COARSE_BUCKETS).rev(), left_out)?;
    let missing = BUCKETS_MIN.saturating_sub(last + 1 - first);
    first = first.saturating_sub(missing.div_ceil(2));
    last = (last + missing / 2).min(COARSE_BUCKETS - 1);
    let buckets = last + 1 - first;
    // Whole numbers of buckets a column, or of columns a bucket: anything else would draw a comb.
    let (each, repeats) = if buckets > width { (buckets.div_ceil(width), 1) } else { (1, width / buckets) };
    let (mut values, mut edges_ns) = (Vec::new(), Vec::new());
    for from in (first..=last).step_by(each) {
        let to = (from + each).min(last + 1);
        let count: u64 = shape.counts[from..to].iter().sum();
        let (begins, ends) = (CoarseHistogram::begins_ns(from), CoarseHistogram::begins_ns(to));
        for part in 0..repeats as u64 {
            values.push(count as f64);
            edges_ns.push(begins + (ends - begins) * part / repeats as u64);
        }
    }
    edges_ns.push(CoarseHistogram::begins_ns(last + 1));
    Some(Distribution { values, edges_ns })
}

fn first_after(
    shape: &CoarseHistogram,
    mut order: impl Iterator<Item = usize>,
    left_out: u64,
) -> Option<usize> {
    let mut passed = 0;
    order.find(|bucket| {
        passed += shape.counts[*bucket];
        passed > left_out
    })
}

/// Labels below an axis: each begins at its column, and none touches the one before.
pub(super) fn labels(marks: impl Iterator<Item = (usize, String)>, width: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (column, text) in marks {
        let length = text.chars().count();
        let free = if used == 0 { column >= used } else { column > used };
        if free && column + length <= width {
            line.extend(std::iter::repeat_n(' ', column - used));
            line.push_str(&text);
            used = column + length;
        }
    }
    line
}

/// Below so many columns before the first round instant there is no room for a label where the axis begins.
const LABEL_ROOM: usize = 9;

/// Round instants of a distribution's axis by column: 1, 2, 5 times powers of ten; where there is room, its beginning.
pub(super) fn ticks(of: &Distribution) -> Vec<(usize, u64)> {
    let steps = (3..11).flat_map(|power| [1, 2, 5].map(|step| step * 10u64.pow(power)));
    let column = |ns: u64| {
        let within = of.edges_ns.first().is_some_and(|first| *first <= ns) && of.edges_ns.last() > Some(&ns);
        within.then(|| of.edges_ns.partition_point(|edge| *edge <= ns) - 1)
    };
    let mut found: Vec<(usize, u64)> = steps.filter_map(|ns| Some((column(ns)?, ns))).collect();
    if let Some(begins) = of.edges_ns.first()
        && found.first().is_none_or(|(column, _)| *column >= LABEL_ROOM)
    {
        found.insert(0, (0, *begins));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_high_as_their_values() {
        let values = [Some(8.0), Some(4.0), Some(0.01), Some(0.0), None, Some(99.0), Some(6.0)];
        assert_eq!(columns(&values, 8.0, 2), ["█    █▄", "██▁  ██"]);
        assert_eq!(columns(&[Some(1.0)], 0.0, 1), [" "]);
        assert_eq!(columns(&[], 1.0, 1), [""]);
    }

    #[test]
    fn the_end_of_an_axis_is_rounded_up() {
        assert_eq!(
            [13_870.0, 100.0, 0.0, 7.2, 99.0, 0.03].map(round_up),
            [15_000.0, 100.0, 1.0, 8.0, 100.0, 0.03]
        );
        assert_eq!(round_up(f64::NAN), 1.0);
    }

    fn shape(counts: &[(usize, u64)]) -> CoarseHistogram {
        let mut shape = CoarseHistogram::default();
        counts.iter().for_each(|(bucket, count)| shape.counts[*bucket] = *count);
        shape
    }

    #[test]
    fn a_distribution_fits_its_columns_and_leaves_out_tails_only() {
        assert_eq!(distribution(&CoarseHistogram::default(), 40), None);
        // One straggler of 10,000 is left out, the body is not.
        let wide = shape(&[(100, 5_000), (140, 4_999), (400, 1)]);
        let found = distribution(&wide, 20).unwrap();
        assert_eq!(found.values.iter().sum::<f64>(), 9_999.0);
        assert!(found.values.len() <= 20 && found.edges_ns.len() == found.values.len() + 1);
        // A single value is shown within an octave, each bucket as wide as the next.
        let narrow = distribution(&shape(&[(200, 7)]), 50).unwrap();
        assert_eq!(narrow.values.len(), 48);
        assert_eq!(narrow.values.iter().filter(|n| **n > 0.0).count(), 3);
        assert!(narrow.edges_ns.is_sorted());
        // At both ends of what there is.
        assert!(distribution(&shape(&[(0, 1)]), 1).is_some());
        assert!(distribution(&shape(&[(COARSE_BUCKETS - 1, 1)]), 80).is_some());
    }

    #[test]
    fn ticks_are_round_and_labels_do_not_touch() {
        let body = distribution(&shape(&[(150, 10), (200, 10)]), 60).unwrap();
        let found = ticks(&body);
        assert!(found.len() >= 3, "{found:?}");
        for (column, ns) in found {
            assert!(body.edges_ns[column] <= ns && ns < body.edges_ns[column + 1]);
        }
        let marks = [(0, "1 ms"), (3, "2 ms"), (8, "5 ms"), (30, "10 ms")];
        let marks = marks.into_iter().map(|(at, text)| (at, text.to_owned()));
        assert_eq!(labels(marks, 32), "1 ms    5 ms");
    }
}
