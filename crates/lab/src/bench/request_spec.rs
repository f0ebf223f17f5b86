//! What each kind of candidate is asked, and what answer is right.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use prony_load::dial::Dialer;
use prony_model::plan::{Expect, Protocol, seed_of};
use prony_model::secret::hide_headers;
use prony_model::tls::{Roots, Tls, Verify};
use prony_model::{Plan, Secret, Target};

use crate::candidate::Candidate;
use crate::check::{self, CheckReport, ContractExpectation, CustomCheck, NotReady, Route, expected_body};
use crate::experiment::{Experiment, ExperimentPlan};

/// Where a candidate is, once it is up: what its check and its load connect to.
pub(super) struct Endpoint {
    pub(super) target: Target,
    /// The Unix socket instead of the target's host and port.
    pub(super) unix: Option<PathBuf>,
    pub(super) dialer: Dialer,
    /// The certificate that was made for it.
    certificate: Option<Roots>,
}

impl Endpoint {
    /// A load of it: over its socket, and trusting its certificate.
    pub(super) fn reached_by(&self, load: Plan) -> Plan {
        let tls = trusting(&load.tls, self.certificate.as_ref());
        Plan { target: self.target.clone(), unix: self.unix.clone(), tls, ..load }
    }

    /// The same by another protocol, as [`RequestSpec::endpoint`].
    pub(super) fn over(&self, spec: &RequestSpec, protocol: Protocol) -> Result<Endpoint, String> {
        spec.endpoint(self.target.clone(), self.unix.clone(), self.certificate.clone(), protocol)
    }
}

/// How TLS is spoken with a server for which this certificate was made: it is trusted, unless the plan says whom to trust.
fn trusting(asked: &Tls, certificate: Option<&Roots>) -> Tls {
    match (certificate, &asked.verify) {
        (Some(roots), Verify::System) => Tls { verify: Verify::Roots(roots.clone()), ..asked.clone() },
        _ => asked.clone(),
    }
}

/// What is asked of one candidate.
#[derive(Debug, Clone)]
pub(super) struct RequestSpec {
    pub(super) path: String,
    expect: Expect,
    /// The route of the contract, where it is that.
    route: Option<Route>,
    /// By what it is ready.
    request: CustomCheck,
    /// Headers of the load beside the plan's own.
    headers: Vec<(String, Secret)>,
    /// How TLS is spoken, where it speaks it.
    tls: Tls,
    expectation: ContractExpectation,
}

impl RequestSpec {
    /// Of a candidate of an experiment: of a server of the catalogue the experiment's route or checks, of a command
    /// what the plans say, and of a URL that of its path.
    pub(super) fn of(candidate: &Candidate, experiment: &Experiment) -> RequestSpec {
        let Some(ExperimentPlan { load, .. }) = experiment.plans.first() else {
            return RequestSpec::of_server(candidate, experiment.route, &experiment.checks);
        };
        if candidate.server().is_some() {
            let spec = RequestSpec::of_server(candidate, experiment.route, &experiment.checks);
            return RequestSpec { tls: load.tls.clone(), ..spec };
        }
        let mut expectation = candidate.expectation();
        let own = expectation.custom.first().map(|check| check.method_and_path().1.to_owned());
        let path = own.filter(|_| candidate.as_url().is_some()).unwrap_or_else(|| load.target.path.clone());
        let request = as_check(load, &path, candidate.as_url());
        expectation.custom = vec![request.clone()];
        let (expect, headers, tls) = (load.expect.clone(), Vec::new(), load.tls.clone());
        RequestSpec { path, expect, route: None, request, headers, tls, expectation }
    }

    /// Of a server of the catalogue; `checks` are the experiment's, which replace the contract and a recipe's own.
    pub(super) fn of_server(candidate: &Candidate, route: Route, checks: &[CustomCheck]) -> RequestSpec {
        let mut expectation = candidate.expectation();
        if !checks.is_empty() {
            checks.clone_into(&mut expectation.custom);
        }
        // Own checks replace the contract: the first that can be asked by GET is the load.
        if let Some(own) = expectation.custom.iter().find(|check| check.is_loadable()) {
            let body = own.body.clone().map(String::into_bytes);
            let expect = Expect { status: own.status, body, ..Expect::default() };
            let (path, request) = (own.method_and_path().1.to_owned(), own.clone());
            let (headers, tls) = (request.headers.clone(), Tls::default());
            return RequestSpec { path, expect, route: None, request, headers, tls, expectation };
        }
        let expect = Expect { status: Some(200), body: expected_body(route), ..Expect::default() };
        let path = route.path().to_owned();
        let (request, headers) = (CustomCheck::of_route(route), Vec::new());
        RequestSpec { path, expect, route: Some(route), request, headers, tls: Tls::default(), expectation }
    }

