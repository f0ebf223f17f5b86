//! What `--generate` and `--data` say.

use super::{Generator, Kind, NAMES_MAX, Table, is_name};
use crate::error::{PlanError, wrong};
use crate::limits::LINES_MAX;
use crate::secret::{is_secret_by_custom, remember_listed};

/// The most characters of one value.
const CHARS_MAX: u32 = 4096;

impl Generator {
    /// Reads `NAME=KIND`.
    pub fn parse(text: &str) -> Result<Generator, PlanError> {
        let Some((name, kind)) = text.split_once('=').filter(|(name, _)| is_name(name)) else {
            return wrong("--generate names no value: write NAME=KIND, as id=int:1..1000.");
        };
        let kind = Kind::parse(kind).and_then(|kind| kind.check().map(|()| kind));
        let one = Generator {
            name: name.to_owned(),
            kind: kind.map_err(|why| PlanError(format!("--generate {name}: {why}")))?,
        };
        one.remember();
        Ok(one)
    }
}

impl Kind {
    fn parse(text: &str) -> Result<Kind, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("int", Some(range)) => {
                let ends = range
                    .split_once("..")
                    .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
                let (low, high) = ends.ok_or("write its range, both ends included, as int:1..1000.")?;
                Ok(Kind::Int(low, high))
            }
            ("seq", None) => Ok(Kind::Seq(1)),
            ("seq", Some(first)) => {
                Ok(Kind::Seq(first.parse().map_err(|_| "write the first number, as seq:1000.")?))
            }
            ("uuid", None) => Ok(Kind::Uuid),
            ("choice", Some(all)) => Ok(Kind::Choice(all.split('|').map(str::to_owned).collect())),
            ("chars", Some(count)) => {
                Ok(Kind::Chars(count.parse().map_err(|_| "write how many letters and digits, as chars:16.")?))
            }
            _ => Err("it is none of int:LOW..HIGH, seq, seq:FIRST, uuid, choice:a|b and chars:N.".to_owned()),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Kind::Int(low, high) if low > high => {
                Err(format!("{low}..{high} has no number: write the lower first."))
            }
            Kind::Chars(count) if !(1..=CHARS_MAX).contains(count) => {
                Err(format!("{count} characters: give 1 to {CHARS_MAX}."))
            }
            Kind::Choice(all) if all.is_empty() => Err("it has nothing to choose from.".to_owned()),
            _ => Ok(()),
        }
    }
}

/// A table of a CSV file (RFC 4180): its first line names the columns.
pub(crate) fn table(path: &str, bytes: &[u8]) -> Result<Table, PlanError> {
    let wrong_file = |e: csv::Error| {
        let line = e.position().map_or(String::new(), |at| format!(", line {}", at.line()));
        // Of what is no UTF-8 and of rows of other lengths, without the row itself.
        let why = match e.kind() {
            csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_owned(),
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} values, and the lines before it {expected_len}")
            }
            _ => "it is no CSV".to_owned(),
        };
        PlanError(format!("--data {path}{line}: {why}."))
    };
    let mut reader = csv::Reader::from_reader(bytes);
    let columns: Vec<String> =
        reader.headers().map_err(wrong_file)?.iter().map(|name| name.trim().to_owned()).collect();
    if columns.len() > NAMES_MAX {
        return wrong(format!(
            "--data {path}, line 1: it names {} columns: give {NAMES_MAX} at most.",
            columns.len()
        ));
    }
    let mut cells = Vec::new();
    for record in reader.records() {
        cells.extend(record.map_err(wrong_file)?.iter().map(str::to_owned));
        if cells.len() > LINES_MAX * columns.len() {
            return wrong(format!("--data {path} has over {LINES_MAX} rows: give fewer."));
        }
    }
    for (_, at) in columns.iter().zip(0..).filter(|(name, _)| is_secret_by_custom(name)) {
        cells.iter().skip(at).step_by(columns.len()).for_each(|cell: &String| remember_listed(cell));
    }
    Ok(Table { columns, cells })
}
