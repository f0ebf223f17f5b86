//! A load on the screen: its progress, its rate against the offered one, its
//! latency, and whether the client keeps up. Pure: a state in, characters out.

use std::time::Duration;

use prony_analysis::verdict::BUSY_MAX;
use prony_load::live_summary::LivePercentile;
use prony_report::format;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::bars;
use super::canvas::{Canvas, DOT, Theme, figure, flow};
use super::load::{LoadState, Offered};
use super::view::View;

/// Where plots begin: room for `13.9k ┤`.
const GUTTER: usize = 7;
/// Narrower, percentiles and distribution stand one above the other.
const WIDE: usize = 68;
const NARROW: usize = 56;
/// Lower, only figures and a short plot have room.
const TALL: usize = 18;
/// Rows for a fleet's agents, and how many of them are shown in their own order.
const AGENT_ROWS: usize = 2;
const AGENTS_IN_ORDER: usize = 8;
/// The percentiles' table: three columns.
const TABLE: usize = 30;

impl View for LoadState {
    fn draw(&self, _: Duration, canvas: &mut Canvas<'_>) {
        head(self, canvas);
        body(self, canvas);
    }

    fn line(&self) -> String {
        let now = &self.now;
        let total = self.total_ns.map_or(String::new(), |ns| format!(" of {}", format::seconds(ns)));
        let mut parts = vec![format!("{}{total}", format::seconds(now.elapsed_ns))];
        if !self.phase().is_empty() {
            parts.push(self.phase().to_owned());
        }
        if let Some(rate) = self.timeline.rate_now() {
            let offered = self.offered.rate_at(now.elapsed_ns);
            let of = offered.map_or(String::new(), |rate| format!(" of {}", format::rate(rate)));
            parts.push(format!("{}{of} req/s", format::rate(rate)));
        }
        if let Some(p99) = now.last_second.and_then(|second| second.p99_ns) {
            parts.push(format!("p99 {}", format::duration(p99 as f64)));
        }
        if now.failed > 0 {
            parts.push(format!("{} failed", format::thousands(now.failed)));
        }
        parts.join(" · ")
    }
}

fn head(load: &LoadState, canvas: &mut Canvas<'_>) {
    let left = load.left_ns().map(|ns| format!("{} left", format::elapsed(ns.saturating_add(500_000_000))));
    let left = Line::styled(left.unwrap_or_default(), Theme::strong());
    canvas.ends(Line::styled(load.title.clone(), Theme::strong()), left);
    if canvas.height() >= TALL {
        canvas.ends(
            Line::styled(load.describe.clone(), Theme::dim()),
            Line::styled(passed(load), Theme::dim()),
        );
        canvas.skip();
    }
}

/// `12.4 s of 33.0 s`, or `12,000 of 50,000 requests`.
pub(super) fn passed(load: &LoadState) -> String {
    let phase = if load.phase().is_empty() { String::new() } else { format!("{} · ", load.phase()) };
    let seconds = format::seconds(load.now.elapsed_ns);
    match (load.total_ns, load.requests) {
        (Some(total), _) => format!("{phase}{seconds} of {}", format::seconds(total)),
        (None, Some(all)) => {
            let ended = format::thousands(load.now.completed + load.now.failed);
            format!("{phase}{ended} of {} requests · {seconds}", format::thousands(all))
        }
        (None, None) => format!("{phase}{seconds}"),
    }
}

pub(super) const PLOTS_MIN: usize = 9;

/// Plots and figures in the rows that are left; without plots where they have no room.
pub(super) fn body_or_facts(load: &LoadState, canvas: &mut Canvas<'_>) {
    if canvas.left() >= PLOTS_MIN {
        return body(load, canvas);
    }
    rate(load, canvas);
    let rows = canvas.left();
    facts(load, canvas.theme, canvas.width()).into_iter().take(rows).for_each(|line| canvas.line(line));
}

fn body(load: &LoadState, canvas: &mut Canvas<'_>) {
    let room = canvas.left();
    let wide = canvas.width() >= WIDE;
    let mut facts = facts(load, canvas.theme, canvas.width());
    // Rate, axis and facts always; then the latency, then as large plots as there is room for.
    let latency = if wide && room >= 14 { 6 } else { 2 };
    facts.truncate(room.saturating_sub(2 + latency));
    let mut spare = room.saturating_sub(2 + latency + facts.len());
    let mut take = |rows: usize| {
        let taken = rows.min(spare);
        spare -= taken;
        taken
    };
    let mut rates = take(3);
    let blanks = usize::from(wide) * take(2);
    let p99s = if rates >= 3 { take(2) } else { 0 };
    rates += take(3);
    let mut distribution = if latency == 6 { take(4) } else { take(5) };
    rates += take(2);
    distribution += take(2);

    rate(load, canvas);
    rate_bars(load, canvas, rates);
    axis(load, canvas);
    p99_bars(load, canvas, p99s);
    if blanks > 0 {
        canvas.skip();
    }
    if latency == 6 {
        table_beside_distribution(load, canvas, 5 + distribution.min(6));
    } else {
        percentiles_in_two_rows(load, canvas);
        if distribution >= 3 {
            draw_distribution(load, canvas, distribution);
        }
    }
    if blanks > 1 {
        canvas.skip();
    }
    facts.into_iter().for_each(|line| canvas.line(line));
}

