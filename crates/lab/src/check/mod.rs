//! Whether a server does what every server of an experiment must do.
//!
//! One that answers something else, or less, would be compared by another job: the contract is checked in full once per
//! candidate. The client is its own; what an answer is, the load engine's framing says, so who passes can be measured.

use std::collections::BTreeMap;

use prony_model::plan::Protocol;
use prony_model::run_log::Sleep;
use prony_model::secret::redacted;
use serde::{Deserialize, Serialize};

mod client;
mod contract;
mod custom;
mod fortunes;
mod json_path;
mod parallel;
mod realistic;
mod route;

pub use client::post;
pub(crate) use contract::{Never, NotReady, check, ready};
pub(crate) use custom::{CustomCheck, instead, validate_checks, written_field, written_out, written_secret};
#[cfg(test)]
pub(crate) use fortunes::ROWS as FORTUNES;
pub(crate) use realistic::{DB_IDS, JSON_TYPE, UPSTREAM_DELAY, db_path, json_body};
pub(crate) use route::{DB, Route, UPSTREAM};

pub(crate) const GREETING: &str = "Hello, World!";

#[derive(Debug, Clone, Default)]
pub(crate) struct ContractExpectation {
    pub(crate) routes: Vec<Route>,
    /// Whether it keeps connections; `None`: nobody said, so only what is seen is noted.
    pub(crate) keepalive: Option<bool>,
    pub(crate) custom: Vec<CustomCheck>,
    /// Workers it was told to use; 0 is taken for 1.
    pub(crate) workers: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    pub results: Vec<CheckResult>,
    bodies: BTreeMap<String, Vec<u8>>,
    /// What becomes of requests that wait at the same time; `None` where that could not be seen.
    #[serde(default)]
    pub sleep: Option<Sleep>,
    /// Whether a route was left out, whose service did not start.
    #[serde(default)]
    pub unchecked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was checked, `GET /json`.
    pub name: String,
    pub passed: bool,
    /// A note says something worth knowing; the server may be measured all the same.
    pub note: bool,
    pub detail: String,
    /// What went over the wire, printable and at most 2 KiB, if it was not as expected.
    pub wire: Option<String>,
}

impl CheckReport {
    /// Whether the server may be measured: everything but notes is as expected.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| result.passed || result.note)
    }

    pub(crate) fn add(&mut self, other: CheckReport) {
        self.results.extend(other.results);
        self.sleep = self.sleep.or(other.sleep);
    }

    pub(crate) fn fail(&mut self, protocol: Protocol, why: String) {
        let name = named("connection", protocol);
        self.results.push(CheckResult { name, passed: false, note: false, detail: why, wire: None });
    }

    /// Writes down that routes were not asked for, and why: they are not passed.
    pub(crate) fn leave_out(&mut self, routes: &[Route], why: &str) {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        for route in routes {
            let name = format!("{} {}", route.method(), route.path());
            let detail = redacted(&format!("Not checked. {why}"));
            self.results.push(CheckResult { name, passed: false, note: true, detail, wire: None });
        }
        self.unchecked |= !routes.is_empty();
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|result| !result.passed && !result.note)
    }

    /// The bodies that routes were right with: for answers under load, where the contract leaves bytes open.
    pub(crate) fn bodies(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.bodies
    }
}

fn named(name: &str, protocol: Protocol) -> String {
    match protocol {
        Protocol::Http1 => name.to_owned(),
        Protocol::Http2 => format!("{name} over HTTP/2"),
    }
}

/// The body that the contract prescribes byte by byte; `None` where it leaves freedom: see [`CheckReport::bodies`].
pub(crate) fn expected_body(route: Route) -> Option<Vec<u8>> {
    match route {
        Route::Text | Route::Sleep | Route::Upstream => Some(GREETING.as_bytes().to_vec()),
        Route::EchoJson => Some(json_body()),
        Route::Work => Some(work(WORK_STEPS_DEFAULT).into_bytes()),
        Route::Json | Route::Echo | Route::Db | Route::Fortunes => None,
    }
}

/// Steps that `GET /work` takes where the request does not say how many.
pub(crate) const WORK_STEPS_DEFAULT: u32 = 1000;

/// What `GET /work?n=N` answers: the N-th number of a linear congruential generator (Knuth,
/// Numerical Recipes' constants), so that a server cannot leave the work out.
pub(crate) fn work(steps: u32) -> String {
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (0..steps).fold(0, step).to_string()
}

#[cfg(test)]
mod framing_tests;
#[cfg(test)]
mod http2_tests;
#[cfg(test)]
mod realistic_tests;
#[cfg(test)]
mod tests;
