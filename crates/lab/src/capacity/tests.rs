use prony_analysis::testing::{Line, healthy};
use prony_load::Target;

use super::*;

fn plan() -> CapacityPlan {
    CapacityPlan {
        load: Plan { connections: 20, ..Plan::closed(Target::parse("http://127.0.0.1:80/").unwrap()) },
        slos: Vec::new(),
        probe: Duration::from_secs(5),
        resolution: 0.02,
        start: None,
    }
}

/// A server of one line whose head is taken so often a second, and of nothing else: no clock, no noise.
fn line(served_per_s: u64) -> Box<Loader<'static>> {
    Box::new(move |load, _, _| {
        let window = load.stop.duration.unwrap_or(Duration::from_secs(1));
        let Some(rate) = load.arrivals.rate() else {
            return Ok(healthy(window.as_secs().max(1), served_per_s));
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's rates")]
        let rate_per_s = rate.as_per_s().ceil() as u64;
        Ok(Line { rate_per_s, served_per_s, stalls: Vec::new(), window_ns: window.as_nanos() as u64 }
            .measure())
    })
}

fn search_of(plan: &CapacityPlan, served_per_s: u64) -> CapacityOutcome {
    let mut loader = line(served_per_s);
    search(plan, &TrialContext::default(), &mut *loader, &Interrupt::new(), &mut |_| ()).unwrap()
}

#[test]
fn the_capacity_of_a_line_with_a_known_one_is_found() {
    for truth in [400, 2_000, 7_777] {
        let outcome = search_of(&plan(), truth);
        let record = &outcome.record;
        let capacity = record.capacity_per_s.as_ref().unwrap();
        let error = capacity.point / truth as f64 - 1.0;
        assert!(error.abs() < 0.03, "{truth}: {record:#?}");
        assert!(capacity.ci_high.unwrap() > capacity.point && record.bound == Bound::Exact);
        assert!(record.recovers.is_some() && outcome.trial.is_some() && !outcome.interrupted);
        assert!(record.probes.iter().any(|p| !p.sustained && !p.why.is_empty()));
        let phases: Vec<&str> = record.probes.iter().map(|p| p.phase.as_str()).collect();
        assert_eq!(phases[phases.len() - 2..], ["confirmation", "descending"]);
    }
}

#[test]
fn a_threshold_that_no_rate_keeps_finds_nothing() {
    // Each answer of the line takes 1 ms at least.
    let plan = CapacityPlan { slos: vec![Slo::parse("p50<500us").unwrap()], ..plan() };
    let outcome = search_of(&plan, 2_000);
    assert!(outcome.record.capacity_per_s.is_none(), "{:#?}", outcome.record);
    let whys: Vec<&str> = outcome.record.probes.iter().map(|p| p.why.as_str()).collect();
    assert!(whys[0].starts_with("p50<500us: "), "{whys:?}");
    assert_eq!(outcome.record.slo, "p50<500us");
}

#[test]
fn an_interrupt_ends_it_and_says_so() {
    let interrupt = Interrupt::new();
    let mut probes = 0;
    let mut tell = |event: &CapacityEvent<'_>| {
        if matches!(event, CapacityEvent::Ended(_)) {
            probes += 1;
            interrupt.ask();
        }
    };
    let mut loader = line(1_000);
    let outcome = search(&plan(), &TrialContext::default(), &mut *loader, &interrupt, &mut tell).unwrap();
    assert!(outcome.interrupted && outcome.record.probes.len() == 1);
    assert_eq!(probes, 1);
}
