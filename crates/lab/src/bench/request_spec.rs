//! What each kind of candidate is asked, and what answer is right.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use prony_load::dial::Dialer;
use prony_model::connect::Connect;
use prony_model::list::OwnParts;
use prony_model::plan::{Expect, Protocol, Work, seed_of};
use prony_model::secret::gives;
use prony_model::tls::{Roots, Tls, Verify};
use prony_model::values::Place;
use prony_model::{Plan, Secret, Target};

use crate::candidate::Candidate;
use crate::check::{
    self, CheckReport, ContractExpectation, CustomCheck, DB_IDS, NotReady, Route, db_path, expected_body,
};
use crate::experiment::{Experiment, ExperimentPlan};

pub(super) struct Endpoint {
    pub(super) target: Target,
    /// The Unix socket instead of the target's host and port.
    pub(super) unix: Option<PathBuf>,
    pub(super) dialer: Dialer,
    certificate: Option<Roots>,
}

impl Endpoint {
    pub(super) fn reached_by(&self, load: Plan) -> Plan {
        let tls = trusting(&load.tls, self.certificate.as_ref());
        Plan { unix: self.unix.clone(), tls, ..load }
    }

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

#[derive(Debug, Clone, Default)]
pub(super) struct RequestSpec {
    /// What its loads request; `None`: what their plans say.
    path: Option<String>,
    expect: Expect,
    contract: Option<BTreeMap<String, Vec<u8>>>,
    request: CustomCheck,
    headers: Vec<(String, Secret)>,
    tls: Tls,
    connect: Connect,
    expectation: ContractExpectation,
}

impl RequestSpec {
    /// Of a candidate of an experiment: of a server of the catalogue the experiment's route or checks, of a command
    /// what the plans say, and of a URL that of its path.
    pub(super) fn of(candidate: &Candidate, experiment: &Experiment) -> RequestSpec {
        // It is ready by what the first of its plans requests.
        let asked = experiment.plans.iter().find(|plan| experiment.has_route(candidate, plan));
        let route = asked.and_then(|plan| plan.route).unwrap_or(experiment.route);
        let Some(ExperimentPlan { load, .. }) = experiment.plans.first() else {
            return RequestSpec::of_server(candidate, route, &experiment.checks);
        };
        if candidate.server().is_some() {
            let spec = RequestSpec::of_server(candidate, route, &experiment.checks);
            return RequestSpec { tls: load.tls.clone(), connect: load.connect.clone(), ..spec };
        }
        let mut expectation = candidate.expectation();
        let path = candidate.as_url().map(|url| url.path.clone());
        let request = as_check(load, path.as_ref().unwrap_or(&load.target.path), candidate.as_url());
        expectation.custom = vec![request.clone()];
        let (expect, tls, connect) = (load.expect.clone(), load.tls.clone(), load.connect.clone());
        RequestSpec { path, expect, request, tls, connect, expectation, ..RequestSpec::default() }
    }

    /// Of a server of the catalogue outside of an experiment: its text, or the first route that it has.
    pub(super) fn of_contract(candidate: &Candidate) -> RequestSpec {
        let routes = candidate.routes();
        let route =
            if routes.contains(&Route::Text) { Route::Text } else { *routes.first().unwrap_or(&Route::Text) };
        RequestSpec::of_server(candidate, route, &[])
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
            let expect = Expect { status: own.status, body, json: own.values(), ..Expect::default() };
            let (path, request) = (Some(own.method_and_path().1.to_owned()), own.clone());
            let headers = request.headers.clone();
            return RequestSpec { path, expect, request, headers, expectation, ..RequestSpec::default() };
        }
        let (request, contract) = (CustomCheck::of_route(route), Some(BTreeMap::new()));
        RequestSpec { contract, request, expectation, ..RequestSpec::default() }
    }

    pub(super) fn endpoint(
        &self,
        target: Target,
        unix: Option<PathBuf>,
        certificate: Option<Roots>,
        protocol: Protocol,
    ) -> Result<Endpoint, String> {
        let tls = trusting(&self.tls, certificate.as_ref());
        let connect = self.connect.clone();
        let plan = Plan { unix: unix.clone(), tls, connect, protocol, ..Plan::closed(target.clone()) };
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
        let (path, expect) = self.path_and_expect(plan, experiment);
        let mut own = self.own_parts(&plan.load, experiment);
        let mut plan = plan.aimed(Target { path, ..target }, expect, cpus, seed);
        if let Work::List(list) = &mut plan.work {
            for request in &mut list.requests {
                if let Some(parts) = own.get_mut(&(request.method.clone(), request.path.clone())) {
                    request.own.get_or_insert_default().fill(parts);
                }
            }
        }
        for (name, value) in &self.headers {
            if !gives(&plan.headers, name) {
                plan.headers.push((name.clone(), value.clone()));
            }
        }
        plan.hide_headers(&experiment.redact);
        plan
    }

