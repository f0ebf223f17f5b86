//! One candidate, started, held against the contract and stopped: what
//! `prony servers check` does.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::request_spec::{Aim, Ask};
use crate::candidate::{Candidate, Layout};
use crate::check::CheckReport;
use crate::check::Route;
use crate::launch::{LaunchContext, run_dir};
use crate::provision::{self, Missing, Status};
use crate::supervise::{Server, Supervision, port_of};

/// How an inspection went.
#[derive(Debug)]
pub enum Inspection {
    /// It cannot be started here.
    Missing(Vec<Missing>),
    /// It did not come up, and why.
    NotStarted(String),
    /// It was started, checked and stopped.
    Checked {
        /// Its own word for its version.
        version: Option<String>,
        /// From its start to its first right answer.
        startup: Duration,
        /// What was found.
        report: CheckReport,
        /// Processes that outlived the stop: none, if all is well.
        leftovers: Vec<String>,
        /// Whether it did not heed SIGTERM and needed SIGKILL.
        killed: bool,
    },
}

/// Starts a candidate with one worker, checks it in full, and stops it. It may have `memory_bytes`, where it
/// is no container, which has its engine's limit.
pub fn inspect(
    candidate: &Candidate,
    layout: &Layout,
    memory_bytes: Option<u64>,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    if let Status::Missing(missing) = provision::status(candidate, layout) {
        return Inspection::Missing(missing);
    }
    let port = match port_of(candidate) {
        Ok(port) => port,
        Err(why) => return Inspection::NotStarted(why),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let run_dir = match run_dir::create() {
        Ok(path) => path,
        Err(e) => return Inspection::NotStarted(format!("no folder for its files could be made: {e}")),
    };
    let context = LaunchContext { address, workers: candidate.workers(1), run_dir };
    let spec = match candidate.launch(layout, &context) {
        Ok(spec) => spec,
        Err(e) => {
            run_dir::remove(&context.run_dir);
            return Inspection::NotStarted(e.to_string());
        }
    };
    let supervision = Supervision { memory_bytes, ..Supervision::new(layout.root(), &[]) };
    let routes = candidate.expectation().routes;
    let route =
        if routes.contains(&Route::Text) { Route::Text } else { *routes.first().unwrap_or(&Route::Text) };
    let mut aim = Aim::of(candidate, route, &Ask::default(), &[]);
    let mut last_answer = String::new();
    let mut ready = || aim.ready(address).map_err(|why| last_answer = why).is_ok();
    let mut running = match Server::start(&spec, &supervision, &mut ready, cancelled) {
        Ok(running) => running,
        Err(e) if last_answer.is_empty() => return Inspection::NotStarted(e.to_string()),
        Err(e) => return Inspection::NotStarted(format!("{e}\nThe last attempt: {last_answer}")),
    };
    if let Some(who) = running.stranger_on(port) {
        running.stop();
        return Inspection::NotStarted(format!("{who} answers on its port {port}, which it took first."));
    }
    let report = aim.check(address, candidate.workers(1));
    let startup = running.startup();
    let stopped = running.stop();
    let (leftovers, killed) = (stopped.leftovers, stopped.killed);
    Inspection::Checked { version: candidate.version(layout), startup, report, leftovers, killed }
}
