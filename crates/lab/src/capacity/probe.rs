//! How a probe is applied and judged.

use prony_analysis::trial::judge;
use prony_host::HostWatch;
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::Plan;
use prony_model::host::Host;
use prony_model::observed::Observed;
use prony_model::plan_record::PlanRecord;
use prony_model::trial::Trial;

use crate::watch::WatchedServer;

/// A load that was applied and judged.
#[derive(Debug, Clone)]
pub(crate) struct Probed {
    /// What was observed.
    pub(crate) observed: Observed,
    /// Its figures and verdict.
    pub(crate) trial: Trial,
}

impl Probed {
    /// What was observed on this machine, judged.
    pub(crate) fn of(observed: Observed, host: &Host) -> Probed {
        Probed { trial: judge(&observed, host), observed }
    }
}

/// What is known of a load from outside of its server.
#[derive(Debug, Clone)]
pub struct Outside {
    /// The machine.
    pub host: Host,
    /// Whether the target is Prony's own.
    pub embedded_target: bool,
    /// The server's processes, where somebody named them.
    pub watched: Option<WatchedServer>,
}

/// Applies a load and judges it. What became of the server is its to observe.
pub(crate) type Prober<'a> =
    dyn FnMut(&Plan, &Control, &mut dyn FnMut(&Snapshot)) -> Result<Probed, LoadError> + 'a;

/// Of a server of which nothing is known but its answers, and the machine that loads it.
pub(super) fn from_outside<'a>(outside: &'a Outside, loader: &'a Loader<'_>) -> Box<Prober<'a>> {
    Box::new(move |load, control, observe| {
        let mut watch = HostWatch::on(&load.cpus);
        let watching = outside.watched.as_ref().map(|watched| watched.start(&load.cpus)).transpose()?;
        let measured = loader(load, control, &mut |snapshot| {
            watch.look(snapshot.in_window);
            observe(snapshot);
        })?;
        let host_window = watch.finish(&measured.address);
        let mut observed = Observed {
            host: Some(outside.host.clone()),
            host_window,
            embedded_target: outside.embedded_target,
            ..Observed::new(measured, PlanRecord::of(load))
        };
        if let Some(watching) = watching {
            watching.finish(&mut observed)?;
        }
        Ok(Probed::of(observed, &outside.host))
    })
}
