//! Trials' details: the chunks that are unpacked when a trial is looked at.

use std::collections::BTreeMap;

use prony_analysis::plot_data::{PlotData, plot_data};
use prony_model::fleet::AgentRecord;
use prony_model::host::Host;
use prony_model::measurement::{Http2Use, RequestCounts, RunTotal};
use prony_model::plan_record::PlanRecord;
use prony_model::run_log::TrialResult;
use prony_model::server::ServerSamples;
use prony_model::server_host::ServerHostWindow;
use prony_model::trial::{Client, PERCENTILES, Reason, Summary, TargetFigures, TlsRecord, Trial};
use schemars::JsonSchema;
use serde::Serialize;

use super::data::Chunk;
use super::pack;
use crate::command;
use crate::words;

/// Trials in a chunk. They have most of their words in common: sixteen together are half as large as each by itself.
const IN_A_CHUNK: u32 = 16;

/// Everything about a trial that its place in the list does not say: in the chunk `t` + a sixteenth of its number.
#[derive(Serialize, JsonSchema)]
pub(super) struct Detail<'a> {
    /// `GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up`.
    plan_line: String,
    /// The load as it was, defaults filled in.
    plan: &'a PlanRecord,
    /// The `prony load` that applies the same load.
    reproduce: String,
    url: &'a str,
    address: &'a str,
    started_at: &'a str,
    version: &'a str,
    warmup_ns: u64,
    duration_ns: u64,
    requests: RequestCounts,
    run_total: RunTotal,
    read_bytes_per_s: f64,
    sent_bytes_per_s: f64,
    summaries: Vec<SummaryRow>,
    /// What every tail of it leaves open.
    unseen_stalls: Option<String>,
    status: Vec<(&'a str, u64)>,
    errors: Vec<(String, u64, &'a str)>,
    client: Client,
    server: Option<Server<'a>>,
    host: &'a Host,
    tls: Option<&'a TlsRecord>,
    http2: Option<Http2Use>,
    reasons: &'a [Reason],
    /// What each request of a list got; empty without a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<TargetRow<'a>>,
    /// What each agent of a fleet did; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<&'a AgentRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PlotData>,
}

/// A part of the requests' time.
#[derive(Serialize, JsonSchema)]
struct SummaryRow {
    name: &'static str,
    clock: &'static str,
    count: u64,
    mean_ns: Option<u64>,
    stdev_ns: Option<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    percentiles: Vec<Percentile>,
}

/// A percentile: its value, or why there is none.
#[derive(Serialize, JsonSchema)]
struct Percentile {
    name: String,
    value_ns: Option<u64>,
    ci95: Option<(u64, Option<u64>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    censored_at_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_duration_ns: Option<u64>,
}

/// One request of a list.
#[derive(Serialize, JsonSchema)]
struct TargetRow<'a> {
    request: &'a str,
    lines: u64,
    completed: u64,
    failed: u64,
    waiting: u64,
    response: SummaryRow,
}

/// What the server cost, in single figures.
#[derive(Serialize, JsonSchema)]
struct Server<'a> {
    cpu_method: &'a str,
    memory_method: &'a str,
    cpus: &'a [u32],
    startup_ns: u64,
    window_cpu_ns: u64,
    peak_memory_bytes: u64,
    processes: u32,
    threads: u32,
    /// What its whole host did in the window, where that is another machine than the client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a ServerHostWindow>,
}

/// The details of all trials of which anything was measured, by their numbers.
pub(super) fn chunks(results: &[&TrialResult]) -> Vec<Chunk> {
    let mut chunks: BTreeMap<u32, BTreeMap<u32, Detail<'_>>> = BTreeMap::new();
    for (index, detail) in results.iter().filter_map(|r| Some((r.planned.index, detail(r)?))) {
        chunks.entry(index / IN_A_CHUNK).or_default().insert(index, detail);
    }
    chunks.iter().map(|(number, details)| pack::chunk(format!("t{number}"), details)).collect()
}

