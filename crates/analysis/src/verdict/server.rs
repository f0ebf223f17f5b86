//! What became of the server while it was loaded: its processes, its memory, and the CPUs it shared.

use prony_model::code::Code;
use prony_model::duet::DuetShared;
use prony_model::observed::Process;
use prony_model::trial::{Effect, Reason};

use super::facts::Facts;
use crate::figure::memory_growth;
use crate::numbers::real;

/// A server whose memory grew by this share of what it had, and by [`GROWN_MIN_BYTES`], is said to grow.
const GROWN_MIN_SHARE: f64 = 0.2;
/// Below this, growth is buffers and caches filling up.
const GROWN_MIN_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// A slope over less than this is an accident.
const GROWTH_WINDOW_MIN_NS: u64 = 1_000_000_000;
const NAMED_MAX: usize = 3;

/// All of them. What ended with a server that died is said by its death.
pub(super) fn reasons(f: &Facts<'_>) -> impl Iterator<Item = Reason> {
    let life = &f.o.life;
    let changes = match &life.died {
        Some(how) => [Some(Code::ServerDied.reason(how.clone())), None],
        None => [server_restarted(f), worker_lost(f)],
    };
    changes.into_iter().chain([memory_grows(f), duet_shares(f), service_shares(f)]).flatten()
}

/// A worker in another's place: caches were cold and connections cut. A note where the recipe says that it is how it
/// works.
fn server_restarted(f: &Facts<'_>) -> Option<Reason> {
    let life = &f.o.life;
    let count = life.replaced.len();
    let named: Vec<String> = life
        .replaced
        .iter()
        .take(NAMED_MAX)
        .map(|(old, new)| {
            let new = if old.pid == new.pid { "itself, executed anew".to_owned() } else { process(new) };
            format!("{} by {new}", process(old))
        })
        .collect();
    let more = if count > NAMED_MAX { ", …" } else { "" };
    let reason = Code::ServerRestarted.reason(format!(
        "{} of {} ended and another took its place: {}{more}.",
        processes(count),
        life.candidate,
        named.join(", ")
    ));
    let how_it_works = "Its recipe says that it exchanges its workers: the figures contain what that costs.";
    (count > 0).then(|| match life.recycles {
        true => {
            Reason { effect: Effect::Note, affects: Vec::new(), advice: how_it_works.to_owned(), ..reason }
        }
        false => reason,
    })
}

fn worker_lost(f: &Facts<'_>) -> Option<Reason> {
    let life = &f.o.life;
    let named: Vec<String> = life.lost.iter().take(NAMED_MAX).map(process).collect();
    (!life.lost.is_empty() && !life.recycles).then(|| {
        Code::WorkerLost
            .reason(format!(
                "{} of {} ended and nothing took its place: {}.",
                processes(life.lost.len()),
                life.candidate,
                named.join(", ")
            ))
            .with("processes", life.lost.len() as f64)
    })
}

fn processes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "process" } else { "processes" })
}

fn process(process: &Process) -> String {
    // A name is the program's own choice: nothing that a terminal takes as a command.
    let name: String = process.name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{} ({name})", process.pid)
}

/// A server that takes more and more memory: a longer window would show more.
fn memory_grows(f: &Facts<'_>) -> Option<Reason> {
    let server = f.o.server.as_ref()?;
    let in_window = server.columns.at_ns.iter().zip(&server.columns.rss_bytes).find(|(at, _)| **at >= 0);
    let (slope, (_, first)) = (memory_growth(server)?, in_window?);
    let (first, grown) = (real(*first), slope * real(f.window_ns) / 1e9);
    let grows =
        f.window_ns >= GROWTH_WINDOW_MIN_NS && grown >= GROWN_MIN_BYTES && grown >= GROWN_MIN_SHARE * first;
    grows.then(|| {
        Code::MemoryGrows
            .reason(format!(
                "the memory of {} grew by {:.1} MB a second over the window, from {:.0} MB to {:.0} MB",
                f.o.life.candidate,
                slope / 1e6,
                first / 1e6,
                real(server.peak_memory_bytes) / 1e6
            ))
            .with("growth_bytes_per_s", slope)
    })
}

/// A service on the server's own CPUs takes of them what the server cannot have.
fn service_shares(f: &Facts<'_>) -> Option<Reason> {
    let services = f.o.server.iter().flat_map(|server| &server.services);
    let sharing: Vec<&str> = services.filter(|s| s.shares_cpus).map(|s| s.name.as_str()).collect();
    (!sharing.is_empty()).then(|| {
        Code::ServiceSharesCpus.reason(format!("{} shared the server's CPUs", crate::text::list(&sharing)))
    })
}

/// Servers that share with their clients have response times that hold the client's work, for both alike.
fn duet_shares(f: &Facts<'_>) -> Option<Reason> {
    let client = &f.plan.cpus;
    match f.o.shared {
        DuetShared::Nothing => None,
        DuetShared::Clients => {
            Some(Code::DuetSharesClient.reason(format!(
                "both clients of the duet shared CPU {}",
                client.first().copied().unwrap_or(0)
            )))
        }
        DuetShared::Servers => {
            let server = f.o.server.iter().flat_map(|server| &server.cpus);
            let all: std::collections::BTreeSet<&u32> = client.iter().chain(server).collect();
            let all: Vec<String> = all.into_iter().map(u32::to_string).collect();
            Some(
                Code::DuetSharesCpus
                    .reason(format!("the server shared CPU {} with its own client", all.join(", "))),
            )
        }
    }
}
