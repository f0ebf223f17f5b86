//! From the run to the pages that watch it: it stores events here, and each page's thread fetches them four times a
//! second. No load waits for a page: its thread, which runs below everything else, may not get on before the load ends.
//! An update that finds the lock taken is left out: the next has all that it had.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prony_load::Snapshot;
use prony_model::fleet::LiveAgent;
use prony_report::page::live::{LiveEnd, LiveEvent, LiveHead, LivePoint};

use crate::lock::{if_free, locked};
use crate::thinned::Thinned;

/// Updates come this often, and at first a point of the plots.
const UPDATE_EVERY_NS: u64 = 250_000_000;
/// Where there are more points than a plot has pixels, neighbours become one, and so do those that follow.
const POINTS_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Broadcast {
    pub(super) head: LiveHead,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ends: Vec<LiveEvent>,
    begun: Option<LiveEvent>,
    points: Points,
    agents: Vec<LiveAgent>,
    agents_changed: usize,
    done: Option<LiveEvent>,
    /// Grows when pages must start over: a trial began, or points were merged.
    epoch: u64,
    report: Option<Arc<str>>,
    watching: usize,
    watching_at_end: usize,
    served: usize,
}

/// The points of a load's plots: at most [`POINTS_MAX`], all of one width, however long it takes.
#[derive(Debug)]
struct Points {
    thinned: Thinned<LivePoint>,
    now: Option<LivePoint>,
}

impl Default for Points {
    fn default() -> Points {
        Points { thinned: Thinned::new(POINTS_MAX), now: None }
    }
}

impl Points {
    fn take(&mut self, update: LivePoint) -> bool {
        self.now = Some(update);
        self.thinned.add(update, |before, one, next| one.with(next, before.unwrap_or(&LivePoint::default())))
    }
}

#[derive(Debug, Default)]
pub(super) struct Sent {
    epoch: Option<u64>,
    ends: usize,
    points: usize,
    agents_changed: usize,
    now_ns: u64,
    done: bool,
}

pub(super) struct Watching<'a>(&'a Broadcast);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.watching = state.watching.saturating_sub(1);
    }
}

impl Broadcast {
    pub(crate) fn new(head: LiveHead) -> Arc<Broadcast> {
        Arc::new(Broadcast { head, ..Broadcast::default() })
    }

    pub(crate) fn snapshot(&self, snapshot: &Snapshot) {
        let Some(mut state) = if_free(&self.state) else { return };
        let before = state.points.now.unwrap_or_default();
        let since_ns = snapshot.elapsed_ns.saturating_sub(before.elapsed_ns);
        // A tick that comes a little early is as good.
        if since_ns < UPDATE_EVERY_NS - UPDATE_EVERY_NS / 10 {
            return;
        }
        let second = snapshot.last_second;
        let merged = state.points.take(LivePoint {
            elapsed_ns: snapshot.elapsed_ns,
            in_window: snapshot.in_window,
            completed: snapshot.completed,
            per_s: LivePoint::per_s(&before, snapshot.completed, snapshot.elapsed_ns),
            of: 1,
            in_flight: snapshot.in_flight,
            failed: second.map(|s| s.failed),
            connections: second.map(|s| s.connections),
            p50_ns: second.and_then(|s| s.p50_ns),
            p99_ns: second.and_then(|s| s.p99_ns),
            max_ns: second.and_then(|s| s.max_ns),
        });
        state.epoch += u64::from(merged);
    }

    pub(crate) fn agents(&self, agents: &[LiveAgent]) {
        let Some(mut state) = if_free(&self.state) else { return };
        if state.agents != agents {
            state.agents = agents.to_vec();
            state.agents_changed += 1;
        }
    }

    /// A trial of an experiment runs: where it is another than before, it begins. To be said before each snapshot.
    pub(crate) fn trial_runs(&self, index: u32, total_ns: u64) {
        let Some(mut state) = if_free(&self.state) else { return };
        let begins = LiveEvent::TrialBegins { index, total_ns };
        if state.begun.as_ref() != Some(&begins) {
            state.points = Points::default();
            state.begun = Some(begins);
            state.epoch += 1;
        }
    }

    pub(crate) fn trial_ends(&self, end: LiveEnd) {
        locked(&self.state).ends.push(LiveEvent::TrialEnds(end));
    }

    /// The run is over; `Err` is why there is no report, a sentence.
    pub(crate) fn done(&self, report: Result<String, String>) {
        let mut state = locked(&self.state);
        let sentence = report.as_ref().err().cloned().unwrap_or_default();
        state.done = Some(LiveEvent::Done { report: report.is_ok(), sentence });
        state.report = report.ok().map(Arc::from);
        state.watching_at_end = state.watching;
    }

