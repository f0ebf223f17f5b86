//! A server that is up, wherever it runs: the one place where this machine and another differ after a start.

use std::sync::Arc;
use std::time::Duration;

use crate::server_host::{RemoteServer, SampledServer};
use crate::supervise::{Death, Running, StopReport};

/// A server that the lab started. Dropping it stops it.
#[derive(Debug)]
pub(crate) enum RunningServer {
    Here(Box<Running>),
    There(Arc<RemoteServer>),
}

impl RunningServer {
    pub(super) fn sampled(&self) -> SampledServer {
        match self {
            RunningServer::Here(running) => SampledServer::Here(running.watched()),
            RunningServer::There(server) => SampledServer::There(Arc::clone(server)),
        }
    }

    pub(super) fn startup(&self) -> Duration {
        match self {
            RunningServer::Here(running) => running.startup(),
            RunningServer::There(server) => server.startup(),
        }
    }

    pub(super) fn died(&mut self) -> Option<Death> {
        match self {
            RunningServer::Here(running) => running.died(),
            RunningServer::There(server) => server.died(),
        }
    }

    pub(super) fn stop(&mut self) -> StopReport {
        match self {
            RunningServer::Here(running) => running.stop(),
            RunningServer::There(server) => server.stop(),
        }
    }
}
