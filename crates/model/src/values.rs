//! Values of requests: what `{{id}}` stands for in request k, a function of the plan's seed and of k.

mod parse;

use std::fmt;
use std::io::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, wrong};
use crate::fnv::fnv1a;
use crate::plan::{Plan, PlannedRequest};
use crate::printable::harmless_within;
use crate::secret::{REDACTED, is_secret_by_custom, percent_encoded, redacted, remember_listed};

pub(crate) use parse::table;

/// The longest name between braces.
const NAME_MAX_BYTES: usize = 64;
/// The most generators, and columns of a table.
const NAMES_MAX: usize = 1000;
/// The characters of `chars`: 62, each a byte that is sent as it is anywhere.
const CHARS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// 2⁶⁴ over the golden ratio, odd: the increment of SplitMix64.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// All values that a plan's requests may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    pub generators: Vec<Generator>,
    pub table: Table,
}

/// Of request k the row k mod n, in the file's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub columns: Vec<String>,
    /// Row by row.
    pub cells: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    pub name: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A whole number of this range, both ends included.
    Int(i64, i64),
    /// The request's number in the load, from this one on.
    Seq(u64),
    /// Of version 4 (RFC 9562), its random bits drawn.
    Uuid,
    Choice(Vec<String>),
    /// So many letters and digits.
    Chars(u32),
}

/// Where in a request a value stands, which says how it is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a URL or a form: percent-encoded but for RFC 3986's unreserved characters.
    Url,
    /// In a body of JSON: as between the quotes of a string.
    Json,
    /// As it is.
    Text,
}

impl Place {
    /// What a request's body is, by its `Content-Type`, without one by its first character.
    pub fn of_body(one: &PlannedRequest<'_>) -> Place {
        let kind = one.headers().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match kind.map(|(_, value)| value.value().to_ascii_lowercase()) {
            Some(kind) if kind.contains("json") => Place::Json,
            Some(kind) if kind.starts_with("application/x-www-form-urlencoded") => Place::Url,
            None if matches!(one.body().trim_ascii_start().first(), Some(b'{' | b'[')) => Place::Json,
            _ => Place::Text,
        }
    }
}

/// SplitMix64's finaliser (G. Steele, D. Lea, C. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
pub fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Table {
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    fn cell(&self, column: usize, number: u64) -> &str {
        let row = (number % self.rows().max(1) as u64) as usize;
        self.cells.get(row * self.columns.len() + column).map_or("", String::as_str)
    }
}

impl Values {
    pub fn is_empty(&self) -> bool {
        self.generators.is_empty() && self.table.columns.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.generators
            .iter()
            .map(|one| one.name.as_str())
            .chain(self.table.columns.iter().map(String::as_str))
    }

