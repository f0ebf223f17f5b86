//! Published comparisons, `prony.published/1`: read strictly, since a misspelt figure would silently not be compared.

use std::collections::BTreeMap;

use prony_analysis::claim::Claim;
use prony_model::published::{
    At, AtRate, By, CapacityOf, Conclusion, FIGURES, Published, PublishedRow, Statistic,
};
use toml::{Table, Value};

use super::CORES_MAX;
use crate::toml_file::{TomlError, TomlFile, suggest};
use prony_model::units::{Share, parse_rate};

pub(crate) const SCHEMA: &str = "prony.published/1";

/// The most rows and the most conclusions of a file: far above any table that people print.
const ENTRIES_MAX: usize = 10_000;

const REMARKS: [&str; 3] = ["language", "failure", "shape"];

fn text_of(file: TomlFile<'_>, table: &Table, path: &[&str], key: &str) -> Result<String, TomlError> {
    match table.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        Some(_) => file.refuse(&[path, &[key]].concat(), format!("{key:?} must be a text.")),
        None => file.refuse(path, format!("{key:?} is missing: write it as a text.")),
    }
}

fn connections_of(file: TomlFile<'_>, value: &Value, path: &[&str]) -> Result<u32, TomlError> {
    let count = value.as_integer().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    count.ok_or_else(|| file.error(path, "\"connections\" must be a whole number above 0."))
}

fn workers_of(file: TomlFile<'_>, value: &Value, path: &[&str]) -> Result<u32, TomlError> {
    let count = value.as_integer().and_then(|n| u32::try_from(n).ok());
    let count = count.filter(|n| (1..=CORES_MAX).contains(n));
    count
        .ok_or_else(|| file.error(path, format!("\"workers\" must be a whole number from 1 to {CORES_MAX}.")))
}

pub fn parse(file: &str, text: &str) -> Result<Published, TomlError> {
    let file = TomlFile { name: file, text };
    let table: Table = file.parse()?;
    let schema = text_of(file, &table, &[], "schema")?;
    let why = format!(
        "the schema is {schema:?} and this Prony reads {SCHEMA:?}: use the version it was written for."
    );
    file.refuse_if(schema != SCHEMA, &["schema"], why)?;
    let connections =
        table.get("connections").map(|v| connections_of(file, v, &["connections"])).transpose()?;
    let workers = table.get("workers").map(|v| workers_of(file, v, &["workers"])).transpose()?;
    let mut published = Published {
        source: text_of(file, &table, &[], "source")?,
        method: text_of(file, &table, &[], "method")?,
        statistic: table.get("statistic").map(|_| statistic(file, &table)).transpose()?,
        ..Published::default()
    };
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("schema" | "source" | "method" | "statistic", _) => {}
            ("row", _) => published.rows = rows(file, value, connections, workers)?,
            ("conclusion", _) => published.conclusions = conclusions(file, value)?,
            ("differences", Value::Array(list)) => published.differences = list.iter().map(fact).collect(),
            (_, Value::Table(_)) => {
                return file.refuse(&[key], format!("there is no table [{key}] in a published file."));
            }
            (_, Value::Array(list)) if list.iter().any(Value::is_table) => {
                let hint = suggest(key, ["row", "conclusion"]);
                return file.refuse(&[key], format!("there is no [[{key}]] in a published file: {hint}"));
            }
            _ => {
                published.facts.insert(key.clone(), fact(value));
            }
        }
    }
    Ok(published)
}

fn statistic(file: TomlFile<'_>, table: &Table) -> Result<Statistic, TomlError> {
    let text = text_of(file, table, &[], "statistic")?;
    let why = "\"statistic\" is what its figures are of its runs: write \"best of 5\", \"median of 3\" or \"one run\".";
    Statistic::parse(&text).ok_or_else(|| file.error(&["statistic"], why))
}

fn fact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(fact).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The tables of a `[[name]]`, each with its path.
fn tables<'a>(file: TomlFile<'_>, name: &str, value: &'a Value) -> Result<Vec<&'a Table>, TomlError> {
    let list = value.as_array().filter(|list| list.len() <= ENTRIES_MAX);
    let list = list.ok_or_else(|| {
        file.error(&[name], format!("write {name:?} as [[{name}]] tables, at most {ENTRIES_MAX}."))
    })?;
    list.iter()
        .map(|entry| entry.as_table().ok_or_else(|| file.error(&[name], format!("write [[{name}]]."))))
        .collect()
}

