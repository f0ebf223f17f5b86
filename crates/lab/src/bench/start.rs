//! A candidate, started on a port of its own and answering.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_model::plan::Protocol;
use prony_model::secret::names_asked_for;
use rustix::process::geteuid;

use super::request_spec::{Endpoint, RequestSpec};
use crate::candidate::{Candidate, Layout};
use crate::check::Never;
use crate::launch::{LaunchContext, certificate, run_dir};
use crate::supervise::{Running, StartError, StartErrorKind, Supervision, port_of};

/// How long a socket's listener is waited for where there should be none.
const TAKEN_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a candidate is not up.
pub(super) enum NotUp {
    /// A folder for its files could not be made.
    RunDir(io::Error),
    /// It did not start, or did not answer, in a sentence.
    NotStarted(String),
    /// Somebody else answers on its port, in a sentence; and the processes that outlived its stop.
    Stranger(String, Vec<String>),
    /// Somebody asked to end.
    Interrupted(String),
}

/// Starts a candidate with so many workers on these CPUs (empty: any), and waits until it answers what it is asked
/// by this protocol.
pub(super) fn start(
    candidate: &Candidate,
    spec: &RequestSpec,
    (layout, supervision): (&Layout, &Supervision),
    (workers, cpus): (u32, &[u32]),
    protocol: Protocol,
    cancelled: &dyn Fn() -> bool,
) -> Result<(Running, Endpoint), NotUp> {
    let port = port_of(candidate).map_err(NotUp::NotStarted)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Root's servers give up their rights, and a container's users are others outside of it.
    let shared = geteuid().is_root() || candidate.engine().is_some();
    let run_dir = run_dir::create(shared).map_err(NotUp::RunDir)?;
    let context = LaunchContext { address, workers, run_dir, hidden: names_asked_for() };
    let ready_to_start = || {
        let made = candidate.takes_certificate().then(|| certificate::make(&context.run_dir)).transpose()?;
        let target = spec.target(port, candidate.tls());
        let endpoint = spec.endpoint(target, candidate.socket(&context), made, protocol)?;
        nobody_listens(&endpoint)?;
        Ok((endpoint, candidate.launch(layout, &context)?))
    };
    let (endpoint, mut launch) = ready_to_start().map_err(|why: String| {
        run_dir::remove(&context.run_dir);
        NotUp::NotStarted(why)
    })?;
    launch.pin(cpus);
    let (mut last_answer, never) = (String::new(), Cell::new(None));
    let mut ready = || {
        let asked = spec.ready(&endpoint).map_err(|not| {
            last_answer = not.why;
            never.set(not.never);
        });
        asked.is_ok()
    };
    let started = Running::start(&launch, supervision, &mut ready, &|| never.get().is_some() || cancelled());
    let mut running = started.map_err(|why| match why.kind {
        StartErrorKind::Interrupted => {
            let kind = match never.get() {
                Some(Never::NotTrusted) => StartErrorKind::NotTrusted(last_answer),
                Some(Never::NotSpoken) => StartErrorKind::NotSpoken(last_answer),
                None => return NotUp::Interrupted(why.to_string()),
            };
            NotUp::NotStarted(StartError { kind, ..why }.to_string())
        }
        StartErrorKind::NotReady(_) if !last_answer.is_empty() => {
            NotUp::NotStarted(format!("{why}\nThe last attempt: {last_answer}"))
        }
        _ => NotUp::NotStarted(why.to_string()),
    })?;
    let stranger = if endpoint.unix.is_none() { running.stranger_on(port) } else { None };
    match stranger {
        None => Ok((running, endpoint)),
        Some(who) => {
            let why = format!("{who} answers on its port {port}, which it took first.");
            Err(NotUp::Stranger(why, running.stop().leftovers))
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
            "Somebody listens on the Unix socket {} already: end it, or write a path with {{run}}, a folder of each \
             start's own.",
            path.display()
        )),
    }
}