/// `None` where nothing was measured.
fn detail(result: &TrialResult) -> Option<Detail<'_>> {
    let trial = result.trial.as_ref()?;
    Some(Detail {
        plan_line: words::plan_line(trial),
        plan: &trial.plan,
        reproduce: command::line(trial, &result.planned.candidate),
        url: &trial.target.url,
        address: &trial.target.address,
        started_at: &trial.started_at,
        version: &trial.tool.version,
        warmup_ns: trial.window.warmup_ns,
        duration_ns: trial.window.duration_ns,
        requests: trial.requests,
        run_total: trial.run_total,
        read_bytes_per_s: pack::six_digits(trial.throughput.read_bytes_per_s),
        sent_bytes_per_s: pack::six_digits(trial.throughput.sent_bytes_per_s),
        summaries: summaries(trial),
        unseen_stalls: prony_analysis::starts::unseen_stalls(trial),
        status: trial.status.iter().map(|(status, n)| (status.as_str(), *n)).collect(),
        errors: trial
            .errors
            .iter()
            .map(|(kind, n)| (words::code(kind), *n, trial.first_errors.get(kind).map_or("", String::as_str)))
            .collect(),
        // Its samples are in the picture.
        client: Client { columns: None, ..trial.client.clone() },
        server: result.server.as_ref().map(server),
        host: &trial.host,
        tls: trial.tls.as_ref(),
        http2: trial.http2,
        reasons: &trial.verdict.reasons,
        targets: trial.targets.iter().map(target).collect(),
        agents: trial.fleet.iter().flat_map(|fleet| &fleet.agents).collect(),
        picture: plot_data(result).map(rounded),
    })
}

fn summaries(trial: &Trial) -> Vec<SummaryRow> {
    let latency = &trial.latency;
    let all = [
        ("response", Some(&latency.response)),
        ("service", Some(&latency.service)),
        ("first byte", Some(&latency.first_byte)),
        ("send lag", Some(&latency.send_lag)),
        ("connect wait", Some(&latency.connect_wait)),
        ("wait for a connection", Some(&latency.connection_wait)),
        ("client delay", latency.client_delay.as_ref()),
    ];
    let some = all.into_iter().filter_map(|(name, summary)| Some((name, summary?)));
    // What nobody waited for is no line of a table.
    some.filter(|(name, s)| *name == "response" || s.max_ns.is_some_and(|max| max > 0))
        .map(|(name, s)| summary_row(name, s))
        .collect()
}

fn summary_row(name: &'static str, s: &Summary) -> SummaryRow {
    let percentile = |field: &str| Percentile {
        name: words::percentile(field).to_owned(),
        value_ns: s.percentile(field).map(pack::four_digits),
        ci95: s.ci95.get(field).map(|(low, high)| (pack::four_digits(*low), high.map(pack::four_digits))),
        censored_at_ns: s.censored_at_ns.get(field).copied().map(pack::four_digits),
        needs_duration_ns: s.needs_duration_ns.get(field).copied().map(pack::four_digits),
    };
    SummaryRow {
        name,
        clock: words::clock(s.clock),
        count: s.count,
        mean_ns: s.mean_ns,
        stdev_ns: s.stdev_ns,
        min_ns: s.min_ns,
        max_ns: s.max_ns,
        percentiles: PERCENTILES.iter().map(|(field, _)| percentile(field)).collect(),
    }
}

fn target(t: &TargetFigures) -> TargetRow<'_> {
    TargetRow {
        request: &t.request,
        lines: t.lines,
        completed: t.completed,
        failed: t.failed,
        waiting: t.waiting,
        response: summary_row("response", &t.response),
    }
}

fn server(s: &ServerSamples) -> Server<'_> {
    Server {
        cpu_method: &s.cpu_method,
        memory_method: &s.memory_method,
        cpus: &s.cpus,
        startup_ns: s.startup_ns,
        window_cpu_ns: s.window_cpu_ns,
        peak_memory_bytes: s.peak_memory_bytes,
        processes: s.processes,
        threads: s.threads,
        host: s.host.as_ref(),
    }
}

const MILLISECOND: i64 = 1_000_000;

/// The digits that plots can show; of instants, milliseconds.
fn rounded(mut plots: PlotData) -> PlotData {
    let curves = [&mut plots.response_ns, &mut plots.service_ns, &mut plots.client_delay_ns];
    for value in curves.into_iter().flatten() {
        *value = pack::four_digits(*value);
    }
    let series = &mut plots.series;
    for value in series.completed_per_s.iter_mut().chain(&mut series.failed_per_s) {
        *value = pack::six_digits(*value);
    }
    let columns = [&mut series.p50_ns, &mut series.p90_ns, &mut series.p99_ns, &mut series.max_ns];
    for value in columns.into_iter().flatten().flatten() {
        *value = pack::four_digits(*value);
    }
    let (server, client) = (&mut plots.server, &mut plots.client);
    let instants = [&mut server.at_ns, &mut server.pss_at_ns, &mut client.at_ns, &mut plots.cores.at_ns];
    for at in instants.into_iter().flatten() {
        *at = (*at + MILLISECOND / 2).div_euclid(MILLISECOND) * MILLISECOND;
    }
    for bytes in
        [&mut server.memory_bytes, &mut server.pss_bytes, &mut client.memory_bytes].into_iter().flatten()
    {
        *bytes = pack::four_digits(*bytes);
    }
    plots
}
