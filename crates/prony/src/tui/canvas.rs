//! What views draw on: rows from top to bottom, in a few styles. Of a view that
//! has more rows than there is room for, the last ones are cut.

use prony_report::format;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// The view's colours: the terminal's own sixteen. Nothing is shown by colour alone; NO_COLOR leaves bold and dim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    color: bool,
}

impl Theme {
    pub(super) fn new(color: bool) -> Theme {
        Theme { color }
    }

    fn in_color(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    pub(super) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn rate(self) -> Style {
        self.in_color(Color::Cyan)
    }

    pub(super) fn latency(self) -> Style {
        self.in_color(Color::Magenta)
    }

    pub(super) fn good(self) -> Style {
        self.in_color(Color::Green)
    }

    pub(super) fn warning(self) -> Style {
        self.in_color(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(super) fn bad(self) -> Style {
        self.in_color(Color::Red).add_modifier(Modifier::BOLD)
    }
}

pub(crate) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    row: u16,
    pub(super) kept: usize,
    pub(super) theme: Theme,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect, theme: Theme) -> Canvas<'a> {
        let area = area.intersection(buffer.area);
        let margin = u16::from(area.width > 2);
        let area = Rect { x: area.x + margin, width: area.width - 2 * margin, ..area };
        Canvas { buffer, area, row: 0, kept: 0, theme }
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    pub(super) fn height(&self) -> usize {
        usize::from(self.area.height)
    }

    /// Rows still free, but for those kept.
    pub(super) fn left(&self) -> usize {
        usize::from(self.area.height.saturating_sub(self.row)).saturating_sub(self.kept)
    }

    /// Writes a row; one without room is dropped, and what is too long is cut.
    pub(super) fn line<'b>(&mut self, line: impl Into<Line<'b>>) {
        self.line_at(0, line);
        self.row += 1;
    }

    pub(super) fn skip(&mut self) {
        self.row += 1;
    }

    pub(super) fn line_at<'b>(&mut self, column: usize, line: impl Into<Line<'b>>) {
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        if self.row < self.area.height && column < self.area.width {
            let (x, y) = (self.area.x + column, self.area.y + self.row);
            self.buffer.set_line(x, y, &line.into(), self.area.width - column);
        }
    }

    /// A row with something at each end: the left one is cut where they would meet.
    pub(super) fn ends<'b>(&mut self, left: impl Into<Line<'b>>, right: impl Into<Line<'b>>) {
        let right = right.into();
        let begins = self.width().saturating_sub(right.width());
        let gap = usize::from(right.width() > 0);
        self.line_at(0, cut(left.into(), begins.saturating_sub(gap)));
        self.line_at(begins, right);
        self.row += 1;
    }

    /// Goes to so many rows before the last, if that is further down.
    pub(super) fn skip_to_last(&mut self, rows: usize) {
        let row = self.height().saturating_sub(rows);
        self.row = self.row.max(u16::try_from(row).unwrap_or(u16::MAX));
    }

    /// A bar of this width: what is done, and what is not.
    pub(super) fn bar(&self, share: f64, width: usize) -> Vec<Span<'static>> {
        let done = ((share.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
        vec![
            Span::styled("━".repeat(done), self.theme.rate()),
            Span::styled("─".repeat(width - done), Theme::dim()),
        ]
    }
}

/// A line within so many columns, with `…` where it was cut.
pub(super) fn cut(line: Line<'_>, width: usize) -> Line<'_> {
    if line.width() <= width {
        return line;
    }
    let (mut left, style) = (width, line.style);
    let mut spans = Vec::new();
    for span in line.spans {
        if span.width() <= left {
            left -= span.width();
            spans.push(span);
            continue;
        }
        if left > 0 {
            spans.push(Span::styled(format::truncate(&span.content, left), span.style));
        }
        break;
    }
    Line::from(spans).style(style)
}

pub(super) const DOT: &str = " · ";

/// Pieces in rows of at most so many columns, with this between them; at most so many rows. A piece is never broken.
pub(super) fn flow<'a>(
    pieces: impl IntoIterator<Item = Vec<Span<'a>>>,
    between: &'static str,
    width: usize,
    rows: usize,
) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    let gap = between.chars().count();
    for piece in pieces {
        let length: usize = piece.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if line.width() + gap + length <= width => {
                line.push_span(Span::styled(between, Theme::dim()));
                line.extend(piece);
            }
            _ => lines.push(Line::from(piece)),
        }
    }
    lines.truncate(rows);
    lines
}

pub(super) fn figure<'a>(before: &'a str, value: String, style: Style, after: &'a str) -> Vec<Span<'a>> {
    vec![Span::styled(before, Theme::dim()), Span::styled(value, style), Span::styled(after, Theme::dim())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: u16, height: u16, write: impl Fn(&mut Canvas<'_>)) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        write(&mut Canvas::new(&mut buffer, Rect::new(0, 0, 500, 500), Theme::new(true)));
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(row).collect()
    }

    #[test]
    fn a_row_without_room_is_cut_and_keeps_its_right_end() {
        let write = |canvas: &mut Canvas<'_>| {
            canvas.ends("a long title of something", "12 s left");
            canvas.line("x".repeat(90));
            (0..9).for_each(|_| canvas.line("y"));
        };
        assert_eq!(
            written(20, 3, write),
            [" a long … 12 s left ", " xxxxxxxxxxxxxxxxxx ", " y                  "]
        );
        for (width, height) in [(1, 1), (2, 9), (3, 1)] {
            written(width, height, write);
        }
    }

    #[test]
    fn a_bars_length_is_its_share() {
        let bar = |share| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
            let canvas = Canvas::new(&mut buffer, Rect::new(0, 0, 1, 1), Theme::new(false));
            Line::from(canvas.bar(share, 8)).to_string()
        };
        assert_eq!([0.0, 0.5, 2.0, f64::NAN].map(bar), ["────────", "━━━━────", "━━━━━━━━", "────────"]);
    }

    #[test]
    fn pieces_are_wrapped_into_rows() {
        let piece = |text: &'static str| vec![Span::raw(text)];
        let rows = flow([piece("one"), piece("two"), piece("three four")], DOT, 11, 9);
        assert_eq!(rows.iter().map(Line::to_string).collect::<Vec<_>>(), ["one · two", "three four"]);
        assert_eq!(flow([piece("one"), piece("two")], DOT, 3, 1).len(), 1);
        assert_eq!(cut(Line::from("abcdef"), 4).to_string(), "abc…");
    }
}
