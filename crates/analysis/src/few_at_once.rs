//! A server that handles few requests at once, by plans of one run that differ in their connections.

use std::collections::BTreeMap;

use prony_model::code::Code;
use prony_model::plan::ArrivalKind;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::RunLog;
use prony_model::server::ServerSamples;
use prony_model::trial::{Outcome, Reason};

use crate::cell::{CandidateTrials, Cell, Results};
use crate::numbers::{real, real_len};
use crate::row::{PlanAnalysis, RowReason};
use crate::text::percent;

/// Throughput at few connections of that at many, from which on the others add nothing.
const CARRIED_MIN: f64 = 0.95;
/// The others must be as many again, so that they would have added something.
const MORE_MIN: u32 = 2;
/// CPU time that a server, a service or a CPU of theirs may use of one CPU: with more, a single thread may be the limit.
const BUSY_MAX: f64 = 0.8;

/// Notes it in the rows of plans with many connections, beside the fewest that carry as much.
pub(crate) fn note(log: &RunLog, results: &Results<'_>, plans: &mut [PlanAnalysis]) {
    let records: BTreeMap<&str, &RecordedPlan> =
        log.header.plans.iter().map(|named| (named.name.as_str(), &named.plan)).collect();
    let names: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
    for plan in plans {
        let Some(many) = records.get(plan.name.as_str()) else { continue };
        let mut fewer: Vec<(u32, &String)> = names
            .iter()
            .filter_map(|name| {
                Some((records.get(name.as_str()).filter(|few| has_fewer(few, many))?.connections, name))
            })
            .collect();
        fewer.sort_unstable();
        for row in &mut plan.rows {
            let of = |name: &str| Carried::of(&CandidateTrials::of(results, name, &row.candidate));
            let Some(own) = of(&plan.name) else { continue };
            let enough = fewer.iter().filter_map(|(few, name)| Some((*few, of(name)?)));
            let enough = enough.map(|(few, carried)| (few, carried.per_s / own.per_s, carried));
            if let Some((few, share, carried)) =
                enough.into_iter().find(|(_, share, _)| *share >= CARRIED_MIN)
            {
                let busy = own.busy.max(carried.busy);
                let reason = reason((few, many.connections), many.pipeline, share, busy);
                row.reasons.push(of_all_trials(reason, row.counted));
            }
        }
    }
}

/// Whether two closed loops ask for the same, one over at most half of the other's connections.
fn has_fewer(few: &RecordedPlan, many: &RecordedPlan) -> bool {
    let same = RecordedPlan {
        connections: many.connections,
        threads: many.threads,
        duration_ns: many.duration_ns,
        requests: many.requests,
        warmup_ns: many.warmup_ns,
        ..few.clone()
    };
    many.arrivals == ArrivalKind::Closed
        && few.connections.saturating_mul(MORE_MIN) <= many.connections
        && same == *many
}

/// What trials of one plan carried while neither server nor client was busy.
struct Carried {
    per_s: f64,
    busy: f64,
}

impl Carried {
    /// `None` where anything but waiting may have been the limit, or where nobody looked.
    fn of(trials: &CandidateTrials<'_>) -> Option<Carried> {
        let cells = &trials.counted;
        let sums = cells.iter().map(|cell| Some((cell.throughput().value, idle(cell)?)));
        let sums: Vec<(f64, f64)> = sums.collect::<Option<_>>()?;
        let per_s = sums.iter().map(|(per_s, _)| per_s).sum::<f64>() / real_len(sums.len());
        let busy = sums.iter().map(|(_, busy)| *busy).fold(0.0, f64::max);
        (!sums.is_empty() && per_s > 0.0).then_some(Carried { per_s, busy })
    }
}

/// What the server used of a CPU, where it, its services, its CPUs and the client all had time to spare.
fn idle(cell: &Cell<'_>) -> Option<f64> {
    let (trial, server) = (cell.trial, cell.server?);
    let window_ns = trial.window.duration_ns;
    let used = |cpu_ns: u64| real(cpu_ns) / real(window_ns.max(1));
    let own = used(server.window_cpu_ns);
    let services = server.services.iter().map(|service| used(service.window_cpu_ns)).fold(0.0, f64::max);
    let cores = busiest_core(server)?;
    // Over a network its bandwidth may be the limit.
    let is_near = server.host.is_none();
    let is_whole = trial.outcome == Outcome::Carried && trial.requests.failed == 0;
    let others = trial.client.busiest_worker.max(services).max(cores);
    (is_near && is_whole && !cell.throughput().at_least && own.max(others) < BUSY_MAX).then_some(own)
}

