//! Run logs whose trials were made one by one, by `prony load` and `prony capacity`, and not by an experiment.

use crate::Tool;
use crate::host::Host;
use crate::run_log::{CandidateRecord, Header, NamedPlan, PlannedTrial, SCHEMA};

/// The name in the header of such run logs. An experiment may have the same: [`Header::one_by_one`] says which it is.
const NAME: &str = "load";

/// What is known when the first trial of such a run log was made. The rest of a header is an experiment's.
#[derive(Debug, Clone, PartialEq)]
pub struct OneByOne {
    /// What measured.
    pub tool: Tool,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The command that reproduces the trial.
    pub reproduce: String,
    /// The machine.
    pub host: Host,
    /// What the trial's candidate is called.
    pub candidate: String,
    /// Its plan.
    pub plan: NamedPlan,
    /// The git commit of the folder that it was made in; `None` where there is none, or where nobody knows.
    pub commit: Option<String>,
}

impl OneByOne {
    /// The header of the run log that begins with this trial.
    pub fn header(self) -> Header {
        let plan = &self.plan.plan;
        Header {
            schema: SCHEMA.to_owned(),
            tool: self.tool,
            created_at: self.created_at,
            name: NAME.to_owned(),
            one_by_one: true,
            title: format!("Loads of {}", self.candidate),
            reproduce: self.reproduce,
            host: self.host,
            seed: plan.seed,
            blocks: 1,
            budget_ns: None,
            baseline: None,
            server_cpus: Vec::new(),
            client_cpus: plan.cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect(),
            candidates: vec![CandidateRecord {
                label: self.candidate.clone(),
                title: self.candidate,
                language: None,
                kind: None,
                version: None,
                workers: None,
                keepalive: plan.keepalive,
                settings: Vec::new(),
                sleep: None,
            }],
            skipped: Vec::new(),
            plans: vec![self.plan],
            order: Vec::new(),
            experiment_toml: None,
            published: None,
            commit: self.commit,
            precision: None,
            duet: None,
        }
    }
}

impl PlannedTrial {
    /// The trial of this number in a run log of trials made one by one: a block of its own.
    pub fn one_by_one(index: u32, candidate: &str, plan: &str) -> PlannedTrial {
        PlannedTrial {
            index,
            block: index,
            candidate: candidate.to_owned(),
            plan: plan.to_owned(),
            duet: None,
        }
    }
}
