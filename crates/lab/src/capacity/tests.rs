use prony_load::Target;
use prony_target::Config;

use super::*;

fn plan(url: &str) -> CapacityPlan {
    CapacityPlan {
        load: Plan { connections: 20, ..Plan::closed(Target::parse(url).unwrap()) },
        slos: Vec::new(),
        probe: Duration::from_millis(600),
        resolution: 0.08,
        start: None,
    }
}

fn found(plan: &CapacityPlan, loader: &mut Loader<'_>) -> CapacityOutcome {
    search(plan, &TrialContext::default(), loader, &Interrupt::new(), &mut |_| ()).unwrap()
}

#[test]
fn the_capacity_of_a_server_with_a_known_one_is_found() {
    // A rate that any machine drives: what is tested is the search.
    let config = Config { capacity_per_s: Some(400.0), ..Config::default() };
    let target = prony_target::Target::start(&config).unwrap();
    let plan = plan(&format!("http://{}/", target.address()));
    let mut events = Vec::new();
    let mut tell = |event: &CapacityEvent<'_>| {
        if let CapacityEvent::Ended(probe) = event {
            events.push(probe.rate_per_s);
        }
    };
    let outcome =
        search(&plan, &TrialContext::default(), &mut prony_load::run, &Interrupt::new(), &mut tell).unwrap();
    target.stop();
    let record = &outcome.record;
    let capacity = record.capacity_per_s.as_ref().unwrap();
    assert!((300.0..=440.0).contains(&capacity.point), "{record:#?}");
    assert!(capacity.ci_high.unwrap() > capacity.point && record.bound == Bound::Exact);
    assert_eq!(events.len(), record.probes.len());
    assert!(record.recovers.is_some() && outcome.trial.is_some() && !outcome.interrupted);
    assert!(record.probes.iter().any(|p| !p.sustained && !p.why.is_empty()));
}

#[test]
fn a_threshold_is_kept_by_the_answer() {
    // A delay of 20 ms breaks any rate's p50<5ms: nothing is sustained.
    let config = Config { delay: "20ms".parse().unwrap(), ..Config::default() };
    let target = prony_target::Target::start(&config).unwrap();
    let mut plan = plan(&format!("http://{}/", target.address()));
    plan.slos = vec![Slo::parse("p50<5ms").unwrap()];
    plan.start = Some(64.0);
    plan.probe = Duration::from_millis(300);
    let outcome = found(&plan, &mut prony_load::run);
    target.stop();
    assert!(outcome.record.capacity_per_s.is_none(), "{:#?}", outcome.record);
    assert!(outcome.record.probes.iter().all(|p| !p.sustained && p.why.starts_with("p50<5ms")));
    assert_eq!(outcome.record.slo, "p50<5ms");
}

#[test]
fn an_interrupt_ends_it_and_says_so() {
    let target = prony_target::Target::start(&Config::default()).unwrap();
    let plan = plan(&format!("http://{}/", target.address()));
    let interrupt = Interrupt::new();
    let mut probes = 0;
    let mut tell = |event: &CapacityEvent<'_>| {
        if matches!(event, CapacityEvent::Ended(_)) {
            probes += 1;
            interrupt.ask();
        }
    };
    let outcome =
        search(&plan, &TrialContext::default(), &mut prony_load::run, &interrupt, &mut tell).unwrap();
    target.stop();
    assert!(outcome.interrupted && outcome.record.probes.len() == 1);
    assert_eq!(probes, 1);
}
