//! Searches on a simulated queue whose capacity theory knows: M/M/4 and its like, without a clock and from seeds.

use prony_analysis::testing::{healthy, measured};

use std::sync::Mutex;

use super::*;

const S: u64 = 1_000_000_000;
/// Connections, each of which is a server: a request waits for one of them to be free.
const SERVERS: u16 = 4;
/// Exponential, of 5 ms in the mean: from 4 / 5 ms = 800 a second on the backlog grows without end.
const SERVED_PER_S: f64 = 200.0;

/// Uniform numbers of a seed (xorshift64*).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, per_s: f64) -> f64 {
        -(1.0 - self.uniform()).ln() / per_s
    }
}

/// When requests are due, in seconds: evenly, or as a Poisson process has them.
fn due(arrivals: &Arrivals, seconds: f64, chance: &mut Chance) -> Vec<f64> {
    let per_s = arrivals.rate().unwrap().as_per_s();
    let poisson = matches!(arrivals, Arrivals::Poisson(_));
    let mut gap = || if poisson { chance.exponential(per_s) } else { 1.0 / per_s };
    std::iter::successors(Some(0.0), |at| Some(at + gap())).take_while(|at| *at < seconds).collect()
}

/// When each request was due, sent and answered, in seconds: whoever is due first is sent first.
fn requests(due: Vec<f64>, chance: &mut Chance) -> Vec<(f64, f64, f64)> {
    let mut free = [0.0_f64; SERVERS as usize];
    let served = due.into_iter().map(|due| {
        let first = free.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        let sent = first.max(due);
        *first = sent + chance.exponential(SERVED_PER_S);
        (due, sent, *first)
    });
    served.collect()
}

/// What is found with probes of a minute, each of which sees another part of the queue's life.
fn found(arrivals: Arrivals, slo: Option<&str>, resolution: f64, seed: u64) -> CapacityRecord {
    let chance = Mutex::new(Chance(seed));
    let loader: Box<Loader<'static>> = Box::new(move |load, _, _| {
        if load.arrivals.rate().is_none() {
            return Ok(healthy(1, 160 * u64::from(load.connections)));
        }
        let seconds = load.stop.duration.unwrap().as_secs();
        let mut chance = chance.lock().unwrap();
        let due = due(&load.arrivals, seconds as f64, &mut chance);
        Ok(measured(&requests(due, &mut chance), seconds * S, u64::from(SERVERS)))
    });
    let plan = CapacityPlan {
        load: Plan {
            connections: u32::from(SERVERS),
            arrivals,
            ..Plan::closed(prony_model::Target::parse("http://127.0.0.1:80/").unwrap())
        },
        slos: slo.map(|slo| Slo::parse(slo).unwrap()).into_iter().collect(),
        probe: Duration::from_secs(60),
        resolution,
        start: None,
    };
    search(&plan, &tests::outside(), &*loader, &Interrupt::new(), &mut |_| ()).unwrap().record
}

fn rate(per_s: f64) -> Rate {
    Rate::per_s(per_s).unwrap()
}

fn point(record: &CapacityRecord) -> f64 {
    record.capacity_per_s.as_ref().unwrap_or_else(|| panic!("{record:#?}")).point
}

#[test]
fn the_knee_of_a_queue_is_where_its_servers_are_always_busy() {
    let truth = f64::from(SERVERS) * SERVED_PER_S;
    for seed in 1..=2 {
        let record = found(Arrivals::Constant(rate(1.0)), None, 0.04, seed);
        assert!((0.96..1.02).contains(&(point(&record) / truth)), "{record:#?}");
        assert_eq!(record.bound, Bound::Exact);
    }
}

/// However long a probe is: a server that is always busy completes what it can, and what is left over grows with the probe.
#[test]
fn without_a_threshold_the_search_finds_what_the_servers_carry() {
    let truth = f64::from(SERVERS) * SERVED_PER_S;
    for seed in 1..=4 {
        let record = found(Arrivals::Poisson(rate(1.0)), None, 0.04, seed);
        let (found, low, high) = record.interval().unwrap_or_else(|| panic!("{record:#?}"));
        assert!((0.99..1.01).contains(&(found.point / truth)), "{record:#?}");
        assert!(low < found.point && found.point < high && high / low < 1.02, "{record:#?}");
    }
}

/// With a threshold: M/M/4, whose 90th percentile of response is 20 ms at 653 a second.
#[test]
fn a_threshold_is_met_up_to_the_rate_of_queueing_theory() {
    let truth = MultiServer { servers: SERVERS, served_per_s: SERVED_PER_S }.rate_with(0.9, 0.020);
    assert!((truth - 653.0).abs() < 1.0, "{truth}");
    for seed in 1..=2 {
        let record = found(Arrivals::Poisson(rate(1.0)), Some("p90<20ms"), 0.04, seed);
        assert!((0.97..1.03).contains(&(point(&record) / truth)), "{truth}: {record:#?}");
        let interval = record.interval().unwrap_or_else(|| panic!("{record:#?}"));
        assert!(interval.1 < interval.0.point && interval.0.point < interval.2, "{record:#?}");
        // Beyond the answer it is the threshold that is missed, before the queue is full.
        let missed = record.probes.iter().filter(|probe| probe.why.starts_with("p90<20ms: "));
        assert!(missed.clone().count() > 0 && missed.clone().all(|probe| probe.rate_per_s > truth * 0.9));
        assert_eq!(record.slo, "p90<20ms, errors<0.1%");
    }
}

/// M/M/c (Kleinrock, Queueing Systems, volume 1, 1975, section 3.5).
struct MultiServer {
    servers: u16,
    /// By each of them.
    served_per_s: f64,
}

impl MultiServer {
    /// Erlang's C: the share of requests that wait.
    fn waiting(&self, rate_per_s: f64) -> f64 {
        let offered = rate_per_s / self.served_per_s;
        // Erlang's B by its recursion, and C from it.
        let blocked = (1..=self.servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
        let servers = f64::from(self.servers);
        servers * blocked / (servers - offered * (1.0 - blocked))
    }

    /// The share of responses that take longer: the service alone, or after an exponential wait.
    fn longer(&self, rate_per_s: f64, seconds: f64) -> f64 {
        let (waiting, served) = (self.waiting(rate_per_s), self.served_per_s);
        let spare = f64::from(self.servers) * served - rate_per_s;
        let both = (spare * (-served * seconds).exp() - served * (-spare * seconds).exp()) / (spare - served);
        (1.0 - waiting) * (-served * seconds).exp() + waiting * both
    }

    /// The rate at which this quantile of response is so many seconds, by bisection.
    fn rate_with(&self, quantile: f64, seconds: f64) -> f64 {
        let (mut low, mut high) = (0.0, f64::from(self.servers) * self.served_per_s);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.longer(middle, seconds) > 1.0 - quantile { high = middle } else { low = middle }
        }
        low
    }
}
