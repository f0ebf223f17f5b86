//! What a bisection leaves: each commit's run log and page, and the answer as Markdown and as a page of all of them.

use std::fs;
use std::path::{Path, PathBuf};

use prony_analysis::bisection::{BisectionReport, BisectionStep};
use prony_analysis::figure::Figure;
use prony_analysis::history;
use prony_report::page::{self, HistoryFrom};
use prony_report::{json, markdown, runs};

use crate::commands::report::html_path;
use crate::commands::sides::SIDES;
use crate::commands::{bench, write_file};
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Debug)]
pub(super) struct Files(PathBuf);

impl Files {
    /// In a folder that is made, or empty.
    pub(super) fn fresh(folder: Option<&str>) -> Result<Files, Failure> {
        let folder = folder.map_or_else(|| bench::default_log("bisect").with_extension(""), PathBuf::from);
        let wrong = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("--output {}: {why}: name a new folder.", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(|e| wrong(&e))?;
        if fs::read_dir(&folder).map_err(|e| wrong(&e))?.next().is_some() {
            return Err(wrong(&"it is not empty"));
        }
        Ok(Files(folder.canonicalize().map_err(|e| wrong(&e))?))
    }

    pub(super) fn log(&self, step: usize, commit: &str) -> PathBuf {
        self.0.join(format!("step-{step:02}-{commit}.jsonl"))
    }

    pub(super) fn write(
        &self,
        report: &BisectionReport,
        figure: Figure,
        printer: &Printer,
    ) -> Result<(), Failure> {
        let texts = [("bisect.md", markdown::bisection(report)), ("bisect.json", json::pretty(report))];
        let page = self.page(report, figure);
        let page = page.map_err(|why| printer.note(&format!("No HTML report: {why}")));
        for (name, text) in texts.into_iter().chain(page.ok().map(|html| ("bisect.html", html))) {
            write_file(&self.0.join(name).to_string_lossy(), &text)?;
        }
        printer.note(&format!("Written to {}", self.0.display()));
        Ok(())
    }

    /// All figures over the commits that were tried, relative to the good one, with links to their pages.
    fn page(&self, report: &BisectionReport, figure: Figure) -> Result<String, page::NoPage> {
        let others = history::figures().filter(|other| *other != figure);
        let figures: Vec<Figure> =
            history::figures().filter(|other| *other == figure).chain(others).collect();
        let of_step = |step: &BisectionStep| {
            let path = PathBuf::from(step.log.as_ref()?);
            let name = path.file_name()?.to_string_lossy().into_owned();
            let found = runs::read(&path).and_then(|mut log| {
                // A commit's place is its time, not that of the step.
                log.header.created_at.clone_from(&step.revision.at);
                log.header.commit = Some(step.revision.commit.clone());
                runs::figures_of(&log, &name, &figures, Some(SIDES[0]))
            });
            Some((name, found))
        };
        let mut steps: Vec<&BisectionStep> = report.steps.iter().collect();
        steps.sort_by_key(|step| step.position);
        let read = steps.into_iter().filter_map(of_step);
        let histories = runs::histories(&figures, read, Some(SIDES[0]), Vec::new());
        page::history(&HistoryFrom {
            histories: &histories,
            folder: &self.0.display().to_string(),
            href: &|file| Some(html_path(file)).filter(|page| self.0.join(Path::new(page)).is_file()),
            home: None,
        })
    }
}
