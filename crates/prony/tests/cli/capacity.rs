//! `prony capacity` over a real socket: what holds however fast the machine is. That a limit, the knee of a queue and a
//! threshold are found where they are is held in prony-lab (`capacity::tests`, `capacity::queue_tests`).

use serde_json::Value;

use crate::world::{Said, TargetProcess, World};

/// A search of this line, and what it found, as JSON.
fn searched(target: &TargetProcess, flags: &[&str]) -> (Said, Value) {
    let world = World::new();
    let url = target.url();
    let line = ["capacity", &url, "--json", "c.json", "-d", "200ms", "-c", "10"];
    let said = world.prony(&[&line, flags].concat());
    let found: Value = serde_json::from_str(&world.read("c.json")).unwrap();
    assert_eq!(found["schema"], "prony.capacity/1");
    (said, found)
}

fn probes(found: &Value) -> &[Value] {
    found["probes"].as_array().unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Whether there is an answer, and which one, is the machine's to say as well. What is said of it is not.
#[test]
fn a_search_ends_and_its_capacity_follows_from_its_probes() {
    const CAPACITY_PER_S: f64 = 400.0;
    let target = TargetProcess::start(&["--capacity", "400/s"]);
    let (said, found) = searched(&target, &["-R", "50", "--resolution", "20%"]);
    assert_eq!(found["interrupted"], false);
    assert!(!probes(&found).is_empty() && found["void"].is_null(), "{found:#}");
    for probe in probes(&found) {
        assert_eq!(probe["sustained"] == true, probe["why"] == "sustained", "{probe}");
        // By its own clock the target answers one request in 2.5 ms, from the probe's warm-up of 300 ms on. What was
        // carried is all but a hundredth of what was due.
        let seconds = number(&probe["duration_ns"]) / 1e9;
        let most = CAPACITY_PER_S * (seconds + 0.3) + 2.0;
        assert!(number(&probe["completed_per_s"]) * seconds <= most, "{probe}");
        let due = number(&probe["rate_per_s"]) * seconds;
        assert!(probe["sustained"] == false || due * 0.98 <= most, "{probe}");
    }
    let rates = |sustained: bool| {
        let of = probes(&found).iter().filter(move |probe| probe["sustained"] == sustained);
        of.map(|probe| number(&probe["rate_per_s"]))
    };
    if found["capacity_per_s"].is_null() {
        assert_eq!((said.code, rates(true).count()), (Some(3), 0), "{said:?} {found:#}");
        return;
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer = &found["capacity_per_s"];
    let tried = rates(true)
        .chain(rates(false))
        .fold((f64::MAX, 0.0), |(low, high): (f64, f64), rate| (low.min(rate), high.max(rate)));
    assert!((tried.0..=tried.1).contains(&number(&answer["point"])), "{found:#}");
    assert!(answer["ci_low"].is_null() != answer["no_interval"].is_null(), "{found:#}");
    assert_eq!(found["plan"]["arrivals"], "poisson", "unless it is said otherwise");
    // Each probe about the edge is three quarters of the 200 ms, and has arrivals of its own.
    let about = probes(&found).iter().filter(|probe| probe["phase"] == "up_down");
    assert!(found["bound"] == "lower" || about.count() == 24, "{found:#}");
}

/// Each answer takes 20 ms, by the target's clock.
#[test]
fn a_threshold_that_no_rate_meets_is_reported() {
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let (said, found) = searched(&target, &["-R", "10", "--resolution", "50%", "--slo", "p50<10ms"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!((&found["capacity_per_s"], &found["slo"]), (&Value::Null, &"p50<10ms, errors<0.1%".into()));
    for probe in probes(&found) {
        assert_eq!(probe["sustained"], false, "{probe}");
        assert!(!probe["why"].as_str().unwrap().is_empty(), "{probe}");
    }
    assert!(said.out.contains("p50<10ms"), "{said:?}");
}
