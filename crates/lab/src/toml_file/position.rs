//! Where something stands in a document: the keys around a byte, and the byte of a key.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

#[derive(Debug, Default)]
pub(super) struct Position {
    /// Names down to the innermost key whose name or value holds the byte.
    pub(super) path: Vec<String>,
    is_list: Vec<bool>,
}

impl Position {
    /// `[[plan]]`, `[axes.opt]`, `the file`: the table that the first `n` names lead to.
    pub(super) fn table(&self, n: usize) -> String {
        let names: Vec<&str> =
            self.path[..n].iter().map(String::as_str).filter(|p| !p.starts_with('#')).collect();
        match n {
            0 => "the file".to_owned(),
            _ if self.is_list[..n].last() == Some(&true) || self.path[n - 1].starts_with('#') => {
                format!("[[{}]]", names.join("."))
            }
            _ => format!("[{}]", names.join(".")),
        }
    }

    /// The innermost name that is a key and not the index of a list.
    pub(super) fn key(&self) -> Option<&str> {
        self.path.iter().rev().find(|p| !p.starts_with('#')).map(String::as_str)
    }
}

/// The innermost key around a span. All are walked, since the span of a `[table]` is its header only.
pub(super) fn position_of(root: &DeTable<'_>, at: &Range<usize>) -> Position {
    let mut best = (usize::MAX, Position::default());
    if at.is_empty() {
        return best.1; // the toml crate's span for the file itself
    }
    let mut position = Position::default();
    visit_table(root, &mut position, &mut |span, position| {
        if span.start <= at.start && at.end <= span.end && span.len() <= best.0 {
            best = (span.len(), Position { path: position.path.clone(), is_list: position.is_list.clone() });
        }
    });
    best.1
}

type Visitor<'a> = dyn FnMut(Range<usize>, &Position) + 'a;

fn visit_table(table: &DeTable<'_>, position: &mut Position, visit: &mut Visitor<'_>) {
    for (key, value) in table {
        position.path.push(key.get_ref().to_string());
        position.is_list.push(matches!(value.get_ref(), DeValue::Array(_)));
        visit(key.span(), position);
        visit(value.span(), position);
        visit_value(value.get_ref(), position, visit);
        position.path.pop();
        position.is_list.pop();
    }
}

fn visit_value(value: &DeValue<'_>, position: &mut Position, visit: &mut Visitor<'_>) {
    match value {
        DeValue::Table(table) => visit_table(table, position, visit),
        DeValue::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                position.path.push(format!("#{i}"));
                position.is_list.push(false);
                visit(item.span(), position);
                visit_value(item.get_ref(), position, visit);
                position.path.pop();
                position.is_list.pop();
            }
        }
        _ => {}
    }
}

/// Where the key that a path leads to begins, or else the last part of the path that there is.
pub(super) fn offset_of(text: &str, path: &[&str]) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let (mut depth, mut offset) = (0, 0);
    visit_table(root.get_ref(), &mut Position::default(), &mut |span, position| {
        let is = |(there, asked): (&String, &&str)| there == asked || there.strip_prefix('#') == Some(*asked);
        let leads = position.path.len() <= path.len() && position.path.iter().zip(path).all(is);
        if leads && position.path.len() > depth {
            (depth, offset) = (position.path.len(), span.start);
        }
    });
    offset
}
