//! Load processes whose truth is known: what is answered when, and how long it took.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use statrs::distribution::{ContinuousCDF, LogNormal};

use super::chance::Chance;
use super::recorder::Recorder;
use crate::median::real;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Poisson arrivals at one server with exponential service, first come first served.
    Mm1 {
        /// Requests per second.
        rate: f64,
        utilisation: f64,
    },
    /// Closed connections, each served by itself, lognormal times of this median and sigma.
    Lognormal {
        connections: u32,
        median_s: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// As above, Pareto times above a least one.
    Pareto {
        connections: u32,
        /// The least time, in seconds.
        least_s: f64,
        index: f64,
    },
    /// Rate and response swing with two first-order chains of one step per 100 ms.
    Chain {
        rate: f64,
        /// The chains' correlation from one step to the next.
        phi: f64,
    },
    /// Poisson arrivals at a server that stalls, at random, and then responds to all that waited.
    Stalls {
        rate: f64,
        /// The mean time from one stall to the next.
        every_s: f64,
    },
}

/// How a run drifts, as shares over the window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Drift {
    pub(crate) rate: f64,
    pub(crate) response: f64,
    /// For this share of the window the rate is a fifth lower: a warm-up that is not over.
    pub(crate) slow_start: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Truth {
    pub(crate) per_s: f64,
    pub(crate) mean_ns: f64,
    pub(crate) p50_ns: f64,
    pub(crate) p90_ns: f64,
    pub(crate) p99_ns: f64,
}

/// z of the 90th and the 99th percentile, Φ⁻¹(0.9) and Φ⁻¹(0.99).
const Z90: f64 = 1.281_551_566;
const Z99: f64 = 2.326_347_874;
/// Swings of [`Kind::Chain`]: of the rate's logarithm, of the response's, and the response's own noise.
const CHAIN: (f64, f64, f64) = (0.05, 0.2, 0.4);
const CHAIN_MEDIAN_S: f64 = 0.01;
const STEP_S: f64 = 0.1;
/// How long a stall of [`Kind::Stalls`] lasts, the median of its service times and their logarithms' deviation.
const STALL_S: f64 = 0.2;
const STALL_SERVICE: (f64, f64) = (0.005, 0.3);
/// Traffic before the window, so that it begins in its steady state.
const WARM_UP_S: f64 = 2.0;

impl Kind {
    pub(crate) fn truth(self) -> Truth {
        let (per_s, mean, p50, p90, p99) = match self {
            // Response times of M/M/1 are exponential with rate μ − λ (Kleinrock (1975), Queueing Systems I, 3.2).
            Kind::Mm1 { rate, utilisation } => {
                let gap = rate / utilisation - rate;
                (rate, 1.0 / gap, std::f64::consts::LN_2 / gap, 10f64.ln() / gap, 100f64.ln() / gap)
            }
            // A renewal process answers at one over the mean.
            Kind::Lognormal { connections, median_s, sigma } => {
                let mean = median_s * (sigma * sigma / 2.0).exp();
                let beyond = |z: f64| median_s * (z * sigma).exp();
                (f64::from(connections) / mean, mean, median_s, beyond(Z90), beyond(Z99))
            }
            Kind::Pareto { connections, least_s, index } => {
                let mean = least_s * index / (index - 1.0);
                let beyond = |share: f64| least_s * share.powf(-1.0 / index);
                (f64::from(connections) / mean, mean, beyond(0.5), beyond(0.1), beyond(0.01))
            }
            Kind::Chain { rate, .. } => {
                let spread = CHAIN.1.hypot(CHAIN.2);
                let mean = CHAIN_MEDIAN_S * (spread * spread / 2.0).exp();
                let beyond = |z: f64| CHAIN_MEDIAN_S * (z * spread).exp();
                (rate, mean, CHAIN_MEDIAN_S, beyond(Z90), beyond(Z99))
            }
            Kind::Stalls { rate, every_s } => {
                let stalled = STALL_S / every_s;
                let (median, sigma) = STALL_SERVICE;
                let mean = median * (sigma * sigma / 2.0).exp() + stalled * STALL_S / 2.0;
                let beyond = |share: f64| stall_quantile(stalled, 1.0 - share);
                (rate, mean, beyond(0.5), beyond(0.1), beyond(0.01))
            }
        };
        Truth { per_s, mean_ns: mean * 1e9, p50_ns: p50 * 1e9, p90_ns: p90 * 1e9, p99_ns: p99 * 1e9 }
    }

    /// Plays one run of `window_s` seconds into the recorder.
    pub(crate) fn play(self, window_s: f64, drift: Drift, chance: &mut Chance, recorder: &mut Recorder) {
        let course = Course { window_s, drift };
        match self {
            Kind::Mm1 { rate, utilisation } => mm1(rate, utilisation, &course, chance, recorder),
            Kind::Lognormal { connections, median_s, sigma } => {
                closed(connections, &course, chance, recorder, |c| median_s * (sigma * c.normal()).exp());
            }
            Kind::Pareto { connections, least_s, index } => {
                closed(connections, &course, chance, recorder, |c| {
                    least_s * (1.0 - c.uniform()).powf(-1.0 / index)
                });
            }
            Kind::Chain { rate, phi } => chain(rate, phi, &course, chance, recorder),
            Kind::Stalls { rate, every_s } => stalls(rate, every_s, window_s, chance, recorder),
        }
    }
}

