//! The page of single trials, as `prony load` writes them.

use prony_record::trial::{Outcome, PERCENTILES, Trial, Validity};

use super::curves::Curve;
use super::lines::Line;
use super::svg::{Layout, color, escape};
use super::{by_request, count_of, curves, facts, host_facts, legend, lines, page};
use crate::format;
use crate::words::{self, WITHHELD};

/// Unresolved requests beside the completed ones, above which a histogram of
/// the completed alone would flatter the curve.
const UNRESOLVED_MAX: f64 = 0.001;

/// Trials, each with its name, as one HTML file: a table, latency by
/// percentile overlaid, requests and p99 over time, and each trial's verdict.
pub fn trials(trials: &[(String, Trial)]) -> String {
    let heading = match trials {
        [(_, one)] => answer(one),
        many => count_of(many.len(), "trial", "trials"),
    };
    let mut body = format!(
        "<header>\n<p class=\"eyebrow\"><span class=\"brand\">Prony</span> load</p>\n<h1>{}</h1>\n",
        escape(&heading)
    );
    if let [(_, one)] = trials {
        body.push_str(&format!("<p class=\"lede\">{}</p>\n", escape(&words::plan_line(one))));
    }
    body.push_str("</header>\n<main>\n<section class=\"plan\">\n");
    body.push_str(&table(trials));
    body.push_str(&by_request::tables(trials));
    body.push_str(&latency_figure(trials));
    body.push_str(&over_time(trials));
    body.push_str("</section>\n");
    body.extend(trials.iter().map(|(name, trial)| about(name, trial)));
    if let Some((_, first)) = trials.first() {
        body.push_str("<section class=\"about\"><h2>Host</h2>\n");
        body.push_str(&facts(&host_facts(&first.host)));
        body.push_str("<p class=\"tools\"></p></section>\n");
    }
    body.push_str("</main>");
    let data: Vec<_> =
        trials.iter().map(|(name, trial)| serde_json::json!({"name": name, "trial": trial})).collect();
    page(&format!("{heading} · Prony"), &body, &serde_json::to_string(&data).unwrap_or_default())
}

/// `13,870 req/s ±0.4 %, p50 6.98 ms, p99 9.61 ms`, after the outcome where that is a finding.
fn answer(trial: &Trial) -> String {
    let (_, summary) = words::headline(trial);
    let outcome = match trial.outcome {
        Outcome::Carried => String::new(),
        finding => format!("{}: ", words::outcome(finding)),
    };
    let pm =
        words::plus_minus(&trial.throughput.requests_per_s).map(|pm| format!(" {pm}")).unwrap_or_default();
    let percentiles = ["p50_ns", "p99_ns"]
        .map(|f| format!("{} {}", words::percentile(f), words::percentile_text(summary, f)));
    format!("{outcome}{} req/s{pm}, {}", words::throughput(trial), percentiles.join(", "))
}

fn state(trial: &Trial) -> String {
    let class = match trial.verdict.validity {
        Validity::Valid => "good",
        Validity::Suspect => "warn",
        Validity::Invalid => "bad",
    };
    let mut text = format!("<strong class=\"{class}\">{}</strong>", words::validity(trial.verdict.validity));
    if trial.outcome != Outcome::Carried {
        text = format!("<strong class=\"bad\">{}</strong> {text}", words::outcome(trial.outcome));
    }
    if trial.interrupted {
        text.push_str(" <strong class=\"warn\">INTERRUPTED</strong>");
    }
    text
}

