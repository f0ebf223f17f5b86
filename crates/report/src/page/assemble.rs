//! A run log as the page's data.

use prony_analysis::analyse;
use prony_analysis::comparison::tails_over;
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::{Entry, Figure};
use prony_analysis::plot_data::quantiles;
use prony_analysis::profile;
use prony_model::Tool;
use prony_model::run_log::{RunLog, Setting, TrialResult};

use super::data::{Candidate, Cell, Chunk, FigureHead, Head, PlanHead, RunData, Tail};
use super::names::Names;
use super::{Page, capacity, detail, duet, flame, published, ranking, sweep, trial_head};
use crate::{document, words};

/// The page's title, its data as JSON, and the parts unpacked when looked at. `home` is where the list of runs is.
pub(super) fn page(log: &RunLog, home: Option<&str>) -> (String, String, Vec<Chunk>) {
    let analysis = analyse(log);
    let candidates = candidates(log, &analysis);
    let names = Names {
        candidates: candidates.iter().map(|c| c.label.clone()).collect(),
        plans: analysis.plans.iter().map(|p| p.name.clone()).collect(),
    };
    let results: Vec<&TrialResult> = log.last_results().into_values().collect();
    let experiment = !log.header.one_by_one;
    let figures = ranking::figures(&analysis);
    let (rankings, mut chunks) = match experiment {
        true => ranking::rankings(log, &analysis, &figures, &names),
        false => (Vec::new(), Vec::new()),
    };
    chunks.extend(detail::chunks(&results));
    let (capacities, probes) = capacity::capacities(&analysis, &results, &names);
    chunks.extend(probes);
    let (theirs, conclusions, source) = published::beside(log, &analysis, &names);
    let percentiles = Figure::all().filter(|figure| figure.quantile().is_some());
    let data = RunData {
        experiment,
        tool: Tool::this(),
        head: head(log, &analysis, &results, &names, experiment),
        baseline: analysis.baseline.as_deref().and_then(|label| names.candidate(label)),
        candidates,
        plans: analysis.plans.iter().map(|plan| plan_head(log, plan)).collect(),
        figures: figures.iter().map(figure_head).collect(),
        percentiles: percentiles.map(|figure| (figure.field, figure.title)).collect(),
        rankings,
        cells: if experiment { cells(&analysis, &names) } else { Vec::new() },
        published: theirs,
        conclusions,
        trials: results.iter().filter_map(|r| trial_head::trial_head(r, &names, &figures)).collect(),
        quantiles: quantiles(),
        source,
        spread: words::below(&analysis),
        protocols: words::protocols(&analysis),
        sweeps: if experiment { sweep::of_plans(log, &names) } else { sweep::of_trials(&results) },
        capacities,
        tails: if experiment { tails(log, &analysis, &names) } else { Vec::new() },
        duet: analysis.duet.as_ref().and_then(|comparison| duet::duet(comparison, &names)),
        profile: analysis.profile.as_ref().and_then(|found| {
            let image = flame::image(&profile::flame(log, [&found.a.candidate, &found.b.candidate])?);
            Some(flame::Profile { table: words::profile(found), image })
        }),
        home,
    };
    let title = format!("{} · Prony", data.head.analysis.headline);
    (title, Page::Run(&data).json(), chunks)
}

fn head(
    log: &RunLog,
    analysis: &ExperimentAnalysis,
    results: &[&TrialResult],
    names: &Names,
    experiment: bool,
) -> Head {
    let measured: Vec<_> = results.iter().filter_map(|r| r.trial.as_ref()).collect();
    let search = match results {
        [one] if !experiment => one.capacity.as_ref(),
        _ => None,
    };
    let headline = match measured.as_slice() {
        _ if experiment => analysis.headline.clone(),
        _ if search.is_some() => search.map(capacity::answer).unwrap_or_default(),
        [one] => trial_head::answer(one),
        many => format!(
            "{} of {}",
            crate::format::count(many.len() as u64, "trial", "trials"),
            list(&names.candidates)
        ),
    };
    // Of trials made one by one the header knows at most the first's command. A search's is in its header.
    let one_by_one = !experiment && !measured.is_empty() && results.iter().all(|r| r.capacity.is_none());
    let reproduce = if one_by_one {
        let trials = results.iter().filter_map(|r| Some((r.trial.as_ref()?, r.planned.candidate.as_str())));
        crate::command::lines(trials)
    } else {
        analysis.reproduce.clone()
    };
    let title = match measured.as_slice() {
        [one] if !experiment => words::plan_line(one),
        _ => analysis.title.clone(),
    };
    // What stands elsewhere in the data stands there only: a file is plain as long as it is short.
    let (plans, protocols) = (Vec::new(), Vec::new());
    let mut own = ExperimentAnalysis {
        title,
        headline,
        reproduce,
        plans,
        protocols,
        profile: None,
        ..analysis.clone()
    };
    if let Some(duet) = &mut own.duet {
        duet.plans.clear();
        duet.profile = None;
    }
    own.published.iter_mut().for_each(|published| published.conclusions.clear());
    Head {
        analysis: own,
        shape: words::trial_shape(analysis),
        conditions: words::conditions(analysis),
        version: log.header.tool.version.clone(),
    }
}

