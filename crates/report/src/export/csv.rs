//! The rankings as CSV (RFC 4180), for spreadsheets and data frames.

use std::collections::BTreeSet;

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::published::PublishedFigures;
use prony_model::code::Code;
use prony_model::{Estimate, Tool, Trial};

use super::field;
use crate::format::printable;

type OfTrial = fn(&Trial) -> String;

/// The columns of a trial of `prony load`, after its name.
const TRIAL_COLUMNS: [(&str, OfTrial); 15] = [
    ("started_at", |t| t.started_at.clone()),
    ("url", |t| t.target.url.clone()),
    ("connections", |t| t.plan.connections.to_string()),
    ("rate_per_s", |t| optional(t.plan.rate_per_s)),
    ("requests_per_s", |t| t.throughput.requests_per_s.point.to_string()),
    ("response_p50_ns", |t| optional(t.latency.response.p50_ns)),
    ("response_p99_ns", |t| optional(t.latency.response.p99_ns)),
    ("service_p50_ns", |t| optional(t.latency.service.p50_ns)),
    ("service_p99_ns", |t| optional(t.latency.service.p99_ns)),
    ("completed", |t| t.requests.completed.to_string()),
    ("failed", |t| t.requests.failed.to_string()),
    ("validity", |t| t.verdict.validity.to_string()),
    ("reasons", |t| codes(t.verdict.reasons.iter().map(|reason| reason.code))),
    ("first_byte_p50_ns", |t| optional(t.latency.first_byte.p50_ns)),
    ("first_byte_p99_ns", |t| optional(t.latency.first_byte.p99_ns)),
];

/// One line per trial of `prony load`, after a line of column names; otherwise
/// as [`experiment`]. What came later stands at the end: every figure of the table.
pub fn trials(trials: &[(String, Trial)]) -> String {
    let named = |figure: &Figure| {
        TRIAL_COLUMNS
            .iter()
            .any(|(column, _)| column.strip_prefix("response_").unwrap_or(column) == figure.field)
    };
    let [figures, later] = by_place(|figure| !named(figure));
    let heads = TRIAL_COLUMNS.iter().map(|(column, _)| *column).chain(figures.iter().map(|f| f.field));
    let heads = heads.chain([JUDGED_BY]).chain(later.iter().map(|f| f.field));
    let head = line(["name"].into_iter().chain(heads));
    let fields = |trial: &Trial| -> Vec<String> {
        let exact = |figure: &Figure| {
            let known = figure.of_trial(trial, trial.server.as_ref()).filter(|known| !known.at_least);
            optional(known.map(|known| known.value))
        };
        let fields = TRIAL_COLUMNS.iter().map(|(_, of)| of(trial)).chain(figures.iter().map(exact));
        fields.chain([trial.judged_by().to_owned()]).chain(later.iter().map(exact)).collect()
    };
    let lines = trials.iter().map(|(name, trial)| line([name.clone()].into_iter().chain(fields(trial))));
    [head].into_iter().chain(lines).collect()
}

const JUDGED_BY: &str = "judged_by";

/// Figures before and behind the column [`JUDGED_BY`], which readers may know by its position.
fn by_place(wanted: impl Fn(&Figure) -> bool) -> [Vec<Figure>; 2] {
    let (before, behind) = Figure::all().filter(wanted).partition(|figure| *figure <= Figure::INTERRUPTS);
    [before, behind]
}

type OfRow = Box<dyn Fn(&PlanAnalysis, &Row) -> String>;

struct Column {
    name: String,
    value: OfRow,
}

fn column(name: &str, value: impl Fn(&PlanAnalysis, &Row) -> String + 'static) -> Column {
    Column { name: name.to_owned(), value: Box::new(value) }
}

fn point(figure: Figure) -> Column {
    of_estimate(figure, figure.field, |estimate| Some(estimate.point))
}

fn whole(figure: Figure) -> [Column; 3] {
    let [low, high] = ["ci_low", "ci_high"].map(|end| end_of_interval(figure.field, end));
    let (low, high) = (of_estimate(figure, &low, |e| e.ci_low), of_estimate(figure, &high, |e| e.ci_high));
    [point(figure), low, high]
}

fn of_estimate(figure: Figure, name: &str, of: fn(&Estimate) -> Option<f64>) -> Column {
    column(name, move |_, row| optional(row.figures[figure].estimate.as_ref().and_then(of)))
}

/// `p50_ns` to `p50_ci_low_ns`: the unit stays at the end.
fn end_of_interval(field: &str, end: &str) -> String {
    let unit = ["_bytes_per_s", "_ns", "_bytes"].into_iter().find(|unit| field.ends_with(unit)).unwrap_or("");
    format!("{}_{end}{unit}", field.strip_suffix(unit).unwrap_or(field))
}

