//! Running a scenario: rounds, in each of which every tool has a run of Prony directly before or after it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child;
use super::figures::{Run, Runs};
use super::lines::{Load, Results};
use super::scenarios::{Scenario, flag_of};
use super::server::Server;
use super::tools::{Places, Tool};
use crate::programs;

/// What a tool may take beyond its load before it is killed: k6 and node start in a second.
const GRACE_S: u64 = 20;
/// A tool that counts otherwise than the server by more than this is remarked upon.
const COUNTS_DIFFER: f64 = 0.01;

/// A subject that can run: its tool is here and can do the scenario's load.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) subject: &'static str,
    pub(super) tool: &'static Tool,
    pub(super) program: PathBuf,
}

#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) places: &'a Places,
    pub(super) client_cpu: u32,
    pub(super) server_cpu: u32,
    pub(super) scratch: &'a Path,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Tool(usize),
    Ours(usize),
}

/// Tools by twos, Prony between them, so that each has it for a neighbour; they move on by one each round, and every
/// second round runs backwards. With the group that each turn belongs to.
pub(super) fn order(tools: usize, ours: usize, round: u32) -> Vec<(u32, Turn)> {
    let shift = round as usize;
    let rotated: Vec<usize> = (0..tools).map(|i| (i + shift) % tools).collect();
    let mut turns = Vec::new();
    for (group, pair) in (0..).zip(rotated.chunks(2)) {
        turns.push((group, Turn::Tool(pair[0])));
        turns.extend((0..ours).map(|way| (group, Turn::Ours(way))));
        turns.extend(pair.get(1).map(|tool| (group, Turn::Tool(*tool))));
    }
    if round % 2 == 1 {
        turns.reverse();
    }
    turns
}

