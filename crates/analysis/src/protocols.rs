//! The same servers under two plans that differ in the protocol alone, with as many requests in flight: whether a
//! server is faster by another protocol. Paired within blocks, since the two plans' trials are shuffled together.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::plan::ProtocolId;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::{CandidateRecord, NamedPlan, RunLog, Setting};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::{CandidateTrials, Results, candidates};
use crate::figure::Figure;
use crate::look::Level;
use crate::ranking::ratio_to_baseline;

const AXIS: &str = "protocol";

/// A plan over HTTP/2 beside the same over HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProtocolComparison {
    /// The plan over HTTP/1.1.
    pub http1: String,
    /// The plan over HTTP/2, with as many requests in flight: connections times requests at once on each.
    pub http2: String,
    /// The servers that were measured under both, in the order of the run.
    pub rows: Vec<ProtocolRow>,
}

/// One server under both.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProtocolRow {
    /// The candidate under the plan over HTTP/1.1.
    pub http1: String,
    /// The candidate under the other: the same, or the same server with its setting for HTTP/2.
    pub http2: String,
    /// By the figure's field: HTTP/2's over HTTP/1.1's, paired within blocks. A figure that a trial does not have is left out.
    pub ratios: BTreeMap<String, Estimate>,
}

/// Every pair of plans that differ in the protocol alone, with a server that was measured under both.
pub(crate) fn compare(log: &RunLog, results: &Results<'_>) -> Vec<ProtocolComparison> {
    let plans = &log.header.plans;
    let pairs = plans.iter().filter(|plan| plan.plan.protocol.is_http1()).flat_map(|http1| {
        let others = plans.iter().filter(|plan| !plan.plan.protocol.is_http1());
        others.filter(|http2| are_the_same_work(http1, http2)).map(move |http2| (http1, http2))
    });
    let compared = pairs.map(|(http1, http2)| ProtocolComparison {
        http1: http1.name.clone(),
        http2: http2.name.clone(),
        rows: rows(log, results, &http1.name, &http2.name),
    });
    compared.filter(|pair| !pair.rows.is_empty()).collect()
}

/// Whether two plans ask for the same, but for the protocol and how requests in flight spread over connections.
fn are_the_same_work(a: &NamedPlan, b: &NamedPlan) -> bool {
    let work = |plan: &NamedPlan| {
        let mut rest = RecordedPlan {
            protocol: ProtocolId::Http1,
            connections: plan.plan.connections.saturating_mul(plan.plan.pipeline),
            pipeline: 1,
            ..plan.plan.clone()
        };
        if let Some(tls) = &mut rest.tls {
            tls.alpn = ProtocolId::Http1;
        }
        (rest, plan.capacity.clone(), plan.share.clone(), plan.workers.clone())
    };
    work(a) == work(b)
}

fn rows(log: &RunLog, results: &Results<'_>, http1: &str, http2: &str) -> Vec<ProtocolRow> {
    let over_http2 = candidates(log, results, http2);
    let level = Level::of(log);
    let both = candidates(log, results, http1).into_iter().flat_map(|a| {
        let same: Vec<_> = over_http2.iter().filter(|b| are_the_same_server(&a, b)).cloned().collect();
        same.into_iter().map(move |b| (a.label.clone(), b.label))
    });
    let row = |(a, b): (String, String)| {
        let [before, after] =
            [(http1, &a), (http2, &b)].map(|(plan, label)| CandidateTrials::of(results, plan, label));
        let ratio = |figure: Figure| {
            let ratio = ratio_to_baseline(&after.comparable(figure)?, &before.comparable(figure)?, level)?;
            Some((figure.field.to_owned(), ratio))
        };
        ProtocolRow { ratios: Figure::ranked().filter_map(ratio).collect(), http1: a, http2: b }
    };
    both.map(row).filter(|row| !row.ratios.is_empty()).collect()
}

fn are_the_same_server(a: &CandidateRecord, b: &CandidateRecord) -> bool {
    let server = |c: &CandidateRecord| c.label.split(':').next().unwrap_or_default().to_owned();
    let others = |c: &CandidateRecord| -> Vec<Setting> {
        c.settings.iter().filter(|setting| setting.axis != AXIS).cloned().collect()
    };
    a.label == b.label || (!a.settings.is_empty() && server(a) == server(b) && others(a) == others(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::testing::run::Log;

    /// Two plans, `http1` and `http2`, of three blocks; the second's rates are these times the first's.
    fn log(candidates: [&str; 2], times: u64) -> RunLog {
        let rates: Vec<Vec<u64>> = [1_000, 1_100, 900].map(|rate| vec![rate, rate * times]).to_vec();
        let rates: Vec<&[u64]> = rates.iter().map(Vec::as_slice).collect();
        let mut log = Log::new(&["http1", "http2"], 3).with(&rates).0;
        let mut second = log.header.plans[0].clone();
        second.name = "http2".to_owned();
        (second.plan.protocol, second.plan.pipeline) = (ProtocolId::H2c, 10);
        second.plan.connections /= 10;
        log.header.plans.push(second);
        for record in &mut log.header.candidates {
            let value = if record.label == "http1" { "h1" } else { "h2" };
            record.settings = vec![
                Setting { axis: "tls".to_owned(), value: "no".to_owned() },
                Setting { axis: AXIS.to_owned(), value: value.to_owned() },
            ];
            record.label = candidates[usize::from(record.label == "http2")].to_owned();
        }
        if candidates[0] == candidates[1] {
            log.header.candidates.pop();
        }
        let renamed = |planned: &mut prony_model::run_log::PlannedTrial| {
            let second = planned.candidate == "http2";
            planned.candidate = candidates[usize::from(second)].to_owned();
            if second {
                "http2".clone_into(&mut planned.plan);
            }
        };
        log.header.order.iter_mut().for_each(renamed);
        log.results.iter_mut().for_each(|result| renamed(&mut result.planned));
        log
    }

    #[test]
    fn a_server_over_http2_is_compared_with_itself_over_http1() {
        for candidates in [["s", "s"], ["s", "s:h2"]] {
            let found = analyse(&log(candidates, 2)).protocols;
            let [pair] = &found[..] else { panic!("{found:?}") };
            assert_eq!((pair.http1.as_str(), pair.http2.as_str()), ("c50", "http2"));
            let [row] = &pair.rows[..] else { panic!("{pair:?}") };
            assert_eq!([row.http1.as_str(), row.http2.as_str()], candidates);
            let throughput = &row.ratios[Figure::THROUGHPUT.field];
            // Blocks differ by a fifth, and their ratios not at all.
            assert!((throughput.point - 2.0).abs() < 1e-9 && throughput.n == 3, "{throughput:?}");
            assert!(throughput.ci_high.unwrap() < 2.001, "{throughput:?}");
        }
    }

    #[test]
    fn other_servers_and_other_work_are_not_compared() {
        assert_eq!(analyse(&log(["s", "t"], 2)).protocols, []);
        assert_eq!(analyse(&log(["s", "s:tls+h2"], 2)).protocols.len(), 1, "settings decide, not the label");
        let mut tls = log(["s", "s:tls+h2"], 2);
        tls.header.candidates[1].settings[0].value = "yes".to_owned();
        assert_eq!(analyse(&tls).protocols, []);
        let mut more = log(["s", "s"], 2);
        more.header.plans[1].plan.connections += 1;
        assert_eq!(analyse(&more).protocols, []);
    }
}
