//! The client's highest rate and lowest latency against the reference server, and how far two
//! identical servers seem to differ on this host: short benches of the embedded target.

use std::path::Path;
use std::time::{Duration, SystemTime};

use prony_analysis::analyse;
use prony_host::bench_lock;
use prony_host::pins::Pins;
use prony_lab::bench::{BenchCandidate, BenchSetup, Loads};
use prony_lab::candidate::{Candidate, Layout, Listens};
use prony_lab::experiment::{Experiment, ExperimentPlan};
use prony_lab::supervise::Supervision;
use prony_load::Interrupt;
use prony_model::Estimate;
use prony_model::host::Host;
use prony_model::options::LoadOptions;
use prony_model::rate::Rate;
use prony_model::rfc3339;
use prony_model::run_log::RunLog;
use prony_model::trial::Trial;
use prony_model::units::{DurationValue, OneOrMany, RateValue, WindowValue};
use serde::Serialize;

use crate::commands::plan as plans;
use crate::printer::Printer;

/// Blocks of the A/A comparison: an interval of a mean of five has some meaning.
const BLOCKS: u32 = 5;
const WINDOW: Duration = Duration::from_millis(800);
const WARMUP: Duration = Duration::from_millis(200);
/// The rate of the latency measurement: low enough that nothing queues, on any host.
const FLOOR_PER_S: f64 = 1_000.0;
const FLOOR_WINDOW: Duration = Duration::from_millis(1_500);

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Measured {
    /// CPU time of the client per request, closed loop, median of the trials.
    pub(super) client_cpu_per_request_ns: u64,
    pub(super) ceiling_per_s: f64,
    /// The requests per second reached with one core on each side; the target is the limit where this is lower.
    pub(super) driven_per_s: f64,
    /// Median response of the reference server at 1,000 requests per second, of which nothing is the server's work.
    pub(super) floor_p50_ns: Option<u64>,
    pub(super) send_lag_p50_ns: Option<u64>,
    /// The same with `--spin`.
    pub(super) send_lag_p50_spin_ns: Option<u64>,
    /// Throughput of one reference server over that of another, equal one: 1 but for this host's noise.
    pub(super) aa_ratio: Option<Estimate>,
    /// Half of that ratio's 95 % interval, in percent: smaller differences are not found in so many blocks.
    pub(super) aa_noise_percent: Option<f64>,
    pub(super) blocks: u32,
    pub(super) window_s: f64,
}

