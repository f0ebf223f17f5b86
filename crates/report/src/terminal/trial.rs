//! One trial for the terminal.

use std::fmt::Write as _;

use prony_model::code::Code;
use prony_model::trial::{Effect, Outcome, Reason, Trial, Validity};

use super::lines::{Ink, Lines, TerminalOptions};
use super::{by_request, fleet, latency, next, plot, slo};
use crate::{format, words};

/// Bars in the sparkline at most; longer windows are drawn in as many equal parts.
const SPARKS: usize = 30;

/// One trial: the answer first, then load, latencies, counts, the verdict's reasons and the next commands.
pub fn trial(trial: &Trial, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    first_line(&mut out, trial);
    out.wrapped("", &format!("{}{}", words::plan_line(trial), which_address(trial)), Ink::DIM);
    out.line("");
    if trial.requests.completed > 0 {
        out.table(&latency::table(trial, out.width));
    }
    if let Some(line) = spark_line(trial) {
        out.line(&line);
    }
    if options.plot {
        plot::latency(trial, out.width).iter().for_each(|line| out.line(line));
    }
    out.line("");
    let requests = by_request::table(trial, out.width);
    out.table(&requests);
    if !requests.is_empty() {
        out.line("");
    }
    let agents = fleet::table(trial);
    out.table(&agents);
    if !agents.is_empty() {
        out.line("");
    }
    counts(&mut out, trial);
    costs(&mut out, trial);
    errors(&mut out, trial);
    reasons(&mut out, trial);
    slo::push(&mut out, &trial.slo);
    next::push(&mut out, &next::after(trial, options.target.as_deref()));
    out.text
}

/// Which address of a name was loaded: it may have several, of which each load takes one. Not of several servers.
fn which_address(trial: &Trial) -> String {
    let address = &trial.target.address;
    let host = address.rsplit_once(':').map_or("", |(host, _)| host);
    let is_known = trial.plan.servers() > 1
        || host.is_empty()
        || host == "unix"
        || trial.target.url.contains(&format!("//{host}"));
    if is_known { String::new() } else { format!(" · to {address}") }
}

fn first_line(out: &mut Lines, trial: &Trial) {
    let state = words::state(trial);
    let ink = match trial.verdict.validity {
        Validity::Valid if trial.interrupted => Ink::WARN,
        Validity::Valid => Ink::GOOD,
        Validity::Suspect => Ink::WARN,
        Validity::Invalid => Ink::BAD,
    };
    if trial.outcome == Outcome::Carried {
        let mut parts = answer(trial);
        let verdict = state.join(", ");
        let plain = parts.join("    ").chars().count() + 4 + verdict.chars().count();
        let gap = if plain <= out.width { "    " } else { "  " };
        parts[0] = out.paint(Ink::BOLD, &parts[0]);
        parts.push(out.paint(ink, &verdict));
        out.line(&parts.join(gap));
        return;
    }
    let outcome = words::loud(trial.outcome);
    let doubt: String = state.iter().skip(1).map(|word| format!(", {word}")).collect();
    // A finding that can be trusted needs no more than its name.
    let doubt = if doubt == ", VALID" { String::new() } else { doubt };
    let finding = finding(trial);
    let one_line = format!("{outcome}{doubt}  {finding}").chars().count() <= out.width;
    let lead = format!("{}{}", out.paint(Ink::BAD, &outcome), out.paint(ink, &doubt));
    if one_line {
        out.line(&format!("{lead}  {}", out.paint(Ink::BOLD, &finding)));
    } else {
        out.line(&lead);
        out.wrapped("", &finding, Ink::BOLD);
    }
}

fn answer(trial: &Trial) -> Vec<String> {
    let mut parts = words::lead(trial, true);
    let failed = trial.requests.failed;
    if trial.verdict.reasons.iter().any(|r| r.code == Code::Errors) {
        parts.insert(0, format!("{} FAILED", failed_share(trial)));
    } else {
        parts.push(format!("{} failed", format::thousands(failed)));
    }
    parts
}

fn failed_share(trial: &Trial) -> String {
    let ended = trial.requests.failed + trial.requests.completed;
    if ended == 0 { "0 %".to_owned() } else { format::percent(trial.requests.failed as f64 / ended as f64) }
}

fn finding(trial: &Trial) -> String {
    let estimate = &trial.throughput.requests_per_s;
    let pm = words::spaced_plus_minus(estimate);
    if trial.outcome == Outcome::Broken {
        let requests = &trial.requests;
        if requests.failed + requests.completed == 0 {
            let waiting = format::thousands(requests.in_flight + requests.never_sent);
            let window = format::short_duration(trial.window.duration_ns as f64);
            return format!("no response to any of {waiting} requests in {window}");
        }
        let ended = format::thousands(trial.requests.failed + trial.requests.completed);
        let failed = format::thousands(trial.requests.failed);
        if let Some(every) = trial.every_response() {
            return format!(
                "{} failed: {failed} of {ended}; {}",
                failed_share(trial),
                format::printable(&every)
            );
        }
        // A server that mostly fails was not measured to its limit: no bound and no mark.
        let completed = format::rate(estimate.point);
        return format!(
            "{} failed: {failed} of {ended}; completed {completed} req/s{pm}",
            failed_share(trial)
        );
    }
    let completed = format!("{}{}", words::throughput(trial), words::figure_mark(trial, "throughput"));
    let of =
        trial.throughput.offered_per_s.map(|due| format!(" of {}", format::rate(due))).unwrap_or_default();
    let overload = trial.verdict.reasons.iter().find(|r| r.code == Code::Overload);
    let growth = overload.and_then(|reason| reason.values.get("growth_per_s_ns"));
    let growth = growth.map(|ns| format!(" by {} a second", format::short_duration(*ns))).unwrap_or_default();
    format!("completed {completed}{of} req/s{pm}; queueing delay grows{growth}")
}

