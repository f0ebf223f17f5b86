//! Pages of results: their tables, and where they are kept.

use std::path::Path;

use serde_json::Value;

use crate::files;

pub(crate) const NONE: &str = "–";

/// A table in Markdown. `rules` says how each column is aligned: `---|--:`.
pub(crate) fn table<R: AsRef<[String]>>(
    heads: &str,
    rules: &str,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let rows: String =
        rows.into_iter().map(|cells| format!("| {} |\n", cells.as_ref().join(" | "))).collect();
    format!("| {heads} |\n|{rules}|\n{rows}")
}

pub(crate) fn or_none<T>(figure: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| NONE.to_owned(), shown)
}

pub(crate) fn list(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("- {line}\n")).collect()
}

pub(crate) fn verbatim<S: AsRef<str>>(lines: &[S]) -> String {
    let lines: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
    format!("```text\n{lines}```\n")
}

pub(crate) fn date() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

pub(crate) fn host(recorded: &Value) -> String {
    let word = |name: &str| recorded[name].as_str().unwrap_or("?").to_owned();
    let cpus = recorded["cpus_online"].as_u64().unwrap_or(0);
    format!("{}, {cpus} CPUs, {}, {}", word("cpu_model"), word("kernel"), word("os"))
}

/// Writes a page below docs/benchmarks/ under a name, and what it was made of where there is more; says so.
pub(crate) fn store(root: &Path, name: &str, page: &str, json: Option<&str>) -> Result<(), String> {
    for (ending, text) in [("md", Some(page)), ("json", json)] {
        let Some(text) = text else { continue };
        let path = root.join("docs/benchmarks").join(format!("{name}.{ending}"));
        files::write(&path, text)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
