//! The page of a run.

use std::collections::BTreeMap;

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row, TrialCounts, TrialSeries};

use super::curves::Curve;
use super::lines::{Line, Points};
use super::svg::{Layout, escape};
use super::{curves, dots, facts, host_facts, legend, lines, page, table};
use crate::{format, words};

/// A run as one HTML file: the answer, then for each plan its ranking as a
/// plot and a table, latency by percentile and the window over time; then
/// what did not run, the host, and the command that reproduces it.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let colors = Colors::of(analysis);
    let mut body = header(analysis);
    body.push_str("<main>\n");
    for (i, plan) in analysis.plans.iter().enumerate() {
        body.push_str(&plan_section(analysis, plan, i, &colors));
    }
    body.push_str(&closing(analysis));
    body.push_str("</main>");
    let data = serde_json::to_string(analysis).unwrap_or_default();
    page(&format!("{} · Prony", analysis.headline), &body, &data)
}

/// One colour a candidate, the same in every plan and plot: by its place in the first plan that has it.
struct Colors(BTreeMap<String, usize>);

impl Colors {
    fn of(analysis: &ExperimentAnalysis) -> Colors {
        let mut colors = BTreeMap::new();
        for row in analysis.plans.iter().flat_map(|p| &p.rows) {
            let next = colors.len();
            colors.entry(row.candidate.clone()).or_insert(next);
        }
        Colors(colors)
    }

    fn get(&self, row: &Row) -> usize {
        self.0.get(&row.candidate).copied().unwrap_or(0)
    }
}

fn header(analysis: &ExperimentAnalysis) -> String {
    let when = analysis.created_at.replace('T', " ");
    let when = when.split('.').next().unwrap_or_default().trim_end_matches('Z');
    let state = if analysis.interrupted { " · <strong class=\"bad\">INTERRUPTED</strong>" } else { "" };
    format!(
        "<header>\n<p class=\"eyebrow\"><span class=\"brand\">Prony</span> {} · {} UTC{state}</p>\n\
         <h1>{}</h1>\n<p class=\"lede\">{}</p>\n{}{}</header>\n",
        escape(&analysis.name),
        escape(when),
        escape(&analysis.headline),
        escape(&analysis.title),
        verdict_bar(&analysis.trials),
        facts(&[
            ("Trials", escape(&words::trial_shape(analysis))),
            ("Conditions", escape(&words::conditions(analysis))),
            ("Host", escape(&format!("{}, {}", analysis.host.cpu_model, analysis.host.kernel))),
        ]),
    )
}

/// The trials by what became of them: a bar, and its legend.
fn verdict_bar(trials: &TrialCounts) -> String {
    let kinds = words::trial_kinds(trials);
    let bar =
        kinds.iter().map(|(class, n, _)| format!("<span class=\"{class}\" style=\"flex-grow:{n}\"></span>"));
    let said = kinds.iter().map(|(class, _, said)| format!("<li><span class=\"{class}\"></span>{said}</li>"));
    format!(
        "<div class=\"verdicts\" aria-hidden=\"true\">{}</div>\n<ul class=\"kinds\" aria-label=\"Trials\">{}</ul>\n",
        bar.collect::<String>(),
        said.collect::<String>()
    )
}

fn plan_section(analysis: &ExperimentAnalysis, plan: &PlanAnalysis, index: usize, colors: &Colors) -> String {
    let name = escape(&plan.name);
    let k: Vec<usize> = plan.rows.iter().map(|row| colors.get(row)).collect();
    let mut out = format!(
        "<section class=\"plan\" id=\"plan-{index}\" data-plan=\"{name}\">\n<h2>{name} <small>{}</small></h2>\n",
        escape(&plan.describe)
    );
    let dots = Layout::BOTH.map(|layout| dots::plot(plan, analysis.baseline.as_deref(), &k, layout));
    out.push_str(&format!(
        "<figure class=\"throughput\"><h3>Throughput</h3>\n{}\n<figcaption>Best first. The whisker is the 95 % \
         interval, the faint dots are the counted trials; both once more at the right, enlarged. A hollow dot with an arrow is a \
         lower bound: the client was the limit.</figcaption></figure>\n",
        dots.concat()
    ));
    out.push_str(&table::ranking(analysis, plan, &k));
    out.push_str(&table::remarks(plan, &k));
    out.push_str(&latency_figure(plan, &k));
    out.push_str(&over_time(plan, index, &k));
    out.push_str(&table::raw(plan));
    out.push_str("</section>\n");
    out
}

fn latency_figure(plan: &PlanAnalysis, colors: &[usize]) -> String {
    let curves: Vec<Curve> = plan
        .rows
        .iter()
        .zip(colors)
        .filter(|(row, _)| row.latency_curve.len() > 1)
        .map(|(row, k)| {
            let points = row.latency_curve.iter().map(|p| (p.quantile, p.value_ns as f64)).collect();
            Curve { k: *k, name: row.candidate.clone(), points }
        })
        .collect();
    let title = format!("Latency by percentile, {}", plan.describe);
    let plots = Layout::BOTH.map(|layout| curves::plot(&curves, &title, layout)).concat();
    if plots.is_empty() {
        return String::new();
    }
    let legend = legend(curves.iter().map(|c| (c.k, c.name.clone())));
    format!(
        "<figure class=\"latency\"><h3>Latency by percentile</h3>\n{legend}\n{plots}\n<figcaption>Lower is quicker. \
         The trials of a candidate are merged here for display; intervals are in the table.</figcaption></figure>\n"
    )
}