    /// Waits until every page that watched at the end has its report, and no longer than this.
    pub(crate) fn wait_for_pages(&self, longest: Duration) {
        let until = Instant::now() + longest;
        loop {
            let state = locked(&self.state);
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

    pub(super) fn report(&self) -> Option<Arc<str>> {
        locked(&self.state).report.clone()
    }

    pub(super) fn served(&self) {
        locked(&self.state).served += 1;
    }

    /// A page watches until what this returns is dropped.
    pub(super) fn watch(&self) -> Watching<'_> {
        locked(&self.state).watching += 1;
        Watching(self)
    }

    /// What a page has not been sent, as JSON: a list of everything so far, or one
    /// event a line; and whether that was the last.
    pub(super) fn updates(&self, sent: &mut Sent) -> (Vec<String>, bool) {
        let state = locked(&self.state);
        let mut events: Vec<LiveEvent> = Vec::new();
        let restart = sent.epoch != Some(state.epoch);
        if restart {
            *sent = Sent { epoch: Some(state.epoch), ..Sent::default() };
        }
        events.extend(state.ends[sent.ends.min(state.ends.len())..].iter().cloned());
        if restart {
            events.extend(state.begun.clone());
        }
        let points = state.points.thinned.whole();
        events.extend(points[sent.points.min(points.len())..].iter().copied().map(LiveEvent::Point));
        let plotted_ns = points.last().map_or(0, |point| point.elapsed_ns).max(sent.now_ns);
        let now = state.points.now.filter(|now| now.elapsed_ns > plotted_ns);
        events.extend(now.map(LiveEvent::Now));
        if sent.agents_changed != state.agents_changed {
            sent.agents_changed = state.agents_changed;
            events.push(LiveEvent::Agents { agents: state.agents.clone() });
        }
        if !sent.done {
            events.extend(state.done.clone());
        }
        sent.ends = state.ends.len();
        sent.points = points.len();
        sent.now_ns = now.map_or(plotted_ns, |now| now.elapsed_ns);
        sent.done = state.done.is_some();
        drop(state);
        let last = sent.done;
        let json = |value: &[LiveEvent]| serde_json::to_string(value).unwrap_or_default();
        if restart {
            return (vec![json(&events)], last);
        }
        let lines = events.iter().map(|e| serde_json::to_string(e).unwrap_or_default());
        (lines.collect(), last)
    }
}

#[cfg(test)]
mod tests {
    use prony_load::LastSecond;

    use super::*;

    fn at(ms: u64) -> Snapshot {
        Snapshot { elapsed_ns: ms * 1_000_000, completed: ms, ..Snapshot::default() }
    }

    #[test]
    fn four_points_a_second_are_kept_and_each_is_sent_once() {
        let broadcast = Broadcast::new(LiveHead::default());
        let mut sent = Sent::default();
        assert_eq!(broadcast.updates(&mut sent), (vec!["[]".to_owned()], false));
        (1..=20).for_each(|i| broadcast.snapshot(&at(i * 100)));
        let (lines, last) = broadcast.updates(&mut sent);
        assert!((6..=8).contains(&lines.len()), "{}", lines.len());
        assert!(!last && lines[0].contains("\"per_s\":1000"), "{}", lines[0]);
        assert_eq!(broadcast.updates(&mut sent).0.len(), 0);
    }

    #[test]
    fn a_load_does_not_wait_for_a_page_that_has_the_lock() {
        let broadcast = Broadcast::new(LiveHead::default());
        let page = locked(&broadcast.state);
        // Were it to wait, it would do so for ever: the lock is this thread's own.
        broadcast.trial_runs(0, 5);
        broadcast.snapshot(&at(1_000));
        assert!(page.begun.is_none() && page.points.now.is_none());
        drop(page);
        broadcast.trial_runs(0, 5);
        broadcast.snapshot(&at(1_100));
        let (lines, _) = broadcast.updates(&mut Sent::default());
        assert!(lines[0].contains("trial_begins") && lines[0].contains("\"per_s\":1000"), "{lines:?}");
    }