/// Each told to `tell` as it comes. Where a run has to keep its client busy, rounds of the near tools are added (half
/// as many again at most) until each has `rounds` that count.
pub(super) fn scenario(
    bench: &Bench<'_>,
    scenario: &Scenario,
    load: &Load,
    rounds: u32,
    (ours, near, far): (&[Ready], &[Ready], &[Ready]),
    tell: &mut dyn FnMut(&Run),
) -> Result<Vec<Run>, String> {
    let server = Server::start(&bench.places.prony, scenario.server, bench.server_cpu, bench.scratch)?;
    let (near_rounds, far_rounds) = scenario.rounds(rounds);
    let planned = near_rounds.max(far_rounds);
    let mut runs = Vec::new();
    for round in 0..planned + planned / 2 {
        let is_extra = round >= planned;
        if is_extra && (scenario.busy_min.is_none() || enough(&runs, scenario, ours, near, near_rounds)) {
            break;
        }
        let here = [(near, round < near_rounds || is_extra), (far, round < far_rounds)];
        let tools: Vec<&Ready> =
            here.iter().filter(|(_, takes_part)| *takes_part).flat_map(|(tools, _)| *tools).collect();
        for (group, turn) in order(tools.len(), ours.len(), round) {
            let ready = match turn {
                Turn::Tool(index) => tools[index],
                Turn::Ours(index) => &ours[index],
            };
            let run = one(bench, &server, scenario, load, ready, (round, group))?;
            tell(&run);
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Whether every near tool that ever counted did so beside Prony in `rounds` rounds.
fn enough(runs: &[Run], scenario: &Scenario, ours: &[Ready], near: &[Ready], rounds: u32) -> bool {
    let (Some(ours), figure) = (ours.first(), scenario.figures[0]) else { return true };
    near.iter().all(|tool| {
        let theirs = (tool.subject, figure);
        let counted = Runs(runs).ratio(scenario.name, (ours.subject, figure), theirs);
        counted.is_none_or(|ratio| ratio.n >= rounds as usize)
    })
}

fn one(
    bench: &Bench<'_>,
    server: &Server,
    scenario: &Scenario,
    load: &Load,
    ready: &Ready,
    (round, group): (u32, u32),
) -> Result<Run, String> {
    let line = line(ready, load, &server.url, bench.scratch)
        .ok_or_else(|| format!("{}: its files could not be written", ready.subject))?;
    let command = [&[ready.program.display().to_string()], &line[..]].concat();
    let before = server.settled()?;
    let limit = Duration::from_secs(u64::from(load.seconds) + GRACE_S);
    let (cost, output) = child::costs(bench.client_cpu, limit, &command, bench.scratch)?;
    let after = server.settled()?;
    let text = match ready.tool.line.results {
        Results::Stdout => String::from_utf8_lossy(&output.stdout).into_owned(),
        Results::File(name) => std::fs::read_to_string(bench.scratch.join(name)).unwrap_or_default(),
        Results::Then(arguments) => {
            let mut again = Command::new(&ready.program);
            programs::text(again.args(arguments).current_dir(bench.scratch)).unwrap_or_default()
        }
    };
    let claim = ready.tool.read.claim(&text);
    let mut run = Run {
        scenario: scenario.name,
        subject: ready.subject,
        round,
        group,
        line: format!("{} {}", ready.tool.name, line.join(" ")),
        seconds: load.seconds,
        cost,
        served: after.since(&before),
        claim: claim.clone().unwrap_or_default(),
        refused: None,
    };
    run.refused = refusal(&run, claim.is_some(), scenario.busy_min, || child::stderr(&output));
    Ok(run)
}

/// The subject's line, its own arguments first where the tool takes them before the URL.
pub(super) fn line(ready: &Ready, load: &Load, url: &str, scratch: &Path) -> Option<Vec<String>> {
    let mut line = ready.tool.line.words(load, url, scratch)?;
    // `prony load` and `xtask floor` begin with the name of a subcommand.
    let at = usize::from(matches!(ready.tool.name, "prony" | "floor"));
    line.splice(at..at, flag_of(ready.subject).map(str::to_owned));
    Some(line)
}

fn refusal(run: &Run, understood: bool, busy_min: Option<f64>, said: impl Fn() -> String) -> Option<String> {
    if run.cost.timed_out {
        return Some("it did not end and was killed".to_owned());
    }
    if run.cost.exit_code != Some(0) {
        let code = run.cost.exit_code.map_or("a signal".to_owned(), |code| format!("code {code}"));
        return Some(format!("it ended with {code}: {}", said()));
    }
    if run.served.requests == 0 {
        return Some(format!("the server saw no request: {}", said()));
    }
    if !understood {
        return Some("its output was not understood".to_owned());
    }
    let busy = run.busy();
    busy_min.filter(|min| busy < *min).map(|_| format!("its client was busy for {:.1} % only", busy * 100.0))
}

/// By how much the tool's own count differs from the server's, where that is worth a word.
pub(super) fn count_differs(run: &Run) -> Option<f64> {
    let claimed = run.claim.requests?;
    // What is in flight at the end is counted by one side only.
    let allowed = run.served.connections.max(1) as f64;
    let difference = claimed as f64 - run.served.requests as f64;
    let share = difference / run.served.requests as f64;
    (difference.abs() > allowed && share.abs() > COUNTS_DIFFER).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_prony_for_a_neighbour() {
        for tools in 1..9 {
            for round in 0..5 {
                let turns: Vec<Turn> = order(tools, 1, round).into_iter().map(|(_, turn)| turn).collect();
                for tool in 0..tools {
                    let at = turns.iter().position(|t| *t == Turn::Tool(tool)).unwrap();
                    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
                    assert!(
                        beside.filter_map(|i| turns.get(i)).any(|t| *t == Turn::Ours(0)),
                        "{tools} tools, round {round}: {turns:?}"
                    );
                }
                assert_eq!(turns.len(), tools + tools.div_ceil(2));
            }
        }
    }

    #[test]
    fn both_ways_of_prony_run_and_no_tool_always_goes_first() {
        let first = order(3, 2, 0);
        assert_eq!(first.iter().filter(|(_, t)| *t == Turn::Ours(1)).count(), 2);
        assert_eq!(first.iter().filter(|(group, _)| *group == 0).count(), 4);
        let firsts: std::collections::BTreeSet<String> =
            (0..6).map(|round| format!("{:?}", order(3, 2, round)[0].1)).collect();
        assert!(firsts.len() >= 3, "{firsts:?}");
    }

    #[test]
    fn nobody_to_compare_with_is_an_empty_round() {
        assert_eq!(order(0, 1, 0), Vec::new());
    }

    #[test]
    fn runs_that_do_not_count_say_why() {
        let good = crate::peers::figures::tests::run("wrk", 0, 1_990_000_000, 10);
        let said = || "boo".to_owned();
        let of = |change: &dyn Fn(&mut Run)| {
            let mut run = good.clone();
            run.cost.exit_code = Some(0);
            change(&mut run);
            refusal(&run, true, Some(0.95), said)
        };
        assert_eq!(of(&|_| {}), None);
        assert!(of(&|r| r.cost.exit_code = Some(1)).unwrap().contains("code 1: boo"));
        assert!(of(&|r| r.cost.user_ns = 1_000_000_000).unwrap().contains("50.0 %"));
        assert!(of(&|r| r.served.requests = 0).unwrap().contains("no request"));
        assert!(of(&|r| r.cost.timed_out = true).unwrap().contains("killed"));
    }

    #[test]
    fn counts_may_differ_by_what_is_in_flight() {
        let mut run = crate::peers::figures::tests::run("hey", 0, 1, 1_000);
        run.served.connections = 100;
        run.claim.requests = Some(920);
        assert_eq!(count_differs(&run), None);
        run.claim.requests = Some(500);
        assert_eq!(count_differs(&run), Some(-0.5));
    }
}
