//! One trial for the terminal.

use prony_model::trial::{Effect, Outcome, Trial, Validity};

use super::{Ink, TerminalOptions, by_request, latency, next, plot, push_table, push_wrapped, slo};
use crate::{format, words};

/// Bars in the sparkline at most; longer windows are drawn in as many equal parts.
const SPARKS: usize = 30;

/// One trial: the answer in the first line, then the load, the latencies,
/// the counts of requests, the verdict's reasons and the next commands.
/// Every line ends in a newline.
pub fn trial(trial: &Trial, options: &TerminalOptions) -> String {
    let ink = options.ink();
    let width = options.width();
    let mut out = String::new();
    first_line(&mut out, trial, width, ink);
    push_wrapped(&mut out, "", &words::plan_line(trial), width, |line| ink.dim(line));
    out.push('\n');
    if trial.requests.completed > 0 {
        push_table(&mut out, &latency::table(trial, width), ink);
    }
    if let Some(line) = spark_line(trial) {
        push_line(&mut out, &line);
    }
    if options.plot {
        plot::latency(trial, width).iter().for_each(|line| push_line(&mut out, line));
    }
    out.push('\n');
    let requests = by_request::table(trial, width);
    push_table(&mut out, &requests, ink);
    if !requests.is_empty() {
        out.push('\n');
    }
    counts(&mut out, trial, width);
    costs(&mut out, trial, width);
    errors(&mut out, trial, width, ink);
    reasons(&mut out, trial, width, ink);
    slo::push(&mut out, &trial.slo, width, ink);
    next::push(&mut out, &next::after(trial, options.target.as_deref()), width, ink);
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// The answer.
fn first_line(out: &mut String, trial: &Trial, width: usize, ink: Ink) {
    let verdict = match (trial.verdict.validity, trial.interrupted) {
        (v, false) => words::validity(v).to_owned(),
        (v, true) => format!("{}, INTERRUPTED", words::validity(v)),
    };
    let colored = |text: &str| match trial.verdict.validity {
        Validity::Valid if trial.interrupted => ink.warn(text),
        Validity::Valid => ink.good(text),
        Validity::Suspect => ink.warn(text),
        Validity::Invalid => ink.bad(text),
    };
    if trial.outcome == Outcome::Carried {
        let mut parts = answer(trial);
        let plain = parts.join("    ").chars().count() + 4 + verdict.chars().count();
        let gap = if plain <= width { "    " } else { "  " };
        parts[0] = ink.bold(&parts[0]);
        parts.push(colored(&verdict));
        push_line(out, &parts.join(gap));
        return;
    }
    let outcome = words::outcome(trial.outcome);
    // A finding that can be trusted needs no more than its name.
    let doubt = if verdict == "VALID" { String::new() } else { format!(", {verdict}") };
    let lead = format!("{outcome}{doubt}  ");
    let finding = finding(trial);
    let one_line = lead.chars().count() + finding.chars().count() <= width;
    out.push_str(&ink.bad(outcome));
    out.push_str(&colored(&doubt));
    if one_line {
        push_line(out, &format!("  {}", ink.bold(&finding)));
    } else {
        out.push('\n');
        push_wrapped(out, "", &finding, width, |line| ink.bold(line));
    }
}

/// Throughput, two percentiles and failures; failures first when they are a reason.
fn answer(trial: &Trial) -> Vec<String> {
    let mut parts = words::lead(trial, true);
    let failed = trial.requests.failed;
    if trial.verdict.reasons.iter().any(|r| r.code == "errors") {
        parts.insert(0, format!("{} FAILED", failed_share(trial)));
    } else {
        parts.push(format!("{} failed", format::thousands(failed)));
    }
    parts
}

/// The share of the ended requests that failed.
fn failed_share(trial: &Trial) -> String {
    let ended = trial.requests.failed + trial.requests.completed;
    if ended == 0 { "0 %".to_owned() } else { format::percent(trial.requests.failed as f64 / ended as f64) }
}

/// What an overloaded or broken trial found.
fn finding(trial: &Trial) -> String {
    let estimate = &trial.throughput.requests_per_s;
    let pm = words::spaced_plus_minus(estimate);
    if trial.outcome == Outcome::Broken {
        let ended = format::thousands(trial.requests.failed + trial.requests.completed);
        let failed = format::thousands(trial.requests.failed);
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
    let overload = trial.verdict.reasons.iter().find(|r| r.code == "overload");
    let growth = overload.and_then(|reason| reason.values.get("growth_per_s_ns"));
    let growth = growth.map(|ns| format!(" {} a second", format::short_duration(*ns))).unwrap_or_default();
    format!("completed {completed}{of} req/s{pm}; waits grow{growth}")
}

/// Requests per second over the window.
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
    let steadiness = match trial.verdict.reasons.iter().find(|r| r.code == "not_steady").map(|r| r.effect) {
        Some(Effect::Note) => "",
        Some(_) => ", not steady",
        // Under 10 s steadiness is not assessed.
        None if !trial.plan.stages.is_empty() => "",
        None if trial.outcome == Outcome::Carried && trial.window.duration_ns >= 10_000_000_000 => ", steady",
        None => "",
    };
    Some(format!(" req/s  {}   {range}{steadiness}", format::sparkline(&rates)))
}

/// Completed requests per second in at most [`SPARKS`] equal parts of the window. A last part of under half
/// a second is left out: its rate is mostly chance.
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
fn counts(out: &mut String, trial: &Trial, width: usize) {
    let r = &trial.requests;
    let n = format::thousands;
    let status: Vec<String> = trial
        .status
        .iter()
        .map(|(status, count)| format!("{}: {}", format::printable(status), n(*count)))
        .collect();
    if trial.plan.rate_per_s.is_none() {
        let ends = format!("failed {}   in flight at the end {}", n(r.failed), n(r.in_flight));
        let line = format!(" completed {}   {}   {ends}", n(r.completed), status.join("   "));
        if !status.is_empty() && line.chars().count() <= width {
            push_line(out, &line);
            return;
        }
        push_line(out, &format!(" completed {}   {ends}", n(r.completed)));
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
        push_wrapped(out, " ", &line, width, str::to_owned);
    }
    if !status.is_empty() {
        push_wrapped(out, " by status  ", &status.join(", "), width, str::to_owned);
    }
}

/// The bytes read and sent, and the client's CPU time.
fn costs(out: &mut String, trial: &Trial, width: usize) {
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
    push_wrapped(out, " ", &format!("read {}, sent {}", carried(read), carried(sent)), width, str::to_owned);
    if !client.is_empty() {
        push_wrapped(out, " ", &format!("client {}", client.join(", ")), width, str::to_owned);
    }
    if let Some(tls) = &trial.tls {
        let agreed: Vec<&str> =
            [&tls.cipher, &tls.key_exchange].into_iter().flatten().map(String::as_str).collect();
        let full = format::count(tls.handshakes_full, "full handshake", "full handshakes");
        let line =
            format!("{} · {full}, {} resumed", agreed.join(", "), format::thousands(tls.handshakes_resumed));
        push_wrapped(out, " ", &format::printable(&line), width, str::to_owned);
    }
    if trial.client.stamps_rejected > 0 {
        let n = format::count(trial.client.stamps_rejected, "read", "reads");
        push_wrapped(
            out,
            " ",
            &format!("{n} had no plausible kernel timestamp: Prony's own clock was used"),
            width,
            str::to_owned,
        );
    }
}

/// Failed requests by kind, the most frequent first, each with its first message.
fn errors(out: &mut String, trial: &Trial, width: usize, ink: Ink) {
    if trial.errors.is_empty() {
        return;
    }
    push_line(
        out,
        &format!(" failed {} ({})", format::thousands(trial.requests.failed), failed_share(trial)),
    );
    let mut kinds: Vec<_> = trial.errors.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let name_width = kinds.iter().map(|(kind, _)| kind.chars().count()).max().unwrap_or(0).min(24);
    for (kind, count) in kinds {
        let name = format::truncate(&words::code(kind), name_width);
        let lead = format!("   {name:<name_width$}  {:>9}  ", format::thousands(*count));
        let first = trial.first_errors.get(kind).map(|m| format::printable(m)).unwrap_or_default();
        let room = width.saturating_sub(lead.chars().count()).max(20);
        push_line(out, format!("{lead}{}", ink.dim(&format::truncate(&first, room))).trim_end());
    }
}

/// Why figures are marked, and what to do about it.
fn reasons(out: &mut String, trial: &Trial, width: usize, ink: Ink) {
    let estimate = &trial.throughput.requests_per_s;
    if let Some(why) = estimate.no_interval.as_deref().filter(|_| trial.requests.completed > 0) {
        push_wrapped(
            out,
            " – ",
            &format!("no interval for req/s: {}", format::printable(why)),
            width,
            str::to_owned,
        );
    }
    if let Some(line) = latency::withheld(trial) {
        push_wrapped(out, " – ", &line, width, str::to_owned);
    }
    let mut reasons: Vec<_> = trial.verdict.reasons.iter().collect();
    reasons.sort_by_key(|r| std::cmp::Reverse(r.effect));
    for reason in reasons {
        let mark = words::effect_mark(reason.effect);
        let touched = if reason.affects.is_empty() || reason.effect == Effect::Note {
            String::new()
        } else {
            format!(" ({})", reason.affects.iter().map(|a| words::code(a)).collect::<Vec<_>>().join(", "))
        };
        let text = format!("{}{touched}: {}", words::code(&reason.code), format::printable(&reason.detail));
        push_wrapped(out, &format!(" {mark} "), &text, width, |line| match reason.effect {
            Effect::Invalid => ink.bad(line),
            Effect::Suspect => ink.warn(line),
            Effect::Note | Effect::Withheld | Effect::LowerBound => line.to_owned(),
        });
        if !reason.advice.is_empty() {
            push_wrapped(out, "   → ", &format::printable(&reason.advice), width, str::to_owned);
        }
    }
}
