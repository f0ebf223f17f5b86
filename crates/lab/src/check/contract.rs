//! The checks themselves.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use prony_load::dial::Dialer;
use prony_model::plan::Expect;
use prony_model::secret::redacted;
use strum::VariantArray;

use super::client::{Connection, Fault, Request, Response, printable, without_secrets};
use super::{
    CheckReport, CheckResult, ContractExpectation, CustomCheck, GREETING, Route, named, parallel, work,
};

/// Long enough to be told from an answer that did not wait, on a busy host too.
const SLEEP: Duration = Duration::from_millis(50);
/// Timers are as fine as their clocks: Node's counts whole milliseconds, libevent's is the kernel's coarse one
/// (`CLOCK_MONOTONIC_COARSE`, clock_getres(2)), which ticks every 4 ms, and every 10 where a kernel has 100 ticks a second.
const SLEEP_EARLY: Duration = Duration::from_millis(10);
/// Steps of the checked `/work`: another number than its default, so that `n` is seen to be heeded.
const WORK_STEPS: u32 = 1234;
const ECHO_BYTES: usize = 512;

/// Checks a server against what is expected: milliseconds for a good one, some seconds a request at most for a bad one.
pub(crate) fn check(dialer: &Dialer, expectation: &ContractExpectation) -> CheckReport {
    let mut checks = Checks { dialer, report: CheckReport::default() };
    if expectation.custom.is_empty() {
        let has = |route: &&Route| expectation.routes.contains(route);
        Route::VARIANTS.iter().filter(has).for_each(|route| checks.route(*route));
        if checks.report.bodies.contains_key(Route::Sleep.path()) {
            checks.parallel_sleep(expectation.workers);
        }
    } else {
        expectation.custom.iter().for_each(|check| checks.custom(check));
    }
    let probe = probe_of(expectation);
    // A server that is not there would fail five more times in the same way.
    let nobody = checks.report.results.iter().all(|r| !r.passed && r.wire.is_none());
    if !nobody {
        // Whether HTTP/2 keeps its connections is no setting of a server's.
        let declared = expectation.keepalive.filter(|_| !dialer.protocol().multiplexes());
        checks.keepalive(&probe, declared);
        checks.fragmented(&probe);
        if expectation.custom.is_empty() {
            checks.not_found();
        }
    }
    checks.report
}

#[derive(Debug)]
pub(crate) struct NotReady {
    pub(crate) why: String,
    pub(crate) never: Option<Never>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Never {
    NotTrusted,
    NotSpoken,
}

/// Asks once whether a server answers a check's request with its status: for its start, and before each trial.
pub(crate) fn ready(dialer: &Dialer, check: &CustomCheck, expect: &Expect) -> Result<(), NotReady> {
    let asked = Connection::open(dialer).and_then(|mut c| c.exchange(&check.request(dialer.host(), false)));
    let (why, never) = match asked {
        Ok(response) if expect.accepts_status(response.status) => return Ok(()),
        Ok(response) => {
            let (method, path) = check.method_and_path();
            let status = response.status;
            (format!("{method} {} got status {status}.", redacted(path)), None)
        }
        Err(fault) => {
            let never = match fault {
                Fault::Certificate(..) => Some(Never::NotTrusted),
                Fault::NotSpoken(_) => Some(Never::NotSpoken),
                _ => None,
            };
            (fault.to_string(), never)
        }
    };
    Err(NotReady { why, never })
}

fn probe_of(expectation: &ContractExpectation) -> CustomCheck {
    let route = expectation.routes.first().copied().unwrap_or(Route::Text);
    expectation.custom.first().cloned().unwrap_or_else(|| CustomCheck::of_route(route))
}

pub(super) struct Checks<'a> {
    pub(super) dialer: &'a Dialer,
    pub(super) report: CheckReport,
}