fn rows(
    file: TomlFile<'_>,
    value: &Value,
    connections: Option<u32>,
    workers: Option<u32>,
) -> Result<Vec<PublishedRow>, TomlError> {
    let tables = tables(file, "row", value)?;
    let mut rows: Vec<PublishedRow> = Vec::new();
    // What a candidate's rows have said so far.
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    for (at, table) in tables.iter().enumerate() {
        let at = at.to_string();
        let mut row = row(file, &at, table, connections)?;
        row.workers = row.workers.or(workers);
        if let Some(count) = row.workers
            && let Some(before) = known.insert(row.candidate.clone(), count).filter(|before| *before != count)
        {
            let why = format!(
                "{} has {before} workers in one row and {count} in another: a server is told one number of them.",
                row.candidate
            );
            return file.refuse(&["row", &at], why);
        }
        rows.push(row);
    }
    Ok(rows)
}

fn row(
    file: TomlFile<'_>,
    at: &str,
    table: &Table,
    connections: Option<u32>,
) -> Result<PublishedRow, TomlError> {
    let path = ["row", at];
    let mut row = PublishedRow {
        name: text_of(file, table, &path, "name")?,
        candidate: text_of(file, table, &path, "candidate")?,
        connections,
        ..PublishedRow::default()
    };
    for (key, value) in table {
        let key_path = ["row", at, key.as_str()];
        match key.as_str() {
            "name" | "candidate" => {}
            "connections" => row.connections = Some(connections_of(file, value, &key_path)?),
            "rate_per_s" => row.rate_per_s = Some(number(file, value, &key_path)?),
            "workers" => row.workers = Some(workers_of(file, value, &key_path)?),
            "doubt" => row.doubt = Some(text_of(file, table, &path, key)?),
            word if FIGURES.iter().any(|(key, ..)| *key == word) => {
                row.figures.insert(key.clone(), number(file, value, &key_path)?);
            }
            word if REMARKS.contains(&word) => {
                row.remarks.insert(key.clone(), text_of(file, table, &path, key)?);
            }
            _ => {
                let others = ["name", "candidate", "connections", "rate_per_s", "doubt", "workers"];
                let known = FIGURES.map(|(key, ..)| key).into_iter().chain(REMARKS).chain(others);
                let hint = suggest(key, known);
                return file.refuse(&key_path, format!("there is no {key:?} in [[row]]: {hint}"));
            }
        }
    }
    Ok(row)
}

fn number(file: TomlFile<'_>, value: &Value, path: &[&str]) -> Result<f64, TomlError> {
    let number = match value {
        Value::Integer(whole) => Some(*whole as f64),
        Value::Float(real) => Some(*real),
        _ => None,
    };
    number.filter(|n| n.is_finite() && *n >= 0.0).ok_or_else(|| {
        let key = path.last().copied().unwrap_or_default();
        file.error(path, format!("{key:?} must be a number of at least 0."))
    })
}

fn conclusions(file: TomlFile<'_>, value: &Value) -> Result<Vec<Conclusion>, TomlError> {
    let tables = tables(file, "conclusion", value)?;
    tables.iter().enumerate().map(|(at, table)| conclusion(file, &at.to_string(), table)).collect()
}

