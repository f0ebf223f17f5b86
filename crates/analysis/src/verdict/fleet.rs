//! What the agents of a fleet say of themselves, each by its name.

use prony_model::code::Code;
use prony_model::trial::{Effect, Reason};

use super::facts::{Facts, share};
use super::{LATE_P50_NS, LATE_P99_NS, LATE_SHARE};
use crate::numbers::{real, rounded};
use crate::text::{duration, percent};

/// A window that is cut to less of what was asked for answers another question.
const KEPT_MIN: f64 = 0.5;
/// A window shorter than this holds too little to be anything's figures.
const WINDOW_MIN_NS: u64 = 1_000_000_000;
/// A process may have been kept from running by its quota for this share of the window.
pub(super) const THROTTLED_MAX: f64 = 0.001;
const NAMED_MAX: usize = 3;

/// All of them; none without a fleet.
pub(super) fn reasons(f: &Facts<'_>) -> impl Iterator<Item = Reason> {
    [agent_lost(f), late_agents(f), throttled_agents(f)].into_iter().flatten()
}

/// What all agents had given until one was lost is exact, and shorter than asked; that one died may have to do with the load.
fn agent_lost(f: &Facts<'_>) -> Option<Reason> {
    let lost = f.m.fleet.as_ref()?.lost.as_ref()?;
    let kept = lost.planned_ns.map_or(1.0, |planned_ns| share(f.window_ns, planned_ns));
    let mut reason = Code::AgentLost
        .reason(format!(
            "the agent {} was lost: {}; the window ends at {}, up to where all agents had given what they measured",
            lost.agent,
            lost.why,
            duration(f.window_ns)
        ))
        .with("window_ns", real(f.window_ns))
        .with("kept_share", kept);
    if kept < KEPT_MIN || f.window_ns < WINDOW_MIN_NS {
        reason.effect = Effect::Invalid;
        reason.detail.push_str(", which is too short");
    }
    Some(reason)
}

/// One agent that sends late is a small share of all requests, so that percentiles of the sum may hide it.
fn late_agents(f: &Facts<'_>) -> Option<Reason> {
    let limit =
        |floor: u64, response: Option<u64>| floor.max(rounded(LATE_SHARE * real(response.unwrap_or(0))));
    let p50 = limit(LATE_P50_NS, f.response.percentile("p50_ns"));
    let p99 = limit(LATE_P99_NS, f.response.percentile("p99_ns"));
    let late: Vec<String> = (f.m.fleet.iter())
        .flat_map(|fleet| &fleet.agents)
        .filter_map(|agent| {
            let slow = |ns: Option<u64>, limit| ns.filter(|ns| *ns > limit);
            let (name, ns) = slow(agent.lateness_p50_ns, p50)
                .map(|ns| ("p50", ns))
                .or_else(|| slow(agent.lateness_p99_ns, p99).map(|ns| ("p99", ns)))?;
            Some(format!("{} ({name} {})", agent.name, duration(ns)))
        })
        .collect();
    let agents = f.m.fleet.as_ref().map_or(0, |fleet| fleet.agents.len());
    (!late.is_empty() && agents > 1).then(|| {
        Code::LateAgents
            .reason(format!(
                "{} of the agents sent late by their own doing: {}",
                percent(real(late.len() as u64) / real(agents as u64)),
                named(&late)
            ))
            .with("late_agents", real(late.len() as u64))
    })
}

/// A quota stops all threads of an agent for the rest of each tenth of a second once they have used it up.
fn throttled_agents(f: &Facts<'_>) -> Option<Reason> {
    let throttled: Vec<String> = (f.m.fleet.iter())
        .flat_map(|fleet| &fleet.agents)
        .filter_map(|agent| Some((agent, agent.throttled_ns?)))
        .filter(|(_, ns)| share(*ns, f.window_ns) > THROTTLED_MAX)
        .map(|(agent, ns)| format!("{} ({})", agent.name, duration(ns)))
        .collect();
    (!throttled.is_empty()).then(|| {
        Code::ThrottledAgents
            .reason(format!("a CPU quota kept agents from running: {}", named(&throttled)))
            .with("throttled_agents", real(throttled.len() as u64))
    })
}

fn named(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(NAMED_MAX)].join(", "))
}
