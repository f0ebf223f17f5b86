//! What is counted and timed for each request of a list, in memory that is bounded and there before the clock starts.
//! Up to [`FINE_MAX`] requests have fine histograms (1.1 MB a row and worker, 35 MB in all), more have coarser ones (76
//! KB, and 8 KB for statuses: 84 MB); beyond [`ROWS_MAX`] they share a row. The kernel gives only pages counted on, a
//! tenth.

use std::collections::BTreeMap;

use crate::recorder::latency::RequestTimes;
use prony_model::histogram::{
    BUCKET_BITS, HIGH_NS, SparseHistogram, bucket_of, numbered_bucket, value_of_numbered,
};
use prony_model::list::TargetList;
use prony_model::measurement::{Censored, ErrorKind, OTHERS, RequestFigures};

/// The most requests of a list that have figures of their own; those that first stand later in it share a row.
pub const ROWS_MAX: usize = 1000;
/// The most requests whose figures are as fine as the whole's, 0.1 %.
pub const FINE_MAX: usize = 32;
/// The bits of a coarse bucket's number in its power of two: 64, each 1.6 % wide, its middle within 0.8 % of all in it.
const COARSE_BITS: u32 = 6;

pub(crate) const STATUS_MAX: usize = 1000;
pub(crate) const ERROR_KINDS: usize = ErrorKind::ALL.len();

#[derive(Debug, Clone, Copy)]
enum Timing {
    Response,
    Service,
    FailedResponse,
    FailedService,
}

const PARTS: usize = 4;

#[derive(Debug)]
pub(crate) struct ByRequest {
    rows: Vec<Row>,
    bits: u32,
    width: usize,
    /// By row, part and bucket. Zeroed memory of the kernel's: a page takes room once it is counted on.
    buckets: Vec<u64>,
    status: Vec<u64>,
    /// By row, whether of the service time, and bucket; filled when the window is closed.
    waiting: BTreeMap<(usize, bool, u64), u64>,
}

#[derive(Debug, Clone, Default)]
struct Row {
    run_sent: u64,
    completed: u64,
    failed: u64,
    waiting: u64,
    read_bytes: u64,
    errors: [u64; ERROR_KINDS],
}

impl ByRequest {
    pub(crate) fn new(requests: usize) -> ByRequest {
        let rows = if requests > ROWS_MAX { ROWS_MAX + 1 } else { requests };
        let bits = if requests > FINE_MAX { COARSE_BITS } else { BUCKET_BITS };
        let width = numbered_bucket(HIGH_NS, bits) as usize + 1;
        ByRequest {
            rows: vec![Row::default(); rows],
            bits,
            width,
            buckets: vec![0; rows * PARTS * width],
            status: vec![0; rows * STATUS_MAX],
            waiting: BTreeMap::new(),
        }
    }

    fn row_of(request: u32) -> usize {
        (request as usize).min(ROWS_MAX)
    }

    fn bucket(&self, value_ns: u64) -> u64 {
        // Longer durations are in the last bucket.
        numbered_bucket(value_ns.min(HIGH_NS), self.bits)
    }

    fn record(&mut self, row: usize, part: Timing, value_ns: u64) {
        let bucket = self.bucket(value_ns) as usize;
        self.buckets[(row * PARTS + part as usize) * self.width + bucket] += 1;
    }

    pub(crate) fn sent(&mut self, request: u32) {
        self.rows[ByRequest::row_of(request)].run_sent += 1;
    }

    pub(crate) fn read(&mut self, request: u32, bytes: usize) {
        self.rows[ByRequest::row_of(request)].read_bytes += bytes as u64;
    }

