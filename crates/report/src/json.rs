//! The analysis as JSON, for programs.

use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::ExperimentAnalysis;
use prony_analysis::history::History;
use prony_analysis::repeat::Repeat;
use prony_model::Trial;
use prony_model::run_log::RunLog;

/// The analysis as pretty-printed JSON with a newline at its end. Durations
/// are nanoseconds (`_ns`), memory is bytes (`_bytes`), rates are per second.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    // The type has no map with keys other than strings, which is all that serde_json can refuse.
    let mut text = serde_json::to_string_pretty(analysis).unwrap_or_default();
    text.push('\n');
    text
}

/// Comparisons as a pretty-printed JSON array of `prony.comparison/1`, with a newline at its end.
pub fn comparisons(comparisons: &[Comparison]) -> String {
    let mut text = serde_json::to_string_pretty(&comparisons).unwrap_or_default();
    text.push('\n');
    text
}

/// Every result of a run log as it was judged, a JSON object a line: its place in the run, its `trial`
/// (`prony.trial/1`), what its server cost, why there is none.
pub fn results(log: &RunLog) -> String {
    let line = |result| serde_json::to_string(result).unwrap_or_default() + "\n";
    log.results.iter().map(line).collect()
}

/// Trials of `prony load` as a pretty-printed JSON array, each in the form of
/// its own schema (`prony.trial/1`), with a newline at its end.
pub fn trials(trials: &[(String, Trial)]) -> String {
    let trials: Vec<&Trial> = trials.iter().map(|(_, trial)| trial).collect();
    let mut text = serde_json::to_string_pretty(&trials).unwrap_or_default();
    text.push('\n');
    text
}

/// Several loads of one target as pretty-printed JSON (`prony.repeat/1`).
pub fn repeat(repeat: &Repeat) -> String {
    serde_json::to_string_pretty(repeat).unwrap_or_default()
}

/// A history as pretty-printed JSON (`prony.history/1`) with a newline at its end.
pub fn history(history: &History) -> String {
    let mut text = serde_json::to_string_pretty(history).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use crate::fixtures;

    #[test]
    fn says_its_schema_and_every_candidate() {
        let analysis = fixtures::experiment();
        let value: serde_json::Value = serde_json::from_str(&super::experiment(&analysis)).unwrap();
        assert_eq!(value["schema"], "prony.analysis/1");
        assert_eq!(value["plans"][0]["rows"].as_array().unwrap().len(), analysis.plans[0].rows.len());
    }
}