fn spark_line(trial: &Trial) -> Option<String> {
    let rates = rates(trial);
    if rates.len() < 3 {
        return None;
    }
    let (low, high) = rates.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), r| (l.min(*r), h.max(*r)));
    let range = match (format::si(low), format::si(high)) {
        (low, high) if low == high => format!("{high} per second"),
        (low, high) => format!("{low} – {high} per second"),
    };
    let drifted = |r: &Reason| r.code == Code::NotSteady && r.effect != Effect::Note;
    let steadiness = if trial.verdict.reasons.iter().any(drifted) { ", not steady" } else { "" };
    Some(format!(" req/s  {}   {range}{steadiness}", format::sparkline(&rates)))
}

/// Completed requests per second in at most [`SPARKS`] parts; a last part under half a second is left out as chance.
fn rates(trial: &Trial) -> Vec<f64> {
    let points: Vec<_> = trial.series.iter().filter(|p| p.length_ns >= 500_000_000).collect();
    let per_bar = points.len().div_ceil(SPARKS).max(1);
    let rate = |part: &[&prony_model::trial::SeriesPoint]| {
        let completed: u64 = part.iter().map(|p| p.completed).sum();
        let length: u64 = part.iter().map(|p| p.length_ns).sum();
        completed as f64 / (length as f64 / 1e9)
    };
    points.chunks(per_bar).map(rate).collect()
}

/// The requests by what became of them. In open arrivals the whole sum, since what was not sent matters there.
fn counts(out: &mut Lines, trial: &Trial) {
    let r = &trial.requests;
    let n = format::thousands;
    let status: Vec<String> = trial
        .status
        .iter()
        .map(|(status, count)| format!("{}: {}", format::printable(status), n(*count)))
        .collect();
    if trial.plan.rate_per_s.is_none() && trial.plan.replay.is_none() {
        let ends = format!("failed {}   in flight at the end {}", n(r.failed), n(r.in_flight));
        let line = format!(" completed {}   {}   {ends}", n(r.completed), status.join("   "));
        if !status.is_empty() && line.chars().count() <= out.width {
            out.line(&line);
            return;
        }
        out.line(&format!(" completed {}   {ends}", n(r.completed)));
    } else {
        let carried_in =
            if r.carried_in > 0 { format!(" + carried over {}", n(r.carried_in)) } else { String::new() };
        let line = format!(
            "due {}{carried_in} = completed {} + failed {} + in flight {} + never sent {}",
            n(r.scheduled),
            n(r.completed),
            n(r.failed),
            n(r.in_flight),
            n(r.never_sent)
        );
        out.wrapped(" ", &line, Ink::PLAIN);
    }
    if !status.is_empty() {
        out.wrapped(" by status  ", &status.join(", "), Ink::PLAIN);
    }
}

/// CPU time is read every 100 ms and interpolated at the edges, which are too large a part in less than ten times that.
const SERVER_CPU_WINDOW_MIN_NS: f64 = 1e9;

pub fn server_line(trial: &Trial) -> Option<String> {
    let server = trial.server.as_ref()?;
    let (window_ns, cpu_ns) = (trial.window.duration_ns as f64, server.window_cpu_ns as f64);
    let mut parts = Vec::new();
    if window_ns < SERVER_CPU_WINDOW_MIN_NS {
        parts.push("no CPU figure of a window under 1 s".to_owned());
    } else {
        parts.push(format!("{} of one core", format::percent(cpu_ns / window_ns)));
        if trial.requests.completed > 0 {
            let each = cpu_ns / trial.requests.completed as f64;
            parts.push(format!("{} per request", format::duration(each)));
        }
    }
    parts.push(format!("{} at most", format::bytes(server.peak_memory_bytes as f64)));
    parts.push(format::count(u64::from(server.processes), "process", "processes"));
    let interrupts = server.host.as_ref().and_then(|host| host.irq_ns?.checked_add(host.softirq_ns?));
    if let Some(ns) = interrupts
        && window_ns >= SERVER_CPU_WINDOW_MIN_NS
        && trial.requests.completed > 0
    {
        let each = ns as f64 / trial.requests.completed as f64;
        parts.push(format!("its host's interrupts {} per request", format::duration(each)));
    }
    Some(format!("server {}", parts.join(", ")))
}

