//! What HTTP/2 changes and what services cost, as tables that every view has.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row, ServiceFigures};
use prony_analysis::figure::Figure;
use schemars::JsonSchema;
use serde::Serialize;

use super::{WITHHELD, ratio, spaced_plus_minus};
use crate::format;

const SHOWN: [Figure; 3] = [Figure::THROUGHPUT, Figure::P99, Figure::CPU_PER_REQUEST];

/// A plan over HTTP/2 beside the same over HTTP/1.1, or the services of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ProtocolTable {
    /// What is compared, in a sentence.
    pub(crate) title: String,
    /// The heads of its columns; the first is the server's.
    pub(crate) head: Vec<String>,
    /// A server each, or one of its services, as many cells as there are heads.
    pub(crate) rows: Vec<Vec<String>>,
}

pub(crate) fn protocols(analysis: &ExperimentAnalysis) -> Vec<ProtocolTable> {
    let table = |pair: &prony_analysis::protocols::ProtocolComparison| ProtocolTable {
        title: format!(
            "HTTP/2 over HTTP/1.1: {} over {}, with as many requests in flight; ratios paired within blocks",
            format::printable(&pair.http2),
            format::printable(&pair.http1)
        ),
        head: ["server".to_owned()].into_iter().chain(SHOWN.map(|f| format!("{} ×", f.title))).collect(),
        rows: pair
            .rows
            .iter()
            .map(|row| {
                let cell = |figure: Figure| {
                    let found = row.ratios.get(figure.field);
                    found.map_or(WITHHELD.to_owned(), |e| format!("{}{}", ratio(e), spaced_plus_minus(e)))
                };
                [format::printable(&row.http2)].into_iter().chain(SHOWN.map(cell)).collect()
            })
            .collect(),
    };
    analysis.protocols.iter().map(table).chain(analysis.plans.iter().filter_map(services)).collect()
}

fn services(plan: &PlanAnalysis) -> Option<ProtocolTable> {
    let rows = plan.rows.iter().flat_map(|row| row.services.iter().map(move |service| (row, service)));
    let cells = |(row, service): (&Row, &ServiceFigures)| {
        let cpu = service.cpu_per_request_ns.as_ref();
        let cpu = cpu.map(|e| format!("{}{}", format::duration(e.point), spaced_plus_minus(e)));
        let memory = format::bytes(service.peak_memory_bytes as f64);
        vec![
            format::printable(&row.candidate),
            format::printable(&service.name),
            cpu.unwrap_or_else(|| WITHHELD.to_owned()),
            memory,
        ]
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    (!rows.is_empty()).then(|| ProtocolTable {
        title: format!(
            "Services under {}: their own costs, which are not in their servers'",
            format::printable(&plan.name)
        ),
        head: ["server", "service", "CPU/req", "memory"].map(str::to_owned).to_vec(),
        rows,
    })
}
