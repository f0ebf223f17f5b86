//! What a source printed: its figures beside ours, and its conclusions judged.

use schemars::JsonSchema;
use serde::Serialize;

use super::Short;

/// Somebody's figure beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Published {
    /// Index of the plan.
    pub plan: usize,
    /// Index of the candidate.
    pub candidate: usize,
    /// Index of the figure.
    pub figure: usize,
    /// Their figure.
    pub value: f64,
    /// Where it was published.
    pub source: String,
    /// Why it is doubted, if it is.
    pub doubt: Option<String>,
}

/// A conclusion about what somebody published, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Conclusion {
    /// What it says.
    pub claim: String,
    /// Whose it is, as a title: those of one stand together.
    pub by: String,
    /// Its figure, in words.
    pub there: String,
    /// Ours, in words.
    pub here: String,
    /// `holds`, `fails`, `undecided` or `unjudged`.
    pub verdict: String,
    /// Where it was published.
    pub source: String,
    /// What it was judged by: a claim on figures; empty where it is not judged.
    pub rule: String,
    /// The 95 % interval of ours, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// What the figures do not say: why it is undecided, where plans differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Plan by plan, where it is about several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<ConclusionUnder>,
}

/// A conclusion under one plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ConclusionUnder {
    /// The plan's name.
    pub plan: String,
    /// `holds`, `fails` or `undecided`.
    pub verdict: String,
    /// Ours, in words.
    pub here: String,
    /// Why it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Somebody's publication beside this run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SourceTable {
    /// What it is called.
    pub name: String,
    /// How its figures were obtained.
    pub method: String,
    /// How far its order agrees with ours, a sentence a plan.
    pub agreement: Vec<String>,
    /// Rows of its that are doubted: candidate and reason.
    pub doubts: Vec<(String, String)>,
    /// What in its method makes its figures others than ours.
    pub differences: Vec<String>,
    /// Candidates of its tables without a figure here.
    pub not_here: Vec<String>,
    /// The figures that any of its rows has, in the order of a table.
    pub columns: Vec<SourceColumn>,
    /// What it printed, in its order; a row that stands beside several plans is there once for each.
    pub rows: Vec<SourceRow>,
    /// What it says besides: key and text.
    pub facts: Vec<(String, String)>,
}

/// A figure that a source printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SourceColumn {
    /// Its name in the source's file: `p99_ms`.
    pub name: String,
    /// For people: `p99`.
    pub title: String,
    /// Its unit; empty: a number of something, or a share.
    pub unit: &'static str,
}

/// A row of a source's tables.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SourceRow {
    /// The source's word for the candidate.
    pub name: String,
    /// Our label of it.
    pub candidate: String,
    /// Index of the candidate, where it is of this run.
    pub index: Option<usize>,
    /// Index of the plan that the row stands beside; none where no plan here is that load.
    pub plan: Option<usize>,
    /// Connections; none where the source does not say.
    pub connections: Option<u32>,
    /// Requests per second asked for; none in closed arrivals.
    pub rate_per_s: Option<f64>,
    /// Workers; none where the source does not say.
    pub workers: Option<u32>,
    /// Its figures, in the order of the columns; none where it printed none.
    pub figures: Vec<Option<SourceFigure>>,
    /// What it says in words: key and text.
    pub remarks: Vec<(String, String)>,
    /// Why it is doubted, if it is.
    pub doubt: Option<String>,
}

/// A source's figure and ours, both in the source's unit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SourceFigure {
    /// Theirs.
    pub value: f64,
    /// Ours, where the same was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<Short>,
    /// Ours is longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours_beyond: Option<f64>,
    /// Ours is a lower bound: print `≥`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}