/// All columns of a run. What came later stands at the end: readers may go by position.
fn columns() -> Vec<Column> {
    let mut columns = vec![
        column("plan", |plan, _| plan.name.clone()),
        column("candidate", |_, row| row.candidate.clone()),
        column("title", |_, row| row.facts.title.clone()),
        column("language", |_, row| row.facts.language.clone().unwrap_or_default()),
        column("kind", |_, row| row.facts.kind.clone().unwrap_or_default()),
        column("version", |_, row| row.facts.version.clone().unwrap_or_default()),
        column("workers", |_, row| optional(row.facts.workers)),
        column("keepalive", |_, row| row.facts.keepalive.to_string()),
        column("rank_best", |_, row| optional(row.rank().map(|rank| rank.0))),
        column("rank_worst", |_, row| optional(row.rank().map(|rank| rank.1))),
    ];
    columns.extend(whole(Figure::THROUGHPUT));
    columns.extend([
        column("lower_bound", |_, row| row.lower_bound().to_string()),
        column("ratio", |_, row| optional(row.ratio.as_ref().map(|e| e.point))),
        column("ratio_ci_low", |_, row| optional(row.ratio.as_ref().and_then(|e| e.ci_low))),
        column("ratio_ci_high", |_, row| optional(row.ratio.as_ref().and_then(|e| e.ci_high))),
    ]);
    columns.extend(whole(Figure::P50));
    columns.extend(whole(Figure::P99));
    // What a censored percentile is longer than.
    columns.push(column("p99_censored_at_ns", |_, row| optional(row.figures[Figure::P99].censored_at_ns)));
    columns.extend(whole(Figure::CPU_PER_REQUEST));
    columns.extend([point(Figure::MEMORY), point(Figure::STARTUP)]);
    columns.extend([
        column("completed", |_, row| row.completed.to_string()),
        column("failed", |_, row| row.failed.to_string()),
        column("trials", |_, row| row.trials.to_string()),
        column("counted", |_, row| row.counted.to_string()),
        column("overloaded", |_, row| row.overloaded.to_string()),
        column("broken", |_, row| row.broken.to_string()),
        column("reasons", |_, row| codes(row.reasons.iter().map(|reason| reason.code))),
    ]);
    columns.extend(whole(Figure::REQUESTS_PER_CPU));
    columns.extend(whole(Figure::MEMORY_GROWTH));
    let known: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let [figures, later] = by_place(|figure| !known.iter().any(|name| name == figure.field));
    columns.extend(figures.into_iter().flat_map(whole));
    columns.push(column(JUDGED_BY, |_, _| Tool::this().version));
    columns.extend(later.into_iter().flat_map(whole));
    columns
}

/// One line per plan and candidate, after column names. Durations are nanoseconds; a figure that is withheld is an
/// empty field; `reasons` are the verdicts' codes, separated by spaces. Beside a source, what that printed follows, in
/// the unit that the name ends in. Lines end in CR LF; a text that begins as a formula does has a `'` before it.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let theirs = published(analysis);
    let columns = columns();
    let mut names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    if let Some(figures) = &theirs {
        names
            .extend(["name", "ratio", "doubt"].iter().chain(figures).map(|name| format!("published_{name}")));
    }
    let mut text = line(names);
    for plan in &analysis.plans {
        for row in &plan.rows {
            let mut fields: Vec<String> = columns.iter().map(|column| (column.value)(plan, row)).collect();
            if let Some(figures) = &theirs {
                fields.extend(published_fields(row.published.as_ref(), figures));
            }
            text.push_str(&line(fields));
        }
    }
    text
}

pub(crate) fn line(fields: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = fields.into_iter().map(|text| cell(text.as_ref())).collect();
    format!("{}\r\n", cells.join(","))
}

/// A field that no spreadsheet takes for a formula, and that steers no terminal. A number below 0 is one still.
fn cell(text: &str) -> String {
    let shown = printable(text);
    let is_formula = shown.trim_start().starts_with(['=', '+', '-', '@']) && shown.parse::<f64>().is_err();
    field(&if is_formula { format!("'{shown}") } else { shown }).into_owned()
}

fn codes(codes: impl Iterator<Item = Code>) -> String {
    codes.map(Code::name).collect::<Vec<_>>().join(" ")
}

