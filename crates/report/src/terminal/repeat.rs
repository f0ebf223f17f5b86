//! Several loads of one target, for the terminal: the result over all of them.

use prony_analysis::repeat::Repeat;
use prony_model::{Estimate, Trial};

use super::lines::{Ink, Lines, TerminalOptions};
use crate::format;
use crate::words::{self, WITHHELD};

/// The estimate over all trials, below the lines of each. Every line ends in a newline.
pub fn repeat(repeat: &Repeat, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    let mut parts = Vec::new();
    if let Some(throughput) = &repeat.requests_per_s {
        let rate = format::rate(throughput.point);
        let of_schedule = !repeat.trials.is_empty() && repeat.trials.iter().all(Trial::is_carried_whole);
        parts.push(match (repeat.lower_bound, of_schedule) {
            (true, _) => format!("≥ {rate} req/s{}", words::spaced_plus_minus(throughput)),
            (false, true) => format!("all {rate} req/s completed"),
            (false, false) => format!("{rate} req/s{}", words::spaced_plus_minus(throughput)),
        });
        parts.push(format!("p50 {}", time(repeat.p50_ns.as_ref(), None)));
        parts.push(format!("p99 {}", time(repeat.p99_ns.as_ref(), repeat.p99_censored_at_ns)));
        parts.push(format!("{} failed", format::thousands(repeat.failed)));
    }
    let every: Option<Vec<String>> = repeat.trials.iter().map(Trial::every_response).collect();
    parts.extend(every.and_then(|every| every.into_iter().max()).map(|every| format::printable(&every)));
    let trials = format::count(repeat.asked.into(), "trial", "trials");
    parts.push(if repeat.counted == repeat.asked {
        trials
    } else {
        format!("{} of {trials} count", repeat.counted)
    });
    let lines = ["    ", "  "].map(|gap| parts.join(gap));
    match lines.iter().find(|line| line.chars().count() <= out.width) {
        Some(line) => out.line(&out.paint(Ink::BOLD, line)),
        None => out.wrapped("", &parts.join(" · "), Ink::BOLD),
    }
    if repeat.overloaded > 0 {
        let text = format!(
            "{} overloaded: their response times grow with the window and are not averaged",
            format::count(repeat.overloaded.into(), "trial was", "trials were")
        );
        out.wrapped(" ! ", &text, Ink::WARN);
    }
    if repeat.counted == 1 {
        out.wrapped(" – ", "one trial has no interval", Ink::PLAIN);
    }
    let figures = [("req/s", &repeat.requests_per_s), ("p50", &repeat.p50_ns), ("p99", &repeat.p99_ns)];
    for (what, estimate) in figures.iter().filter(|_| repeat.counted > 1 && !repeat.lower_bound) {
        if let Some(why) = estimate.as_ref().and_then(|estimate| estimate.no_interval.as_deref()) {
            out.wrapped(" – ", &format!("no interval for {what}: {why}"), Ink::PLAIN);
        }
    }
    out.wrapped(" ± ", repeat.interval_method, Ink::DIM);
    out.text
}

fn time(estimate: Option<&Estimate>, censored_at_ns: Option<u64>) -> String {
    match (estimate, censored_at_ns) {
        (Some(estimate), _) => {
            format!("{}{}", format::duration(estimate.point), words::spaced_plus_minus(estimate))
        }
        (None, Some(at)) => {
            let at = at as f64;
            format!("> {}", format::short_duration(at))
        }
        (None, None) => WITHHELD.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Tool;

    fn three() -> Repeat {
        Repeat {
            schema: "prony.repeat/1",
            tool: Tool::this(),
            requests_per_s: Some(Estimate::new(13_870.0, 13_800.0, 13_940.0, 3)),
            lower_bound: false,
            p50_ns: Some(Estimate::new(6.98e6, 6.9e6, 7.06e6, 3)),
            p99_ns: None,
            p99_censored_at_ns: None,
            failed: 0,
            completed: 416_100,
            asked: 3,
            counted: 3,
            overloaded: 0,
            interval_method: "95 % intervals: as described",
            trials: Vec::new(),
        }
    }

    #[test]
    fn the_result_is_in_the_first_line() {
        let shown = repeat(&three(), &TerminalOptions::default());
        let first = "13,870 req/s ±0.5 %    p50 6.98 ms ±1.1 %    p99 –    0 failed    3 trials\n";
        assert_eq!(shown, format!("{first} ± 95 % intervals: as described\n"));
    }

    #[test]
    fn a_rate_that_was_carried_whole_has_no_interval_of_its_own() {
        let mut trial = crate::fixtures::closed();
        trial.plan.rate_per_s = Some(2_000.0);
        (trial.requests.failed, trial.requests.never_sent) = (0, 0);
        let first = |trial: &Trial| {
            let all = Repeat { trials: vec![trial.clone()], ..three() };
            repeat(&all, &TerminalOptions::default())
        };
        assert!(first(&trial).starts_with("all 13,870 req/s completed"), "{}", first(&trial));
        trial.requests.never_sent = 1;
        assert!(first(&trial).starts_with("13,870 req/s ±0.5 %"), "{}", first(&trial));
    }

    #[test]
    fn missing_figures_and_excluded_trials_are_explained() {
        let few = Repeat { counted: 1, overloaded: 1, p99_censored_at_ns: Some(2_000_000_000), ..three() };
        let shown = repeat(&few, &TerminalOptions::default());
        for words in
            ["p99 > 2 s", "1 of 3 trials count", "1 trial was overloaded", "one trial has no interval"]
        {
            // Lines break where they are full.
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(words), "{words:?}: {shown}");
        }
        let wide = Repeat { requests_per_s: Some(Estimate::bare(100.0, 3, "too wide")), ..three() };
        let shown = repeat(&wide, &TerminalOptions::default());
        assert!(shown.starts_with("100 req/s    p50 6.98 ms ±1.1 %"), "{shown}");
        assert!(shown.contains(" – no interval for req/s: too wide\n"), "{shown}");
        let none = Repeat { requests_per_s: None, counted: 0, ..three() };
        assert!(repeat(&none, &TerminalOptions::default()).starts_with("0 of 3 trials count\n"));
    }
}
