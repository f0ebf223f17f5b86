//! A candidate, started on a port of its own and answering.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use prony_model::plan::Protocol;
use prony_model::tls::Roots;

use super::request_spec::{Endpoint, RequestSpec};
use super::running_server::RunningServer;
use crate::candidate::{Candidate, Layout};
use crate::check::Never;
use crate::server_host::{RemoteServer, ServerHost};
use crate::supervise::{NotUp, StartError, StartErrorKind, Supervision, prepare};

/// How long a socket's listener is waited for where there should be none.
const TAKEN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
pub(crate) enum ServerSide<'a> {
    Here(&'a Layout, &'a Supervision),
    There(&'a Arc<ServerHost>),
}

/// Starts a candidate on these CPUs (empty: any) beside services on these ports, and waits for the protocol's answer.
pub(super) fn start(
    candidate: &Candidate,
    spec: &RequestSpec,
    place: ServerSide<'_>,
    settings: (u32, &[u32]),
    protocol: Protocol,
    services: &[(String, u16)],
    cancelled: &dyn Fn() -> bool,
) -> Result<(RunningServer, Endpoint), NotUp> {
    let asked = RefCell::new(Asked { spec, last_answer: String::new(), never: None });
    let cancelled = || asked.borrow().never.is_some() || cancelled();
    let started = match place {
        ServerSide::Here(layout, supervision) => {
            let prepared = prepare(candidate, layout, Ipv4Addr::LOCALHOST, settings, services)?;
            let target = spec.target(Ipv4Addr::LOCALHOST, prepared.port, candidate.tls());
            let endpoint =
                spec.endpoint(target, prepared.socket.clone(), prepared.certificate.clone(), protocol);
            let endpoint = endpoint.and_then(|endpoint| nobody_listens(&endpoint).map(|()| endpoint));
            let endpoint = endpoint.map_err(|why| {
                prepared.give_up();
                NotUp::NotStarted(why)
            })?;
            let mut ready = || asked.borrow_mut().answers(&endpoint);
            let running = prepared.start(supervision, &mut ready, &cancelled);
            running.map(|running| (RunningServer::Here(Box::new(running)), endpoint))
        }
        // The processes start there; whether they answer is asked from here.
        ServerSide::There(host) => {
            let named = host.named(candidate).map_err(NotUp::NotStarted)?;
            let on = |why: String| format!("{} on {}: {why}", candidate.label(), host.given());
            let mut endpoint = None;
            let running = RemoteServer::start(
                host,
                named,
                settings,
                services,
                &mut |listening| {
                    if endpoint.is_none() {
                        let pem = listening.certificate.as_ref().map(|pem| Roots::from_pem(pem.as_bytes()));
                        let target = spec.target(host.address(), listening.port, candidate.tls());
                        let made = pem.transpose().and_then(|pem| spec.endpoint(target, None, pem, protocol));
                        endpoint = Some(made.map_err(on)?);
                    }
                    Ok(endpoint.as_ref().is_some_and(|endpoint| asked.borrow_mut().answers(endpoint)))
                },
                &cancelled,
            );
            let running = running.map_err(|why| match why {
                // Only there: other servers may start here.
                NotUp::NoFolder(why) => NotUp::NotStarted(on(why)),
                NotUp::NotStarted(why) if host.lost().is_some() => NotUp::NotStarted(on(why)),
                why => why,
            });
            running.and_then(|running| {
                let endpoint = endpoint
                    .ok_or_else(|| NotUp::NotStarted(on("it did not say where it listens.".to_owned())))?;
                Ok((RunningServer::There(Arc::new(running)), endpoint))
            })
        }
    };
    started.map_err(|not_up| asked.into_inner().explain(candidate, not_up))
}

struct Asked<'a> {
    spec: &'a RequestSpec,
    last_answer: String,
    never: Option<Never>,
}

impl Asked<'_> {
    fn answers(&mut self, endpoint: &Endpoint) -> bool {
        let asked = self.spec.ready(endpoint).map_err(|not| {
            self.last_answer = not.why;
            self.never = not.never;
        });
        asked.is_ok()
    }

    fn explain(self, candidate: &Candidate, not_up: NotUp) -> NotUp {
        let last = self.last_answer;
        match (not_up, self.never) {
            (NotUp::Cancelled(_, log_tail), Some(never)) => {
                let kind = match never {
                    Never::NotTrusted => StartErrorKind::NotTrusted(last),
                    Never::NotSpoken => StartErrorKind::NotSpoken(last),
                };
                let label = candidate.label().to_owned();
                NotUp::NotStarted(StartError { label, kind, log_tail }.to_string())
            }
            (NotUp::Late(why), _) if last.is_empty() => NotUp::NotStarted(why),
            (NotUp::Late(why), _) => NotUp::NotStarted(format!("{why}\nThe last attempt: {last}")),
            (not_up, _) => not_up,
        }
    }
}

/// Of a Unix socket, whose listener is not ours to look up: that nobody answers there before the server is started.
fn nobody_listens(endpoint: &Endpoint) -> Result<(), String> {
    let Some(path) = &endpoint.unix else { return Ok(()) };
    match endpoint.dialer.connect(TAKEN_TIMEOUT) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(())
        }
        _ => Err(format!(
            "Another process already listens on the Unix socket {}: end it, or write a path with {{run}}, a \
             folder of each start's own.",
            path.display()
        )),
    }
}
