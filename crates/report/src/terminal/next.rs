//! The commands that answer the next questions.

use prony_model::plan::ArrivalKind;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::trial::{Bound, Outcome, Trial, Validity};

use super::lines::{Ink, Lines};
use crate::{command, format, words};

const LABEL: &str = " Next  ";
const INDENT: &str = "       ";

/// The commands that answer the next questions; none after an interruption or an invalid trial.
pub(super) fn after(trial: &Trial, target: Option<&str>) -> Vec<Vec<String>> {
    if trial.interrupted || trial.plan.varies() || trial.verdict.validity == Validity::Invalid {
        return Vec::new();
    }
    let with_fleet = |mut words: Vec<String>| {
        words.extend(command::fleet_flags(trial).map(|flag| command::shell_word(flag)));
        words
    };
    next_load(trial, target).into_iter().chain(next_search(trial, target)).map(with_fleet).collect()
}

/// After a closed loop: the highest rate at which p99 stays under about twice this one.
fn next_search(trial: &Trial, target: Option<&str>) -> Option<Vec<String>> {
    let closed = trial.outcome == Outcome::Carried && trial.plan.rate_per_s.is_none();
    // A pipeline is refused by a search, and so are several servers.
    let pipelined = trial.plan.pipeline > 1 && !trial.plan.protocol.multiplexes();
    let refused = pipelined || trial.plan.servers() > 1;
    if !closed || refused {
        return None;
    }
    let (_, summary) = words::headline(trial);
    let slo = format!("p99<{}", round_duration(summary.percentile("p99_ns")? * 2));
    let plan = &trial.plan;
    Some(command::capacity(plan, &trial.target.address, target.unwrap_or(&plan.url), &slo))
}

/// A duration as a flag, rounded to one digit and zeros: `20ms`.
fn round_duration(ns: u64) -> String {
    let unit = 10_u64.pow(ns.max(1).ilog10());
    let round = (ns + unit / 2) / unit * unit;
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.into_iter().find(|(_, size)| round >= *size) {
        Some((unit, size)) => format!("{}{unit}", round / size),
        None => "1us".to_owned(),
    }
}

fn next_load(trial: &Trial, target: Option<&str>) -> Option<Vec<String>> {
    let completed = trial.throughput.requests_per_s.point;
    let of = |plan: &RecordedPlan| command::next(plan, &trial.target.address, target.unwrap_or(&plan.url));
    let rate = match (trial.outcome, trial.plan.rate_per_s) {
        // One request, to see its response.
        (Outcome::Broken, _) => {
            let one = RecordedPlan {
                connections: trial.plan.servers(),
                threads: trial.plan.servers(),
                pipeline: 1,
                requests: Some(1),
                duration_ns: None,
                rate_per_s: None,
                arrivals: ArrivalKind::Closed,
                ..trial.plan.clone()
            };
            return Some(of(&one));
        }
        // Latency under saturation says little about latency in use: a rate below the maximum says more.
        (Outcome::Carried, None) => completed * 0.75,
        (Outcome::Overloaded, _) => completed * 0.9,
        (Outcome::Carried, Some(rate)) if trial.throughput.bound == Bound::Exact => rate * 1.5,
        (Outcome::Carried, Some(_)) => return None,
    };
    let arrivals = match trial.plan.arrivals {
        ArrivalKind::Closed => ArrivalKind::Constant,
        open => open,
    };
    let rate_per_s = Some(rounded(rate)?);
    Some(of(&RecordedPlan { rate_per_s, arrivals, ..trial.plan.clone() }))
}

pub(super) fn push(out: &mut Lines, commands: &[Vec<String>]) {
    for (i, command) in commands.iter().enumerate() {
        push_command(out, if i == 0 { LABEL } else { INDENT }, command);
    }
}

fn push_command(out: &mut Lines, label: &str, words: &[String]) {
    // Room for ` \` behind.
    let lines = format::filled(words.iter().map(String::as_str), out.width - INDENT.len() - 2);
    let last = lines.len().saturating_sub(1);
    for (at, line) in lines.iter().enumerate() {
        let before = if at == 0 { label } else { INDENT };
        let behind = if at < last { " \\" } else { "" };
        out.line(&format!("{before}{}{behind}", out.paint(Ink::BOLD, line)));
    }
}

/// A rate rounded to two digits; `None` under one request a second.
pub(super) fn rounded(rate: f64) -> Option<f64> {
    if !rate.is_finite() || rate < 1.0 {
        return None;
    }
    let unit = 10_f64.powf(rate.log10().floor() - 1.0).max(1.0);
    Some((rate / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::TerminalOptions;

    #[test]
    fn a_long_command_is_continued_with_backslashes() {
        let words = ["prony load", "http://h/", "-c 100", "-H 'A: b c'"].map(str::to_owned);
        let written = |width: usize| {
            let mut out = Lines::new(&TerminalOptions { width, ..TerminalOptions::default() });
            push_command(&mut out, " Next  ", &words);
            out.text
        };
        assert_eq!(written(80), " Next  prony load http://h/ -c 100 -H 'A: b c'\n");
        assert_eq!(written(40), " Next  prony load http://h/ -c 100 \\\n       -H 'A: b c'\n");
    }

    #[test]
    fn suggested_limits_are_rounded() {
        let limits = [19_220_000, 20_004_000, 96_000_000, 1_000_000_001, 1_600, 3].map(round_duration);
        assert_eq!(limits, ["20ms", "20ms", "100ms", "1s", "2us", "1us"]);
    }

    #[test]
    fn suggested_rates_are_rounded() {
        assert_eq!(
            [10_402.5, 1_234.0, 87.3, 4.2].map(|r| rounded(r).unwrap()),
            [10_000.0, 1_200.0, 87.0, 4.0]
        );
        assert_eq!(rounded(0.3), None);
        assert_eq!(rounded(f64::NAN), None);
    }
}
