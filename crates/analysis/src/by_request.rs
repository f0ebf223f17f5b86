//! The figures of each request of a list, in the form of the whole's.

use prony_model::measurement::{Censored, Measurement};
use prony_model::measurement::{RequestFigures, SparseCensored};
use prony_model::trial::{Clock, Summary, TargetFigures};

use crate::summary::{Ranked, summarise};

/// Each request's figures; none where the plan has no list.
///
/// A request's percentiles rank its failed and unresolved ones as the whole's do, and are withheld by the same rule on
/// its own count. They have no intervals: only the whole is kept by the second.
pub(crate) fn targets(m: &Measurement, arrival: Clock, window_ns: u64) -> Vec<TargetFigures> {
    if m.by_request.is_empty() {
        return Vec::new();
    }
    let summary = |part: &SparseCensored| -> Summary {
        let durations = Censored {
            completed: part.completed.to_histogram(),
            failed: part.failed.to_histogram(),
            waiting: part.waiting.to_histogram(),
        };
        let ranked = Ranked::of(&durations);
        summarise(&durations.completed, &ranked, arrival, window_ns, None)
    };
    let figures = |of: &RequestFigures| TargetFigures {
        request: of.request.clone(),
        lines: of.lines,
        run_sent: of.run_sent,
        completed: of.completed,
        failed: of.failed,
        waiting: of.waiting,
        read_bytes: of.read_bytes,
        status: of.status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        errors: of.errors.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect(),
        response: summary(&of.response),
        service: summary(&of.service),
    };
    m.by_request.iter().map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_plan, healthy};
    use crate::trial::{TrialContext, judge};
    use prony_model::list::{Order, TargetList};
    use prony_model::measurement::{Durations, SparseDurations, empty_histogram};
    use std::collections::BTreeMap;

    fn figures(request: &str, completed: &Durations, failed: u64) -> RequestFigures {
        let mut failures = empty_histogram();
        failures.record_n(1_000, failed).unwrap();
        let part = SparseCensored {
            completed: SparseDurations::of(completed),
            failed: SparseDurations::of(&failures),
            waiting: SparseDurations::default(),
        };
        RequestFigures {
            request: request.to_owned(),
            lines: 1,
            completed: completed.len(),
            failed,
            status: BTreeMap::from([(200, completed.len())]),
            response: part.clone(),
            service: part,
            ..RequestFigures::default()
        }
    }

    #[test]
    fn the_one_request_of_a_list_has_the_whole_s_percentiles_and_no_intervals() {
        let mut m = healthy(12, 2000);
        m.by_request = vec![figures("GET /", &m.latency.response.completed, 0)];
        let mut plan = closed_plan();
        plan.list = Some(TargetList::parse(b"http://h/", None, "GET", Order::InTurn).unwrap().1);
        let trial = judge(&m, &plan, &TrialContext::default());
        let (whole, own) = (&trial.latency.response, &trial.targets[0].response);
        assert_eq!((own.count, own.mean_ns, own.p99_ns), (whole.count, whole.mean_ns, whole.p99_ns));
        assert!(own.p999_ns.is_none() && own.needs_duration_ns.contains_key("p999_ns"));
        assert_eq!(trial.plan.targets.unwrap().requests, 1);
        assert!(own.ci95.is_empty() && !whole.ci95.is_empty());
    }

    #[test]
    fn a_request_that_mostly_fails_has_no_percentile_of_its_survivors() {
        let mut m = healthy(12, 2000);
        let mut some = empty_histogram();
        some.record_n(1_000_000, 400).unwrap();
        m.by_request = vec![figures("GET /a", &some, 600), figures("GET /b", &some, 0)];
        let targets = targets(&m, Clock::Kernel, 12_000_000_000);
        assert_eq!((targets[0].response.p50_ns, targets[0].failed), (None, 600));
        assert!(targets[0].response.censored_at_ns["p50_ns"] >= 999_000);
        assert!(targets[1].response.p50_ns.unwrap().abs_diff(1_000_000) < 1_000);
        assert!(targets[1].response.p99_ns.is_none(), "4 beyond it are too few");
    }
}
