//! The course of a load: what a claim may say of its parts, where a figure of the whole window says nothing.

use prony_model::Trial;
use prony_model::trial::SeriesPoint;

use crate::figure::FigureValue;
use crate::numbers::real;

/// A window is compared in so many parts: a second of a ramp is noise, a tenth of it is not.
const PARTS: usize = 10;

/// Failures have begun where a second has more than this share of them: single ones happen at any level.
const FAILING_SHARE: f64 = 0.01;

/// A figure of a part of a trial. Its name is the word in claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Course {
    /// Requests per second of the window's best tenth.
    PeakThroughput,
    EndThroughput,
    /// The users of a ramp in the first second of which more than 1 % of the requests failed.
    FailingFrom,
}

impl Course {
    /// `None` where a window has fewer than ten seconds, or the load no users that change.
    pub(crate) fn of_trial(self, trial: &Trial) -> Option<FigureValue> {
        let exact = |value: f64| Some(FigureValue { value, at_least: false });
        match self {
            Course::PeakThroughput => exact(rates(&trial.series)?.into_iter().fold(0.0, f64::max)),
            Course::EndThroughput => exact(*rates(&trial.series)?.last()?),
            Course::FailingFrom => failing_from(trial),
        }
    }

    pub(crate) fn published(self) -> Option<&'static str> {
        (self == Course::PeakThroughput).then_some("peak_requests_per_s")
    }
}

fn rates(series: &[SeriesPoint]) -> Option<Vec<f64>> {
    if series.len() < PARTS {
        return None;
    }
    let rate = |part: usize| {
        let points = &series[part * series.len() / PARTS..(part + 1) * series.len() / PARTS];
        let length_s = real(points.iter().map(|point| point.length_ns).sum()) / 1e9;
        (length_s > 0.0).then(|| real(points.iter().map(|point| point.completed).sum()) / length_s)
    };
    (0..PARTS).map(rate).collect()
}

/// Where no second fails, they begin above the level that the load reached.
fn failing_from(trial: &Trial) -> Option<FigureValue> {
    let plan = &trial.plan;
    plan.stages.iter().find(|stage| stage.to_connections.is_some())?;
    // At a second's last instant.
    let users = |point: &SeriesPoint| {
        let end_ns = point.at_ns.saturating_add(point.length_ns).saturating_add(plan.warmup_ns);
        real(plan.users_at(end_ns.saturating_sub(1)))
    };
    let fails = |point: &&SeriesPoint| {
        real(point.failed) > FAILING_SHARE * real(point.failed.saturating_add(point.completed))
    };
    match trial.series.iter().find(fails) {
        Some(first) => Some(FigureValue { value: users(first), at_least: false }),
        None => {
            let highest = trial.series.iter().map(users).fold(0.0, f64::max);
            (highest > 0.0).then_some(FigureValue { value: highest, at_least: true })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::recorded_plan::RecordedStage;
    use prony_model::testing;

    /// A ramp of 12 s to 1,200 users with so many requests completed and failed in each second.
    fn ramp(seconds: &[(u64, u64)]) -> Trial {
        let mut trial = testing::trial(&vec![&[1_000_000][..]; seconds.len()]);
        for (point, (completed, failed)) in trial.series.iter_mut().zip(seconds) {
            (point.completed, point.failed) = (*completed, *failed);
        }
        let length = |s: u64| s * 1_000_000_000;
        let stage =
            |to| RecordedStage { duration_ns: length(12), to_rate_per_s: None, to_connections: Some(to) };
        (trial.plan.warmup_ns, trial.plan.stages) = (0, vec![stage(1_200)]);
        trial
    }

    fn value(course: Course, trial: &Trial) -> Option<(f64, bool)> {
        course.of_trial(trial).map(|known| (known.value, known.at_least))
    }

    #[test]
    fn a_ramp_that_breaks_has_its_peak_before_its_end() {
        let mut seconds = vec![(1_000, 0); 6];
        seconds.extend([(3_000, 10), (2_000, 500), (500, 900), (100, 900), (100, 900), (100, 900)]);
        let trial = ramp(&seconds);
        // Of twelve seconds the tenths are one second or two: 0, 1, 2, 3, 4 and 5, 6, …
        assert_eq!(value(Course::PeakThroughput, &trial), Some((3_000.0, false)));
        assert_eq!(value(Course::EndThroughput, &trial), Some((100.0, false)));
        // 10 of 3,010 are too few; in the eighth second 800 users are reached.
        assert_eq!(value(Course::FailingFrom, &trial), Some((800.0, false)));
    }

    #[test]
    fn without_failures_they_begin_above_the_highest_level() {
        let trial = ramp(&[(1_000, 0); 12]);
        assert_eq!(value(Course::FailingFrom, &trial), Some((1_200.0, true)));
        let mut short = ramp(&[(1_000, 0); 9]);
        assert_eq!(value(Course::PeakThroughput, &short), None);
        short.plan.stages.clear();
        assert_eq!(value(Course::FailingFrom, &short), None);
    }
}
