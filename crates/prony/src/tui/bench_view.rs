//! An experiment on the screen: the grid of its trials, and the one that runs.
//! Pure: a state and the time since the run began in, characters out.

use std::time::Duration;

use prony_model::units::nanoseconds;
use prony_report::format;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::bench::{BenchState, Mark, who};
use super::canvas::{Canvas, Theme, cut, flow};
use super::load_view;

/// Labels of candidates take at most so many columns; on narrow screens a third.
const LABEL_MAX: usize = 24;
/// A plan's name above its trials, where these are fewer.
const NAME_MAX: usize = 10;
const LAST: usize = 11;
/// Lower, no row is left free.
const SPACED: usize = 18;
/// Rows of the trial that runs, at least.
const RUNNING_MIN: usize = 4;

pub(super) fn draw(bench: &BenchState, now: Duration, canvas: &mut Canvas<'_>) {
    head(bench, now, canvas);
    let spaced = canvas.height() >= SPACED;
    let blanks = if spaced { 2 } else { 0 };
    // The names of plans, the legend, and the trial that runs; candidates take what is left.
    let others = 1 + legend_rows(canvas) + RUNNING_MIN;
    let rows = canvas.left().saturating_sub(blanks + others);
    if spaced {
        canvas.skip();
    }
    grid(bench, canvas, rows);
    legend(bench, canvas);
    if spaced {
        canvas.skip();
    }
    running(bench, canvas);
    recent(bench, canvas);
}

fn head(bench: &BenchState, now: Duration, canvas: &mut Canvas<'_>) {
    let left = bench
        .left(now)
        .map_or_else(String::new, |left| format!("about {} left", format::elapsed(nanoseconds(left))));
    canvas.ends(Line::styled(bench.title.clone(), Theme::strong()), Line::styled(left, Theme::strong()));
    let [done, all] = [bench.done, bench.remaining].map(|count| format::thousands(count.into()));
    let count = format!(" {done} of {all}");
    let elapsed = if canvas.width() >= 60 {
        format!(" · {} elapsed", format::elapsed(nanoseconds(now)))
    } else {
        String::new()
    };
    let width = canvas.width().saturating_sub(count.chars().count() + elapsed.chars().count());
    let mut line = canvas.bar(bench.share(), width);
    line.push(Span::raw(count));
    line.push(Span::styled(elapsed, Theme::dim()));
    canvas.line(line);
}

#[derive(Debug, PartialEq, Eq)]
struct Fit {
    label: usize,
    plans: std::ops::Range<usize>,
    widths: Vec<usize>,
    marks: bool,
    last: bool,
}

/// Marks where all plans have room for them, else counts, else as many plans as fit around the one that runs.
fn fit(bench: &BenchState, width: usize) -> Fit {
    let longest = bench.candidates.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let label = longest.min(LABEL_MAX).min(width / 3).max(1);
    let plans = bench.plans.len();
    // A count, and the worst mark.
    let count_width = format!("{0}/{0}", bench.blocks).len() + 1;
    let names = |cell: usize| -> Vec<usize> {
        bench.plans.iter().map(|name| cell.max(name.chars().count().min(NAME_MAX))).collect()
    };
    let tries = [
        (names(bench.blocks), true),
        (vec![bench.blocks.max(3); plans], true),
        (names(count_width), false),
        (vec![count_width; plans], false),
    ];
    let needs = |widths: &[usize]| label + widths.iter().map(|width| width + 2).sum::<usize>();
    for (mut widths, marks) in tries {
        let needed = needs(&widths);
        if needed <= width {
            let last = needed + LAST < width;
            widen(&mut widths, &bench.plans, width - needed - if last { LAST + 1 } else { 0 });
            return Fit { label, plans: 0..plans, widths, marks, last };
        }
    }
    let room = (width.saturating_sub(label) / (count_width + 2)).max(1);
    let current =
        bench.running.as_ref().and_then(|(planned, _)| bench.plans.iter().position(|p| *p == planned.plan));
    let from = current.unwrap_or(0).saturating_sub(room / 2).min(plans.saturating_sub(room));
    let shown = from..(from + room).min(plans);
    let widths = vec![count_width; shown.len()];
    Fit { label, plans: shown, widths, marks: false, last: false }
}

/// Gives spare columns to names that are cut, one each in turn.
fn widen(widths: &mut [usize], names: &[String], mut spare: usize) {
    loop {
        let before = spare;
        for (width, name) in widths.iter_mut().zip(names) {
            if spare > 0 && *width < name.chars().count() {
                (*width, spare) = (*width + 1, spare - 1);
            }
        }
        if spare == before {
            return;
        }
    }
}

fn grid(bench: &BenchState, canvas: &mut Canvas<'_>, rows: usize) {
    let fit = fit(bench, canvas.width());
    let mut names = vec![Span::raw(" ".repeat(fit.label))];
    for (plan, width) in fit.plans.clone().zip(&fit.widths) {
        let name = format::truncate(&format::printable(&bench.plans[plan]), *width);
        names.push(Span::styled(format!("  {name:<width$}"), Theme::dim()));
    }
    if fit.last {
        names.push(Span::styled(format!(" {:>LAST$}", "last req/s"), Theme::dim()));
    }
    if fit.plans.len() < bench.plans.len() {
        let hidden = bench.plans.len() - fit.plans.len();
        names.push(Span::styled(format!(" +{hidden}"), Theme::dim()));
    }
    canvas.line(cut(Line::from(names), canvas.width()));
    let candidates = bench.candidates.len();
    let rows = rows.max(1);
    // The candidate that runs is always in sight.
    let shown = if candidates <= rows { candidates } else { rows.saturating_sub(1).max(1) };
    let current = bench
        .running
        .as_ref()
        .and_then(|(planned, _)| bench.candidates.iter().position(|candidate| *candidate == planned.who()));
    let from = current.unwrap_or(0).saturating_sub(shown / 2).min(candidates.saturating_sub(shown));
    for candidate in from..(from + shown).min(candidates) {
        row(bench, &fit, candidate, current == Some(candidate), canvas);
    }
    if shown < candidates && rows > 1 {
        let (above, below) = (from, candidates - from - shown);
        canvas.line(Span::styled(format!("… {above} above, {below} below"), Theme::dim()));
    }
}

