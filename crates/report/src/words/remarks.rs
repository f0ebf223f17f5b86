//! Remarks on a ranking's rows, beside their figures.

use prony_analysis::experiment::{CARRIED_WHOLE, Row, RowReason};
use prony_model::code::Code;
use prony_model::trial::Effect;
use schemars::JsonSchema;
use serde::Serialize;

use super::{effect_mark, with_unit};
use crate::format;

const NAMED_MAX: usize = 4;

/// Reasons that several rows have: each once, with those rows, trials, value ranges, the worst row's detail and sign.
pub(crate) fn shared_remarks(rows: &[Row]) -> Vec<(&'static str, String)> {
    let shared = shared_codes(rows).into_iter().map(|code| {
        let having: Vec<(&Row, &RowReason)> = having(rows, code).collect();
        let trials = |r: &(&Row, &RowReason)| r.1.trials;
        let (least, most) = (having.iter().map(trials).min(), having.iter().map(trials).max());
        let in_how_many = match (least.unwrap_or(0), most.unwrap_or(0)) {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let of = having.iter().map(|(row, _)| row.trials).max().unwrap_or(0);
        let mut names: Vec<String> = having.iter().map(|(row, _)| row.candidate.clone()).collect();
        if names.len() == rows.len() {
            names = vec![if rows.len() == 2 { "both".to_owned() } else { format!("all {}", rows.len()) }];
        } else if names.len() > NAMED_MAX {
            let more = names.split_off(NAMED_MAX).len();
            names.push(format!("{more} more"));
        }
        let worst = having.iter().max_by_key(|r| (r.1.effect, r.1.trials, std::cmp::Reverse(&r.0.candidate)));
        let seen = worst
            .map_or(String::new(), |(row, reason)| format!("; worst {}: {}", row.candidate, reason.detail));
        let effect = worst.map_or(Effect::Note, |(_, reason)| reason.effect);
        let of = format::count(of.into(), "trial", "trials");
        let seen_in = format!("{}, in {in_how_many} of {of} each", names.join(", "));
        let parts: Vec<String> = [seen_in].into_iter().chain(ranges(code, &having)).collect();
        let text = format!("{}: {}{seen}", code.words(), parts.join(", "));
        (effect_mark(effect), format::printable(&text))
    });
    shared.collect()
}

/// Each value of a reason that differs over all rows, limits apart: `busiest worker: 91 % to 99 %`.
fn ranges(code: Code, having: &[(&Row, &RowReason)]) -> Vec<String> {
    let seen = code.entry().values.iter().filter(|value| !value.is_limit).filter_map(|value| {
        let all = having.iter().filter_map(|(_, reason)| reason.values.get(value.name));
        let [least, most] = all.copied().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
        let [from, to] = [least, most].map(|end| with_unit(value.unit, end));
        (from != to).then(|| format!("{}: {from} to {to}", value.words()))
    });
    seen.collect()
}

/// The codes of reasons that at least two rows have and that are no remarks of their own, in the order of the rows.
fn shared_codes(rows: &[Row]) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    for code in rows.iter().flat_map(|row| &row.reasons).map(|reason| reason.code) {
        if !codes.contains(&code) && having(rows, code).count() > 1 {
            codes.push(code);
        }
    }
    codes
}

fn having<'a>(rows: &'a [Row], code: Code) -> impl Iterator<Item = (&'a Row, &'a RowReason)> {
    let of = move |row: &'a Row| row.reasons.iter().find(|r| r.code == code).map(|reason| (row, reason));
    rows.iter()
        .filter(move |row| !row.reasons.iter().any(|r| r.code == code && has_own_remark(row, r)))
        .filter_map(of)
}

fn has_own_remark(row: &Row, reason: &RowReason) -> bool {
    (reason.code == Code::Overload && row.overloaded > 0) || (reason.code == Code::Errors && row.failed > 0)
}

/// What is said of a row by itself: what became of it, and its reasons without those in [`shared_remarks`] of these rows.
pub(crate) fn own_remarks(row: &Row, rows: &[Row]) -> Vec<String> {
    let shared = shared_codes(rows);
    let reasons =
        row.reasons.iter().filter(|reason| !shared.contains(&reason.code) && !has_own_remark(row, reason));
    let said = |reason: &RowReason| {
        format!("{} {}: {}", reason.code.words(), of(row, reason.trials), format::printable(&reason.detail))
    };
    row_remarks(row).into_iter().chain(reasons.map(said)).collect()
}

/// `in 2 of 5 trials`.
fn of(row: &Row, n: u32) -> String {
    format!("in {n} of {}", format::count(row.trials.into(), "trial", "trials"))
}

