//! What a job leaves: the run log and its page, the comparison as Markdown and JSON, JUnit's XML, and its answer as
//! `NAME=VALUE` for steps and jobs after it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use prony_analysis::comparison::Comparison;
use prony_model::Estimate;
use prony_model::run_log::RunLog;
use prony_report::{json, junit, markdown, terminal};

use crate::commands::report::{append_summary, html_path, in_github};
use crate::commands::thresholds::print_not_judged;
use crate::commands::write_file;
use crate::failure::Failure;
use crate::printer::Printer;

pub(super) const COMMENT: &str = "comparison.md";
/// The answer, as GitLab's `dotenv` reports have it.
const ANSWER: &str = "answer.env";
const OUTPUT: &str = "GITHUB_OUTPUT";

#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    pub(super) log: PathBuf,
}

impl Files {
    pub(super) fn fresh(folder: &str) -> Result<Files, Failure> {
        let wrong = |e| Failure::usage(format!("--output {folder}: {e}."));
        fs::create_dir_all(folder).map_err(wrong)?;
        let folder = Path::new(folder).canonicalize().map_err(wrong)?;
        for name in ["run.jsonl", "run.html", COMMENT, "comparison.json", "junit.xml", ANSWER] {
            match fs::remove_file(folder.join(name)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(wrong(e)),
                _ => {}
            }
        }
        let log = folder.join("run.jsonl");
        Ok(Files { folder, log })
    }

    /// Writes all but the run log and its page, which `prony bench` wrote.
    pub(super) fn write(
        &self,
        log: &RunLog,
        comparison: &Comparison,
        (failed, all): (&[String], bool),
        printer: &Printer,
    ) -> Result<(), Failure> {
        let shown = markdown::not_judged(&comparison.not_judged) + &markdown::comparison(comparison, all);
        let answer = answer(comparison, &html_path(&self.log.to_string_lossy()));
        let texts = [
            (COMMENT, shown.as_str()),
            ("comparison.json", &json::pretty(&[comparison])),
            ("junit.xml", &junit::compared(log, comparison, failed)),
            (ANSWER, &answer),
        ];
        for (name, text) in texts {
            write_file(&self.folder.join(name).to_string_lossy(), text)?;
        }
        if in_github() {
            append_summary(&shown, printer)?;
        }
        if let Some(path) = std::env::var_os(OUTPUT).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let appended = OpenOptions::new().append(true).create(true).open(&path);
            appended.and_then(|mut file| file.write_all(answer.as_bytes())).map_err(|e| {
                Failure::usage(format!("{} (${OUTPUT}) could not be written: {e}.", path.display()))
            })?;
        }
        print_not_judged(&comparison.not_judged, false, printer);
        printer.out(&terminal::comparison(comparison, all, &printer.options()));
        printer.note(&format!("Written to {}", self.folder.display()));
        Ok(())
    }
}

/// `verdict=slower` and the change of the figure that decides it, in percent, a line each.
fn answer(comparison: &Comparison, report: &str) -> String {
    let answer = comparison.answer();
    let ratio = answer.ratio.as_ref();
    let percent = |of: fn(&Estimate) -> Option<f64>| {
        ratio.and_then(of).map_or(String::new(), |ratio| format!("{:.2}", (ratio - 1.0) * 100.0))
    };
    let lines = [
        ("verdict", answer.verdict.to_owned()),
        ("figure", answer.figure.map_or(String::new(), |figure| figure.name.to_owned())),
        ("change", percent(|ratio| Some(ratio.point))),
        ("low", percent(|ratio| ratio.ci_low)),
        ("high", percent(|ratio| ratio.ci_high)),
        // A line break in a path would make an output of its own.
        ("report", report.replace(char::is_control, "?")),
    ];
    lines.map(|(name, value)| format!("{name}={value}\n")).concat()
}