    fn path_and_expect(&self, plan: &ExperimentPlan, experiment: &Experiment) -> (String, Expect) {
        let route = plan.route.unwrap_or(experiment.route);
        if let Some(seen) = &self.contract {
            // The path of a list is that of its lines.
            let path = plan.load.work.list().map_or(route.path(), |_| "/");
            return (path.to_owned(), right_answer(route, route.path(), seen));
        }
        let own = self.path.clone().filter(|_| plan.route.is_none());
        (own.unwrap_or_else(|| plan.load.target.path.clone()), self.expect.clone())
    }

    /// What single lines of a plan's list have of their own, by method and path: what the experiment's `[[check]]` of that
    /// request sends and expects, or what the contract says of that route. What the plan itself expects is of all lines.
    fn own_parts(&self, load: &Plan, experiment: &Experiment) -> BTreeMap<(String, String), OwnParts> {
        let is_open = load.expect == Expect::default();
        let of_check = |check: &CustomCheck| {
            let (method, path) = check.method_and_path();
            let body = check.body.clone().map(String::into_bytes);
            let expect = Expect { status: check.status, body, json: check.values(), ..Expect::default() };
            let (headers, body) = (check.headers.clone(), check.send.clone());
            (
                (method.to_owned(), path.to_owned()),
                OwnParts { headers, body, expect: is_open.then_some(expect), ..OwnParts::default() },
            )
        };
        // Of two checks of a request the first is its own.
        let mut own: BTreeMap<_, _> = experiment.checks.iter().rev().map(of_check).collect();
        if let Some(seen) = self.contract.as_ref().filter(|_| is_open) {
            for route in &self.expectation.routes {
                let mut insert = |path: String, expect| {
                    let request = (route.method().to_owned(), path);
                    own.insert(request, OwnParts { expect: Some(expect), ..OwnParts::default() });
                };
                match route {
                    // Without a time the contract says nothing of it.
                    Route::Sleep => {}
                    Route::Echo | Route::EchoJson => {
                        let body = Some(load.body.clone());
                        insert(
                            route.path().to_owned(),
                            Expect { status: Some(200), body, ..Expect::default() },
                        );
                    }
                    Route::Db => DB_IDS.map(db_path).into_iter().for_each(|path| {
                        let expect = right_answer(*route, &path, seen);
                        insert(path, expect);
                    }),
                    _ => insert(route.path().to_owned(), right_answer(*route, route.path(), seen)),
                }
            }
        }
        own
    }

    pub(super) fn ready(&self, endpoint: &Endpoint) -> Result<(), NotReady> {
        // A route is loaded with its right answer, and ready with any that is none of an error.
        let status = self.request.status.filter(|_| self.contract.is_none());
        check::ready(&endpoint.dialer, &self.request, &Expect { status, ..Expect::default() })
    }

    /// The full check. Where the contract leaves a body some freedom, what was
    /// seen here is what every answer under load is held against. Of the contract's services there are these; routes that
    /// need another are left out.
    pub(super) fn check(&mut self, endpoint: &Endpoint, workers: u32, services: &[&str]) -> CheckReport {
        let mut expectation = ContractExpectation { workers, ..self.expectation.clone() };
        expectation.routes.retain(|route| route.needs().is_none_or(|name| services.contains(&name)));
        let report = check::check(&endpoint.dialer, &expectation);
        for (path, body) in report.bodies() {
            if let Some(seen) = &mut self.contract {
                seen.entry(path.clone()).or_insert_with(|| body.clone());
            }
        }
        report
    }

    pub(super) fn target(&self, address: Ipv4Addr, port: u16, tls: bool) -> Target {
        Target { host: address.to_string(), port, path: "/".to_owned(), userinfo: None, tls }
    }
}

/// The answer of the contract; where it leaves a body some freedom, that which was seen.
fn right_answer(route: Route, path: &str, seen: &BTreeMap<String, Vec<u8>>) -> Expect {
    let body = expected_body(route).or_else(|| seen.get(path).cloned());
    Expect { status: Some(200), body, ..Expect::default() }
}

