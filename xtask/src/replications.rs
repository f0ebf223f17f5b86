//! The pages about published comparisons that were repeated: docs/replications/NAME.md with its plots, and docs/gallery/.
//! What is between a page's two marks is written here, from the run log; the rest by hand. The gallery's site is all of the
//! folder's run logs, by `prony publish`.

mod page;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use prony_lab::experiment::Experiment;
use serde_json::Value;

use crate::{files, programs};

/// Where the run logs are, unless a folder is named.
const RUNS: &str = "runs/replications";
const BEGIN: &str = "<!-- from here on written by `cargo xtask replications` -->";
const END: &str = "<!-- to here -->";

#[derive(Parser)]
pub(crate) struct Asked {
    /// The folder of NAME.jsonl
    folder: Option<PathBuf>,
}

/// Writes the pages of each experiment with a source, from `FOLDER/NAME.jsonl`, and the gallery of all logs in FOLDER;
/// without a log an experiment's page stays as it is.
pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let runs = asked.folder.clone().unwrap_or_else(|| root.join(RUNS));
    let mut found = 0;
    for name in experiments(root)? {
        let log = runs.join(format!("{name}.jsonl"));
        if !log.is_file() {
            println!("{name}: no {}, its page stays as it is", log.display());
            continue;
        }
        let mut replication = Replication::read(root, &name, &log)?;
        replication.correct(&source(&name)?);
        let pages = root.join("docs/replications");
        let path = pages.join(format!("{name}.md"));
        let plots = plots(root, &name, &log, &pages)?;
        let text = replaced(&files::read(&path)?, &page::figures(&replication, &plots));
        files::write(&path, text.map_err(|e| format!("{}: {e}", path.display()))?)?;
        let list = root.join("docs/gallery/README.md");
        files::write(&list, listed(&files::read(&list)?, &name, &page::line(&replication)))?;
        println!("{name}: wrote {} and {} plots beside it", path.display(), plots.len());
        found += 1;
    }
    if found == 0 {
        return Err(format!("{} has no run log of such an experiment", runs.display()));
    }
    let site = root.join("docs/gallery/site");
    println!("{}", prony(root, &["publish", "-o", &site.display().to_string()], &runs)?);
    Ok(())
}

/// Draws a run's plots as `NAME-1.svg`, … in the folder, in place of earlier ones: what a page shows of each, in their order.
fn plots(root: &Path, name: &str, log: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let drawn = root.join("target/replications").join(name);
    files::anew(&drawn)?;
    let markdown = drawn.join(format!("{name}.md")).display().to_string();
    prony(root, &["report", "--format", "markdown", "--plots", "-o", &markdown], log)?;
    let is_plot = |path: &PathBuf| {
        let number = files::name(path)
            .strip_prefix(&format!("{name}-"))
            .and_then(|n| n.strip_suffix(".svg")?.parse::<u32>().ok());
        number.is_some()
    };
    for old in files::list(folder)?.iter().filter(|path| is_plot(path)) {
        std::fs::remove_file(old).map_err(files::at(old))?;
    }
    for plot in files::list(&drawn)?.iter().filter(|path| is_plot(path)) {
        files::copy(plot, &folder.join(files::name(plot)))?;
    }
    let text = files::read(Path::new(&markdown))?;
    Ok(text.lines().filter(|line| line.starts_with("![")).map(str::to_owned).collect())
}

struct Replication {
    name: String,
    /// The commit of the tree, whose Prony judges.
    judged_by: String,
    header: Value,
    /// `prony report --format json`.
    analysis: Value,
}

