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

    pub(crate) fn finish(self, window: Option<(u64, u64)>) -> Option<ServiceSamples> {
        // A host that is lost is said of its server.
        let seen = self.sampling.finish(window, Duration::ZERO, &[]).ok()??.server?;
        Some(ServiceSamples {
            cpu_method: seen.cpu_method,
            window_cpu_ns: seen.window_cpu_ns,
            peak_memory_bytes: seen.peak_memory_bytes,
            processes: seen.processes,
            ..self.known
        })
    }
}
