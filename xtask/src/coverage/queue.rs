//! Searches for the capacity of a queue that theory knows, as `prony capacity` makes them.

use std::sync::Mutex;
use std::time::Duration;

use prony_analysis::slo::Slo;
use prony_analysis::testing::{healthy, measured};
use prony_lab::capacity::{CapacityPlan, search};
use prony_lab::watch::LoadObserver;
use prony_load::{Interrupt, Loader};
use prony_model::host::Host;
use prony_model::plan::{Arrivals, PROBE_WARMUP, Plan};
use prony_model::rate::Rate;
use prony_model::target::Target;

use super::chance::Chance;
use super::counted::{Bar, Player, Row};
use super::runs::holds;
use crate::median::real;

/// What a server of exponential service carries, in requests per second.
const SERVED_PER_S: f64 = 2000.0;
const PROBE: Duration = Duration::from_secs(10);
/// The mean time of 697f7046's search with probes of the same length, those that fail ended early; here none is.
const SECONDS_BEFORE: f64 = 186.0;

/// M/M/1 whose p99 reaches the limit at this share of what the server carries.
pub(crate) fn rows() -> Vec<Row> {
    let row = |utilisation: f64| {
        let counts = [
            ("an interval is printed", Bar::AtLeast(0.80)),
            ("it holds the truth", Bar::AtLeast(0.90)),
            ("it is within ±4 %", Bar::AtLeast(0.50)),
            ("the search takes at most 1.5 times as long as by 697f7046", Bar::AtLeast(0.50)),
        ];
        let situation = format!(
            "capacity by a p99 limit, M/M/1, at {:.0} % of what the server carries",
            utilisation * 100.0
        );
        Row::new(situation, &counts, move || -> Player {
            Box::new(move |chance, tally| {
                let truth = utilisation * SERVED_PER_S;
                let seed = chance.uniform().to_bits();
                let record = found(100f64.ln() / (SERVED_PER_S - truth), Chance::of(seed, 0));
                let capacity = record.capacity_per_s.as_ref();
                let held = capacity.and_then(|capacity| holds(capacity, truth));
                tally.count(0, held.is_some());
                if let Some(held) = held {
                    tally.count(1, held);
                    let (low, high) = capacity.and_then(|c| c.ci_low.zip(c.ci_high)).unwrap_or_default();
                    tally.count(2, (high - low) / 2.0 <= 0.04 * capacity.map_or(0.0, |c| c.point));
                }
                let loads: u64 = record.probes.iter().map(|probe| probe.duration_ns).sum();
                let seconds =
                    real(loads) / 1e9 + real(record.probes.len() as u64) * PROBE_WARMUP.as_secs_f64();
                tally.count(3, seconds <= 1.5 * SECONDS_BEFORE);
            })
        })
        .long()
    };
    vec![row(0.8), row(0.9)]
}

fn found(limit_s: f64, chance: Chance) -> prony_model::capacity::CapacityRecord {
    let chance = Mutex::new(chance);
    let loader: Box<Loader<'static>> = Box::new(move |load, _, _| {
        let window = load.stop.duration.unwrap_or(PROBE);
        let Some(rate) = load.arrivals.rate() else {
            return Ok(healthy(1, 2000));
        };
        let requests = mm1(rate.as_per_s(), window.as_secs_f64(), &mut chance.lock().expect("nobody panics"));
        Ok(measured(&requests, u64::try_from(window.as_nanos()).unwrap_or(u64::MAX), 1))
    });
    let target = Target::parse("http://127.0.0.1:80/").expect("it is a URL");
    let plan = CapacityPlan {
        load: Plan {
            connections: 1,
            arrivals: Arrivals::Poisson(Rate::per_s(1.0).expect("it is a rate")),
            ..Plan::closed(target)
        },
        slos: vec![Slo::parse(&format!("p99<{:.0}us", limit_s * 1e6)).expect("it is a threshold")],
        probe: PROBE,
        resolution: 0.04,
        start: None,
    };
    let outside = LoadObserver { host: Host::default(), embedded_target: false, watched: None };
    search(&plan, &outside, &*loader, &Interrupt::new(), &mut |_| ()).expect("every load is applied").record
}

/// When each request was due, sent and answered: one connection, which is the server.
fn mm1(rate: f64, seconds: f64, chance: &mut Chance) -> Vec<(f64, f64, f64)> {
    let warmup = PROBE_WARMUP.as_secs_f64();
    let (mut due, mut free, mut requests) = (-warmup, -warmup, Vec::new());
    loop {
        due += chance.exponential() / rate;
        if due >= seconds {
            return requests;
        }
        let sent = due.max(free);
        free = sent + chance.exponential() / SERVED_PER_S;
        if due >= 0.0 {
            requests.push((due, sent, free));
        }
    }
}
