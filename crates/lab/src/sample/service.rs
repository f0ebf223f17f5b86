//! A service, sampled beside the server that needs it.

use std::io;
use std::time::Duration;

use prony_model::server::ServiceSamples;

use super::{Sampler, Watched, WholeHost};

/// A service that is being sampled.
#[derive(Debug)]
pub(crate) struct SampledService {
    sampler: Sampler,
    known: ServiceSamples,
}

impl SampledService {
    /// Begins, by these CPUs (the client's); what is `known` is what it is called and where it runs.
    pub(crate) fn start(
        watched: Watched,
        client: &[u32],
        known: ServiceSamples,
    ) -> io::Result<SampledService> {
        let sampler = Sampler::start(watched, client, &[], WholeHost::default())?;
        Ok(SampledService { sampler, known })
    }

    /// Ends: what it cost within a window.
    pub(crate) fn finish(self, window: Option<(u64, u64)>) -> Option<ServiceSamples> {
        let samples = self.sampler.finish();
        let (start_ns, end_ns) = window?;
        let seen = samples.window(start_ns, end_ns, Duration::ZERO, &[])?;
        Some(ServiceSamples {
            cpu_method: seen.cpu_method,
            window_cpu_ns: seen.window_cpu_ns,
            peak_memory_bytes: seen.peak_memory_bytes,
            processes: seen.processes,
            ..self.known
        })
    }
}