impl Checks<'_> {
    pub(super) fn push(
        &mut self,
        name: &str,
        note: bool,
        judged: Result<String, String>,
        wire: Option<String>,
    ) {
        let passed = judged.is_ok();
        let (Ok(detail) | Err(detail)) = judged;
        let name = redacted(&named(name, self.dialer.protocol()));
        let detail = redacted(&detail);
        let wire = wire.filter(|_| !passed);
        self.report.results.push(CheckResult { name, passed, note, detail, wire });
    }

    /// One request on a fresh connection, closed afterwards: some servers serve one connection at a time.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> (Result<Response, Fault>, Option<String>) {
        self.send(&Request { method, path, host: self.dialer.host(), headers: &[], body, fragmented: false })
    }

    pub(super) fn send(&self, request: &Request<'_>) -> (Result<Response, Fault>, Option<String>) {
        match Connection::open(self.dialer) {
            Err(fault) => (Err(fault), None),
            Ok(mut connection) => {
                let response = connection.exchange(request);
                (response, connection.wire())
            }
        }
    }

    fn route(&mut self, route: Route) {
        let path = match route {
            Route::Sleep => format!("/sleep?ms={}", SLEEP.as_millis()),
            Route::Work => format!("/work?n={WORK_STEPS}"),
            Route::Text | Route::Json | Route::Echo => route.path().to_owned(),
            Route::Upstream | Route::Db | Route::Fortunes | Route::EchoJson => return self.realistic(route),
        };
        let body = (route == Route::Echo).then(random_body);
        let started = Instant::now();
        let (response, wire) = self.ask(route.method(), &path, body.as_deref());
        let took = started.elapsed();
        let judged = match &response {
            Err(fault) => Err(fault.to_string()),
            Ok(response) => judge(route, response, body.as_deref(), took),
        };
        let right = judged.is_ok();
        if right && let Ok(response) = response {
            self.report.bodies.insert(route.path().to_owned(), response.body);
        }
        self.push(&format!("{} {path}", route.method()), false, judged, wire);
        if right && route == Route::Echo {
            self.other_echo();
        }
    }

    /// Another body than the first, and of another length: an answer from a cache is the first's.
    fn other_echo(&mut self) {
        let body: Vec<u8> = random_body().into_iter().rev().chain(*b"another").collect();
        let path = Route::Echo.path();
        let (response, wire) = self.ask("POST", path, Some(&body));
        let judged = response
            .map_err(|fault| fault.to_string())
            .and_then(|response| judge(Route::Echo, &response, Some(&body), Duration::ZERO));
        self.push(&format!("POST {path}, another body"), false, judged, wire);
    }

    /// Whether requests that wait hold up others: worth knowing, and nothing to fail by.
    fn parallel_sleep(&mut self, workers: u32) {
        let seen = parallel::sleep(self.dialer, workers);
        self.report.sleep = seen.as_ref().ok().map(|seen| seen.sleep);
        let judged = seen.map(|seen| seen.to_string()).map_err(|fault| fault.to_string());
        self.push("parallel sleep", true, judged, None);
    }

    fn custom(&mut self, check: &CustomCheck) {
        let (response, wire) = self.send(&check.request(self.dialer.host(), false));
        let judged = response.map_err(|fault| fault.to_string()).and_then(|response| check.judge(&response));
        let (method, path) = check.method_and_path();
        self.push(&format!("{method} {path}"), false, judged, wire);
    }

    fn keepalive(&mut self, probe: &CustomCheck, declared: Option<bool>) {
        let (kept, wire) = self.is_kept(probe);
        let judged = match (kept, declared) {
            (Err(fault), _) => Err(fault.to_string()),
            (Ok(true), Some(true) | None) => Ok("Two requests on one connection got responses.".to_owned()),
            (Ok(false), Some(false) | None) => Ok("Connections are closed after a response.".to_owned()),
            (Ok(false), Some(true)) => {
                Err("The recipe says keepalive = true, but the connection was closed after a response."
                    .to_owned())
            }
            (Ok(true), Some(false)) => {
                Err("The recipe says keepalive = false, but two requests on one connection got responses."
                    .to_owned())
            }
        };
        self.push("keep-alive", declared.is_none(), judged, wire);
    }

    fn is_kept(&self, probe: &CustomCheck) -> (Result<bool, Fault>, Option<String>) {
        let mut connection = match Connection::open(self.dialer) {
            Ok(connection) => connection,
            Err(fault) => return (Err(fault), None),
        };
        let request = probe.request(self.dialer.host(), false);
        let kept = match connection.exchange(&request) {
            Err(fault) => Err(fault),
            Ok(first) if !first.keeps => Ok(false),
            Ok(_) => match connection.exchange(&request) {
                Ok(_) => Ok(true),
                Err(Fault::Closed) => Ok(false),
                Err(fault) => Err(fault),
            },
        };
        (kept, connection.wire())
    }

    /// Clients on slow links send so; a server that reads a request only whole is worth knowing of.
    fn fragmented(&mut self, probe: &CustomCheck) {
        let (response, wire) = self.send(&probe.request(self.dialer.host(), true));
        let judged = match response {
            Ok(r) if (200..400).contains(&r.status) => {
                Ok("A request that came in pieces got a response.".to_owned())
            }
            Ok(r) => Err(format!("A request that came in pieces got status {}.", r.status)),
            Err(fault) => Err(format!("A request that came in pieces: {fault}")),
        };
        self.push("request in pieces", true, judged, wire);
    }

    fn not_found(&mut self) {
        let (response, wire) = self.ask("GET", "/prony-unknown-path", None);
        let judged = match response {
            Ok(r) if r.status == 404 => Ok("An unknown path gets 404.".to_owned()),
            Ok(r) => Err(format!("An unknown path gets status {}.", r.status)),
            Err(fault) => Err(format!("An unknown path: {fault}")),
        };
        self.push("unknown path", true, judged, wire);
    }
}

