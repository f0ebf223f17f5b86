//! Columns of text, aligned by characters.

use super::lines::Ink;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
    Code,
}

/// A table: every row has as many cells as there are columns, and the first is its head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<(Align, usize)>,
    pub(crate) rows: Vec<(Vec<String>, Ink)>,
}

impl Table {
    pub(crate) fn new(columns: &[(Align, usize)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, those beyond the columns are dropped.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.row_ending_in(Ink::PLAIN, cells);
    }

    pub(crate) fn row_ending_in(&mut self, ink: Ink, cells: Vec<String>) {
        self.rows.push((cells, ink));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|i| self.width(i)).collect();
        self.rows.iter().map(|(row, _)| self.line(row, &widths)).collect()
    }

    fn width(&self, column: usize) -> usize {
        let longest =
            self.rows.iter().filter_map(|(r, _)| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
        // A space to the cell before, two where there is room anyway.
        (longest + 1).max(self.columns[column].1)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (i, width) in widths.iter().enumerate() {
            let cell = row.get(i).map_or("", String::as_str);
            let pad = " ".repeat(width.saturating_sub(cell.chars().count() + 1));
            match self.columns[i].0 {
                Align::Left | Align::Code => line.extend([" ", cell, &pad]),
                Align::Right => line.extend([" ", &pad, cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_with_their_cells() {
        let mut table = Table::new(&[(Align::Left, 6), (Align::Right, 4)]);
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["longer name".into(), "1,234".into()]);
        table.row(vec!["b".into()]);
        assert_eq!(table.lines(), [" a               1", " longer name 1,234", " b"]);
    }
}
