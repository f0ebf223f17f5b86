//! What a view shows, once, as blocks: the terminal, Markdown and HTML render them, each in its own way.

pub(crate) mod plots;
mod whole;

use prony_analysis::bisection::{BisectionReport, BisectionStep};
use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison, PlanComparison};
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::profile::ProfileComparison;
use prony_analysis::published::PublishedAnalysis;
use prony_model::Estimate;
use prony_model::trial::Effect;

use crate::format;
use crate::svg::Plot;
use crate::terminal::{Align, Ink, Table};
use crate::words::{self, PublishedColumn, WITHHELD, comparison as compared};

pub(crate) use whole::{run, trial, trials};

pub(crate) enum Block {
    Gap,
    Title(String),
    Answer(String, String),
    Section(String),
    Lines(Vec<String>),
    Plot(Plot),
    Part(String, Ink),
    Text(String, Ink),
    Item(Item),
    Table(Table),
    Command(&'static str, String),
}

pub(crate) struct Item {
    pub(crate) lead: &'static str,
    pub(crate) of: Option<String>,
    pub(crate) text: String,
    pub(crate) ink: Ink,
    pub(crate) fix: Option<String>,
}

impl Item {
    pub(crate) fn is_word(&self) -> bool {
        self.lead.starts_with(char::is_alphabetic)
    }

    /// What stands before it where a list has marks of its own: `Skipped: `.
    pub(crate) fn kind(&self) -> String {
        match self.lead.chars().next() {
            Some(first) if self.is_word() => {
                format!("{}{}: ", first.to_uppercase(), &self.lead[first.len_utf8()..])
            }
            Some('±') => "± ".to_owned(),
            _ => String::new(),
        }
    }
}

fn item(lead: &'static str, text: impl Into<String>, ink: Ink) -> Block {
    Block::Item(Item { lead, of: None, text: text.into(), ink, fix: None })
}

fn item_of(lead: &'static str, of: &str, text: impl Into<String>, fix: Option<String>) -> Block {
    Block::Item(Item { lead, of: Some(of.to_owned()), text: text.into(), ink: Ink::PLAIN, fix })
}

pub(crate) struct Column {
    pub(crate) head: String,
    align: Align,
    /// The least width in a terminal, its gap to the left included.
    least: usize,
    pub(crate) cells: Vec<String>,
}

impl Column {
    pub(crate) fn width(&self) -> usize {
        let longest = self.cells.iter().chain([&self.head]).map(|cell| cell.chars().count()).max();
        self.least.max(longest.unwrap_or(0) + 1)
    }
}

/// The columns of a plan's table that have anything in them. `baseline` is its name in the head of its ratios. A `wide` one
/// has intervals and, in place of marks, counts.
pub(crate) fn columns(
    plan: &PlanAnalysis,
    theirs: &[PublishedColumn],
    baseline: Option<&str>,
    wide: bool,
) -> Vec<Column> {
    use Align::{Left, Right};
    let or_withheld = |cell: Option<String>| cell.unwrap_or_else(|| WITHHELD.to_owned());
    let column = |head: &str, align, least, cell: &dyn Fn(&Row) -> Option<String>| {
        let cells = plan.rows.iter().map(|row| or_withheld(cell(row))).collect();
        Column { head: head.to_owned(), align, least, cells }
    };
    let mut columns = vec![column("rank", Left, 6, &|row| Some(words::rank(row)))];
    if !wide {
        // The figure itself has this one.
        columns
            .push(column("", Left, 2, &|row| Some(words::row_mark(row).trim_start_matches('≥').to_owned())));
    }
    columns.push(column(SERVER, Left, 0, &|row| Some(row.candidate.clone())));
    columns.push(column("req/s", Right, 10, &|row| Some(words::row_rate(row))));
    columns.push(match wide {
        true => column("±95 %", Right, 0, &|row| row.throughput().and_then(words::plus_minus)),
        false => {
            column("±95 %", Right, 7, &|row| row.throughput().map_or(Some(String::new()), words::half_width))
        }
    });
    if let Some(name) = baseline.filter(|_| wide || plan.rows.iter().any(|row| row.ratio.is_some())) {
        let interval = |ratio: &Estimate| if wide { words::spaced_plus_minus(ratio) } else { String::new() };
        let cell = |ratio: &Estimate| format!("{}{}", words::ratio(ratio), interval(ratio));
        columns.push(column(&format!("vs {name}"), Right, 7, &|row| row.ratio.as_ref().map(cell)));
    }
    columns.extend(theirs.iter().map(|theirs| Column {
        head: theirs.head.clone(),
        align: Right,
        least: 8,
        cells: theirs.cells.iter().cloned().map(or_withheld).collect(),
    }));
    for figure in Figure::all() {
        let is_known = plan.rows.iter().any(|row| row.figures[figure].estimate.is_some());
        let shown = match wide {
            true => (figure.in_markdown || (figure.is_column() && is_known)).then_some((figure.head, 0)),
            false => figure.terminal_column.filter(|_| is_known || figure.quantile().is_some()),
        };
        let cell = |row: &Row| Some(words::row_figure(row, figure));
        columns.extend(shown.map(|(head, least)| column(head, Right, least, &cell)));
    }
    if wide {
        columns.push(column("failed", Right, 0, &|row| Some(format::thousands(row.failed))));
        columns.push(column("trials", Right, 0, &|row| Some(format!("{}/{}", row.counted, row.trials))));
    }
    columns
}

const MESSAGE_MAX: usize = 40;

pub(crate) const SERVER: &str = "server";

pub(crate) fn table(columns: &[Column]) -> Block {
    let mut table = Table::new(&columns.iter().map(|c| (c.align, c.least)).collect::<Vec<_>>());
    table.row(columns.iter().map(|column| column.head.clone()).collect());
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.row(columns.iter().map(|column| column.cells[row].clone()).collect());
    }
    Block::Table(table)
}

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
    notes.extend(said_of(plan).into_iter().map(|(said, ink)| item("", said, ink)));
    notes
}

