//! `prony capacity` against servers whose capacity is known, by construction or by theory.
//!
//! Their rates are low, so that what this machine does beside them hardly moves them.

use serde_json::Value;

use crate::world::{TargetProcess, World};

/// What a search of this line found, as JSON.
fn searched(target: &TargetProcess, flags: &[&str]) -> Value {
    let world = World::new();
    let url = target.url();
    let line = [&["capacity", &url, "--json", "c.json", "-q"], flags].concat();
    let said = world.prony(&line);
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&world.read("c.json")).unwrap()
}

/// The found rate over the true one.
fn over(found: &Value, truth_per_s: f64) -> f64 {
    assert_eq!(found["schema"], "prony.capacity/1");
    found["capacity_per_s"]["point"].as_f64().unwrap() / truth_per_s
}

#[test]
fn a_limit_is_found() {
    let target = TargetProcess::start(&["--capacity", "400/s"]);
    let found = searched(&target, &["-c", "50", "-d", "1s", "--resolution", "2%"]);
    assert!((0.95..1.05).contains(&over(&found, 400.0)), "{found:#}");
    let probes = found["probes"].as_array().unwrap();
    assert!(probes.iter().any(|probe| probe["sustained"] == true), "{found:#}");
    assert!(probes.iter().any(|probe| probe["sustained"] == false), "{found:#}");
}

/// Four connections, each answered after an exponential time of 5 ms: a queue with four servers, whose backlog grows
/// without end from 4 / 5 ms = 800 a second on.
#[test]
fn the_knee_of_a_queue_is_where_its_servers_are_always_busy() {
    let target = TargetProcess::start(&["--delay", "exp:5ms"]);
    let found = searched(&target, &["-c", "4", "-d", "3s", "-R", "200", "--resolution", "5%"]);
    assert!((0.85..1.05).contains(&over(&found, 800.0)), "{found:#}");
}

/// The same with a threshold: M/M/4, whose 90th percentile of response is 20 ms at 653 a second.
#[test]
fn a_threshold_is_met_up_to_the_rate_that_queueing_theory_gives() {
    let servers = MultiServer { servers: 4, served_per_s: 200.0 };
    let truth = servers.rate_with(0.9, 0.020);
    assert!((truth - 653.0).abs() < 1.0, "{truth}");
    let target = TargetProcess::start(&["--delay", "exp:5ms"]);
    let flags = ["-c", "4", "-d", "4s", "--arrivals", "poisson", "--resolution", "2%"];
    let found = searched(&target, &[&flags[..], &["--slo", "p90<20ms"]].concat());
    assert!((0.85..1.05).contains(&over(&found, truth)), "{truth}: {found:#}");
}

/// M/M/c (Kleinrock, Queueing Systems, volume 1, 1975, section 3.5).
struct MultiServer {
    servers: u32,
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