fn table(trials: &[(String, Trial)]) -> String {
    let mut heads = vec!["Trial".to_owned(), "Throughput<small>requests/s</small>".to_owned()];
    let fields = ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns"];
    heads.extend(fields.map(|f| format!("{}<small>ms</small>", words::percentile(f))));
    heads
        .extend(["Max<small>ms</small>", "Failed", "Client<small>CPU</small>", "Verdict"].map(str::to_owned));
    let head: Vec<String> = heads.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    let mut body = String::new();
    for (k, (name, trial)) in trials.iter().enumerate() {
        let (_, summary) = words::headline(trial);
        let estimate = &trial.throughput.requests_per_s;
        let interval = match (estimate.ci_low, estimate.ci_high) {
            (Some(low), Some(high)) => format!("{} – {}", format::rate(low), format::rate(high)),
            _ => estimate.no_interval.as_deref().map(escape).unwrap_or_default(),
        };
        let mark = words::figure_mark(trial, "throughput");
        let rate = format!("<b>{}{mark}</b><small>{interval}</small>", words::throughput(trial));
        body.push_str(&format!(
            "<tr><th scope=\"row\" data-sort=\"{name}\"><span class=\"chip {}\" aria-hidden=\"true\"></span>{name}</th>",
            color(k),
            name = escape(name)
        ));
        let mut cell = |sort: Option<f64>, markup: &str| {
            let sort = sort.map(|v| format!(" data-sort=\"{v}\"")).unwrap_or_default();
            body.push_str(&format!("<td class=\"num\"{sort}>{markup}</td>"));
        };
        cell(Some(estimate.point), &rate);
        for field in fields {
            let sort = summary.percentile(field).or(summary.censored_at_ns.get(field).copied());
            cell(sort.map(|v| v as f64), &escape(&words::percentile_cell(summary, field)));
        }
        let max = summary.max_ns.map(|v| v as f64);
        cell(max, &max.map_or_else(|| WITHHELD.to_owned(), format::milliseconds));
        cell(Some(trial.requests.failed as f64), &format::thousands(trial.requests.failed));
        let share = trial.client.cpu_ns as f64 / (trial.window.duration_ns as f64).max(1.0);
        cell(Some(share), &format::percent(share));
        body.push_str(&format!("<td>{}</td></tr>\n", state(trial)));
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Trials\"><table class=\"sortable\">\
         <caption>Response time; service where nothing was waited for before a request was sent</caption>\
         <thead><tr>{}</tr></thead>\n<tbody>\n{body}</tbody></table></div>",
        head.concat()
    )
}

fn latency_figure(trials: &[(String, Trial)]) -> String {
    let curves: Vec<Curve> = trials
        .iter()
        .enumerate()
        .map(|(k, (name, trial))| Curve { k, name: name.clone(), points: curve(trial) })
        .filter(|c| c.points.len() > 1)
        .collect();
    let plots = Layout::BOTH.map(|layout| curves::plot(&curves, "Latency by percentile", layout)).concat();
    if plots.is_empty() {
        return String::new();
    }
    let legend = legend(curves.iter().map(|c| (c.k, c.name.clone())));
    format!(
        "<figure class=\"latency\"><h3>Latency by percentile</h3>\n{legend}\n{plots}\n<figcaption>Lower is quicker. A \
         curve ends at the last percentile that is neither withheld nor beyond what was waited for.</figcaption></figure>\n"
    )
}

/// A trial's curve from its histogram; from its percentiles alone where the
/// histogram, which holds completed requests only, would be of survivors.
fn curve(trial: &Trial) -> Vec<(f64, f64)> {
    let (_, summary) = words::headline(trial);
    let known: Vec<(f64, f64)> = PERCENTILES
        .iter()
        .map_while(|(field, quantile)| summary.percentile(field).map(|ns| (*quantile, ns as f64)))
        .collect();
    let r = &trial.requests;
    let unresolved = (r.failed + r.in_flight + r.never_sent) as f64;
    let Some((last, _)) = known.last().copied() else { return known };
    if unresolved > UNRESOLVED_MAX * r.completed as f64 {
        return known;
    }
    let Ok(histogram) = prony_record::hdr::decode(&summary.hdr) else { return known };
    let mut points = Vec::new();
    // 24 points a decade: under 3 px apart on the widest plot.
    for k in 0.. {
        let quantile = 1.0 - 10_f64.powf(-f64::from(k) / 24.0);
        if quantile > last + 1e-9 {
            break;
        }
        points.push((quantile, histogram.value_at_quantile(quantile) as f64));
    }
    points
}

