//! What each kind of candidate is asked, and what answer is right.

use std::net::{SocketAddr, ToSocketAddrs};

use prony_load::Target;
use prony_load::plan::Expect;

use super::Ask;
use crate::candidate::Candidate;
use crate::check::{self, CheckReport, ContractExpectation, CustomCheck, expected_body};
use crate::recipe::Route;

/// What is asked of one candidate.
#[derive(Debug, Clone)]
pub(crate) struct Aim {
    pub(super) path: String,
    pub(super) expect: Expect,
    /// The route of the contract, where it is that.
    route: Option<Route>,
    expectation: ContractExpectation,
}

impl Aim {
    /// `checks` are the experiment's, which replace the contract and a recipe's own.
    pub(crate) fn of(candidate: &Candidate, route: Route, ask: &Ask, checks: &[CustomCheck]) -> Aim {
        let mut expectation = candidate.expectation();
        if candidate.server().is_none() {
            let own = expectation.custom.first().map(|check| check.method_and_path().1.to_owned());
            let path = own.filter(|_| candidate.as_url().is_some()).unwrap_or_else(|| ask.path.clone());
            expectation.custom = vec![CustomCheck::answers(&path)];
            return Aim { path, expect: ask.expect.clone(), route: None, expectation };
        }
        if !checks.is_empty() {
            checks.clone_into(&mut expectation.custom);
        }
        // Own checks replace the contract: the first that can be asked by GET is the load.
        if let Some(own) = expectation.custom.iter().find(|check| check.is_loadable()) {
            let body = own.body.clone().map(String::into_bytes);
            let expect = Expect { status: own.status, body, ..Expect::default() };
            return Aim { path: own.method_and_path().1.to_owned(), expect, route: None, expectation };
        }
        let expect = Expect { status: Some(200), body: expected_body(route), ..Expect::default() };
        Aim { path: route.path().to_owned(), expect, route: Some(route), expectation }
    }

    /// Asks once whether it answers; why not, in a sentence.
    pub(crate) fn ready(&self, address: SocketAddr) -> Result<(), String> {
        let ready = match self.route {
            Some(route) => check::ready(address, route),
            None => check::ready_path(address, &self.path, &self.expect),
        };
        ready.map_err(|not_yet| not_yet.reason)
    }

    /// The full check. Where the contract leaves a body some freedom, what was
    /// seen here is what every answer under load is held against.
    pub(crate) fn check(&mut self, address: SocketAddr, workers: u32) -> CheckReport {
        self.expectation.workers = workers;
        let report = check::check(address, &self.expectation);
        if let Some(route) = self.route.filter(|_| self.expect.body.is_none()) {
            self.expect.body = report.body_seen(route).map(<[u8]>::to_vec);
        }
        report
    }

    /// Where a server of the lab's is loaded.
    pub(super) fn target(&self, address: SocketAddr) -> Target {
        Target {
            host: address.ip().to_string(),
            port: address.port(),
            path: self.path.clone(),
            userinfo: None,
            tls: false,
        }
    }
}

/// The target and the address of a server that somebody else runs.
pub(super) fn of_url(url: &str) -> Result<(Target, SocketAddr), String> {
    let target = Target::parse(url).map_err(|why| why.0)?;
    let found = (target.host.as_str(), target.port).to_socket_addrs();
    let address =
        found.map_err(|why| format!("The host {:?} could not be resolved: {why}.", target.host))?.next();
    let address = address.ok_or_else(|| format!("The host {:?} has no address.", target.host))?;
    Ok((target, address))
}

/// The failures of a check as a sentence, with what went over the wire.
pub(super) fn failures(label: &str, report: &CheckReport) -> String {
    let mut text = format!("{label} does not do what every server of this run must:");
    for failure in report.failures() {
        text.push_str(&format!(" {}: {}", failure.name, failure.detail));
        if let Some(wire) = &failure.wire {
            text.push_str(&format!("\n{}", wire.trim_end()));
        }
    }
    text
}
