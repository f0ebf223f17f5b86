//! The parts of requests' times. For each completed request `response = send_lag + connect_wait + service`, exactly,
//! because all are differences of the same four instants.

use prony_model::histogram::{Histogram, SparseHistogram};
use prony_model::measurement::{Censored, Latency, Parts};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestTimes {
    pub(crate) intended_ns: u64,
    /// When a connection was asked for, or, where one was open, the request sent.
    pub(crate) dispatched_ns: u64,
    /// 0 while it was not.
    pub(crate) sent_ns: u64,
    /// 0 while there was none.
    pub(crate) first_byte_ns: u64,
    /// When the last byte so far arrived.
    pub(crate) last_byte_ns: u64,
    /// The part of `asked − intended` during which no connection was free.
    pub(crate) connection_wait_ns: u64,
    /// For samples, the bytes read for it (4 GiB at most).
    pub(crate) read_bytes: u32,
    pub(crate) status: u16,
    /// The first byte was read together with nothing but its head.
    pub(crate) head_alone: bool,
    /// Which request of the list it is; 0 without one.
    pub(crate) request: u32,
    /// How often it was sent in vain: to a connection whose server surely did not process it.
    pub(crate) moves: u8,
}

impl RequestTimes {
    #[inline(always)]
    pub(crate) fn asked(
        intended_ns: u64,
        dispatched_ns: u64,
        connection_wait_ns: u64,
        request: u32,
    ) -> RequestTimes {
        RequestTimes { intended_ns, dispatched_ns, connection_wait_ns, request, ..RequestTimes::default() }
    }

    #[inline]
    pub(crate) fn is_as(&self, other: &RequestTimes) -> bool {
        let instants = |of: &RequestTimes| {
            let asked = (of.intended_ns, of.dispatched_ns, of.connection_wait_ns);
            (asked, of.sent_ns, of.first_byte_ns, of.last_byte_ns, of.head_alone)
        };
        instants(self) == instants(other)
    }