/// Measures, with the journal in the folder of `state`.
pub(super) fn measure(
    state: &Path,
    host: &Host,
    pins: &Pins,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Measured, String> {
    let now = rfc3339(SystemTime::now());
    let at_once = Some(Duration::ZERO);
    let bench = |names: &[&str], plans: Vec<ExperimentPlan>, blocks: u32| {
        let log = bench(state, host, pins, interrupt, names, plans, blocks)?;
        if interrupt.asked() { Err("Not measured: interrupted.".to_owned()) } else { Ok(log) }
    };
    let _lock = bench_lock::take(&bench_lock::path(), "doctor", &now, at_once, &|| false, &mut |_| ())
        .map_err(|why| format!("Not measured: {why}"))?;
    printer.note("Measuring this client's limits and this host's noise: about 20 s …");
    let closed = plan(WINDOW, LoadOptions::default())?;
    let log = bench(&["a", "b"], vec![closed], BLOCKS)?;
    let trials: Vec<&Trial> = log.results.iter().filter_map(|result| result.trial.as_ref()).collect();
    let analysis = analyse(&log);
    let rows = analysis.plans.first().map_or(&[][..], |plan| plan.rows.as_slice());
    let aa_ratio = rows.iter().find(|row| row.candidate == "b").and_then(|row| row.ratio.clone());
    let cpu = median(trials.iter().filter_map(|trial| trial.client.cpu_per_request_ns).collect());
    let driven = median(trials.iter().map(|t| t.throughput.requests_per_s.point.round() as u64).collect());
    let (Some(cpu), Some(driven)) = (cpu.filter(|ns| *ns > 0), driven) else {
        return Err("Not measured: no trial of the reference server succeeded.".to_owned());
    };
    let at_rate = |name: &str, spin: bool| {
        let rate = Rate::per_s(FLOOR_PER_S).map(|rate| OneOrMany::One(RateValue::PerS(rate)));
        let options = LoadOptions { rate, spin: Some(spin), ..LoadOptions::default() };
        plan(FLOOR_WINDOW, options).map(|plan| ExperimentPlan { name: name.to_owned(), ..plan })
    };
    let log = bench(&["floor"], vec![at_rate("wait", false)?, at_rate("spin", true)?], 1)?;
    let of_plan = |name: &str| log.results.iter().find(|r| r.planned.plan == name)?.trial.as_ref();
    let lag = |name: &str| of_plan(name)?.latency.send_lag.p50_ns;
    Ok(Measured {
        client_cpu_per_request_ns: cpu,
        ceiling_per_s: 1e9 / cpu as f64,
        driven_per_s: driven as f64,
        floor_p50_ns: of_plan("wait").and_then(|trial| trial.latency.response.p50_ns),
        send_lag_p50_ns: lag("wait"),
        send_lag_p50_spin_ns: lag("spin"),
        aa_noise_percent: aa_ratio.as_ref().and_then(Estimate::relative_half_width).map(|half| half * 100.0),
        aa_ratio,
        blocks: BLOCKS,
        window_s: WINDOW.as_secs_f64(),
    })
}

fn plan(window: Duration, options: LoadOptions) -> Result<ExperimentPlan, String> {
    let (duration, warmup) = (Some(WindowValue::Time(DurationValue(window))), Some(DurationValue(WARMUP)));
    let target = Some(plans::placeholder());
    let load = LoadOptions { duration, warmup, ..options }.plan(target, &plans::read);
    load.map(ExperimentPlan::of).map_err(|why| why.to_string())
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// A bench of equal targets, by everything that any bench is made with; its log is not kept.
fn bench(
    state: &Path,
    host: &Host,
    pins: &Pins,
    interrupt: &Interrupt,
    names: &[&str],
    plans: Vec<ExperimentPlan>,
    blocks: u32,
) -> Result<RunLog, String> {
    let own = std::env::current_exe().map_err(|e| format!("Not measured: {e}."))?;
    // The path may hold anything that a shell would take apart.
    let own = own.to_string_lossy().replace('\'', r"'\''");
    let command = format!("exec '{own}' target --port {{port}} --threads 1");
    let candidate = |name: &&str| {
        let candidate = Candidate::command(name, &command, Listens::default())
            .map_err(|why| format!("Not measured: {why}"))?;
        Ok(BenchCandidate::new(candidate, None))
    };
    let labels = names.iter().map(|name| (*name).to_owned()).collect();
    let mut plans = plans.into_iter();
    let first = plans.next().ok_or("Not measured: there is no plan.")?;
    let mut experiment = Experiment::of_candidates(labels, first, blocks, 1);
    experiment.plans.extend(plans);
    let folder = tempfile::tempdir().map_err(|e| format!("Not measured: {e}."))?;
    let log = folder.path().join("doctor.jsonl");
    let setup = BenchSetup {
        repeats_disturbed: false,
        experiment,
        candidates: names.iter().map(candidate).collect::<Result<_, String>>()?,
        skipped: Vec::new(),
        baseline: names.first().map(|name| (*name).to_owned()),
        // None of the candidates is installed: nothing of the current folder is used.
        layout: Layout::new(folder.path()).map_err(|e| format!("Not measured: {e}."))?,
        log: log.clone(),
        service_cpus: Vec::new(),
        resume: false,
        reproduce: "prony doctor".to_owned(),
        host: host.clone(),
        pins: pins.clone(),
        supervision: Supervision::new(state, &pins.client, None),
        duet: None,
        server_host: None,
        fleet: Vec::new(),
        slo: Vec::new(),
    };
    prony_lab::bench::run(&setup, Loads::new(&prony_load::run), interrupt, &mut |_| ())
        .map_err(|why| format!("Not measured: {why}"))?;
    prony_analysis::run_log::read(&log).map_err(|why| format!("Not measured: {why}"))
}
