//! How a probe is applied and judged.

use prony_analysis::trial::{TrialContext, judge};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::Plan;
use prony_model::server::ServerSamples;
use prony_model::trial::Trial;

use crate::bench::Loader;
use crate::host_watch::HostWatch;

/// A load that was applied and judged.
#[derive(Debug, Clone)]
pub struct Probed {
    /// Its figures and verdict.
    pub trial: Trial,
    /// What it cost the server, where somebody looked.
    pub server: Option<ServerSamples>,
}

/// Applies a load and judges it. Whether the client or the server was the limit is its to say
/// ([`TrialContext::server_saturated`]), and whether the server lives and is the same.
pub type Prober<'a> = dyn FnMut(&Plan, &Control, &mut dyn FnMut(&Snapshot)) -> Result<Probed, LoadError> + 'a;

/// Of a server of which nothing is known but its answers, and the machine that loads it.
pub(super) fn from_outside<'a>(context: &'a TrialContext, loader: &'a mut Loader<'_>) -> Box<Prober<'a>> {
    Box::new(move |load, control, observe| {
        let cpus: Vec<u32> = load.cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect();
        let mut watch = HostWatch::of(&cpus);
        let measured = loader(load, control, &mut |snapshot| {
            watch.look(snapshot);
            observe(snapshot);
        })?;
        let context = TrialContext { host_window: watch.finish(&measured.address), ..context.clone() };
        Ok(Probed { trial: judge(&measured, load, &context), server: None })
    })
}