    /// A request was resolved within the window, at `end_ns`: failed so, or succeeded.
    pub(crate) fn ended(&mut self, end_ns: u64, times: &RequestTimes, failure: Option<ErrorKind>) {
        let row = ByRequest::row_of(times.request);
        // 0 where no answer was whole.
        if times.status > 0 {
            self.status[row * STATUS_MAX + usize::from(times.status).min(STATUS_MAX - 1)] += 1;
        }
        let (response, service) = if let Some(kind) = failure {
            self.rows[row].failed += 1;
            self.rows[row].errors[kind as usize] += 1;
            (Timing::FailedResponse, Timing::FailedService)
        } else {
            self.rows[row].completed += 1;
            (Timing::Response, Timing::Service)
        };
        self.record(row, response, end_ns - times.intended_ns);
        if times.sent_ns > 0 {
            self.record(row, service, end_ns - times.sent_ns);
        }
    }

    pub(crate) fn waiting(&mut self, end_ns: u64, times: &RequestTimes) {
        self.never_sent(times.request, end_ns - times.intended_ns, 1);
        if times.sent_ns > 0 {
            self.wait(times.request, true, end_ns - times.sent_ns, 1);
        }
    }

    /// So many requests had waited so long for a connection when the window closed.
    pub(crate) fn never_sent(&mut self, request: u32, wait_ns: u64, count: u64) {
        self.rows[ByRequest::row_of(request)].waiting += count;
        self.wait(request, false, wait_ns, count);
    }

    fn wait(&mut self, request: u32, of_service: bool, wait_ns: u64, count: u64) {
        let place = (ByRequest::row_of(request), of_service, self.bucket(wait_ns));
        *self.waiting.entry(place).or_default() += count;
    }

    /// Of each of these addresses, which have the numbers of requests.
    pub(crate) fn figures_of(&self, addresses: &[String]) -> Vec<RequestFigures> {
        let rows = (0..self.rows.len()).zip(addresses);
        rows.map(|(row, address)| self.row_figures(row, address.clone(), 1)).collect()
    }

    pub(crate) fn figures(&self, list: &TargetList) -> Vec<RequestFigures> {
        let mut lines = list.lines_of_each();
        if lines.len() > ROWS_MAX {
            let others = lines.drain(ROWS_MAX..).sum();
            lines.push(others);
        }
        let name =
            |row: usize| if row < ROWS_MAX { list.name(&list.requests[row]) } else { OTHERS.to_owned() };
        (0..self.rows.len()).zip(lines).map(|(row, lines)| self.row_figures(row, name(row), lines)).collect()
    }

    fn row_figures(&self, row: usize, request: String, lines: u64) -> RequestFigures {
        let counts = &self.rows[row];
        let status = &self.status[row * STATUS_MAX..(row + 1) * STATUS_MAX];
        let waiting = |of_service| {
            let all = self.waiting.range((row, of_service, 0)..=(row, of_service, u64::MAX));
            self.sparse(all.map(|((.., bucket), count)| (*bucket, *count)))
        };
        RequestFigures {
            request,
            lines,
            run_sent: counts.run_sent,
            completed: counts.completed,
            failed: counts.failed,
            waiting: counts.waiting,
            read_bytes: counts.read_bytes,
            status: (0u16..).zip(status.iter().copied()).filter(|(_, count)| *count > 0).collect(),
            errors: ErrorKind::ALL
                .iter()
                .copied()
                .zip(counts.errors)
                .filter(|(_, count)| *count > 0)
                .collect(),
            response: Censored {
                completed: self.part(row, Timing::Response),
                failed: self.part(row, Timing::FailedResponse),
                waiting: waiting(false),
            },
            service: Censored {
                completed: self.part(row, Timing::Service),
                failed: self.part(row, Timing::FailedService),
                waiting: waiting(true),
            },
        }
    }

    fn part(&self, row: usize, part: Timing) -> SparseHistogram {
        let at = (row * PARTS + part as usize) * self.width;
        let counts = (0u64..).zip(self.buckets[at..at + self.width].iter().copied());
        self.sparse(counts.filter(|(_, count)| *count > 0))
    }

