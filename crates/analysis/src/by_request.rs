//! The figures of each request of a list, in the form of the whole's.

use prony_model::measurement::{Censored, Measurement, RequestFigures};
use prony_model::trial::{Clock, Summary, TargetFigures};

use crate::summary::{OrderStatistics, summarise};

/// Each request's figures; none without a list. Failed and unresolved ones rank in percentiles as in the whole's.
/// Without intervals: only the whole is kept by the second.
pub(crate) fn targets(m: &Measurement, arrival: Clock, window_ns: u64) -> Vec<TargetFigures> {
    if m.by_request.is_empty() {
        return Vec::new();
    }
    let summary = |part: &Censored| -> Summary {
        summarise(&part.completed, &OrderStatistics::at_percentiles(part), arrival, window_ns, None)
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
    use crate::trial::judge;
    use prony_model::histogram::SparseHistogram;
    use prony_model::host::Host;
    use prony_model::observed::Observed;
    use prony_model::recorded_plan::RecordedList;
    use std::collections::BTreeMap;

    fn figures(request: &str, completed: &SparseHistogram, failed: u64) -> RequestFigures {
        let part = Censored {
            completed: completed.clone(),
            failed: SparseHistogram::of_values((0..failed).map(|_| 1_000)),
            waiting: SparseHistogram::default(),
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
    fn an_only_request_has_the_trials_figures_without_intervals() {
        let mut m = healthy(12, 2000);
        m.by_request = vec![figures("GET /", &m.latency.plain, 0)];
        let mut plan = closed_plan();
        let (order, fingerprint) = (prony_model::list::Order::InTurn, String::new());
        plan.targets = Some(RecordedList {
            format: prony_model::list::Format::Plain,
            lines: 1,
            requests: 1,
            order,
            fingerprint,
            expecting: 0,
            servers: Vec::new(),
        });
        let trial = judge(&Observed::new(m, plan), &Host::default());
        let (whole, own) = (&trial.latency.response, &trial.targets[0].response);
        assert_eq!((own.count, own.mean_ns, own.p99_ns), (whole.count, whole.mean_ns, whole.p99_ns));
        assert!(own.p999_ns.is_none() && own.needs_duration_ns.contains_key("p999_ns"));
        assert!(own.ci95.is_empty() && !whole.ci95.is_empty());
    }

    #[test]
    fn a_request_that_mostly_fails_has_censored_percentiles() {
        let mut m = healthy(12, 2000);
        let some = SparseHistogram::of_values([1_000_000; 400]);
        m.by_request = vec![figures("GET /a", &some, 600), figures("GET /b", &some, 0)];
        let targets = targets(&m, Clock::Kernel, 12_000_000_000);
        assert_eq!((targets[0].response.p50_ns, targets[0].failed), (None, 600));
        assert!(targets[0].response.censored_at_ns["p50_ns"] >= 999_000);
        assert!(targets[1].response.p50_ns.unwrap().abs_diff(1_000_000) < 1_000);
        assert!(targets[1].response.p99_ns.is_none(), "4 beyond it are too few");
    }
}
