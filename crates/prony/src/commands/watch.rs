//! `--web`, `--metrics` and `--otlp` of `load` and `bench`: what the live page and the metrics show of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prony_lab::bench::BenchEvent;
use prony_load::Snapshot;
use prony_model::fleet::LiveAgent;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::{Header, PlannedTrial, RunLog};
use prony_model::secret::redacted;
use prony_model::units::nanoseconds;
use prony_model::{Plan, Trial};
use prony_report::page;
use prony_report::page::live::{LiveEnd, LiveHead, LiveTrial};

use crate::commands::reproduce;
use crate::failure::Failure;
use crate::otlp::{Endpoint, Otlp};
use crate::printer::Printer;
use crate::web::{self, Broadcast, Metrics, Site};

/// A page that watched has this long to load its report: on a busy machine browser and threads may wait for a CPU.
const REPORT_TIME: Duration = Duration::from_secs(120);

pub(crate) struct Watch {
    broadcast: Option<Arc<Broadcast>>,
    metrics: Option<Arc<Metrics>>,
    otlp: Option<Otlp>,
}

impl Watch {
    /// Listens where `--web` and `--metrics` say, and prints where; sends to `otlp`. `rates` are offered, by plan; threads on
    /// `cpus`.
    pub(crate) fn start(
        web: Option<(&str, LiveHead)>,
        metrics: Option<(&str, BTreeMap<String, f64>)>,
        otlp: Option<Endpoint>,
        cpus: &[u32],
        printer: &Printer,
    ) -> Result<Watch, Failure> {
        let mut watch = Watch { broadcast: None, metrics: None, otlp: None };
        if let Some((listen, head)) = web {
            let broadcast = Broadcast::new(head);
            let url = web::start(listen, Site::Live(Arc::clone(&broadcast)), cpus)?;
            printer.note(&format!("Live page: {url}"));
            watch.broadcast = Some(broadcast);
        }
        if let Some((listen, rates)) = metrics {
            // A port alone is this machine's.
            let port = listen.strip_prefix(':').unwrap_or(listen);
            let address = port.parse::<u16>().map_or(listen.to_owned(), |port| format!("127.0.0.1:{port}"));
            let metrics = Metrics::new(rates);
            let url = web::start(&address, Site::Metrics(Arc::clone(&metrics)), cpus)?;
            printer.note(&format!("Metrics: {url}metrics"));
            watch.metrics = Some(metrics);
        }
        watch.otlp = otlp.map(|endpoint| Otlp::start(endpoint, cpus, printer)).transpose()?;
        Ok(watch)
    }

    pub(crate) fn broadcast(&self) -> Option<&Broadcast> {
        self.broadcast.as_deref()
    }

    pub(crate) fn snapshot(&self, of: Option<&PlannedTrial>, plan: &Plan, snapshot: &Snapshot) {
        if let Some(broadcast) = &self.broadcast {
            broadcast.snapshot(snapshot);
        }
        if let Some(metrics) = &self.metrics {
            metrics.snapshot(of, snapshot);
        }
        if let Some(otlp) = &self.otlp {
            otlp.snapshot(of, plan, snapshot);
        }
    }

    pub(crate) fn load_ends(&self, trial: Option<&Trial>) {
        if let Some(otlp) = &self.otlp {
            otlp.load_ends(trial);
        }
    }

    /// All loads are over: what is to be sent is, and what could not be is said.
    pub(crate) fn finish(&self, printer: &Printer) {
        if let Some(otlp) = &self.otlp {
            otlp.finish(printer);
        }
    }

    pub(crate) fn agents(&self, agents: &[LiveAgent]) {
        if let Some(broadcast) = &self.broadcast {
            broadcast.agents(agents);
        }
        if let Some(metrics) = &self.metrics {
            metrics.agents(agents);
        }
    }

    pub(crate) fn on_event(&self, event: &BenchEvent<'_>) {
        match event {
            BenchEvent::Begun { remaining, .. } => {
                if let Some(metrics) = &self.metrics {
                    metrics.begun(u64::from(*remaining));
                }
            }
            BenchEvent::Load { planned, snapshot, plan } => {
                if let Some(broadcast) = &self.broadcast {
                    broadcast.trial_runs(
                        planned.index,
                        nanoseconds(plan.warmup + plan.stop.duration.unwrap_or_default()),
                    );
                }
                self.snapshot(Some(planned), plan, snapshot);
            }
            BenchEvent::TrialEnded { result, left, .. } => {
                let trial = result.trial.as_ref();
                self.load_ends(trial);
                let validity: &'static str = trial.map_or("failed", |trial| trial.verdict.validity.into());
                if let Some(metrics) = &self.metrics {
                    metrics.trial_ends(validity);
                }
                if let Some(broadcast) = &self.broadcast {
                    broadcast.trial_ends(LiveEnd {
                        index: result.planned.index,
                        requests_per_s: trial.map(|trial| trial.throughput.requests_per_s.point),
                        p99_ns: trial.and_then(|trial| trial.latency.response.p99_ns),
                        validity: validity.to_owned(),
                        left_ns: left.map(nanoseconds),
                    });
                }
            }
            BenchEvent::Note(_) | BenchEvent::TrialBegins { .. } => {}
        }
    }

    pub(crate) fn end(&self, log: Result<&RunLog, String>) {
        let Some(broadcast) = self.broadcast() else { return };
        let log = log.map_err(|why| redacted(&why));
        broadcast.done(log.and_then(|log| page::report(log, None).map_err(|e| e.to_string())));
        broadcast.wait_for_pages(REPORT_TIME);
    }
}

pub(crate) fn load_head(plan: &Plan, redact: &[String]) -> LiveHead {
    let record = RecordedPlan::of(plan);
    LiveHead {
        command: reproduce::own(redact),
        title: record.url.clone(),
        describe: format!("{} · {}", record.method, record.load()),
        total_ns: record.duration_ns.map(|ns| record.warmup_ns + ns),
        warmup_ns: record.warmup_ns,
        rate_per_s: record.rate_per_s,
        order: Vec::new(),
    }
}

pub(crate) fn bench_head(header: &Header) -> LiveHead {
    let order = header.order.iter().map(|p| LiveTrial {
        index: p.index,
        candidate: p.who(),
        plan: p.plan.clone(),
        block: p.block,
    });
    LiveHead {
        command: header.reproduce.clone(),
        title: header.title.clone(),
        describe: prony_report::format::count(header.order.len() as u64, "trial", "trials"),
        order: order.collect(),
        ..LiveHead::default()
    }
}

pub(crate) fn load_rate(plan: &Plan) -> BTreeMap<String, f64> {
    let rate = plan.arrivals.rate().map(prony_model::rate::Rate::as_per_s);
    rate.into_iter().map(|rate| (String::new(), rate)).collect()
}

/// The offered rates of an experiment's plans. Those that are a share of a measured capacity are not known before it.
pub(crate) fn bench_rates(header: &Header) -> BTreeMap<String, f64> {
    header.plans.iter().filter_map(|plan| Some((plan.name.clone(), plan.plan.rate_per_s?))).collect()
}
