//! One load of a server that is up: sampled and watched, judged, and marked with what only the lab can see.
//!
//! A trial is one such load; a search for a capacity is many, of one server; a duet is two at once.

use std::time::{Duration, Instant};

use prony_analysis::trial::{TrialContext, judge};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::server::ServerSamples;
use prony_model::trial::Trial;
use prony_model::{Measurement, Plan};

use super::{BenchSetup, Loader, Pins, marks};
use crate::client_watch::ClientWatch;
use crate::host_watch::HostWatch;
use crate::sample::{Sampler, Samples, Watched};
use crate::supervise::{Death, Running};

/// A server that used this share of its cores was the limit itself: DESIGN's
/// verdict `client_saturated` then does not apply.
const SATURATED: f64 = 0.95;

/// What was applied, and what was seen meanwhile.
pub(super) struct Loaded {
    measured: Result<Measurement, LoadError>,
    pub(super) death: Option<Death>,
    samples: Option<Samples>,
    host: HostWatch,
    /// `None` where this process loads somebody else too.
    client: Option<ClientWatch>,
}

/// A trial with what its server cost, or why there is none.
pub(super) type Judged = Result<(Trial, Option<ServerSamples>), LoadError>;

/// What a load is judged by beside itself.
pub(super) struct Judging<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) candidate: &'a str,
    /// Whether a worker that another replaces is nothing strange.
    pub(super) recycles: bool,
    /// The CPUs that it was on.
    pub(super) pins: &'a Pins,
    pub(super) startup: Duration,
}

/// What is watched while a load runs.
pub(super) struct Watching<'a> {
    /// `None`: somebody else runs the server.
    pub(super) running: Option<&'a mut Running>,
    /// What is sampled of it.
    pub(super) watched: Option<Watched>,
    /// The CPUs of both sides.
    pub(super) pins: &'a Pins,
    /// Whether this process loads only this server.
    pub(super) alone: bool,
}

impl Watching<'_> {
    /// Applies a load; ends it early when the server dies, since the rest would only count refused connections.
    pub(super) fn apply(
        self,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
        load: impl FnOnce(&mut dyn FnMut(&Snapshot)) -> Result<Measurement, LoadError>,
    ) -> Loaded {
        let Watching { mut running, watched, pins, alone } = self;
        let used = pins.used();
        let sampler = watched.map(|watched| Sampler::start(watched, &pins.client, &used));
        let mut host = HostWatch::of(&used);
        // The sampler of a server of ours has the CPUs already.
        let sampled = matches!(sampler, Some(Ok(_)));
        let client = || if sampled { ClientWatch::of(&[]) } else { ClientWatch::with_cores(&used) };
        let mut client = alone.then(client);
        let mut death = None;
        let measured = load(&mut |snapshot| {
            host.look(snapshot);
            if let Some(client) = &mut client {
                client.look();
            }
            if death.is_none()
                && let Some(died) = running.as_mut().and_then(|running| running.died())
            {
                death = Some(died);
                control.stop();
            }
            observe(snapshot);
        });
        let samples = sampler.and_then(Result::ok).map(Sampler::finish);
        let death = death.or_else(|| running.and_then(Running::died));
        Loaded { measured, death, samples, host, client }
    }
}

impl Loaded {
    /// Where nothing could be applied.
    pub(super) fn nothing(why: LoadError) -> Loaded {
        Loaded { measured: Err(why), death: None, samples: None, host: HostWatch::of(&[]), client: None }
    }

