//! Where a server is sampled: on this machine, or on another one by its agent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use prony_model::observed::ServerLife;
use prony_model::server::ServerSamples;
use serde::{Deserialize, Serialize};

use super::RemoteServer;
use crate::sample::{Sampler, Watched, WholeHost};

#[derive(Debug, Clone)]
pub(crate) enum SampledServer {
    Here(Watched),
    There(Arc<RemoteServer>),
}

#[derive(Debug)]
pub(crate) enum Sampling {
    Here(Sampler),
    There(Arc<RemoteServer>),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) server: Option<ServerSamples>,
    pub(crate) life: ServerLife,
}

impl SampledServer {
    /// Begins; on this machine by these CPUs (the client's; empty: any), and with what those of `cores` do.
    pub(crate) fn start(&self, cpus: &[u32], cores: &[u32]) -> io::Result<Sampling> {
        match self {
            SampledServer::Here(watched) => {
                Sampler::start(watched.clone(), cpus, cores, WholeHost::default()).map(Sampling::Here)
            }
            SampledServer::There(server) => {
                server.sample().map_err(io::Error::other)?;
                Ok(Sampling::There(Arc::clone(server)))
            }
        }
    }
}

impl Sampling {
    /// Ends: what was seen in a window of CLOCK_MONOTONIC, of a server that took so long to start on these CPUs.
    pub(crate) fn finish(
        self,
        window: Option<(u64, u64)>,
        startup: Duration,
        cpus: &[u32],
    ) -> Result<Option<Seen>, String> {
        match self {
            Sampling::Here(sampler) => {
                let samples = sampler.finish();
                let Some((start_ns, end_ns)) = window else { return Ok(None) };
                let server = samples.window(start_ns, end_ns, startup, cpus);
                Ok(Some(Seen { server, life: samples.changes(end_ns).into() }))
            }
            Sampling::There(server) => server.measure(window).map(Some),
        }
    }
}
