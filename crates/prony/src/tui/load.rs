//! The state of a load that runs, from its snapshots, for the screen and for plain lines. Pure: no clock, no terminal.

use prony_load::Snapshot;
use prony_load::pace::Ramp;
use prony_model::Plan;
use prony_model::fleet::LiveAgent;
use prony_model::measurement::ErrorKind;
use prony_model::plan::Arrivals;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::replay::Replay;
use prony_report::format;

use super::timeline::Timeline;

#[derive(Debug, Clone, Default)]
pub(super) enum Offered {
    #[default]
    Closed,
    Rate(f64),
    Ramp(Ramp),
    Connections(Ramp),
    Replay(Replay),
}

impl Offered {
    pub(super) fn of(arrivals: &Arrivals) -> Offered {
        match arrivals {
            Arrivals::Closed => Offered::Closed,
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Offered::Rate(rate.as_per_s()),
            Arrivals::RateStages(stages) => Offered::Ramp(Ramp::new(stages)),
            Arrivals::ConnectionStages(stages) => Offered::Connections(Ramp::new(stages)),
            Arrivals::Replay(replay) => Offered::Replay(replay.clone()),
        }
    }

    pub(super) fn rate_at(&self, at_ns: u64) -> Option<f64> {
        match self {
            Offered::Rate(rate) => Some(*rate),
            Offered::Ramp(_) | Offered::Replay(_) => {
                let from_ns = at_ns.saturating_sub(1_000_000_000);
                let due = self.due(at_ns)?.saturating_sub(self.due(from_ns)?);
                (at_ns > from_ns).then(|| due as f64 * 1e9 / (at_ns - from_ns) as f64)
            }
            Offered::Closed | Offered::Connections(_) => None,
        }
    }

    fn due(&self, at_ns: u64) -> Option<u64> {
        match self {
            Offered::Rate(rate) => Some((rate * at_ns as f64 / 1e9) as u64),
            Offered::Ramp(ramp) => Some(ramp.due_before(at_ns)),
            Offered::Replay(replay) => Some(replay.due_before(at_ns)),
            Offered::Closed | Offered::Connections(_) => None,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct LoadState {
    pub(super) title: String,
    pub(super) describe: String,
    pub(super) warmup_ns: u64,
    pub(super) total_ns: Option<u64>,
    pub(super) requests: Option<u64>,
    pub(super) connections: u64,
    pub(super) workers: u32,
    pub(super) offered: Offered,
    pub(super) now: Snapshot,
    pub(super) timeline: Timeline,
    pub(super) agents: Vec<LiveAgent>,
}

impl LoadState {
    pub(crate) fn of(plan: &Plan) -> LoadState {
        let record = RecordedPlan::of(plan);
        let what = match &record.targets {
            Some(_) => record.asked(),
            None => format!("{} {}", record.method, record.url),
        };
        LoadState {
            title: format::printable(&what),
            describe: record.load(),
            warmup_ns: record.warmup_ns,
            total_ns: record.duration_ns.map(|ns| record.warmup_ns + ns),
            requests: plan.stop.requests,
            connections: plan.connections.into(),
            workers: plan.threads,
            offered: Offered::of(&plan.arrivals),
            ..LoadState::default()
        }
    }

    /// With this before its title: which of several it is.
    pub(crate) fn titled(mut self, which: &str) -> LoadState {
        self.title.insert_str(0, which);
        self
    }

    pub(crate) fn take(&mut self, snapshot: &Snapshot) {
        self.now = *snapshot;
        self.timeline.take(snapshot, self.warmup_ns);
    }

    pub(crate) fn take_agents(&mut self, agents: Vec<LiveAgent>) {
        self.agents = agents;
    }

    /// How much of the load is done, 0 to 1: by time or by count, whichever is further.
    pub(super) fn share(&self) -> f64 {
        let by_time = self.total_ns.map_or(0.0, |total| self.now.elapsed_ns as f64 / total.max(1) as f64);
        let ended = self.now.completed + self.now.failed;
        let by_count = self.requests.map_or(0.0, |all| ended as f64 / all.max(1) as f64);
        by_time.max(by_count).clamp(0.0, 1.0)
    }

    /// What is left; where only a count ends the load, by the rate so far.
    pub(super) fn left_ns(&self) -> Option<u64> {
        let by_time = self.total_ns.map(|total| total.saturating_sub(self.now.elapsed_ns));
        let ended = self.now.completed + self.now.failed;
        let by_count = self.requests.filter(|_| ended > 0).map(|all| {
            let left = all.saturating_sub(ended) as f64;
            (left * self.now.elapsed_ns as f64 / ended as f64) as u64
        });
        [by_time, by_count].into_iter().flatten().min()
    }

    /// The time axis' length: the load's, or, where it is not known, twice what has passed.
    pub(super) fn axis_ns(&self) -> u64 {
        self.total_ns.unwrap_or_else(|| {
            let forecast = self.left_ns().map_or(self.now.elapsed_ns, |left| self.now.elapsed_ns + left);
            // In steps of two, so that the picture does not shrink with every frame.
            forecast.max(2_000_000_000).checked_next_power_of_two().unwrap_or(u64::MAX)
        })
    }

    /// Requests due without a connection; `None` without a rate, or for no more than become due between snapshots.
    pub(super) fn behind(&self) -> Option<u64> {
        let due = self.offered.due(self.now.elapsed_ns)?;
        let behind = due.saturating_sub(self.now.completed + self.now.failed + self.now.in_flight);
        let blur = self.offered.rate_at(self.now.elapsed_ns).unwrap_or(0.0) * 0.2;
        (behind as f64 > blur.max(1.0)).then_some(behind)
    }

    pub(super) fn failures(&self) -> Vec<(&'static str, u64)> {
        let kinds = ErrorKind::ALL.iter().map(|kind| kind.name()).zip(self.now.failed_by_kind);
        let mut found: Vec<_> = kinds.filter(|(_, count)| *count > 0).collect();
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        found
    }

    pub(super) fn phase(&self) -> &'static str {
        if self.now.in_window || self.now.elapsed_ns >= self.warmup_ns { "" } else { "warm-up" }
    }
}
