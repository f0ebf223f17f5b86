//! What a view shows, once, as blocks: the terminal and Markdown render them, each in its own way.

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison};
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis};
use prony_analysis::published::PublishedAnalysis;
use prony_model::trial::Effect;

use crate::terminal::{Align, Ink, Table};
use crate::words::{self, comparison as compared};

/// A part of a view.
pub(crate) enum Block {
    /// What follows is apart from what stands before.
    Gap,
    /// Begins a part, with a sentence that says what it is about.
    Part(String, Ink),
    /// A sentence.
    Text(String, Ink),
    Item(Item),
    Table(Table),
    /// What to do next: a word, and a command.
    Command(&'static str, String),
}

/// One of several things to know.
pub(crate) struct Item {
    /// A mark or a word: what kind of thing it is.
    pub(crate) lead: &'static str,
    /// Whom it is about.
    pub(crate) of: Option<String>,
    pub(crate) text: String,
    pub(crate) ink: Ink,
    /// The command that fixes it.
    pub(crate) fix: Option<String>,
}

impl Item {
    /// Whether it begins with a word, and not with a mark.
    pub(crate) fn is_word(&self) -> bool {
        self.lead.starts_with(char::is_alphabetic)
    }
}

fn item(lead: &'static str, text: impl Into<String>, ink: Ink) -> Block {
    Block::Item(Item { lead, of: None, text: text.into(), ink, fix: None })
}

fn item_of(lead: &'static str, of: &str, text: impl Into<String>, fix: Option<String>) -> Block {
    Block::Item(Item { lead, of: Some(of.to_owned()), text: text.into(), ink: Ink::PLAIN, fix })
}

/// What stands below a plan's table.
pub(crate) fn plan_notes(plan: &PlanAnalysis) -> Vec<Block> {
    let shared = words::shared_remarks(&plan.rows).into_iter();
    let mut notes: Vec<Block> = shared.map(|(mark, text)| item(mark, text, Ink::PLAIN)).collect();
    notes.extend(plan.rows.iter().filter_map(|row| {
        let remarks = words::own_remarks(row, &plan.rows);
        let mark = match words::row_mark(row) {
            "" => words::effect_mark(Effect::Note),
            mark => mark,
        };
        (!remarks.is_empty()).then(|| item_of(mark, &row.candidate, remarks.join("; "), None))
    }));
    notes.extend(plan.twin.iter().map(|twin| {
        let ink = if twin.apart == Some(true) { Ink::BAD } else { Ink::PLAIN };
        item("", words::twin(twin), ink)
    }));
    let of_blocks = [plan.planning.as_ref().map(words::planning), words::rank_changes(plan)];
    notes.extend(of_blocks.into_iter().flatten().map(|said| item("", said, Ink::DIM)));
    notes
}

/// What HTTP/2 changes, where plans ask for the same over both.
pub(crate) fn protocols(analysis: &ExperimentAnalysis) -> Vec<Block> {
    let pairs = words::protocols(analysis).into_iter().flat_map(|pair| {
        let mut columns = vec![(Align::Right, 8); pair.head.len()];
        columns[0] = (Align::Left, 10);
        let mut table = Table::new(&columns);
        [pair.head].into_iter().chain(pair.rows).for_each(|row| table.row(row));
        [Block::Part(pair.title, Ink::PLAIN), Block::Table(table)]
    });
    pairs.collect()
}

/// What is to be known of a source beside its claims.
pub(crate) fn source_notes(published: &PublishedAnalysis) -> Vec<Block> {
    let agreement = published.agreement.iter().map(|found| item("", words::agreement(found), Ink::PLAIN));
    let mut notes: Vec<Block> = agreement.collect();
    notes.extend(published.doubts.iter().map(|d| item_of("doubtful", &d.candidate, &d.reason, None)));
    notes.push(item("method", &published.method, Ink::DIM));
    notes.extend(published.differences.iter().map(|why| item("different there", why, Ink::DIM)));
    notes.extend(words::facts(published).map(|facts| item("facts", facts, Ink::DIM)));
    notes.extend(words::not_measured(published).map(|missing| item("not measured here", missing, Ink::DIM)));
    notes
}

/// What stands at the end of a run: what did not run, what happened, and how to do it again.
pub(crate) fn details(analysis: &ExperimentAnalysis) -> Vec<Block> {
    let skipped = analysis
        .skipped
        .iter()
        .map(|skipped| item_of("skipped", &skipped.candidate, &skipped.reason, skipped.mend.clone()));
    let notes = analysis.notes.iter().map(|note| item("note", note, Ink::PLAIN));
    let method = item("±", &analysis.interval_method, Ink::DIM);
    let reproduce = Block::Command("Reproduce", analysis.reproduce.clone());
    skipped.chain(notes).chain([method, reproduce]).collect()
}

/// All of a comparison but its answer.
pub(crate) fn comparison(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (a, b) = compared::sides(comparison);
    for plan in &comparison.plans {
        let amount = compared::amount(plan, comparison);
        blocks.push(Block::Part(format!("{}: {} · {amount}", plan.name, plan.describe), Ink::DIM));
        let right = (Align::Right, 8);
        let columns = [(Align::Left, 12), right, right, right, right, right, (Align::Left, 12)];
        let mut table = Table::new(&columns);
        table.row(["", &a, &b, "change", "95 %", "A/A", "verdict"].map(str::to_owned).to_vec());
        for found in &plan.figures {
            let verdict = compared::verdict(found, comparison.paired);
            let cells = compared::cells(found).into_iter().chain([verdict]).collect();
            table.row_ending_in(ink(found), cells);
        }
        blocks.push(Block::Table(table));
        blocks.extend(compared::tail(plan).map(|tail| item("Tail", tail, Ink::PLAIN)));
        let whys = plan.figures.iter().filter_map(|found| Some((found.figure, found.why.as_ref()?)));
        blocks.extend(whys.map(|(figure, why)| item("–", format!("{figure}: {why}"), Ink::PLAIN)));
    }
    blocks.push(Block::Gap);
    blocks.extend(comparison.not_comparable.iter().map(|difference| {
        item("✗", format!("NOT COMPARABLE, compared because of --force: {difference}"), Ink::BAD)
    }));
    blocks.extend(comparison.notes.iter().map(|note| item("·", note, Ink::WARN)));
    let how = [&comparison.method, compared::legend(comparison)];
    blocks.extend(how.map(|text| Block::Text(text.to_owned(), Ink::DIM)));
    blocks.extend(comparison.next.iter().map(|next| Block::Command("Next", next.clone())));
    blocks
}

fn ink(found: &FigureComparison) -> Ink {
    match found.finding {
        Some(Finding::Faster) => Ink::GOOD,
        Some(Finding::Slower) => Ink::BAD,
        Some(Finding::Equivalent) => Ink::PLAIN,
        Some(Finding::Inconclusive) | None => Ink::WARN,
    }
}