/// Each candidate's trials over time; the script shows one at a time behind a list to choose from.
fn over_time(plan: &PlanAnalysis, index: usize, colors: &[usize]) -> String {
    let mut blocks = String::new();
    let mut first = true;
    for (row, k) in plan.rows.iter().zip(colors) {
        let plots = series_plots(&row.series);
        if plots.is_empty() {
            continue;
        }
        let open = if first { " open" } else { "" };
        first = false;
        let entries = row.series.iter().enumerate().map(|(i, s)| (i, trial_name(s)));
        let label = escape(&row.candidate);
        blocks.push_str(&format!(
            "<details class=\"candidate\" name=\"time-{index}\" data-k=\"{k}\"{open}><summary>{label}</summary>{}\
             <div class=\"panes\">{plots}</div></details>\n",
            legend(entries)
        ));
    }
    if blocks.is_empty() {
        return String::new();
    }
    format!("<figure class=\"time\"><h3>Over the window, trial by trial</h3>\n{blocks}</figure>\n")
}

/// `block 1`, with its validity where it is not plain.
fn trial_name(series: &TrialSeries) -> String {
    match series.validity.as_str() {
        "valid" => format!("block {}", u64::from(series.block) + 1),
        other => format!("block {} ({other})", u64::from(series.block) + 1),
    }
}

fn series_plots(series: &[TrialSeries]) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let window = |at: i64| u64::try_from(at).ok().map(seconds);
    let line = |k: usize, s: &TrialSeries, points: Points| Line {
        k,
        name: trial_name(s),
        points,
        void: s.validity == "invalid",
    };
    let each = |points: fn(&TrialSeries) -> Points| -> Vec<Line> {
        series.iter().enumerate().map(|(k, s)| line(k, s, points(s))).collect()
    };
    let rates =
        each(|s| s.at_ns.iter().zip(&s.requests_per_s).map(|(at, v)| Some((*at as f64 / 1e9, *v))).collect());
    let p99 = each(|s| {
        s.at_ns.iter().zip(&s.p99_ns).map(|(at, v)| v.map(|v| (*at as f64 / 1e9, v as f64))).collect()
    });
    // Samples of the warm-up are before the window.
    let server = |pick: &dyn Fn(&TrialSeries) -> Vec<(i64, f64)>| -> Vec<Line> {
        let points = |s: &TrialSeries| {
            pick(s).into_iter().filter_map(|(at, v)| window(at).map(|x| Some((x, v)))).collect::<Vec<_>>()
        };
        series.iter().enumerate().map(|(k, s)| line(k, s, points(s))).collect()
    };
    let cores = server(&|s| s.server_cores.clone());
    let memory = server(&|s| s.server_memory_bytes.iter().map(|(at, b)| (*at, *b as f64)).collect());
    [
        lines::plot(&rates, "Requests per second", format::si),
        lines::plot(&p99, "p99 of response", format::axis_duration),
        lines::plot(&cores, "Server CPU, cores in use", format::si),
        lines::plot(&memory, "Server memory", format::axis_bytes),
    ]
    .concat()
}

fn closing(analysis: &ExperimentAnalysis) -> String {
    let mut out = String::new();
    if !analysis.skipped.is_empty() {
        out.push_str("<section class=\"about\"><h2>Skipped</h2>\n<ul class=\"skipped\">");
        for skipped in &analysis.skipped {
            let mend =
                skipped.mend.as_ref().map(|m| format!(" <code>{}</code>", escape(m))).unwrap_or_default();
            out.push_str(&format!(
                "<li><b>{}</b> {}{mend}</li>",
                escape(&skipped.candidate),
                escape(&skipped.reason)
            ));
        }
        out.push_str("</ul></section>\n");
    }
    out.push_str(&format!(
        "<section class=\"about\"><h2>How to read it</h2>\n<ul>\n<li>{}</li>\n\
         <li>A rank is an interval: <b>2–4</b> may be second, third or fourth; equal intervals are ties.</li>\n\
         <li><b>≥</b> is a lower bound: the client was the limit. <b>–</b> is withheld, as too few samples would make \
         it chance. <b>&gt; 2 s</b> is beyond what was waited for.</li>\n",
        escape(&analysis.interval_method)
    ));
    out.extend(analysis.notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))));
    out.push_str("</ul></section>\n<section class=\"about\"><h2>Reproduce it</h2>\n");
    out.push_str(&format!("<pre class=\"copy\"><code>{}</code></pre>\n", escape(&analysis.reproduce)));
    out.push_str(&facts(&host_facts(&analysis.host)));
    out.push_str("<p class=\"tools\"></p></section>\n");
    out
}