/// The busiest of the server's CPUs, of all where it was not pinned, whoever used it; `None` where they were not looked at.
fn busiest_core(server: &ServerSamples) -> Option<f64> {
    let columns = &server.columns;
    let last = columns.at_ns.len().checked_sub(1)?;
    let first = columns.at_ns.iter().position(|at_ns| *at_ns >= 0)?;
    let ns = real(columns.at_ns[last].abs_diff(columns.at_ns[first]));
    let own = columns.cores.iter().zip(&columns.core_busy_ns);
    let own = own.filter(|(core, _)| server.cpus.is_empty() || server.cpus.contains(core));
    let busy = own.map(|(_, busy)| Some(real(busy.get(last)?.saturating_sub(*busy.get(first)?)) / ns));
    let busy: Vec<f64> = busy.collect::<Option<_>>()?;
    busy.into_iter().reduce(f64::max).filter(|_| ns > 0.0)
}

fn reason((few, many): (u32, u32), pipeline: u32, share: f64, busy: f64) -> Reason {
    let at_once = u64::from(few) * u64::from(pipeline);
    let requests = if at_once == 1 { "request" } else { "requests" };
    Code::FewAtOnce
        .reason(format!(
            "{few} of {many} connections carried {} of the throughput while the server used at most {} of a CPU: it \
             handles no more than {at_once} {requests} at once",
            percent(share),
            percent(busy)
        ))
        .with("at_once", real(at_once))
        .with("carried_share", share)
        .with("server_cpu_share", busy)
}

fn of_all_trials(reason: Reason, trials: u32) -> RowReason {
    let Reason { code, effect, detail, advice, values, .. } = reason;
    let values = values.into_iter().map(|(name, value)| (name, [value; 2])).collect();
    RowReason { code, trials, effect, detail, advice, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run::{Log, result};
    use prony_model::run_log::{NamedPlan, PlannedTrial};
    use prony_model::server::{SampleColumns, ServiceSamples};

    const S: u64 = 1_000_000_000;

    /// Two plans of 3 blocks, of 2 connections and of 50, with these rates.
    fn log(rates: (u64, u64)) -> Log {
        let mut log = Log::new(&["a"], 3).with(&[[rates.1].as_slice(); 3]);
        let many = log.0.header.plans[0].clone();
        let few = NamedPlan {
            name: "c2".to_owned(),
            plan: RecordedPlan { connections: 2, ..many.plan.clone() },
            ..many
        };
        log.0.header.plans.push(few);
        for block in 0..3 {
            let planned = PlannedTrial {
                index: 3 + block,
                plan: "c2".to_owned(),
                ..log.0.header.order[block as usize].clone()
            };
            log.0.header.order.push(planned.clone());
            log.0.results.push(result(planned, rates.0));
        }
        for result in &mut log.0.results {
            let window_ns = result.trial.as_ref().unwrap().window.duration_ns;
            let server = result.server.as_mut().unwrap();
            server.window_cpu_ns = window_ns / 10;
            server.columns = SampleColumns {
                at_ns: vec![0, S as i64],
                cpu_ns: vec![0, S / 10],
                rss_bytes: vec![1, 1],
                cores: vec![0, 1],
                core_busy_ns: vec![vec![0, S], vec![0, S / 5]],
                ..SampleColumns::default()
            };
        }
        log
    }

    fn of(log: &Log, plan: &str) -> Option<RowReason> {
        let analysis = log.analyse();
        let row = &analysis.plans.iter().find(|p| p.name == plan).unwrap().rows[0];
        row.reasons.iter().find(|reason| reason.code == Code::FewAtOnce).cloned()
    }

    fn server(log: &mut Log) -> &mut ServerSamples {
        log.0.results[1].server.as_mut().unwrap()
    }

    #[test]
    fn two_connections_that_carry_as_much_as_fifty_are_named() {
        let log = log((960, 1000));
        let reason = of(&log, "c50").expect("960 of 1,000 at a tenth of a CPU");
        assert_eq!((reason.trials, reason.values["at_once"]), (3, [2.0; 2]));
        assert!(reason.detail.contains("no more than 2 requests at once"), "{}", reason.detail);
        assert!(of(&log, "c2").is_none());
    }

    #[test]
    fn whoever_is_busy_or_carries_more_handles_more() {
        assert!(of(&log((940, 1000)), "c50").is_none());
        type Change = fn(&mut Log);
        let changes: [Change; 9] = [
            |log| server(log).window_cpu_ns = 9 * S,
            // Another program on the server's CPU; nobody looked at it.
            |log| server(log).columns.core_busy_ns[1][1] = S,
            |log| server(log).columns.core_busy_ns.clear(),
            |log| {
                server(log).services =
                    vec![ServiceSamples { window_cpu_ns: 9 * S, ..ServiceSamples::default() }];
            },
            |log| server(log).host = Some(prony_model::server_host::ServerHostWindow::default()),
            |log| log.trial(1).client.busiest_worker = 0.9,
            |log| log.trial(1).requests.failed = 1,
            // Another plan in more than its connections, or by too few.
            |log| log.0.header.plans[1].plan.method = "POST".to_owned(),
            |log| log.0.header.plans[1].plan.connections = 30,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut log = log((1000, 1000));
            assert!(of(&log, "c50").is_some());
            change(&mut log);
            assert!(of(&log, "c50").is_none(), "change {i}");
        }
    }
}
