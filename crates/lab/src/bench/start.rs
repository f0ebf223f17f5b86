//! A candidate, started on a port of its own and answering.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use prony_model::plan::Protocol;
use prony_model::tls::Roots;

use super::request_spec::{Endpoint, RequestSpec};
use super::up::Up;
use crate::candidate::{Candidate, Layout};
use crate::check::Never;
use crate::server_host::{self, ServerHost, Starting};
use crate::supervise::{NotPrepared, Running, StartError, StartErrorKind, Supervision, prepare};

/// How long a socket's listener is waited for where there should be none.
const TAKEN_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks whether a server on another host answers, as on this one.
const LOOK_MIN: Duration = Duration::from_millis(1);
const LOOK_MAX: Duration = Duration::from_millis(20);

/// Where candidates are started.
#[derive(Clone, Copy)]
pub(super) enum ServerSide<'a> {
    Here(&'a Layout, &'a Supervision),
    There(&'a Arc<ServerHost>),
}

/// Why a candidate is not up.
pub(super) enum NotUp {
    /// A folder for its files could not be made.
    RunDir(io::Error),
    /// It did not start, or did not answer, in a sentence.
    NotStarted(String),
    /// Somebody else answers on its port, in a sentence; and the processes that outlived its stop.
    Stranger(String, Vec<String>),
    Interrupted(String),
}

/// Starts a candidate with so many workers on these CPUs (empty: any), and waits until it answers what it is asked
/// by this protocol.
pub(super) fn start(
    candidate: &Candidate,
    spec: &RequestSpec,
    place: ServerSide<'_>,
    settings: (u32, &[u32]),
    protocol: Protocol,
    cancelled: &dyn Fn() -> bool,
) -> Result<(Up, Endpoint), NotUp> {
    match place {
        ServerSide::Here(layout, supervision) => {
            here(candidate, spec, (layout, supervision), settings, protocol, cancelled)
        }
        ServerSide::There(host) => there(candidate, spec, host, settings, protocol, cancelled),
    }
}

/// Whether a server that is being started answers, and what it did last.
struct Asked<'a> {
    spec: &'a RequestSpec,
    endpoint: &'a Endpoint,
    last_answer: String,
    never: Option<Never>,
}

impl Asked<'_> {
    fn answers(&mut self) -> bool {
        let asked = self.spec.ready(self.endpoint).map_err(|not| {
            self.last_answer = not.why;
            self.never = not.never;
        });
        asked.is_ok()
    }

    /// Why it will never be ready, of what it answered.
    fn never(self) -> Option<StartErrorKind> {
        match self.never? {
            Never::NotTrusted => Some(StartErrorKind::NotTrusted(self.last_answer)),
            Never::NotSpoken => Some(StartErrorKind::NotSpoken(self.last_answer)),
        }
    }

    /// A start that was given up, with the last answer.
    fn late(&self, why: impl std::fmt::Display) -> NotUp {
        NotUp::NotStarted(match self.last_answer.as_str() {
            "" => why.to_string(),
            last => format!("{why}\nThe last attempt: {last}"),
        })
    }
}