    /// The trial that it was; with it why the server is no more, in a sentence, where it died.
    pub(super) fn judged(self, plan: &Plan, by: &Judging<'_>) -> (Judged, Option<String>) {
        let Loaded { measured, death, samples, host, client } = self;
        let death = death.map(|death| said(by.candidate, death));
        let m = match measured {
            Ok(m) => m,
            Err(why) => return (Err(why), death),
        };
        let (start_ns, end_ns) = (m.window_start_ns, m.window_end_ns);
        let changes = samples.as_ref().map(|samples| samples.changes(end_ns));
        let server = samples.and_then(|s| s.window(start_ns, end_ns, by.startup, &by.pins.server));
        let cores = by.pins.server.len();
        let window_ns = end_ns.saturating_sub(start_ns);
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day times cores are below 2^53")]
        let saturated =
            |s: &ServerSamples| s.window_cpu_ns as f64 >= SATURATED * cores as f64 * window_ns as f64;
        let context = TrialContext {
            host: by.setup.host.clone(),
            redact: by.setup.redact.clone(),
            embedded_target: false,
            // Not pinned, the server's cores are nobody's in particular.
            server_saturated: server.as_ref().filter(|_| cores > 0).map(saturated),
            host_window: host.finish(&m.address),
            client_columns: client.and_then(|client| client.finish(start_ns)),
        };
        let mut trial = judge(&m, plan, &context);
        // Ended by us because the server died is a finding, not an interruption.
        trial.interrupted = m.interrupted && death.is_none();
        // What ended with a server that died is said by its death.
        match (&death, changes) {
            (Some(death), _) => marks::died(&mut trial, death.clone()),
            (None, Some(changes)) => marks::changed(&mut trial, by.candidate, &changes, by.recycles),
            (None, None) => {}
        }
        if let Some(server) = &server {
            marks::grown(&mut trial, by.candidate, server);
        }
        (Ok((trial, server)), death)
    }
}

fn said(candidate: &str, Death { how, log_tail }: Death) -> String {
    let mut text = format!("{candidate} {how} while it was loaded.");
    if !log_tail.is_empty() {
        text.push_str(&format!(" It wrote:\n  {}", log_tail.join("\n  ")));
    }
    text
}

/// Loads one server, as often as asked.
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
        let (under_load, death) = (Duration::ZERO, None);
        Loading { setup, loader, candidate, recycles, running, watched, under_load, death }
    }

    /// Applies a load.
    ///
    /// # Errors
    /// When there is no measurement; `death` says whether the server is why.
    pub(super) fn load(
        &mut self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Judged {
        let pins = &self.setup.pins;
        let startup = self.running.as_ref().map(|running| running.startup()).unwrap_or_default();
        let (setup, candidate, recycles) = (self.setup, self.candidate, self.recycles);
        let (running, watched) = (self.running.as_deref_mut(), self.watched.clone());
        let begun = Instant::now();
        let loaded = Watching { running, watched, pins, alone: true }
            .apply(control, observe, |look| (self.loader)(plan, control, look));
        self.under_load += begun.elapsed();
        let (judged, death) = loaded.judged(plan, &Judging { setup, candidate, recycles, pins, startup });
        self.death = death;
        judged
    }
}

#[cfg(test)]
mod tests {
    use prony_analysis::testing::{closed_plan, healthy};
    use prony_model::trial::Effect;

    use super::*;
    use crate::bench::tests::setup;
    use crate::sample::tests::of_a_restart;

    #[test]
    fn a_load_during_which_a_worker_was_exchanged_is_invalid_unless_its_recipe_says_so() {
        let root = tempfile::tempdir().unwrap();
        let setup = setup(root.path(), &[], 1);
        let (pins, startup) = (Pins::default(), Duration::ZERO);
        let judged = |recycles, death| {
            let loaded = Loaded {
                measured: Ok(healthy(1, 1_000)),
                death,
                samples: Some(of_a_restart()),
                ..Loaded::nothing(LoadError::Interrupted)
            };
            let by = Judging { setup: &setup, candidate: "server", recycles, pins: &pins, startup };
            let (judged, death) = loaded.judged(&closed_plan(), &by);
            let reasons = judged.unwrap().0.verdict.reasons;
            let ours = |code: &str| ["server_restarted", "server_died"].contains(&code);
            (reasons.into_iter().find(|reason| ours(&reason.code)).unwrap(), death)
        };
        let (reason, _) = judged(false, None);
        assert_eq!((reason.code.as_str(), reason.effect), ("server_restarted", Effect::Invalid));
        let begins = "1 process of server ended and another took its place: ";
        assert!(reason.detail.starts_with(begins), "{reason:?}");
        let (reason, _) = judged(true, None);
        assert_eq!((reason.code.as_str(), reason.effect), ("server_restarted", Effect::Note));
        // Of a server that died, that is the reason.
        let death = Death { how: "ended with exit code 9".to_owned(), log_tail: Vec::new() };
        let (reason, said) = judged(false, Some(death));
        assert_eq!((reason.code.as_str(), reason.effect), ("server_died", Effect::Invalid));
        assert_eq!(said.as_deref(), Some("server ended with exit code 9 while it was loaded."));
    }
}