fn conclusion(file: TomlFile<'_>, at: &str, table: &Table) -> Result<Conclusion, TomlError> {
    const KEYS: [&str; 5] = ["text", "claim", "by", "unjudged", "at"];
    let path = ["conclusion", at];
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = suggest(key, KEYS);
        return file
            .refuse(&["conclusion", at, key], format!("there is no {key:?} in [[conclusion]]: {hint}"));
    }
    let unjudged = table.get("unjudged").map(|_| text_of(file, table, &path, "unjudged")).transpose()?;
    let either = "write \"claim\", or why it is \"unjudged\": one of them.";
    file.refuse_if(unjudged.is_some() == table.contains_key("claim"), &path, either)?;
    let claim = if unjudged.is_some() { String::new() } else { text_of(file, table, &path, "claim")? };
    if unjudged.is_none() {
        Claim::parse(&claim).map_err(|why| file.error(&["conclusion", at, "claim"], why.to_string()))?;
    }
    let by = table.get("by").map_or(Ok(By::Source), |by| by.clone().try_into());
    let or = "\"by\" is \"source\" (its own words), \"reading\" (ours, of its table) or \"question\" (asked by us).";
    let by = by.map_err(|_| file.error(&["conclusion", at, "by"], or))?;
    let plans = match table.get("at") {
        None => At::default(),
        Some(Value::Table(plans)) => at_plans(file, at, plans)?,
        Some(_) => {
            return file.refuse(&["conclusion", at, "at"], "write \"at\" as { connections = 100 }.");
        }
    };
    Ok(Conclusion { text: text_of(file, table, &path, "text")?, claim, by, unjudged, at: plans })
}

fn at_plans(file: TomlFile<'_>, at: &str, plans: &Table) -> Result<At, TomlError> {
    let mut read = At::default();
    for (key, value) in plans {
        let path = ["conclusion", at, "at", key.as_str()];
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        for value in &values {
            match key.as_str() {
                "connections" => read.connections.push(connections_of(file, value, &path)?),
                "rate" => read.rates.push(at_rate(file, value, &path)?),
                _ => {
                    let hint = suggest(key, ["connections", "rate"]);
                    return file.refuse(&path, format!("there is no {key:?} in \"at\": {hint}"));
                }
            }
        }
    }
    Ok(read)
}

/// `5000`, `"5k"`, `"105% of amphp:opcache knee"`.
fn at_rate(file: TomlFile<'_>, value: &Value, path: &[&str]) -> Result<AtRate, TomlError> {
    let Value::String(text) = value else { return number(file, value, path).map(AtRate::PerS) };
    let Some((share, of)) = text.split_once(" of ") else {
        return match parse_rate(text) {
            Ok(rate) => Ok(AtRate::PerS(rate.as_per_s())),
            Err(why) => Err(file.error(path, why.to_string())),
        };
    };
    let share = Share::parse(share).map_err(|why| file.error(path, why.to_string()))?;
    let of = knee_of(of).ok_or_else(|| {
        file.error(path, format!("{of:?} names no capacity: write a candidate and a plan that searches for it, \"amphp:opcache knee\"."))
    })?;
    Ok(AtRate::Share { share: share.as_ratio(), of })
}

