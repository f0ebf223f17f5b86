//! Results as JSON, for programs.

use prony_model::run_log::RunLog;
use serde::Serialize;

/// A result as pretty-printed JSON with a newline at its end. Durations
/// are nanoseconds (`_ns`), memory is bytes (`_bytes`), rates are per second.
pub fn pretty(result: &impl Serialize) -> String {
    // No result has a map with keys other than strings, which is all that serde_json can refuse.
    let mut text = serde_json::to_string_pretty(result).unwrap_or_default();
    text.push('\n');
    text
}

/// Every result of a run log as it was judged, a JSON object a line: its place in the run, its `trial`
/// (`prony.trial/1`), what its server cost, why there is none.
pub fn results(log: &RunLog) -> String {
    let line = |result| serde_json::to_string(result).unwrap_or_default() + "\n";
    log.results.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::fixtures;

    #[test]
    fn the_analysis_names_its_schema_and_every_candidate() {
        let analysis = fixtures::experiment();
        let value: serde_json::Value = serde_json::from_str(&super::pretty(&analysis)).unwrap();
        assert_eq!(value["schema"], "prony.analysis/1");
        assert_eq!(value["plans"][0]["rows"].as_array().unwrap().len(), analysis.plans[0].rows.len());
    }
}
