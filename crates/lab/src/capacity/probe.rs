//! How a probe is applied and judged.

use prony_analysis::trial::judge;
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::Plan;
use prony_model::host::Host;
use prony_model::observed::Observed;
use prony_model::trial::Trial;

use crate::watch::LoadObserver;

#[derive(Debug, Clone)]
pub(crate) struct Probed {
    pub(crate) observed: Observed,
    pub(crate) trial: Trial,
}

impl Probed {
    pub(crate) fn of(observed: Observed, host: &Host) -> Probed {
        Probed { trial: judge(&observed, host), observed }
    }
}

/// Applies a load and judges it. What became of the server is its to observe.
pub(crate) type Prober<'a> =
    dyn FnMut(&Plan, &Control, &mut dyn FnMut(&Snapshot)) -> Result<Probed, LoadError> + 'a;

/// Of a server of which nothing is known but its answers, and the machine that loads it.
pub(super) fn from_outside<'a>(outside: &'a LoadObserver, loader: &'a Loader<'_>) -> Box<Prober<'a>> {
    Box::new(move |load, control, observe| {
        let (observed, watched) = outside.load(loader, load, control, observe)?;
        watched?;
        Ok(Probed::of(observed, &outside.host))
    })
}