/// The rate now: `13,731 of 14,000 req/s`.
fn rate(load: &LoadState, canvas: &mut Canvas<'_>) {
    let theme = canvas.theme;
    let now = load.timeline.rate_now();
    let shown = now.map_or("–".to_owned(), format::rate);
    let mut left = vec![Span::styled(shown, theme.rate().patch(Theme::strong()))];
    if let Some(offered) = load.offered.rate_at(load.now.elapsed_ns) {
        let share = now.map(|rate| rate / offered.max(f64::MIN_POSITIVE));
        let style = match share {
            Some(share) if share < 0.97 && load.now.elapsed_ns > 1_000_000_000 => theme.warning(),
            _ => Style::new(),
        };
        left.push(Span::styled(format!(" of {}", format::rate(offered)), style));
    }
    left.push(Span::styled(" req/s", Theme::dim()));
    let mut right = Vec::new();
    let narrow = canvas.width() < NARROW;
    if let Some(behind) = load.behind() {
        let behind = if narrow { format::si(behind as f64) } else { format::thousands(behind) };
        right.push(Span::styled(format!("{behind} unsent"), theme.warning()));
    } else if narrow {
        // The offered rate is worth more.
    } else if let Some(mean) = load.timeline.rate_of_window().filter(|_| load.phase().is_empty()) {
        right.extend(figure("mean ", format::rate(mean), Style::new(), " req/s"));
    }
    canvas.ends(Line::from(left), Line::from(right));
}

fn rate_bars(load: &LoadState, canvas: &mut Canvas<'_>, rows: usize) {
    let width = canvas.width().saturating_sub(GUTTER);
    let values = load.timeline.rates(width, load.axis_ns());
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let offered = load.offered.rate_at(load.now.elapsed_ns).unwrap_or(0.0);
    let top = bars::round_up(highest.max(offered));
    plot(canvas, &values, [top, offered], rows, [&format::si(top), "req/s"], canvas.theme.rate());
}

/// The highest 99th percentile of each moment.
fn p99_bars(load: &LoadState, canvas: &mut Canvas<'_>, rows: usize) {
    let width = canvas.width().saturating_sub(GUTTER);
    let values = load.timeline.p99s(width, load.axis_ns());
    let top = bars::round_up(values.iter().flatten().copied().fold(0.0, f64::max));
    let seen = values.iter().any(Option::is_some);
    let label = if seen { format::short_duration(top).replace(' ', "") } else { String::new() };
    plot(canvas, &values, [top, 0.0], rows, [&label, "p99"], canvas.theme.latency());
}

/// Columns up to `top`, a dashed row at `level` (0: none); the first row has the top's value, the last the name.
fn plot(
    canvas: &mut Canvas<'_>,
    values: &[Option<f64>],
    [top, level]: [f64; 2],
    rows: usize,
    [label, name]: [&str; 2],
    style: Style,
) {
    if rows == 0 {
        return;
    }
    let count = u16::try_from(rows).unwrap_or(u16::MAX);
    let dashed = (level > 0.0).then(|| rows.saturating_sub((level / top * rows as f64).ceil() as usize));
    for (row, line) in bars::columns(values, top, count).into_iter().enumerate() {
        let text = match row {
            0 => label,
            row if row + 1 == rows => name,
            _ => "",
        };
        if dashed == Some(row) {
            canvas.line_at(GUTTER, Span::styled("╌".repeat(values.len()), Theme::dim()));
        }
        canvas.line_at(0, Span::styled(format!("{text:>width$}", width = GUTTER - 1), Theme::dim()));
        // Only what is there, so that the dashes show where it is not.
        canvas.line_at(GUTTER, Span::styled(line.trim_end().to_owned(), style));
        canvas.skip();
    }
}