    /// Bytes of its answer were read.
    #[inline(always)]
    pub(crate) fn note_bytes(&mut self, count: usize) {
        self.read_bytes = self.read_bytes.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

#[derive(Default)]
pub(crate) struct LatencyRecorder {
    /// Requests of service time alone, in one piece (nearly all in a closed loop): an entry for all histograms.
    plain: Histogram,
    response: DenseCensored,
    service: DenseCensored,
    first_byte: Histogram,
    connect_wait: MostlyZero,
    send_lag: MostlyZero,
    connection_wait: MostlyZero,
    lateness: MostlyZero,
    /// Left empty with the user clock.
    client_delay: Histogram,
    kernel_clock: bool,
    first_bytes_upper: u64,
}

impl LatencyRecorder {
    pub(crate) fn new(kernel_clock: bool) -> LatencyRecorder {
        LatencyRecorder { kernel_clock, ..LatencyRecorder::default() }
    }

    /// So many requests of the same instants succeeded, their last bytes read at `read_ns`.
    pub(crate) fn completed(&mut self, read_ns: u64, times: &RequestTimes, count: u64) {
        if self.kernel_clock {
            self.client_delay.record_n(read_ns - times.last_byte_ns, count);
        }
        self.first_bytes_upper += if times.head_alone { 0 } else { count };
        let response = times.last_byte_ns - times.intended_ns;
        if times.sent_ns == times.intended_ns && times.first_byte_ns == times.last_byte_ns {
            self.plain.record_n(response, count);
            return;
        }
        self.response.completed.record_n(response, count);
        self.service.completed.record_n(times.last_byte_ns - times.sent_ns, count);
        self.first_byte.record_n(times.first_byte_ns - times.sent_ns, count);
        let send_lag = times.dispatched_ns - times.intended_ns;
        self.send_lag.record_n(send_lag, count);
        self.connect_wait.record_n(times.sent_ns - times.dispatched_ns, count);
        self.connection_wait.record_n(times.connection_wait_ns, count);
        self.lateness.record_n(send_lag - times.connection_wait_ns, count);
    }

    pub(crate) fn failed(&mut self, now_ns: u64, times: &RequestTimes) {
        self.response.failed.record(now_ns - times.intended_ns);
        if times.sent_ns > 0 {
            self.service.failed.record(now_ns - times.sent_ns);
        }
    }

    pub(crate) fn waiting(&mut self, end_ns: u64, times: &RequestTimes) {
        self.response.waiting.record(end_ns - times.intended_ns);
        if times.sent_ns > 0 {
            self.service.waiting.record(end_ns - times.sent_ns);
        }
    }

    pub(crate) fn never_sent(&mut self, wait_ns: u64, count: u64) {
        self.response.waiting.record_n(wait_ns, count);
    }

    /// What was recorded, in the form to be kept. The recorder is empty then.
    pub(crate) fn take(&mut self) -> Latency {
        Latency {
            plain: self.plain.take(),
            rest: Parts {
                response: self.response.take(),
                service: self.service.take(),
                first_byte: self.first_byte.take(),
                connect_wait: self.connect_wait.take(),
                send_lag: self.send_lag.take(),
                connection_wait: self.connection_wait.take(),
                lateness: self.lateness.take(),
            },
            first_bytes_upper: std::mem::take(&mut self.first_bytes_upper),
            client_delay: self.client_delay.take(),
        }
    }
}

/// [`Censored`], to record in.
#[derive(Default)]
struct DenseCensored {
    completed: Histogram,
    failed: Histogram,
    waiting: Histogram,
}

impl DenseCensored {
    fn take(&mut self) -> Censored {
        Censored {
            completed: self.completed.take(),
            failed: self.failed.take(),
            waiting: self.waiting.take(),
        }
    }
}

/// Durations that are mostly zero: the zeros are only counted.
#[derive(Default)]
struct MostlyZero {
    zeros: u64,
    rest: Histogram,
}

impl MostlyZero {
    fn record_n(&mut self, value_ns: u64, count: u64) {
        if value_ns == 0 {
            self.zeros += count;
        } else {
            self.rest.record_n(value_ns, count);
        }
    }

    fn take(&mut self) -> SparseHistogram {
        self.rest.record_n(0, std::mem::take(&mut self.zeros));
        self.rest.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_each_request_add_up_to_its_response() {
        let mut parts = LatencyRecorder::new(true);
        let plain = RequestTimes {
            intended_ns: 100,
            dispatched_ns: 100,
            sent_ns: 100,
            first_byte_ns: 480,
            last_byte_ns: 480,
            head_alone: true,
            ..RequestTimes::default()
        };
        let late = RequestTimes {
            intended_ns: 100,
            dispatched_ns: 140,
            sent_ns: 170,
            first_byte_ns: 300,
            last_byte_ns: 490,
            connection_wait_ns: 15,
            ..RequestTimes::default()
        };
        parts.completed(500, &plain, 1);
        parts.completed(500, &late, 1);
        parts.failed(900, &RequestTimes { sent_ns: 0, ..late });
        parts.waiting(1000, &late);
        parts.never_sent(50, 3);
        let latency = parts.take();
        let l = latency.parts();
        let all = [&l.response.completed, &l.service.completed, &l.first_byte, &l.connect_wait, &l.send_lag];
        assert!(all.iter().all(|h| h.len() == 2));
        assert_eq!(
            (l.response.completed.max(), l.service.completed.max(), l.service.completed.min()),
            (390, 380, 320)
        );
        assert_eq!((l.send_lag.max(), l.connect_wait.max(), l.first_byte.min()), (40, 30, 130));
        assert_eq!(
            (latency.client_delay.len(), latency.client_delay.max(), latency.client_delay.min()),
            (2, 20, 10)
        );
        assert_eq!((l.connection_wait.max(), l.lateness.max(), l.lateness.min()), (15, 25, 0));
        assert_eq!((latency.first_bytes_upper, latency.plain.len()), (1, 1));
        assert_eq!((l.response.failed.len(), l.service.failed.len()), (1, 0));
        assert_eq!(
            (l.response.waiting.len(), l.service.waiting.len(), l.response.waiting.max()),
            (4, 1, 900)
        );
    }
}
