//! Remarks on a ranking's rows, beside their figures.

use std::collections::BTreeMap;

use prony_analysis::experiment::{Row, RowReason};
use prony_analysis::verdict::Code;
use prony_model::trial::Effect;

use super::{code, effect_mark};
use crate::format;

/// Candidates that a sentence names before "and N more".
const NAMED_MAX: usize = 4;

/// Reasons that several rows of a plan have: each once, with the rows that have it, in how many of their trials, the
/// range of its value, and the detail of the worst row; with the sign of its worst effect.
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
        let range = range(&having).map_or(String::new(), |range| format!(", {range}"));
        let text =
            format!("{}: {}, in {in_how_many} of {of} each{range}{seen}", self::code(code), names.join(", "));
        (effect_mark(effect), format::printable(&text))
    });
    shared.collect()
}

/// The value of a reason over all rows, `busiest worker: 91 % to 99 %`: a share before others. `None` where it is the same
/// everywhere.
fn range(having: &[(&Row, &RowReason)]) -> Option<String> {
    let mut all: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (name, [least, most]) in having.iter().flat_map(|(_, reason)| &reason.values) {
        let seen = all.entry(name).or_insert([*least, *most]);
        *seen = [seen[0].min(*least), seen[1].max(*most)];
    }
    let differs = |(name, [least, most]): &(&str, [f64; 2])| least < most && !name.contains("limit");
    let mut differing: Vec<_> = all.into_iter().filter(differs).collect();
    differing.sort_by_key(|(name, _)| !name.ends_with("_share"));
    let (name, [least, most]) = *differing.first()?;
    let (what, least, most) = if let Some(what) = name.strip_suffix("_share") {
        (what, format::percent(least), format::percent(most))
    } else if let Some(what) = name.strip_suffix("_ns") {
        (what, format::duration(least), format::duration(most))
    } else if let Some(what) = name.strip_suffix("_bytes_per_s") {
        (what, format!("{}/s", format::bytes(least)), format!("{}/s", format::bytes(most)))
    } else {
        (name, format::si(least), format::si(most))
    };
    Some(format!("{}: {least} to {most}", what.replace('_', " ")))
}

/// The codes of reasons that at least two rows have and that are no remarks of their own, in the order of the rows.
fn shared_codes(rows: &[Row]) -> Vec<&str> {
    let mut codes: Vec<&str> = Vec::new();
    for code in rows.iter().flat_map(|row| &row.reasons).map(|reason| reason.code.as_str()) {
        if !codes.contains(&code) && having(rows, code).count() > 1 {
            codes.push(code);
        }
    }
    codes
}

/// The rows with a reason of this code.
fn having<'a>(rows: &'a [Row], code: &str) -> impl Iterator<Item = (&'a Row, &'a RowReason)> {
    let of = move |row: &'a Row| row.reasons.iter().find(|r| r.code == code).map(|reason| (row, reason));
    rows.iter()
        .filter(move |row| !row.reasons.iter().any(|r| r.code == code && has_own_remark(row, r)))
        .filter_map(of)
}

/// Whether a row has a remark of its own about a reason.
fn has_own_remark(row: &Row, reason: &RowReason) -> bool {
    (reason.code == Code::Overload.name() && row.overloaded > 0)
        || (reason.code == Code::Errors.name() && row.failed > 0)
}

/// [`row_remarks`] without what is in [`shared_remarks`] of these rows.
pub(crate) fn own_remarks(row: &Row, rows: &[Row]) -> Vec<String> {
    let shared = shared_codes(rows);
    let reasons = row.reasons.iter().filter(|r| !shared.contains(&r.code.as_str())).cloned().collect();
    row_remarks(&Row { reasons, ..row.clone() })
}

/// The remarks on a row: trials that do not count, outcomes, failures, and each verdict's reason.
pub(crate) fn row_remarks(row: &Row) -> Vec<String> {
    let of = |n: u32| format!("in {n} of {}", format::count(row.trials.into(), "trial", "trials"));
    let mut remarks = Vec::new();
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
            0 => "no request was answered",
            _ => "more than half of the requests failed",
        };
        remarks.push(format!("broken {}: {why}", of(row.broken)));
    }
    if row.overloaded > 0 {
        remarks.push(format!("overloaded {}: the wait for a connection grew to the end", of(row.overloaded)));
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
    if let Some(why) = why.filter(|_| row.counted > 1 && !row.lower_bound()) {
        remarks.push(format!("no interval for req/s: {why}"));
    }
    for reason in &row.reasons {
        if has_own_remark(row, reason) {
            continue;
        }
        remarks.push(format!(
            "{} {}: {}",
            code(&reason.code),
            of(reason.trials),
            format::printable(&reason.detail)
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn reasons_that_rows_share_are_listed_once_and_others_with_their_row() {
        let mut rows = fixtures::experiment().plans.remove(0).rows;
        rows.truncate(3);
        let reason = |code: &str, trials, stolen: [f64; 2], detail: &str| RowReason {
            code: code.to_owned(),
            trials,
            effect: Effect::Suspect,
            detail: detail.to_owned(),
            advice: String::new(),
            values: BTreeMap::from([
                ("limit_share".to_owned(), [0.01, 0.02]),
                ("stolen_share".to_owned(), stolen),
            ]),
        };
        for row in &mut rows {
            (row.trials, row.counted, row.reasons) = (5, 5, Vec::new());
            (row.failed, row.overloaded, row.broken) = (0, 0, 0);
        }
        rows[0].reasons = vec![reason("host_noisy", 2, [0.09, 0.1], "9 % stolen")];
        rows[2].reasons = vec![
            reason("host_noisy", 4, [0.02, 0.12], "12 % stolen"),
            reason("late_sends", 1, [0.0; 2], "late"),
        ];
        let [first, third] = [0, 2].map(|at: usize| rows[at].candidate.clone());
        let shared = shared_remarks(&rows);
        assert_eq!(
            shared,
            [(
                "?",
                format!(
                    "host noisy: {first}, {third}, in 2 to 4 of 5 trials each, stolen: 2.0 % to 12 %; worst \
                     {third}: 12 % stolen"
                )
            )]
        );
        assert_eq!(own_remarks(&rows[0], &rows), [""; 0]);
        assert_eq!(own_remarks(&rows[2], &rows), ["late sends in 1 of 5 trials: late"]);
        rows[1].reasons = vec![reason("host_noisy", 2, [0.08; 2], "8 % stolen")];
        assert!(shared_remarks(&rows)[0].1.starts_with("host noisy: all 3, in 2 to 4 of 5 trials each"));
    }
}
