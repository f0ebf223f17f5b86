//! Run logs whose trials were made one by one, by `prony load` and `prony capacity`, and not by an experiment.

use crate::host::Host;
use crate::run_log::{CandidateFacts, CandidateRecord, Header, NamedPlan, PlannedTrial, SCHEMA};

/// The name in the header of such run logs. An experiment may have the same: [`Header::one_by_one`] says which it is.
const NAME: &str = "load";

impl Header {
    /// The header of a run log that begins with a trial of this candidate under this plan. What measured, when, and
    /// in which commit's folder is the caller's to add.
    pub fn of_first_trial(host: Host, reproduce: String, candidate: &str, plan: NamedPlan) -> Header {
        let mut of_candidate = CandidateRecord::named(candidate);
        of_candidate.facts.keepalive = plan.plan.keepalive;
        Header {
            schema: SCHEMA.to_owned(),
            name: NAME.to_owned(),
            one_by_one: true,
            title: format!("Loads of {candidate}"),
            reproduce,
            host,
            seed: plan.plan.seed,
            blocks: 1,
            client_cpus: plan.plan.cpus.clone(),
            candidates: vec![of_candidate],
            plans: vec![plan],
            ..Header::default()
        }
    }
}

impl CandidateRecord {
    pub fn named(label: &str) -> CandidateRecord {
        CandidateRecord {
            label: label.to_owned(),
            facts: CandidateFacts { title: label.to_owned(), keepalive: true, ..CandidateFacts::default() },
            ..CandidateRecord::default()
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
            repeat: 0,
            control: None,
        }
    }
}