    #[test]
    fn agents_are_told_when_they_change_and_to_who_comes_late() {
        let broadcast = Broadcast::new(LiveHead::default());
        let mut sent = Sent::default();
        broadcast.updates(&mut sent);
        let agent = |completed| LiveAgent { name: "one".to_owned(), completed, ..LiveAgent::default() };
        broadcast.agents(&[agent(1)]);
        broadcast.agents(&[agent(2)]);
        let (lines, _) = broadcast.updates(&mut sent);
        assert_eq!(
            lines,
            [r#"{"type":"agents","agents":[{"name":"one","sent":0,"completed":2,"failed":0}]}"#]
        );
        broadcast.agents(&[agent(2)]);
        assert_eq!(broadcast.updates(&mut sent).0.len(), 0);
        assert!(broadcast.updates(&mut Sent::default()).0[0].contains("\"agents\""));
    }

    #[test]
    fn a_page_watches_until_its_thread_ends() {
        let broadcast = Broadcast::new(LiveHead::default());
        let (one, other) = (broadcast.watch(), broadcast.watch());
        drop(one);
        assert_eq!(locked(&broadcast.state).watching, 1);
        drop(other);
        assert_eq!(locked(&broadcast.state).watching, 0);
    }

    #[test]
    fn a_page_that_joins_late_gets_all_merged_points() {
        let broadcast = Broadcast::new(LiveHead::default());
        (1..=5_003).for_each(|i| broadcast.snapshot(&at(i * 250)));
        broadcast.done(Err("no page".into()));
        let (lines, last) = broadcast.updates(&mut Sent::default());
        assert_eq!((lines.len(), last), (1, true));
        // 5,003 quarters of a second, eight a point; the last three are no whole point, but they are now.
        assert_eq!(lines[0].matches("\"point\"").count(), 5_003 / 8);
        assert!(lines[0].contains("{\"type\":\"now\",\"elapsed_ns\":1250750000000"), "{}", lines[0]);
        assert!(lines[0].contains("no page"));
    }

    #[test]
    fn merged_points_are_bounded_and_keep_every_peak() {
        let broadcast = Broadcast::new(LiveHead::default());
        // Over an hour, one second of which is slow, early on, and fails.
        for i in 1_u64..=20_000 {
            let slow = i == 37;
            let second = LastSecond {
                failed: if slow { 9 } else { 0 },
                p99_ns: Some(if slow { 2_000_000_000 } else { 1_000_000 }),
                ..LastSecond::default()
            };
            // Twice as many a second from the middle on.
            let completed = 100 * i + 100 * i.saturating_sub(10_000);
            broadcast.snapshot(&Snapshot { completed, last_second: Some(second), ..at(i * 250) });
            let points = &locked(&broadcast.state).points;
            let (whole, each) = (points.thinned.whole(), points.thinned.each());
            assert!(points.thinned.all().len() <= POINTS_MAX);
            assert!(whole.iter().all(|point| u64::from(point.of) == each), "at {i}");
        }
        let state = locked(&broadcast.state);
        let points = state.points.thinned.whole();
        let width = u64::from(points[0].of);
        assert!(points.len() as u64 == 20_000 / width && width > 1, "{}", points.len());
        for (k, point) in (1..).zip(points) {
            assert_eq!(point.elapsed_ns, k * width * 250_000_000, "no instant is skipped");
            assert_eq!(point.completed, 100 * k * width + 100 * (k * width).saturating_sub(10_000));
            let slow = (k - 1) * width < 37 && 37 <= k * width;
            let wanted = if slow { (Some(9), Some(2_000_000_000)) } else { (Some(0), Some(1_000_000)) };
            assert_eq!((point.failed, point.p99_ns), wanted, "point {k}");
            // The rate is the mean of its own quarters, not of all since the start.
            if k * width <= 10_000 {
                assert!((point.per_s - 400.0).abs() < 0.11, "{point:?}");
            } else if (k - 1) * width >= 10_000 {
                assert!((point.per_s - 800.0).abs() < 0.11, "{point:?}");
            }
        }
    }

    #[test]
    fn a_page_gets_four_updates_a_second_whatever_the_points() {
        let broadcast = Broadcast::new(LiveHead::default());
        (1..=4_100).for_each(|i| broadcast.snapshot(&at(i * 250)));
        let mut sent = Sent::default();
        broadcast.updates(&mut sent);
        let mut kinds = [0, 0];
        for i in 4_101..=4_180 {
            broadcast.snapshot(&at(i * 250));
            let (lines, _) = broadcast.updates(&mut sent);
            assert_eq!(lines.len(), 1, "{lines:?}");
            kinds[usize::from(lines[0].starts_with("{\"type\":\"point\""))] += 1;
            assert!(broadcast.updates(&mut sent).0.is_empty(), "nothing is sent twice");
        }
        assert_eq!(kinds, [70, 10], "eight quarters a point");
    }

    #[test]
    fn a_new_trial_starts_without_the_points_of_the_one_before() {
        let broadcast = Broadcast::new(LiveHead::default());
        broadcast.snapshot(&at(1000));
        broadcast.trial_ends(LiveEnd {
            index: 0,
            requests_per_s: None,
            p99_ns: None,
            validity: "failed".into(),
            left_ns: None,
        });
        broadcast.trial_runs(1, 5);
        let (lines, _) = broadcast.updates(&mut Sent::default());
        assert!(lines[0].contains("trial_ends") && lines[0].contains("trial_begins"));
        assert!(!lines[0].contains("\"point\""));
    }
}
