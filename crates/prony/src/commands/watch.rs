//! `--web` of `load` and `bench`: what the live page is told of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prony_lab::bench::{BenchEvent, BenchSetup};
use prony_load::Snapshot;
use prony_model::Plan;
use prony_model::plan_record::nanoseconds;
use prony_model::run_log::RunLog;
use prony_report::page;
use prony_report::page::live::{LiveEnd, LiveHead, LiveTrial};

use crate::commands::reproduce;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::web::{Hub, Metrics, Server, Site, UnderWay, Whose};

/// A page that watched has this long to take its report: a second is enough, but a busy machine's browser and the
/// server's threads, which run below everything else, may wait for a CPU.
const SEE_OFF: Duration = Duration::from_secs(120);

/// A run that is watched on a web page, if it is.
pub(crate) struct Watch {
    hub: Option<Arc<Hub>>,
    metrics: Option<Arc<Metrics>>,
}

impl Watch {
    /// Listens where `--web` says, and says where; nothing without it. The server's threads run on `cpus`.
    pub(crate) fn start(
        listen: Option<&str>,
        head: impl FnOnce() -> LiveHead,
        cpus: &[u32],
        printer: &Printer,
    ) -> Result<Watch, Failure> {
        let Some(listen) = listen else { return Ok(Watch { hub: None, metrics: None }) };
        let hub = Hub::new(head());
        let server = Server::start(listen, Site::Live(Arc::clone(&hub)), cpus)?;
        printer.note(&format!("Live page: {}", server.url));
        Ok(Watch { hub: Some(hub), metrics: None })
    }

    /// Also serves figures where `--metrics` says, and says where; `rates` are those that plans ask for, by name.
    pub(crate) fn and_metrics(
        self,
        listen: Option<&str>,
        rates: impl FnOnce() -> BTreeMap<String, f64>,
        cpus: &[u32],
        printer: &Printer,
    ) -> Result<Watch, Failure> {
        let Some(listen) = listen else { return Ok(self) };
        // A port alone is this machine's.
        let port = listen.strip_prefix(':').unwrap_or(listen);
        let address = port.parse::<u16>().map_or(listen.to_owned(), |port| format!("127.0.0.1:{port}"));
        let metrics = Metrics::new(rates());
        let server = Server::start(&address, Site::Metrics(Arc::clone(&metrics)), cpus)?;
        printer.note(&format!("Metrics: {}metrics", server.url));
        Ok(Watch { metrics: Some(metrics), ..self })
    }

    /// How a `load` stands.
    pub(crate) fn snapshot(&self, snapshot: &Snapshot) {
        if let Some(hub) = self.hub() {
            hub.snapshot(snapshot);
        }
        if let Some(metrics) = &self.metrics {
            metrics.snapshot(None, snapshot);
        }
    }

    fn tell_metrics(&self, event: &BenchEvent<'_>) {
        let Some(metrics) = &self.metrics else { return };
        match event {
            BenchEvent::Begun { remaining, .. } => metrics.begun(u64::from(*remaining)),
            BenchEvent::Load { planned, snapshot, .. } => {
                let whose = Whose { candidate: planned.candidate.clone(), plan: planned.plan.clone() };
                let now = UnderWay { whose, block: planned.block, index: planned.index };
                metrics.snapshot(Some(now), snapshot);
            }
            BenchEvent::TrialEnded { figures, .. } => {
                metrics.trial_ends(figures.map_or("failed", |f| f.validity.into()));
            }
            BenchEvent::Note(_) | BenchEvent::TrialBegins { .. } => {}
        }
    }

    pub(crate) fn hub(&self) -> Option<&Hub> {
        self.hub.as_deref()
    }

    /// What a `bench` says of itself.
    pub(crate) fn hear(&self, event: &BenchEvent<'_>) {
        self.tell_metrics(event);
        let Some(hub) = self.hub() else { return };
        match event {
            BenchEvent::Load { planned, snapshot, load_time } => {
                hub.trial_goes_on(planned.index, nanoseconds(*load_time));
                hub.snapshot(snapshot);
            }
            BenchEvent::TrialEnded { result, figures, left, .. } => hub.trial_ends(LiveEnd {
                index: result.planned.index,
                requests_per_s: figures.map(|f| f.requests_per_s),
                p99_ns: figures.and_then(|f| f.p99_ns),
                validity: figures.map_or("failed".to_owned(), |f| f.validity.to_string()),
                left_ns: left.map(nanoseconds),
            }),
            BenchEvent::Begun { .. } | BenchEvent::Note(_) | BenchEvent::TrialBegins { .. } => {}
        }
    }

    /// The run is over: whoever watches is given the report of this log.
    pub(crate) fn end(&self, log: Result<&RunLog, String>) {
        let Some(hub) = self.hub() else { return };
        hub.done(log.and_then(|log| page::report(log).map_err(|e| e.to_string())));
        hub.see_off(SEE_OFF);
    }
}

/// What the page of a `load` is about; headers called in `redact` are secret, too.
pub(crate) fn load_head(plan: &Plan, redact: &[String]) -> LiveHead {
    let rate = plan.arrivals.rate().map(prony_model::rate::Rate::as_per_s);
    let connections = prony_report::format::count(plan.connections.into(), "connection", "connections");
    let arrivals =
        rate.map_or(plan.arrivals.name().to_owned(), |rate| format!("{} {rate}/s", plan.arrivals.name()));
    LiveHead {
        command: reproduce::own(redact),
        title: plan.target.display_url(),
        describe: format!("{} · {connections}, {arrivals}", plan.method),
        total_ns: plan.stop.duration.map(|d| nanoseconds(plan.warmup + d)),
        warmup_ns: nanoseconds(plan.warmup),
        rate_per_s: rate,
        order: Vec::new(),
    }
}

/// What the page of a `bench` is about.
pub(crate) fn bench_head(setup: &BenchSetup) -> LiveHead {
    let header = prony_lab::bench::header(setup);
    let order = header.order.iter().map(|p| LiveTrial {
        index: p.index,
        candidate: p.candidate.clone(),
        plan: p.plan.clone(),
        block: p.block,
    });
    LiveHead {
        command: setup.reproduce.clone(),
        title: header.title.clone(),
        describe: prony_report::format::count(header.order.len() as u64, "trial", "trials"),
        order: order.collect(),
        ..LiveHead::default()
    }
}

/// The rate that a `load` asks for.
pub(crate) fn load_rate(plan: &Plan) -> BTreeMap<String, f64> {
    let rate = plan.arrivals.rate().map(prony_model::rate::Rate::as_per_s);
    rate.into_iter().map(|rate| (String::new(), rate)).collect()
}

/// The rates that an experiment's plans ask for. Those of a share of a measured knee are not known before it.
pub(crate) fn bench_rates(setup: &BenchSetup) -> BTreeMap<String, f64> {
    let plans = prony_lab::bench::named_plans(setup);
    let known = plans.into_iter().filter(|plan| plan.share.is_none() && plan.capacity.is_none());
    known.filter_map(|plan| Some((plan.name, plan.plan.rate_per_s?))).collect()
}
