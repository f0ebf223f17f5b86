//! Trials' details: the chunks that are unpacked when a trial is looked at.

use std::collections::BTreeMap;

use prony_analysis::plot_data::{PlotData, plot_data};
use prony_model::run_log::TrialResult;
use prony_model::server::SampleColumns;
use prony_model::trial::{Latencies, Trial};
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
pub(super) struct Detail {
    /// `GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up`.
    plan_line: String,
    /// The `prony load` that applies the same load.
    reproduce: String,
    /// What every tail of it leaves open.
    unseen_stalls: Option<String>,
    /// The trial with its server's costs; its series and histograms are in the picture.
    trial: Trial,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PlotData>,
}

pub(super) fn chunks(results: &[&TrialResult]) -> Vec<Chunk> {
    let mut chunks: BTreeMap<u32, BTreeMap<u32, Detail>> = BTreeMap::new();
    for (index, detail) in results.iter().filter_map(|r| Some((r.planned.index, detail(r)?))) {
        chunks.entry(index / IN_A_CHUNK).or_default().insert(index, detail);
    }
    chunks.iter().map(|(number, details)| pack::chunk(format!("t{number}"), details)).collect()
}

/// `None` where nothing was measured.
fn detail(result: &TrialResult) -> Option<Detail> {
    let trial = result.trial.as_ref()?;
    Some(Detail {
        plan_line: words::plan_line(trial),
        reproduce: command::line(trial, &result.planned.candidate),
        unseen_stalls: prony_analysis::starts::unseen_stalls(trial),
        picture: plot_data(result).map(rounded),
        trial: without_samples(result, trial.clone()),
    })
}

fn without_samples(result: &TrialResult, mut trial: Trial) -> Trial {
    trial.series.clear();
    (trial.client.columns, trial.monitor) = (None, None);
    trial.server.clone_from(&result.server);
    if let Some(server) = &mut trial.server {
        server.columns = SampleColumns::default();
        if let Some(host) = &mut server.host {
            host.monitor = None;
        }
    }
    let Latencies {
        response,
        service,
        first_byte,
        connect_wait,
        send_lag,
        connection_wait,
        client_delay,
        ..
    } = &mut trial.latency;
    let parts = [response, service, first_byte, connect_wait, send_lag, connection_wait];
    let by_request = trial.targets.iter_mut().flat_map(|target| [&mut target.response, &mut target.service]);
    for summary in parts.into_iter().chain(client_delay).chain(by_request) {
        summary.hdr = Default::default();
    }
    trial
}

const MILLISECOND: i64 = 1_000_000;

/// The digits that plots can show; of instants, milliseconds.
fn rounded(mut plots: PlotData) -> PlotData {
    let curves = [&mut plots.response_ns, &mut plots.service_ns, &mut plots.client_delay_ns];
    for value in curves.into_iter().flatten() {
        *value = pack::four_digits(*value);
    }
    let series = &mut plots.series;
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
    for seen in &mut plots.monitor {
        let memory =
            [&mut seen.used_bytes, &mut seen.buffers_bytes, &mut seen.cached_bytes, &mut seen.free_bytes];
        let network = [&mut seen.received_per_s, &mut seen.sent_per_s, &mut seen.loopback_per_s];
        for bytes in memory.into_iter().chain(network).flatten() {
            *bytes = pack::four_digits(*bytes);
        }
    }
    plots
}
