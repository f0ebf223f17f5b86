//! Which plans can be run.

use std::net::IpAddr;
use std::time::Duration;

use crate::error::{PlanError, wrong};
use crate::json_value::{JsonValue, VALUES_MAX};
use crate::list::{LINES_MAX, ORIGINS_MAX, Order, TargetList};
use crate::plan::*;
use crate::printable::{count, harmless_within};
use crate::rate::{Rate, Stage};
use crate::recorded_plan::LIST_MAX;
use crate::request::{check_header, check_http2_header, check_method};
use crate::secret::Secret;
use crate::units::{most_connections, nanoseconds};

const SHOWN_MAX_CHARS: usize = 80;
/// The most requests that all connections together may carry at once.
const IN_FLIGHT_MAX: u64 = 10_000_000;

impl Plan {
    /// Refuses what cannot be run, in a sentence that says what to change.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.connections == 0 {
            return wrong("0 connections can carry no request: give -c at least 1.");
        }
        if self.connections > CONNECTIONS_MAX {
            return wrong(format!(
                "{} connections are more than one client can hold: give -c at most {CONNECTIONS_MAX}.",
                self.connections
            ));
        }
        self.check_requests()?;
        self.values.check(self)?;
        self.check_origins()?;
        self.check_threads(1)?;
        self.check_pipeline()?;
        self.check_stages()?;
        self.check_replay()?;
        if self.stop.duration.is_none() && self.stop.requests.is_none() {
            return wrong("Nothing ends this load: give -d, -n or both.");
        }
        if let Some(duration) = self.stop.duration {
            if duration.is_zero() {
                return wrong("A window of 0 s measures nothing: give -d at least 1ms.");
            }
            if duration > DURATION_MAX || self.warmup > DURATION_MAX {
                return wrong("A load may last a day at most: give -d and --warmup up to 24h.");
            }
        }
        if self.stop.requests == Some(0) {
            return wrong("0 requests measure nothing: give -n at least 1.");
        }
        if self.unix.is_some() && !self.sources.is_empty() {
            return wrong(
                "--unix and --source cannot be used together: a Unix socket has no local addresses.",
            );
        }
        self.check_body()?;
        self.check_long_list()?;
        self.connect.check(self.speaks_tls(), self.unix.is_some())?;
        let has_list = if self.arrivals.replay().is_some() { "--replay" } else { "--targets" };
        if self.connect.all_addresses && (self.work.list().is_some() || self.connect.resolve_every.is_some())
        {
            return wrong(format!(
                "--all-addresses has figures for each address: leave out {has_list}, and --resolve-every, which changes them."
            ));
        }
        let kinds = |kind: fn(&IpAddr) -> bool| self.sources.iter().any(kind);
        if self.connect.all_addresses && kinds(IpAddr::is_ipv4) && kinds(IpAddr::is_ipv6) {
            return wrong("--all-addresses with a --source of both versions of IP: give those of one.");
        }
        if self.timeout.is_zero() {
            return wrong("A timeout of 0 s fails every request: give --timeout at least 1ms.");
        }
        if self.work.list().is_some_and(|list| list.lines.is_empty()) {
            return wrong("The list of targets holds no request.");
        }
        if self.samples_max > SAMPLES_MAX {
            return wrong(format!(
                "{} single requests are more than can be kept: ask for {SAMPLES_MAX} at most.",
                self.samples_max
            ));
        }
        Ok(())
    }

    fn all_headers(&self) -> impl Iterator<Item = &(String, Secret)> {
        self.headers.iter().chain(self.requests().flat_map(|one| one.own_headers()))
    }

    fn check_requests(&self) -> Result<(), PlanError> {
        let path = |path: &str| {
            let plain = |b: u8| b > b' ' && b < 0x7f;
            match path.starts_with('/') && path.bytes().all(plain) {
                true => Ok(()),
                false => wrong(format!(
                    "The path {} cannot be requested: it begins with / and has %20 for a space, and the like for other characters \
                     beyond ASCII.",
                    harmless_within(path, SHOWN_MAX_CHARS)
                )),
            }
        };
        for (count, what) in [
            (self.headers.len(), "headers (-H)"),
            (self.cpus.len(), "CPUs (--pin)"),
            (self.sources.len(), "local addresses (--source)"),
        ] {
            if count > LIST_MAX {
                return wrong(format!("{count} {what} are too many: give {LIST_MAX} at most."));
            }
        }
        // An expectation that is the plan's is looked at once.
        let own = self.requests().map(|one| one.expect()).filter(|one| !std::ptr::eq(*one, &self.expect));
        for expect in own.chain([&self.expect]) {
            if expect.json.len() > VALUES_MAX {
                return wrong(format!(
                    "{} JSON values are too many: give {VALUES_MAX} at most.",
                    expect.json.len()
                ));
            }
            if !expect.json.is_empty() && (expect.body.is_some() || expect.sha256.is_some()) {
                return wrong(
                    "--expect-json and --expect-body cannot be used together: the one is of values in the body, the \
                     other of all of it.",
                );
            }
            expect.json.iter().try_for_each(JsonValue::check)?;
        }
        check_method(self.work.method()).map_err(PlanError)?;
        path(&self.target.path)?;
        for (name, value) in self.all_headers() {
            check_header(name, value.value())?;
            if self.protocol == Protocol::Http2 {
                check_http2_header(name, value.value())?;
            }
        }
        if let Work::List(list) = &self.work {
            for request in &list.requests {
                check_method(&request.method).map_err(PlanError)?;
                path(&request.path)?;
            }
            if list.lines.iter().any(|request| *request as usize >= list.requests.len()) {
                return wrong("The plan's list names a request that it does not have.");
            }
        }
        Ok(())
    }

    fn check_origins(&self) -> Result<(), PlanError> {
        let origins = self.origins();
        let is_plain = |host: &str| host.bytes().all(|b| b > b' ' && b != 0x7f && b != b'/');
        let mut hosts = origins.iter().map(|origin| origin.host.as_str());
        if let Some(host) = hosts.find(|host| host.is_empty() || !is_plain(host)) {
            let host = harmless_within(host, SHOWN_MAX_CHARS);
            return wrong(format!(
                "The host {host:?} is not a valid one: give a name or an address without spaces."
            ));
        }
        let (count, list) = (origins.len(), self.work.list());
        let is_known = list.is_none_or(|list| list.requests.iter().all(|one| (one.origin as usize) < count));
        if count > ORIGINS_MAX || !is_known || (count > 1 && origins.first() != Some(&self.target)) {
            return wrong("The plan's list names servers that it does not have, or too many.");
        }
        let Some(list) = list.filter(|_| count > 1) else { return Ok(()) };
        if list.lines_of_origins(count).contains(&0) {
            return wrong("The plan's list has no line for a server that it names.");
        }
        if (self.connections as usize) < count {
            return wrong(format!(
                "The list names {count} servers, and each has connections of its own: give -c at least {count}."
            ));
        }
        if !(self.threads as usize).is_multiple_of(count) {
            return wrong(format!(
                "The list names {count} servers, and each has as many threads: give -t a multiple of {count}."
            ));
        }
        if self.unix.is_some() {
            return wrong(
                "--unix is the socket of one server, and the list names several: leave one of them out.",
            );
        }
        if matches!(self.arrivals, Arrivals::ConnectionStages(_)) {
            return wrong(
                "Stages of connections load one server, and the list names several: give stages of a rate, or one server.",
            );
        }
        Ok(())
    }

    /// Whether the threads of so many agents can share its connections. At a rate each thread takes an equal part of the
    /// requests, so that one with much fewer connections would run out of them before the others: up to an eighth fewer are
    /// let pass.
    pub fn check_threads(&self, agents: u32) -> Result<(), PlanError> {
        let (threads, connections) = (self.threads, self.connections);
        if threads == 0 || threads > THREADS_MAX {
            return wrong(format!("{threads} threads: give -t between 1 and {THREADS_MAX}."));
        }
        let workers = agents.max(1).saturating_mul(threads);
        let who = if agents == 1 { String::new() } else { format!("{agents} agents of ") };
        if workers > connections {
            return wrong(format!(
                "{who}{threads} threads cannot share {connections} connections: give -c at least {workers}, or a lower -t."
            ));
        }
        // Those of several origins come in groups of one for each, which are alike.
        let groups = (workers / self.origins().len() as u32).max(1);
        if self.arrivals.are_open() && !connections.is_multiple_of(groups) && connections / workers < 8 {
            return wrong(format!(
                "{who}{threads} threads cannot share {connections} connections evenly, and at a rate each takes an equal part \
                 of the requests: one would run out of connections before the others. Give -c a multiple of {groups}; one \
                 thread sends over 100,000 requests per second."
            ));
        }
        Ok(())
    }

    fn check_body(&self) -> Result<(), PlanError> {
        if !self.values.is_empty() {
            let of_values = [
                ("A body in chunks", self.requests().any(|one| one.is_chunked())),
                ("--body-file", self.body_file.is_some()),
                ("--all-addresses", self.connect.all_addresses),
                ("Expect: 100-continue", self.waits_for_continue()),
                (
                    "--requests-per-connection over HTTP/1.1",
                    self.requests_per_connection.is_some() && !self.protocol.multiplexes(),
                ),
            ];
            if let Some((what, _)) = of_values.iter().find(|(_, given)| *given) {
                return wrong(format!(
                    "{what} cannot be used with --generate and --data: leave one of them out."
                ));
            }
        }
        if self.chunked && !self.requests().any(|one| one.is_chunked()) {
            return wrong(
                "--chunked is how a body is sent, and no request has one: give -b, or leave it out.",
            );
        }
        if self.pipeline > 1 && self.waits_for_continue() {
            return wrong("With Expect: 100-continue a request waits before its body: leave it, or -p, out.");
        }
        if self.body_file.is_none() {
            return Ok(());
        }
        if !self.body.is_empty() || self.work.list().is_some() {
            return wrong(
                "--body-file is the body of one request: leave out -b, or --targets, whose lines have their own.",
            );
        }
        if self.pipeline > 1 || self.protocol.multiplexes() {
            return wrong(
                "--body-file is sent one at a time over HTTP/1.1: leave out -p and --http2, or give -b @FILE.",
            );
        }
        Ok(())
    }

    /// What a list that stays in its file cannot be sent with.
    fn check_long_list(&self) -> Result<(), PlanError> {
        if self.work.list().is_none_or(|list| list.long().is_none()) {
            return Ok(());
        }
        let unfit = [
            ("--http2", self.protocol.multiplexes()),
            ("--generate and --data", !self.values.is_empty()),
            ("Expect: 100-continue", self.waits_for_continue()),
            ("--requests-per-connection", self.requests_per_connection.is_some()),
        ];
        match unfit.iter().find(|(_, given)| *given) {
            Some((what, _)) => wrong(format!(
                "{what} cannot be used with a list of over {LINES_MAX} requests, which is read while it is sent: leave it \
                 out, or give a shorter list."
            )),
            None => Ok(()),
        }
    }

    fn check_pipeline(&self) -> Result<(), PlanError> {
        if self.pipeline == 0 || self.pipeline > PIPELINE_MAX {
            return wrong(format!(
                "{} requests at once on a connection: give -p between 1 and {PIPELINE_MAX}.",
                self.pipeline
            ));
        }
        if self.requests_per_connection.is_some_and(|requests| requests < 2 || !self.keepalive) {
            return wrong(
                "--requests-per-connection is at least 2, and not beside --no-keepalive, which is 1.",
            );
        }
        if let Some(life) = self.life().filter(|life| *life < self.pipeline) {
            return wrong(format!(
                "A connection that serves {} cannot carry {} at once: give a lower -p, a higher --requests-per-connection, or leave --no-keepalive out.",
                count(life.into(), "request", "requests"),
                self.pipeline
            ));
        }
        if self.pipeline > 1 && self.life().is_some() && !self.protocol.multiplexes() {
            return wrong(
                "--requests-per-connection and -p cannot be used together over HTTP/1.1: give one of them, or --http2.",
            );
        }
        if self.pipeline > 1 && matches!(self.arrivals, Arrivals::ConnectionStages(_)) {
            return wrong("Stages of connections and -p cannot be used together: leave one out.");
        }
        if u64::from(self.connections) * u64::from(self.pipeline) > IN_FLIGHT_MAX {
            return wrong(format!(
                "{} connections with {} requests in flight each are over {IN_FLIGHT_MAX} in all: give a \
                 lower -c or -p.",
                self.connections, self.pipeline
            ));
        }
        Ok(())
    }

    /// Whether each line of its list has an instant, and the last one is due within a day.
    fn check_replay(&self) -> Result<(), PlanError> {
        let Some(replay) = self.arrivals.replay() else { return Ok(()) };
        let is_its_list = |list: &TargetList| {
            list.order == Order::InTurn
                && list.lines.len() as u64 == replay.entries()
                && self.origins().len() == 1
        };
        if !self.work.list().is_some_and(is_its_list) {
            return wrong("The replay's instants are not those of the plan's list of requests.");
        }
        replay.check(self.stop.requests)?;
        let last = self.stop.requests.and_then(|requests| replay.due_ns(requests.saturating_sub(1)));
        if let (None, Some(last)) = (self.stop.duration, last)
            && last > nanoseconds(DURATION_MAX)
        {
            return wrong(
                "The log's last request is due after more than a day: give a higher --speed, or -d, which ends the load \
                 before.",
            );
        }
        Ok(())
    }

    fn check_stages(&self) -> Result<(), PlanError> {
        let Some(stages) = self.arrivals.stages() else { return Ok(()) };
        let length: Duration = stages.iter().map(|stage| stage.duration.min(DURATION_MAX)).sum();
        if stages.len() > STAGES_MAX || length > DURATION_MAX {
            return wrong(format!("At most {STAGES_MAX} stages, which may last a day in all, can be given."));
        }
        let ends = |stage: &Stage| stage.to;
        if stages.iter().map(ends).max().unwrap_or(0) == 0 {
            return wrong("Stages that stay at 0 load nothing: give one a rate or connections.");
        }
        if length.is_zero() {
            return wrong("Stages that last 0 s in all load nothing: give one a length.");
        }
        if self.warmup >= length {
            return wrong("The warm-up takes all of the stages: give a shorter --warmup, or none.");
        }
        // Caps and limits are held against `connections`, and what is opened is by the stages.
        if matches!(self.arrivals, Arrivals::ConnectionStages(_))
            && most_connections(&self.arrivals) != self.connections
        {
            return wrong("Stages of connections need as many connections as the highest of them has.");
        }
        let highest_rate = Rate::MAX_PER_S * 1e6;
        if matches!(self.arrivals, Arrivals::RateStages(_))
            && stages.iter().any(|s| s.to as f64 > highest_rate)
        {
            return wrong(format!("A stage's rate may be at most {} per second.", Rate::MAX_PER_S));
        }
        Ok(())
    }
}
