use prony_analysis::testing::{Line, healthy};
use prony_load::Control;
use prony_model::Target;
use prony_model::code::Code;
use prony_model::host::Host;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::server::{SampleColumns, ServerSamples};

use super::*;

fn plan() -> CapacityPlan {
    CapacityPlan {
        load: Plan { connections: 20, ..Plan::closed(Target::parse("http://127.0.0.1:80/").unwrap()) },
        slos: Vec::new(),
        probe: Duration::from_secs(5),
        resolution: 0.04,
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
        let rate_per_s = rate.as_per_s().ceil() as u64;
        Ok(Line { rate_per_s, served_per_s, stalls: Vec::new(), window_ns: window.as_nanos() as u64 }
            .measure())
    })
}

/// Of a server of which nothing is known but its answers.
pub(super) fn outside() -> LoadObserver {
    LoadObserver { host: Host::default(), embedded_target: false, watched: None }
}

fn observed(measured: prony_model::Measurement, load: &Plan) -> Observed {
    Observed::new(measured, RecordedPlan::of(load))
}

fn search_of(plan: &CapacityPlan, served_per_s: u64) -> CapacityOutcome {
    let loader = line(served_per_s);
    search(plan, &outside(), &*loader, &Interrupt::new(), &mut |_| ()).unwrap()
}

#[test]
fn the_search_finds_a_known_capacity() {
    for truth in [400, 2_000, 7_777] {
        let outcome = search_of(&plan(), truth);
        let record = &outcome.record;
        let capacity = record.capacity_per_s.as_ref().unwrap();
        let error = capacity.point / truth as f64 - 1.0;
        assert!(error.abs() < 0.03, "{truth}: {record:#?}");
        // A line without noise goes from no backlog to one within a step: then there is no interval.
        assert_eq!(record.confirmed, Some(capacity.ci_low.is_some()));
        assert!(capacity.ci_low.is_some() != capacity.no_interval.is_some() && record.bound == Bound::Exact);
        assert!(record.recovers.is_some() && outcome.trial.is_some() && !outcome.interrupted);
        assert!(record.probes.iter().any(|p| !p.sustained && !p.why.is_empty()));
        let about = record.probes.iter().filter(|p| p.phase == "up_down");
        assert!(about.clone().count() == 24 && about.clone().all(|p| p.duration_ns == 3_750_000_000));
        let phases: Vec<&str> = record.probes.iter().map(|p| p.phase.as_str()).collect();
        assert_eq!(phases[phases.len() - 2..], ["up_down", "descending"]);
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
    assert_eq!(outcome.record.slo, "p50<500us, errors<0.1%", "what else is kept is said");
}

#[test]
fn a_threshold_whose_figure_no_probe_has_is_not_judged() {
    // Fifteen seconds at a few hundred a second have no p99.99.
    let of = |slo: &str| {
        let plan = CapacityPlan { slos: vec![Slo::parse(slo).unwrap()], ..plan() };
        search_of(&plan, 400).record
    };
    let record = of("p9999<60s");
    assert!(record.capacity_per_s.is_some(), "{record:#?}");
    let [said] = record.not_judged() else { panic!("{record:#?}") };
    assert!(said.starts_with("p9999<60s: withheld"), "{said}");
    assert!(of("p50<60s").not_judged().is_empty());
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
    let loader = line(1_000);
    let outcome = search(&plan(), &outside(), &*loader, &interrupt, &mut tell).unwrap();
    assert!(outcome.interrupted && outcome.record.probes.len() == 1);
    assert_eq!(probes, 1);
}

/// The capacity of a line of 2,000 a second, by a client that is busy all the time from 500 a second on, and a lab
/// that says of the server what it says.
fn with_a_busy_client(server_saturated: Option<bool>) -> CapacityRecord {
    let loader = line(2_000);
    let mut prober = |load: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        let mut m = loader(load, control, observe)?;
        if load.arrivals.rate().is_some_and(|rate| rate.as_per_s() > 500.0) {
            let window_ns = m.window_end_ns - m.window_start_ns;
            m.workers.iter_mut().for_each(|worker| worker.busy_ns = window_ns);
        }
        let window_ns = m.window_end_ns - m.window_start_ns;
        let server = server_saturated.map(|saturated| ServerSamples {
            cpu_method: String::new(),
            memory_method: String::new(),
            cpus: vec![0],
            startup_ns: 0,
            window_cpu_ns: if saturated { window_ns } else { 0 },
            peak_memory_bytes: 0,
            processes: 1,
            threads: 1,
            columns: SampleColumns::default(),
            peak_pss_bytes: None,
            host: None,
            services: Vec::new(),
        });
        Ok(Probed::of(Observed { server, ..observed(m, load) }, &Host::default()))
    };
    let plan = CapacityPlan { start: Some(250.0), ..plan() };
    search_by(&plan, &mut prober, &Interrupt::new(), &mut |_| ()).unwrap().record
}

#[test]
fn a_busy_client_is_the_limit_only_where_the_server_is_not() {
    let at = |record: &CapacityRecord| record.capacity_per_s.as_ref().map(|found| found.point);
    let limited = with_a_busy_client(Some(false));
    assert_eq!(limited.bound, Bound::Lower, "{limited:#?}");
    assert!(at(&limited).unwrap() <= 500.0, "{limited:#?}");
    let saturated = with_a_busy_client(Some(true));
    assert_eq!(saturated.bound, Bound::Exact, "{saturated:#?}");
    assert!((at(&saturated).unwrap() / 2_000.0 - 1.0).abs() < 0.03, "{saturated:#?}");
}

/// A search in whose load of this number the verdict has an invalid reason, or answers have another body.
fn voided_by(code: Code, number: usize, mismatches: u64) -> (CapacityOutcome, usize) {
    let mut loads = 0;
    let loader = line(2_000);
    let mut prober = |load: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        let measured = loader(load, control, observe)?;
        let mut probed = Probed::of(observed(measured, load), &Host::default());
        let trial = &mut probed.trial;
        loads += 1;
        if loads == number {
            trial.errors.insert("body_mismatch".to_owned(), mismatches);
            trial.verdict.reasons.push(code.reason("worker 7 by 8".to_owned()));
        }
        Ok(probed)
    };
    let outcome = search_by(&plan(), &mut prober, &Interrupt::new(), &mut |_| ()).unwrap();
    (outcome, loads)
}

#[test]
fn a_restarted_or_changed_server_leaves_no_capacity() {
    for (code, mismatches) in [(Code::ServerRestarted, 0), (Code::ServerDied, 0), (Code::WrongAnswer, 1)] {
        // The first two loads are one connection alone, and a burst.
        let (outcome, loads) = voided_by(code, 5, mismatches);
        assert_eq!((loads, outcome.record.probes.len()), (5, 3), "{code}");
        assert_eq!(outcome.record.void.as_deref(), Some("worker 7 by 8"));
        assert_eq!((outcome.record.capacity_per_s, outcome.interrupted), (None, false));
        assert!(outcome.trial.unwrap().verdict.reasons.iter().any(|reason| reason.code == code));
    }
    assert_eq!(voided_by(Code::ServerRestarted, 1, 0).1, 1, "before any probe");
    // A status that an overloaded server may answer with.
    let (outcome, _) = voided_by(Code::WrongAnswer, 5, 0);
    assert_eq!(outcome.record.void, None);
    assert!(outcome.record.capacity_per_s.is_some());
}
