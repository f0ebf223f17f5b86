//! A service, sampled beside the server that needs it.

use std::io;
use std::time::Duration;

use prony_model::server::ServiceSamples;

use crate::server_host::{SampledServer, Sampling};

#[derive(Debug)]
pub(crate) struct SampledService {
    sampling: Sampling,
    known: ServiceSamples,
}

impl SampledService {
    pub(crate) fn start(
        server: &SampledServer,
        client: &[u32],
        known: ServiceSamples,
    ) -> io::Result<SampledService> {
        Ok(SampledService { sampling: server.start(client, &[])?, known })
    }

    pub(crate) fn finish(self, window: Option<(u64, u64)>) -> Result<Option<ServiceSamples>, String> {
        let name = &self.known.name;
        let seen = self.sampling.finish(window, Duration::ZERO, &[]);
        let seen = seen.map_err(|why| format!("its service {name}: {why}"))?;
        let Some(seen) = seen.and_then(|seen| seen.server) else { return Ok(None) };
        Ok(Some(ServiceSamples {
            cpu_method: seen.cpu_method,
            window_cpu_ns: seen.window_cpu_ns,
            peak_memory_bytes: seen.peak_memory_bytes,
            processes: seen.processes,
            ..self.known
        }))
    }
}