    /// Buckets of these bits as those of the whole's histograms: a coarse one as the bucket of its middle.
    fn sparse(&self, buckets: impl Iterator<Item = (u64, u64)>) -> SparseHistogram {
        if self.bits == BUCKET_BITS {
            return SparseHistogram::from_buckets(buckets);
        }
        let middle = |bucket| {
            let of = |bucket| value_of_numbered(bucket, self.bits);
            bucket_of((of(bucket) + (of(bucket + 1) - of(bucket)) / 2).min(HIGH_NS))
        };
        SparseHistogram::from_buckets(buckets.map(|(bucket, count)| (middle(bucket), count)))
    }
}

pub(crate) fn are_fine(requests: usize) -> bool {
    requests <= FINE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::histogram::Histogram;
    use prony_model::list::Order;

    fn list(requests: usize) -> TargetList {
        let text: String = (0..requests).map(|i| format!("http://h/{i}\n")).collect();
        TargetList::parse(text.as_bytes(), None, "GET", Order::InTurn).unwrap().1
    }

    /// Sent at 1,000.
    fn times(request: u32, status: u16) -> RequestTimes {
        RequestTimes {
            request,
            status,
            intended_ns: 900,
            dispatched_ns: 1_000,
            sent_ns: 1_000,
            ..RequestTimes::default()
        }
    }

    #[test]
    fn few_requests_are_as_fine_as_the_whole() {
        let mut by_request = ByRequest::new(2);
        let mut whole = Histogram::default();
        for (request, value) in [(0, 1), (1, 999), (0, 2_345_678), (1, HIGH_NS), (1, 2_345_679)] {
            by_request.ended(1_000 + value, &times(request, 200), None);
            whole.record(value);
        }
        let mut sum = Histogram::default();
        let figures = by_request.figures(&list(2));
        figures.iter().for_each(|row| sum.add_sparse(&row.service.completed));
        assert_eq!(sum, whole);
        assert_eq!((figures[0].completed, figures[1].completed), (2, 3));
        assert_eq!(figures[0].request, "GET /0");
    }

    #[test]
    fn many_are_coarser_by_less_than_a_hundredth() {
        let mut by_request = ByRequest::new(FINE_MAX + 1);
        let values = [1, 63, 64, 127, 128, 1_000, 999_999, 1_016_000, 123_456_789, 59_000_000_000];
        for value in values {
            by_request.ended(1_000 + value, &times(7, 200), None);
            let row = &by_request.figures(&list(FINE_MAX + 1))[7];
            let highest = row.service.completed.max();
            assert!(highest.abs_diff(value) as f64 <= 0.009 * value as f64, "{value}: {highest}");
        }
    }

    #[test]
    fn too_many_share_a_row_and_nothing_is_lost() {
        let count = ROWS_MAX + 500;
        let (mut one, mut two) = (ByRequest::new(count), ByRequest::new(count));
        for request in 0..count as u32 {
            one.sent(request);
            one.ended(6_000, &times(request, 200), None);
            one.read(request, 10);
            two.ended(8_000, &times(request, 503), Some(ErrorKind::UnexpectedStatus));
            two.waiting(9_000, &times(request, 0));
            two.never_sent(request, 70, 2);
        }
        let mut figures = one.figures(&list(count));
        figures.iter_mut().zip(&two.figures(&list(count))).for_each(|(sum, row)| sum.add(row));
        assert_eq!(figures.len(), ROWS_MAX + 1);
        let others = figures.last().unwrap();
        assert_eq!((others.request.as_str(), others.lines, others.completed), (OTHERS, 500, 500));
        assert_eq!((others.failed, others.waiting, others.read_bytes), (500, 1_500, 5_000));
        assert_eq!(others.status, BTreeMap::from([(200, 500), (503, 500)]));
        assert_eq!(others.errors, BTreeMap::from([(ErrorKind::UnexpectedStatus, 500)]));
        assert_eq!(others.response.waiting.len(), 1_500);
        assert_eq!(others.service.waiting.len(), 500);
        let sum = |of: fn(&RequestFigures) -> u64| figures.iter().map(of).sum::<u64>();
        assert_eq!((sum(|f| f.run_sent), sum(|f| f.completed), sum(|f| f.lines)), (1_500, 1_500, 1_500));
    }
}
