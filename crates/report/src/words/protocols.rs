//! What HTTP/2 changes, as a table that every view has.

use prony_analysis::experiment::ExperimentAnalysis;
use prony_analysis::figure::Figure;
use schemars::JsonSchema;
use serde::Serialize;

use super::{WITHHELD, ratio, spaced_plus_minus};
use crate::format;

/// The figures of its columns; the others are in the JSON.
const SHOWN: [Figure; 3] = [Figure::THROUGHPUT, Figure::P99, Figure::CPU_PER_REQUEST];

/// A plan over HTTP/2 beside the same over HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ProtocolTable {
    /// What is compared, in a sentence.
    pub(crate) title: String,
    /// The heads of its columns; the first is the server's.
    pub(crate) head: Vec<String>,
    /// A server each, as many cells as there are heads.
    pub(crate) rows: Vec<Vec<String>>,
}

/// One for each pair of plans.
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
    analysis.protocols.iter().map(table).collect()
}