fn over_time(trials: &[(String, Trial)]) -> String {
    type Figure = fn(&prony_record::trial::SeriesPoint) -> Option<f64>;
    let each = |figure: Figure| -> Vec<Line> {
        let line = |(k, (name, trial)): (usize, &(String, Trial))| Line {
            k,
            name: name.clone(),
            points: trial.series.iter().map(|p| figure(p).map(|v| (p.at_ns as f64 / 1e9, v))).collect(),
            void: trial.verdict.validity == Validity::Invalid,
        };
        trials.iter().enumerate().map(line).collect()
    };
    let rates = each(|p| per_s(p.completed, p.length_ns));
    let failed = each(|p| per_s(p.failed, p.length_ns));
    let p50 = each(|p| p.p50_ns.map(|v| v as f64));
    let p99 = each(|p| p.p99_ns.map(|v| v as f64));
    let any_failed = trials.iter().any(|(_, t)| t.requests.failed > 0);
    let mut plots = [
        lines::plot(&rates, "Requests per second", format::si),
        lines::plot(&p99, "p99 of response", format::axis_duration),
        lines::plot(&p50, "p50 of response", format::axis_duration),
    ]
    .concat();
    if any_failed {
        plots.push_str(&lines::plot(&failed, "Failed per second", format::si));
    }
    if plots.is_empty() {
        return String::new();
    }
    let legend = legend(trials.iter().enumerate().map(|(k, (name, _))| (k, name.clone())));
    format!(
        "<figure class=\"time\"><h3>Over the window</h3>\n{legend}\n<div class=\"panes\">{plots}</div></figure>\n"
    )
}

/// A rate over a part of the window; none for a last part of under half a second, where it is mostly chance.
fn per_s(count: u64, length_ns: u64) -> Option<f64> {
    (length_ns >= 500_000_000).then(|| count as f64 / (length_ns as f64 / 1e9))
}

/// One trial's plan, requests by fate, errors and reasons.
fn about(name: &str, trial: &Trial) -> String {
    let n = format::thousands;
    let r = &trial.requests;
    let status: Vec<String> =
        trial.status.iter().map(|(s, count)| format!("{}: {}", escape(s), n(*count))).collect();
    let mut out =
        format!("<section class=\"about\"><h2>{} <small>{}</small></h2>\n", escape(name), state(trial));
    out.push_str(&facts(&[
        ("Plan", escape(&words::plan_line(trial))),
        ("Started", escape(&trial.started_at)),
        ("Due", n(r.scheduled)),
        ("Answered", n(r.completed)),
        ("Failed", n(r.failed)),
        ("In flight at the end", n(r.in_flight)),
        ("Never sent", n(r.never_sent)),
        ("By status", status.join(", ")),
        ("Clock", words::clock(words::headline(trial).1.clock).to_owned()),
        ("Version", escape(&trial.tool.version)),
    ]));
    let mut items: Vec<String> = trial
        .errors
        .iter()
        .map(|(kind, count)| {
            let first = trial.first_errors.get(kind).map(|m| format!(": {}", escape(m))).unwrap_or_default();
            format!("<li>{} × <b>{}</b>{first}</li>", n(*count), escape(&words::code(kind)))
        })
        .collect();
    items.extend(trial.verdict.reasons.iter().map(|reason| {
        let mark = words::effect_mark(reason.effect);
        format!(
            "<li>{mark} <b>{}</b>: {} <i>{}</i></li>",
            escape(&words::code(&reason.code)),
            escape(&reason.detail),
            escape(&reason.advice)
        )
    }));
    if !items.is_empty() {
        out.push_str(&format!("<ul class=\"reasons\">{}</ul>", items.concat()));
    }
    out.push_str("</section>\n");
    out
}
