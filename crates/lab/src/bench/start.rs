//! A candidate, started on a port of its own and answering.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use super::request_spec::RequestSpec;
use crate::candidate::{Candidate, Layout};
use crate::launch::{LaunchContext, run_dir};
use crate::supervise::{Running, StartErrorKind, Supervision, port_of};

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

/// Starts a candidate with so many workers on these CPUs (empty: any), and waits until it answers what it is asked.
pub(super) fn start(
    candidate: &Candidate,
    spec: &RequestSpec,
    (layout, supervision): (&Layout, &Supervision),
    (workers, cpus): (u32, &[u32]),
    cancelled: &dyn Fn() -> bool,
) -> Result<(Running, SocketAddr), NotUp> {
    let port = port_of(candidate).map_err(NotUp::NotStarted)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let context = LaunchContext { address, workers, run_dir: run_dir::create().map_err(NotUp::RunDir)? };
    let mut launch = candidate.launch(layout, &context).map_err(|why| {
        run_dir::remove(&context.run_dir);
        NotUp::NotStarted(why.to_string())
    })?;
    launch.pin(cpus);
    let mut last_answer = String::new();
    let mut ready = || spec.ready(address).map_err(|why| last_answer = why).is_ok();
    let started = Running::start(&launch, supervision, &mut ready, cancelled);
    let mut running = started.map_err(|why| match why.kind {
        StartErrorKind::Interrupted => NotUp::Interrupted(why.to_string()),
        StartErrorKind::NotReady(_) if !last_answer.is_empty() => {
            NotUp::NotStarted(format!("{why}\nThe last attempt: {last_answer}"))
        }
        _ => NotUp::NotStarted(why.to_string()),
    })?;
    match running.stranger_on(port) {
        None => Ok((running, address)),
        Some(who) => {
            let why = format!("{who} answers on its port {port}, which it took first.");
            Err(NotUp::Stranger(why, running.stop().leftovers))
        }
    }
}
