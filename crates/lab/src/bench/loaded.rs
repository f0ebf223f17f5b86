//! One load of a server that is up: sampled and watched, judged, and marked with what only the lab can see.
//!
//! A trial is one such load; a search for a capacity is many, of one server.

use std::time::{Duration, Instant};

use prony_analysis::trial::{TrialContext, judge};
use prony_load::{Control, LoadError, Measurement, Plan, Snapshot};
use prony_record::client::ClientColumns;
use prony_record::host::HostWindow;
use prony_record::server::ServerSamples;
use prony_record::trial::Trial;

use super::{BenchSetup, Loader, marks};
use crate::client_watch::ClientWatch;
use crate::host_watch::HostWatch;
use crate::sample::{Sampler, Samples, Watched};
use crate::supervise::{Death, Running};

/// A server that used this share of its cores was the limit itself: DESIGN's
/// verdict `client_saturated` then does not apply.
const SATURATED: f64 = 0.95;

/// Loads one server.
pub(super) struct Loading<'a, 'l> {
    setup: &'a BenchSetup,
    loader: &'a mut Loader<'l>,
    candidate: &'a str,
    recycles: bool,
    /// `None`: somebody else runs it.
    running: Option<&'a mut Running>,
    /// What is sampled; asked once, since a container's engine takes 0.1 s and more to tell.
    watched: Option<Watched>,
    /// How long the server was under load so far.
    pub(super) under_load: Duration,
    /// Why the server is no more, in a sentence, once that was seen.
    pub(super) death: Option<String>,
}

impl<'a, 'l> Loading<'a, 'l> {
    pub(super) fn of(
        setup: &'a BenchSetup,
        loader: &'a mut Loader<'l>,
        candidate: &'a str,
        recycles: bool,
        running: Option<&'a mut Running>,
    ) -> Loading<'a, 'l> {
        let watched = running.as_ref().map(|running| running.watched());
        Loading {
            setup,
            loader,
            candidate,
            recycles,
            running,
            watched,
            under_load: Duration::ZERO,
            death: None,
        }
    }

    /// Applies a load; ends it early when the server dies, since the rest would only count refused
    /// connections.
    ///
    /// # Errors
    /// When there is no measurement; `death` says whether the server is why.
    pub(super) fn load(
        &mut self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Trial, Option<ServerSamples>), LoadError> {
        let used = self.setup.pins.used();
        let client = &self.setup.pins.client;
        let sampler = self.watched.clone().map(|watched| Sampler::start(watched, client, &used));
        let mut host_watch = HostWatch::of(&used);
        // The sampler of a server of ours has the CPUs already.
        let sampled = matches!(sampler, Some(Ok(_)));
        let mut client_watch = if sampled { ClientWatch::of(&[]) } else { ClientWatch::with_cores(&used) };
        let mut death = None;
        let running = &mut self.running;
        let mut look = |snapshot: &Snapshot| {
            host_watch.look(snapshot);
            client_watch.look();
            if death.is_none()
                && let Some(died) = running.as_mut().and_then(|running| running.died())
            {
                death = Some(died);
                control.stop();
            }
            observe(snapshot);
        };
        let begun = Instant::now();
        let measured = (self.loader)(plan, control, &mut look);
        self.under_load += begun.elapsed();
        let samples = sampler.and_then(Result::ok).map(Sampler::finish);
        let death = death.or_else(|| self.running.as_mut().and_then(|running| running.died()));
        self.death = death.map(|death| self.said(death));
        let measured = measured?;
        let client = client_watch.finish(measured.window_start_ns);
        let beside = (host_watch.finish(&measured.address), client);
        Ok(self.judged(&measured, plan, samples, beside))
    }

    fn said(&self, Death { how, log_tail }: Death) -> String {
        let mut text = format!("{} {how} while it was loaded.", self.candidate);
        if !log_tail.is_empty() {
            text.push_str(&format!(" It wrote:\n  {}", log_tail.join("\n  ")));
        }
        text
    }

    fn judged(
        &self,
        m: &Measurement,
        plan: &Plan,
        samples: Option<Samples>,
        (host_window, client_columns): (Option<HostWindow>, Option<ClientColumns>),
    ) -> (Trial, Option<ServerSamples>) {
        let (start_ns, end_ns) = (m.window_start_ns, m.window_end_ns);
        let cores = self.setup.pins.server.len();
        let startup = self.running.as_ref().map(|running| running.startup()).unwrap_or_default();
        let changes = samples.as_ref().map(|samples| samples.changes(end_ns));
        let server = samples.and_then(|s| s.window(start_ns, end_ns, startup, &self.setup.pins.server));
        let window_ns = end_ns.saturating_sub(start_ns);
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day times cores are below 2^53")]
        let saturated =
            |s: &ServerSamples| s.window_cpu_ns as f64 >= SATURATED * cores as f64 * window_ns as f64;
        let context = TrialContext {
            host: self.setup.host.clone(),
            redact: self.setup.redact.clone(),
            embedded_target: false,
            // Not pinned, the server's cores are nobody's in particular.
            server_saturated: server.as_ref().filter(|_| cores > 0).map(saturated),
            host_window,
            client_columns,
        };
        let mut trial = judge(m, plan, &context);
        // Ended by us because the server died is a finding, not an interruption.
        trial.interrupted = m.interrupted && self.death.is_none();
        // What ended with a server that died is said by its death.
        match (&self.death, changes) {
            (Some(death), _) => marks::died(&mut trial, death.clone()),
            (None, Some(changes)) => marks::changed(&mut trial, self.candidate, &changes, self.recycles),
            (None, None) => {}
        }
        if let Some(server) = &server {
            marks::grown(&mut trial, self.candidate, server);
        }
        (trial, server)
    }
}
