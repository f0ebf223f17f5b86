//! One load of a server that is up, sampled and watched.
//!
//! A trial is one such load; a search for a capacity is many, of one server; a duet is two at once.

use std::time::{Duration, Instant};

use prony_host::pins::Pins;
use prony_host::{ClientWatch, HostWatch};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::duet::DuetShared;
use prony_model::observed::{Observed, Process, ServerLife};
use prony_model::plan_record::PlanRecord;
use prony_model::{Measurement, Plan};

use super::{BenchSetup, Loader};
use crate::sample::{Life, Sampler, Samples, Watched};
use crate::supervise::{Death, Running};

/// What was applied, and what was seen meanwhile.
pub(super) struct Loaded {
    measured: Result<Measurement, LoadError>,
    pub(super) death: Option<Death>,
    samples: Option<Samples>,
    host: HostWatch,
    /// `None` where this process loads somebody else too.
    client: Option<ClientWatch>,
}

/// What is known of a load beside what was seen of it.
pub(super) struct Known<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) candidate: &'a str,
    /// Whether a worker that another replaces is nothing strange.
    pub(super) recycles: bool,
    /// The CPUs that it was on.
    pub(super) pins: &'a Pins,
    pub(super) startup: Duration,
    /// What its place in a duet shares.
    pub(super) shared: DuetShared,
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
            host.look(snapshot.in_window);
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

    /// What was observed; with it why the server is no more, in a sentence, where it died.
    pub(super) fn observed(
        self,
        plan: &Plan,
        by: &Known<'_>,
    ) -> (Result<Observed, LoadError>, Option<String>) {
        let Loaded { measured, death, samples, host, client } = self;
        let death = death.map(|death| said(by.candidate, death));
        let m = match measured {
            Ok(m) => m,
            Err(why) => return (Err(why), death),
        };
        let (start_ns, end_ns) = (m.window_start_ns, m.window_end_ns);
        let changes = samples.as_ref().map(|samples| samples.changes(end_ns)).unwrap_or_default();
        let process = |life: Life| Process { pid: life.pid, name: life.name };
        let life = ServerLife {
            candidate: by.candidate.to_owned(),
            died: death.clone(),
            recycles: by.recycles,
            replaced: changes.replaced.into_iter().map(|(old, new)| (process(old), process(new))).collect(),
            lost: changes.lost.into_iter().map(process).collect(),
        };
        let server = samples.and_then(|s| s.window(start_ns, end_ns, by.startup, &by.pins.server));
        let observed = Observed {
            host: Some(by.setup.host.clone()),
            host_window: host.finish(&m.address),
            client_columns: client.and_then(|client| client.finish(start_ns)),
            server,
            life,
            shared: by.shared,
            ..Observed::of(m, PlanRecord::of(plan, &by.setup.redact))
        };
        (Ok(observed), death)
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
    ) -> Result<Observed, LoadError> {
        let pins = &self.setup.pins;
        let startup = self.running.as_ref().map(|running| running.startup()).unwrap_or_default();
        let (setup, candidate, recycles) = (self.setup, self.candidate, self.recycles);
        let (running, watched) = (self.running.as_deref_mut(), self.watched.clone());
        let begun = Instant::now();
        let loaded = Watching { running, watched, pins, alone: true }
            .apply(control, observe, |look| (self.loader)(plan, control, look));
        self.under_load += begun.elapsed();
        let shared = DuetShared::Nothing;
        let known = Known { setup, candidate, recycles, pins, startup, shared };
        let (observed, death) = loaded.observed(plan, &known);
        self.death = death;
        observed
    }
}

#[cfg(test)]
mod tests {
    use prony_analysis::testing::healthy;
    use prony_analysis::trial::judge;
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
            let shared = DuetShared::Nothing;
            let by = Known { setup: &setup, candidate: "server", recycles, pins: &pins, startup, shared };
            let plan = Plan::closed(prony_model::Target::parse("http://127.0.0.1/").unwrap());
            let (observed, death) = loaded.observed(&plan, &by);
            let reasons = judge(&observed.unwrap(), &setup.host).verdict.reasons;
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