/// The quantile of a service time plus, for this share of requests, a uniform rest of a stall.
fn stall_quantile(stalled: f64, q: f64) -> f64 {
    let (median, sigma) = STALL_SERVICE;
    let service = LogNormal::new(median.ln(), sigma).expect("it is a distribution");
    let within = |s: f64| service.cdf(s.max(0.0));
    // The mean over 1,000 rests of the chance that the service takes no more than what is left.
    let stalled_within =
        |s: f64| (0..1000).map(|i| within(s - STALL_S * (f64::from(i) + 0.5) / 1000.0)).sum::<f64>() / 1000.0;
    let (mut low, mut high) = (0.0, STALL_S + 1.0);
    for _ in 0..60 {
        let s = f64::midpoint(low, high);
        let below = (1.0 - stalled) * within(s) + stalled * stalled_within(s);
        *(if below < q { &mut low } else { &mut high }) = s;
    }
    low
}

fn stalls(rate: f64, every_s: f64, window_s: f64, chance: &mut Chance, recorder: &mut Recorder) {
    let (median, sigma) = STALL_SERVICE;
    let pause_s = every_s - STALL_S;
    let mut at = -WARM_UP_S;
    // Stationary: within a stall by its share of time.
    let mut stall = if chance.uniform() < STALL_S / every_s {
        at - STALL_S * chance.uniform()
    } else {
        at + pause_s * chance.exponential()
    };
    let mut due: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let nanoseconds = |s: f64| rounded((s + WARM_UP_S) * 1e9);
    let mut answer = |due: &mut BinaryHeap<Reverse<(u64, u64)>>, until: f64| {
        while due.peek().is_some_and(|Reverse((ends, _))| *ends < nanoseconds(until)) {
            let Some(Reverse((ends, began))) = due.pop() else { return };
            recorder.answer(real(ends) / 1e9 - WARM_UP_S, real(ends - began) / 1e9);
        }
    };
    while at < window_s {
        at += chance.exponential() / rate;
        while at >= stall + STALL_S {
            stall += STALL_S + pause_s * chance.exponential();
        }
        let served_from = if at >= stall { stall + STALL_S } else { at };
        let took = median * (sigma * chance.normal()).exp();
        due.push(Reverse((nanoseconds(served_from + took), nanoseconds(at))));
        answer(&mut due, at);
    }
    answer(&mut due, window_s);
}

/// The drift as factors at an instant.
struct Course {
    window_s: f64,
    drift: Drift,
}

impl Course {
    fn rate(&self, at_s: f64) -> f64 {
        let slow = if at_s < self.drift.slow_start * self.window_s { 0.8 } else { 1.0 };
        slow * (1.0 + self.drift.rate * (at_s / self.window_s).clamp(0.0, 1.0))
    }

    fn response(&self, at_s: f64) -> f64 {
        1.0 + self.drift.response * (at_s / self.window_s).clamp(0.0, 1.0)
    }
}

fn mm1(rate: f64, utilisation: f64, course: &Course, chance: &mut Chance, recorder: &mut Recorder) {
    let service_s = utilisation / rate;
    // The workload an arrival finds, stationary: 0, or exponential.
    let busy = chance.uniform() < utilisation;
    let mut at = -WARM_UP_S;
    let mut free_at = at + if busy { chance.exponential() / (1.0 / service_s - rate) } else { 0.0 };
    loop {
        at += chance.exponential() / (rate * course.rate(at));
        // The server keeps pace with a rate that drifts: at 90 % it could not carry 25 % more.
        let pace = course.response(at) / course.rate(at);
        free_at = free_at.max(at) + chance.exponential() * service_s * pace;
        if free_at >= course.window_s {
            return;
        }
        recorder.answer(free_at, free_at - at);
    }
}

fn closed(
    connections: u32,
    course: &Course,
    chance: &mut Chance,
    recorder: &mut Recorder,
    mut service_s: impl FnMut(&mut Chance) -> f64,
) {
    // By the instant of completion, in integers: (ends, began).
    let nanoseconds = |s: f64| rounded((s + WARM_UP_S) * 1e9);
    let mut due: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    for _ in 0..connections {
        let took = chance.uniform() * service_s(chance);
        due.push(Reverse((nanoseconds(took - WARM_UP_S), 0)));
    }
    while let Some(Reverse((ends, began))) = due.pop() {
        let seconds = |ns: u64| real(ns) / 1e9 - WARM_UP_S;
        let at = seconds(ends);
        if at >= course.window_s {
            return;
        }
        recorder.answer(at, real(ends - began) / 1e9);
        // A rate that drifts is a pause between requests that does.
        let took = service_s(chance) * course.response(at) / course.rate(at);
        due.push(Reverse((ends + rounded(took * 1e9).max(1), ends)));
    }
}

fn chain(rate: f64, phi: f64, course: &Course, chance: &mut Chance, recorder: &mut Recorder) {
    let (swing, response_swing, own) = CHAIN;
    let fresh = (1.0 - phi * phi).sqrt();
    let (mut of_rate, mut of_response) = (chance.normal(), chance.normal());
    let mut step = 0.0;
    while step * STEP_S < course.window_s {
        let from = step * STEP_S;
        let level = rate * course.rate(from) * (swing * of_rate - swing * swing / 2.0).exp();
        let mut at = from + chance.exponential() / level;
        while at < (from + STEP_S).min(course.window_s) {
            let log = response_swing * of_response + own * chance.normal();
            recorder.answer(at, CHAIN_MEDIAN_S * log.exp() * course.response(at));
            at += chance.exponential() / level;
        }
        of_rate = phi * of_rate + fresh * chance.normal();
        of_response = phi * of_response + fresh * chance.normal();
        step += 1.0;
    }
}

fn rounded(ns: f64) -> u64 {
    ns.round() as u64
}
