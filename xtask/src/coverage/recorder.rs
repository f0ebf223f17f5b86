//! Answers as the engine's books would keep them: 100 ms bins, seconds with histograms, one histogram of the window.

use prony_analysis::testing::healthy;
use prony_model::histogram::Histogram;
use prony_model::measurement::{BIN_NS, Bin, Measurement, Second};

const S: u64 = 1_000_000_000;

pub(crate) struct Recorder {
    m: Measurement,
    /// The second that is being filled, and its answers.
    second: usize,
    response: Histogram,
    whole: Histogram,
}

impl Recorder {
    pub(crate) fn new(seconds: u64) -> Recorder {
        let (response, whole) = Default::default();
        Recorder { m: healthy(seconds, 0), second: 0, response, whole }
    }

    pub(crate) fn clear(&mut self) {
        self.m.bins.each.fill(Bin::default());
        self.whole.clear();
        self.m.requests.completed = 0;
        self.response.clear();
        self.second = 0;
    }

    /// An answer, in order of the second it came in; those before the window are not counted.
    pub(crate) fn answer(&mut self, at_s: f64, took_s: f64) {
        if at_s < 0.0 {
            return;
        }
        let at_ns = (at_s * 1e9) as u64;
        let second = (at_ns / S) as usize;
        while self.second < second {
            self.close();
        }
        let Some(bin) = self.m.bins.each.get_mut((at_ns / BIN_NS) as usize) else { return };
        let took_ns = (took_s * 1e9).max(1.0) as u64;
        bin.completed += 1;
        bin.response_sum_ns += took_ns;
        bin.dispatched += 1;
        self.m.requests.completed += 1;
        self.response.record(took_ns);
    }

    fn close(&mut self) {
        let response = self.response.to_sparse();
        self.whole.add(&self.response);
        let completed = self.response.len();
        if let Some(place) = self.m.series.get_mut(self.second) {
            *place = Second {
                at_ns: self.second as u64 * S,
                length_ns: S,
                completed,
                failed: 0,
                connections: 50,
                response,
            };
        }
        self.response.clear();
        self.second += 1;
    }

    pub(crate) fn measured(&mut self) -> &Measurement {
        while self.second < self.m.series.len() {
            self.close();
        }
        self.m.latency.plain = self.whole.to_sparse();
        &self.m
    }
}