    /// A text in pieces: what stands before each value, and which value follows; behind the last none.
    pub fn split<'t>(&self, text: &'t [u8]) -> Vec<(&'t [u8], Option<usize>)> {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for (range, name) in places(text) {
            if let Some(value) = self.names().position(|known| known == name) {
                pieces.push((&text[from..range.start], Some(value)));
                from = range.end;
            }
        }
        pieces.push((&text[from..], None));
        pieces
    }

    /// Appends a value of the request of this number, as it is written at such a place.
    pub fn write(&self, value: usize, place: Place, seed: u64, number: u64, out: &mut Vec<u8>) {
        let Some(Generator { name, kind }) = self.generators.get(value) else {
            return encode(self.table.cell(value - self.generators.len(), number), place, out);
        };
        // By its name, so that one generator more leaves the others' values.
        let key = mixed(seed ^ fnv1a(name.bytes())) ^ mixed(number.wrapping_add(1).wrapping_mul(GOLDEN));
        let word = |at: u64| mixed(key.wrapping_add(at.wrapping_mul(GOLDEN)));
        // Uniform but for (the number of values) / 2⁶⁴.
        let below = |at, count: u128| (u128::from(word(at)) * count) >> 64;
        // A Vec takes all that is written.
        let _ = match kind {
            Kind::Int(low, high) => {
                let count = i128::from(*high) - i128::from(*low) + 1;
                write!(out, "{}", i128::from(*low) + below(1, count as u128) as i128)
            }
            Kind::Seq(first) => write!(out, "{}", u128::from(*first) + u128::from(number)),
            Kind::Uuid => {
                let (a, b) = (word(1), word(2));
                let (third, fourth) = (a & 0xfff | 0x4000, b >> 48 & 0x3fff | 0x8000);
                write!(
                    out,
                    "{:08x}-{:04x}-{third:04x}-{fourth:04x}-{:012x}",
                    a >> 32,
                    a >> 16 & 0xffff,
                    b & 0xffff_ffff_ffff
                )
            }
            Kind::Choice(all) => {
                encode(&all[below(1, all.len() as u128) as usize], place, out);
                Ok(())
            }
            Kind::Chars(count) => {
                out.extend((1..=u64::from(*count)).map(|at| CHARS[below(at, 62) as usize]));
                Ok(())
            }
        };
    }

    /// A text with the values of the load's first request.
    pub fn first(&self, text: &[u8], place: Place, seed: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for (before, value) in self.split(text) {
            out.extend_from_slice(before);
            if let Some(value) = value {
                self.write(value, place, seed, 0, &mut out);
            }
        }
        out
    }

    /// Whether every name that stands in the plan's requests has a value, and every value a place.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        if self.is_empty() {
            return Ok(());
        }
        for one in &self.generators {
            one.kind.check().map_err(|why| PlanError(format!("--generate {}: {why}", one.name)))?;
        }
        if self.names().count() > NAMES_MAX {
            return wrong(format!("Over {NAMES_MAX} values are too many: give fewer --generate or columns."));
        }
        let mut used = vec![false; self.names().count()];
        let (columns, cells) = (self.table.columns.len(), self.table.cells.len());
        for (at, name) in self.names().enumerate() {
            let shown = harmless_within(name, NAME_MAX_BYTES);
            if !is_name(name) {
                return wrong(format!(
                    "{shown:?} cannot be a value's name: write 1 to {NAME_MAX_BYTES} letters, digits, _, - and dots."
                ));
            }
            if self.names().take(at).any(|other| other == name) {
                return wrong(format!("Two values are called {shown:?}: give each a name of its own."));
            }
        }
        if columns > 0 && (cells == 0 || !cells.is_multiple_of(columns)) {
            return wrong("--data has no row below its columns' names: give at least one.");
        }
        let is_plain =
            |value| !self.texts(value).any(|text| text.contains(|c: char| c.is_control() && c != '\t'));
        let mut plain = vec![None; used.len()];
        let mut take = |text: &[u8], is_header: bool| {
            for (_, name) in places(text) {
                let Some(value) = self.names().position(|known| known == name) else {
                    return wrong(format!(
                        "{{{{{name}}}}} stands in a request, and neither --generate nor --data gives it."
                    ));
                };
                used[value] = true;
                if is_header && !*plain[value].get_or_insert_with(|| is_plain(value)) {
                    return wrong(format!(
                        "A value of {{{{{name}}}}} has a control character, and it stands in a header."
                    ));
                }
            }
            Ok(())
        };
        // What is the plan's own is looked at once, however many requests have it.
        let own = plan.requests().flat_map(|one| one.own_headers());
        for (_, value) in plan.headers.iter().chain(own) {
            take(value.value().as_bytes(), true)?;
        }
        take(&plan.body, false)?;
        plan.requests().try_for_each(|one| {
            take(one.path.as_bytes(), false)?;
            take(one.own_body().unwrap_or_default(), false)
        })?;
        let of_table = used.split_off(self.generators.len());
        if let Some(at) = used.iter().position(|used| !used) {
            let name = &self.generators[at].name;
            return wrong(format!(
                "{{{{{name}}}}} stands in no request: write it in the URL, a header or the body, or leave --generate {name} out."
            ));
        }
        if columns > 0 && !of_table.contains(&true) {
            return wrong(format!(
                "No column of --data stands in a request: write {{{{{}}}}} in the URL, a header or the body.",
                self.table.columns[0]
            ));
        }
        Ok(())
    }

    /// The texts that a value may be; none of one that is letters and digits.
    fn texts(&self, value: usize) -> impl Iterator<Item = &str> {
        let generator = self.generators.get(value);
        let choice = generator.and_then(|one| match &one.kind {
            Kind::Choice(all) => Some(all.as_slice()),
            _ => None,
        });
        let column = value.checked_sub(self.generators.len());
        let cells =
            column.map(|column| self.table.cells.iter().skip(column).step_by(self.table.columns.len()));
        choice.unwrap_or_default().iter().chain(cells.into_iter().flatten()).map(String::as_str)
    }
}

impl Generator {
    /// It, as it may be stored: `id=int:1..1000`.
    pub fn shown(&self) -> String {
        match &self.kind {
            Kind::Choice(_) if is_secret_by_custom(&self.name) => format!("{}=choice:{REDACTED}", self.name),
            // Without a choice there is nothing that somebody wrote.
            Kind::Choice(_) => redacted(&format!("{}={}", self.name, self.kind)),
            kind => format!("{}={kind}", self.name),
        }
    }

    /// Keeps what may be secret of it from being written.
    pub(crate) fn remember(&self) {
        if let (Kind::Choice(all), true) = (&self.kind, is_secret_by_custom(&self.name)) {
            all.iter().for_each(|value| remember_listed(value));
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Int(low, high) => write!(f, "int:{low}..{high}"),
            Kind::Seq(1) => f.write_str("seq"),
            Kind::Seq(first) => write!(f, "seq:{first}"),
            Kind::Uuid => f.write_str("uuid"),
            Kind::Choice(all) => write!(f, "choice:{}", all.join("|")),
            Kind::Chars(count) => write!(f, "chars:{count}"),
        }
    }
}

fn encode(text: &str, place: Place, out: &mut Vec<u8>) {
    match place {
        Place::Text => out.extend_from_slice(text.as_bytes()),
        Place::Url => out.extend_from_slice(percent_encoded(text).as_bytes()),
        Place::Json => {
            let quoted = serde_json::Value::from(text).to_string();
            out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    (1..=NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(plain)
}

/// Where in a text names stand between double braces. What is no name there is text.
fn places(text: &[u8]) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + 4 < text.len() {
            let begin = at + text[at..].windows(2).position(|two| two == b"{{")?;
            let most = text.len().min(begin + 4 + NAME_MAX_BYTES);
            let name = text[begin + 2..most].windows(2).position(|two| two == b"}}");
            let end = name.map(|length| begin + 2 + length);
            if let Some(end) = end
                && let Ok(name) = std::str::from_utf8(&text[begin + 2..end])
                && is_name(name)
            {
                at = end + 2;
                return Some((begin..at, name));
            }
            at = begin + 1;
        }
        None
    })
}

#[cfg(test)]
mod tests;