pub(crate) fn said_of(plan: &PlanAnalysis) -> Vec<(String, Ink)> {
    let control = plan.twin.as_ref().map(|twin| {
        let ink = if twin.apart == Some(true) { Ink::BAD } else { Ink::PLAIN };
        (words::twin(twin), ink)
    });
    let of_blocks = [plan.planning.as_ref().map(words::planning), words::rank_changes(plan)];
    let of_blocks = of_blocks.into_iter().flatten().map(|said| (said, Ink::DIM));
    control.into_iter().chain(of_blocks).collect()
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

pub(crate) fn source_notes(published: &PublishedAnalysis) -> Vec<Block> {
    let agreement = published.agreement.iter().map(|found| item("", words::agreement(found), Ink::PLAIN));
    let by_it = words::by_its_statistic(published).into_iter().map(|said| item("", said, Ink::DIM));
    let mut notes: Vec<Block> = agreement.chain(by_it).collect();
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

/// Of a comparison what was asked for, but for its answer.
pub(crate) fn comparison(comparison: &Comparison) -> Vec<Block> {
    let forced = comparison.not_comparable.iter().map(|difference| {
        item("✗", format!("NOT COMPARABLE, compared because of --force: {difference}"), Ink::BAD)
    });
    let mut blocks: Vec<Block> = forced.collect();
    blocks.extend(comparison.plans.iter().flat_map(|plan| compared_figures(comparison, plan, true)));
    blocks.extend(comparison.profile.iter().flat_map(profile));
    blocks.push(Block::Gap);
    blocks.extend(comparison.notes.iter().map(|note| item("·", note, Ink::WARN)));
    let how = [&comparison.method, compared::legend(comparison)];
    blocks.extend(how.map(|text| Block::Text(text.to_owned(), Ink::DIM)));
    blocks.extend(comparison.next.iter().map(|next| Block::Command("Next", next.clone())));
    blocks
}

pub(crate) fn profile(found: &ProfileComparison) -> Vec<Block> {
    let shown = words::profile(found);
    let right = (Align::Right, 8);
    let mut table = Table::new(&[(Align::Left, 12), right, right, right, (Align::Left, 12)]);
    [shown.head].into_iter().chain(shown.rows).for_each(|row| table.row(row));
    let notes = shown.notes.into_iter().map(|note| item("", note, Ink::DIM));
    [Block::Part(shown.title, Ink::PLAIN), Block::Table(table)].into_iter().chain(notes).collect()
}

pub(crate) fn not_asked(comparison: &Comparison) -> Vec<Block> {
    let of_plan = |plan: &PlanComparison| {
        let mut blocks = compared_figures(comparison, plan, false);
        blocks.extend(compared::tail(plan).map(|tail| item("Tail", tail, Ink::PLAIN)));
        blocks
    };
    comparison.plans.iter().flat_map(of_plan).collect()
}

/// Of a bisection all but its answer: what was tried, in the order of the commits.
pub(crate) fn bisection(report: &BisectionReport) -> Vec<Block> {
    let commits = format::count(report.revisions as u64, "commit", "commits");
    let head =
        format!("{commits}, of which {} were tried: bad where {}", report.steps.len(), report.condition);
    let mut table = Table::new(&[
        (Align::Left, 13),
        (Align::Left, 8),
        (Align::Right, 8),
        (Align::Right, 8),
        (Align::Right, 7),
        (Align::Left, 0),
    ]);
    table.row(["commit", "", "change", "95 %", "blocks", "message"].map(str::to_owned).to_vec());
    let mut steps: Vec<&BisectionStep> = report.steps.iter().collect();
    steps.sort_by_key(|step| step.position);
    for step in &steps {
        let (change, interval) = compared::change_with_interval(step.ratio.as_ref());
        let commit = step.revision.short().to_owned();
        let subject = format::truncate(&format::printable(&step.revision.subject), MESSAGE_MAX);
        let found = words::found(step.found).to_owned();
        table.row(vec![commit, found, change, interval, step.blocks.to_string(), subject]);
    }
    let mut blocks = vec![Block::Part(head, Ink::PLAIN), Block::Table(table)];
    let whys = steps.iter().filter_map(|step| Some((step.revision.short(), step.why.as_ref()?)));
    blocks.extend(whys.map(|(commit, why)| item_of("·", commit, why, None)));
    let method = "Each commit ran beside the good one, in turns, and changes are against it. All looks at a commit's \
                  blocks together take it for the other kind with a chance of at most 5 %.";
    blocks.push(Block::Text(method.to_owned(), Ink::DIM));
    blocks.push(Block::Command("Reproduce", report.reproduce.clone()));
    blocks
}

fn compared_figures(comparison: &Comparison, plan: &PlanComparison, asked: bool) -> Vec<Block> {
    let found = plan.figures.iter().filter(|found| comparison.asked.contains(&found.figure) == asked);
    let found: Vec<&FigureComparison> = found.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let amount = compared::amount(plan, comparison);
    let head = Block::Part(format!("{}: {} · {amount}", plan.name, plan.describe), Ink::DIM);
    let right = (Align::Right, 8);
    let columns = [(Align::Left, 12), right, right, right, right, right, (Align::Left, 12)];
    let mut table = Table::new(&columns);
    let (a, b) = compared::sides(comparison);
    table.row(["", &a, &b, "change", "95 %", "A/A", "verdict"].map(str::to_owned).to_vec());
    for found in &found {
        let verdict = compared::verdict(found, comparison.paired);
        let cells = compared::cells(found).into_iter().chain([verdict]).collect();
        table.row_ending_in(ink(found), cells);
    }
    let whys = found.iter().filter_map(|found| Some((found.figure, found.why.as_ref()?)));
    let whys = whys.map(|(figure, why)| item("–", format!("{figure}: {why}"), Ink::PLAIN));
    [head, Block::Table(table)].into_iter().chain(whys).collect()
}

fn ink(found: &FigureComparison) -> Ink {
    match found.finding {
        Some(Finding::Faster) => Ink::GOOD,
        Some(Finding::Slower) => Ink::BAD,
        Some(Finding::Equivalent) => Ink::PLAIN,
        Some(Finding::Inconclusive) | None => Ink::WARN,
    }
}
