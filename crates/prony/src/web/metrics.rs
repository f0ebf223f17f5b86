//! What `--metrics` serves: a run's state, in OpenMetrics' text format. Counters run over the whole command and never
//! fall; gauges are of the current load. Each scrape is a text made of the last snapshot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use prony_load::Snapshot;
use prony_model::fleet::LiveAgent;
use prony_model::run_log::PlannedTrial;
use prony_report::export::openmetrics::text::{Kind, Text};

use crate::lock::{if_free, locked};

/// What a load's samples are labelled with; empty texts in `prony load`, which has only one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct LoadId {
    candidate: String,
    plan: String,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u64,
    completed: u64,
    failed: u64,
}

#[derive(Debug, Clone, Default)]
struct State {
    now: Option<PlannedTrial>,
    snapshot: Option<Snapshot>,
    agents: Vec<LiveAgent>,
    before: BTreeMap<LoadId, Counts>,
    /// Ended trials by their validity; empty in `prony load`.
    ended: BTreeMap<&'static str, u64>,
    trials_to_run: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// The offered rate of each plan, in requests per second; those without a rate are not in it.
    rates: BTreeMap<String, f64>,
    state: Mutex<State>,
    /// What is served: the run does not wait for whoever is just taking it, below everything else.
    shown: Mutex<Arc<State>>,
}

impl Metrics {
    /// `rates` by the plan's name; that of `prony load` has none.
    pub(crate) fn new(rates: BTreeMap<String, f64>) -> Arc<Metrics> {
        Arc::new(Metrics { rates, ..Metrics::default() })
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = locked(&self.state);
        change(&mut state);
        if let Some(mut shown) = if_free(&self.shown) {
            *shown = Arc::new(state.clone());
        }
    }

    pub(crate) fn begun(&self, trials: u64) {
        self.change(|state| state.trials_to_run = Some(trials));
    }

    pub(crate) fn snapshot(&self, of: Option<&PlannedTrial>, snapshot: &Snapshot) {
        self.change(|state| {
            if state.now.as_ref() != of {
                state.close();
                state.now = of.cloned();
            }
            state.snapshot = Some(*snapshot);
        });
    }

    pub(crate) fn agents(&self, agents: &[LiveAgent]) {
        self.change(|state| state.agents = agents.to_vec());
    }

    /// A trial of an experiment ended, `valid`, `suspect`, `invalid` or `failed`.
    pub(crate) fn trial_ends(&self, validity: &'static str) {
        self.change(|state| {
            state.close();
            *state.ended.entry(validity).or_default() += 1;
        });
    }

    pub(super) fn text(&self) -> String {
        let state = Arc::clone(&locked(&self.shown));
        let mut text = Text::new();
        text.family("prony_build", Kind::Info, "", "The load generator.");
        text.sample(&[("version", env!("CARGO_PKG_VERSION"))], true);
        state.counters(&mut text);
        state.by_agent(&mut text);
        state.progress(&mut text);
        state.gauges(&mut text, &self.rates);
        text.end()
    }
}

impl State {
    fn load(&self) -> LoadId {
        let of = |now: &PlannedTrial| LoadId { candidate: now.who(), plan: now.plan.clone() };
        self.now.as_ref().map(of).unwrap_or_default()
    }

    fn close(&mut self) {
        let Some(snapshot) = self.snapshot.take() else { return };
        let load = self.load();
        self.now = None;
        self.before.entry(load).or_default().add(&snapshot);
    }

    fn counters(&self, text: &mut Text) {
        let mut all = self.before.clone();
        if let Some(snapshot) = &self.snapshot {
            all.entry(self.load()).or_default().add(snapshot);
        }
        text.family("prony_requests", Kind::Counter, "", "Finished requests, warm-up included, by result.");
        for (load, counts) in &all {
            text.sample(&load.labels(&[("result", "completed")]), counts.completed);
            text.sample(&load.labels(&[("result", "failed")]), counts.failed);
        }
        text.family("prony_requests_sent", Kind::Counter, "", "Requests sent, warm-up included.");
        for (load, counts) in &all {
            text.sample(&load.labels(&[]), counts.sent);
        }
    }