/// What became of a row beside its verdicts: trials that do not count, outcomes and failures.
pub(crate) fn row_remarks(row: &Row) -> Vec<String> {
    let mut remarks: Vec<String> = row.died.iter().map(|deaths| format!("not ranked: {deaths}")).collect();
    if row.trials == 0 {
        remarks.push("no trial has a result".to_owned());
    } else if row.counted < row.trials {
        remarks.push(format!(
            "{} of {} count",
            row.counted,
            format::count(row.trials.into(), "trial", "trials")
        ));
    }
    if row.broken > 0 {
        let why = match row.failed + row.completed {
            0 => "no request got a response",
            _ => "more than half of the requests failed",
        };
        remarks.push(format!("broken {}: {why}", of(row, row.broken)));
    }
    if row.overloaded > 0 {
        remarks.push(format!(
            "overloaded {}: the wait for a connection grew to the end",
            of(row, row.overloaded)
        ));
    }
    if row.failed > 0 {
        let all = row.failed + row.completed;
        let share = format::percent(row.failed as f64 / all as f64);
        remarks.push(format!(
            "{} of {} requests failed ({share})",
            format::thousands(row.failed),
            format::thousands(all)
        ));
    }
    let why = row.throughput().and_then(|estimate| estimate.no_interval.as_deref());
    if let Some(why) = why.filter(|why| row.counted > 1 && !row.lower_bound() && *why != CARRIED_WHOLE) {
        remarks.push(format!("no interval for req/s: {why}"));
    }
    remarks.extend(row.remarks.iter().map(|remark| format::printable(remark)));
    remarks
}

/// The worst that is to be said of a candidate under a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CellVerdict {
    /// Every figure stands.
    Valid,
    /// Throughput is a lower bound.
    LowerBound,
    /// Some figures may be off.
    Suspect,
    /// The wait grew to the end of a window.
    Overloaded,
    /// Most requests failed.
    Broken,
    /// No trial counts.
    Void,
}

pub(crate) fn row_verdict(row: &Row) -> CellVerdict {
    let stands = row.counted == row.trials && row.reasons.iter().all(|r| r.effect < Effect::Suspect);
    match row.lower_bound() {
        _ if row.broken > 0 => CellVerdict::Broken,
        _ if row.counted == 0 => CellVerdict::Void,
        _ if row.overloaded > 0 => CellVerdict::Overloaded,
        _ if row.failed > 0 || !stands => CellVerdict::Suspect,
        true => CellVerdict::LowerBound,
        false => CellVerdict::Valid,
    }
}

pub(crate) fn row_mark(row: &Row) -> &'static str {
    match row_verdict(row) {
        CellVerdict::Broken | CellVerdict::Void => "✗",
        CellVerdict::Overloaded => "!",
        CellVerdict::Suspect if row.failed > 0 => "!",
        CellVerdict::Suspect => "?",
        CellVerdict::LowerBound => "≥",
        CellVerdict::Valid => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fixtures;

    #[test]
    fn shared_reasons_are_listed_once_and_others_with_their_row() {
        let mut rows = fixtures::experiment().plans.remove(0).rows;
        rows.truncate(3);
        let reason = |code, trials, stolen: [f64; 2], detail: &str| RowReason {
            code,
            trials,
            effect: Effect::Suspect,
            detail: detail.to_owned(),
            advice: String::new(),
            values: BTreeMap::from([
                ("gaps_share".to_owned(), [0.01, 0.02]),
                ("steal_share".to_owned(), stolen),
            ]),
        };
        for row in &mut rows {
            (row.trials, row.counted, row.reasons) = (5, 5, Vec::new());
            (row.failed, row.overloaded, row.broken) = (0, 0, 0);
        }
        rows[0].reasons = vec![reason(Code::HostNoisy, 2, [0.09, 0.1], "9 % stolen")];
        rows[2].reasons = vec![
            reason(Code::HostNoisy, 4, [0.02, 0.12], "12 % stolen"),
            reason(Code::LateSends, 1, [0.0; 2], "late"),
        ];
        let [first, third] = [0, 2].map(|at: usize| rows[at].candidate.clone());
        let shared = shared_remarks(&rows);
        assert_eq!(
            shared,
            [(
                "?",
                format!(
                    "host noisy: {first}, {third}, in 2 to 4 of 5 trials each, gaps: 1.0 % to 2.0 %, steal: 2.0 % to 12 %; worst \
                     {third}: 12 % stolen"
                )
            )]
        );
        assert_eq!(own_remarks(&rows[0], &rows), [""; 0]);
        assert_eq!(own_remarks(&rows[2], &rows), ["late sends in 1 of 5 trials: late"]);
        rows[1].reasons = vec![reason(Code::HostNoisy, 2, [0.08; 2], "8 % stolen")];
        assert!(shared_remarks(&rows)[0].1.starts_with("host noisy: all 3, in 2 to 4 of 5 trials each"));
    }
}