fn here(
    candidate: &Candidate,
    spec: &RequestSpec,
    (layout, supervision): (&Layout, &Supervision),
    settings: (u32, &[u32]),
    protocol: Protocol,
    cancelled: &dyn Fn() -> bool,
) -> Result<(Up, Endpoint), NotUp> {
    let address = Ipv4Addr::LOCALHOST;
    let prepared = prepare(candidate, layout, address, settings).map_err(|why| match why {
        NotPrepared::RunDir(why) => NotUp::RunDir(why),
        NotPrepared::Other(why) => NotUp::NotStarted(why),
    })?;
    let target = spec.target(address, prepared.port, candidate.tls());
    let endpoint = spec.endpoint(target, prepared.socket.clone(), prepared.certificate.clone(), protocol);
    let endpoint = endpoint.and_then(|endpoint| nobody_listens(&endpoint).map(|()| endpoint));
    let endpoint = endpoint.map_err(|why| {
        prepared.give_up();
        NotUp::NotStarted(why)
    })?;
    let asked = RefCell::new(Asked { spec, endpoint: &endpoint, last_answer: String::new(), never: None });
    let mut ready = || asked.borrow_mut().answers();
    let gives_up = || asked.borrow().never.is_some() || cancelled();
    let started = Running::start(&prepared.launch, supervision, &mut ready, &gives_up);
    let asked = asked.into_inner();
    let mut running = match started {
        Ok(running) => running,
        Err(why) => {
            return Err(match why.kind {
                StartErrorKind::Interrupted => match asked.never() {
                    Some(kind) => NotUp::NotStarted(StartError { kind, ..why }.to_string()),
                    None => NotUp::Interrupted(why.to_string()),
                },
                StartErrorKind::NotReady(_) => asked.late(why),
                _ => NotUp::NotStarted(why.to_string()),
            });
        }
    };
    let stranger = if endpoint.unix.is_none() { running.stranger_on(address, prepared.port) } else { None };
    match stranger {
        None => Ok((Up::Here(Box::new(running)), endpoint)),
        Some(who) => {
            let why = format!("its port {} was taken by {who} before it could listen there.", prepared.port);
            Err(NotUp::Stranger(why, running.stop().leftovers))
        }
    }
}

/// The processes start there; whether they answer is asked from here.
fn there(
    candidate: &Candidate,
    spec: &RequestSpec,
    host: &Arc<ServerHost>,
    (workers, cpus): (u32, &[u32]),
    protocol: Protocol,
    cancelled: &dyn Fn() -> bool,
) -> Result<(Up, Endpoint), NotUp> {
    let named = host.named(candidate).map_err(NotUp::NotStarted)?;
    let on = |why: String| NotUp::NotStarted(format!("{} on {}: {why}", candidate.label(), host.given()));
    let mut starting = Starting::begin(host, named, workers, cpus).map_err(on)?;
    let not_up = |why, asked: Option<&Asked<'_>>| match (why, asked) {
        (server_host::NotUp::Late(why), Some(asked)) => asked.late(why),
        (server_host::NotUp::Late(why) | server_host::NotUp::NotStarted(why), _) => NotUp::NotStarted(why),
        (server_host::NotUp::Stranger(why, left), _) => NotUp::Stranger(why, left),
        (server_host::NotUp::Cancelled(why), _) => NotUp::Interrupted(why),
    };
    let listening = loop {
        if let Some(why) = starting.failed(LOOK_MAX) {
            return Err(not_up(why, None));
        }
        if let Some(listening) = starting.listening() {
            break listening;
        }
        if cancelled() {
            return Err(not_up(starting.cancel(), None));
        }
    };
    let certificate = listening.certificate.map(|pem| Roots::from_pem(pem.as_bytes())).transpose();
    let target = spec.target(host.address(), listening.port, candidate.tls());
    let endpoint =
        certificate.and_then(|certificate| spec.endpoint(target, None, certificate, protocol)).map_err(on)?;
    let mut asked = Asked { spec, endpoint: &endpoint, last_answer: String::new(), never: None };
    let mut patience = LOOK_MIN;
    while !asked.answers() {
        if let Some(why) = starting.failed(patience) {
            return Err(not_up(why, Some(&asked)));
        }
        if asked.never.is_some() || cancelled() {
            let why = starting.cancel();
            return Err(match asked.never() {
                Some(kind) => NotUp::NotStarted(format!("{} {kind}", candidate.label())),
                None => not_up(why, None),
            });
        }
        patience = (patience * 5 / 4).min(LOOK_MAX);
    }
    let server = starting.answers().map_err(|why| not_up(why, Some(&asked)))?;
    Ok((Up::There(Arc::new(server)), endpoint))
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