/// A load's request, of a list its first with what it has of its own, as the check that it is answered, by a candidate that
/// has this URL. Of a body in a file it sends the first MiB.
fn as_check(load: &Plan, path: &str, url: Option<&Target>) -> CustomCheck {
    let Some(one) = load.requests().next() else { return CustomCheck::answers(path) };
    let path = load.work.list().map_or(path, |_| one.path);
    let userinfo = one.userinfo.or_else(|| url?.userinfo.as_ref()).cloned();
    let headers = Target { userinfo, ..load.target.clone() }.headers(one.headers().cloned().collect());
    // Those of the first request stand for its values.
    let first = |text: &[u8], place| load.values.first(text, place, load.seed);
    let text = |text: &str, place| String::from_utf8_lossy(&first(text.as_bytes(), place)).into_owned();
    let as_first = |(name, value): (String, Secret)| match text(value.value(), Place::Text) {
        same if same == value.value() => (name, value),
        other => (name, Secret::hidden(other)),
    };
    let has_body = one.content_length().is_some() || one.is_chunked();
    let body = || match one.body_file() {
        Some(file) => file.beginning().unwrap_or_default(),
        None => first(one.body(), Place::of_body(&one)),
    };
    CustomCheck {
        request: format!("{} {}", one.method, text(path, Place::Url)),
        send: has_body.then(body),
        headers: headers.into_iter().map(as_first).collect(),
        status: one.expect().status,
        ..CustomCheck::default()
    }
}

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
    use prony_model::list::{Format, ListedRequest, Order, TargetList};
    use prony_model::plan::BodyFile;
    use prony_model::values::Generator;

    use super::super::BenchSetup;
    use super::super::tests::setup;
    use super::*;
    use crate::check::GREETING;

    fn setup_with_list(text: &[u8]) -> (tempfile::TempDir, BenchSetup) {
        let root = tempfile::tempdir().unwrap();
        let mut setup = setup(root.path(), &[("a", "SELF serve {port}")], 1);
        let list = TargetList::parse(text, Some(&target()), "GET", Order::InTurn).unwrap().1;
        setup.experiment.plans[0].load.work = Work::List(list);
        (root, setup)
    }

    fn target() -> Target {
        Target::parse("http://127.0.0.1/").unwrap()
    }

    /// What each line's answer must be, in the order of the list; `None`: what the plan says of all.
    fn expected(plan: &Plan) -> Vec<Option<Expect>> {
        let own = |one: &ListedRequest| one.own.as_ref().and_then(|own| own.expect.clone());
        plan.work.list().unwrap().requests.iter().map(own).collect()
    }

    fn ok(body: &str) -> Expect {
        Expect { status: Some(200), body: Some(body.into()), ..Expect::default() }
    }

    #[test]
    fn each_line_of_a_list_is_held_to_its_own_route() {
        let (_root, setup) = setup_with_list(b"/\n/json\n/other\nPOST /json\n/sleep\n");
        let (candidate, experiment) = (&setup.candidates[0].candidate, &setup.experiment);
        let mut spec = RequestSpec::of_server(candidate, Route::Text, &[]);
        spec.expectation.routes = vec![Route::Text, Route::Json, Route::Sleep];
        spec.contract = Some(BTreeMap::from([("/json".to_owned(), b"{}".to_vec())])); // as its check has seen it
        let mut named = experiment.plans[0].clone();
        let plan = |named: &ExperimentPlan| spec.plan(named, target(), &[], experiment, 0);
        assert_eq!(expected(&plan(&named)), [Some(ok(GREETING)), Some(ok("{}")), None, None, None]);
        assert_eq!(plan(&named).expect, Expect::default());
        named.load.expect.status = Some(204);
        assert_eq!(
            expected(&plan(&named)),
            [const { None }; 5],
            "what the plan itself says is for every line"
        );
        assert_eq!(plan(&named).expect.status, Some(204));
    }

    #[test]
    fn a_line_of_a_list_sends_and_expects_what_its_check_says() {
        let (_root, mut setup) = setup_with_list(b"/\nPOST /b\n");
        let check = CustomCheck {
            request: "POST /b".to_owned(),
            send: Some(b"sent".to_vec()),
            headers: vec![("X-A".to_owned(), Secret::hidden("1"))],
            status: Some(201),
            ..CustomCheck::default()
        };
        setup.experiment.checks = vec![CustomCheck::answers("/"), check];
        let (candidate, experiment) = (&setup.candidates[0].candidate, &setup.experiment);
        let spec = RequestSpec::of(candidate, experiment);
        let plan = spec.plan(&experiment.plans[0], target(), &[], experiment, 0);
        let requests: Vec<_> = plan.requests().collect();
        assert_eq!(requests[1].own_headers(), experiment.checks[1].headers);
        assert_eq!((requests[0].body(), requests[1].body()), (&b""[..], &b"sent"[..]));
        assert_eq!((requests[0].expect().status, requests[1].expect().status), (None, Some(201)));
        assert_eq!(plan.check(), Ok(()));
    }

    #[test]
    fn each_row_of_the_database_is_held_to_what_the_check_saw_of_it() {
        let (_root, setup) = setup_with_list(b"/db?id=1\n/db?id=1000\n/db?id=7\n/upstream\n");
        let (candidate, experiment) = (&setup.candidates[0].candidate, &setup.experiment);
        let mut spec = RequestSpec::of_server(candidate, Route::Text, &[]);
        spec.expectation.routes = vec![Route::Db, Route::Upstream];
        let seen = [("/db?id=1".to_owned(), b"1".to_vec()), ("/db?id=1000".to_owned(), b"1000".to_vec())];
        spec.contract = Some(BTreeMap::from(seen));
        let mut named = experiment.plans[0].clone();
        named.route = Some(Route::Db);
        let plan = spec.plan(&named, target(), &[], experiment, 0);
        assert_eq!(plan.target.path, "/");
        assert_eq!(expected(&plan), [Some(ok("1")), Some(ok("1000")), None, Some(ok(GREETING))]);
    }

    #[test]
    fn a_list_is_checked_by_its_first_line() {
        let (_root, setup) = setup_with_list(b"POST /b?c\n/json\n");
        let spec = RequestSpec::of(&setup.candidates[0].candidate, &setup.experiment);
        assert_eq!(spec.request.request, "POST /b?c");
    }

    #[test]
    fn a_line_is_checked_with_its_own_parts() {
        let line = br#"{"url": "/{{id}}", "body": "[{{id}}]", "headers": {"X-Token": "t{{id}}"}, "expect": {"status": 201}}"#;
        let (_root, mut setup) = setup_with_list(b"/\n");
        let no_files = |_: &str, _: u64| Err(String::new());
        let list =
            TargetList::read(line, Some(Format::Jsonl), Some(&target()), "GET", Order::InTurn, &no_files);
        let load = &mut setup.experiment.plans[0].load;
        load.work = Work::List(list.unwrap().1);
        load.values.generators = vec![Generator::parse("id=seq:7").unwrap()];
        let spec = RequestSpec::of(&setup.candidates[0].candidate, &setup.experiment);
        let CustomCheck { request, send, headers, status, .. } = &spec.request;
        assert_eq!((request.as_str(), send.as_deref(), *status), ("POST /7", Some(&b"[7]"[..]), Some(201)));
        assert_eq!(headers.iter().map(|(_, value)| value.value()).collect::<Vec<_>>(), ["t7"]);
    }

    #[test]
    fn a_body_in_a_file_is_checked_with_its_beginning() {
        let (root, mut setup) = setup_with_list(b"/\n");
        let path = root.path().join("body");
        std::fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
        let load = &mut setup.experiment.plans[0].load;
        load.work = Work::Request("PUT".to_owned());
        load.body_file = Some(BodyFile { path, bytes: (1 << 20) + 1 });
        let spec = RequestSpec::of(&setup.candidates[0].candidate, &setup.experiment);
        assert_eq!(spec.request.send.map(|body| body.len()), Some(1 << 20));
    }

    #[test]
    fn plans_of_one_experiment_may_request_different_routes() {
        let root = tempfile::tempdir().unwrap();
        let setup = setup(root.path(), &[("a", "SELF serve {port}")], 1);
        let (candidate, experiment) = (&setup.candidates[0].candidate, &setup.experiment);
        let mut spec = RequestSpec::of_server(candidate, Route::Text, &[]);
        spec.contract = Some(BTreeMap::from([("/json".to_owned(), b"{}".to_vec())]));
        let mut named = experiment.plans[0].clone();
        let asked = |spec: &RequestSpec, named: &ExperimentPlan| {
            let plan = spec.plan(named, target(), &[], experiment, 0);
            (plan.target.path, plan.expect)
        };
        assert_eq!(asked(&spec, &named), ("/".to_owned(), ok(GREETING)));
        named.route = Some(Route::Json);
        named.load.target.path = "/json".to_owned();
        assert_eq!(asked(&spec, &named), ("/json".to_owned(), ok("{}")));
        // A command is asked for what the plan says, and held to nothing.
        let command = RequestSpec::of(candidate, experiment);
        assert_eq!(asked(&command, &named), ("/json".to_owned(), Expect::default()));
    }
}
