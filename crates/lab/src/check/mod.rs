//! Whether a server does what every server of an experiment must do.
//!
//! A server that answers something else, or less, than the others would be compared by
//! another job than theirs: the contract is checked in full once per candidate. The client is one of its own, one
//! request at a time; what an answer of HTTP/1.1 or HTTP/2 is, the load engine's framing says, so that a server that passes
//! can be measured, and one whose answers the engine would refuse is told why before any load.

use std::collections::BTreeMap;

use prony_model::plan::Protocol;
use prony_model::run_log::Sleep;
use serde::{Deserialize, Serialize};

mod client;
mod contract;
mod custom;
mod json_path;
mod parallel;
mod route;

pub(crate) use contract::{Never, NotReady, check, ready};
pub(crate) use custom::{CustomCheck, validate_checks, written_field, written_secret};
pub(crate) use route::Route;

/// Every route of text answers this.
pub(crate) const GREETING: &str = "Hello, World!";

/// What is expected of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContractExpectation {
    /// The routes of the contract that it answers.
    pub(crate) routes: Vec<Route>,
    /// Whether it keeps connections; `None`: nobody said, so only what is seen is noted.
    pub(crate) keepalive: Option<bool>,
    /// Checks of its own. If there are any, only they and keep-alive are checked.
    pub(crate) custom: Vec<CustomCheck>,
    /// Workers it was told to use; 0 is taken for 1.
    pub(crate) workers: u32,
}

/// What was found about a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// One for each thing checked, in order.
    pub results: Vec<CheckResult>,
    /// The body of the first right answer of each route.
    bodies: BTreeMap<Route, Vec<u8>>,
    /// What becomes of requests that wait at the same time; `None` where that could not be seen.
    #[serde(default)]
    pub sleep: Option<Sleep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was checked, `GET /json`.
    pub name: String,
    /// Whether it was as expected.
    pub passed: bool,
    /// A note says something worth knowing; the server may be measured all the same.
    pub note: bool,
    /// What was seen, in a sentence.
    pub detail: String,
    /// What went over the wire, printable and at most 2 KiB, if it was not as expected.
    pub wire: Option<String>,
}

impl CheckReport {
    /// Whether the server may be measured: everything but notes is as expected.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| result.passed || result.note)
    }

    /// Adds what was found by another protocol.
    pub(crate) fn add(&mut self, other: CheckReport) {
        self.results.extend(other.results);
        self.sleep = self.sleep.or(other.sleep);
    }

    /// Adds that nothing could be asked by a protocol, and why.
    pub(crate) fn fail(&mut self, protocol: Protocol, why: String) {
        let name = named("connection", protocol);
        self.results.push(CheckResult { name, passed: false, note: false, detail: why, wire: None });
    }

    /// What is not as expected, notes left out.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|result| !result.passed && !result.note)
    }

    /// The bodies that routes were right with: what each answer under load is compared with,
    /// where the contract leaves the bytes open (spaces in JSON, the order of keys).
    pub(crate) fn bodies(&self) -> &BTreeMap<Route, Vec<u8>> {
        &self.bodies
    }
}

/// What a check is called by a protocol.
fn named(name: &str, protocol: Protocol) -> String {
    match protocol {
        Protocol::Http1 => name.to_owned(),
        Protocol::Http2 => format!("{name} over HTTP/2"),
    }
}

/// The body that the contract prescribes byte by byte; `None` where it leaves some freedom, and
/// [`CheckReport::bodies`] says what this server answers.
pub(crate) fn expected_body(route: Route) -> Option<Vec<u8>> {
    match route {
        Route::Text | Route::Sleep => Some(GREETING.as_bytes().to_vec()),
        Route::Work => Some(work(WORK_STEPS_DEFAULT).into_bytes()),
        Route::Json | Route::Echo => None,
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
mod tests;