/// The time axis, which is the progress bar too: the warm-up is dotted.
fn axis(load: &LoadState, canvas: &mut Canvas<'_>) {
    let width = canvas.width().saturating_sub(GUTTER);
    let warmup = load.warmup_ns as f64 / load.axis_ns().max(1) as f64;
    let warmup = ((warmup.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
    let share = if load.total_ns.is_some() {
        load.share()
    } else {
        load.now.elapsed_ns as f64 / load.axis_ns() as f64
    };
    let done = ((share.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
    let part =
        |from: usize, to: usize, character: char| character.to_string().repeat(to.saturating_sub(from));
    let percent = format!("{:>width$.0} % ", load.share() * 100.0, width = GUTTER - 3);
    canvas.line(vec![
        Span::styled(percent, Theme::dim()),
        Span::styled(part(0, done.min(warmup), '╍'), Theme::dim()),
        Span::styled(part(warmup, done, '━'), canvas.theme.rate()),
        Span::styled(part(done, warmup, '╌'), Theme::dim()),
        Span::styled(part(done.max(warmup), width, '─'), Theme::dim()),
    ]);
}

fn quantile(value: LivePercentile, theme: Theme) -> Span<'static> {
    match value {
        LivePercentile::TooFew => Span::styled("–", Theme::dim()),
        LivePercentile::Failed => Span::styled("failed", theme.bad()),
        LivePercentile::At(ns) => Span::raw(format::duration(ns as f64)),
    }
}

fn duration(ns: Option<u64>) -> Span<'static> {
    ns.map_or(Span::raw(""), |ns| Span::raw(format::duration(ns as f64)))
}

/// Percentiles of the last second and of the window at the left, the distribution at the right.
fn table_beside_distribution(load: &LoadState, canvas: &mut Canvas<'_>, rows: usize) {
    let (so_far, last) = (&load.now.so_far, load.now.last_second.unwrap_or_default());
    let theme = canvas.theme;
    let table = [
        ("p50", duration(last.p50_ns), quantile(so_far.p50, theme)),
        ("p90", Span::raw(""), quantile(so_far.p90, theme)),
        ("p99", duration(last.p99_ns), quantile(so_far.p99, theme)),
        ("p99.9", Span::raw(""), quantile(so_far.p999, theme)),
        ("max", duration(last.max_ns), duration(so_far.max_ns)),
    ];
    let column = TABLE + 3;
    let plot = bars_of(load, canvas.width().saturating_sub(column), rows);
    let counted = match so_far.completed {
        0 => "first figures a second after the warm-up".to_owned(),
        n => format!("response times of {} requests", format::thousands(n)),
    };
    canvas.line_at(column, Span::styled(counted, Theme::dim()));
    canvas.line(Span::styled(format!("{:<8}{:>10}{:>11}", "response", "last 1 s", "so far"), Theme::dim()));
    for row in 0..rows {
        if let Some(line) = plot.get(row) {
            let style = if row + 1 == rows { Theme::dim() } else { theme.latency() };
            canvas.line_at(column, Span::styled(line.as_str(), style));
        }
        if let Some((name, now, all)) = table.get(row) {
            canvas.line_at(0, Span::styled(*name, Theme::dim()));
            canvas.line_at(18usize.saturating_sub(now.width()), now.clone());
            canvas.line_at(29usize.saturating_sub(all.width()), all.clone());
        }
        canvas.skip();
    }
}

/// `p50 6.98 ms  p90 7.86 ms  p99 9.61 ms`, and the rest below.
fn percentiles_in_two_rows(load: &LoadState, canvas: &mut Canvas<'_>) {
    let (so_far, theme) = (&load.now.so_far, canvas.theme);
    let piece = |name: &'static str, value: Span<'static>| vec![Span::styled(name, Theme::dim()), value];
    let rows = [
        vec![
            piece("p50 ", quantile(so_far.p50, theme)),
            piece("p90 ", quantile(so_far.p90, theme)),
            piece("p99 ", quantile(so_far.p99, theme)),
        ],
        vec![piece("p99.9 ", quantile(so_far.p999, theme)), piece("max ", duration(so_far.max_ns))],
    ];
    for row in rows {
        canvas.line(row.join(&Span::raw("  ")));
    }
}

/// The distribution's rows with its axis as the last; none while there is none.
fn bars_of(load: &LoadState, width: usize, rows: usize) -> Vec<String> {
    let Some(found) = bars::distribution(&load.now.so_far.shape, width) else { return Vec::new() };
    let highest = found.values.iter().copied().fold(0.0, f64::max);
    let values: Vec<Option<f64>> = found.values.iter().copied().map(Some).collect();
    let mut lines = bars::columns(&values, highest, u16::try_from(rows.saturating_sub(1)).unwrap_or(1));
    let marks = bars::ticks(&found).into_iter().map(|(at, ns)| (at, format::short_duration(ns as f64)));
    lines.push(bars::labels(marks, width));
    lines
}

fn draw_distribution(load: &LoadState, canvas: &mut Canvas<'_>, rows: usize) {
    let lines = bars_of(load, canvas.width(), rows);
    for row in 0..rows {
        let style = if row + 1 == rows { Theme::dim() } else { canvas.theme.latency() };
        canvas.line(Span::styled(lines.get(row).cloned().unwrap_or_default(), style));
    }
}

/// What is counted, what failed, and whether the client keeps up; two rows at least.
fn facts(load: &LoadState, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let now = &load.now;
    // Pipelines have more in flight than connections.
    let shown = width >= NARROW
        && load.connections >= now.in_flight
        && !matches!(load.offered, Offered::Connections(_));
    let of = if shown { format!(" of {}", format::thousands(load.connections)) } else { String::new() };
    let completed = figure("completed ", format::thousands(now.completed), Style::new(), "");
    let in_flight =
        figure("in flight ", format!("{}{of}", format::thousands(now.in_flight)), Style::new(), "");
    let ended = (now.completed + now.failed).max(1);
    let failed = if now.failed == 0 {
        vec![Span::styled("failed ", Theme::dim()), Span::styled("0", theme.good())]
    } else {
        let share = format::percent(now.failed as f64 / ended as f64);
        vec![Span::styled(format!("failed {} ({share})", format::thousands(now.failed)), theme.bad())]
    };
    let mut counted = vec![completed, failed, in_flight];
    if let (Offered::Connections(ramp), Some(second)) = (&load.offered, now.last_second) {
        let of = format!("{} of {}", second.connections, ramp.active(now.elapsed_ns));
        counted.push(figure("connections ", of, Style::new(), ""));
    }
    let kinds = load.failures().into_iter().map(|(kind, count)| {
        let kind = kind.replace('_', " ");
        vec![Span::raw(format!("{kind} ")), Span::styled(format::thousands(count), theme.bad())]
    });
    let kinds = flow(kinds, DOT, width, 2);
    if width < NARROW {
        counted.extend(health(load, theme));
        let mut lines = flow(counted, DOT, width, 4);
        let second = lines.len().min(1);
        drop(lines.splice(second..second, kinds));
        return lines;
    }
    let mut lines = flow(counted, DOT, width, 2);
    lines.extend(kinds);
    lines.extend(flow(health(load, theme), DOT, width, 2));
    lines.extend(flow(agents(load, theme), DOT, width, AGENT_ROWS));
    lines
}

/// Each agent's completed requests and its failed ones; of many, those with the fewest come first, since not all have room.
fn agents(load: &LoadState, theme: Theme) -> Vec<Vec<Span<'static>>> {
    let mut agents: Vec<_> = load.agents.iter().collect();
    let mut pieces = Vec::new();
    if agents.len() > AGENTS_IN_ORDER {
        agents.sort_by_key(|agent| agent.completed);
        pieces.push(figure("", agents.len().to_string(), Style::new(), " agents, fewest requests first"));
    }
    for agent in agents {
        let name = format!("{} ", format::printable(&agent.name));
        let mut piece = vec![Span::styled(name, Theme::dim()), Span::raw(format::thousands(agent.completed))];
        if agent.failed > 0 {
            let failed = format!(" ({} failed)", format::thousands(agent.failed));
            piece.push(Span::styled(failed, theme.bad()));
        }
        pieces.push(piece);
    }
    pieces
}

/// The client's own part: how busy its workers are, and how late it sends.
fn health(load: &LoadState, theme: Theme) -> Vec<Vec<Span<'static>>> {
    let mut pieces = Vec::new();
    let busy = load.timeline.busy_now(load.workers);
    match busy {
        Some(busy) if busy >= BUSY_MAX => {
            let text = format!("client {} busy: it may be the limit", format::percent(busy));
            pieces.push(vec![Span::styled(text, theme.bad())]);
        }
        Some(busy) => pieces.push(figure("client ", format::percent(busy), theme.good(), " busy")),
        // Until a second is over, and where the kernel does not report the CPU time of a thread.
        None => {}
    }
    let Some(second) = load.now.last_second else { return pieces };
    if second.lateness_max_ns > 0 || load.offered.rate_at(load.now.elapsed_ns).is_some() {
        let (mean, worst) = (second.lateness_mean_ns as f64, second.lateness_max_ns as f64);
        let tenth = second.p50_ns.map_or(0.0, |p50| p50 as f64 / 10.0);
        let style = if mean > tenth.max(100_000.0) { theme.warning() } else { Style::new() };
        pieces.push(figure("send lag ", format::duration(mean), style, ""));
        pieces.push(figure("max ", format::duration(worst), Style::new(), ""));
    }
    if second.connection_wait_mean_ns > 0 {
        let wait = format::duration(second.connection_wait_mean_ns as f64);
        pieces.push(figure("waits ", wait, theme.warning(), " for a connection"));
    }
    pieces
}
