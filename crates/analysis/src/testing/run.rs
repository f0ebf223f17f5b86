//! Run logs whose truth is known.

use prony_model::Tool;
use prony_model::observed::Observed;
use prony_model::run_log::{
    self, CandidateFacts, CandidateRecord, Header, NamedPlan, PlannedTrial, RunLog, TrialResult,
};
use prony_model::server::{SampleColumns, ServerSamples};

use super::{closed_plan, healthy};
#[cfg(test)]
use crate::experiment::ExperimentAnalysis;
use crate::trial::judge;

/// Builds run logs: candidates × one plan × blocks, with each trial's rate given.
pub struct Log(pub RunLog);

impl Log {
    pub fn new(candidates: &[&str], blocks: u32) -> Log {
        let candidate = |label: &&str| CandidateRecord {
            label: (*label).to_owned(),
            facts: CandidateFacts {
                title: label.to_uppercase(),
                language: Some("C".to_owned()),
                kind: None,
                version: Some("1.0".to_owned()),
                workers: Some(1),
                keepalive: true,
            },
            settings: Vec::new(),
            sleep: None,
        };
        let order = (0..blocks).flat_map(|block| candidates.iter().map(move |c| (block, (*c).to_owned())));
        let plan = closed_plan();
        Log(RunLog {
            header: Header {
                schema: run_log::SCHEMA.to_owned(),
                tool: Tool::this(),
                created_at: "2026-01-01T00:00:00.000Z".to_owned(),
                name: "example".to_owned(),
                one_by_one: false,
                title: "An example".to_owned(),
                reproduce: "prony bench example --seed 7".to_owned(),
                host: prony_model::host::Host::default(),
                seed: 7,
                blocks,
                budget_ns: None,
                baseline: Some(candidates.last().map_or("none", |c| *c).to_owned()),
                server_cpus: vec![1],
                client_cpus: vec![0],
                candidates: candidates.iter().map(candidate).collect(),
                skipped: Vec::new(),
                plans: vec![NamedPlan {
                    name: "c50".to_owned(),
                    describe: "50 connections".to_owned(),
                    plan,
                    group: None,
                    share: None,
                    capacity: None,
                    workers: None,
                }],
                order: (0..)
                    .zip(order)
                    .map(|(index, (block, candidate))| PlannedTrial {
                        index,
                        block,
                        candidate,
                        plan: "c50".to_owned(),
                        duet: None,
                        repeat: 0,
                        control: None,
                    })
                    .collect(),
                experiment_toml: None,
                published: None,
                commit: None,
                precision: None,
                duet: None,
                server_host: None,
                services: Vec::new(),
                service_cpus: Vec::new(),
                reset: None,
            },
            results: Vec::new(),
            events: Vec::new(),
            profiles: Vec::new(),
            replaced: Vec::new(),
            controls: Vec::new(),
            unfinished: Vec::new(),
            truncated: false,
        })
    }

    /// Rates of the candidates block by block; a trial with rate 0 is left out.
    pub fn with(mut self, rates: &[&[u64]]) -> Log {
        for planned in self.0.header.order.clone() {
            let candidate =
                self.0.header.candidates.iter().position(|c| c.label == planned.candidate).unwrap();
            let rate = rates[planned.block as usize][candidate];
            if rate > 0 {
                self.0.results.push(result(planned, rate));
            }
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn event(mut self, what: &str) -> Log {
        let (what, detail) = (what.to_owned(), "a detail".to_owned());
        self.0.events.push(run_log::Event { at: String::new(), what, detail, found: None });
        self
    }

    #[cfg(test)]
    pub(crate) fn trial(&mut self, result: usize) -> &mut prony_model::trial::Trial {
        self.0.results[result].trial.as_mut().unwrap()
    }

    #[cfg(test)]
    pub(crate) fn analyse(&self) -> ExperimentAnalysis {
        let analysis = crate::analyse(&self.0);
        let counts = analysis.trials;
        let sum = counts.valid + counts.lower_bound + counts.suspect + counts.void + counts.missing;
        assert_eq!(counts.planned, sum, "{counts:?}");
        let text = serde_json::to_string(&analysis).unwrap();
        assert!(!text.contains("\"point\":null"), "a figure that is no number: {text}");
        analysis
    }
}

/// A trial of this rate, all well.
pub(crate) fn result(planned: PlannedTrial, rate: u64) -> TrialResult {
    let mut trial =
        judge(&Observed::new(healthy(3, 1000), closed_plan()), &prony_model::host::Host::default());
    trial.throughput.requests_per_s.point = rate as f64;
    trial.started_at = format!("2026-01-01T00:{:02}:00.000Z", planned.index);
    let server = ServerSamples {
        cpu_method: "schedstat".to_owned(),
        memory_method: "rss".to_owned(),
        cpus: vec![1],
        startup_ns: 30_000_000,
        window_cpu_ns: trial.requests.completed * 40_000,
        peak_memory_bytes: (10 + u64::from(planned.block)) << 20,
        processes: 1,
        threads: 1,
        columns: SampleColumns {
            at_ns: vec![-1_000, 0, 1_000],
            cpu_ns: vec![0, 500, 1_500],
            rss_bytes: vec![1, 2, 3],
            ..SampleColumns::default()
        },
        peak_pss_bytes: None,
        host: None,
        services: Vec::new(),
    };
    TrialResult { planned, trial: Some(trial), server: Some(server), failure: None, capacity: None }
}