impl Replication {
    fn read(root: &Path, name: &str, log: &Path) -> Result<Self, String> {
        let json = prony(root, &["report", "--format", "json"], log)?;
        let analysis: Value = serde_json::from_str(&json).map_err(|e| format!("{}: {e}", log.display()))?;
        let text = files::read(log)?;
        let first = text.lines().next().unwrap_or_default();
        let header: Value = serde_json::from_str(first).map_err(|e| format!("{}: {e}", log.display()))?;
        if header["name"] != *name || !header["published"].is_object() {
            return Err(format!("{} is no run of {name} with its source", log.display()));
        }
        Ok(Self { name: name.to_owned(), judged_by: programs::commit(root), header, analysis })
    }

    /// Says of the source what Prony says of it now, which may be more than it did when the run began.
    fn correct(&mut self, source: &Value) {
        for key in ["rows", "facts"] {
            self.header["published"][key] = source[key].clone();
        }
        for key in ["method", "differences"] {
            self.analysis["published"][key] = source[key].clone();
        }
    }
}

/// What an experiment's source says, as a run log's header has it.
fn source(name: &str) -> Result<Value, String> {
    let experiment = Experiment::find(name)?;
    serde_json::to_value(experiment.published).map_err(|e| format!("{name}: {e}"))
}

fn experiments(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for path in files::list(&root.join("experiments"))? {
        if path.extension().is_some_and(|e| e == "toml") && files::toml(&path)?.contains_key("published") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

fn replaced(text: &str, figures: &str) -> Result<String, String> {
    let marks = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = marks.ok_or_else(|| format!("it lacks the lines {BEGIN} and {END}"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim()))
}

/// The list with this line instead of the one of the same run, or at its end.
fn listed(text: &str, name: &str, line: &str) -> String {
    let first = format!("| [{name}](");
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter().position(|old| old.starts_with(&first)) {
        Some(at) => lines[at] = line,
        None => lines.push(line),
    }
    format!("{}\n", lines.join("\n"))
}

/// What the release binary of this tree prints about a run log.
fn prony(root: &Path, arguments: &[&str], log: &Path) -> Result<String, String> {
    programs::text(Command::new(crate::own_prony(root)?).args(arguments).arg(log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let page = format!("# A\n\n{BEGIN}\nold\n{END}\n\nwords\n");
        let expected = format!("# A\n\n{BEGIN}\n\nnew\n\n{END}\n\nwords\n");
        assert_eq!(replaced(&page, "new\n"), Ok(expected));
        assert!(replaced("# A\n", "new").unwrap_err().contains("lacks the lines"));
    }

    #[test]
    fn a_run_has_one_line_in_the_list() {
        let list = "# Gallery\n\n| a |\n|---|\n| [a](a.html) old |\n";
        assert_eq!(listed(list, "a", "| [a](a.html) new |"), list.replace("old", "new"));
        assert_eq!(listed(list, "b", "| [b](b.html) |"), format!("{list}| [b](b.html) |\n"));
    }

    #[test]
    fn what_a_source_says_is_in_its_file() {
        let said = source("fast-and-furious-2023").unwrap();
        let rows = said["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["candidate"] == "php-pm" && row["connections"] == 100).unwrap();
        assert_eq!((&row["workers"], &row["figures"]["requests_per_s"]), (&json!(8), &json!(454.0)));
        assert_eq!((&said["facts"]["requests"], rows.len()), (&json!("10000"), 52));
        assert!(
            said["facts"].get("conclusion").is_none() && said["differences"].as_array().unwrap().len() > 4
        );
        let said = source("app-servers-2018").unwrap();
        assert_eq!(
            (&said["facts"]["server_cores"], &said["rows"][0]["remarks"]["language"]),
            (&json!("4"), &json!("Elixir"))
        );
    }

    #[test]
    fn each_experiment_with_a_source_has_a_page_for_its_figures() {
        let root = crate::root();
        let names = experiments(&root).unwrap();
        assert_eq!(names.len(), 5, "{names:?}");
        for name in names {
            let path = root.join("docs/replications").join(format!("{name}.md"));
            let text = files::read(&path).unwrap_or_else(|why| panic!("{why}"));
            assert!(replaced(&text, "").is_ok(), "{name}");
        }
    }
}