    fn by_agent(&self, text: &mut Text) {
        if self.agents.is_empty() {
            return;
        }
        let help = "Finished requests of each agent, warm-up included where they completed, by result.";
        text.family("prony_agent_requests", Kind::Counter, "", help);
        for agent in &self.agents {
            text.sample(&[("agent", &agent.name), ("result", "completed")], agent.completed);
            text.sample(&[("agent", &agent.name), ("result", "failed")], agent.failed);
        }
        text.family(
            "prony_agent_requests_sent",
            Kind::Counter,
            "",
            "Requests that each agent sent, warm-up included.",
        );
        for agent in &self.agents {
            text.sample(&[("agent", &agent.name)], agent.sent);
        }
    }

    fn progress(&self, text: &mut Text) {
        let Some(trials) = self.trials_to_run else { return };
        text.family("prony_trials_to_run", Kind::Gauge, "", "Trials that this command runs in total.");
        text.sample(&[], trials);
        text.family("prony_trials", Kind::Counter, "", "Finished trials by validity.");
        for validity in ["valid", "suspect", "invalid", "failed"] {
            text.sample(&[("validity", validity)], self.ended.get(validity).copied().unwrap_or(0));
        }
        if let Some(now) = &self.now {
            text.family("prony_trial_under_way", Kind::Info, "", "The trial in progress.");
            let (block, index) = (now.block.to_string(), now.index.to_string());
            text.sample(&self.load().labels(&[("block", &block), ("trial", &index)]), true);
        }
    }

    fn gauges(&self, text: &mut Text, rates: &BTreeMap<String, f64>) {
        let Some(snapshot) = &self.snapshot else { return };
        let load = self.load();
        let labels = load.labels(&[]);
        let mut gauge = |name: &str, unit: &str, help: &str, value: Option<f64>| {
            text.family(name, Kind::Gauge, unit, help);
            if let Some(value) = value {
                text.sample(&labels, value);
            }
        };
        let seconds = |ns: u64| ns as f64 / 1e9;
        let second = snapshot.last_second.as_ref();
        let rate = "requests_per_second";
        gauge("prony_requests_in_flight", "", "Requests in flight.", Some(snapshot.in_flight as f64));
        let (offered, help) = (rates.get(&load.plan).copied(), "Offered rate, where the arrivals are open.");
        gauge("prony_rate_asked_requests_per_second", rate, help, offered);
        let (elapsed, help) =
            (seconds(snapshot.elapsed_ns), "Time since the load started, warm-up included.");
        gauge("prony_load_elapsed_seconds", "seconds", help, Some(elapsed));
        let in_window = f64::from(u8::from(snapshot.in_window));
        gauge("prony_load_in_window", "", "1 while the measurement window is open, else 0.", Some(in_window));
        let help = "Completed in the window's last finished second.";
        gauge("prony_last_second_requests_per_second", rate, help, second.map(|s| s.completed as f64));
        let help = "Failed in the window's last finished second.";
        gauge("prony_last_second_failed_requests", "", help, second.map(|s| s.failed as f64));
        let help = "Connections open at the end of the window's last finished second.";
        gauge("prony_last_second_connections", "", help, second.map(|s| s.connections as f64));
        let times = [
            ("p50", "Median response", second.and_then(|s| s.p50_ns)),
            ("p99", "99th percentile of response, given 100 requests,", second.and_then(|s| s.p99_ns)),
            ("max", "The longest response", second.and_then(|s| s.max_ns)),
        ];
        for (name, what, value) in times {
            let help = format!("{what} of the requests completed in the window's last finished second.");
            let name = format!("prony_last_second_response_{name}_seconds");
            gauge(&name, "seconds", &help, value.map(seconds));
        }
    }
}

