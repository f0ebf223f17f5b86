//! What the lab adds to a trial's verdict: what a measurement of answers cannot see by itself.

use prony_analysis::figure::Figure;
use prony_model::duet::DuetShared;
use prony_model::server::ServerSamples;
use prony_model::trial::{Effect, Reason, Trial, Validity};

use super::Pins;
use crate::sample::{Changes, Life};

/// A server whose memory grew by this share of what it had, and by [`GROWN_MIN_BYTES`], is said to grow.
const GROWN_MIN_SHARE: f64 = 0.2;
/// Below this, growth is buffers and caches filling up.
const GROWN_MIN_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// A slope over less than this is an accident.
const GROWTH_WINDOW_MIN_NS: u64 = 1_000_000_000;
/// Processes that a sentence names.
const NAMED_MAX: usize = 3;

/// The server ended under load: the trial does not count.
pub(super) fn died(trial: &mut Trial, detail: String) {
    mark(
        trial,
        "server_died",
        Effect::Invalid,
        detail,
        "Look at its last lines, and load it by hand with `prony load`; the trial does not count.",
    );
}

/// What became of the server's processes. A worker in the place of another is a server that was
/// started again: its caches were cold and its connections cut. Only where the recipe says that
/// it exchanges its workers by itself is that how it works, and worth a note.
pub(super) fn changed(trial: &mut Trial, candidate: &str, changes: &Changes, recycles: bool) {
    if !changes.replaced.is_empty() {
        let count = changes.replaced.len();
        let named: Vec<String> = changes
            .replaced
            .iter()
            .take(NAMED_MAX)
            .map(|(old, new)| {
                let new = if old.pid == new.pid { "itself, executed anew".to_owned() } else { process(new) };
                format!("{} by {new}", process(old))
            })
            .collect();
        let more = if count > NAMED_MAX { ", …" } else { "" };
        let processes = if count == 1 { "process" } else { "processes" };
        let detail = format!(
            "{count} {processes} of {candidate} ended and another took its place: {}{more}.",
            named.join(", ")
        );
        let (effect, advice) = if recycles {
            (
                Effect::Note,
                "Its recipe says that it exchanges its workers: the figures contain what that costs.",
            )
        } else {
            (
                Effect::Invalid,
                "Look why it ended; where a setting makes workers end after so many requests, switch it off, or \
                 write recycles = true in its recipe. The trial does not count.",
            )
        };
        mark(trial, "server_restarted", effect, detail, advice);
    }
    if !changes.lost.is_empty() && !recycles {
        let named: Vec<String> = changes.lost.iter().take(NAMED_MAX).map(process).collect();
        let count = changes.lost.len();
        let processes = if count == 1 { "process" } else { "processes" };
        mark(
            trial,
            "worker_lost",
            Effect::Note,
            format!(
                "{count} {processes} of {candidate} ended and nothing took its place: {}.",
                named.join(", ")
            ),
            "If it was a worker, fewer served than were asked for: look at its log.",
        );
    }
}

/// A server that takes more and more memory: a longer window would show more.
pub(super) fn grown(trial: &mut Trial, candidate: &str, server: &ServerSamples) {
    let window_ns = trial.window.duration_ns;
    let in_window = server.columns.at_ns.iter().zip(&server.columns.rss_bytes).find(|(at, _)| **at >= 0);
    let (Some(known), Some((_, first))) = (Figure::MemoryGrowth.of(trial, Some(server)), in_window) else {
        return;
    };
    let (first, grown) = (real(*first), known.value * real(window_ns) / 1e9);
    if window_ns < GROWTH_WINDOW_MIN_NS || grown < GROWN_MIN_BYTES || grown < GROWN_MIN_SHARE * first {
        return;
    }
    let detail = format!(
        "the memory of {candidate} grew by {:.1} MB a second over the window, from {:.0} MB to {:.0} MB",
        known.value / 1e6,
        first / 1e6,
        real(server.peak_memory_bytes) / 1e6
    );
    let advice = "Give a longer -d to see whether it ends; memory figures are those of this window only.";
    mark(trial, "memory_grows", Effect::Note, detail, advice);
}

/// What a place of a duet shares: servers that share with their clients have response times that hold
/// the client's work, for both alike.
pub(super) fn shares(trial: &mut Trial, shared: DuetShared, pins: &Pins) {
    let cpus = pins.used().iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match shared {
        DuetShared::Nothing => {}
        DuetShared::Clients => mark(
            trial,
            "duet_shares_client",
            Effect::Note,
            format!("both clients of the duet shared CPU {}", pins.client.first().copied().unwrap_or(0)),
            "With one CPU more each client has its own; the servers have theirs.",
        ),
        DuetShared::Servers => {
            let detail = format!("the server shared CPU {cpus} with its own client");
            let advice = "Read the ratio of the duet, which both share in: by itself this figure holds the client's \
                          work, too. With four CPUs everybody has one.";
            mark(trial, "duet_shares_cpus", Effect::Suspect, detail, advice);
        }
    }
}

fn mark(trial: &mut Trial, code: &str, effect: Effect, detail: String, advice: &str) {
    let affects: &[&str] = match effect {
        Effect::Invalid => &["throughput", "response", "service"],
        Effect::Suspect => &["response", "service"],
        _ => &[],
    };
    match effect {
        Effect::Invalid => trial.verdict.validity = Validity::Invalid,
        Effect::Suspect => trial.verdict.validity = trial.verdict.validity.max(Validity::Suspect),
        _ => {}
    }
    trial.verdict.reasons.push(Reason {
        code: code.to_owned(),
        affects: affects.iter().map(|a| (*a).to_owned()).collect(),
        effect,
        detail,
        advice: advice.to_owned(),
    });
}

fn process(life: &Life) -> String {
    // A name is the program's own choice: nothing that a terminal takes as a command.
    let name: String = life.name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{} ({name})", life.pid)
}

#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds of a trial, below 2^53")]
fn real(value: u64) -> f64 {
    value as f64
}
