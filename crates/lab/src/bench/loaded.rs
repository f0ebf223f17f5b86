//! One load of a server that is up, sampled and watched.
//!
//! A trial is one such load; a search for a capacity is many, of one server; a duet is two at once.

use std::time::{Duration, Instant};

use prony_host::pins::Pins;
use prony_host::{Beside, ClientWatch, HostWatch};
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::duet::DuetShared;
use prony_model::host::HostWindow;
use prony_model::observed::{Observed, ServerLife};
use prony_model::plan_record::PlanRecord;
use prony_model::{Measurement, Plan};

use super::BenchSetup;
use super::up::Up;
use crate::server_host::{SampledServer, Sampling, Seen};

/// A server that is up, on its CPUs, to be loaded as often as asked.
pub(super) struct Side<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) candidate: &'a str,
    /// Whether a worker that another replaces is nothing strange.
    pub(super) recycles: bool,
    /// Its CPUs and its client's.
    pub(super) pins: &'a Pins,
    /// `None`: somebody else runs it.
    pub(super) running: Option<Up>,
    /// What is sampled; asked once, since a container's engine takes 0.1 s and more to tell.
    pub(super) watched: Option<SampledServer>,
    /// How long it was under load so far.
    pub(super) under_load: Duration,
    /// Why it is no more, in a sentence, once that was seen.
    pub(super) death: Option<String>,
    /// Why what it cost is not known, in a sentence.
    pub(super) unsampled: Option<String>,
    /// What else ran before it was started; `None` of one that was there already.
    pub(super) before: Option<Beside>,
}

/// What was applied, and what was seen meanwhile.
pub(super) struct Loaded {
    measured: Result<Measurement, LoadError>,
    seen: Option<Seen>,
    host: HostWatch,
    /// What other programs used of its CPUs.
    others: Option<f64>,
    /// `None` where this process loads somebody else too.
    client: Option<ClientWatch>,
}

impl Side<'_> {
    /// Applies a load; ends it early when the server dies, since the rest would only count refused connections.
    pub(super) fn run(
        &mut self,
        load: &Loader<'_>,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Loaded {
        let begun = Instant::now();
        let used = self.setup.used_here(self.pins);
        let sampling = self.watched.as_ref().map(|server| server.start(&self.pins.client, &used));
        let mut host = HostWatch::on(&used);
        // The sampler of a server of ours on this machine has its CPUs already.
        let sampled = matches!(sampling, Some(Ok(Sampling::Here(_))));
        let client = || if sampled { ClientWatch::on(&[]) } else { ClientWatch::with_cores(&used) };
        let mut client = self.setup.duet.is_none().then(client);
        let beside = self.before.is_some().then(Beside::read);
        let measured = load(plan, control, &mut |snapshot| {
            host.look(snapshot.in_window);
            if let Some(client) = &mut client {
                client.look();
            }
            if self.death.is_none() {
                self.look();
                if self.death.is_some() {
                    control.stop();
                }
            }
            observe(snapshot);
        });
        let others = self
            .before
            .as_ref()
            .zip(beside)
            .map(|(before, from)| from.until(&Beside::read(), before, &used).others);
        let window = measured.as_ref().ok().map(|m| (m.window_start_ns, m.window_end_ns));
        let startup = self.running.as_ref().map(Up::startup).unwrap_or_default();
        let seen = match sampling {
            None => Ok(None),
            Some(Ok(sampling)) => sampling.finish(window, startup, &self.pins.server),
            Some(Err(why)) => Err(why.to_string()),
        };
        let seen = seen.unwrap_or_else(|why| {
            self.unsampled = Some(why);
            None
        });
        self.look();
        self.under_load += begun.elapsed();
        Loaded { measured, seen, host, others, client }
    }

    /// Looks whether it has died.
    pub(super) fn look(&mut self) {
        if self.death.is_none() {
            let died = self.running.as_mut().and_then(Up::died);
            self.death = died.map(|death| death.said(self.candidate));
        }
    }

    pub(super) fn observed(&self, plan: &Plan, loaded: Loaded) -> Result<Observed, LoadError> {
        let Loaded { measured, seen, host, others, client } = loaded;
        let (m, setup) = (measured?, self.setup);
        let Seen { server, life } = seen.unwrap_or_default();
        let life = ServerLife {
            candidate: self.candidate.to_owned(),
            died: self.death.clone(),
            recycles: self.recycles,
            ..life
        };
        Ok(Observed {
            host: Some(setup.host.clone()),
            host_window: host.finish(&m.address).map(|window| HostWindow { others, ..window }),
            client_columns: client.and_then(|client| client.finish(m.window_start_ns)),
            server,
            life,
            slo: setup.slo.clone(),
            shared: setup.duet.as_ref().map_or(DuetShared::Nothing, |halves| halves.shared),
            ..Observed::new(m, PlanRecord::of(plan))
        })
    }
}

impl Loaded {
    /// Where nothing could be applied.
    pub(super) fn nothing(why: LoadError) -> Loaded {
        Loaded { measured: Err(why), seen: None, host: HostWatch::on(&[]), others: None, client: None }
    }
}

#[cfg(test)]
mod tests {
    use prony_analysis::testing::healthy;
    use prony_analysis::trial::judge;
    use prony_model::code::Code;
    use prony_model::trial::Effect;

    use super::*;
    use crate::bench::tests::setup;
    use crate::sample::tests::of_a_restart;
    use crate::supervise::Death;

    #[test]
    fn a_load_during_which_a_worker_was_exchanged_is_invalid_unless_its_recipe_says_so() {
        let root = tempfile::tempdir().unwrap();
        let setup = setup(root.path(), &[], 1);
        let pins = Pins::default();
        let judged = |recycles, death: Option<Death>| {
            let loaded = Loaded {
                measured: Ok(healthy(1, 1_000)),
                seen: Some(Seen { server: None, life: of_a_restart().changes(u64::MAX).into() }),
                ..Loaded::nothing(LoadError::Interrupted)
            };
            let side = Side {
                setup: &setup,
                candidate: "server",
                recycles,
                pins: &pins,
                running: None,
                watched: None,
                under_load: Duration::ZERO,
                death: death.map(|death| death.said("server")),
                unsampled: None,
                before: None,
            };
            let plan = Plan::closed(prony_model::Target::parse("http://127.0.0.1/").unwrap());
            let observed = side.observed(&plan, loaded).unwrap();
            let reasons = judge(&observed, &setup.host).verdict.reasons;
            let ours = |code| [Code::ServerRestarted, Code::ServerDied].contains(&code);
            (reasons.into_iter().find(|reason| ours(reason.code)).unwrap(), side.death)
        };
        let (reason, _) = judged(false, None);
        assert_eq!((reason.code, reason.effect), (Code::ServerRestarted, Effect::Invalid));
        let begins = "1 process of server ended and another took its place: ";
        assert!(reason.detail.starts_with(begins), "{reason:?}");
        let (reason, _) = judged(true, None);
        assert_eq!((reason.code, reason.effect), (Code::ServerRestarted, Effect::Note));
        // Of a server that died, that is the reason.
        let death = Death { how: "ended with exit code 9".to_owned(), log_tail: Vec::new() };
        let (reason, said) = judged(false, Some(death));
        assert_eq!((reason.code, reason.effect), (Code::ServerDied, Effect::Invalid));
        assert_eq!(said.as_deref(), Some("server ended with exit code 9 while it was loaded."));
    }
}
