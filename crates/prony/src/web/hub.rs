//! Between the run and the pages that watch it: the run leaves events here,
//! each page's thread comes for them four times a second. The run never waits
//! for a page, and wakes none: an event costs it a lock that nobody holds for long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prony_load::Snapshot;
use prony_report::page::live::{LiveEnd, LiveEvent, LiveHead, LivePoint};

/// A point is kept this often.
const POINT_EVERY_NS: u64 = 250_000_000;
/// More points than a plot has pixels are thinned to half.
const POINTS_MAX: usize = 1_000;

/// What happened so far, and the report when there is one.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    head: LiveHead,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ends: Vec<LiveEvent>,
    begun: Option<LiveEvent>,
    points: Vec<LivePoint>,
    done: Option<LiveEvent>,
    /// Grows when what was told is told anew: a trial began, or points were thinned.
    epoch: u64,
    report: Option<Arc<str>>,
    watching: usize,
    watching_at_end: usize,
    /// Pages that took the report.
    served: usize,
}

/// How far a page has heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    epoch: Option<u64>,
    ends: usize,
    points: usize,
    done: bool,
}

impl Hub {
    pub(crate) fn new(head: LiveHead) -> Arc<Hub> {
        Arc::new(Hub { head, ..Hub::default() })
    }

    pub(super) fn head(&self) -> &LiveHead {
        &self.head
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the load stands; ten a second come, four a second are kept.
    pub(crate) fn snapshot(&self, snapshot: &Snapshot) {
        let mut state = self.state();
        let before = state.points.last().copied().unwrap_or_default();
        let since_ns = snapshot.elapsed_ns.saturating_sub(before.elapsed_ns);
        // A tick that comes a little early is as good.
        if since_ns < POINT_EVERY_NS - POINT_EVERY_NS / 10 {
            return;
        }
        let completed = snapshot.completed.saturating_sub(before.completed);
        let second = snapshot.last_second;
        if state.points.len() >= POINTS_MAX {
            let mut nth = 0;
            state.points.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
            state.epoch += 1;
        }
        state.points.push(LivePoint {
            elapsed_ns: snapshot.elapsed_ns,
            in_window: snapshot.in_window,
            completed: snapshot.completed,
            per_s: (completed as f64 * 1e10 / since_ns as f64).round() / 10.0,
            in_flight: snapshot.in_flight,
            failed: second.map(|s| s.failed),
            connections: second.map(|s| s.connections),
            p50_ns: second.and_then(|s| s.p50_ns),
            p99_ns: second.and_then(|s| s.p99_ns),
            max_ns: second.and_then(|s| s.max_ns),
        });
    }

    /// A trial of an experiment runs: where it is another than before, it begins.
    pub(crate) fn trial_goes_on(&self, index: u32, total_ns: u64) {
        let mut state = self.state();
        let begins = LiveEvent::TrialBegins { index, total_ns };
        if state.begun.as_ref() != Some(&begins) {
            state.points.clear();
            state.begun = Some(begins);
            state.epoch += 1;
        }
    }

    /// A trial of an experiment ended.
    pub(crate) fn trial_ends(&self, end: LiveEnd) {
        self.state().ends.push(LiveEvent::TrialEnds(end));
    }

    /// The run is over; `Err` says in a sentence why there is no report.
    pub(crate) fn done(&self, report: Result<String, String>) {
        let mut state = self.state();
        let sentence = report.as_ref().err().cloned().unwrap_or_default();
        state.done = Some(LiveEvent::Done { report: report.is_ok(), sentence });
        state.report = report.ok().map(Arc::from);
        state.watching_at_end = state.watching;
    }

    /// Waits until every page that watched at the end has its report, and no
    /// longer than this. A page that has it needs this process no more.
    pub(crate) fn see_off(&self, longest: Duration) {
        let until = Instant::now() + longest;
        loop {
            let state = self.state();
            let waiting = if state.report.is_some() {
                state.served < state.watching_at_end
            } else {
                state.watching > 0
            };
            drop(state);
            if !waiting || Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The report, for a page that asks.
    pub(super) fn report(&self) -> Option<Arc<str>> {
        self.state().report.clone()
    }

    /// A page has the report, whole.
    pub(super) fn served(&self) {
        self.state().served += 1;
    }

    pub(super) fn watch(&self, more: bool) {
        let mut state = self.state();
        state.watching = if more { state.watching + 1 } else { state.watching.saturating_sub(1) };
    }

    /// What a page has not heard, as JSON: a list of everything so far, or one
    /// event a line; and whether that was the last.
    pub(super) fn news(&self, heard: &mut Heard) -> (Vec<String>, bool) {
        let state = self.state();
        let mut events: Vec<LiveEvent> = Vec::new();
        let anew = heard.epoch != Some(state.epoch);
        if anew {
            *heard = Heard { epoch: Some(state.epoch), ..Heard::default() };
        }
        events.extend(state.ends[heard.ends.min(state.ends.len())..].iter().cloned());
        if anew {
            events.extend(state.begun.clone());
        }
        events.extend(
            state.points[heard.points.min(state.points.len())..].iter().copied().map(LiveEvent::Point),
        );
        if !heard.done {
            events.extend(state.done.clone());
        }
        heard.ends = state.ends.len();
        heard.points = state.points.len();
        heard.done = state.done.is_some();
        drop(state);
        let last = heard.done;
        let json = |value: &[LiveEvent]| serde_json::to_string(value).unwrap_or_default();
        if anew {
            return (vec![json(&events)], last);
        }
        let lines = events.iter().map(|e| serde_json::to_string(e).unwrap_or_default());
        (lines.collect(), last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Snapshot {
        Snapshot { elapsed_ns: ms * 1_000_000, completed: ms, ..Snapshot::default() }
    }

    #[test]
    fn four_points_a_second_are_kept_and_each_is_told_once() {
        let hub = Hub::new(LiveHead::default());
        let mut heard = Heard::default();
        assert_eq!(hub.news(&mut heard), (vec!["[]".to_owned()], false));
        (1..=20).for_each(|i| hub.snapshot(&at(i * 100)));
        let (lines, last) = hub.news(&mut heard);
        assert!((6..=8).contains(&lines.len()), "{}", lines.len());
        assert!(!last && lines[0].contains("\"per_s\":1000"), "{}", lines[0]);
        assert_eq!(hub.news(&mut heard).0.len(), 0);
    }

    #[test]
    fn a_long_run_is_thinned_and_a_latecomer_hears_all_of_it() {
        let hub = Hub::new(LiveHead::default());
        (1..=5_000).for_each(|i| hub.snapshot(&at(i * 250)));
        hub.done(Err("no page".into()));
        let (lines, last) = hub.news(&mut Heard::default());
        assert_eq!((lines.len(), last), (1, true));
        let points = lines[0].matches("\"point\"").count();
        assert!(points > POINTS_MAX / 2 - 1 && points <= POINTS_MAX, "{points}");
        assert!(lines[0].contains("no page"));
    }

    #[test]
    fn a_trial_s_points_are_its_own() {
        let hub = Hub::new(LiveHead::default());
        hub.snapshot(&at(1000));
        hub.trial_ends(LiveEnd {
            index: 0,
            requests_per_s: None,
            p99_ns: None,
            validity: "failed".into(),
            left_ns: None,
        });
        hub.trial_goes_on(1, 5);
        let (lines, _) = hub.news(&mut Heard::default());
        assert!(lines[0].contains("trial_ends") && lines[0].contains("trial_begins"));
        assert!(!lines[0].contains("\"point\""));
    }
}