fn row(bench: &BenchState, fit: &Fit, candidate: usize, runs: bool, canvas: &mut Canvas<'_>) {
    let theme = canvas.theme;
    let label = format::truncate_middle(&format::printable(&bench.candidates[candidate]), fit.label);
    let style = if runs { Theme::strong() } else { Style::new() };
    let mut spans = vec![Span::styled(format!("{label:<width$}", width = fit.label), style)];
    for (plan, width) in fit.plans.clone().zip(&fit.widths) {
        let marks = bench.marks(candidate, plan);
        spans.push(Span::raw("  "));
        if fit.marks {
            let shown = marks.iter().map(|mark| {
                mark.map_or(Span::raw(" "), |mark| Span::styled(mark.symbol(), style_of(mark, theme)))
            });
            spans.extend(shown);
            spans.push(Span::raw(" ".repeat(width.saturating_sub(marks.len()))));
        } else {
            spans.push(counted(marks, *width, theme));
        }
    }
    if fit.last {
        let plan = bench
            .running
            .as_ref()
            .and_then(|(planned, _)| bench.plans.iter().position(|p| *p == planned.plan));
        let last = plan.or(if bench.plans.len() == 1 { Some(0) } else { None });
        let last = last.and_then(|plan| bench.last(candidate, plan));
        let last = last.map_or("–".to_owned(), format::rate);
        spans.push(Span::styled(format!(" {last:>LAST$}"), Theme::dim()));
    }
    canvas.line(Line::from(spans));
}

/// `5/12?`: how many are done, and the worst mark where that is not `valid`.
fn counted(marks: &[Option<Mark>], width: usize, theme: Theme) -> Span<'static> {
    let planned = marks.iter().flatten().count();
    let done = marks.iter().flatten().filter(|mark| !matches!(mark, Mark::Pending | Mark::Running)).count();
    let worst = marks.iter().flatten().max().copied().unwrap_or_default();
    let runs = marks.contains(&Some(Mark::Running));
    let style = if runs { theme.rate().patch(Theme::strong()) } else { style_of(worst, theme) };
    let mark = if worst > Mark::Valid { worst.symbol() } else { "" };
    let text = if planned == 0 { String::new() } else { format!("{done}/{planned}{mark}") };
    Span::styled(format!("{text:<width$}"), style)
}

fn style_of(mark: Mark, theme: Theme) -> Style {
    match mark {
        Mark::Pending => Theme::dim(),
        Mark::Running => theme.rate().patch(Theme::strong()),
        Mark::Valid => theme.good(),
        Mark::LowerBound | Mark::Suspect => theme.warning(),
        Mark::Invalid => theme.bad(),
    }
}

fn legend_rows(canvas: &Canvas<'_>) -> usize {
    if canvas.height() >= SPACED { 2 } else { 1 }
}

/// What the marks mean, each with how many there are; those that there are none of are left out.
fn legend(bench: &BenchState, canvas: &mut Canvas<'_>) {
    let theme = canvas.theme;
    let order = [Mark::Valid, Mark::LowerBound, Mark::Suspect, Mark::Invalid, Mark::Running, Mark::Pending];
    let tally = bench.tally();
    let pieces = order.into_iter().filter_map(|mark| {
        let count = tally.get(&mark)?;
        let (symbol, name) = mark.symbol_and_name();
        let counted = format!(" {} {name}", format::thousands(*count as u64));
        Some(vec![Span::styled(symbol, style_of(mark, theme)), Span::styled(counted, Theme::dim())])
    });
    // No dots between marks: one of them is a dot.
    let lines = flow(pieces, "  ", canvas.width(), legend_rows(canvas));
    lines.into_iter().for_each(|line| canvas.line(line));
}

fn running(bench: &BenchState, canvas: &mut Canvas<'_>) {
    let Some((planned, load)) = &bench.running else {
        let words = if bench.done == 0 { "preparing" } else { "between two trials" };
        canvas.line(Span::styled(words, Theme::dim()));
        return;
    };
    let name = Line::from(vec![
        Span::styled("▶ ", canvas.theme.rate()),
        Span::styled(format::printable(&who(planned)), Theme::strong()),
    ]);
    let Some(load) = load else {
        canvas.ends(name, Span::styled("starting and checking the server", Theme::dim()));
        return;
    };
    canvas.ends(name, Span::styled(load_view::passed(load), Theme::dim()));
    load_view::body_or_facts(load, canvas);
}

fn recent(bench: &BenchState, canvas: &mut Canvas<'_>) {
    let rows = canvas.left().saturating_sub(1);
    let lines = &bench.recent[bench.recent.len().saturating_sub(rows)..];
    if rows > 0 && !lines.is_empty() {
        canvas.skip();
        for line in lines {
            canvas.line(Span::styled(format::truncate(line, canvas.width()), Theme::dim()));
        }
    }
}
