//! The answer in one sentence.

use prony_model::Trial;
use prony_model::run_log::{NamedPlan, RunLog};

use crate::ranking::Planning;
use crate::row::{PlanAnalysis, Row};
use crate::text::{digits, percent, ratio, shortened};

/// The first plan's answer: who leads and by how much, or who carries the rate; where all do, a search answers first.
pub(crate) fn headline(log: &RunLog, plans: &[PlanAnalysis], baseline: Option<&str>) -> String {
    let named = |plan: &PlanAnalysis| log.header.plans.iter().find(|named| named.name == plan.name);
    let at_a_rate = |plan: &PlanAnalysis| named(plan).and_then(offered);
    let has_throughput = |row: &Row| row.throughput().is_some_and(|e| e.point > 0.0);
    let mut measured = plans.iter().filter(|plan| plan.rows.iter().any(has_throughput));
    let Some(first) = measured.next() else { return nothing(log) };
    let is_search = |plan: &&PlanAnalysis| named(plan).is_some_and(|named| named.capacity.is_some());
    let plan = match at_a_rate(first) {
        None => first,
        Some(rate) => match measured.find(is_search).filter(|_| first.rows.iter().all(carries)) {
            Some(search) => search,
            None => return carried(first, &rate),
        },
    };
    let place = place(plan, named(plan));
    let ranked: Vec<&Row> = plan.rows.iter().filter(|row| row.rank().is_some()).collect();
    match ranked.as_slice() {
        [] => format!("no candidate carried the load in every trial{place}"),
        [only] => format!("{} carries {}{place}", only.candidate, rate_of(only)),
        _ => order(&ranked, plan.planning.as_ref(), &place, baseline),
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

/// ` at c=50`, of a search ` with p99<50ms at c=50`, or the plan's own name where its record is not there.
fn place(plan: &PlanAnalysis, named: Option<&NamedPlan>) -> String {
    let Some(named) = named else { return format!(" under {}", plan.name) };
    let threshold = named.capacity.as_ref().map(|threshold| format!(" with {threshold}"));
    format!("{} at c={}", threshold.unwrap_or_default(), named.plan.connections)
}

fn order(ranked: &[&Row], planning: Option<&Planning>, place: &str, baseline: Option<&str>) -> String {
    let leaders: Vec<&Row> =
        ranked.iter().copied().filter(|row| row.rank().is_some_and(|(best, _)| best == 1)).collect();
    let (Some(first), Some(leader)) = (ranked.first(), leaders.first()) else {
        return format!("no ranking could be determined{place}");
    };
    if ranked.iter().all(|row| row.counted < 2) {
        return format!(
            "{} measured highest, {}{place}, but one trial each gives no ranking",
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
            let missed = planning.and_then(|planning| {
                let finds = percent(planning.finds?);
                Some(format!(" by {} blocks; differences under {finds} may be missed", planning.blocks))
            });
            format!("{} are not told apart{place}{}", shortened(all, "others"), missed.unwrap_or_default())
        }
        some => format!("{} lead, not told apart: {by}{place}", shortened(some, "others")),
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

fn carries(row: &Row) -> bool {
    row.overloaded == 0 && row.broken == 0
}

/// What every candidate is offered, where that does not follow from how fast it is: `the 2,000 req/s`.
fn offered(named: &NamedPlan) -> Option<String> {
    if named.capacity.is_some() {
        return None;
    }
    let share = named.share.as_ref().map(|share| {
        let percent = (share.share * 1e6).round() / 1e4;
        format!("{percent} % of the capacity of {} ({})", share.of.candidate, share.of.plan)
    });
    share.or_else(|| Some(format!("the {} req/s", digits(named.plan.rate_per_s?))))
}

fn carried(plan: &PlanAnalysis, rate: &str) -> String {
    let any = rate.trim_start_matches("the ");
    let counted: Vec<&Row> = plan.rows.iter().filter(|row| row.counted > 0).collect();
    let (able, unable): (Vec<&Row>, Vec<&Row>) = counted.iter().partition(|row| carries(row));
    let names: Vec<&str> = unable.iter().map(|row| row.candidate.as_str()).collect();
    match (able.as_slice(), unable.as_slice()) {
        ([only], []) => format!("{} carries {rate}", only.candidate),
        ([], [only]) => {
            format!("{} does not carry {any}: it manages {}", only.candidate, rate_of(only))
        }
        ([_, _], []) => format!("both candidates carry {rate}"),
        (_, []) => format!("all {} candidates carry {rate}", able.len()),
        ([], _) => format!("none of {} candidates carries {any}", unable.len()),
        _ => format!(
            "{} of {} candidates carry {rate}; not {}",
            able.len(),
            counted.len(),
            shortened(&names, "others")
        ),
    }
}
