//! A plan in words: every view's description of a load is made of these.

use std::time::Duration;

use crate::plan::ArrivalKind;
use crate::printable::{count, thousands};
use crate::recorded_plan::RecordedPlan;
use crate::replay::RecordedReplay;
use crate::run_log::NamedPlan;
use crate::target::path_of;
use crate::units::show_duration;

impl RecordedPlan {
    /// `GET /json`, `3 requests of 10 lines, shuffled`, `3 requests to 2 servers in turn`.
    pub fn asked(&self) -> String {
        let Some(list) = &self.targets else { return format!("{} {}", self.method, path_of(&self.url)) };
        let requests = count(list.requests, "request", "requests");
        let lines = match list.lines {
            lines if lines == list.requests => String::new(),
            lines => format!(" of {}", count(lines, "line", "lines")),
        };
        let servers = match self.servers() {
            1 => String::new(),
            servers => format!(" to {servers} servers"),
        };
        let order = if self.replay.is_some() { " of a log" } else { list.order.after_requests() };
        format!("{requests}{lines}{servers}{order}")
    }

    /// `100 connections, constant 21,000/s, 2 threads, no keep-alive`.
    pub fn load(&self) -> String {
        self.load_at(&self.pace())
    }

    fn load_at(&self, pace: &str) -> String {
        let threads = match self.threads {
            1 => String::new(),
            threads => format!(", {}", count(threads.into(), "thread", "threads")),
        };
        format!("{}, {pace}{threads}{}", self.connections(), self.unusual())
    }

    pub fn connections(&self) -> String {
        count(self.connections.into(), "connection", "connections")
    }

    /// When requests are due: `closed loop`, `Poisson 21,000/s`, `stages 1m:5000c 1m:5000c`; of a rate that is not known
    /// yet, how they are spaced.
    pub fn pace(&self) -> String {
        match (self.arrivals, self.rate_per_s) {
            (ArrivalKind::Stages, _) => {
                let stages: Vec<String> = self.stages.iter().map(ToString::to_string).collect();
                format!("stages {}", stages.join(" "))
            }
            (ArrivalKind::Closed, _) => "closed loop".to_owned(),
            (ArrivalKind::Replay, _) => {
                self.replay.as_ref().map_or("replay".to_owned(), RecordedReplay::words)
            }
            (_, Some(rate)) => {
                let millis = (rate * 1e3).round() as u64;
                let part = format!(".{:03}", millis % 1000);
                let whole = thousands(millis / 1000);
                format!("{} {whole}{}/s", self.spacing(), part.trim_end_matches(['0', '.']))
            }
            (_, None) => self.spacing().to_owned(),
        }
    }

    pub fn spacing(&self) -> &'static str {
        if self.arrivals == ArrivalKind::Poisson { "Poisson" } else { "constant" }
    }

    /// How its connections are used and what is special of its requests, as the end of a phrase: nothing, where each is kept
    /// and carries one request at once over HTTP/1.1, the same again.
    pub fn unusual(&self) -> String {
        let keepalive = match self.requests_per_connection {
            _ if !self.keepalive => ", no keep-alive".to_owned(),
            Some(life) => format!(", {} per connection", count(life.into(), "request", "requests")),
            None => String::new(),
        };
        let at_once = match (self.protocol.multiplexes(), self.pipeline) {
            (true, streams) => format!(", HTTP/2 with {} each", count(streams.into(), "stream", "streams")),
            (false, 1) => String::new(),
            (false, pipeline) => format!(", pipeline {pipeline}"),
        };
        let values = self.values.len() + self.data.as_ref().map_or(0, |data| data.columns.len());
        let others = [
            (self.chunked, "body in chunks".to_owned()),
            (self.decode, "bodies decoded".to_owned()),
            (values > 0, count(values as u64, "value a request", "values a request")),
            (!self.connect_to.is_empty(), format!("connected to {}", self.connect_to.join(" "))),
            (self.all_addresses, "all addresses".to_owned()),
        ];
        let others = others.into_iter().filter(|(given, _)| *given).map(|(_, words)| format!(", {words}"));
        format!("{keepalive}{at_once}{}", others.collect::<String>())
    }

    /// `30s after 3s warm-up`, `10,000 requests`.
    pub fn until(&self) -> String {
        let shown = |ns| show_duration(Duration::from_nanos(ns));
        let requests = self.requests.map(|n| count(n, "request", "requests"));
        let ends: Vec<String> = self.duration_ns.map(shown).into_iter().chain(requests).collect();
        let warmup = match self.warmup_ns {
            0 => String::new(),
            ns => format!(" after {} warm-up", shown(ns)),
        };
        format!("{}{warmup}", ends.join(" or "))
    }
}

impl NamedPlan {
    /// The same under what it is to an experiment: `50 connections, closed loop, GET /, 3s after 1s warm-up`.
    #[must_use]
    pub fn described(mut self) -> NamedPlan {
        let plan = &self.plan;
        let (pace, probes) = match (&self.capacity, &self.share) {
            (Some(kept), _) => {
                let kept = if kept.is_empty() { String::new() } else { format!(" at {kept}") };
                (format!("capacity{kept}, {} arrivals", plan.spacing()), "probes of ")
            }
            (None, Some(share)) => {
                (format!("{} {}% of the capacity of {}", plan.spacing(), share.percent(), share.of), "")
            }
            (None, None) => (plan.pace(), ""),
        };
        let workers = match self.workers.as_deref() {
            None => String::new(),
            Some("source") => ", workers as the source had them where it says".to_owned(),
            Some(policy) => format!(", workers: {policy}"),
        };
        self.describe =
            format!("{}, {}, {probes}{}{workers}", plan.load_at(&pace), plan.asked(), plan.until());
        self
    }
}