/// The bytes read and sent, and the CPU time of the client and of a server that is watched.
fn costs(out: &mut Lines, trial: &Trial) {
    let window_ns = trial.window.duration_ns as f64;
    let carried =
        |per_s: f64| format!("{} ({}/s)", format::bytes(per_s * window_ns / 1e9), format::bytes(per_s));
    let (read, sent) = (trial.throughput.read_bytes_per_s, trial.throughput.sent_bytes_per_s);
    let mut client = Vec::new();
    if window_ns > 0.0 {
        client.push(format!("{} of one core", format::percent(trial.client.cpu_ns as f64 / window_ns)));
    }
    if let Some(ns) = trial.client.cpu_per_request_ns {
        client.push(format!("{} per request", format::duration(ns as f64)));
    }
    let decoded = trial.throughput.decoded_bytes_per_s;
    let decoded = decoded.map_or(String::new(), |per_s| format!(", bodies decoded {}", carried(per_s)));
    out.wrapped(" ", &format!("read {}{decoded}, sent {}", carried(read), carried(sent)), Ink::PLAIN);
    if !client.is_empty() {
        out.wrapped(" ", &format!("client {}", client.join(", ")), Ink::PLAIN);
    }
    if let Some(line) = server_line(trial) {
        out.wrapped(" ", &line, Ink::PLAIN);
    }
    if let Some(tls) = &trial.tls {
        let agreed: Vec<&str> =
            [&tls.cipher, &tls.key_exchange].into_iter().flatten().map(String::as_str).collect();
        let full = format::count(tls.handshakes_full, "full handshake", "full handshakes");
        let line =
            format!("{} · {full}, {} resumed", agreed.join(", "), format::thousands(tls.handshakes_resumed));
        out.wrapped(" ", &line, Ink::PLAIN);
    }
    if let Some(used) = trial.http2 {
        let moved = format::count(used.moved, "request was moved", "requests were moved");
        let streams = format::count(used.streams, "stream", "streams");
        let mut line = format!("HTTP/2: {streams} per connection, {moved} to another connection");
        let waits = [("a stream", used.no_stream.total_ns), ("a connection", used.no_connection.total_ns)];
        let waits = waits.into_iter().chain([("the server's windows", used.held_ns)]);
        for (what, total_ns) in waits.filter(|(_, total_ns)| *total_ns > 0) {
            let _ = write!(line, ", {} of waits for {what}", format::duration(total_ns as f64)); // a String takes all
        }
        out.wrapped(" ", &line, Ink::PLAIN);
    }
    if trial.client.stamps_rejected > 0 {
        let n = format::count(trial.client.stamps_rejected, "read", "reads");
        let line = format!("{n} had no plausible kernel timestamp: Prony's own clock was used");
        out.wrapped(" ", &line, Ink::PLAIN);
    }
}

/// Failed requests by kind, the most frequent first, each with its first message.
fn errors(out: &mut Lines, trial: &Trial) {
    if trial.errors.is_empty() {
        return;
    }
    out.line(&format!(" failed {} ({})", format::thousands(trial.requests.failed), failed_share(trial)));
    let mut kinds: Vec<_> = trial.errors.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let name_width = kinds.iter().map(|(kind, _)| kind.chars().count()).max().unwrap_or(0).min(24);
    for (kind, count) in kinds {
        let name = format::truncate(&words::code(kind), name_width);
        let lead = format!("   {name:<name_width$}  {:>9}  ", format::thousands(*count));
        match trial.first_errors.get(kind).filter(|first| !first.is_empty()) {
            // Whole: what to do stands at its end.
            Some(first) => out.wrapped(&lead, first, Ink::DIM),
            None => out.line(lead.trim_end()),
        }
    }
}

fn reasons(out: &mut Lines, trial: &Trial) {
    let estimate = &trial.throughput.requests_per_s;
    if let Some(why) = estimate.no_interval.as_deref().filter(|_| trial.requests.completed > 0) {
        out.wrapped(" – ", &format!("no interval for req/s: {why}"), Ink::PLAIN);
    }
    let unseen = prony_analysis::starts::unseen_stalls(trial);
    for line in [latency::withheld(trial), latency::unbounded(trial), unseen].into_iter().flatten() {
        out.wrapped(" – ", &line, Ink::PLAIN);
    }
    let mut reasons: Vec<_> = trial.verdict.reasons.iter().collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.effect));
    for reason in reasons {
        let mark = words::effect_mark(reason.effect);
        let touched = if reason.affects.is_empty() || reason.effect == Effect::Note {
            String::new()
        } else {
            let figures = reason.affects.iter().map(|figure| words::code(figure.trim_end_matches("_ns")));
            format!(" ({})", figures.collect::<Vec<_>>().join(", "))
        };
        let text = format!("{}{touched}: {}", reason.code.words(), reason.detail);
        let ink = match reason.effect {
            Effect::Invalid => Ink::BAD,
            Effect::Suspect => Ink::WARN,
            Effect::Note | Effect::Withheld | Effect::LowerBound => Ink::PLAIN,
        };
        out.wrapped(&format!(" {mark} "), &text, ink);
        if !reason.advice.is_empty() {
            out.wrapped("   → ", &reason.advice, Ink::PLAIN);
        }
    }
}
