//! Single requests, for tools that want a line for each (JMeter's result log): as many as
//! [`Plan::samples_max`](prony_model::Plan::samples_max) says, in room that is there before the clock starts.

use std::io;

use crate::recorder::latency::RequestTimes;
use prony_model::measurement::{ErrorKind, Sample};

#[derive(Debug, Default)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    /// How many are kept at most; 0: none are asked for, and none are counted.
    room: usize,
    dropped: u64,
    worker: u16,
    start_ns: u64,
}

impl Samples {
    /// Its memory is written once, so that no page of it is fetched from the kernel while the clock runs.
    pub(crate) fn with_room(worker: u32, room: u64) -> io::Result<Samples> {
        let too_many = || io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for {room} samples"));
        let worker = u16::try_from(worker).unwrap_or(u16::MAX);
        let mut samples =
            Samples { room: usize::try_from(room).map_err(|_| too_many())?, worker, ..Samples::default() };
        samples.kept.try_reserve_exact(samples.room).map_err(|_| too_many())?;
        let blank = samples.sample(0, &RequestTimes::default(), None);
        samples.kept.resize(samples.room, blank);
        samples.kept.clear();
        Ok(samples)
    }

    pub(crate) fn count_from(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    pub(crate) fn are_kept(&self) -> bool {
        self.room > 0
    }

    /// Keeps a request that ended at `end_ns`, if samples are asked for.
    #[inline]
    pub(crate) fn keep(&mut self, end_ns: u64, times: &RequestTimes, failure: Option<ErrorKind>) {
        if self.room > 0 {
            self.keep_asked(end_ns, times, failure);
        }
    }

    #[cold]
    fn keep_asked(&mut self, end_ns: u64, times: &RequestTimes, failure: Option<ErrorKind>) {
        if self.kept.len() < self.room {
            let sample = self.sample(end_ns, times, failure);
            self.kept.push(sample);
        } else {
            self.dropped += 1;
        }
    }

    fn sample(&self, end_ns: u64, times: &RequestTimes, failure: Option<ErrorKind>) -> Sample {
        let connected_ns = match failure {
            Some(kind) if kind.is_before_sending() => end_ns,
            // Unsent for another reason, it waited for no connect.
            _ if times.sent_ns == 0 => times.dispatched_ns,
            _ => times.sent_ns,
        };
        Sample {
            intended_ns: times.intended_ns.saturating_sub(self.start_ns),
            response_ns: end_ns.saturating_sub(times.intended_ns),
            first_byte_us: microseconds(times.first_byte_ns.saturating_sub(times.intended_ns)),
            connect_wait_us: microseconds(connected_ns.saturating_sub(times.dispatched_ns)),
            read_bytes: times.read_bytes,
            status: times.status,
            failure,
            worker: self.worker,
            request: times.request,
        }
    }

    /// Takes the samples, in the order in which their requests ended, and how many more there were.
    pub(crate) fn take(&mut self) -> (Vec<Sample>, u64) {
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.dropped))
    }
}

fn microseconds(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> RequestTimes {
        RequestTimes {
            intended_ns: 1_000_000,
            dispatched_ns: 1_004_000,
            sent_ns: 1_034_000,
            first_byte_ns: 1_500_900,
            last_byte_ns: 1_600_001,
            read_bytes: 130,
            status: 200,
            ..RequestTimes::default()
        }
    }

    #[test]
    fn the_first_are_kept_and_the_rest_counted() {
        let mut samples = Samples::with_room(3, 2).unwrap();
        samples.keep(1_600_001, &times(), None);
        samples.keep(
            1_700_000,
            &RequestTimes { sent_ns: 0, first_byte_ns: 0, status: 0, ..times() },
            Some(ErrorKind::ConnectFailed),
        );
        for _ in 0..5 {
            samples.keep(9_000_000, &times(), None);
        }
        let (kept, dropped) = samples.take();
        assert_eq!((kept.len(), dropped), (2, 5));
        let (first, second) = (kept[0], kept[1]);
        assert_eq!((first.intended_ns, first.response_ns, first.end_ns()), (1_000_000, 600_001, 1_600_001));
        assert_eq!((first.first_byte_us, first.connect_wait_us, first.read_bytes), (500, 30, 130));
        assert_eq!((first.status, first.failure, first.worker), (200, None, 3));
        assert_eq!((second.first_byte_us, second.connect_wait_us), (0, 696));
        assert_eq!((second.status, second.failure), (0, Some(ErrorKind::ConnectFailed)));
    }

    #[test]
    fn without_room_nothing_is_kept_or_counted() {
        let mut samples = Samples::default();
        samples.keep(1_600_001, &times(), None);
        assert_eq!(samples.take(), (Vec::new(), 0));
    }

    #[test]
    fn a_request_that_was_dropped_unsent_waited_for_no_connect() {
        let mut samples = Samples::with_room(0, 1).unwrap();
        samples.keep(1_700_000, &RequestTimes { sent_ns: 0, ..times() }, Some(ErrorKind::Reset));
        assert_eq!(samples.take().0[0].connect_wait_us, 0);
    }

    #[test]
    fn waits_beyond_an_hour_stay_at_their_bound() {
        let mut samples = Samples::with_room(0, 1).unwrap();
        let day = RequestTimes { first_byte_ns: 86_400_000_000_000, ..times() };
        samples.keep(86_400_000_000_001, &day, None);
        let (kept, _) = samples.take();
        assert_eq!((kept[0].first_byte_us, kept[0].response_ns), (u32::MAX, 86_399_999_000_001));
    }
}