    /// The endpoint of a candidate that is reached so, by this protocol.
    pub(super) fn endpoint(
        &self,
        target: Target,
        unix: Option<PathBuf>,
        certificate: Option<Roots>,
        protocol: Protocol,
    ) -> Result<Endpoint, String> {
        let tls = trusting(&self.tls, certificate.as_ref());
        let plan = Plan { unix: unix.clone(), tls, protocol, ..Plan::closed(target.clone()) };
        let dialer = Dialer::of(&plan).map_err(|why| why.to_string())?;
        Ok(Endpoint { target, unix, dialer, certificate })
    }

    /// A plan aimed at a target, with the headers of the check that it asks again and again; the plan's own come first.
    /// The candidates of a block have one seed in common, and each block another.
    pub(super) fn plan(
        &self,
        plan: &ExperimentPlan,
        target: Target,
        cpus: &[u32],
        experiment: &Experiment,
        block: u32,
    ) -> Plan {
        let seed = seed_of(experiment.seed, block);
        let mut plan = plan.aimed(target, self.expect.clone(), cpus, seed);
        for (name, value) in &self.headers {
            if !plan.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                plan.headers.push((name.clone(), value.clone()));
            }
        }
        hide_headers(&mut plan.headers, &experiment.redact);
        plan
    }

    /// Asks once whether it answers.
    pub(super) fn ready(&self, endpoint: &Endpoint) -> Result<(), NotReady> {
        // A route is loaded with its right answer, and ready with any that is none of an error.
        let any = Expect::default();
        let expect = if self.route.is_some() { &any } else { &self.expect };
        check::ready(&endpoint.dialer, &self.request, expect)
    }

    /// The full check. Where the contract leaves a body some freedom, what was
    /// seen here is what every answer under load is held against.
    pub(super) fn check(&mut self, endpoint: &Endpoint, workers: u32) -> CheckReport {
        self.expectation.workers = workers;
        let report = check::check(&endpoint.dialer, &self.expectation);
        if let Some(route) = self.route.filter(|_| self.expect.body.is_none()) {
            self.expect.body = report.body_seen(route).map(<[u8]>::to_vec);
        }
        report
    }

    /// What is loaded of a server of the lab's that was given this address and port.
    pub(super) fn target(&self, address: Ipv4Addr, port: u16, tls: bool) -> Target {
        Target { host: address.to_string(), port, path: self.path.clone(), userinfo: None, tls }
    }
}

/// A load's request, of a list its first, as the check that it is answered, by a candidate that has this URL.
fn as_check(load: &Plan, path: &str, url: Option<&Target>) -> CustomCheck {
    let given = load.headers.clone();
    let headers = match url {
        Some(url) => url.headers(given),
        None => given,
    };
    let listed = load.work.list().and_then(|list| list.requests.first());
    let (method, path) = listed.map_or((load.work.method(), path), |first| (&first.method, &first.path));
    let has_body = !load.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    CustomCheck {
        request: format!("{method} {path}"),
        send: has_body.then(|| load.body.clone()),
        headers,
        status: load.expect.status,
        ..CustomCheck::default()
    }
}

/// The failures of a check as a sentence, with what went over the wire.
pub(super) fn failures(label: &str, report: &CheckReport) -> String {
    let mut text = format!("{label} does not respond as every server of this run must:");
    for failure in report.failures() {
        text.push_str(&format!(" {}: {}", failure.name, failure.detail));
        if let Some(wire) = &failure.wire {
            text.push_str(&format!("\n{}", wire.trim_end()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use prony_model::list::{Order, TargetList};
    use prony_model::plan::Work;

    use super::super::tests::setup;
    use super::*;

    #[test]
    fn the_lines_of_a_list_are_held_to_no_routes_answer_and_its_first_is_what_a_command_is_checked_by() {
        let root = tempfile::tempdir().unwrap();
        let mut setup = setup(root.path(), &[("a", "SELF serve {port}")], 1);
        let target = Target::parse("http://127.0.0.1/").unwrap();
        let list = TargetList::parse(b"POST /b?c\n/json\n", Some(&target), "GET", Order::InTurn).unwrap().1;
        setup.experiment.plans[0].load.work = Work::List(list);
        let (candidate, experiment) = (&setup.candidates[0].candidate, &setup.experiment);
        let spec = RequestSpec::of(candidate, experiment);
        assert_eq!((spec.request.request.as_str(), spec.path.as_str()), ("POST /b?c", "/"));
        // Of a server of the catalogue, whose contract has a body for its route.
        let mut spec = RequestSpec::of_server(candidate, Route::Text, &[]);
        spec.expect.body = Some(b"Hello, World!".to_vec()); // as its check has seen it
        let plan = |named: &ExperimentPlan| spec.plan(named, target.clone(), &[], experiment, 0).expect;
        assert_eq!(plan(&experiment.plans[0]), Expect::default());
        let mut own = experiment.plans[0].clone();
        own.load.expect.status = Some(200);
        assert_eq!(plan(&own).status, Some(200), "what the plan itself says is for every line");
        own.load.work = Work::Request("GET".to_owned());
        own.load.expect = Expect::default();
        assert_eq!(plan(&own), spec.expect);
    }
}
