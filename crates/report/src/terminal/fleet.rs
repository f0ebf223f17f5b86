//! The agents of a fleet.

use prony_model::fleet::AgentRecord;
use prony_model::trial::Trial;

use super::table::{Align, Table};
use crate::format;

/// Rows at most; the others are in JSON.
const ROWS_MAX: usize = 20;

/// The table's lines; nothing without a fleet.
pub(super) fn table(trial: &Trial) -> Vec<String> {
    let Some(fleet) = &trial.fleet else { return Vec::new() };
    let completed: u64 = fleet.agents.iter().map(|agent| agent.completed).sum();
    let mut columns = vec![(Align::Left, 9)];
    columns.extend([(Align::Right, 8); 7]);
    let mut table = Table::new(&columns);
    let head = ["agent", "share", "completed", "failed", "CPU", "send lag p99", "clock ±", "drift"];
    table.row(head.map(str::to_owned).to_vec());
    for agent in fleet.agents.iter().take(ROWS_MAX) {
        table.row(row(agent, completed, trial.window.duration_ns));
    }
    let mut lines = table.lines();
    let more = fleet.agents.len().saturating_sub(ROWS_MAX) as u64;
    if more > 0 {
        lines.push(format!(" … {}: --json has all", format::count(more, "more agent", "more agents")));
    }
    lines
}

fn row(agent: &AgentRecord, completed: u64, window_ns: u64) -> Vec<String> {
    let of = |part: u64, whole: u64| {
        if whole == 0 { "–".to_owned() } else { format::percent(part as f64 / whole as f64) }
    };
    let duration = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| format::duration(ns as f64));
    vec![
        format::truncate(&format::printable(&agent.name), 24),
        of(agent.completed, completed),
        format::thousands(agent.completed),
        format::thousands(agent.failed),
        of(agent.cpu_ns, window_ns),
        duration(agent.send_lag_p99_ns),
        duration(Some(agent.clock_bound_ns)),
        agent.clock_moved_ns.map_or_else(|| "–".to_owned(), drift),
    ]
}

fn drift(moved_ns: i64) -> String {
    let sign = if moved_ns < 0 { '−' } else { '+' };
    format!("{sign}{}", format::duration(moved_ns.unsigned_abs() as f64))
}

#[cfg(test)]
mod tests {
    use crate::fixtures;
    use crate::terminal::{TerminalOptions, trial};
    use prony_model::fleet::{AgentRecord, FleetRecord};

    #[test]
    fn each_agent_has_a_row() {
        let mut t = fixtures::closed();
        let agent = |name: &str, completed, clock_moved_ns| AgentRecord {
            name: name.to_owned(),
            threads: 1,
            completed,
            cpu_ns: 1_200_000_000,
            send_lag_p99_ns: Some(41_000),
            clock_bound_ns: 62_000,
            clock_moved_ns,
            ..AgentRecord::default()
        };
        let agents = vec![agent("local-1", 208_000, Some(-1_800)), agent("local-2", 208_100, None)];
        let flags = vec!["--fleet".to_owned(), "local:2".to_owned()];
        t.fleet = Some(FleetRecord { flags, agents, ..FleetRecord::default() });
        let shown = trial(&t, &TerminalOptions::default());
        let table: Vec<&str> =
            shown.lines().filter(|line| line.contains("agent") || line.contains("local-")).collect();
        insta::assert_snapshot!(table.join("\n"), @"
        agent      share completed  failed     CPU send lag p99 clock ±    drift
        local-1     50 %   208,000       0   4.0 %      41.0 µs 62.0 µs −1.80 µs
        local-2     50 %   208,100       0   4.0 %      41.0 µs 62.0 µs        –
        ");
        // Broken where a line is full.
        let words: Vec<&str> = shown.split_whitespace().filter(|word| *word != "\\").collect();
        let commands =
            words.windows(2).filter(|pair| *pair == ["prony", "load"] || *pair == ["prony", "capacity"]);
        let fleets = words.windows(2).filter(|pair| *pair == ["--fleet", "local:2"]);
        let (commands, fleets) = (commands.count(), fleets.count());
        assert!(commands > 0 && commands == fleets, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
    }
}