/// Status 200, not encoded, and of this type.
pub(super) fn head_is(response: &Response, media_type: Option<&str>) -> Result<(), String> {
    if response.status != 200 {
        return Err(format!("Status {}, expected 200.", response.status));
    }
    if let Some(encoding) =
        response.header("Content-Encoding").filter(|e| !e.eq_ignore_ascii_case("identity"))
    {
        return Err(format!("The body is encoded as {encoding}, which the request did not offer to take."));
    }
    let found = response.header("Content-Type").unwrap_or("none");
    let is = found.split(';').next().unwrap_or_default().trim();
    if let Some(expected) = media_type
        && !is.eq_ignore_ascii_case(expected)
    {
        return Err(format!("Content-Type is {:?}, expected {expected:?}.", printable(found.as_bytes(), 80)));
    }
    Ok(())
}

fn judge(route: Route, response: &Response, sent: Option<&[u8]>, took: Duration) -> Result<String, String> {
    let media_type = match route {
        Route::Text => Some("text/plain"),
        Route::Json => Some("application/json"),
        // What the others are for is their body: any type will do.
        _ => None,
    };
    head_is(response, media_type)?;
    match route {
        Route::Work => response.body_is(work(WORK_STEPS).as_bytes())?,
        Route::Echo => response.body_is(sent.unwrap_or_default())?,
        Route::Sleep => {
            response.body_is(GREETING.as_bytes())?;
            waited(took, SLEEP, SLEEP_EARLY)?;
        }
        Route::Json => {
            let found: Option<serde_json::Value> = serde_json::from_slice(&response.body).ok();
            if found != Some(serde_json::json!({ "message": GREETING })) {
                let found = printable(&without_secrets(&response.body), 80);
                return Err(format!("The body is {found:?}, expected {{\"message\":{GREETING:?}}}."));
            }
        }
        _ => response.body_is(GREETING.as_bytes())?,
    }
    Ok(format!("Status 200, {} bytes.", response.body.len()))
}

pub(super) fn waited(took: Duration, expected: Duration, early: Duration) -> Result<(), String> {
    if took + early < expected {
        let (took_ms, expected_ms) = (took.as_millis(), expected.as_millis());
        return Err(format!("The response took {took_ms} ms, expected {expected_ms} at least."));
    }
    Ok(())
}

/// Bytes that nobody can have prepared for, each value of a byte among them.
fn random_body() -> Vec<u8> {
    let state = RandomState::new();
    (0..ECHO_BYTES)
        .map(
            |i| {
                if i < 256 { u8::try_from(i).unwrap_or_default() } else { state.hash_one(i).to_be_bytes()[0] }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_may_end_ten_ms_early_and_no_more() {
        let waited_ms = |ms: u64| waited(Duration::from_millis(ms), SLEEP, SLEEP_EARLY);
        assert_eq!(waited_ms(39).unwrap_err(), "The response took 39 ms, expected 50 at least.");
        assert_eq!((waited_ms(40), waited_ms(50), waited_ms(5_000)), (Ok(()), Ok(()), Ok(())));
    }
}