/// `amphp:opcache knee`: a candidate's label and a plan's given name.
pub(crate) fn knee_of(text: &str) -> Option<CapacityOf> {
    let mut words = text.split_whitespace();
    let (candidate, plan) = (words.next()?, words.next()?);
    words.next().is_none().then(|| CapacityOf { candidate: candidate.to_owned(), plan: plan.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = \"prony.published/1\"\nsource = \"S\"\nmethod = \"M\"\nconnections = 100\n";

    fn read(rest: &str) -> Result<Published, TomlError> {
        parse("p.toml", &format!("{HEAD}{rest}"))
    }

    #[test]
    fn rows_without_connections_take_those_of_the_file() {
        let p = read(
            "php = \"7.0\"\nplots = [\"a\", \"b\"]\n[[row]]\nname = \"X\"\ncandidate = \"x:close\"\nrequests_per_s = 5\n\
             p99_ms = 1.5\ndoubt = \"ports\"\n[[row]]\nname = \"Y\"\ncandidate = \"y\"\nconnections = 7\nrate_per_s = 20\n",
        )
        .unwrap();
        assert_eq!(p.facts["plots"], "a, b");
        assert_eq!((p.rows[0].connections, p.rows[0].figure("p99_ms")), (Some(100), Some(1.5)));
        assert_eq!(p.rows[0].doubt.as_deref(), Some("ports"));
        assert_eq!((p.rows[1].connections, p.rows[1].rate_per_s), (Some(7), Some(20.0)));
    }

    #[test]
    fn a_candidate_s_workers_are_its_rows_or_else_the_files() {
        let rows = "[[row]]\nname = \"X\"\ncandidate = \"x\"\nworkers = 4\n[[row]]\nname = \"Y\"\ncandidate = \"y:jit\"\n";
        let p = read(rows).unwrap();
        assert_eq!((p.workers_of("x"), p.workers_of("y:jit"), p.workers_of("z")), (Some(4), None, None));
        let p = read(&format!("workers = 2\n{rows}")).unwrap();
        assert_eq!((p.workers_of("x"), p.workers_of("y:jit"), p.workers_of("y")), (Some(4), Some(2), None));
    }

    #[test]
    fn the_connections_and_rates_of_a_conclusion_are_read() {
        let p = read(
            "[[conclusion]]\ntext = \"t\"\nclaim = \"p99(a) < 0.1 * p99(b)\"\n\
             at = { connections = [1, 2], rate = [\"5k\", \"105% of b:x knee\"] }\n",
        )
        .unwrap();
        let at = &p.conclusions[0].at;
        assert_eq!(at.connections, [1, 2]);
        let of = CapacityOf { candidate: "b:x".to_owned(), plan: "knee".to_owned() };
        assert_eq!(at.rates, [AtRate::PerS(5000.0), AtRate::Share { share: 1.05, of }]);
    }

    #[test]
    fn a_conclusion_says_whose_it_is_or_why_it_is_not_judged() {
        let p = read(
            "[[conclusion]]\ntext = \"a leads\"\nclaim = \"rank(a) <= 1\"\n\
             [[conclusion]]\ntext = \"a is first\"\nclaim = \"rank(a) <= 1\"\nby = \"reading\"\n\
             [[conclusion]]\ntext = \"a is for games\"\nunjudged = \"no figure\"\nby = \"source\"\n",
        )
        .unwrap();
        let [words, reading, unjudged] = &p.conclusions[..] else { panic!("{p:?}") };
        assert_eq!((words.by, reading.by), (By::Source, By::Reading));
        assert_eq!((unjudged.claim.as_str(), unjudged.unjudged.as_deref()), ("", Some("no figure")));
    }

    #[test]
    fn errors_in_a_published_file_name_the_line() {
        for (rest, line, words) in [
            ("[[row]]\nname = \"X\"\n", 5, "\"candidate\" is missing"),
            (
                "[[row]]\nname = \"X\"\ncandidate = \"x\"\nrequest_per_s = 5\n",
                8,
                "did you mean \"requests_per_s\"",
            ),
            ("[[row]]\nname = \"X\"\ncandidate = \"x\"\np99_ms = \"1\"\n", 8, "must be a number"),
            ("[[rows]]\nname = \"X\"\n", 5, "did you mean \"row\""),
            ("workers = 0\n", 5, "from 1 to 1024"),
            ("statistic = \"mean of 3\"\n", 5, "write \"best of 5\""),
            (
                "[[row]]\nname = \"X\"\ncandidate = \"x\"\nworkers = 4\n[[row]]\nname = \"X\"\ncandidate = \"x\"\n\
                 workers = 8\n",
                9,
                "x has 4 workers in one row and 8 in another",
            ),
            ("[[conclusion]]\ntext = \"t\"\nclaim = \"a is best\"\n", 7, "not a claim"),
            ("[[conclusion]]\ntext = \"t\"\nclaim = \"rank(a) <= 2\"\nby = \"us\"\n", 8, "\"reading\" (ours"),
            ("[[conclusion]]\ntext = \"t\"\nclaim = \"rank(a) <= 2\"\nunjudged = \"x\"\n", 5, "one of them"),
            ("[[conclusion]]\ntext = \"t\"\n", 5, "one of them"),
            ("[[conclusion]]\ntext = \"t\"\nclaim = \"rank(a) <= 2\"\nat = { plan = 1 }\n", 8, "no \"plan\""),
            (
                "[[conclusion]]\ntext = \"t\"\nclaim = \"rank(a) <= 2\"\nat = { rate = \"50% of\" }\n",
                8,
                "not a rate",
            ),
            (
                "[[conclusion]]\ntext = \"t\"\nclaim = \"rank(a) <= 2\"\nat = { rate = \"50% of a\" }\n",
                8,
                "names no capacity",
            ),
        ] {
            let said = read(rest).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("p.toml:{line}: ")) && said.contains(words),
                "{rest:?}: {said}"
            );
        }
    }
}
