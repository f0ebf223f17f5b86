//! The answer in one sentence.

use prony_model::Trial;
use prony_model::plan_record::PlanRecord;
use prony_model::run_log::RunLog;

use crate::row::{PlanAnalysis, Row};
use crate::text::{digits, percent, ratio, shortened};

/// The first plan's answer: who leads and by how much, or who carries the rate.
pub(crate) fn headline(log: &RunLog, plans: &[PlanAnalysis], baseline: Option<&str>) -> String {
    let measured = |row: &&Row| row.throughput().is_some_and(|e| e.point > 0.0);
    let Some(plan) = plans.iter().find(|p| p.rows.iter().any(|row| measured(&row))) else {
        return nothing(log);
    };
    let record = log.header.plans.iter().find(|p| p.name == plan.name).map(|p| &p.plan);
    if let Some(rate) = record.and_then(|r| r.rate_per_s) {
        return carried(plan, rate);
    }
    let place = place(plan, record);
    let ranked: Vec<&Row> = plan.rows.iter().filter(|row| row.rank().is_some()).collect();
    match ranked.as_slice() {
        [] => format!("nobody carried the load in every trial{place}"),
        [only] => format!("{} carries {}{place}", only.candidate, rate_of(only)),
        _ => order(&ranked, &place, baseline),
    }
}

fn nothing(log: &RunLog) -> String {
    if log.results.is_empty() {
        return "nothing was measured: the run log holds no result".to_owned();
    }
    if log.results.iter().filter_map(|r| r.trial.as_ref()).any(Trial::counts) {
        return "no request succeeded in any trial that counts".to_owned();
    }
    match log.results.iter().find_map(|r| r.failure.as_deref()) {
        Some(failure) => format!("nothing was measured that counts: {failure}"),
        None => "nothing was measured that counts: every trial is invalid or was interrupted".to_owned(),
    }
}

/// ` at c=50`, or the plan's own name where its record is not there.
fn place(plan: &PlanAnalysis, record: Option<&PlanRecord>) -> String {
    match record {
        Some(record) => format!(" at c={}", record.connections),
        None => format!(" under {}", plan.name),
    }
}

fn order(ranked: &[&Row], place: &str, baseline: Option<&str>) -> String {
    let leaders: Vec<&Row> =
        ranked.iter().copied().filter(|row| row.rank().is_some_and(|(best, _)| best == 1)).collect();
    let (Some(first), Some(leader)) = (ranked.first(), leaders.first()) else {
        return format!("no order could be told{place}");
    };
    if ranked.iter().all(|row| row.counted < 2) {
        return format!(
            "{} measured highest, {}{place}, but one trial each tells no order",
            first.candidate,
            rate_of(first)
        );
    }
    let by = match leader.ratio.as_ref().filter(|_| baseline != Some(leader.candidate.as_str())) {
        Some(over) => {
            let at_least = if leader.lower_bound() { "at least " } else { "" };
            format!("{at_least}{} × {}", ratio(over.point), baseline.unwrap_or("the baseline"))
        }
        None => rate_of(leader),
    };
    let names: Vec<&str> = leaders.iter().map(|row| row.candidate.as_str()).collect();
    match names.as_slice() {
        [only] => format!("{only} leads: {by}{place}"),
        all if all.len() == ranked.len() => {
            format!("{} are too close to call{place}", shortened(all, "others"))
        }
        some => format!("{} lead, too close to call: {by}{place}", shortened(some, "others")),
    }
}

fn rate_of(row: &Row) -> String {
    let Some(estimate) = row.throughput() else { return "an unknown rate".to_owned() };
    let at_least = if row.lower_bound() { "at least " } else { "" };
    let margin = match estimate.relative_half_width() {
        Some(half) if !row.lower_bound() => format!(" ±{}", percent(half)),
        _ => String::new(),
    };
    format!("{at_least}{} req/s{margin}", digits(estimate.point))
}

fn carried(plan: &PlanAnalysis, rate_per_s: f64) -> String {
    let rate = digits(rate_per_s);
    let counted: Vec<&Row> = plan.rows.iter().filter(|row| row.counted > 0).collect();
    let (able, unable): (Vec<&Row>, Vec<&Row>) =
        counted.iter().partition(|row| row.overloaded == 0 && row.broken == 0);
    let names: Vec<&str> = unable.iter().map(|row| row.candidate.as_str()).collect();
    match (able.as_slice(), unable.as_slice()) {
        ([only], []) => format!("{} carries the {rate} req/s", only.candidate),
        ([], [only]) => {
            format!("{} does not carry {rate} req/s: it manages {}", only.candidate, rate_of(only))
        }
        ([_, _], []) => format!("both candidates carry the {rate} req/s"),
        (_, []) => format!("all {} candidates carry the {rate} req/s", able.len()),
        ([], _) => format!("none of {} candidates carries {rate} req/s", unable.len()),
        _ => format!(
            "{} of {} candidates carry the {rate} req/s; not {}",
            able.len(),
            counted.len(),
            shortened(&names, "others")
        ),
    }
}
