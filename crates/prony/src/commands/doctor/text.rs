//! The doctor's findings as people read them.

use prony_lab::doctor::State;
use prony_report::format::{count, duration, rate, significant};

use super::Report;
use super::measure::Measured;

/// Findings that distort results with their reasons and fixes, then notes, then in a line each what is good.
pub(super) fn text(report: &Report) -> String {
    let of = |state: State| report.findings.iter().filter(move |finding| finding.state == state);
    let distorting = of(State::Distorts).count() as u64;
    let is_another = report.round_trip.is_some();
    let host = if is_another { "that host" } else { "this host" };
    let mut lines = vec![match distorting {
        0 => format!("No setting or program that was checked distorts results on {host}"),
        n => format!("{} results on {host}", count(n, "finding distorts", "findings distort")),
    }];
    lines.push(format!(
        "{} · {} CPUs · {}",
        report.host.kernel, report.host.cpus_online, report.host.cpu_model
    ));
    for (state, mark) in [(State::Distorts, '✗'), (State::Note, '·')] {
        for finding in of(state) {
            lines.push(String::new());
            lines.push(format!(" {mark} {}: {}", finding.what, finding.value));
            lines.push(format!("   {}", finding.why));
            if let Some(mend) = &finding.mend {
                // Which is about this host.
                let applies = !finding.settings.is_empty() && !is_another;
                let applied = if applies { "    (or: prony doctor --apply)" } else { "" };
                lines.push(format!("   Fix: {mend}{applied}"));
            }
        }
    }
    lines.push(String::new());
    lines.extend(of(State::Good).map(|finding| format!(" ✓ {}: {}", finding.what, finding.value)));
    lines.push(String::new());
    if let Some(trips) = &report.round_trip {
        let time = |ns: u64| duration(ns as f64);
        lines.push(format!(
            "Round trip      {} at least, p50 {}, p99 {}, from here and back, with one byte over TCP: no \
             latency can be lower",
            time(trips.min_ns),
            time(trips.p50_ns),
            time(trips.p99_ns)
        ));
    }
    match (&report.measured, &report.not_measured) {
        (Some(measured), _) => lines.extend(figures(measured)),
        (None, Some(why)) => lines.push(format!("Limits of this client and noise of this host: {why}")),
        (None, None) => {}
    }
    lines.join("\n")
}

fn figures(m: &Measured) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| duration(ns as f64));
    let noise = m.aa_noise_percent.map_or("unknown".to_owned(), |n| format!("±{} %", significant(n, 2)));
    let ratio = m.aa_ratio.as_ref().map_or("–".to_owned(), |ratio| format!("{:.3}", ratio.point));
    vec![
        format!(
            "Client maximum  {} req/s per core, at {} of CPU per request ({} req/s were reached here)",
            rate(m.ceiling_per_s),
            time(Some(m.client_cpu_per_request_ns)),
            rate(m.driven_per_s)
        ),
        format!(
            "Client minimum  response p50 {} at 1,000/s; send lag p50 {}, with --spin {}",
            time(m.floor_p50_ns),
            time(m.send_lag_p50_ns),
            time(m.send_lag_p50_spin_ns)
        ),
        format!(
            "A/A noise       {noise} (the ratio of two identical servers was {ratio}, in {} blocks of {} s)",
            m.blocks, m.window_s
        ),
    ]
}
