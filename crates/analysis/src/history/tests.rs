use super::*;
use crate::testing::run::Log;

/// A run of two candidates a day, each with its rates.
fn run(day: usize, rates: [u64; 2]) -> RunLog {
    let mut log = Log::new(&["a", "b"], 2).with(&[&rates[..], &rates[..]]).0;
    log.header.created_at = format!("2026-03-{:02}T10:00:00.000Z", day + 1);
    log.header.commit = Some(format!("{day:040x}"));
    log
}

fn of(logs: &[RunLog]) -> History {
    let runs = logs.iter().map(|log| figures_of(log, "r.jsonl", DEFAULT, None).unwrap());
    history(runs.collect(), DEFAULT, None, Vec::new())
}

#[test]
fn a_step_is_found_with_its_size_and_what_else_changed() {
    let mut logs: Vec<RunLog> = (0..10)
        .map(|day| run(day, [if day < 6 { 5_000 } else { 4_000 } + day as u64 % 3, 7_000 + day as u64 % 2]))
        .collect();
    for log in &mut logs[6..] {
        log.header.candidates[0].facts.version = Some("2.0".into());
    }
    logs.reverse();
    let h = of(&logs);
    assert_eq!((h.runs, h.series.len()), (10, 2));
    let (a, b) = (&h.series[0], &h.series[1]);
    assert_eq!(
        (a.candidate.as_str(), a.verdict, b.verdict),
        ("a", HistoryVerdict::Changed, HistoryVerdict::NoChange)
    );
    let [change] = a.changes.as_slice() else { panic!("one change: {:?}", a.changes) };
    assert_eq!((change.index, change.at.as_str()), (6, "2026-03-07T10:00:00.000Z"));
    assert!((change.ratio.point - 0.8).abs() < 0.001 && change.matters && !change.better, "{change:?}");
    assert_eq!(change.also, ["version 1.0 → 2.0"]);
    let levels: Vec<(usize, usize)> = a.levels.iter().map(|l| (l.first, l.last)).collect();
    assert_eq!(levels, [(0, 5), (6, 9)]);
    let ratio = a.levels[1].estimate.point / a.levels[0].estimate.point;
    assert!((ratio - change.ratio.point).abs() < 1e-9, "the change is from level to level");
    assert_eq!(b.levels.len(), 1);
    assert!(
        change.commit_before.as_ref().unwrap().ends_with('5')
            && change.commit_after.as_ref().unwrap().ends_with('6')
    );
}

#[test]
fn under_eight_runs_no_change_is_looked_for() {
    let logs: Vec<RunLog> = (0..7).map(|day| run(day, [5_000 * (1 + day as u64 / 4), 7_000])).collect();
    assert!(of(&logs).series.iter().all(|s| s.verdict == HistoryVerdict::TooFew && s.changes.is_empty()));
    assert!(of(&logs).series.iter().all(|s| s.levels.is_empty()));
}

#[test]
fn a_lower_bound_is_a_point_that_takes_no_part_in_the_tests() {
    let mut logs: Vec<RunLog> = (0..9).map(|day| run(day, [5_000, 7_000])).collect();
    logs[8].results[0].trial.as_mut().unwrap().throughput.bound = prony_model::trial::Bound::Lower;
    logs[7].results.retain(|r| r.planned.candidate != "a");
    let h = of(&logs);
    let a = &h.series[0];
    assert_eq!((a.points.len(), a.verdict), (8, HistoryVerdict::TooFew));
    assert!(a.points[7].at_least);
    assert_eq!(h.series[1].verdict, HistoryVerdict::NoChange);
}

#[test]
fn every_trial_is_a_run_and_a_log_without_a_time_is_refused() {
    let mut log = run(0, [5_000, 7_000]);
    log.header.name = "load".into();
    assert_eq!(
        figures_of(&log, "f", DEFAULT, None).unwrap().points.len(),
        2,
        "an experiment of that name is one run"
    );
    log.header.one_by_one = true;
    let read = figures_of(&log, "f", DEFAULT, None).unwrap();
    assert_eq!(read.points.len(), 4);
    assert_eq!(read.points.iter().filter(|(_, p)| p.commit.is_some()).count(), 1);
    log.header.created_at = "yesterday".into();
    assert!(figures_of(&log, "f", DEFAULT, None).unwrap_err().contains("yesterday"));
    assert!(figure("stdev").unwrap_err().contains("throughput") && figure("p99").is_ok());
}

#[test]
fn a_faster_machine_does_not_change_a_ratio_within_each_run() {
    // On every other day the machine is twice as fast; from day 6 on `a` needs a tenth more than `b`.
    let mut logs: Vec<RunLog> = (0..10)
        .map(|day| {
            let machine = 1 + day as u64 % 2;
            run(day, [if day < 6 { 5_000 } else { 4_500 } * machine + day as u64 % 3, 5_000 * machine])
        })
        .collect();
    let relative = |logs: &[RunLog]| {
        let runs = logs.iter().map(|log| figures_of(log, "r.jsonl", DEFAULT, Some("b")).unwrap());
        history(runs.collect(), DEFAULT, Some("b"), Vec::new())
    };
    let h = relative(&logs);
    assert_eq!(
        (h.unit, h.relative_to.as_deref(), h.series.len()),
        (Unit::Ratio, Some("b"), 1),
        "b is not a series"
    );
    let a = &h.series[0];
    let point = a.points[0].estimate.as_ref().unwrap();
    assert!((point.point - 1.0).abs() < 0.001 && point.ci_low.is_some(), "{point:?}");
    let [change] = a.changes.as_slice() else { panic!("one change: {:?}", a.changes) };
    assert_eq!((change.index, change.better), (6, false));
    assert!((change.ratio.point - 0.9).abs() < 0.001, "{change:?}");

    logs[6].header.candidates[1].facts.version = Some("2.0".into());
    assert_eq!(relative(&logs).series[0].changes[0].also, ["version of the other 1.0 → 2.0"]);
    logs[9].results.retain(|r| r.planned.candidate != "b");
    let last = &relative(&logs).series[0].points[9];
    assert!(last.estimate.is_none(), "b has no trial that counts: {last:?}");
    let refused = figures_of(&logs[0], "f", DEFAULT, Some("release")).unwrap_err();
    assert!(refused.contains("no candidate \"release\"") && refused.contains("a, b"), "{refused}");
    logs[0].header.one_by_one = true;
    assert!(figures_of(&logs[0], "f", DEFAULT, Some("b")).unwrap_err().contains("one by one"));
}

#[test]
fn a_ratio_with_a_lower_bound_takes_no_part_in_the_tests() {
    let mut log = run(0, [5_000, 7_000]);
    log.results[0].trial.as_mut().unwrap().throughput.bound = prony_model::trial::Bound::Lower;
    let read = figures_of(&log, "f", DEFAULT, Some("b")).unwrap();
    assert!(read.points[0].1.at_least, "{:?}", read.points);
    // Of the other one it makes the ratio at most so much, which is as little an exact figure.
    let read = figures_of(&log, "f", DEFAULT, Some("a")).unwrap();
    assert!(read.points[0].1.estimate.is_none(), "{:?}", read.points);
}
