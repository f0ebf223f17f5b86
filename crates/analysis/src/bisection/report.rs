//! What a bisection found, as data.

use prony_model::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use super::Bisection;
use crate::comparison::fail_if::FailIf;
use crate::comparison::sentences::with_interval;
use crate::figure::Figure;

pub const SCHEMA: &str = "prony.bisection/1";

/// How a bisection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectionVerdict {
    /// One revision made the figure worse.
    Found,
    /// It is one of several: the others could not be measured, or did not decide.
    Open,
    /// The last revision is surely not worse.
    NotWorse,
}

/// What was found of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It is surely worse than the limit allows.
    Bad,
    /// It is surely not.
    Good,
    /// Its blocks did not decide.
    Open,
    /// It could not be built or started.
    Skipped,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Revision {
    /// Its hash.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed, RFC 3339.
    pub at: String,
    /// Whether it merges others, none of which was tried.
    pub is_merge: bool,
}

/// A revision that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BisectionStep {
    /// Which.
    #[serde(flatten)]
    pub revision: Revision,
    /// Its place among the revisions, from 0, the good one.
    pub position: usize,
    /// What was found of it.
    pub found: Found,
    /// Its figure over the good one's.
    pub ratio: Option<Estimate>,
    /// Blocks of its run.
    pub blocks: u32,
    /// Looks at it: each spends a part of the 5 % error that it has in all.
    pub looks: u32,
    /// The run log; `None` where none was made.
    pub log: Option<String>,
    /// Why it is open or skipped, or that its files are those of another commit.
    pub why: Option<String>,
}

/// What a bisection found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BisectionReport {
    /// The schema's name: `prony.bisection/1`.
    pub schema: &'static str,
    /// The answer in one sentence.
    pub headline: String,
    /// How it ended.
    pub verdict: BisectionVerdict,
    /// The last revision known to be good.
    pub good: Revision,
    /// The first one known, or where it was not shown said, to be bad: of `found` the one that was sought.
    pub bad: Revision,
    /// Revisions from the one given as good to the one given as bad, both included.
    pub revisions: usize,
    /// The figure that became worse; `None` where none was shown to.
    pub figure: Option<&'static str>,
    /// The condition that makes a revision bad, `throughput<-7.2%`.
    pub condition: String,
    /// In the order in which they were tried.
    pub steps: Vec<BisectionStep>,
    /// The command line.
    pub reproduce: String,
}

impl BisectionReport {
    /// Of revisions in their order; `stopped` is why it ended early, where it did.
    pub fn new(
        bisection: &Bisection,
        verdict: BisectionVerdict,
        line: &[Revision],
        steps: Vec<BisectionStep>,
        (stopped, reproduce): (Option<&str>, String),
    ) -> BisectionReport {
        let (good, bad) = bisection.between();
        let conditions: Vec<String> = bisection.conditions().iter().map(ToString::to_string).collect();
        let figure = bisection.dividing().and_then(FailIf::figure);
        let mut report = BisectionReport {
            schema: SCHEMA,
            headline: String::new(),
            verdict,
            good: line[good].clone(),
            bad: line[bad].clone(),
            revisions: line.len(),
            figure: figure.map(|figure| figure.name),
            condition: conditions.join(","),
            steps,
            reproduce,
        };
        report.headline = headline(&report, figure, (&line[0], bad - good, stopped));
        report
    }
}

impl Revision {
    /// `1a2b3c4d5e6f (Cache the list)`.
    pub fn said(&self) -> String {
        format!("{} ({})", self.short(), self.subject)
    }

    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }
}

fn headline(
    report: &BisectionReport,
    figure: Option<Figure>,
    (first, left, stopped): (&Revision, usize, Option<&str>),
) -> String {
    let (good, bad) = (report.good.said(), report.bad.said());
    let of_bad = report.steps.iter().rev().find(|step| step.revision.commit == report.bad.commit);
    let size = of_bad.and_then(|step| step.ratio.as_ref()).zip(figure);
    let size =
        size.map(|(ratio, figure)| format!("{} against {}", with_interval(figure, ratio), first.short()));
    let size = size.map_or(String::new(), |size| format!(": {size}"));
    let open = stopped.unwrap_or("what lies between could not be decided");
    match (report.verdict, figure) {
        (BisectionVerdict::Found, _) => {
            let merge =
                if report.bad.is_merge { "; it is a merge, whose own commits were not tried" } else { "" };
            format!("{bad} is the first bad commit{size}{merge}")
        }
        (BisectionVerdict::NotWorse, _) => format!("{bad} is not worse than {good}: no commit was sought"),
        (_, Some(figure)) => format!(
            "{} became worse between {good} and {bad}, in one of {left} commits: open, since {open}",
            figure.title
        ),
        _ => {
            let open = stopped.unwrap_or("its blocks did not decide");
            format!("whether {bad} is worse than {good} is open, since {open}")
        }
    }
}
