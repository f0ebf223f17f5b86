//! A strict reader of OpenMetrics' text, for tests: it takes what the
//! specification allows of what Prony writes, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

/// A sample's name and labels.
type Key = (String, BTreeMap<String, String>);

type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub struct Read {
    /// Families by name, with their type.
    pub families: BTreeMap<String, String>,
    samples: BTreeMap<String, Vec<(Labels, f64)>>,
}

#[allow(dead_code, reason = "each of the tests that include it asks for some of it")]
impl Read {
    /// The sample with exactly these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeMap<String, String> =
            labels.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        self.samples.get(name)?.iter().find(|(labels, _)| *labels == wanted).map(|(_, value)| *value)
    }

    /// All samples of a name, with their labels.
    pub fn all(&self, name: &str) -> &[(BTreeMap<String, String>, f64)] {
        self.samples.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Reads a text, or says which line is wrong and why.
pub fn read(text: &str) -> Result<Read, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end in # EOF")?;
    let mut read = Read::default();
    let mut seen: BTreeSet<Key> = BTreeSet::new();
    let mut family: Option<(String, String)> = None;
    for line in body.split_terminator('\n') {
        let wrong = |why: &str| format!("{why}: {line:?}");
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (Some(what), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else {
                return Err(wrong("a comment that is none of the format's"));
            };
            let of_family = family.as_ref().is_some_and(|(known, _)| known == name);
            match what {
                "TYPE" => {
                    if !["gauge", "counter", "info", "stateset", "summary"].contains(&value) {
                        return Err(wrong("an unknown type"));
                    }
                    if !is_name(name) || read.families.insert(name.to_owned(), value.to_owned()).is_some() {
                        return Err(wrong("a family's name is wrong, or comes again"));
                    }
                    family = Some((name.to_owned(), value.to_owned()));
                }
                "UNIT" if of_family && name.ends_with(&format!("_{value}")) => {}
                "HELP" if of_family => drop(unescape(value).ok_or_else(|| wrong("a wrong escape"))?),
                _ => return Err(wrong("a comment out of place")),
            }
            continue;
        }
        let (name, labels, value) = sample(line).ok_or_else(|| wrong("not a sample"))?;
        let (base, kind) = family.as_ref().ok_or_else(|| wrong("a sample without a family"))?;
        let suffix = name.strip_prefix(base.as_str()).ok_or_else(|| wrong("a sample of another family"))?;
        let fits = match kind.as_str() {
            "counter" => suffix == "_total" && value >= 0.0,
            "info" => suffix == "_info" && value == 1.0,
            "stateset" => suffix.is_empty() && labels.contains_key(base) && (value == 0.0 || value == 1.0),
            "summary" if suffix.is_empty() => labels
                .get("quantile")
                .and_then(|q| q.parse::<f64>().ok())
                .is_some_and(|q| (0.0..=1.0).contains(&q)),
            "summary" => (suffix == "_count" || suffix == "_sum") && value >= 0.0,
            _ => suffix.is_empty() && !labels.contains_key("quantile"),
        };
        if !fits {
            return Err(wrong("it does not fit its family's type"));
        }
        if !seen.insert((name.clone(), labels.clone())) {
            return Err(wrong("a sample comes twice"));
        }
        read.samples.entry(name).or_default().push((labels, value));
    }
    Ok(read)
}

fn is_name(name: &str) -> bool {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    start && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A line's name, labels and value.
fn sample(line: &str) -> Option<(String, BTreeMap<String, String>, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inside.split_once("=\"")?;
            let mut escaped = false;
            let close = after.find(|c| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            })?;
            let value = unescape(&after[..close])?;
            if !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
                return None;
            }
            inside = &after[close + 1..];
            match inside.strip_prefix(',') {
                Some(next) => inside = next,
                None => break,
            }
        }
        rest = inside.strip_prefix('}')?;
    }
    let value = match rest.strip_prefix(' ')? {
        "NaN" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => number.parse().ok()?,
        _ => return None,
    };
    is_name(name).then(|| (name.to_owned(), labels, value))
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                other @ ('\\' | '"') => other,
                _ => return None,
            }),
            c => out.push(c),
        }
    }
    Some(out)
}