/// `a`, `a and b`, `a, b and 3 more`.
fn list(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [a, b] => format!("{a} and {b}"),
        [a, b, more @ ..] => format!("{a}, {b} and {} more", more.len()),
    }
}

/// In the header's order, then those that only rows name.
fn candidates(log: &RunLog, analysis: &ExperimentAnalysis) -> Vec<Candidate> {
    let rows: Vec<&Row> = analysis.plans.iter().flat_map(|p| &p.rows).collect();
    let mut labels: Vec<&str> = log.header.candidates.iter().map(|c| c.label.as_str()).collect();
    for row in &rows {
        if !labels.contains(&row.candidate.as_str()) {
            labels.push(&row.candidate);
        }
    }
    let parted: Vec<(&str, &str)> = labels.iter().map(|label| words::parts(label)).collect();
    let rows = labels.iter().filter_map(|label| rows.iter().find(|row| row.candidate == *label));
    rows.map(|row| {
        let (server, settings) = words::parts(&row.candidate);
        let recorded = log.header.candidates.iter().find(|c| c.label == row.candidate).map(|c| &c.settings);
        let axes = recorded.filter(|axes| !axes.is_empty()).cloned().unwrap_or_else(|| {
            let has_settings = parted.iter().any(|(of, settings)| *of == server && !settings.is_empty());
            let value = if settings.is_empty() { "defaults" } else { settings };
            let all = Setting { axis: "settings".to_owned(), value: value.to_owned() };
            has_settings.then_some(all).into_iter().collect()
        });
        Candidate {
            label: row.candidate.clone(),
            server: server.to_owned(),
            settings: settings.split('+').filter(|s| !s.is_empty()).map(str::to_owned).collect(),
            axes,
            facts: row.facts.clone(),
        }
    })
    .collect()
}

fn plan_head<'a>(log: &'a RunLog, plan: &'a PlanAnalysis) -> PlanHead<'a> {
    PlanHead {
        name: &plan.name,
        describe: &plan.describe,
        said: document::said_of(plan).into_iter().map(|(said, _)| said).collect(),
        asked: log.header.plans.iter().find(|p| p.name == plan.name),
    }
}

fn tails(log: &RunLog, analysis: &ExperimentAnalysis, names: &Names) -> Vec<Tail> {
    let Some(base) = analysis.baseline.as_ref().or(names.candidates.first()) else { return Vec::new() };
    let tail = |(candidate, plan, ratios): (String, String, _)| {
        let (plan, a) = (names.plan(&plan)?, names.candidate(base)?);
        Some(Tail { plan, a, b: names.candidate(&candidate)?, ratios })
    };
    tails_over(log, base).into_iter().filter_map(tail).collect()
}

fn figure_head(figure: &Figure) -> FigureHead {
    let Entry { name, title, unit, more_is_better, explain, .. } = **figure;
    FigureHead { id: name, title, unit, more_is_better, explain }
}

fn cells<'a>(analysis: &'a ExperimentAnalysis, names: &Names) -> Vec<Cell<'a>> {
    let rows =
        analysis.plans.iter().enumerate().flat_map(|(at, plan)| plan.rows.iter().map(move |row| (at, row)));
    let cell = |(plan, row): (usize, &'a Row)| {
        Some(Cell {
            plan,
            candidate: names.candidate(&row.candidate)?,
            verdict: words::row_verdict(row),
            trials: row.trials,
            counted: row.counted,
            failed: row.failed,
            completed: row.completed,
            remarks: words::row_remarks(row),
            reasons: &row.reasons,
        })
    };
    rows.filter_map(cell).collect()
}
