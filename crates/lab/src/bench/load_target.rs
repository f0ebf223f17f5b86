//! One load of a server that is up, sampled and watched: a trial is one, a search many, a duet two at once.

use std::time::{Duration, Instant};

use prony_host::pins::Pins;
use prony_host::{Beside, ClientWatch};
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::Plan;
use prony_model::duet::DuetShared;
use prony_model::observed::{Observed, ServerLife};

use super::BenchSetup;
use super::planned_trial::{Trial, TrialEnd};
use super::running_server::RunningServer;
use super::services::Up;
use crate::server_host::{SampledServer, Sampling};
use crate::watch::Observation;

pub(super) struct LoadTarget<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) candidate: &'a str,
    pub(super) recycles: bool,
    pub(super) pins: &'a Pins,
    /// `None`: somebody else runs it.
    pub(super) running: Option<RunningServer>,
    /// What runs beside it; declared after it, since it ends after it.
    pub(super) services: Vec<Up>,
    /// What is sampled; asked once, since a container's engine takes 0.1 s and more to tell.
    pub(super) watched: Option<SampledServer>,
    pub(super) under_load: Duration,
    pub(super) death: Option<String>,
    pub(super) service_lost: Option<String>,
    pub(super) unsampled: Vec<String>,
    /// What else ran before it was started; `None` of one that was there already.
    pub(super) before: Option<Beside>,
}

impl LoadTarget<'_> {
    /// Applies a load; ends it early when the server dies, since the rest would only count refused connections.
    pub(super) fn load(
        &mut self,
        loader: &Loader<'_>,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Observed, LoadError> {
        let begun = Instant::now();
        let (setup, pins) = (self.setup, self.pins);
        let used = setup.used_here(pins);
        let sampling = self.watched.as_ref().map(|server| server.start(&pins.client, &used)).transpose();
        let sampling = sampling.unwrap_or_else(|why| {
            self.unsampled.push(format!("What {} costs is not known: {why}", self.candidate));
            None
        });
        let mut services = Vec::new();
        for up in &self.services {
            match up.sample(&pins.client) {
                Ok(sampled) => services.push(sampled),
                Err(why) => {
                    let name = up.name();
                    self.unsampled.push(format!("What the service {name} costs is not known: {why}"));
                }
            }
        }
        // The sampler of a server of ours on this machine has its CPUs already.
        let sampled_here = matches!(sampling, Some(Sampling::Here(_)));
        let client = || if sampled_here { ClientWatch::on(&[]) } else { ClientWatch::with_cores(&used) };
        let observation = Observation {
            cpus: &used,
            client: setup.duet.is_none().then(client),
            sampling,
            services,
            startup: self.running.as_ref().map(RunningServer::startup).unwrap_or_default(),
            server_cpus: &pins.server,
            before: self.before.clone(),
        };
        let loaded = observation.load(loader, plan, control, &mut |snapshot| {
            if !self.is_over() {
                self.look();
                if self.is_over() {
                    control.stop();
                }
            }
            observe(snapshot);
        });
        self.look();
        self.under_load += begun.elapsed();
        let (observed, sampled) = loaded?;
        self.unsampled
            .extend(sampled.err().map(|why| format!("What {} costs is not known: {why}", self.candidate)));
        Ok(self.completed(observed))
    }

    /// How its trial ended where one of its services was lost: without a measurement, since that is not the candidate's doing.
    pub(super) fn lost(&mut self, trial: Trial<'_>) -> Option<TrialEnd> {
        self.service_lost.take().map(|why| trial.failed(why))
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        match &self.watched {
            Some(SampledServer::Here(watched)) => watched.pids(),
            Some(SampledServer::There(_)) | None => Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.death.is_some() || self.service_lost.is_some()
    }

    pub(super) fn look(&mut self) {
        if self.service_lost.is_none() {
            self.service_lost = self.services.iter_mut().find_map(|up| up.died_beside(self.candidate));
        }
        if self.death.is_none() {
            let died = self.running.as_mut().and_then(RunningServer::died);
            self.death = died.map(|death| death.said(self.candidate));
        }
    }

    fn completed(&self, observed: Observed) -> Observed {
        Observed {
            host: Some(self.setup.host.clone()),
            life: ServerLife {
                candidate: self.candidate.to_owned(),
                died: self.death.clone(),
                recycles: self.recycles,
                ..observed.life
            },
            slo: self.setup.slo.clone(),
            shared: self.setup.duet.as_ref().map_or(DuetShared::Nothing, |halves| halves.shared),
            ..observed
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_analysis::testing::healthy;
    use prony_analysis::trial::judge;
    use prony_model::code::Code;
    use prony_model::recorded_plan::RecordedPlan;
    use prony_model::trial::Effect;

    use super::*;
    use crate::bench::tests::setup;
    use crate::sample::tests::of_a_restart;
    use crate::supervise::Death;

    #[test]
    fn a_load_with_an_exchanged_worker_is_invalid_unless_allowed() {
        let root = tempfile::tempdir().unwrap();
        let setup = setup(root.path(), &[], 1);
        let pins = Pins::default();
        let judged = |recycles, death: Option<Death>| {
            let side = LoadTarget {
                setup: &setup,
                candidate: "server",
                recycles,
                pins: &pins,
                running: None,
                services: Vec::new(),
                service_lost: None,
                watched: None,
                under_load: Duration::ZERO,
                death: death.map(|death| death.said("server")),
                unsampled: Vec::new(),
                before: None,
            };
            let plan = Plan::closed(prony_model::Target::parse("http://127.0.0.1/").unwrap());
            let life = of_a_restart().changes(u64::MAX).into();
            let seen = Observed { life, ..Observed::new(healthy(1, 1_000), RecordedPlan::of(&plan)) };
            let observed = side.completed(seen);
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