/// The names of the figures that a source printed; `None` where there is no source.
fn published(analysis: &ExperimentAnalysis) -> Option<Vec<&str>> {
    analysis.published.as_ref()?;
    let rows = analysis.plans.iter().flat_map(|plan| &plan.rows).filter_map(|row| row.published.as_ref());
    let names: BTreeSet<&str> = rows.flat_map(|row| row.figures.keys()).map(String::as_str).collect();
    Some(names.into_iter().collect())
}

fn published_fields(row: Option<&PublishedFigures>, figures: &[&str]) -> Vec<String> {
    let mut fields = vec![
        row.map(|row| row.name.clone()).unwrap_or_default(),
        optional(row.and_then(|row| row.ratio)),
        row.and_then(|row| row.doubt.clone()).unwrap_or_default(),
    ];
    fields.extend(figures.iter().map(|name| optional(row.and_then(|row| row.figures.get(*name)))));
    fields
}

pub(crate) fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_line_has_every_column() {
        let text = experiment(&fixtures::experiment());
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 1 + 9);
        assert!(lines[0].starts_with("plan,candidate,title,"));
        // None of the fixture's fields has a comma in it.
        assert!(lines.iter().all(|line| line.split(',').count() == columns().len()), "{text}");
    }

    #[test]
    fn a_sources_figures_have_columns_of_their_own() {
        let read = |text: String| -> Vec<Vec<String>> {
            let lines = text.split_terminator("\r\n");
            lines.map(|line| line.split(',').map(|f| f.replace('"', "")).collect()).collect()
        };
        let table = read(experiment(&fixtures::with_times()));
        let from = columns().len();
        let tail =
            ["published_name", "published_ratio", "published_doubt", "published_p50_ms", "published_p99_ms"];
        assert_eq!(table[0][from..], tail);
        assert_eq!(table[1][from..], ["their amphp:opcache", "", "", "1.63", "5.72"]);
        assert_eq!(table[3][from..], [""; 5]);
        let ramp = experiment(&fixtures::with_ramp());
        assert!(ramp.contains("published_failed_share_at_least,published_peak_requests_per_s\r\n"), "{ramp}");
        assert!(ramp.contains(",\"Windows refuses, Linux drops\",0.8,3475\r\n"), "{ramp}");
        let ratios = experiment(&fixtures::with_published());
        assert!(ratios.contains(",node,1.5,,1423\r\n"), "{ratios}");
    }

    #[test]
    fn cpu_per_request_and_requests_per_cpu_second_are_columns() {
        let text = experiment(&fixtures::experiment());
        let mut lines = text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let (head, first) = (lines.next().unwrap(), lines.next().unwrap());
        let of = |name: &str| first[head.iter().position(|h| *h == name).unwrap()].parse::<f64>().unwrap();
        assert!((of("requests_per_cpu_s") * of("cpu_per_request_ns") / 1e9 - 1.0).abs() < 1e-9);
        assert!(of("memory_growth_ci_low_bytes_per_s") < of("memory_growth_bytes_per_s"));
    }

    #[test]
    fn every_trial_has_a_line() {
        let judged_later = Trial { judged_by: Some("9.8.7".to_owned()), ..fixtures::closed() };
        let text = trials(&[("a, b".to_owned(), judged_later), ("c".to_owned(), fixtures::overloaded())]);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        let heads: Vec<&str> = lines[0].split(',').collect();
        let known =
            |field: &str| heads.iter().filter(|head| head.trim_start_matches("response_") == field).count();
        for figure in Figure::all() {
            assert_eq!(known(figure.field), 1, "{figure} in {heads:?}");
        }
        assert!(heads.contains(&JUDGED_BY) && lines[1].contains(",9.8.7"), "{}", lines[1]);
        let sent = heads.iter().position(|head| *head == "sent_bytes_per_s").unwrap();
        assert_eq!(lines[2].split(',').nth(sent), Some("551000"), "{}", lines[2]);
        assert!(lines[1].starts_with("\"a, b\",") && lines[1].contains(",valid,"), "{}", lines[1]);
    }

    #[test]
    fn fields_with_separators_are_field() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
    }

    #[test]
    fn texts_are_no_formulas_and_numbers_stay_numbers() {
        let texts = ["=1+1", "-2+3", "@a", "\t=x", "+a,b", "-1.5", "-1e-7", "a-b", "\u{1b}[2J"];
        let expected = "'=1+1,'-2+3,'@a,' =x,\"'+a,b\",-1.5,-1e-7,a-b,\u{fffd}[2J\r\n";
        assert_eq!(line(texts), expected);
    }

    #[test]
    fn a_censored_p99_is_empty_and_its_bound_has_a_column() {
        let text = experiment(&fixtures::hostile());
        assert!(text.contains(",2000000000,"), "the censored p99 keeps its bound: {text}");
    }
}