impl LoadId {
    fn labels<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [("candidate", self.candidate.as_str()), ("plan", self.plan.as_str())];
        own.into_iter().filter(|(_, value)| !value.is_empty()).chain(more.iter().copied()).collect()
    }
}

impl Counts {
    fn add(&mut self, snapshot: &Snapshot) {
        self.sent += snapshot.sent;
        self.completed += snapshot.completed;
        self.failed += snapshot.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::LastSecond;

    fn at(completed: u64, failed: u64) -> Snapshot {
        let second = LastSecond { completed: 7, p50_ns: Some(2_000_000), ..LastSecond::default() };
        let last_second = Some(second);
        Snapshot {
            completed,
            failed,
            sent: completed + failed + 3,
            in_flight: 3,
            last_second,
            ..Snapshot::default()
        }
    }

    fn trial(index: u32, candidate: &str) -> PlannedTrial {
        let (candidate, plan) = (candidate.to_owned(), "r100".to_owned());
        PlannedTrial { index, block: index, candidate, plan, duet: None, repeat: 0, control: None }
    }

    #[test]
    fn a_single_load_has_no_candidate_and_plan_labels() {
        let metrics = Metrics::new(BTreeMap::from([(String::new(), 2000.0)]));
        assert!(metrics.text().ends_with("# EOF\n"), "before the first snapshot, too");
        metrics.snapshot(None, &at(40, 2));
        let text = metrics.text();
        for line in [
            "prony_requests_total{result=\"completed\"} 40\n",
            "prony_requests_total{result=\"failed\"} 2\n",
            "prony_requests_sent_total 45\n",
            "prony_requests_in_flight 3\n",
            "prony_rate_asked_requests_per_second 2000\n",
            "prony_last_second_requests_per_second 7\n",
            "prony_last_second_response_p50_seconds 0.002\n",
        ] {
            assert!(text.contains(line), "{line} is missing: {text}");
        }
        assert!(!text.contains("p99") && !text.contains("prony_trial"), "{text}");
    }

    #[test]
    fn a_load_does_not_wait_for_who_scrapes_and_no_count_is_lost() {
        let metrics = Metrics::new(BTreeMap::new());
        let scraping = locked(&metrics.shown);
        // Were it to wait, it would do so for ever: the lock is this thread's own.
        metrics.snapshot(Some(&trial(0, "a")), &at(40, 2));
        metrics.trial_ends("valid");
        drop(scraping);
        metrics.snapshot(Some(&trial(1, "a")), &at(5, 0));
        let text = metrics.text();
        assert!(text.contains("{candidate=\"a\",plan=\"r100\",result=\"completed\"} 45\n"), "{text}");
    }

    #[test]
    fn counters_never_decrease_from_trial_to_trial() {
        let metrics = Metrics::new(BTreeMap::new());
        metrics.begun(3);
        metrics.snapshot(Some(&trial(0, "a")), &at(40, 2));
        metrics.trial_ends("valid");
        let between = metrics.text();
        assert!(between.contains("{candidate=\"a\",plan=\"r100\",result=\"completed\"} 40\n"), "{between}");
        assert!(!between.contains("in_flight"), "nothing runs: {between}");
        metrics.snapshot(Some(&trial(1, "b")), &at(5, 0));
        // A trial without an end event, as after an error, is not lost either.
        metrics.snapshot(Some(&trial(2, "a")), &at(1, 1));
        let text = metrics.text();
        for line in [
            "prony_requests_total{candidate=\"a\",plan=\"r100\",result=\"completed\"} 41\n",
            "prony_requests_total{candidate=\"a\",plan=\"r100\",result=\"failed\"} 3\n",
            "prony_requests_total{candidate=\"b\",plan=\"r100\",result=\"completed\"} 5\n",
            "prony_trials_total{validity=\"valid\"} 1\n",
            "prony_trials_to_run 3\n",
            "prony_trial_under_way_info{candidate=\"a\",plan=\"r100\",block=\"2\",trial=\"2\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} is missing: {text}");
        }
    }
}
